//! Configuration of `roadrunner`, as types.

use std::time::Duration;

use super::placeholder::Template;
use super::pool_limits::PoolLimitOverrides;
use super::user::User;

/// A pool of RoadRunner's HTTP workers.
#[derive(Debug, Clone, PartialEq)]
pub struct RoadRunnerPool {
    /// `name`: unique among all pools. Default: the script's name without `.php`, with a number if it is already used.
    pub name: String,
    /// Program and arguments of a worker.
    pub command: Vec<String>,
    /// `num_workers`. Default: as for the classic pool.
    pub workers: Option<usize>,
    /// Its own limits; the others are those of the global block.
    pub limits: PoolLimitOverrides,
    /// `user`: of its processes.
    pub user: Option<User>,
    /// `env`: additional variables.
    pub env: Vec<(String, String)>,
    /// `boot_timeout`. Default 60 s.
    pub boot_timeout: Duration,
    /// `raw_body`: forms are passed on unchanged.
    pub raw_body: bool,
    /// `forbid_uploads`: suffixes of names of uploaded files, with a dot, in lower case.
    pub forbidden_uploads: Vec<String>,
}

/// `roadrunner`: a pool of workers handles requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RoadRunner {
    /// Its index in [`Config::roadrunner`](crate::model::Config::roadrunner).
    pub pool: usize,
    /// `attribute`: attributes of the request for the application.
    pub attributes: Vec<(String, Template)>,
}
