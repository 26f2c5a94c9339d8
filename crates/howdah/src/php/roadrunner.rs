//! The pools of RoadRunner workers: from the configuration to processes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::sync::{Arc, PoisonError, RwLock};

use howdah_config::model::{Config, RoadRunnerPool, WORKERS_MAX};
use howdah_goridge::{Pool, PoolOptions, StartError};
use howdah_monitor::Program;
use howdah_pool::PoolStatus;

use crate::failure::Failure;
use crate::php_executable::executable;
use crate::rights::privileges;

/// The commands of `howdah-php` that execute a program: PHP in a process that is not dumpable, or anything without
/// changes.
const PLAIN: &str = "plain";
const EXEC: &str = "exec";

/// Converts the `roadrunner` directives to options of pools.
pub(crate) fn options(config: &Config) -> Result<Vec<PoolOptions>, Failure> {
    let pools = config.roadrunner.iter();
    pools.map(|pool| pool_options(config, pool)).collect()
}

fn pool_options(config: &Config, pool: &RoadRunnerPool) -> Result<PoolOptions, Failure> {
    let global = &config.global.php;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = howdah_pool::default_workers(cores).min(WORKERS_MAX);
    let withheld = &global.environment.withheld;
    let mut environment = howdah_pool::inherited_environment(withheld, global.environment.clear);
    let user = privileges::pool_user(config, pool.user.as_ref())?;
    if let Some(user) = &user {
        if !user.name.is_empty() {
            environment.push(("USER".into(), user.name.clone().into()));
            environment.push(("LOGNAME".into(), user.name.clone().into()));
        }
        if !user.home.as_os_str().is_empty() {
            environment.push(("HOME".into(), user.home.clone().into()));
        }
    }
    let own = pool.env.iter();
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    // A server that is not root already runs as its user: it neither can nor need change to it
    // again.
    let current = rustix::process::geteuid().as_raw();
    let user = user.filter(|user| user.uid != current);
    let is_monitors = user.is_some() && howdah_monitor::is_connected();
    let limits = pool.limits.over(&global.limits);
    let launcher = launcher(config, limits.dumpable).into_iter().flatten();
    Ok(PoolOptions {
        name: pool.name.clone(),
        command: launcher.chain(pool.command.iter().cloned()).collect(),
        workers: pool.workers.unwrap_or(workers),
        limits,
        boot_timeout: pool.boot_timeout,
        environment,
        user,
        monitor_key: is_monitors.then(|| key(config, pool)),
        raw_body: pool.raw_body,
        forbidden_uploads: pool.forbidden_uploads.clone(),
    })
}

/// The launcher, which executes a command with only its pipes open, and makes its process not dumpable if it is PHP.
/// `None`: a path cannot be an argument.
fn launcher(config: &Config, is_dumpable: bool) -> Option<[String; 2]> {
    let launcher = executable(config.global.php.executable.as_ref());
    let command = if is_dumpable { EXEC } else { PLAIN };
    Some([
        launcher.into_os_string().into_string().ok()?,
        command.into(),
    ])
}

/// The programs that a monitor starts for a server with this configuration, by their keys.
pub(crate) fn programs(config: &Config) -> Vec<(u64, Program)> {
    let pools = config.roadrunner.iter();
    let program = |pool| {
        Some((
            key(config, pool),
            pool_options(config, pool).ok()?.program(),
        ))
    };
    pools.filter_map(program).collect()
}

/// Identifies programs of the monitor. It does not protect: a program is started with the options that the monitor has
/// read.
fn key(config: &Config, pool: &RoadRunnerPool) -> u64 {
    let global = &config.global.php;
    let mut hasher = DefaultHasher::new();
    pool.command.hash(&mut hasher);
    launcher(config, false).hash(&mut hasher);
    pool.env.hash(&mut hasher);
    global.environment.withheld.hash(&mut hasher);
    global.environment.clear.hash(&mut hasher);
    format!("{:?}", pool.limits.over(&global.limits)).hash(&mut hasher);
    let user = privileges::pool_user(config, pool.user.as_ref()).ok();
    user.hash(&mut hasher);
    hasher.finish()
}

/// The running pools; clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoadRunnerPools(Arc<RwLock<Vec<Arc<Pool>>>>);

impl RoadRunnerPools {
    /// The pools of a configuration, in order: unchanged ones continue, the others are started.
    pub(crate) async fn next(&self, config: &Config) -> Result<Vec<Arc<Pool>>, Failure> {
        let running = self.all();
        let mut pools = Vec::new();
        for options in options(config)? {
            let same = running.iter().find(|pool| *pool.options() == options);
            pools.push(match same {
                Some(pool) => Arc::clone(pool),
                None => Arc::new(start(options).await?),
            });
        }
        Ok(pools)
    }

    /// Makes these the current pools. Others stop when the last request that may use them has its
    /// response.
    pub(crate) fn set(&self, pools: Vec<Arc<Pool>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = pools;
    }

    pub(crate) fn all(&self) -> Vec<Arc<Pool>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let all = self.all().into_iter();
        all.map(|pool| pool.options().name.clone()).collect()
    }

    pub(crate) fn statuses(&self) -> Vec<PoolStatus> {
        self.all().iter().map(|pool| pool.status()).collect()
    }

    /// Starts new workers for one pool, or for all.
    pub(crate) async fn reload(&self, name: Option<&str>) -> Result<(), StartError> {
        let is_meant = |pool: &Arc<Pool>| name.is_none_or(|name| pool.options().name == name);
        for pool in self.all().into_iter().filter(is_meant) {
            pool.reload().await?;
        }
        Ok(())
    }

    /// Stops all workers.
    pub(crate) async fn stop(&self) {
        let mut stops = tokio::task::JoinSet::new();
        for pool in self.all() {
            stops.spawn(async move { pool.stop().await });
        }
        stops.join_all().await;
    }
}

async fn start(options: PoolOptions) -> Result<Pool, Failure> {
    let (name, workers) = (options.name.clone(), options.workers);
    let pool = Pool::start(options).await;
    let pool = pool.map_err(|error| Failure::Setup(error.to_string()))?;
    tracing::info!(target: "howdah", pool = name, workers, "RoadRunner workers are ready");
    Ok(pool)
}
