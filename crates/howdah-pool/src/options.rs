//! Options of PHP and of each pool.

use std::io::{self, PipeReader, PipeWriter};
use std::path::PathBuf;
use std::time::Duration;

use howdah_config::model::{Boot, Ini, Isolation, PoolLimits, WorkerOptions};
use howdah_monitor::Receiver;
use howdah_shm::layout::{self, SLOTS_MAX};

use crate::crash_report::CrashSink;
use crate::preload::Preload;
use crate::record::Record;

/// How the PHP side is started; the same for all pools.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with a name"
)]
pub struct RootOptions {
    /// Environment variables that PHP does not inherit.
    pub withheld: Vec<String>,
    /// PHP inherits only the environment variables that a process needs.
    pub clear_env: bool,
    /// The PHP executable, `howdah-php`.
    pub executable: PathBuf,
    /// Settings in addition to php.ini, in order.
    pub ini: Vec<(String, String)>,
    /// Some pool is concurrent: PHP guards the handles that its requests may share.
    pub concurrent: bool,
    /// Some pool keeps code between requests: OPcache never reuses its memory for other code.
    pub booted: bool,
    /// Front threads of the server, 1 to 16.
    pub fronts: usize,
    /// Files to preload; `None`: none.
    pub preload: Option<Preload>,
    /// How long PHP's module start-up may take (preloading included). Default 2 min.
    pub start_timeout: Duration,
    /// All users of its pools.
    pub users: Vec<User>,
    /// The monitor starts it as root, and starts processes of these users only.
    pub by_monitor: bool,
    /// Receives the reports of processes that crash; `None`: no reports.
    pub crashes: Option<CrashSink>,
}

/// Options of one pool, classic or in worker mode.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Its name in logs, process titles and metrics; 1 to 64 bytes.
    pub name: String,
    /// How its workers run requests.
    pub mode: Mode,
    /// Minimum number of worker processes, 1 to 512.
    pub workers: usize,
    /// Maximum number of worker processes, which is used while requests wait and processors are idle. If it is not
    /// larger than `workers` (as 0, the default), the number is fixed.
    pub workers_max: usize,
    /// Its limits, as configured.
    pub limits: PoolLimits,
    /// How long a request of a concurrent pool may take to end after `request_timeout`; then its worker is killed, with
    /// all its other requests. Default 5 s.
    pub end_grace: Duration,
    /// Bytes for the variables of a request and a small body, a multiple of 4,096. Untouched pages cost nothing, so the
    /// largest header that the front accepts fits. Default 256 KiB.
    pub request_size: usize,
    /// Bytes of a slot's response ring, a power of two. Default 256 KiB.
    pub response_size: usize,
    /// User of its processes, which switch to it before any code of the application runs, and need the right to do so.
    /// `None` (the default): the front's user.
    pub user: Option<User>,
    /// PHP settings of this pool. The pool does not start if PHP does not know a final one.
    pub ini: Ini,
    /// Record of the files that its processes run; `None` (the default): they record nothing.
    pub record: Option<Record>,
}

/// A resolved user of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct User {
    /// Number of the user.
    pub uid: u32,
    /// Number of its group.
    pub gid: u32,
    /// Numbers of all groups of its processes.
    pub groups: Vec<u32>,
    /// `USER` and `LOGNAME` in the environment; empty: unchanged.
    pub name: String,
    /// `HOME` in the environment; empty: unchanged.
    pub home: PathBuf,
}

impl User {
    /// The user and group that own files for it.
    #[must_use]
    pub fn receiver(&self) -> Receiver {
        Receiver {
            uid: self.uid,
            gid: self.gid,
        }
    }

    /// A pipe for the log of its processes, which they can open as `/dev/stderr`. They can neither read nor own it,
    /// because it contains the keys of records. If this process cannot create such a pipe, they can only write to the
    /// descriptors that they inherit.
    pub(crate) fn log_pipe(own: Option<&Self>) -> io::Result<(PipeReader, PipeWriter)> {
        let shared = own.and_then(|user| howdah_monitor::fs::pipe_for(user.gid).ok());
        shared.map_or_else(io::pipe, Ok)
    }
}

