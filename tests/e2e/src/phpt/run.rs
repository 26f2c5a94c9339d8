//! Runs planned tests: one server for all tests with the same settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use howdah_testkit::Request;

use super::Outcome;
use super::backend::{Answer, Backend, FpmBackend, PHP_INI, start};
use super::expect::normalise;
use super::parse::Sections;
use super::plan::{Environment, Plan, Unplanned};
use super::report::Report;

/// File name of the script that lists the loaded extensions. No test has this name.
const EXTENSIONS: &str = "howdah-extensions.php";

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder with `.phpt` files at any depth. It is copied, not written to.
    pub folder: PathBuf,
    /// Runs only tests whose path contains one of these. Runs all if empty.
    pub filters: Vec<String>,
    /// Number of concurrent servers.
    pub jobs: usize,
    /// Runs each test with PHP-FPM too.
    pub compare: bool,
    /// Settings for all tests, in addition to those of `run-tests.php`.
    pub ini: Vec<(String, String)>,
}

/// A test and its outcome.
#[derive(Debug)]
pub struct Tested {
    /// Path below the folder, without extension.
    pub name: String,
    /// Outcome with the server.
    pub outcome: Outcome,
    /// Outcome with PHP-FPM, if requested.
    pub fpm: Option<Outcome>,
}

/// Runs the tests. `on_result` is called after each test.
pub fn run(options: &Options, on_result: &(dyn Fn(&Tested) + Sync)) -> io::Result<Report> {
    let copy = tempfile::Builder::new().prefix("howdah-phpt-").tempdir()?;
    let root = copy.path().canonicalize()?;
    let names = copy_tests(&options.folder, &root, &options.filters)?;
    fs::write(
        root.join(EXTENSIONS),
        "<?php echo strtolower(implode(\"\\n\", get_loaded_extensions()));",
    )?;
    fs::write(root.join(PHP_INI), "")?;
    let mut groups: BTreeMap<Environment, Vec<Plan>> = BTreeMap::new();
    let report = Mutex::new(Report::default());
    let done = |tested: Tested| {
        on_result(&tested);
        report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(tested);
    };
    for name in names {
        match plan(&root, &name) {
            Ok(mut plan) => {
                plan.environment.ini.extend(options.ini.iter().cloned());
                groups
                    .entry(plan.environment.clone())
                    .or_default()
                    .push(plan);
            }
            Err(Unplanned::Skip(reason)) => {
                done(Tested {
                    name,
                    outcome: Outcome::Skip(reason),
                    fpm: None,
                });
            }
            Err(Unplanned::Borked(reason)) => {
                done(Tested {
                    name,
                    outcome: Outcome::Borked(reason),
                    fpm: None,
                });
            }
        }
    }
    // The largest group runs first, so that it does not run alone at the end.
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, plans)| plans.len());
    let groups = Mutex::new(groups);
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let next = groups.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some((environment, plans)) = next else {
                        break;
                    };
                    run_group(&root, &environment, plans, options.compare, &done, &report);
                }
            });
        }
    });
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn plan(root: &Path, name: &str) -> Result<Plan, Unplanned> {
    let file = root.join(format!("{name}.phpt"));
    let text = fs::read(&file).map_err(|error| Unplanned::Borked(error.to_string()))?;
    let sections = Sections::parse(&text).map_err(|error| Unplanned::Borked(error.to_string()))?;
    Plan::new(root, name, &sections)
}

/// Copies the folder, because tests write files next to themselves. Returns its tests, sorted.
fn copy_tests(from: &Path, to: &Path, filters: &[String]) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(to.join(&folder))?;
        for entry in fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            // Links are followed, because a copied link may have no target.
            let kind = fs::metadata(entry.path());
            if kind.as_ref().is_ok_and(fs::Metadata::is_dir) {
                folders.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) {
                fs::copy(entry.path(), to.join(&path))?;
                names.extend(
                    path.to_str()
                        .and_then(|path| path.strip_suffix(".phpt"))
                        .map(str::to_owned),
                );
            }
        }
    }
    names.retain(|name| filters.is_empty() || filters.iter().any(|filter| name.contains(filter)));
    names.sort();
    Ok(names)
}

