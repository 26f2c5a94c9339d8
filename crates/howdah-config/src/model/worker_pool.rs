//! Configured worker pools: part of [`model`](crate::model).

use super::pool_settings::PoolSettings;
use super::worker_options::WorkerOptions;

/// Maximum number of worker processes of one pool. During a reload the old ones, the new ones and two spares share the
/// 512 places of a segment.
pub const WORKERS_MAX: usize = 255;

/// The same of a pool with `concurrency`: the descriptors that wake its workers must fit into one message.
pub const CONCURRENT_WORKERS_MAX: usize = 111;

/// The name of the classic pool, which no worker pool may have.
pub const CLASSIC_POOL: &str = "php";

/// `worker`: processes that boot one script once and then handle many requests with it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerPool {
    /// `name`: for logs, status and process titles; unique, and never [`CLASSIC_POOL`]. Default: the name of the
    /// `php_server`, otherwise of the file without `.php`, with a number if it is already used.
    pub name: String,
    /// `file`: the worker script; an absolute path whose symbolic links are not resolved.
    pub file: String,
    /// Document root of the request with which the script boots; an absolute path. `None`: unknown
    /// before the first request.
    pub root: Option<String>,
    /// Number of processes, limits, user and PHP settings. Default number of processes: as for the classic pool,
    /// or with `concurrency` one for each core, at least 2.
    pub settings: PoolSettings,
    /// The other options. Variables of `env` follow those of the `php_server`.
    pub options: WorkerOptions,
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
            options: WorkerOptions::default(),
        }
    }
}

/// A worker pool of a `php_server` or `php`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhpWorker {
    /// Its index in [`Config::workers`](crate::model::Config::workers).
    pub pool: usize,
    /// `match`: paths that the pool handles whatever file exists, before `try_files`; patterns as
    /// in [`Matcher::Path`](crate::model::Matcher::Path). Empty: requests whose script is the
    /// pool's `file`.
    pub matches: Vec<String>,
}
