//! What `roadrunner` asks for, as types.

use std::time::Duration;

use super::placeholder::Template;
use super::pool_limits::PoolLimitOverrides;
use super::user::User;

/// A pool of RoadRunner's HTTP workers.
#[derive(Debug, Clone, PartialEq)]
pub struct RoadRunnerPool {
    /// `name`: unique among all pools. Default: that of the script without `.php`, with a number if it is taken.
    pub name: String,
    /// Program and arguments of a worker.
    pub command: Vec<String>,
    /// `num_workers`. Default: as for the classic pool.
    pub workers: Option<usize>,
    /// The limits that it gives itself; the others are those of the global block.
    pub limits: PoolLimitOverrides,
    /// `user`: of its processes.
    pub user: Option<User>,
    /// `env`: further variables.
    pub env: Vec<(String, String)>,
    /// `boot_timeout`. Default 60 s.
    pub boot_timeout: Duration,
    /// `raw_body`: forms are passed on as they were sent.
    pub raw_body: bool,
    /// `forbid_uploads`: endings of names of uploaded files, with a dot, in lower case.
    pub forbidden_uploads: Vec<String>,
}

/// `roadrunner`: requests go to a pool of workers.
#[derive(Debug, Clone, PartialEq)]
pub struct RoadRunner {
    /// Its index in [`Config::roadrunner`](crate::model::Config::roadrunner).
    pub pool: usize,
    /// `attribute`: what the application gets as attributes of the request.
    pub attributes: Vec<(String, Template)>,
}
