//! What a pool is asked to be.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use howdah_config::model::{
    Boot, Concurrency, Connections, Isolation, Keep, LeakDetection, OnExit, PoolLimits,
};
use howdah_shm::layout::{self, SLOTS_MAX};
use rustix::fs::Mode as FileMode;
use rustix::process::Gid;

use crate::crash_report::CrashSink;
use crate::preload::Preload;
use crate::record::Record;

/// How the PHP side is started; the same for all pools.
#[derive(Debug, Clone)]
pub struct RootOptions {
    /// Environment variables that PHP is not to have.
    pub withheld: Vec<String>,
    /// It has those alone that a process needs.
    pub clear_env: bool,
    /// The PHP executable, `howdah-php`.
    pub executable: PathBuf,
    /// Settings on top of php.ini, in order.
    pub ini: Vec<(String, String)>,
    /// Some pool runs several requests at a time in a process: PHP guards the clients that they may share.
    pub concurrent: bool,
    /// Some pool keeps code between requests: OPcache's memory is never used again for other code.
    pub booted: bool,
    /// Front threads of the server, 1 to 16.
    pub fronts: usize,
    /// Files that PHP is started with; `None`: it is not asked to preload any.
    pub preload: Option<Preload>,
    /// How long PHP's module start-up may take (preloading included). Default 2 min.
    pub start_timeout: Duration,
    /// Takes the reports of processes that crash; `None`: none are written.
    pub crashes: Option<CrashSink>,
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
    /// Its limits, as the configuration has them.
    pub limits: PoolLimits,
    /// How long a request of a concurrent pool may take to end once its time is over; then its worker is
    /// killed, and all its other requests with it. Default 5 s.
    pub end_grace: Duration,
    /// Bytes for the variables of a request and a small body, a multiple of 4,096. Untouched pages cost
    /// nothing, so there is room for the largest header that the front lets through. Default 256 KiB.
    pub request_size: usize,
    /// Bytes of a slot's response ring, a power of two. Default 256 KiB.
    pub response_size: usize,
    /// Whose its processes are; they change to it before any code of the application runs, which takes the
    /// right to do so. `None` (the default): the front's.
    pub user: Option<User>,
    /// PHP settings of this pool, names and values. They are as if php.ini had them.
    pub ini: Vec<(String, String)>,
    /// PHP settings that neither scripts nor other files change. A pool does not start with one that PHP
    /// does not know.
    pub final_ini: Vec<(String, String)>,
    /// Where its processes record the files that they run; `None` (the default): nowhere.
    pub record: Option<Record>,
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
    /// Has its processes open a pipe that they write to as `/dev/stderr`, too. They cannot read what is in it, nor
    /// make it theirs: it has the keys of records. Where the front has not got the right to, they can only write to
    /// what they were given.
    pub(crate) fn let_write(&self, pipe: BorrowedFd<'_>) {
        let group = Some(Gid::from_raw(self.gid));
        if rustix::fs::fchown(pipe, None, group).is_ok() {
            let _ = rustix::fs::fchmod(pipe, FileMode::WUSR | FileMode::WGRP);
        }
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
pub struct WorkerOptions {
    /// The worker script, an absolute path.
    pub script: PathBuf,
    /// Document root of the boot; `None`: the script's folder, as PHP decides.
    pub root: Option<PathBuf>,
    /// Variables of `$_SERVER` during the boot.
    pub env: Vec<(String, String)>,
    /// Where the script runs up to its first request.
    pub boot: Boot,
    /// What `exit()` in a request ends.
    pub exit: OnExit,
    /// State that requests may change for later ones.
    pub keep: Keep,
    /// What becomes of a connection that died between requests.
    pub connections: Connections,
    /// Paths that each worker requests of itself before it is ready.
    pub warm: Vec<String>,
    /// Boots that may fail in a row before the start is given up, at least 1. Default 6.
    pub max_failures: u32,
    /// What requests share.
    pub isolation: Isolation,
    /// Several requests at a time in each worker; not with [`Isolation::Request`]. `None` (the default): one.
    pub concurrency: Option<Concurrency>,
    /// State that requests leave behind is searched for; not with `concurrency`. `None` (the default): it is not.
    pub leaks: Option<Box<LeakDetection>>,
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
            boot: Boot::default(),
            exit: OnExit::default(),
            keep: Keep::NONE,
            connections: Connections::default(),
            warm: Vec::new(),
            max_failures: MAX_FAILURES,
            isolation: Isolation::default(),
            concurrency: None,
            leaks: None,
            tolerate_failure: false,
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
            limits: PoolLimits::default(),
            end_grace: Duration::from_secs(5),
            request_size: 256 << 10,
            response_size: 256 << 10,
            user: None,
            ini: Vec::new(),
            final_ini: Vec::new(),
            record: None,
        }
    }

    /// The script is run in each worker.
    pub(crate) fn boot_each(&self) -> bool {
        self.worker()
            .is_some_and(|worker| worker.boot == Boot::Each)
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
        self.worker()
            .is_some_and(|worker| worker.isolation == Isolation::Request)
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
        self.limits
            .max_in_flight
            .map_or(room, |limit| limit.min(room))
            + self.limits.queue_length
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
            options.limits.queue_length = 10;
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
                isolation: Isolation::Request,
                ..WorkerOptions::new("/app/worker.php")
            });
            assert_eq!(options.serving_min(), serving, "{workers}");
        }
    }
}
