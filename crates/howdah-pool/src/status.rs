//! What a server's PHP side does at a moment, for the admin API, `howdah status` and metrics.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::leaks::Leaks;
use crate::preload::PreloadResult;

/// All pools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Version of PHP, of the classic pool of all sites.
    pub php: String,
    /// Times that the root process died and was restarted.
    pub root_restarts: u64,
    /// In the order of the configuration.
    pub pools: Vec<PoolStatus>,
    /// What is preloaded, for each PHP that was to preload something.
    #[serde(skip)]
    pub preloads: Vec<PreloadStatus>,
}

/// What the pools of one PHP have preloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreloadStatus {
    /// Names of the pools.
    pub pools: Vec<String>,
    /// The files and what became of them.
    #[serde(flatten, serialize_with = "shared")]
    pub preloaded: Arc<PreloadResult>,
}

fn shared<S: Serializer>(preloaded: &Arc<PreloadResult>, serializer: S) -> Result<S::Ok, S::Error> {
    preloaded.as_ref().serialize(serializer)
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// Version of the PHP that its processes run.
    pub php: String,
    /// `classic` or `worker`.
    pub mode: &'static str,
    /// The worker script.
    pub script: Option<String>,
    /// The newest generation that serves; 0: none does.
    pub generation: u32,
    /// All generations that there are, oldest first.
    pub generations: Vec<GenerationStatus>,
    /// Why there is no worker: what the last boot wrote. `None`: all is well.
    pub failure: Option<String>,
    /// A reload is under way.
    pub reloading: bool,
    /// Fewest workers that there may be.
    pub workers_min: usize,
    /// Most workers that there may be.
    pub workers_max: usize,
    /// Workers that there should be now.
    pub workers_wanted: usize,
    /// Workers that take requests.
    pub ready: usize,
    /// Requests that one worker has at a time, at most.
    pub concurrency: usize,
    /// Workers that have one request at a time all the same, since PHP cannot run several (`concurrency_fallback`).
    pub sequential: usize,
    /// Why they do: what the self-test of PHP found. `None`: none does.
    pub sequential_cause: Option<String>,
    /// Workers that have a request in hand.
    pub busy: usize,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Requests that wait or run.
    pub in_flight: usize,
    /// Requests that wait and have no slot yet.
    pub waiters: usize,
    /// Slots of all front threads: requests that can be in the workers' hands or next in line for them.
    pub slots: usize,
    /// Requests that were answered 503.
    pub refused: RefusalCounts,
    /// Requests whose clients left before a worker took them.
    pub abandoned: AbandonmentCounts,
    /// Requests whose code was unwound.
    pub exits: Exits,
    /// Routes whose requests ran when a process crashed, by their names.
    pub crashes: Vec<RouteCrashes>,
    /// Responses that a file took for slow clients, since the server started.
    pub spooled: u64,
    /// What `detect_leaks` has found.
    pub leaks: Leaks,
    /// Requests that ran longer than `slow_log`.
    #[serde(skip)]
    pub slow: Vec<SlowRequestStatus>,
    /// The processes.
    pub workers: Vec<WorkerStatus>,
    /// Since the server started.
    pub counters: Counters,
}

/// Requests that got no worker and were answered 503, since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RefusalCounts {
    /// The queue was full.
    pub queue_full: u64,
    /// No worker was free in time.
    pub wait_timeout: u64,
    /// The application did not start.
    pub not_booted: u64,
    /// Their route was in quarantine (`max_route_crashes`).
    pub quarantined: u64,
}

/// Crashes of a pool's processes while requests of one route ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteCrashes {
    /// Method and path, without the query and with `:id` for identifiers; `(other)`: of all routes beyond a number.
    pub route: String,
    /// Since the server started. Processes that `hang_timeout` ended count too.
    pub count: u64,
    /// Milliseconds for which its requests are still refused; `None`: they are not.
    pub quarantine_ms: Option<u64>,
}

/// Requests whose clients left before a worker took them, since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AbandonmentCounts {
    /// They stayed in the queue.
    pub kept: u64,
    /// They were dropped (`drop_abandoned`).
    pub dropped: u64,
}

