//! Checks whether an application is safe with `concurrency`, by its packages and its code.

use std::collections::BTreeMap;
use std::path::Path;

use howdah_config::model::Statics;
use serde::Deserialize;

use super::php::{Facts, Php};
use super::report::{Area, Finding, Level, Report};
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

/// What `scan.php` searches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    LoopProperty,
    RequestProperty,
    Reference,
    Constant,
    StaticWrite,
    Persistent,
    ProcessWide,
    Fork,
    WaitAnyChild,
    Signals,
    Select,
    Ffi,
    Computes,
    Blocks,
    ProcessRights,
    MagicWait,
    EntryWait,
    ProgramBesideSocket,
    LazyTrait,
    SearchPosition,
    IteratorPosition,
}

impl Rule {
    /// The severity, the problem, and what to do.
    fn description(self) -> (Level, &'static str, &'static str) {
        use Level::{Error, Warning};
        match self {
            Self::LoopProperty => (
                Error,
                "the object with the loop writes to its own properties, and all requests share it",
                "keep it in variables of the callback",
            ),
            Self::RequestProperty => (
                Warning,
                "an object is given the request, user or session of the moment",
                "create such an object in each request; requests share one that the boot creates",
            ),
            Self::Reference => (
                Warning,
                "a closure of the worker script uses variables of the boot by reference: they are one for all requests",
                "safe for counters and caches; data of a request belongs in variables of the callback",
            ),
            Self::Constant => (
                Warning,
                "define() in a function: a constant is one for all requests of the process",
                "define it at boot, or use a variable if it differs between requests",
            ),
            Self::StaticWrite => (
                Warning,
                "a static property is written, and with `statics share` all requests see it",
                "remove `statics share`, or store only data that is the same for all requests",
            ),
            Self::Persistent => (
                Warning,
                "a persistent connection: in a concurrent worker it is closed at the end of its request",
                "open it at boot (a PDO object has a pool behind it), or use howdah_pool()",
            ),
            Self::ProcessWide => (
                Warning,
                "a setting or message of the whole process is used in a function",
                "set it at boot; do not wait between an error and reading it",
            ),
            Self::Fork => (
                Warning,
                "a fork copies all requests of the process that are on their way",
                "start another program with proc_open(), or use a pool without `concurrency`",
            ),
            Self::WaitAnyChild => (
                Warning,
                "waiting for a child may get that of another request",
                "wait for one process id, never for -1 (pcntl_wait()), or use proc_close()",
            ),
            Self::Signals => (
                Warning,
                "signals, their handlers and alarms belong to the process, not to a request",
                "set them at boot; use Howdah\\timeout() in the place of an alarm",
            ),
            Self::Select => (
                Warning,
                "select() supports descriptors up to 1023, and a concurrent worker has more of them open",
                "use Howdah\\all() and plain reads, or less concurrency",
            ),
            Self::Ffi => (
                Warning,
                "calls through FFI hold up all requests of the process while they wait",
                "use a pool without `concurrency` for them if they take long",
            ),
            Self::Computes => (
                Warning,
                "a long computation holds up all requests of the process",
                "use another pool without `concurrency` for it if it takes more than some 50 ms",
            ),
            Self::Blocks => (
                Warning,
                "a lookup of a user or group, or syslog(), holds up all requests of the process while the \
                 system's service is slow",
                "look them up at boot; write logs to standard error or a file",
            ),
            Self::ProcessRights => (
                Warning,
                "the user, limits, priority, title or extensions of the whole process are changed in a function",
                "set them in the Caddyfile or php.ini, or start another program with proc_open()",
            ),
            Self::MagicWait => (
                Warning,
                "a magic method waits: requests that share its object run it at the same time, and what one \
                 stores in the object stays for all",
                "create the object for each request, or load its data at boot",
            ),
            Self::EntryWait => (
                Warning,
                "the generator of apcu_entry() waits: so do all requests that need the key, and without \
                `concurrency` all that use APCu",
                "limit the wait with Howdah\\timeout(), or fetch the value first and store it with apcu_store()",
            ),
            Self::ProgramBesideSocket => (
                Warning,
                "a program is started while the function has a socket open: the program inherits it, and keeps the \
                connection open as long as it runs",
                "start the program first, or close the socket before",
            ),
            Self::LazyTrait => (
                Warning,
                "a lazy object of PHP code counts as initialized as soon as that begins: where requests share it, a \
                second one sees it half done",
                "use newLazyGhost() of PHP 8.4 (Doctrine: enableNativeLazyObjects(true)), or touch shared ones at boot",
            ),
            Self::SearchPosition => (
                Warning,
                "mb_ereg_search() continues where the last search of the request ended, and all coroutines of the \
                request share that position",
                "do not wait between two searches, or use preg_match() with an offset",
            ),
            Self::IteratorPosition => (
                Warning,
                "a loop uses an object that has one position (LimitIterator, SplFileObject and the like): requests \
                that share the object skip or repeat elements",
                "loop over a clone or an array (iterator_to_array()), or make the object for each request",
            ),
        }
    }
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
                format!(
                    "the code of {} was not looked through: {error}",
                    folder.display()
                ),
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
            "{} PHP files below {} were looked through (not vendor, var, storage, cache, tests)",
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
        let (level, text, advice) = rule.description();
        report.findings.push(Finding {
            area: Area::Coroutines,
            level,
            text: text.to_owned(),
            advice: Some(advice.to_owned()),
            places,
        });
    }
}
