//! The report about preloading, as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::report::{printable, size};

/// The admin API's `/preload`, for each PHP that was configured to preload.
#[derive(Debug, Deserialize)]
pub(crate) struct Preload {
    pools: Vec<String>,
    done: bool,
    problem: Option<String>,
    classes: u64,
    functions: u64,
    memory: u64,
    files: Vec<File>,
}

#[derive(Debug, Deserialize)]
struct File {
    path: String,
    verdict: String,
    #[serde(default)]
    bytes: u64,
}

/// A summary and two lists for each: the preloaded files, and the others by reason.
pub(crate) fn text(preloads: &[Preload]) -> String {
    let mut text = String::new();
    if preloads.is_empty() {
        text.push_str("no pool preloads anything: see `preload` in the Caddyfile\n");
    }
    for (index, preload) in preloads.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        one(&mut text, preload);
    }
    text
}

// Writing to a `String` cannot fail.
fn one(text: &mut String, preload: &Preload) {
    let pools: Vec<_> = preload.pools.iter().map(|pool| printable(pool)).collect();
    let (loaded, left): (Vec<_>, Vec<_>) =
        (preload.files.iter()).partition(|file| file.verdict == "preloaded");
    let _ = write!(text, "{}: ", pools.join(", "));
    if preload.done {
        let _ = writeln!(
            text,
            "{} files, {} classes, {} functions, {} of OPcache; {} files skipped",
            loaded.len(),
            preload.classes,
            preload.functions,
            size(preload.memory),
            left.len()
        );
    } else {
        let _ = writeln!(text, "nothing is preloaded");
    }
    for line in preload.problem.iter().flat_map(|problem| problem.lines()) {
        let _ = writeln!(text, "  ! {}", printable(line));
    }
    for file in loaded {
        let _ = writeln!(text, "  {:>9} {}", size(file.bytes), printable(&file.path));
    }
    let mut reasons: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in left {
        reasons.entry(&file.verdict).or_default().push(file);
    }
    for (reason, files) in reasons {
        let _ = writeln!(text, "  skipped: {} ({})", meaning(reason), files.len());
        for file in files {
            let _ = writeln!(text, "  {:>9} {}", size(file.bytes), printable(&file.path));
        }
    }
}

fn meaning(reason: &str) -> &str {
    match reason {
        "missing" => "it cannot be read",
        "syntax" => "its syntax is invalid",
        "no_class" => "it declares nothing",
        "function" => "it declares functions",
        "constant" => "it declares constants",
        "condition" => "it declares something under a condition",
        "code" => "it does something besides declaring classes",
        "duplicate" => "another file, or PHP, declares the same",
        "diagnostic" => "compiling it emits a diagnostic, which each request must get",
        "failed" => "it cannot be compiled",
        "unlinked" => "what its class extends, implements or uses is not preloaded",
        "not_autoloaded" => "it was not loaded by an autoloader",
        "not_tried" => "not tested",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_by_their_outcome() {
        let preloads = serde_json::json!([
            {
                "pools": ["php", "app"], "done": true, "problem": null, "classes": 3, "functions": 0,
                "memory": 2048, "files": [
                    {"path": "/a.php", "verdict": "preloaded", "bytes": 100},
                    {"path": "/f.php", "verdict": "function", "bytes": 2000},
                    {"path": "/b.php", "verdict": "preloaded", "bytes": 1},
                    {"path": "/\u{1b}.php", "verdict": "function"},
                    {"path": "/c.php", "verdict": "code", "bytes": 3},
                ],
            },
            {
                "pools": ["x"], "done": false, "problem": "OPcache is off", "classes": 0, "functions": 0,
                "memory": 0, "files": [],
            },
        ]);
        let preloads: Vec<Preload> = serde_json::from_value(preloads).expect("it fits");
        let expected = "\
php, app: 2 files, 3 classes, 0 functions, 2.0 KiB of OPcache; 3 files skipped
      100 B /a.php
        1 B /b.php
  skipped: it does something besides declaring classes (1)
        3 B /c.php
  skipped: it declares functions (2)
    1.9 KiB /f.php
        0 B /\u{fffd}.php

x: nothing is preloaded
  ! OPcache is off
";
        assert_eq!(text(&preloads), expected);
        assert!(text(&[]).starts_with("no pool preloads"));
    }
}
