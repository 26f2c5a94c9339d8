//! The conformance cases on Howdah and on PHP-FPM with the same requests, settings and files.
//! Responses may differ only where a case allows it with a reason.

use std::path::{Path, PathBuf};

use howdah_testkit::fastcgi::{self, Query};
use howdah_testkit::fpm::{Fpm, Options};
use howdah_testkit::{Connection, Request, Server};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;

#[path = "../../../conformance/cases.rs"]
mod cases;

use cases::{Answer, Case, Jar};

/// They exceed `memory_limit`.
const LIMIT_MEMORY: [&str; 3] = [
    "errors/after-fatal",
    "errors/memory",
    "errors/memory-shutdown",
];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance");
    folder.canonicalize().expect("the cases are there")
}

/// Responses to a case's requests, sent one after another with one cookie jar.
fn steps(case: &Case, mut ask: impl FnMut(&Case, &Jar) -> Answer) -> Vec<Answer> {
    let mut jar = Jar::default();
    let mut answers: Vec<Answer> = Vec::new();
    for step in std::iter::once(case).chain(&case.then) {
        if let Some(last) = answers.last() {
            jar.take(last);
        }
        answers.push(step.finish(ask(step, &jar)));
    }
    answers
}

/// A response that no case expects, for a request without a response.
fn no_answer(error: &impl ToString) -> Answer {
    Answer {
        status: 0,
        headers: Vec::new(),
        body: error.to_string().into_bytes(),
    }
}

fn ask_howdah(server: &Server, case: &Case, jar: &Jar) -> Answer {
    let request = Request::new(&case.method, &case.target).without("Host");
    let request = case
        .request_headers(jar)
        .iter()
        .fold(request, |r, (name, value)| r.header(name, value));
    let body = case.request_body();
    let request = if body.is_empty() {
        request
    } else {
        request.body(body)
    };
    match Connection::open(server.address())
        .and_then(|mut connection| connection.exchange(&request))
    {
        Ok(response) => Answer {
            status: response.status(),
            headers: response.head.headers,
            body: response.body,
        },
        Err(error) => no_answer(&error),
    }
}

fn ask_fpm(socket: &Path, root: &str, case: &Case, jar: &Jar) -> Answer {
    let (headers, body) = (case.request_headers(jar), case.request_body());
    let (method, target) = (&case.method, &case.target);
    let query = Query {
        method,
        target,
        headers: &headers,
        body: &body,
        root,
    };
    match fastcgi::send(socket, &query) {
        Ok(answer) => Answer {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        },
        Err(error) => no_answer(&error),
    }
}

#[test]
fn howdah_answers_as_php_fpm_does() {
    compare(false);
}

#[test]
fn howdah_answers_as_php_fpm_does_with_preloaded_classes() {
    compare(true);
}

/// Compares the responses. With `preload`, all requests have run once before, and PHP was started
/// with the files that they used.
fn compare(preload: bool) {
    let folder = folder();
    let mut all = cases::load(&folder.join("cases")).unwrap_or_else(|error| panic!("{error}"));
    assert!(all.len() >= 120, "only {} cases", all.len());
    if std::env::var("USE_ZEND_ALLOC").is_ok_and(|value| value == "0") {
        println!("skipped: cases of memory_limit, which only PHP's own allocator enforces");
        all.retain(|name, _| !LIMIT_MEMORY.contains(&name.as_str()));
    }
    let (ours, theirs) = (tempfile::tempdir(), tempfile::tempdir());
    let (ours, theirs) = (ours.expect("a directory"), theirs.expect("a directory"));
    let www = folder.join("www");
    let root = www.to_str().expect("UTF-8");
    // PHP-FPM's children stay in the directory where it was started. Howdah's are in the root
    // directory.
    std::env::set_current_dir("/").expect("it is there");
    let fpm = Fpm::start(&Options {
        children: 1,
        ini: Some(&folder.join("php.ini")),
        env: &[(
            "HOWDAH_CONFORMANCE_TMP",
            theirs.path().to_str().expect("UTF-8"),
        )],
    });
    // There is one worker, so that the next request would see state left by the previous one. There
    // is no front controller and there are no static files, because the cases are about PHP.
    let global = format!(
        "{ON}\n frankenphp {{\n num_threads 1\n preload {}\n php_ini session.save_path {}\n }}",
        if preload { "auto" } else { "off" },
        ours.path().display()
    );
    // The two lines of `rewrite` correspond to `fastcgi_index` of nginx.
    let site = format!(
        "root * {root}\n @directory {{\n path */\n not path *.php/*\n }}\n \
         rewrite @directory {{path}}index.php\n php"
    );
    let server = Server::caddyfile(caddyfile(&global, &site))
        .env("HOWDAH_CONFORMANCE_TMP", ours.path())
        .env("PHPRC", folder.join("php.ini"))
        .start();
    // The scripts of the cases log warnings and crash on purpose.
    server.allow_log("PHP ");
    server.allow_log("\"request_id\"");
    if preload {
        for case in all.values() {
            steps(case, |case, jar| ask_howdah(&server, case, jar));
        }
        Admin::of(&server).post("/reload").assert_status(200);
        // This includes sessions, so that they start in the same state.
        for left in std::fs::read_dir(ours.path()).expect("readable") {
            let left = left.expect("readable").path();
            std::fs::remove_file(&left)
                .unwrap_or_else(|error| panic!("{}: {error}", left.display()));
        }
        server.wait_log("PHP was started with preloaded files");
    }
    let mut problems = Vec::new();
    let mut requests = 0;
    for (name, case) in &all {
        let theirs = steps(case, |case, jar| ask_fpm(&fpm.socket(), root, case, jar));
        let ours = steps(case, |case, jar| ask_howdah(&server, case, jar));
        for (step, case) in std::iter::once(case).chain(&case.then).enumerate() {
            requests += 1;
            let found = case
                .check(&ours[step])
                .into_iter()
                .chain(case.compare(&ours[step], &theirs[step]));
            problems.extend(found.map(|problem| format!("{name} step {step}: {problem}")));
        }
    }
    println!("{} cases, {requests} requests", all.len());
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
