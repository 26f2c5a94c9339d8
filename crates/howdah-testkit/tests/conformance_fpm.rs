//! The conformance cases on PHP-FPM, the reference: every case describes the real behavior of
//! PHP-FPM, which is the same in two runs.

use std::collections::BTreeMap;
use std::path::Path;

use howdah_testkit::fastcgi::{self, Query};
use howdah_testkit::fpm::{Fpm, Options};

#[path = "../../../tests/conformance/cases.rs"]
mod cases;

use cases::{Answer, Case, Jar};

#[test]
fn every_case_behaves_as_php_fpm() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let directory = directory.canonicalize().expect("the cases are there");
    let cases = cases::load(&directory.join("cases")).unwrap_or_else(|error| panic!("{error}"));
    assert!(cases.len() >= 120, "only {} cases", cases.len());
    let first = run(&directory, &cases);
    let second = run(&directory, &cases);
    let mut problems = Vec::new();
    for (name, case) in &cases {
        let steps = std::iter::once(case).chain(&case.then);
        for (step, case) in steps.enumerate() {
            let (one, two) = (&first[name][step], &second[name][step]);
            for problem in case.check(one).into_iter().chain(case.compare(one, two)) {
                let body = String::from_utf8_lossy(&one.body[..one.body.len().min(1500)]);
                problems.push(format!("{name} step {step}: {problem}\n{body}\n"));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

/// Responses to each case's requests from a separate PHP-FPM.
fn run(directory: &Path, cases: &BTreeMap<String, Case>) -> BTreeMap<String, Vec<Answer>> {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let fpm = Fpm::start(&Options {
        // There is one child, so that the next request would see state left by the previous one.
        children: 1,
        ini: Some(&directory.join("php.ini")),
        env: &[(
            "HOWDAH_CONFORMANCE_TMP",
            temporary.path().to_str().expect("UTF-8"),
        )],
    });
    let socket = fpm.socket();
    let www = directory.join("www");
    let root = www.to_str().expect("UTF-8");
    let ask = |case: &Case, jar: &Jar| {
        let (headers, body) = (case.request_headers(jar), case.request_body());
        let query = Query {
            method: &case.method,
            target: &case.target,
            headers: &headers,
            body: &body,
            root,
        };
        match fastcgi::send(&socket, &query) {
            Ok(fastcgi::Answer {
                status,
                headers,
                body,
                ..
            }) => case.finish(Answer {
                status,
                headers,
                body,
            }),
            // No case expects status 0, so the report names this case.
            Err(error) => Answer {
                status: 0,
                headers: Vec::new(),
                body: error.to_string().into_bytes(),
            },
        }
    };
    cases
        .iter()
        .map(|(name, case)| {
            let mut jar = Jar::default();
            let mut answers = vec![ask(case, &jar)];
            for next in &case.then {
                if let Some(answer) = answers.last() {
                    jar.take(answer);
                }
                answers.push(ask(next, &jar));
            }
            (name.clone(), answers)
        })
        .collect()
}
