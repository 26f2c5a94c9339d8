//! Checks whether an application is safe with `concurrency`, by its packages and its code.

use std::collections::BTreeMap;
use std::path::Path;

use howdah_config::model::Statics;
use serde::Deserialize;

use super::advice::Rule;
use super::php::{Facts, Php};
use super::report::{Area, Finding, Report};
use super::{extensions, frameworks};

/// The report of `scan.php`.
#[derive(Debug, Deserialize)]
struct ScanResult {
    files: usize,
    /// Files that are too large, too many or cannot be read.
    skipped: usize,
    /// The worker script creates a framework's application in its callback.
    per_request: bool,
    packages: BTreeMap<String, String>,
    wordpress: bool,
    findings: Vec<Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
    rule: Rule,
    file: String,
    line: u32,
}

/// The code to scan.
#[derive(Debug)]
pub(super) struct Application<'a> {
    pub(super) folder: &'a Path,
    /// The worker script.
    pub(super) script: Option<&'a Path>,
    pub(super) statics: Statics,
    /// `howdah/runtime` gives each request a kernel.
    pub(super) kernel_per_request: bool,
}

pub(super) fn check(php: &Php, facts: &Facts, application: &Application<'_>, report: &mut Report) {
    let Application {
        folder, statics, ..
    } = *application;
    let area = Area::Coroutines;
    extensions::check(&facts.extensions, report);
    let mut arguments = vec![folder];
    arguments.extend(application.script);
    let scanned: ScanResult = match php.ask(&scan(), &arguments) {
        Ok(scanned) => scanned,
        Err(error) => {
            return report.error(
                area,
                format!("the code of {} was not scanned: {error}", folder.display()),
                "fix what PHP reports",
            );
        }
    };
    let per_request = scanned.per_request || application.kernel_per_request;
    frameworks::check(&scanned.packages, per_request, statics, report);
    if scanned.wordpress {
        report.error(
            area,
            "WordPress keeps everything of a request in global variables that it sets while it boots",
            "serve it in classic mode",
        );
    }
    if scanned.skipped > 0 {
        report.warning(
            area,
            format!(
                "{} files were not scanned: too large, too many, or not readable",
                scanned.skipped
            ),
            "run doctor as the user that owns them, and check generated code yourself",
        );
    }
    report.ok(
        area,
        format!(
            "{} PHP files below {} were scanned (not vendor, var, storage, cache, tests)",
            scanned.files,
            folder.display()
        ),
    );
    places(scanned.findings, statics, report);
}

/// The program that scans code: all files as one script, so only the first has PHP's opening tag.
fn scan() -> String {
    const OPENING: &str = "declare(strict_types=1);";
    let rest = |file: &'static str| file.split_once(OPENING).unwrap_or_default().1;
    [
        include_str!("waits.php"),
        rest(include_str!("positions.php")),
        rest(include_str!("scan.php")),
    ]
    .concat()
}

fn places(findings: Vec<Place>, statics: Statics, report: &mut Report) {
    let mut rules: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for place in findings {
        if place.rule != Rule::StaticWrite || statics == Statics::Share {
            let list = rules.entry(place.rule).or_default();
            let at = format!("{}:{}", place.file, place.line);
            // Two calls may be on one line.
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }
    for (rule, places) in rules {
        let advice = rule.advice();
        report.findings.push(Finding {
            area: Area::Coroutines,
            level: advice.level,
            text: advice.problem.to_owned(),
            advice: Some(advice.remedy.to_owned()),
            places,
        });
    }
}
