//! Whether the checks of the soak test notice missing isolation of requests. The test uses a PHP
//! executable that disables one part of the isolation at a time (`worker/tests/faults.c`).
//!
//! `HOWDAH_FAULTY_PHP` names it, and `make -C worker faults` builds it. Without the variable the
//! test is skipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use howdah_tests::soak::{Settings, Soak, complaint};

const FAULTS: &str = "HOWDAH_FAULTY_PHP";

/// Faults, and words in the reports of the checks that must notice them.
const NOTICED_BY: [(&str, &[&str]); 18] = [
    ("context", &["stream context after"]),
    ("functions", &["autoloader after", "encoding after"]),
    (
        "globals",
        &["superglobals after", "request after", "global after"],
    ),
    ("handlers", &["error handler after"]),
    ("headers", &["header after", "status after"]),
    ("includes", &["include: another one includes it"]),
    ("output", &["another output buffer"]),
    (
        "process",
        &[
            "folder after",
            "environment after",
            "umask after",
            "locale after",
        ],
    ),
    ("random", &["the random numbers of another one"]),
    // A stream wrapper that another request uses is freed, and the process crashes.
    ("resources", &["502 "]),
    ("session", &["session: the id of another session"]),
    ("settings", &["ini after"]),
    ("shutdown", &["shutdown function of"]),
    (
        "statics",
        &["static property after", "static variable after"],
    ),
    ("strtok", &["the strtok() of another one"]),
    ("superglobals", &["compile: another superglobal"]),
    ("wrappers", &["wrapper: another stream wrapper"]),
    ("zone", &["time zone after"]),
];

/// Some faults show only while a process is new, and all require that requests run at the same
/// time.
const TRIES: usize = 20;

/// Returns the words that no check has reported.
fn unnoticed(php: &Path, fault: &'static str, words: &[&'static str]) -> BTreeSet<&'static str> {
    let missing = Mutex::new(words.iter().copied().collect::<BTreeSet<_>>());
    for _ in 0..TRIES {
        let soak = Soak::start(Settings {
            fault: Some((php.to_owned(), fault)),
            ..Settings::default()
        });
        // A process that mixes requests may log anything, and may exit in any way.
        soak.server.allow_log("");
        soak.send(300, |plan, result| {
            if let Some(complaint) = complaint(plan, result) {
                let mut missing = missing.lock().expect("no panic");
                missing.retain(|word| !complaint.contains(word));
            }
        });
        if missing.lock().expect("no panic").is_empty() {
            break;
        }
    }
    missing.into_inner().expect("no panic")
}

#[test]
fn each_part_is_missed() {
    let Some(php) = std::env::var_os(FAULTS).map(PathBuf::from) else {
        println!("skipped: {FAULTS} does not name a PHP executable of `make -C worker faults`");
        return;
    };
    for (fault, words) in NOTICED_BY {
        let missing = unnoticed(&php, fault, words);
        assert!(missing.is_empty(), "without {fault}: {missing:?}");
    }
}

#[test]
fn without_a_fault_no_check_fails() {
    let Some(php) = std::env::var_os(FAULTS).map(PathBuf::from) else {
        println!("skipped: {FAULTS} does not name a PHP executable of `make -C worker faults`");
        return;
    };
    let soak = Soak::start(Settings {
        fault: Some((php, "none")),
        ..Settings::default()
    });
    soak.run(300);
    let _ = soak.only_pid();
}
