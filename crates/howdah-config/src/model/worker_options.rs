//! The options of a worker, each declared once, in the table below. The Caddyfile, the command line, the comparison
//! of two configurations, the reference page and `howdah-pool` follow from it: see
//! `docs/adr/0017-one-place-for-options.md`. Limits, which a worker has in common with other pools, are in the table
//! of [`pool_limits`](super::pool_limits).

use std::time::Duration;

use super::option_value::{OptionField, OptionKind, OptionValue};
use super::worker_modes::{Boot, Connections, Isolation, Keep, LeakDetection, OnExit, Statics};

/// Requests that one worker can run at the same time.
pub const CONCURRENCY_MAX: u32 = 1024;

/// Files that `watch` watches if no pattern is given: FrankenPHP's default.
pub const DEFAULT_WATCH: &str = "./**/*.{env,php,twig,yaml,yml}";

/// A row of [`WORKER_OPTIONS`].
#[derive(Debug)]
pub struct WorkerOption {
    /// Its name everywhere; with `-` in place of `_` on the command line.
    pub name: &'static str,
    /// Its syntax in a Caddyfile.
    pub syntax: &'static str,
    /// The kind of its value.
    pub kind: OptionKind,
    /// It has no effect without `concurrency`, and is refused there.
    pub needs_concurrency: bool,
    /// A change of it starts new processes at a reload.
    pub is_compared: bool,
    /// `php-server` has it as an option.
    pub is_flag: bool,
    /// The default as the reference page shows it.
    pub default: &'static str,
    /// Its effect, in one sentence or several.
    pub about: &'static str,
    /// Difference from FrankenPHP.
    pub differs: &'static str,
    /// Lines that use it.
    pub example: &'static str,
    /// Reads its value from the options of a worker.
    pub get: fn(&WorkerOptions) -> OptionValue,
    /// Sets it, or adds to a list; false if its type cannot hold the value.
    pub set: fn(&mut WorkerOptions, OptionValue) -> bool,
}

const NOT_THERE: &str = "Not in FrankenPHP.";

/// A number of requests, failures and the like.
const fn number(min: u32, max: u32, unlimited: &'static str) -> OptionKind {
    OptionKind::Number {
        min: min as u64,
        max: max as u64,
        unlimited,
    }
}

