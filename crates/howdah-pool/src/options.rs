//! What a pool is asked to be.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use howdah_shm::layout::{self, SLOTS_MAX};
use rustix::process::{Gid, Uid};

/// How the PHP side is started; the same for all pools.
#[derive(Debug, Clone)]
pub struct RootOptions {
    /// The PHP executable, `howdah-php`.
    pub executable: PathBuf,
    /// Settings on top of php.ini, in order.
    pub ini: Vec<(String, String)>,
    /// Some pool runs several requests at a time in a process: PHP guards the clients that they may share.
    pub concurrent: bool,
    /// Front threads of the server, 1 to 16.
    pub fronts: usize,
    /// How long PHP's module start-up may take (preloading included). Default 2 min.
    pub start_timeout: Duration,
}

/// One pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Names it in logs, process titles and metrics; 1 to 64 bytes.
    pub name: String,
    /// What its workers are.
    pub mode: Mode,
    /// Worker processes that are always there, 1 to 512.
    pub workers: usize,
    /// Worker processes that there may be while requests wait and processors are idle; not more than
    /// `workers` (0, the default, is not): the number is fixed.
    pub workers_max: usize,
    /// A worker is replaced after so many requests, or up to a tenth fewer, so that not all leave at
    /// once; 0 (the default): never.
    pub max_requests: u32,
    /// A worker is replaced when it has lived so long, or up to a tenth less; `None` (the default): never.
    pub max_age: Option<Duration>,
    /// A worker is replaced when PHP's allocator holds more bytes than this after a request; `None` (the
    /// default): never.
    pub max_memory: Option<u64>,
    /// The same for what it holds above what it held after its first requests; `None` (the default): never.
    pub max_memory_growth: Option<u64>,
    /// Requests that may be in the workers' hands or next in line for them; more wait, whatever the
    /// number of workers. `None` (the default): no limit but theirs.
    pub max_in_flight: Option<usize>,
    /// A worker above `workers` leaves when it has had nothing to do for this long. Default 5 s.
    pub max_idle_time: Duration,
    /// Requests that may wait for a worker; one more is refused. Default 1,024.
    pub queue_length: usize,
    /// How long a request may wait for a worker. Default 30 s.
    pub max_wait: Duration,
    /// Wall time of a request in PHP, from the moment a worker took it; `None` (the default): no limit.
    pub request_timeout: Option<Duration>,
    /// How long a request of a concurrent pool may take to end once its time is over; then its worker is
    /// killed, and all its other requests with it. Default 5 s.
    pub end_grace: Duration,
    /// Bytes of one response that are held for a slow client before its worker has to wait. Default 1 MiB.
    pub response_buffer: usize,
    /// Bytes of one response that a file under `TMPDIR` takes for a slow client after its worker has waited for
    /// a second. `None`: the worker waits. Default 1 GiB.
    pub response_spool: Option<u64>,
    /// Bytes for the variables of a request and a small body, a multiple of 4,096. Untouched pages cost
    /// nothing, so there is room for the largest header that the front lets through. Default 256 KiB.
    pub request_size: usize,
    /// Bytes of a slot's response ring, a power of two. Default 256 KiB.
    pub response_size: usize,
    /// Whose its processes are; they change to it before any code of the application runs, which takes the
    /// right to do so. `None` (the default): the front's.
    pub user: Option<User>,
    /// Programs that its processes start gain no rights (setuid, setgid, file capabilities). Default false.
    pub no_new_privs: bool,
}

/// A user of this machine, looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Number of the user.
    pub uid: u32,
    /// Number of its group.
    pub gid: u32,
    /// Numbers of all groups that its processes are in.
    pub groups: Vec<u32>,
    /// `USER` and `LOGNAME` in the environment; empty: they stay as they are.
    pub name: String,
    /// `HOME` in the environment; empty: it stays as it is.
    pub home: PathBuf,
}

impl User {
    /// Gives it a pipe that its processes write to, so that they can open it as `/dev/stderr`, too. Where the
    /// front has not got the right to, they can only write to what they were given.
    pub(crate) fn own(&self, pipe: BorrowedFd<'_>) {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let _ = rustix::fs::fchown(pipe, Some(uid), Some(gid));
    }
}

/// What the workers of a pool are.
#[derive(Debug, Clone)]
pub enum Mode {
    /// PHP's state is fresh for each request.
    Classic,
    /// A worker script is booted once and handles many requests.
    Worker(WorkerOptions),
}

