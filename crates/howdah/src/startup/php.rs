//! The start of PHP: its trees, then the pools of `RoadRunner` workers.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use howdah_config::model::Config;
use howdah_http::Server;
use howdah_pool::{PhpInfo, StartError};

use super::banner::PoolLine;
use crate::failure::Failure;
use crate::php::pools;
use crate::php::root_options::tree_options;
use crate::php::tree::{GrowError, NewTrees, Order};
use crate::php::trees::{self, TreeFiles, Trees};
use crate::php::vulnerabilities;
use crate::rights::privileges;
use crate::server::crash_reports::CrashReports;
use crate::server::signals::SignalStream;

/// PHP whose workers are ready.
pub(super) struct StartedPhp {
    new: NewTrees,
    names: Vec<String>,
    files: TreeFiles,
    crashes: CrashReports,
    pools: Vec<PoolLine>,
    workers: usize,
    took: Duration,
}

/// PHP with its current trees.
pub(super) struct RunningPhp {
    pub(super) trees: Trees,
    pub(super) crashes: CrashReports,
    /// What each PHP reported at its start.
    pub(super) info: Vec<PhpInfo>,
    pub(super) pools: Vec<PoolLine>,
    workers: usize,
    /// Duration of the start.
    pub(super) took: Duration,
}

impl StartedPhp {
    /// `file` is the Caddyfile. `None` if a signal stopped the server before the workers were ready.
    pub(super) async fn start(
        config: &Config,
        file: Option<&Path>,
        server: &Server,
        spool: &OwnedFd,
        stop: &mut SignalStream,
    ) -> Result<Option<Self>, Failure> {
        let pools = pools::options(config)?;
        privileges::prepare(&pools, server.spool())?;
        let lines = pools.iter().map(PoolLine::of).collect();
        let workers = pools.iter().map(|pool| pool.workers).sum();
        let mut options = tree_options(config, pools, server.threads());
        let names = trees::names(&options);
        let (crashes, reports) = CrashReports::start(config, file);
        for tree in &mut options {
            tree.root.crashes = crashes.sink();
        }
        // From the start on: PHP may crash while it boots.
        if let Some(reports) = reports {
            tokio::spawn(crashes.clone().write(reports));
        }
        let files = TreeFiles::now(config);
        let options = trees::prepare_first(config, options)
            .map_err(|error| Failure::Runtime(error.to_string()))?;
        let began = Instant::now();
        let start = NewTrees::start(options, spool, None, std::future::pending());
        let new = tokio::select! {
            started = start => started.map_err(|error| start_failure(config, &error))?,
            _ = stop.next() => return Ok(None),
        };
        Ok(Some(Self {
            new,
            names,
            files,
            crashes,
            pools: lines,
            workers,
            took: began.elapsed(),
        }))
    }

    /// Puts the trees in force, and starts the pools of `RoadRunner` workers.
    pub(super) async fn activate(
        self,
        config: &Config,
        spool: OwnedFd,
    ) -> Result<RunningPhp, Failure> {
        let info = self.new.php();
        info.iter().for_each(vulnerabilities::warn);
        let trees = Trees::new(self.new, self.names, spool, self.files);
        let roadrunner = match trees.roadrunner().next(config).await {
            Ok(pools) => pools,
            Err(failure) => {
                trees.end(Order::Kill).await;
                return Err(failure);
            }
        };
        trees.roadrunner().set(roadrunner);
        // They follow PHP's pools in the server's numbering.
        trees.roadrunner_numbers(config);
        Ok(RunningPhp {
            trees,
            crashes: self.crashes,
            info,
            pools: self.pools,
            workers: self.workers,
            took: self.took,
        })
    }
}

impl RunningPhp {
    pub(super) fn log_ready(&self, fronts: usize) {
        let mut versions: Vec<&str> = self.info.iter().map(|php| php.php.as_str()).collect();
        versions.dedup();
        let without_opcache = self.info.iter().find(|php| !php.opcache);
        tracing::info!(target: "howdah", php = versions.join(", "), opcache = without_opcache.is_none(),
            workers = self.workers, fronts, "ready");
        if let Some(php) = without_opcache {
            tracing::info!(target: "howdah", php = php.php, "OPcache is off; the phpX.Y-opcache package makes PHP several \
                times faster");
        }
    }
}

/// Names the worker script: the pool may have a different name.
fn start_failure(config: &Config, error: &GrowError) -> Failure {
    let pool = match error {
        GrowError::Start {
            error: StartError::Boot { pool, .. },
            ..
        } => config.workers.iter().find(|own| own.name == *pool),
        _ => None,
    };
    Failure::Setup(match pool {
        Some(pool) => format!("worker script {}: {error}", pool.file),
        None => error.to_string(),
    })
}