fn run_group(
    root: &Path,
    environment: &Environment,
    plans: Vec<Plan>,
    compare: bool,
    done: &dyn Fn(Tested),
    report: &Mutex<Report>,
) {
    // The server panics when it fails to start or to stop properly.
    let server = catch_unwind(AssertUnwindSafe(|| start(root, environment)));
    let Ok(server) = server else {
        for plan in plans {
            let reason = "the server does not start with the settings of this test".to_owned();
            let outcome = Outcome::Fail {
                reason,
                wanted: Vec::new(),
                got: Vec::new(),
            };
            done(Tested {
                name: plan.name,
                outcome,
                fpm: None,
            });
        }
        return;
    };
    let fpm = compare.then(|| FpmBackend::start(root, environment));
    let loaded = extensions(&server);
    let loaded_in_fpm = fpm.as_ref().map(extensions);
    for plan in plans {
        let outcome = run_one(&server, &loaded, &plan);
        let fpm = fpm.as_ref().zip(loaded_in_fpm.as_ref());
        let fpm = fpm.map(|(fpm, loaded)| run_one(fpm, loaded, &plan));
        done(Tested {
            name: plan.name,
            outcome,
            fpm,
        });
    }
    // Scripts of tests may log warnings, crash and leave files. No process may remain.
    server.allow_log("");
    if catch_unwind(AssertUnwindSafe(|| server.stop())).is_err() {
        report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .servers_unwell += 1;
    }
}

fn extensions(backend: &impl Backend) -> BTreeSet<String> {
    let answer = backend.ask(&Request::get(format!("/{EXTENSIONS}")));
    let text = answer.map(|answer| String::from_utf8_lossy(&answer.body).into_owned());
    text.unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn run_one(backend: &impl Backend, loaded: &BTreeSet<String>, plan: &Plan) -> Outcome {
    for name in &plan.extensions {
        let name = name.to_lowercase();
        let name = if name == "opcache" {
            "zend opcache".to_owned()
        } else {
            name
        };
        if !loaded.contains(&name) {
            return Outcome::Skip(format!("needs the extension {name}"));
        }
    }
    let mut xfail = plan.xfail.clone();
    if let Some(request) = &plan.skip_if {
        match backend.ask(request) {
            Ok(answer) => {
                let text = String::from_utf8_lossy(&answer.body).trim().to_owned();
                let lower = text.to_lowercase();
                if lower.starts_with("skip") {
                    return Outcome::Skip(text);
                }
                if lower.starts_with("xfail") {
                    xfail = Some(text);
                }
            }
            Err(error) => return fail(format!("--SKIPIF--: {error}"), plan, &[]),
        }
    }
    let outcome = match backend.ask(&plan.request) {
        Ok(answer) => judge(plan, &answer),
        Err(error) => fail(error, plan, &[]),
    };
    if let Some(request) = &plan.clean
        && let Err(error) = backend.ask(request)
    {
        return fail(format!("--CLEAN--: {error}"), plan, &[]);
    }
    match (outcome, xfail) {
        (Outcome::Pass, Some(_)) => Outcome::UnexpectedPass,
        (Outcome::Fail { .. }, Some(reason)) => Outcome::ExpectedFail(reason),
        (outcome, _) => outcome,
    }
}

fn judge(plan: &Plan, answer: &Answer) -> Outcome {
    for (name, wanted) in &plan.headers {
        let got = answer
            .headers
            .iter()
            .rfind(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v);
        if got != Some(wanted) {
            return Outcome::Fail {
                reason: format!("field {name}: wanted {wanted:?}, got {got:?}"),
                wanted: format!("{name}: {wanted}").into_bytes(),
                got: answer
                    .headers
                    .iter()
                    .flat_map(|(n, v)| format!("{n}: {v}\n").into_bytes())
                    .collect(),
            };
        }
    }
    match &plan.expectation {
        Some(expectation) if !expectation.accepts(&answer.body) => {
            fail("the output differs".to_owned(), plan, &answer.body)
        }
        _ => Outcome::Pass,
    }
}

fn fail(reason: String, plan: &Plan, got: &[u8]) -> Outcome {
    let wanted = plan
        .expectation
        .as_ref()
        .map(|e| e.expected().to_vec())
        .unwrap_or_default();
    Outcome::Fail {
        reason,
        wanted,
        got: normalise(got),
    }
}
