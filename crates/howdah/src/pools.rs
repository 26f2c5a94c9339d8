//! The pools of a configuration, in the order in which requests name them: the classic pool, then the
//! worker pools.

use std::num::NonZero;

use howdah_config::model::{
    self, Boot, CLASSIC_POOL, CONCURRENT_WORKERS_MAX, Config, Connections, Isolation, Keep, OnExit,
    Statics, WORKERS_MAX, WorkersMax,
};
use howdah_pool::{Concurrency, Mode, PoolOptions, WorkerOptions};

use crate::commands::Failure;
use crate::privileges;

/// What `max_threads auto` reckons for one PHP process: PHP's default `memory_limit`.
const WORKER_MEMORY: u64 = 128 << 20;

/// Options of all pools.
pub(crate) fn options(config: &Config) -> Result<Vec<PoolOptions>, Failure> {
    let mut pools = sizes(config);
    let own = config.workers.iter().map(|pool| pool.user.as_ref());
    for (pool, own) in pools.iter_mut().zip(std::iter::once(None).chain(own)) {
        pool.user = privileges::pool_user(config, own)?;
    }
    Ok(pools)
}

/// The same without their users, who need not be of this machine or of use to this process.
pub(crate) fn sizes(config: &Config) -> Vec<PoolOptions> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = config.workers.iter();
    std::iter::once(classic(config, cores))
        .chain(workers.map(|pool| worker(config, pool, cores)))
        .collect()
}

fn default_workers(cores: usize) -> usize {
    howdah_pool::default_workers(cores).min(WORKERS_MAX)
}

