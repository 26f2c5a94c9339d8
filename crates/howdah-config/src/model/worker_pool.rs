//! Worker pools as they are configured: part of [`model`](crate::model).

use std::fmt;
use std::time::Duration;

use super::pool_settings::PoolSettings;

/// The most worker processes of one pool: while it is reloaded its old and its new ones, and two to
/// spare, share the 512 places of a segment.
pub const WORKERS_MAX: usize = 255;

/// The same of a pool with [`WorkerPool::concurrency`]: the descriptors that wake its workers have to fit
/// into one message.
pub const CONCURRENT_WORKERS_MAX: usize = 111;

/// Requests that one worker can run at a time.
pub const CONCURRENCY_MAX: u32 = 1024;

/// The name of the classic pool, which no worker pool may have.
pub const CLASSIC_POOL: &str = "php";

/// `worker`: processes that boot one script once and then answer request after request with it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerPool {
    /// `name`: for logs, status and process titles; unique, and never [`CLASSIC_POOL`]. Default: the
    /// name of the `php_server`, otherwise of the file without `.php`, with a number if it is taken.
    pub name: String,
    /// `file`: the worker script; an absolute path whose symbolic links are not resolved.
    pub file: String,
    /// Document root of the request that the script boots with; an absolute path. `None`: not known
    /// before a request comes.
    pub root: Option<String>,
    /// Number of processes, limits, user and PHP settings. Processes, if not given: as for the classic pool,
    /// or with `concurrency` one for each core, at least 2.
    pub settings: PoolSettings,
    /// `env`: variables of the request that the script boots with, and of the script's whole life in
    /// `getenv()`. With those of the `php_server`, which come first.
    pub env: Vec<(String, String)>,
    /// `watch`: patterns of files whose change reloads the pool; relative ones are relative to the
    /// working directory. Default: none.
    pub watch: Vec<String>,
    /// `max_consecutive_failures`: the server does not start when the script fails so often in a row
    /// before it asks for a request. [`u32::MAX`]: it goes on trying. Default 6.
    pub max_failures: u32,
    /// `boot`.
    pub boot: Boot,
    /// `exit`.
    pub exit: OnExit,
    /// `isolation`.
    pub isolation: Isolation,
    /// `concurrency`: several requests at a time in one worker. `None`: one.
    pub concurrency: Option<Concurrency>,
    /// `keep`: state that a request may change for later ones. Default: none.
    pub keep: Keep,
    /// `connections`.
    pub connections: Connections,
    /// `warm`: paths that each worker requests of itself before it takes requests. Default: none.
    pub warm: Vec<String>,
    /// `detect_leaks`; not with `concurrency`. Default: off.
    pub leaks: Option<LeakDetection>,
}

impl WorkerPool {
    /// A pool with all defaults. `file` is an absolute path.
    #[must_use]
    pub fn new(name: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file: file.into(),
            root: None,
            settings: PoolSettings::default(),
            env: Vec::new(),
            watch: Vec::new(),
            max_failures: 6,
            boot: Boot::Zygote,
            exit: OnExit::Request,
            isolation: Isolation::Worker,
            concurrency: None,
            keep: Keep::NONE,
            connections: Connections::Replace,
            warm: Vec::new(),
            leaks: None,
        }
    }
}

/// `detect_leaks`: state that requests leave behind is named in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeakDetection {
    /// `sample`: one of so many requests is looked at. Default 1.
    pub sample: u32,
    /// `allow`: what is no leak: patterns of places and kinds with `*`. Default: none.
    pub allow: Vec<String>,
    /// Responses have the number of leaks found. Only `php-server --detect-leaks`.
    pub in_header: bool,
}

impl Default for LeakDetection {
    fn default() -> Self {
        Self {
            sample: 1,
            allow: Vec::new(),
            in_header: false,
        }
    }
}

/// Several requests at a time in each worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// `concurrency`: 2 to [`CONCURRENCY_MAX`].
    pub requests: u32,
    /// `statics`.
    pub statics: Statics,
    /// `stack_size`: bytes of C stack of each request. `None`: what the PHP process thinks right.
    pub stack_size: Option<u32>,
    /// `concurrency_fallback`: one request at a time where PHP cannot run several. Default false: the boot
    /// fails.
    pub fallback: bool,
    /// `hog_threshold`: a request that keeps the others waiting for longer is logged. `None`: never.
    /// Default 100 ms.
    pub hog_threshold: Option<Duration>,
    /// `time_slice`: a request that keeps the others waiting for longer is interrupted for them. `None`,
    /// the default: never.
    pub time_slice: Option<Duration>,
    /// `hang_timeout`: a worker that makes no progress for longer is replaced. `None`: never. Default 60 s.
    pub hang_timeout: Option<Duration>,
}