/// Requests of worker mode whose code was unwound, by `exit()` for the most part, since the server started. In all
/// cases but the first the worker took no more requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Exits {
    /// `exit()` was called, `finally` blocks have run, and the worker went on.
    pub kept: u64,
    /// `exit()` was called, and the pool has `exit restart`.
    pub restarted: u64,
    /// A `finally` block would have kept the code from ending, so none was run.
    pub skipped: u64,
    /// An exception took the place of the exit, or something dropped it.
    pub lost: u64,
    /// A Fiber or generator with a `finally` block to come was left.
    pub suspended: u64,
}

/// A request that runs, or ran, longer than `slow_log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowRequestStatus {
    /// 16 hex digits, as in the logs.
    pub id: String,
    /// Method and URI; empty until there was a sample.
    pub title: String,
    /// Milliseconds for which PHP has had it.
    pub age_ms: u64,
    /// When it ended, in milliseconds since 1970. `None`: it runs.
    pub ended_ms: Option<u64>,
    /// Where it was seen, in their order.
    pub places: Vec<SlowPlace>,
}

/// Where a slow request was for some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowPlace {
    /// Age of the request, in milliseconds, at the first sample there.
    pub from_ms: u64,
    /// The same at the last one.
    pub to_ms: u64,
    /// Samples.
    pub samples: usize,
    /// The innermost frames.
    pub place: String,
}

/// One generation of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GenerationStatus {
    /// Its number.
    pub generation: u32,
    /// `booting`, `serving` or `draining`.
    pub state: &'static str,
    /// The zygote's process id; 0: not known yet.
    pub pid: i32,
    /// Each worker runs the script itself.
    pub boot_each: bool,
    /// Its processes.
    pub workers: usize,
}

/// One worker process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkerStatus {
    /// Its place in the pool.
    pub place: u16,
    /// Its process id; 0: not known yet.
    pub pid: i32,
    /// The generation that it belongs to.
    pub generation: u32,
    /// `starting`, `idle`, `busy`, `retiring` (a successor is on its way) or `stopping`.
    pub state: &'static str,
    /// Requests that it has served.
    pub requests: u64,
    /// Bytes of PHP's allocator after its last request.
    pub memory: u64,
    /// Milliseconds since it was requested.
    pub age_ms: u64,
    /// Requests in hand.
    pub in_flight: usize,
    /// It has one request at a time although the pool has `concurrency`.
    pub sequential: bool,
    /// Milliseconds: the longest that one of several requests has kept the others waiting, in the last
    /// minute. 0 where the worker has one request at a time.
    pub longest_hold_ms: u64,
    /// How long it has been waiting for a request; 0 while it has one.
    pub waiting_ms: u64,
    /// The request in hand; of several the one that runs at this moment, none while all of them wait.
    pub request: Option<RequestStatus>,
}

/// A request in a worker's hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestStatus {
    /// 16 hex digits, as in the logs.
    pub id: String,
    /// Milliseconds since the worker took it.
    pub since_ms: u64,
}

/// What has happened to a pool's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Workers that were requested.
    pub spawned: u64,
    /// Workers that became ready.
    pub ready: u64,
    /// Workers that exited unexpectedly.
    pub crashed: u64,
    /// Workers that ended after a fatal error, their response complete.
    pub fatal: u64,
    /// Workers that ended as planned: for their requests, age or memory, or because their script left its loop.
    pub recycled: u64,
    /// Workers that were killed for a limit or a broken contract.
    pub killed: u64,
    /// Workers that were added because requests waited.
    pub scaled_up: u64,
    /// Workers that left because they had nothing to do.
    pub scaled_down: u64,
    /// Boots that failed.
    pub boots_failed: u64,
    /// Reloads that were done.
    pub reloads: u64,
    /// Reloads that failed.
    pub reloads_failed: u64,
    /// Replacements of the pool's shared memory after one of its processes had corrupted it.
    pub segments_replaced: u64,
}
