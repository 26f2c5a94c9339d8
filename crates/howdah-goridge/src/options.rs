//! Options of a pool.

use std::ffi::OsString;
use std::time::Duration;

use howdah_config::model::PoolLimits;
use howdah_pool::User;

/// A pool of workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Its name in logs, status and metrics.
    pub name: String,
    /// Program and arguments of a worker.
    pub command: Vec<String>,
    /// Worker processes.
    pub workers: usize,
    /// Its limits, as configured.
    pub limits: PoolLimits,
    /// How long a worker may take to get ready.
    pub boot_timeout: Duration,
    /// The environment of its workers, without the variables of the relay.
    pub environment: Vec<(OsString, OsString)>,
    /// User of its workers; `None`: this process's.
    pub user: Option<User>,
    /// The key by which a monitor starts a worker; `None`: this process starts it.
    pub monitor_key: Option<u64>,
    /// Forms are passed on unchanged.
    pub raw_body: bool,
    /// Suffixes of names of uploaded files that are refused, with a dot, in lower case.
    pub forbidden_uploads: Vec<String>,
}
