//! Paths of the programs under test.

use std::path::PathBuf;

/// Path of the `howdah` program: `HOWDAH_BIN`, or by default the one that Cargo put next to the
/// running test.
///
/// # Panics
/// Panics if it is missing. The message says how to build it.
#[track_caller]
pub fn howdah() -> PathBuf {
    find(
        "HOWDAH_BIN",
        "howdah",
        "build it with `cargo build -p howdah`",
    )
}

/// Path of the `howdah-php` program: `HOWDAH_PHP`, or by default the one next to `howdah`.
///
/// # Panics
/// Panics if it is missing. The message says how to build it.
#[track_caller]
pub fn howdah_php() -> PathBuf {
    let sibling = howdah().with_file_name("howdah-php");
    if std::env::var_os("HOWDAH_PHP").is_none() && sibling.is_file() {
        return sibling;
    }
    find(
        "HOWDAH_PHP",
        "howdah-php",
        "build it with `make -C worker OUT=target/debug`",
    )
}

#[track_caller]
fn find(variable: &str, name: &str, advice: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
        assert!(
            path.is_file(),
            "{variable} names {}, which is not a file",
            path.display()
        );
        return path;
    }
    // For both target/debug/deps/test-0123 and target/debug/tool, the program is in target/debug.
    let running = std::env::current_exe().expect("the running program has a path");
    let found = running
        .ancestors()
        .skip(1)
        .take(2)
        .map(|dir| dir.join(name))
        .find(|p| p.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no {name} near {}: {advice}, or set {variable}",
            running.display()
        )
    })
}
