//! A request for a script, as routes pass it on.

use super::fastcgi::FastCgiJob;
use crate::message::request::Script;

/// A script to run.
pub(crate) struct ScriptJob {
    /// The classic pool is 0, worker pools follow in the order of the configuration.
    pub(crate) pool: usize,
    pub(crate) script: Script,
    pub(crate) env: Vec<(String, String)>,
    /// The FastCGI server, in place of a pool. Boxed like `roadrunner`: most jobs have neither, and all are moved.
    pub(crate) fastcgi: Option<Box<FastCgiJob>>,
    /// The RoadRunner workers, in place of a pool.
    pub(crate) roadrunner: Option<Box<RoadRunnerJob>>,
    /// The hub of the site, by its index in [`Config::hubs`](howdah_config::model::Config::hubs).
    pub(crate) hub: Option<usize>,
    /// Early hints are learned from its responses.
    pub(crate) learns_hints: bool,
}

/// A request for a worker of `roadrunner`.
pub(crate) struct RoadRunnerJob {
    /// The pool, by its index in [`Config::roadrunner`](howdah_config::model::Config::roadrunner).
    pub(crate) pool: usize,
    /// Percent-encoded.
    pub(crate) path: String,
    pub(crate) attributes: Vec<(String, String)>,
}
