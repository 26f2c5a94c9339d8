//! All values of a scrape, read at the same time.

use std::sync::Arc;
use std::time::Duration;

use super::front::Measures;
use super::opcache::{OpcacheCounts, Preload};
use super::process::Process;

/// Label of responses that the front generates without PHP.
pub const FRONT: &str = "(front)";

/// All values of a scrape.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Version of Howdah.
    pub version: String,
    /// Version of PHP.
    pub php: String,
    /// The pools in the order of the configuration.
    pub pools: Vec<Pool>,
    /// Names of the pools in the order of the front's counters; pools of earlier configurations stay.
    pub counted: Vec<String>,
    /// Client connections.
    pub connections: Connections,
    /// TLS handshakes since the start, in the order of [`Handshake`](super::Handshake).
    pub handshakes: [u64; 3],
    /// Hosts with HTTPS that have a certificate.
    pub certificates: Vec<(String, CertificateTimes)>,
    /// Upstreams, and whether they get requests.
    pub upstreams: Vec<(String, bool)>,
    /// Requests whose response has not ended.
    pub in_flight: u64,
    /// Counters of the front threads; `None`: metrics of requests are off.
    pub measures: Option<Arc<Measures>>,
    /// Lines of access logs that were dropped.
    pub log_lines_lost: u64,
    /// Spans that were dropped.
    pub spans_lost: u64,
    /// Times that the root process of PHP was restarted.
    pub root_restarts: u64,
    /// The Mercure hubs, in the order of the configuration.
    pub hubs: Vec<HubCounts>,
    /// Reloads of the configuration.
    pub config: ConfigReloads,
    /// OPcache of the current processes; `None`: it is off, or has not been checked.
    pub opcache: Option<OpcacheCounts>,
    /// The front's process.
    pub process: Process,
}

/// Times of a certificate, in seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct CertificateTimes {
    /// Its expiry.
    pub until: u64,
    /// The time by which it should have been renewed.
    pub renewal_deadline: u64,
}

/// Reloads of the configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfigReloads {
    /// The last attempt to load one succeeded; the start counts too.
    pub last_successful: bool,
    /// Time of the last successful attempt, in seconds since 1970.
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

/// Activity of a Mercure hub.
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

/// Metrics of one pool.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Pool {
    pub name: String,
    /// It runs a worker script.
    pub worker_script: bool,
    pub workers: Vec<Worker>,
    /// The target number of processes.
    pub wanted: u64,
    /// Processes that run one request at a time although the pool has `concurrency`.
    pub sequential: u64,
    /// Why they do, as PHP reports it.
    pub sequential_cause: Option<String>,
    /// Crashes by the route of the request that ran; the number of routes is limited.
    pub crashes: Vec<(String, u64)>,
    /// Routes in quarantine.
    pub quarantined: u64,
    /// Requests that wait for a worker.
    pub queue: u64,
    /// Queued requests without a slot.
    pub waiters: u64,
    /// Requests that wait or run.
    pub in_flight: u64,
    /// Slots of shared memory.
    pub slots: u64,
    /// Processes that were started.
    pub started: u64,
    /// Exits of processes by reason.
    pub ended: Vec<(&'static str, u64)>,
    pub boots_failed: u64,
    /// Reloads that were done, and those that failed.
    pub reloads: (u64, u64),
    /// Replacements of the pool's shared memory after a process had corrupted it.
    pub segments_replaced: u64,
    /// Requests that got a 503, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Requests whose clients disconnected before a worker claimed them, by result.
    pub abandoned: Vec<(&'static str, u64)>,
    /// Responses that were spooled for slow clients.
    pub spooled: u64,
    /// Places where requests left state behind.
    pub leaks: u64,
    /// Requests whose code was unwound, by the result for the worker and the reason.
    pub exits: Vec<((&'static str, &'static str), u64)>,
    /// What is preloaded for its requests; `None`: preloading is off.
    pub preload: Option<Preload>,
}

/// Metrics of one PHP process.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Worker {
    /// Its place in the pool.
    pub place: u16,
    pub state: WorkerState,
    /// Bytes of PHP's allocator after its last request.
    pub memory: u64,
    /// The longest recent time that one of several requests has blocked the others. `None` if it has one request at a
    /// time.
    pub longest_hold: Option<Duration>,
}

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum WorkerState {
    Booting,
    /// It waits for a request.
    Ready,
    /// It runs a request.
    Busy,
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
