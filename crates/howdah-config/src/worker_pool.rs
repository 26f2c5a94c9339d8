//! Worker pools as they are configured: part of [`model`](crate::model).

use std::time::Duration;

use crate::privileges::User;

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
    /// `num`: worker processes. Default: as for the classic pool, or with `concurrency` one for each core,
    /// at least 2.
    pub workers: Option<usize>,
    /// `max_threads`: how many there may be when requests wait. Default: as many as `workers`.
    pub workers_max: WorkersMax,
    /// `env`: variables of the request that the script boots with, and of the script's whole life in
    /// `getenv()`. With those of the `php_server`, which come first.
    pub env: Vec<(String, String)>,
    /// `watch`: patterns of files whose change reloads the pool; relative ones are relative to the
    /// working directory. Default: none.
    pub watch: Vec<String>,
    /// `max_requests`: a worker is replaced after so many; 0: never. Default: that of the classic pool.
    pub max_requests: Option<u32>,
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
    /// `rollback`: a transaction that a request left open is rolled back. Default true.
    pub rollback: bool,
    /// `warm`: paths that each worker requests of itself before it takes requests. Default: none.
    pub warm: Vec<String>,
    /// `max_age`: a worker is replaced after this time. Default: never.
    pub max_age: Option<Duration>,
    /// `max_memory`: bytes of PHP memory after a request; a worker that has more is replaced.
    /// Default: no limit.
    pub max_memory: Option<u64>,
    /// `max_memory_growth`: bytes by which PHP memory may grow over that of the first requests; then
    /// the worker is replaced. Default: no limit.
    pub max_memory_growth: Option<u64>,
    /// `request_timeout`: wall time of a request; then 504. `None`: no limit. Default: that of the
    /// classic pool, which is already filled in.
    pub request_timeout: Option<Duration>,
    /// `cpu_timeout`: CPU time of a request; then its worker is killed. Default: no limit.
    pub cpu_timeout: Option<Duration>,
    /// `max_wait_time`: how long a request may wait for a worker; then 503. Default: that of the
    /// classic pool.
    pub max_wait_time: Option<Duration>,
    /// `queue_length`: requests that may wait; more are answered 503. Default: that of the classic
    /// pool.
    pub queue_length: Option<usize>,
    /// `max_in_flight`: requests that may be in PHP at a time; further ones wait. Default: as many as the
    /// workers have room for.
    pub max_in_flight: Option<usize>,
    /// `max_idle_time`: a worker above `workers` that had nothing to do for so long ends. Default:
    /// that of the classic pool.
    pub max_idle_time: Option<Duration>,
    /// `user`: of its processes. Default: that of the classic pool.
    pub user: Option<User>,
    /// `no_new_privs`: programs that its processes start gain no rights. Default: that of the classic pool.
    pub no_new_privs: Option<bool>,
}

impl WorkerPool {
    /// A pool with all defaults. `file` is an absolute path.
    #[must_use]
    pub fn new(name: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file: file.into(),
            root: None,
            workers: None,
            workers_max: WorkersMax::Same,
            env: Vec::new(),
            watch: Vec::new(),
            max_requests: None,
            max_failures: 6,
            boot: Boot::Zygote,
            exit: OnExit::Request,
            isolation: Isolation::Worker,
            concurrency: None,
            keep: Keep::NONE,
            connections: Connections::Replace,
            rollback: true,
            warm: Vec::new(),
            max_age: None,
            max_memory: None,
            max_memory_growth: None,
            request_timeout: None,
            cpu_timeout: None,
            max_wait_time: None,
            queue_length: None,
            max_in_flight: None,
            max_idle_time: None,
            user: None,
            no_new_privs: None,
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
    /// `hog_threshold`: a request that keeps the others waiting for longer is logged. `None`: never.
    /// Default 100 ms.
    pub hog_threshold: Option<Duration>,
    /// `time_slice`: a request that keeps the others waiting for longer is interrupted for them. `None`,
    /// the default: never.
    pub time_slice: Option<Duration>,
}

impl Concurrency {
    /// So many requests, with all defaults.
    #[must_use]
    pub fn new(requests: u32) -> Self {
        Self {
            requests,
            statics: Statics::Isolate,
            stack_size: None,
            hog_threshold: Some(Duration::from_millis(100)),
            time_slice: None,
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

/// How many processes a pool may grow to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkersMax {
    /// As many as it starts with: it does not grow.
    #[default]
    Same,
    /// `max_threads NUMBER`: at least the number that it starts with.
    Number(usize),
    /// `max_threads auto`: what the machine allows.
    Auto,
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
    /// It is made anew in place where that is safe, otherwise the worker is replaced.
    Revive,
    /// Nobody looks.
    Ignore,
}

/// `keep`: kinds of state that are not put back after each request. The bits are those of
/// `HOWDAH_KEEP_*` in the contract with the PHP processes.
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
    /// Nothing is put back.
    pub const ALL: Self = Self(0x3ff);

    /// The word of each kind.
    pub(crate) const WORDS: [(&'static str, Self); 11] = [
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
        ("all", Self::ALL),
    ];

    /// As the contract has them.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
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
