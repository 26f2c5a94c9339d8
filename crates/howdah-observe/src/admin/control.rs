//! The interface between the admin API and the server.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LogSink;
use super::profile::{ProfileError, ProfileReply, ProfileRequest};

/// The server behind the admin API. Implemented by the program that connects the parts.
pub trait Control: Send + Sync + 'static {
    /// Starts PHP again in the pool of this name, or in all. Completes when the new generation serves, or when it
    /// failed and the old one continues. It continues by itself if the future is dropped.
    fn reload(
        &self,
        pool: Option<String>,
    ) -> impl Future<Output = Result<ReloadReport, ReloadError>> + Send;

    /// Reads the configuration again, serves it, and starts PHP again in all pools. Completes and continues like
    /// [`reload`](Self::reload).
    fn configure(
        &self,
        from: Configuration,
    ) -> impl Future<Output = Result<ReloadReport, ReloadError>> + Send;

    /// Pools and their processes, as `/status` shows them.
    fn status(&self) -> impl Future<Output = Value> + Send;

    /// The processes in FrankenPHP's format.
    fn threads(&self) -> impl Future<Output = Vec<Thread>> + Send;

    /// The requests in flight, as `/requests` shows them. `detail`: including what those in PHP currently do.
    fn requests(&self, detail: bool) -> impl Future<Output = Value> + Send;

    /// The sink with this name, as it was requested.
    fn log_sink(&self, name: &str) -> Option<Value>;

    /// Sends a log to a client from now on. `Err`: the reason.
    fn set_log_sink(&self, name: &str, sink: LogSink) -> Result<(), String>;

    /// Removes a sink. Whether it existed.
    fn remove_log_sink(&self, name: &str) -> bool;

    /// The server's activity in the last minutes, as `/activity` shows it. `log`: the lines of the log that are already
    /// known; `None`: the caller may not see what other requests have logged.
    fn activity(&self, log: Option<u64>) -> impl Future<Output = Value> + Send;

    /// The files that PHP was started with, as `/preload` shows them.
    fn preloads(&self) -> impl Future<Output = Value> + Send;

    /// Samples where PHP spends its time, as long as requested. Dropping the future ends it.
    fn profile(
        &self,
        request: ProfileRequest,
    ) -> impl Future<Output = Result<ProfileReply, ProfileError>> + Send;
    /// The reports of processes that crashed, as `/crashes` lists them.
    fn crashes(&self) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// One of them with its details.
    fn crash(&self, number: u64) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// Removes all of them; returns how many.
    fn clear_crashes(&self) -> impl Future<Output = Result<Value, CrashesError>> + Send;

    /// The page of metrics for `/metrics`.
    fn metrics(&self) -> impl Future<Output = String> + Send;

    /// The current configuration, as `/config` shows it.
    fn config_json(&self) -> Value;

    /// The response of `/config/apps/frankenphp`.
    fn config(&self) -> Value;

    /// The file that a reload reads again; `None` without one.
    fn config_file(&self) -> Option<PathBuf>;

    /// PHP has fewer rights than the server, and must not be able to change the server's configuration.
    fn is_php_restricted(&self) -> bool;

    /// Crash reports are for a user with more rights than PHP.
    fn crashes_are_private(&self) -> bool;

    /// The response of `/config/apps/http/servers`: the hosts of the sites, in Caddy's format.
    fn servers(&self) -> Value;

    /// The certificates of the internal authority, for `/pki/ca/local`; `None` if no site uses it. `Err`: they cannot be
    /// read.
    fn authority(
        &self,
    ) -> impl Future<Output = Result<Option<CertificateAuthority>, String>> + Send;

    /// Whether requests are counted: `metrics` is on.
    fn counts_requests(&self) -> bool;

    /// Whether requests are served, and which pools serve them one at a time despite their configuration.
    fn health(&self) -> impl Future<Output = Result<Vec<SequentialPool>, UnhealthyError>> + Send;

    /// Stops the server: running requests are finished, and no new ones accepted. Returns
    /// immediately.
    fn stop(&self);
}

