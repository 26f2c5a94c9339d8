//! Event loops of real libraries within the requests of one process. Each request has a separate
//! loop. No loop blocks the others, because none can end before all of them run
//! (`event_loops.php`).
//!
//! `ReactPHP` and version 2 of AMPHP are Debian packages. `HOWDAH_EVENT_LOOPS` names the autoloader
//! of a Composer folder with Revolt, version 3 of AMPHP and `ReactPHP`. Without it, their tests are
//! skipped.

use std::collections::BTreeSet;
use std::path::PathBuf;

use howdah_testkit::load::at_once;
use howdah_tests::meeting::Meeting;

/// Number of concurrent requests.
const LOOPS: usize = 20;

const NEWEST: &str = "HOWDAH_EVENT_LOOPS";

/// Path of a Debian package's autoloader, if the package is installed.
fn packaged(path: &str, package: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: the package {package} is not installed");
    None
}

fn newest() -> Option<PathBuf> {
    let path = std::env::var_os(NEWEST).map(PathBuf::from);
    if path.is_none() {
        println!(
            "skipped: {NEWEST} does not name an autoloader of revolt/event-loop, amphp/amp and react/event-loop"
        );
    }
    path
}

/// Checks in three rounds that each request has its own state and that one process handles all of
/// them.
fn each_has_its_own(op: &str, autoload: Option<PathBuf>) {
    let Some(autoload) = autoload else { return };
    let meeting = Meeting::new();
    let server = meeting.serve_script(
        "event_loops.php",
        "max_wait_time 30s",
        &format!(
            "num 1\nconcurrency {LOOPS}\nenv AUTOLOAD {}",
            autoload.display()
        ),
    );
    let mut pids = BTreeSet::new();
    for _ in 0..3 {
        let responses = at_once(LOOPS, |me| {
            server.get(&format!("/?op={op}&id={me}&of={LOOPS}"))
        });
        let mut loops = BTreeSet::new();
        for (me, response) in responses.iter().enumerate() {
            let before = (me + LOOPS - 1) % LOOPS;
            let expected = format!("{me}.1 {me}.2 {me}.3 heard {before} future {me}");
            response.assert(200, &expected);
            loops.insert(response.header("x-loop").expect("a loop").to_owned());
            pids.insert(response.header("x-pid").expect("a process").to_owned());
        }
        assert_eq!(loops.len(), LOOPS, "requests shared a loop");
        meeting.clear();
    }
    assert_eq!(pids.len(), 1, "the process was replaced: {pids:?}");
}

#[test]
fn reactphp() {
    let autoload = "/usr/share/icinga-php/vendor/vendor/autoload.php";
    each_has_its_own("react", packaged(autoload, "icinga-php-thirdparty"));
}

#[test]
fn amphp_2() {
    let autoload = "/usr/share/php/Amp/autoload.php";
    each_has_its_own("amphp2", packaged(autoload, "php-amphp-amp"));
}

#[test]
fn newest_reactphp() {
    each_has_its_own("react", newest());
}

#[test]
fn revolt() {
    each_has_its_own("revolt", newest());
}

#[test]
fn amphp_3() {
    each_has_its_own("amphp", newest());
}
