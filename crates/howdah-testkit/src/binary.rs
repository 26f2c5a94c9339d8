//! Where the programs under test are.

use std::path::PathBuf;

/// The `howdah` program: `HOWDAH_BIN`, else the one that Cargo put next to the running test.
///
/// # Panics
/// If there is none; says how to build it.
#[track_caller]
pub fn howdah() -> PathBuf {
    find(
        "HOWDAH_BIN",
        "howdah",
        "build it with `cargo build -p howdah`",
    )
}

/// The `howdah-php` program: `HOWDAH_PHP`, else the one next to `howdah`.
///
/// # Panics
/// If there is none; says how to build it.
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
    // target/debug/deps/test-0123 and target/debug/tool both have the program in target/debug.
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
