//! The pools of a configuration, in the order in which requests are numbered: the classic pool of all sites, the
//! classic pools that sites name, then the worker pools.

use std::io::ErrorKind;
use std::num::NonZero;

use howdah_config::model::{
    self, CLASSIC_POOL, CONCURRENT_WORKERS_MAX, ClassicPool, Config, Keep, PoolSettings,
    WORKERS_MAX, WorkerOptions, WorkersMax,
};
use howdah_pool::{Mode, PoolOptions, WorkerMode};

use crate::failure::Failure;
use crate::rights::privileges;

/// Memory of one PHP process for `max_threads auto`: PHP's default `memory_limit`.
const WORKER_MEMORY: u64 = 128 << 20;

/// Converts the `pool` and `worker` blocks to options of pools.
pub(crate) fn options(config: &Config) -> Result<Vec<PoolOptions>, Failure> {
    let mut pools = sizes(config);
    let own = config
        .own_pool_settings()
        .map(|settings| settings.user.as_ref());
    for (pool, own) in pools.iter_mut().zip(std::iter::once(None).chain(own)) {
        pool.user = privileges::pool_user(config, own)?;
    }
    Ok(pools)
}

/// Like [`options`], without the users, which may not exist on this machine.
pub(crate) fn sizes(config: &Config) -> Vec<PoolOptions> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = config.workers.iter();
    let own = config.pools.iter();
    std::iter::once(classic(config, cores))
        .chain(own.map(|pool| classic_options(config, pool, cores)))
        .chain(workers.map(|pool| worker(config, pool, cores)))
        .collect()
}

/// Names of all pools except the classic one of all sites, in order.
pub(crate) fn named_pools(config: &Config) -> impl Iterator<Item = &String> {
    let classic = config.pools.iter().map(|pool| &pool.name);
    classic.chain(config.workers.iter().map(|pool| &pool.name))
}

fn default_workers(cores: usize) -> usize {
    howdah_pool::default_workers(cores).min(WORKERS_MAX)
}

/// The error of a missing worker script.
pub(crate) fn check_scripts(config: &Config) -> Result<(), Failure> {
    let wrong = missing_scripts(config).into_iter().next();
    wrong.map_or(Ok(()), |wrong| Err(Failure::Setup(wrong)))
}

