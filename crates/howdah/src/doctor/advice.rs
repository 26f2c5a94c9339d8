//! The rules of `scan.php`, with what doctor reports for each.

use serde::Deserialize;

use super::report::Level;

/// What `scan.php` searches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rule {
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
    pub(super) fn advice(self) -> &'static Advice {
        &ADVICE[self as usize]
    }
}

/// The report of a rule that code breaks.
#[derive(Debug)]
pub(super) struct Advice {
    rule: Rule,
    pub(super) level: Level,
    pub(super) problem: &'static str,
    pub(super) remedy: &'static str,
}

/// In the order of [`Rule`].
const ADVICE: &[Advice] = &[
    Advice {
        rule: Rule::LoopProperty,
        level: Level::Error,
        problem: "the object with the loop writes to its own properties, and all requests share it",
        remedy: "keep it in variables of the callback",
    },
    Advice {
        rule: Rule::RequestProperty,
        level: Level::Warning,
        problem: "an object receives the current request, user or session",
        remedy: "create such an object in each request; requests share one that the boot creates",
    },
    Advice {
        rule: Rule::Reference,
        level: Level::Warning,
        problem: "a closure of the worker script uses variables of the boot by reference: they are one for all requests",
        remedy: "safe for counters and caches; data of a request belongs in variables of the callback",
    },
    Advice {
        rule: Rule::Constant,
        level: Level::Warning,
        problem: "define() in a function: a constant is one for all requests of the process",
        remedy: "define it at boot, or use a variable if it differs between requests",
    },
    Advice {
        rule: Rule::StaticWrite,
        level: Level::Warning,
        problem: "a static property is written, and with `statics share` all requests see it",
        remedy: "remove `statics share`, or store only data that is the same for all requests",
    },
    Advice {
        rule: Rule::Persistent,
        level: Level::Warning,
        problem: "a persistent connection: in a concurrent worker it is closed at the end of its request",
        remedy: "open it at boot (a PDO object has a pool behind it), or use howdah_pool()",
    },
    Advice {
        rule: Rule::ProcessWide,
        level: Level::Warning,
        problem: "a setting or message of the whole process is used in a function",
        remedy: "set it at boot; do not wait between an error and reading it",
    },
    Advice {
        rule: Rule::Fork,
        level: Level::Warning,
        problem: "a fork copies all requests of the process that are in flight",
        remedy: "start another program with proc_open(), or use a pool without `concurrency`",
    },
    Advice {
        rule: Rule::WaitAnyChild,
        level: Level::Warning,
        problem: "waiting for a child may get that of another request",
        remedy: "wait for one process id, never for -1 (pcntl_wait()), or use proc_close()",
    },
    Advice {
        rule: Rule::Signals,
        level: Level::Warning,
        problem: "signals, their handlers and alarms belong to the process, not to a request",
        remedy: "set them at boot; use Howdah\\timeout() in the place of an alarm",
    },
    Advice {
        rule: Rule::Select,
        level: Level::Warning,
        problem: "select() supports descriptors up to 1023, and a concurrent worker has more of them open",
        remedy: "use Howdah\\all() and plain reads, or less concurrency",
    },
    Advice {
        rule: Rule::Ffi,
        level: Level::Warning,
        problem: "calls through FFI hold up all requests of the process while they wait",
        remedy: "use a pool without `concurrency` for them if they take long",
    },
    Advice {
        rule: Rule::Computes,
        level: Level::Warning,
        problem: "a long computation holds up all requests of the process",
        remedy: "use another pool without `concurrency` for it if it takes more than some 50 ms",
    },
    Advice {
        rule: Rule::Blocks,
        level: Level::Warning,
        problem: "a lookup of a user or group, or syslog(), holds up all requests of the process while the \
                 system's service is slow",
        remedy: "look them up at boot; write logs to standard error or a file",
    },
    Advice {
        rule: Rule::ProcessRights,
        level: Level::Warning,
        problem: "the user, limits, priority, title or extensions of the whole process are changed in a function",
        remedy: "set them in the Caddyfile or php.ini, or start another program with proc_open()",
    },
    Advice {
        rule: Rule::MagicWait,
        level: Level::Warning,
        problem: "a magic method waits: requests that share its object run it at the same time, and what one \
                 stores in the object stays for all",
        remedy: "create the object for each request, or load its data at boot",
    },
    Advice {
        rule: Rule::EntryWait,
        level: Level::Warning,
        problem: "the generator of apcu_entry() waits: so do all requests that need the key, and without \
                `concurrency` all that use APCu",
        remedy: "limit the wait with Howdah\\timeout(), or fetch the value first and store it with apcu_store()",
    },
    Advice {
        rule: Rule::ProgramBesideSocket,
        level: Level::Warning,
        problem: "a program is started while the function has a socket open: the program inherits it, and keeps the \
                connection open as long as it runs",
        remedy: "start the program first, or close the socket before",
    },
    Advice {
        rule: Rule::LazyTrait,
        level: Level::Warning,
        problem: "a lazy object of PHP code counts as initialized as soon as that begins: where requests share it, a \
                second one sees it half done",
        remedy: "use newLazyGhost() of PHP 8.4 (Doctrine: enableNativeLazyObjects(true)), or touch shared ones at boot",
    },
    Advice {
        rule: Rule::SearchPosition,
        level: Level::Warning,
        problem: "mb_ereg_search() continues where the last search of the request ended, and all coroutines of the \
                request share that position",
        remedy: "do not wait between two searches, or use preg_match() with an offset",
    },
    Advice {
        rule: Rule::IteratorPosition,
        level: Level::Warning,
        problem: "a loop uses an object that has one position (LimitIterator, SplFileObject and the like): requests \
                that share the object skip or repeat elements",
        remedy: "loop over a clone or an array (iterator_to_array()), or make the object for each request",
    },
];

const _: () = {
    assert!(ADVICE.len() == Rule::IteratorPosition as usize + 1);
    let mut number = 0;
    while number < ADVICE.len() {
        assert!(
            ADVICE[number].rule as usize == number,
            "in the order of the rules"
        );
        number += 1;
    }
};