/// Rows of name, type, default, kind and texts. The comment is what the option does, for all who read of it.
macro_rules! worker_options {
    ($(
        $(#[doc = $about:literal])+
        $name:ident: $type:ty = $value:expr, $kind:expr => {
            $($key:ident: $text:expr),* $(,)?
        }
    )*) => {
        /// Options of one worker pool.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct WorkerOptions {
            $($(#[doc = $about])+ pub $name: $type,)*
        }

        impl Default for WorkerOptions {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        /// All options.
        pub const WORKER_OPTIONS: &[WorkerOption] = &[$(WorkerOption {
            name: stringify!($name),
            kind: $kind,
            about: concat!($($about),+).trim_ascii(),
            get: |options| OptionField::value(&options.$name, $kind),
            set: |options, value| OptionField::set(&mut options.$name, value),
            $($key: $text,)*
            ..WorkerOption::TEXTS
        }),*];
    };
}

worker_options! {
    /// An environment variable of the script, its requests and the programs that they start; also in `$_SERVER`. May
    /// be given several times.
    env: Vec<(String, String)> = Vec::new(), OptionKind::Variables => {
        syntax: "env NAME VALUE  or  env { NAME VALUE … }",
        differs: "In FrankenPHP, programs do not inherit it, and `$_SERVER` lacks it in the requests of a worker of \
                  the global block. FrankenPHP has no form with a block.",
        example: "env APP_ENV production",
    }
    /// Reloads the workers when a file matching the pattern changes, for development. A pattern is a file, a folder,
    /// or has `*`, `?`, `**` and `{a,b}`. A relative one starts at the working directory. May be given several times.
    watch: Vec<String> = Vec::new(), OptionKind::FilePatterns { default: DEFAULT_WATCH } => {
        syntax: "watch [PATTERN…]",
        default: "nothing is watched; without PATTERN `./**/*.{env,php,twig,yaml,yml}`",
        example: "watch app/**/*.php .env",
        is_compared: false,
        is_flag: true,
    }
    /// The server does not start if the script fails this many times in a row before its first request. With `-1` the
    /// server keeps retrying, as it does with `watch`, and after the start.
    max_consecutive_failures: Option<u32> = Some(6), number(0, u32::MAX, "-1") => {
        syntax: "max_consecutive_failures NUMBER|-1",
        default: "`6`",
        example: "max_consecutive_failures 3",
        is_compared: false,
    }
    /// Where the script runs up to its first request: once, in a process that all workers are copies of (`zygote`),
    /// or in each worker (`each`).
    boot: Boot = Boot::Zygote, OptionKind::Mode(Boot::WORDS) => {
        syntax: "boot zygote|each",
        default: "`zygote`; the server falls back to `each` if the booted script cannot be copied",
        differs: NOT_THERE,
        example: "boot each",
    }
    /// What `exit()` in a request ends: only the request, whose shutdown functions run and whose output is delivered,
    /// or also the worker, which restarts.
    exit: OnExit = OnExit::Request, OptionKind::Mode(OnExit::WORDS) => {
        syntax: "exit request|restart",
        default: "`request`",
        differs: "FrankenPHP always does `restart`.",
        example: "exit restart",
    }
    /// With `request` each request runs in a fresh copy of the booted script and sees nothing of earlier requests.
    /// This costs about a millisecond per request.
    isolation: Isolation = Isolation::Worker, OptionKind::Mode(Isolation::WORDS) => {
        syntax: "isolation worker|request",
        default: "`worker`",
        differs: NOT_THERE,
        example: "isolation request",
    }
    /// Requests that a worker runs at the same time, at most 1024. While one waits for a database, another server or
    /// a timer, the worker runs others. The application has to be safe for that: see the
    /// [guide](../guides/coroutines.md).
    concurrency: u32 = 1, number(1, CONCURRENCY_MAX, "") => {
        syntax: "concurrency NUMBER",
        default: "`1`",
        differs: NOT_THERE,
        example: "concurrency 100",
        is_flag: true,
    }
    /// With `concurrency`: a worker runs one request at a time if the installed PHP cannot run several. By default
    /// the start fails, and the error names the cause.
    concurrency_fallback: bool = false, OptionKind::Switch => {
        syntax: "concurrency_fallback [on|off]",
        default: "`off`",
        differs: NOT_THERE,
        example: "concurrency_fallback\nconcurrency 100",
        needs_concurrency: true,
    }
    /// With `concurrency`: static properties and variables are separate for each request, with the values that they
    /// had after the boot (`isolate`), or shared by all requests of a worker (`share`).
    statics: Statics = Statics::Isolate, OptionKind::Mode(Statics::WORDS) => {
        syntax: "statics isolate|share",
        default: "`isolate`",
        differs: NOT_THERE,
        example: "statics share\nconcurrency 100",
        needs_concurrency: true,
    }
    /// With `concurrency`: size of the C stack of each request, from `64KiB` to `64MiB`. Memory is used only as far
    /// as the stack grows, and mostly freed when the request ends. An overflow ends the request with a fatal
    /// error: increase the size for an application with very deeply nested callbacks or data.
    stack_size: u32 = 8 << 20, OptionKind::Size { min: 64 << 10, max: 64 << 20 } => {
        syntax: "stack_size SIZE",
        default: "`8MiB`, the usual stack size of a process",
        differs: NOT_THERE,
        example: "stack_size 16MiB\nconcurrency 100",
        needs_concurrency: true,
    }
    /// With `concurrency`: logs a request that blocks the other requests of its worker for longer, with the place in
    /// the code. It may compute, or wait in a call that blocks the process.
    hog_threshold: Option<Duration> = Some(Duration::from_millis(100)), OptionKind::Time => {
        syntax: "hog_threshold DURATION|off",
        default: "`100ms`",
        differs: NOT_THERE,
        example: "hog_threshold 50ms\nconcurrency 100",
        needs_concurrency: true,
    }
    /// With `concurrency`: replaces a worker that makes no progress for longer, for example because a library loops or
    /// waits for a lock that it holds itself, and logs the place in the code. PHP code that computes, waiting calls of
    /// the C library, and waiting for a disk count as progress; a single C function that computes for so long does
    /// not. While the worker is being stopped, the limit is at most 5 s.
    hang_timeout: Option<Duration> = Some(Duration::from_secs(60)), OptionKind::Time => {
        syntax: "hang_timeout DURATION|off",
        default: "`60s`",
        differs: NOT_THERE,
        example: "hang_timeout 20s\nconcurrency 100",
        needs_concurrency: true,
    }
    /// With `concurrency`: a request that computes for longer is interrupted, anywhere in its code, and the other
    /// requests of its worker run. By default requests switch only where they wait, and code that shares objects
    /// between requests may rely on that.
    time_slice: Option<Duration> = None, OptionKind::Time => {
        syntax: "time_slice DURATION|off",
        default: "`off`",
        differs: NOT_THERE,
        example: "time_slice 10ms\nconcurrency 100",
        needs_concurrency: true,
    }
    /// State that a request may change for later ones. All other state that PHP can restore is restored after each
    /// request to what it was after the boot; the [guide](../guides/worker-mode.md) lists what is not. Values are
    /// `ini`, `handlers` (of errors and exceptions, autoloaders, stream wrappers and filters, and the settings of
    /// `mysqli_report()` and `use_soap_error_handler()`), `locale`, `timezone`, `cwd`, `umask`, `env`, `mbstring`,
    /// `libxml`, `random`, `session` (`session_name()`, `session_set_cookie_params()` and all of `session.*`) and
    /// `all`. May be given several times.
    keep: Keep = Keep::NONE, OptionKind::Set(Keep::WORDS) => {
        syntax: "keep WORD…",
        default: "none",
        differs: "FrankenPHP keeps all of it.",
        example: "keep locale timezone",
    }
    /// What happens when a database connection of a worker was closed by its server between two requests: the worker
    /// is replaced (`replace`); the connection is reopened where that is safe, without the settings of its session
    /// (`revive`); or nothing (`ignore`).
    connections: Connections = Connections::Replace, OptionKind::Mode(Connections::WORDS) => {
        syntax: "connections replace|revive|ignore",
        default: "`replace`",
        differs: NOT_THERE,
        example: "connections revive",
    }
    /// Paths, with or without a query, that each worker requests itself before it takes requests. May be given
    /// several times.
    warm: Vec<String> = Vec::new(), OptionKind::Paths => {
        syntax: "warm PATH…",
        differs: NOT_THERE,
        example: "warm / /products?page=1",
    }
    /// Logs state that requests leave behind for later ones: each place, such as `App\Cart::$items`, once in a
    /// generation. With `sample`, one in so many requests of a worker is checked. `allow` names places or kinds that
    /// are not leaks; `*` matches any text. Not with `concurrency` or `isolation request`.
    detect_leaks: Option<LeakDetection> = None, OptionKind::LeakDetection => {
        syntax: "detect_leaks [sample NUMBER] [{ allow PATTERN… }]",
        default: "`off`",
        differs: NOT_THERE,
        example: "detect_leaks sample 500 {\n\tallow App\\Cache::*\n}",
        is_flag: true,
    }
}

impl WorkerOptions {
    /// A worker runs several requests at the same time.
    #[must_use]
    pub fn is_concurrent(&self) -> bool {
        self.concurrency > 1
    }
}

impl WorkerOption {
    /// An option without texts, of which every change starts new processes.
    const TEXTS: Self = Self {
        name: "",
        syntax: "",
        kind: OptionKind::Switch,
        needs_concurrency: false,
        is_compared: true,
        is_flag: false,
        default: "",
        about: "",
        differs: "",
        example: "",
        get: |_| OptionValue::Word(""),
        set: |_, _| false,
    };

    /// Finds a row by its name in the Caddyfile.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        WORKER_OPTIONS.iter().find(|option| option.name == name)
    }
}
