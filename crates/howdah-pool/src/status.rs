//! The current state of a server's PHP side, for the admin API, `howdah status` and metrics.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::leaks::Leaks;
use crate::preload::PreloadResult;

/// All pools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Version of PHP in the classic pool of all sites.
    pub php: String,
    /// Times that the root process exited and was restarted.
    pub root_restarts: u64,
    /// The pools in the order of the configuration.
    pub pools: Vec<PoolStatus>,
    /// The result of preloading, for each PHP that was configured to preload.
    #[serde(skip)]
    pub preloads: Vec<PreloadStatus>,
}

/// The files that the pools of one PHP have preloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreloadStatus {
    /// Names of the pools.
    pub pools: Vec<String>,
    /// The files and their results.
    #[serde(flatten, serialize_with = "shared")]
    pub preloaded: Arc<PreloadResult>,
}

fn shared<S: Serializer>(preloaded: &Arc<PreloadResult>, serializer: S) -> Result<S::Ok, S::Error> {
    preloaded.as_ref().serialize(serializer)
}

/// Status of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct PoolStatus {
    pub name: String,
    /// Version of the PHP that its processes run.
    pub php: String,
    /// `classic` or `worker`.
    pub mode: &'static str,
    /// The worker script.
    pub script: Option<String>,
    /// The newest generation that serves; 0: none.
    pub generation: u32,
    /// All generations that there are, oldest first.
    pub generations: Vec<GenerationStatus>,
    /// Why there is no worker: the output of the last boot. `None`: no failure.
    pub failure: Option<String>,
    /// A reload is in progress.
    pub reloading: bool,
    /// Minimum number of workers.
    pub workers_min: usize,
    /// Maximum number of workers.
    pub workers_max: usize,
    /// Current target for the number of workers.
    pub workers_wanted: usize,
    /// Workers that accept requests.
    pub ready: usize,
    /// Maximum number of concurrent requests of one worker.
    pub concurrency: usize,
    /// Workers that run one request at a time nevertheless, since PHP cannot run several (`concurrency_fallback`).
    pub sequential: usize,
    /// Why they do: the result of PHP's self-test. `None`: none does.
    pub sequential_cause: Option<String>,
    /// Workers that run a request.
    pub busy: usize,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Requests that wait or run.
    pub in_flight: usize,
    /// Requests that wait and have no slot yet.
    pub waiters: usize,
    /// Slots of all front threads: requests that workers run or that are next in line.
    pub slots: usize,
    /// Requests that got a 503.
    pub refused: RefusalCounts,
    /// Requests whose clients disconnected before a worker claimed them.
    pub abandoned: AbandonmentCounts,
    /// Requests whose code was unwound.
    pub exits: Exits,
    /// Routes whose requests ran when a process crashed, by their names.
    pub crashes: Vec<RouteCrashes>,
    /// Responses that were spooled for slow clients, since the server started.
    pub spooled: u64,
    /// Findings of `detect_leaks`.
    pub leaks: Leaks,
    /// Requests that ran longer than `slow_log`.
    #[serde(skip)]
    pub slow: Vec<SlowRequestStatus>,
    /// The processes.
    pub workers: Vec<WorkerStatus>,
    /// Since the server started.
    pub counters: Counters,
}

/// Requests that got no worker but a 503, since the server started.
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
    /// Method and path, without the query and with `:id` for identifiers; `(other)`: all routes beyond the limit.
    pub route: String,
    /// Since the server started. Processes that `hang_timeout` ended count too.
    pub count: u64,
    /// Milliseconds for which its requests are still refused; `None`: not in quarantine.
    pub quarantine_ms: Option<u64>,
}

/// Requests whose clients disconnected before a worker claimed them, since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AbandonmentCounts {
    /// They stayed in the queue.
    pub kept: u64,
    /// They were dropped (`drop_abandoned`).
    pub dropped: u64,
}

