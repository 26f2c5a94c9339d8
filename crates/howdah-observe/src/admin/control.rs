//! What the admin API acts on.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LogSink;
use super::profile::{ProfileError, ProfileReply, ProfileRequest};

/// The server behind the admin API. Implemented by the program that wires the parts together.
pub trait Control: Send + Sync + 'static {
    /// Starts PHP again in the pool of this name, or in all. Ends when the new generation serves, or
    /// when it failed and the old one goes on. Goes on by itself if the future is dropped.
    fn reload(
        &self,
        pool: Option<String>,
    ) -> impl Future<Output = Result<ReloadReport, ReloadError>> + Send;

    /// Reads the configuration again, serves it, and starts PHP again in all pools. Ends and goes on as
    /// [`reload`](Self::reload).
    fn configure(
        &self,
        from: Configuration,
    ) -> impl Future<Output = Result<ReloadReport, ReloadError>> + Send;

    /// Pools and their processes, as `/status` shows them.
    fn status(&self) -> impl Future<Output = Value> + Send;

    /// The same in FrankenPHP's words.
    fn threads(&self) -> impl Future<Output = Vec<Thread>> + Send;

    /// The requests under way, as `/requests` shows them. `detail`: with what those in PHP do at the moment.
    fn requests(&self, detail: bool) -> impl Future<Output = Value> + Send;

    /// The log of this name that is sent to a client, as it was ordered.
    fn log_sink(&self, name: &str) -> Option<Value>;

    /// Sends a log to a client from now on. `Err`: why not.
    fn set_log_sink(&self, name: &str, sink: LogSink) -> Result<(), String>;

    /// Ends that. Whether there was one.
    fn remove_log_sink(&self, name: &str) -> bool;

    /// What the server has been doing in the last minutes, as `/activity` shows it. `log`: which lines of the log
    /// are known already; `None`: who asks may not see what requests of others left in logs.
    fn activity(&self, log: Option<u64>) -> impl Future<Output = Value> + Send;

    /// The files that PHP was started with, as `/preload` shows them.
    fn preloads(&self) -> impl Future<Output = Value> + Send;

    /// Samples where PHP spends its time, as long as the request says. Dropped before, it ends.
    fn profile(
        &self,
        request: ProfileRequest,
    ) -> impl Future<Output = Result<ProfileReply, ProfileError>> + Send;
    /// The reports of processes that crashed, as `/crashes` lists them.
    fn crashes(&self) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// One of them with its details.
    fn crash(&self, number: u64) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// Removes all of them; says how many.
    fn clear_crashes(&self) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// The page of metrics for `/metrics`.
    fn metrics(&self) -> impl Future<Output = String> + Send;

    /// The configuration in force, as `/config` shows it.
    fn config_json(&self) -> Value;

    /// What `/config/apps/frankenphp` shows.
    fn config(&self) -> Value;

    /// The file that a reload reads again; `None` without one.
    fn config_file(&self) -> Option<PathBuf>;

    /// PHP has fewer rights than the server, so that it must not give the server another configuration.
    fn is_php_restricted(&self) -> bool;

    /// Crash reports are for a user with more rights than PHP has.
    fn crashes_are_private(&self) -> bool;

    /// What `/config/apps/http/servers` shows: the hosts of the sites, as Caddy has them.
    fn servers(&self) -> Value;

    /// Requests are counted.
    fn counts_requests(&self) -> bool;

    /// Whether requests are served, and which pools serve them one at a time against their configuration.
    fn health(&self) -> impl Future<Output = Result<Vec<SequentialPool>, UnhealthyError>> + Send;

    /// Lets the server end: requests that run are finished, nothing new is taken. Returns at once.
    fn stop(&self);
}

/// Where a configuration is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configuration {
    /// The file of before, if there is one.
    Same,
    /// Another file, which is read by later reloads too.
    File(PathBuf),
    /// A text; later reloads read the file again.
    Text(String),
}

/// What a reload did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// Each pool that was restarted.
    pub pools: Vec<ReloadedPool>,
    /// The file of the configuration in force; `None` without one.
    pub configuration: Option<ConfigFile>,
    /// Why PHP was restarted while the old one served, with an empty OPcache; `None`: there was no need.
    #[serde(default)]
    pub fresh: Option<String>,
}

/// A pool with a new generation of processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadedPool {
    /// Its name.
    pub pool: String,
    /// Number of the generation that serves now; the first is 1.
    pub generation: u64,
    /// Milliseconds from the order until it served.
    pub took_ms: u64,
}

/// The file that a running server was configured by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// Absolute path.
    pub file: String,
    /// Its text is not what is in force: the reload was of PHP alone.
    pub changed: bool,
}

/// Why a reload did not happen. The old generation serves on; of [`configure`](Control::configure) it does
/// so with the new configuration, unless that is what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// There is no such pool.
    #[error("there is no pool {name}; there are: {}", known.join(", "))]
    UnknownPool {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The configuration cannot be served. Nothing has changed.
    #[error("{0}")]
    Configuration(String),
    /// The new generation did not come up.
    #[error("pool {pool} was not reloaded: {text}")]
    Boot {
        /// The pool's name.
        pool: String,
        /// Why, with the output of the script.
        text: String,
    },
    /// The server is about to end.
    #[error("the server is stopping")]
    Stopping,
}

/// Why there is no crash report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrashesError {
    /// None are written.
    #[error("no crash reports are written: the log has the reason, or `crash_reports off` is set")]
    Off,
    /// No report has this number.
    #[error("there is no crash report {0}")]
    Unknown(u64),
    /// The folder cannot be used.
    #[error("the folder of crash reports cannot be used: {0}")]
    Folder(String),
}

/// Why requests are not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnhealthyError {
    /// The server is about to end.
    #[error("the server is stopping")]
    Stopping,
    /// A pool without a process that could take a request.
    #[error("pool {0} has no PHP process that takes requests")]
    NoWorker(String),
}

/// A pool with `concurrency` whose workers run one request at a time (`concurrency_fallback`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SequentialPool {
    /// Its name.
    pub pool: String,
    /// Such workers.
    pub workers: usize,
    /// What keeps PHP from running several; empty if no worker has reported it.
    pub cause: String,
}

/// A worker in the words of FrankenPHP's `/frankenphp/threads`, which dashboards read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Thread {
    /// Number among all workers of the server.
    pub index: usize,
    /// Pool and script.
    pub name: String,
    /// What it does.
    pub state: String,
    /// It could take a request.
    pub is_waiting: bool,
    /// It runs a request.
    pub is_busy: bool,
    /// How long it has been waiting for one.
    #[serde(rename = "WaitingSinceMilliseconds")]
    pub waiting_since_ms: u64,
    /// URI of the request that it runs, if that is known.
    #[serde(rename = "CurrentURI")]
    pub current_uri: String,
    /// Method of the request that it runs, if that is known.
    pub current_method: String,
    /// When that request began: milliseconds since 1970, 0 without one.
    pub request_started_at: i64,
    /// Requests since the process was started.
    pub request_count: u64,
    /// Bytes.
    pub memory_usage: u64,
}