/// A worker script that is not there is a mistake of the one who starts the server.
pub(crate) fn check_scripts(config: &Config) -> Result<(), Failure> {
    for pool in &config.workers {
        let wrong = match std::fs::metadata(&pool.file) {
            Ok(found) if found.is_file() => continue,
            Ok(_) => "it is not a file".to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(Failure::Setup(format!(
            "worker script {}: {wrong}",
            pool.file
        )));
    }
    Ok(())
}

fn classic(config: &Config, cores: usize) -> PoolOptions {
    let settings = &config.global.php;
    let workers = settings.workers.unwrap_or(default_workers(cores));
    let mut options = PoolOptions::new(CLASSIC_POOL, workers);
    options.workers_max = workers_max(settings.workers_max, workers);
    common(&mut options, config);
    options
}

fn worker(config: &Config, pool: &model::WorkerPool, cores: usize) -> PoolOptions {
    // One that waits takes no processor from the others of its process: a process for each core keeps them
    // all busy, and a second one is there while the first computes.
    let (default, most) = match pool.concurrency {
        Some(_) => (
            cores.clamp(2, CONCURRENT_WORKERS_MAX),
            CONCURRENT_WORKERS_MAX,
        ),
        None => (default_workers(cores), WORKERS_MAX),
    };
    let workers = pool.workers.unwrap_or(default);
    let mut options = PoolOptions::new(pool.name.as_str(), workers);
    options.workers_max = workers_max(pool.workers_max, workers).min(most);
    common(&mut options, config);
    options.mode = Mode::Worker(WorkerOptions {
        root: pool.root.as_ref().map(Into::into),
        env: pool.env.clone(),
        boot_each: pool.boot == Boot::Each,
        exit_restarts: pool.exit == OnExit::Restart,
        keep: keep(pool, |name| std::env::var(name).ok()),
        connections: connections(pool.connections),
        rollback: pool.rollback,
        warm: pool.warm.clone(),
        cpu_limit: pool.cpu_timeout,
        max_failures: pool.max_failures,
        one_request: pool.isolation == Isolation::Request,
        concurrency: pool.concurrency.map(concurrency),
        // Whoever watches files is about to mend the one that fails.
        tolerate_failure: !pool.watch.is_empty(),
        ..WorkerOptions::new(&pool.file)
    });
    options.max_age = pool.max_age;
    options.max_memory = pool.max_memory;
    options.max_memory_growth = pool.max_memory_growth;
    options.max_in_flight = pool.max_in_flight;
    options.max_requests = pool.max_requests.unwrap_or(options.max_requests);
    options.no_new_privs = pool.no_new_privs.unwrap_or(options.no_new_privs);
    options.queue_length = pool.queue_length.unwrap_or(options.queue_length);
    options.max_wait = pool.max_wait_time.unwrap_or(options.max_wait);
    // The classic pool's is already in it, unless it was told to have none.
    options.request_timeout = pool.request_timeout;
    options.max_idle_time = pool.max_idle_time.unwrap_or(options.max_idle_time);
    options
}

/// What the global block says for all pools.
fn common(options: &mut PoolOptions, config: &Config) {
    let settings = &config.global.php;
    options.no_new_privs = settings.no_new_privs;
    options.max_requests = settings.max_requests;
    options.max_idle_time = settings.max_idle_time;
    options.queue_length = settings.queue_length;
    options.max_wait = settings.max_wait_time;
    options.request_timeout = settings.request_timeout;
    options.response_buffer = settings.response_buffer;
    options.response_spool = settings.response_spool;
    // The path of a request stands in up to seven variables, and each field gets a record.
    let sizes = config.global.all_limits();
    let sizes = sizes.map(|limits| 8 * limits.max_header_size + limits.memory_body_size + 16_384);
    let largest = sizes.max().unwrap_or_default().next_multiple_of(4096);
    options.request_size = options.request_size.max(largest);
}

/// `HOWDAH_KEEP_*`. Octane undoes what it has to itself, and its older versions boot inside the first
/// request: taking back what that sets would leave the application without its error handlers and time
/// zone. It names itself, and `octane:start` leaves no other place to say so.
fn keep(pool: &model::WorkerPool, environment: impl Fn(&str) -> Option<String>) -> u32 {
    const OCTANE: &str = "LARAVEL_OCTANE";
    let own = pool.env.iter().find(|(name, _)| name == OCTANE);
    let octane = own
        .map(|(_, value)| value.clone())
        .or_else(|| environment(OCTANE));
    let is_octane = octane.is_some_and(|value| !value.is_empty() && value != "0");
    let keep = pool.keep.bits();
    if keep == 0 && is_octane {
        return Keep::ALL.bits();
    }
    keep
}

fn concurrency(concurrency: model::Concurrency) -> Concurrency {
    Concurrency {
        requests: concurrency.requests,
        share_statics: concurrency.statics == Statics::Share,
        stack_size: concurrency.stack_size.unwrap_or(0),
        hog_threshold: concurrency.hog_threshold,
        time_slice: concurrency.time_slice,
    }
}

/// `HOWDAH_CONNECTIONS_*`.
fn connections(connections: Connections) -> u32 {
    match connections {
        Connections::Replace => 0,
        Connections::Revive => 1,
        Connections::Ignore => 2,
    }
}

fn workers_max(max: WorkersMax, workers: usize) -> usize {
    match max {
        WorkersMax::Same => workers,
        WorkersMax::Number(number) => number.max(workers),
        WorkersMax::Auto => {
            let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
            let fitting = memory(&meminfo).map_or(2 * workers, |bytes| {
                usize::try_from(bytes / WORKER_MEMORY).unwrap_or(WORKERS_MAX)
            });
            fitting.min(WORKERS_MAX).max(workers)
        }
    }
}

/// Bytes of the machine's memory as `/proc/meminfo` tells.
fn memory(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use howdah_config::model::WorkerPool;

    use super::*;

    #[test]
    fn the_classic_pool_comes_first_and_the_others_inherit() {
        let mut config = Config::default();
        config.global.php.workers = Some(3);
        config.global.php.max_requests = 7;
        config.global.php.request_timeout = Some(Duration::from_secs(9));
        let mut own = WorkerPool::new("own", "/srv/b.php");
        own.max_requests = Some(0);
        own.request_timeout = Some(Duration::from_secs(1));
        own.workers = Some(2);
        own.workers_max = WorkersMax::Number(5);
        own.watch = vec!["*.php".into()];
        config.workers = vec![WorkerPool::new("app", "/srv/a.php"), own];

        let pools = options(&config).expect("no user is named");
        let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["php", "app", "own"]);
        assert!(matches!(pools[0].mode, Mode::Classic));
        assert_eq!((pools[0].workers, pools[0].workers_max), (3, 3));
        assert_eq!(pools[1].max_requests, 7);
        assert_eq!(pools[0].request_timeout, Some(Duration::from_secs(9)));
        assert_eq!(pools[1].request_timeout, None);
        assert_eq!(pools[2].max_requests, 0);
        assert_eq!(pools[2].request_timeout, Some(Duration::from_secs(1)));
        assert_eq!((pools[2].workers, pools[2].workers_max), (2, 5));
        let tolerates = |pool: &PoolOptions| match &pool.mode {
            Mode::Worker(worker) => worker.tolerate_failure,
            Mode::Classic => panic!("{} is a worker pool", pool.name),
        };
        assert!(!tolerates(&pools[1]));
        assert!(tolerates(&pools[2]));
    }

    #[test]
    fn a_concurrent_pool_has_a_process_for_each_core() {
        let pool = WorkerPool {
            concurrency: Some(model::Concurrency::new(100)),
            workers_max: WorkersMax::Auto,
            ..WorkerPool::new("app", "/srv/a.php")
        };
        for (cores, workers) in [(1, 2), (2, 2), (16, 16), (300, 111)] {
            let options = worker(&Config::default(), &pool, cores);
            assert_eq!(options.workers, workers, "{cores} cores");
            assert!((workers..=111).contains(&options.workers_max));
            let Mode::Worker(options) = options.mode else {
                panic!("a worker pool");
            };
            assert_eq!(options.concurrency, Some(Concurrency::new(100)));
        }
    }

    #[test]
    fn octane_keeps_what_its_first_request_sets() {
        let mut pool = WorkerPool::new("app", "/srv/a.php");
        let set = |value: &str| {
            let value = value.to_owned();
            move |_: &str| Some(value.clone())
        };
        assert_eq!(keep(&pool, |_| None), 0);
        assert_eq!(keep(&pool, set("0")), 0);
        assert_eq!(keep(&pool, set("1")), Keep::ALL.bits());
        pool.env = vec![("LARAVEL_OCTANE".into(), String::new())];
        assert_eq!(keep(&pool, set("1")), 0, "the pool's own variable wins");
        pool.keep = Keep::INI;
        pool.env = vec![("LARAVEL_OCTANE".into(), "1".into())];
        assert_eq!(
            keep(&pool, |_| None),
            Keep::INI.bits(),
            "what is asked for is done"
        );
    }

    #[test]
    fn the_bounds_are_those_of_the_contract() {
        use howdah_shm::layout;
        assert_eq!(model::FRONT_THREADS_MAX, layout::FRONTS_MAX as usize);
        assert_eq!(2 * WORKERS_MAX + 2, layout::WORKERS_MAX as usize);
        let places = layout::CONCURRENT_PLACES_MAX as usize;
        assert_eq!(2 * CONCURRENT_WORKERS_MAX + 2, places);
        assert_eq!(model::CONCURRENCY_MAX, layout::CONCURRENCY_MAX);
    }

    #[test]
    fn a_script_that_is_missing_is_named() {
        let config = Config {
            workers: vec![WorkerPool::new("app", "/nowhere/worker.php")],
            ..Config::default()
        };
        let error = check_scripts(&config).expect_err("it is missing");
        assert!(error.to_string().contains("/nowhere/worker.php"), "{error}");
    }

    #[test]
    fn automatic_numbers_follow_the_memory() {
        assert_eq!(
            memory("MemTotal:        8000000 kB\nMemFree: 1 kB\n"),
            Some(8_192_000_000)
        );
        assert_eq!(memory("MemTotal: much"), None);
        assert!(workers_max(WorkersMax::Auto, 4) >= 4);
        assert!(workers_max(WorkersMax::Auto, 4) <= WORKERS_MAX);
        assert_eq!(workers_max(WorkersMax::Number(2), 4), 4);
    }
}
