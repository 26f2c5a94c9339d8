//! All values of a scrape, read at one moment.

use std::sync::Arc;
use std::time::Duration;

use super::front::Measures;
use super::opcache::{OpcacheCounts, Preload};
use super::process::Process;

/// Label of what the front answers without PHP.
pub const FRONT: &str = "(front)";

/// Everything that a scrape shows.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Version of Howdah.
    pub version: String,
    /// Version of PHP.
    pub php: String,
    /// In the order of the configuration.
    pub pools: Vec<Pool>,
    /// Names of the pools in the order of the front's counters; pools of earlier configurations stay.
    pub counted: Vec<String>,
    /// Client connections.
    pub connections: Connections,
    /// TLS handshakes since the start, in the order of [`Handshake`](super::Handshake).
    pub handshakes: [u64; 3],
    /// Hosts with HTTPS that have a certificate, and when it ends in seconds since 1970.
    pub certificates: Vec<(String, u64)>,
    /// Upstreams, and whether they get requests.
    pub upstreams: Vec<(String, bool)>,
    /// Requests whose response is not over.
    pub in_flight: u64,
    /// What the front threads counted; `None`: metrics of requests are not on.
    pub measures: Option<Arc<Measures>>,
    /// Lines of access logs that were lost.
    pub log_lines_lost: u64,
    /// Spans that were lost.
    pub spans_lost: u64,
    /// Times that the root process of PHP was restarted.
    pub root_restarts: u64,
    /// The Mercure hubs, in the order of the configuration.
    pub hubs: Vec<HubCounts>,
    /// Reloads of the configuration.
    pub config: ConfigReloads,
    /// OPcache of the processes that serve; `None`: it is off, or has not been looked at.
    pub opcache: Option<OpcacheCounts>,
    /// The front's process.
    pub process: Process,
}

/// How the configuration came to be in force.
#[derive(Debug, Clone, Copy)]
pub struct ConfigReloads {
    /// The last attempt to load one succeeded; the start is one.
    pub last_successful: bool,
    /// Seconds since 1970 of the last that did.
    pub last_success: u64,
}

impl Default for ConfigReloads {
    fn default() -> Self {
        Self {
            last_successful: true,
            last_success: 0,
        }
    }
}

/// What a Mercure hub has done.
#[derive(Debug, Clone, Copy, Default)]
pub struct HubCounts {
    /// Subscribers at the moment.
    pub subscribers: u64,
    /// Subscribers since the start.
    pub accepted: u64,
    /// Updates since the start.
    pub updates: u64,
    /// Subscribers that were dropped because they did not keep up.
    pub dropped: u64,
}

/// Client connections by protocol, in the order HTTP/1.1, HTTP/2, HTTP/3.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connections {
    /// Open connections.
    pub open: [u64; 3],
    /// Since the start.
    pub accepted: [u64; 3],
}

/// One pool.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// It runs a worker script.
    pub worker_script: bool,
    /// Its processes.
    pub workers: Vec<Worker>,
    /// Processes that there should be.
    pub wanted: u64,
    /// Processes that run one request at a time although the pool has `concurrency`.
    pub sequential: u64,
    /// Why they do.
    pub sequential_cause: Option<String>,
    /// Crashes by the route of the request that ran; the number of routes is limited.
    pub crashes: Vec<(String, u64)>,
    /// Routes in quarantine.
    pub quarantined: u64,
    /// Requests that wait for a worker.
    pub queue: u64,
    /// Those of them that have no slot yet.
    pub waiters: u64,
    /// Requests that wait or run.
    pub in_flight: u64,
    /// Slots of shared memory.
    pub slots: u64,
    /// Processes that were started.
    pub started: u64,
    /// Ends of processes by reason.
    pub ended: Vec<(&'static str, u64)>,
    /// Boots that failed.
    pub boots_failed: u64,
    /// Reloads that were done, and those that failed.
    pub reloads: (u64, u64),
    /// Replacements of the pool's shared memory after a process had corrupted it.
    pub segments_replaced: u64,
    /// Requests answered 503, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Requests whose clients left before a worker took them, by what became of them.
    pub abandoned: Vec<(&'static str, u64)>,
    /// Responses that a file took for slow clients.
    pub spooled: u64,
    /// Places where requests left state behind.
    pub leaks: u64,
    /// Requests whose code was unwound, by what became of the worker and why.
    pub exits: Vec<((&'static str, &'static str), u64)>,
    /// What is preloaded for its requests; `None`: nothing is to be.
    pub preload: Option<Preload>,
}

/// One PHP process.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    /// Its place in the pool.
    pub place: u16,
    /// What it does.
    pub state: WorkerState,
    /// Bytes of PHP's allocator after its last request.
    pub memory: u64,
    /// The longest that one of several requests has kept the others waiting, of late. None where it has one
    /// request at a time.
    pub longest_hold: Option<Duration>,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// On its way up.
    Booting,
    /// It waits for a request.
    Ready,
    /// It runs one.
    Busy,
    /// On its way out.
    Stopping,
}

impl Pool {
    pub(super) fn count(&self, state: WorkerState) -> u64 {
        let workers = self.workers.iter();
        workers.filter(|worker| worker.state == state).count() as u64
    }

    pub(super) fn ended(&self, reason: &str) -> u64 {
        let ended = self.ended.iter();
        ended
            .filter(|(known, _)| *known == reason)
            .map(|(_, count)| count)
            .sum()
    }
}