/// How the workers of a pool run requests.
#[derive(Debug, Clone)]
pub enum Mode {
    /// PHP's state is fresh for each request.
    Classic,
    /// A worker script is booted once and handles many requests.
    Worker(Box<WorkerMode>),
}

/// Options of a pool in worker mode only.
#[derive(Debug, Clone)]
pub struct WorkerMode {
    /// The worker script, an absolute path.
    pub script: PathBuf,
    /// Document root of the boot; `None`: the script's folder, as PHP decides.
    pub root: Option<PathBuf>,
    /// Its options, as configured.
    pub options: WorkerOptions,
}

impl WorkerMode {
    /// A worker script with the default options.
    pub fn new(script: impl Into<PathBuf>) -> Self {
        Self {
            script: script.into(),
            root: None,
            options: WorkerOptions::default(),
        }
    }

    /// Whether the server starts even if the boot fails: requests get a 503 until a boot succeeds. With `watch`, a
    /// developer is about to fix the files.
    pub(crate) fn tolerates_failure(&self) -> bool {
        !self.options.watch.is_empty()
    }
}

impl PoolOptions {
    /// A classic pool with the documented defaults.
    pub fn new(name: impl Into<String>, workers: usize) -> Self {
        Self {
            name: name.into(),
            mode: Mode::Classic,
            workers,
            workers_max: 0,
            limits: PoolLimits::default(),
            end_grace: Duration::from_secs(5),
            request_size: 256 << 10,
            response_size: 256 << 10,
            user: None,
            ini: Ini::default(),
            record: None,
        }
    }

    /// The script runs in each worker.
    pub(crate) fn boot_each(&self) -> bool {
        self.worker_options()
            .is_some_and(|options| options.boot == Boot::Each)
    }

    pub(crate) fn worker(&self) -> Option<&WorkerMode> {
        match &self.mode {
            Mode::Classic => None,
            Mode::Worker(worker) => Some(worker),
        }
    }

    fn worker_options(&self) -> Option<&WorkerOptions> {
        self.worker().map(|worker| &worker.options)
    }

    /// Each request has its own fork.
    pub(crate) fn one_request(&self) -> bool {
        self.worker_options()
            .is_some_and(|options| options.isolation == Isolation::Request)
    }

    /// A worker that finishes a request claims the next one, so requests may be left to workers that are awake. A fork
    /// for one request does not, and concurrent workers have a separate mechanism.
    pub(crate) fn may_leave(&self) -> bool {
        !self.one_request() && !self.is_concurrent()
    }

    /// Each worker runs several requests at the same time.
    pub(crate) fn is_concurrent(&self) -> bool {
        self.worker_options()
            .is_some_and(WorkerOptions::is_concurrent)
    }

    /// Most requests that a worker has at the same time.
    pub(crate) fn requests_per_worker(&self) -> usize {
        self.worker_options()
            .map_or(1, |options| options.concurrency as usize)
    }

    /// Most places of the pool.
    fn places_max(&self) -> usize {
        if self.is_concurrent() {
            CONCURRENT_PLACES_MAX
        } else {
            PLACES_MAX
        }
    }

    /// Idle forks for the next requests, in addition to those that serve one.
    pub(crate) fn spares(&self) -> usize {
        if self.one_request() {
            (self.workers / 2).max(2)
        } else {
            0
        }
    }

    /// Most workers that serve at the same time.
    pub(crate) fn serving_max(&self) -> usize {
        let most = self.workers.max(self.workers_max) + self.spares();
        // Two generations of a concurrent pool always fit: their workers may take long to exit.
        let fitting = if self.is_concurrent() {
            (CONCURRENT_PLACES_MAX - PLACES_FREE) / 2
        } else {
            PLACES_MAX - PLACES_FREE
        };
        most.clamp(1, fitting)
    }

    /// Workers that serve while no request waits.
    pub(crate) fn serving_min(&self) -> usize {
        (self.workers + self.spares()).clamp(1, self.serving_max())
    }

    /// Places for processes: two generations, and some for successors.
    pub(crate) fn places(&self) -> usize {
        let free = if self.is_concurrent() {
            CONCURRENT_PLACES_FREE
        } else {
            PLACES_FREE
        };
        (2 * self.serving_max() + free).min(self.places_max())
    }