/// All missing worker scripts, each with the cause.
pub(crate) fn missing_scripts(config: &Config) -> Vec<String> {
    let wrong = config.workers.iter().filter_map(|pool| {
        let wrong = match std::fs::metadata(&pool.file) {
            Ok(found) if found.is_file() => return None,
            // PHP of another user may have access, and otherwise reports it at its boot.
            Err(error)
                if error.kind() == ErrorKind::PermissionDenied
                    && howdah_monitor::is_connected() =>
            {
                return None;
            }
            Ok(_) => "it is not a file".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(format!("worker script {}: {wrong}", pool.file))
    });
    wrong.collect()
}

fn classic(config: &Config, cores: usize) -> PoolOptions {
    let settings = &config.global.php;
    let workers = settings.workers.unwrap_or(default_workers(cores));
    let mut options = PoolOptions::new(CLASSIC_POOL, workers);
    options.workers_max = workers_max(settings.workers_max, workers);
    common(&mut options, config);
    options
}

fn classic_options(config: &Config, pool: &ClassicPool, cores: usize) -> PoolOptions {
    let workers = pool.settings.workers.unwrap_or(default_workers(cores));
    let mut options = PoolOptions::new(pool.name.as_str(), workers);
    options.workers_max = workers_max(pool.settings.workers_max, workers);
    common(&mut options, config);
    apply_settings(&mut options, &pool.settings);
    options
}

fn worker(config: &Config, pool: &model::WorkerPool, cores: usize) -> PoolOptions {
    // Requests that wait use no processor, so one process for each core keeps all of them busy. There are at least two,
    // so that one can run while the other computes.
    let (default, most) = if pool.options.is_concurrent() {
        (
            cores.clamp(2, CONCURRENT_WORKERS_MAX),
            CONCURRENT_WORKERS_MAX,
        )
    } else {
        (default_workers(cores), WORKERS_MAX)
    };
    let workers = pool.settings.workers.unwrap_or(default);
    let mut options = PoolOptions::new(pool.name.as_str(), workers);
    options.workers_max = workers_max(pool.settings.workers_max, workers).min(most);
    common(&mut options, config);
    let mut worker = WorkerMode::new(&pool.file);
    worker.root = pool.root.as_ref().map(Into::into);
    worker.options = WorkerOptions {
        keep: keep(&pool.options, |name| std::env::var(name).ok()),
        ..pool.options.clone()
    };
    options.mode = Mode::Worker(worker.into());
    apply_settings(&mut options, &pool.settings);
    options
}

/// The settings of one pool, which override those of the global block.
fn apply_settings(options: &mut PoolOptions, settings: &PoolSettings) {
    options.limits = settings.limits.over(&options.limits);
    options.ini.php_ini.clone_from(&settings.ini.php_ini);
    // They override those of the global block.
    let is_overridden = |name: &String| {
        let mut settings = settings.ini.php_admin_ini.iter();
        settings.any(|(other, _)| other == name)
    };
    let all = &mut options.ini.php_admin_ini;
    all.retain(|(name, _)| !is_overridden(name));
    all.extend_from_slice(&settings.ini.php_admin_ini);
}

/// The settings of the global block.
fn common(options: &mut PoolOptions, config: &Config) {
    let settings = &config.global.php;
    options.limits.clone_from(&settings.limits);
    // PHP was started with them; the pools make them final.
    let all = &settings.ini.php_admin_ini;
    options.ini.php_admin_ini.clone_from(all);
    // The path of a request is in up to seven variables, and each field is a record.
    let sizes = config.global.all_limits();
    let sizes = sizes.map(|limits| 8 * limits.max_header_size + limits.memory_body_size + 16_384);
    let largest = sizes.max().unwrap_or_default().next_multiple_of(4096);
    options.request_size = options.request_size.max(largest);
}

/// State that requests of a pool may change for later ones. Octane restores state itself, and its older versions boot
/// within the first request: restoring the state from before would leave the application without its error handlers and
/// time zone. Octane sets a variable by which it is recognised, and `octane:start` has no other place for this setting.
fn keep(options: &WorkerOptions, environment: impl Fn(&str) -> Option<String>) -> Keep {
    const OCTANE: &str = "LARAVEL_OCTANE";
    let own = options.env.iter().find(|(name, _)| name == OCTANE);
    let octane = own
        .map(|(_, value)| value.clone())
        .or_else(|| environment(OCTANE));
    let is_octane = octane.is_some_and(|value| !value.is_empty() && value != "0");
    if options.keep == Keep::NONE && is_octane {
        return Keep::ALL;
    }
    options.keep
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

/// Size of the machine's memory according to `/proc/meminfo`.
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
        config.global.php.limits.max_requests = 7;
        config.global.php.limits.request_timeout = Some(Duration::from_secs(9));
        let mut own = WorkerPool::new("own", "/srv/b.php");
        own.settings.limits.max_requests = Some(0);
        own.settings.limits.request_timeout = Some(None);
        own.settings.workers = Some(2);
        own.settings.workers_max = WorkersMax::Number(5);
        own.options.watch = vec!["*.php".into()];
        config.workers = vec![WorkerPool::new("app", "/srv/a.php"), own];

        let pools = options(&config).expect("no user is named");
        let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["php", "app", "own"]);
        assert!(matches!(pools[0].mode, Mode::Classic));
        assert_eq!((pools[0].workers, pools[0].workers_max), (3, 3));
        let limit = Some(Duration::from_secs(9));
        for pool in &pools[..2] {
            assert_eq!(pool.limits.max_requests, 7);
            assert_eq!(pool.limits.request_timeout, limit);
        }
        assert_eq!(pools[2].limits.max_requests, 0);
        assert_eq!(pools[2].limits.request_timeout, None, "off");
        assert_eq!((pools[2].workers, pools[2].workers_max), (2, 5));
        let watch = |pool: &PoolOptions| match &pool.mode {
            Mode::Worker(worker) => worker.options.watch.len(),
            Mode::Classic => panic!("{} is a worker pool", pool.name),
        };
        assert_eq!((watch(&pools[1]), watch(&pools[2])), (0, 1));
    }

    #[test]
    fn a_concurrent_pool_has_a_process_for_each_core() {
        let mut pool = WorkerPool::new("app", "/srv/a.php");
        pool.options.concurrency = 100;
        pool.settings.workers_max = WorkersMax::Auto;
        for (cores, workers) in [(1, 2), (2, 2), (16, 16), (300, 111)] {
            let options = worker(&Config::default(), &pool, cores);
            assert_eq!(options.workers, workers, "{cores} cores");
            assert!((workers..=111).contains(&options.workers_max));
            let Mode::Worker(worker) = options.mode else {
                panic!("a worker pool");
            };
            assert_eq!(worker.options.concurrency, 100);
        }
    }

    #[test]
    fn octane_keeps_what_its_first_request_sets() {
        let mut pool = WorkerOptions::default();
        let set = |value: &str| {
            let value = value.to_owned();
            move |_: &str| Some(value.clone())
        };
        assert_eq!(keep(&pool, |_| None), Keep::NONE);
        assert_eq!(keep(&pool, set("0")), Keep::NONE);
        assert_eq!(keep(&pool, set("1")), Keep::ALL);
        pool.env = vec![("LARAVEL_OCTANE".into(), String::new())];
        assert_eq!(
            keep(&pool, set("1")),
            Keep::NONE,
            "the pool's own variable wins"
        );
        pool.keep = Keep::INI;
        pool.env = vec![("LARAVEL_OCTANE".into(), "1".into())];
        assert_eq!(keep(&pool, |_| None), Keep::INI, "the option overrides it");
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