impl Concurrency {
    /// So many requests, with all defaults.
    #[must_use]
    pub fn new(requests: u32) -> Self {
        Self {
            requests,
            statics: Statics::Isolate,
            fallback: false,
            stack_size: None,
            hog_threshold: Some(Duration::from_millis(100)),
            time_slice: None,
            hang_timeout: Some(Duration::from_secs(60)),
        }
    }
}

/// `statics`: static properties and variables of requests that run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statics {
    /// Each request has its own.
    #[default]
    Isolate,
    /// All requests of a worker have the same.
    Share,
}

/// `boot`: where the worker script is run up to its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boot {
    /// Once, in the process whose copies all workers are.
    #[default]
    Zygote,
    /// In each worker.
    Each,
}

/// `exit`: what `exit()` in a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExit {
    /// The request; the worker goes on.
    #[default]
    Request,
    /// The worker, which is replaced.
    Restart,
}

/// `isolation`: what requests share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// The worker, one after another.
    #[default]
    Worker,
    /// The boot alone: each has a fresh copy of the booted application.
    Request,
}

/// `connections`: what becomes of a database connection that died between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connections {
    /// The worker is replaced.
    #[default]
    Replace,
    /// It is made again in place where that is safe, otherwise the worker is replaced.
    Revive,
    /// Nobody looks.
    Ignore,
}

/// `keep`: kinds of state that are not put back after each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep(u32);

impl Keep {
    /// All state is put back.
    pub const NONE: Self = Self(0);
    /// ini settings.
    pub const INI: Self = Self(0x1);
    /// Error and exception handlers, autoloaders, stream wrappers and filters.
    pub const HANDLERS: Self = Self(0x2);
    /// `setlocale()`.
    pub const LOCALE: Self = Self(0x4);
    /// `date_default_timezone_set()`.
    pub const TIMEZONE: Self = Self(0x8);
    /// `chdir()`.
    pub const CWD: Self = Self(0x10);
    /// `umask()`.
    pub const UMASK: Self = Self(0x20);
    /// `putenv()` and `$_ENV`.
    pub const ENV: Self = Self(0x40);
    /// `mb_internal_encoding()` and its like.
    pub const MBSTRING: Self = Self(0x80);
    /// `libxml_use_internal_errors()`.
    pub const LIBXML: Self = Self(0x100);
    /// The state of `mt_rand()` and its like.
    pub const RANDOM: Self = Self(0x200);
    /// `session_name()`, `session_set_cookie_params()` and all of `session.*`.
    pub const SESSION: Self = Self(0x400);
    /// Nothing is put back.
    pub const ALL: Self = Self(0x7ff);

    /// The word of each kind.
    pub(crate) const WORDS: [(&'static str, Self); 12] = [
        ("ini", Self::INI),
        ("handlers", Self::HANDLERS),
        ("locale", Self::LOCALE),
        ("timezone", Self::TIMEZONE),
        ("cwd", Self::CWD),
        ("umask", Self::UMASK),
        ("env", Self::ENV),
        ("mbstring", Self::MBSTRING),
        ("libxml", Self::LIBXML),
        ("random", Self::RANDOM),
        ("session", Self::SESSION),
        ("all", Self::ALL),
    ];

    /// All kinds of the other one are in this one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The words of a Caddyfile.
impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = Self::WORDS.iter().filter(|(_, kind)| *kind != Self::ALL);
        let kept = kinds.filter(|(_, kind)| self.contains(*kind));
        let words: Vec<_> = kept.map(|(word, _)| *word).collect();
        if words.is_empty() {
            return f.write_str("nothing");
        }
        f.write_str(&words.join(" "))
    }
}

/// A worker pool of a `php_server` or `php`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhpWorker {
    /// Its index in [`Config::workers`](crate::model::Config::workers).
    pub pool: usize,
    /// `match`: paths that go to the pool whatever file exists, before `try_files`; as those of
    /// [`Matcher::Path`](crate::model::Matcher::Path). Empty: requests whose script is the pool's
    /// `file`.
    pub matches: Vec<String>,
}
