//! Pools of PHP processes: the global options about PHP, `pool` and `worker`.

pub(crate) mod classic;
mod concurrency;
pub(crate) mod global;
mod ini;
mod leaks;
pub(crate) mod limits;
pub(crate) mod options;
pub(crate) mod php;
pub(crate) mod php_value;
pub(crate) mod preload;
pub(crate) mod resolve;
pub(crate) mod user;
pub(crate) mod worker;
pub(crate) mod worker_options;