/// Requests of worker mode whose code was unwound, mostly by `exit()`, since the server started. In all cases but the
/// first the worker accepted no more requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Exits {
    /// `exit()` was called, `finally` blocks have run, and the worker continued.
    pub kept: u64,
    /// `exit()` was called, and the pool has `exit restart`.
    pub restarted: u64,
    /// A `finally` block would have prevented the exit, so none was run.
    pub skipped: u64,
    /// An exception replaced the exit, or something dropped it.
    pub lost: u64,
    /// A Fiber or generator with a pending `finally` block was abandoned.
    pub suspended: u64,
}

/// A request that runs, or ran, longer than `slow_log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowRequestStatus {
    /// 16 hex digits, as in the logs.
    pub id: String,
    /// Method and URI; empty until there was a sample.
    pub title: String,
    /// Milliseconds since PHP claimed it.
    pub age_ms: u64,
    /// When it ended, in milliseconds since 1970. `None`: it runs.
    pub ended_ms: Option<u64>,
    /// How it ended. `None`: it runs.
    pub outcome: Option<SlowOutcome>,
    /// Its client disconnected before it had the whole response.
    pub client_disconnected: bool,
    /// It runs again in another process.
    pub repeated: bool,
    /// Where it was seen, in order.
    pub places: Vec<SlowPlace>,
}

/// How a slow request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum SlowOutcome {
    /// The script ran to its end.
    Finished,
    /// It called `exit()` in a worker.
    Exit,
    /// PHP reported a fatal error, which `max_execution_time` also is.
    FatalError,
    /// The PHP process crashed.
    Crash,
    /// The PHP process was stopped or killed for another reason.
    ProcessEnded,
    /// It exceeded `request_timeout`.
    RequestTimeout,
    /// It exceeded `cpu_timeout`.
    CpuTimeout,
    /// The process sent something that is not a response.
    MalformedResponse,
    ServerStopped,
}

/// Where a slow request was for some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct SlowPlace {
    /// Age of the request, in milliseconds, at the first sample there.
    pub from_ms: u64,
    /// The time of the last one.
    pub to_ms: u64,
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
    /// `starting`, `idle`, `busy`, `retiring` (a successor is being started) or `stopping`.
    pub state: &'static str,
    /// Requests that it has served.
    pub requests: u64,
    /// Bytes of PHP's allocator after its last request.
    pub memory: u64,
    /// Milliseconds since it was requested.
    pub age_ms: u64,
    /// Requests that it has claimed.
    pub in_flight: usize,
    /// It runs one request at a time although the pool has `concurrency`.
    pub sequential: bool,
    /// The longest time, in milliseconds, that one of several requests has blocked the others in the last minute. 0
    /// where the worker runs one request at a time.
    pub longest_hold_ms: u64,
    /// How long it has been waiting for a request; 0 while it has one.
    pub waiting_ms: u64,
    /// The current request; of several the one that runs at this moment, none while all of them wait.
    pub request: Option<RequestStatus>,
}

/// A request that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestStatus {
    /// 16 hex digits, as in the logs.
    pub id: String,
    /// Milliseconds since the worker claimed it.
    pub since_ms: u64,
}

/// The events of a pool's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Counters {
    /// Workers that were requested.
    pub spawned: u64,
    /// Workers that became ready.
    pub ready: u64,
    /// Workers that exited unexpectedly.
    pub crashed: u64,
    /// Workers that exited after a fatal error with a complete response.
    pub fatal: u64,
    /// Workers that exited as planned: for their requests, age or memory, or because their script left its loop.
    pub recycled: u64,
    /// Workers that were killed because of a limit or a broken contract.
    pub killed: u64,
    /// Workers that were added because requests waited.
    pub scaled_up: u64,
    /// Workers that were removed because they were idle.
    pub scaled_down: u64,
    pub boots_failed: u64,
    /// Reloads that were done.
    pub reloads: u64,
    pub reloads_failed: u64,
    /// Replacements of the pool's shared memory after one of its processes had corrupted it.
    pub segments_replaced: u64,
}