/// Worker mode. [`WorkerOptions::new`] has the defaults.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings of the configuration file, each with a name"
)]
pub struct WorkerOptions {
    /// The worker script, an absolute path.
    pub script: PathBuf,
    /// Document root of the boot; `None`: the script's folder, as PHP decides.
    pub root: Option<PathBuf>,
    /// Variables of `$_SERVER` during the boot.
    pub env: Vec<(String, String)>,
    /// Run the script in each worker, not once for all of them.
    pub boot_each: bool,
    /// `exit()` in a request ends the worker, not only the request.
    pub exit_restarts: bool,
    /// `HOWDAH_KEEP_*`: state that requests may change for later ones.
    pub keep: u32,
    /// `HOWDAH_CONNECTIONS_*`: what becomes of a connection that died between requests.
    pub connections: u32,
    /// Roll back transactions that a request left open. Default true.
    pub rollback: bool,
    /// Paths that each worker requests of itself before it is ready.
    pub warm: Vec<String>,
    /// CPU time of a request; then its worker ends itself. `None`: no limit.
    pub cpu_limit: Option<Duration>,
    /// Boots that may fail in a row before the start is given up, at least 1. Default 6.
    pub max_failures: u32,
    /// Each request has a fork of its own, which ends with it.
    pub one_request: bool,
    /// Several requests at a time in each worker; not with `one_request`. `None` (the default): one.
    pub concurrency: Option<Concurrency>,
    /// A boot that fails does not keep the server from starting: requests are answered 503 until it
    /// succeeds (files are watched, so somebody is about to mend it).
    pub tolerate_failure: bool,
}

impl WorkerOptions {
    /// A worker script with the documented defaults.
    pub fn new(script: impl Into<PathBuf>) -> Self {
        Self {
            script: script.into(),
            root: None,
            env: Vec::new(),
            boot_each: false,
            exit_restarts: false,
            keep: 0,
            connections: 0,
            rollback: true,
            warm: Vec::new(),
            cpu_limit: None,
            max_failures: MAX_FAILURES,
            one_request: false,
            concurrency: None,
            tolerate_failure: false,
        }
    }
}

/// Several requests at a time in each worker. [`Concurrency::new`] has the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concurrency {
    /// Requests at a time in one worker, 2 to [`CONCURRENCY_MAX`](howdah_shm::layout::CONCURRENCY_MAX).
    pub requests: u32,
    /// Static properties and variables are one for all requests. Default false: each has its own.
    pub share_statics: bool,
    /// Bytes of C stack of each request; 0 (the default): what PHP's side thinks right.
    pub stack_size: u32,
    /// A request that keeps the others waiting for longer is logged; `None`: never. Default 100 ms.
    pub hog_threshold: Option<Duration>,
    /// A request that keeps the others waiting for longer is interrupted for them; `None` (the default):
    /// only where it waits itself.
    pub time_slice: Option<Duration>,
}

impl Concurrency {
    /// So many requests at a time, with the documented defaults.
    pub fn new(requests: u32) -> Self {
        Self {
            requests,
            share_statics: false,
            stack_size: 0,
            hog_threshold: Some(Duration::from_millis(100)),
            time_slice: None,
        }
    }
}

/// Boots in a row that may fail when nobody said a number.
const MAX_FAILURES: u32 = 6;

impl PoolOptions {
    /// A classic pool with the documented defaults.
    pub fn new(name: impl Into<String>, workers: usize) -> Self {
        Self {
            name: name.into(),
            mode: Mode::Classic,
            workers,
            workers_max: 0,
            max_requests: 0,
            max_age: None,
            max_memory: None,
            max_memory_growth: None,
            max_in_flight: None,
            max_idle_time: Duration::from_secs(5),
            queue_length: 1024,
            max_wait: Duration::from_secs(30),
            request_timeout: None,
            end_grace: Duration::from_secs(5),
            response_buffer: 1 << 20,
            response_spool: Some(1 << 30),
            request_size: 256 << 10,
            response_size: 256 << 10,
            user: None,
            no_new_privs: false,
        }
    }

    /// The options of worker mode, if it is that.
    pub(crate) fn worker(&self) -> Option<&WorkerOptions> {
        match &self.mode {
            Mode::Classic => None,
            Mode::Worker(worker) => Some(worker),
        }
    }