/// Where a configuration is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configuration {
    /// The current file, if there is one.
    Same,
    /// Another file, which later reloads read too.
    File(PathBuf),
    /// A text; later reloads read the file again.
    Text(String),
}

/// The result of a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// Each pool that was restarted.
    pub pools: Vec<ReloadedPool>,
    /// The file of the current configuration; `None` if there is none.
    pub configuration: Option<ConfigFile>,
    /// Why PHP was restarted while the old processes served, with an empty OPcache; `None`: it was not necessary.
    #[serde(default)]
    pub fresh: Option<String>,
}

/// A pool with a new generation of processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct ReloadedPool {
    pub pool: String,
    /// Number of the generation that serves now; the first is 1.
    pub generation: u64,
    /// Milliseconds from the order until it served.
    pub took_ms: u64,
}

/// The configuration file of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// Absolute path.
    pub file: String,
    /// Its text differs from the current configuration: only PHP was reloaded.
    pub changed: bool,
}

/// Why a reload failed. The old generation continues; after [`configure`](Control::configure) with the new
/// configuration, unless that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ReloadError {
    /// There is no such pool.
    #[error("pool {name} does not exist; the pools are: {}", known.join(", "))]
    UnknownPool { name: String, known: Vec<String> },
    /// The configuration cannot be served. Nothing has changed.
    #[error("{0}")]
    Configuration(String),
    /// The boot of the new generation failed.
    #[error("pool {pool} was not reloaded: {text}")]
    Boot {
        pool: String,
        /// The reason, with the output of the script.
        text: String,
    },
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

/// Why there is no crash report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrashesError {
    /// Reports are off.
    #[error("no crash reports are written: the log has the reason, or `crash_reports off` is set")]
    Off,
    /// No report has this number.
    #[error("crash report {0} does not exist; `howdah crashes` lists all reports")]
    Unknown(u64),
    /// The folder cannot be used.
    #[error("the folder of crash reports cannot be used: {0}")]
    Folder(String),
}

/// Why requests are not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnhealthyError {
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// A pool has no process that could handle a request.
    #[error("pool {0} has no PHP process that takes requests")]
    NoWorker(String),
}

/// A pool with `concurrency` whose workers run one request at a time (`concurrency_fallback`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct SequentialPool {
    pub pool: String,
    pub workers: usize,
    /// Why PHP cannot run several; empty if no worker has reported it.
    pub cause: String,
}

/// The internal authority in the format of Caddy's `/pki/ca/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CertificateAuthority {
    /// What Caddy calls its default authority: `local`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Name in the root's subject.
    pub root_common_name: String,
    /// Name in the intermediate's subject.
    pub intermediate_common_name: String,
    /// The root in PEM.
    pub root_certificate: String,
    /// The intermediate in PEM.
    pub intermediate_certificate: String,
}

/// A worker in the format of FrankenPHP's `/frankenphp/threads`, which dashboards read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Thread {
    /// Number among all workers of the server.
    pub index: usize,
    /// Pool and script.
    pub name: String,
    pub state: String,
    /// It is ready for a request.
    pub is_waiting: bool,
    /// It runs a request.
    pub is_busy: bool,
    /// How long it has been waiting for a request.
    #[serde(rename = "WaitingSinceMilliseconds")]
    pub waiting_since_ms: u64,
    /// URI of its request, if known.
    #[serde(rename = "CurrentURI")]
    pub current_uri: String,
    /// Method of its request, if known.
    pub current_method: String,
    /// When that request began: milliseconds since 1970, 0 without one.
    pub request_started_at: i64,
    /// Requests since the process was started.
    pub request_count: u64,
    /// Bytes.
    pub memory_usage: u64,
}