    /// Boots that may fail in a row at the start; `None`: any number.
    pub(crate) fn max_consecutive_failures(&self) -> Option<u32> {
        let default = || WorkerOptions::default().max_consecutive_failures;
        self.worker_options()
            .map_or_else(default, |options| options.max_consecutive_failures)
            .map(|number| number.max(1))
    }

    /// Requests that may run or wait.
    pub(crate) fn admitted_max(&self) -> usize {
        let room = self.running_max();
        self.limits
            .max_in_flight
            .map_or(room, |limit| limit.min(room))
            + self.limits.queue_length
    }

    /// Requests that all workers can run at the same time.
    fn running_max(&self) -> usize {
        self.serving_max() * self.requests_per_worker()
    }

    /// Slots of each front thread: twice as many as workers can run, so that a worker never waits for a request that
    /// waits for a slot. More would only cost memory, because requests can wait in the front's queue as well.
    pub(crate) fn slots(&self) -> usize {
        (2 * self.running_max())
            .next_power_of_two()
            .clamp(16, SLOTS_MAX as usize)
    }
}

/// Places of one pool (`HOWDAH_WORKERS_MAX`).
const PLACES_MAX: usize = 512;
/// The limit of a concurrent pool.
const CONCURRENT_PLACES_MAX: usize = layout::CONCURRENT_PLACES_MAX as usize;
/// Places that stay free, so that a successor can start before its predecessor exits.
const PLACES_FREE: usize = 2;
/// The same of a concurrent pool, as far as the contract allows. After a fatal error in one request the worker exits
/// when its other requests have ended. This may take long, and they may even wait for a response of the same pool:
/// exiting workers must not fill all places.
const CONCURRENT_PLACES_FREE: usize = 14;

/// Default number of workers of a classic pool: two for each core, at least four. A request of an ordinary application
/// spends part of its time waiting for its database; a second process per core fills that time, and more would mostly
/// take memory and cache from the others.
pub fn default_workers(cores: usize) -> usize {
    (2 * cores).clamp(4, 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_follows_the_cores() {
        for (cores, workers) in [(1, 4), (2, 4), (4, 8), (8, 16), (64, 128), (512, 512)] {
            assert_eq!(default_workers(cores), workers, "{cores}");
        }
    }

    #[test]
    fn slots_are_a_power_of_two_within_the_contract() {
        for workers in [1, 3, 9, 100, 512] {
            let slots = PoolOptions::new("php", workers).slots();
            assert!(slots.is_power_of_two() && slots >= workers.min(1024) && slots <= 1024);
        }
    }

    #[test]
    fn two_generations_fit_side_by_side_as_far_as_the_contract_allows() {
        for (workers, max, places) in [(1, 1, 4), (2, 6, 14), (255, 255, 512), (512, 512, 512)] {
            let mut options = PoolOptions::new("php", workers);
            options.workers_max = max;
            assert_eq!(options.places(), places, "{workers} to {max}");
            assert!(options.serving_max() < options.places());
        }
    }

    #[test]
    fn a_concurrent_pool_has_room_for_all_its_requests() {
        let pool = |workers, requests| {
            let mut options = PoolOptions::new("app", workers);
            options.limits.queue_length = 10;
            let mut worker = WorkerMode::new("/app/worker.php");
            worker.options.concurrency = requests;
            options.mode = Mode::Worker(worker.into());
            options
        };
        let options = pool(2, 100);
        assert_eq!(
            (options.places(), options.slots(), options.admitted_max()),
            (18, 512, 210)
        );
        let options = pool(500, 1000);
        assert_eq!((options.serving_max(), options.places()), (111, 224));
        assert_eq!(options.slots(), 1024);
    }

    #[test]
    fn a_pool_of_one_shot_forks_keeps_spares() {
        for (workers, serving) in [(1, 3), (4, 6), (10, 15)] {
            let mut options = PoolOptions::new("app", workers);
            let mut worker = WorkerMode::new("/app/worker.php");
            worker.options.isolation = Isolation::Request;
            options.mode = Mode::Worker(worker.into());
            assert_eq!(options.serving_min(), serving, "{workers}");
        }
    }
}