    /// Each request has a fork of its own.
    pub(crate) fn one_request(&self) -> bool {
        self.worker().is_some_and(|worker| worker.one_request)
    }

    /// A worker that is done with a request looks for the next one, so requests may be left to those that are
    /// awake. A fork that has one request does not, and coroutines have their own way.
    pub(crate) fn may_leave(&self) -> bool {
        !self.one_request() && self.concurrency().is_none()
    }

    /// Several requests at a time in each worker.
    pub(crate) fn concurrency(&self) -> Option<&Concurrency> {
        self.worker()?.concurrency.as_ref()
    }

    /// Requests that a worker has at a time, at most.
    pub(crate) fn requests_per_worker(&self) -> usize {
        self.concurrency()
            .map_or(1, |concurrency| concurrency.requests as usize)
    }

    /// Most places of the pool.
    fn places_max(&self) -> usize {
        if self.concurrency().is_some() {
            CONCURRENT_PLACES_MAX
        } else {
            PLACES_MAX
        }
    }

    /// Forks that stand by for the next requests, beyond those that serve one.
    pub(crate) fn spares(&self) -> usize {
        if self.one_request() {
            (self.workers / 2).max(2)
        } else {
            0
        }
    }

    /// Most workers that ever serve at a time.
    pub(crate) fn serving_max(&self) -> usize {
        let most = self.workers.max(self.workers_max) + self.spares();
        // Two generations of a concurrent pool always fit side by side: their workers may need long to leave.
        let fitting = match self.concurrency() {
            Some(_) => (CONCURRENT_PLACES_MAX - PLACES_FREE) / 2,
            None => PLACES_MAX - PLACES_FREE,
        };
        most.clamp(1, fitting)
    }

    /// Workers that serve when nobody waits.
    pub(crate) fn serving_min(&self) -> usize {
        (self.workers + self.spares()).clamp(1, self.serving_max())
    }

    /// Places for processes: two generations side by side, and room for successors.
    pub(crate) fn places(&self) -> usize {
        let free = match self.concurrency() {
            Some(_) => CONCURRENT_PLACES_FREE,
            None => PLACES_FREE,
        };
        (2 * self.serving_max() + free).min(self.places_max())
    }

    /// Boots in a row that may fail at the start.
    pub(crate) fn max_failures(&self) -> u32 {
        self.worker()
            .map_or(MAX_FAILURES, |worker| worker.max_failures)
            .max(1)
    }

    /// Requests that may run or wait.
    pub(crate) fn admitted_max(&self) -> usize {
        let room = self.running_max();
        self.max_in_flight.map_or(room, |limit| limit.min(room)) + self.queue_length
    }

    /// Requests that all workers can have at a time.
    fn running_max(&self) -> usize {
        self.serving_max() * self.requests_per_worker()
    }

    /// Slots of each front thread: enough that a worker never waits for a request that waits for a slot,
    /// twice over; more only cost memory, since waiting is as well done in the front's own queue.
    pub(crate) fn slots(&self) -> usize {
        (2 * self.running_max())
            .next_power_of_two()
            .clamp(16, SLOTS_MAX as usize)
    }
}

/// Places of one pool (`HOWDAH_WORKERS_MAX`).
const PLACES_MAX: usize = 512;
/// The same of a concurrent one.
const CONCURRENT_PLACES_MAX: usize = layout::CONCURRENT_PLACES_MAX as usize;
/// Places that are never filled for good, so that a successor can be made ready before its predecessor
/// leaves.
const PLACES_FREE: usize = 2;
/// The same of a concurrent pool, as far as the contract allows. A fatal error in one request has the worker
/// leave when all its others have ended, which may take long, and they may even wait for an answer of their own
/// pool: workers that leave must not take all places.
const CONCURRENT_PLACES_FREE: usize = 14;

/// Workers of a classic pool when nobody said a number: two for each core, at least four. A request of
/// an ordinary application spends part of its time waiting for its database; a second process for each
/// core fills that time, and more would mostly take memory and cache from the others.
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
            options.queue_length = 10;
            options.mode = Mode::Worker(WorkerOptions {
                concurrency: Some(Concurrency::new(requests)),
                ..WorkerOptions::new("/app/worker.php")
            });
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
            options.mode = Mode::Worker(WorkerOptions {
                one_request: true,
                ..WorkerOptions::new("/app/worker.php")
            });
            assert_eq!(options.serving_min(), serving, "{workers}");
        }
    }
}
