//! A tree: the processes of one PHP, a root zygote and all its forks. Its supervisor runs in a separate task. A
//! configuration has a tree for each PHP that its pools name and, with `preload`, for each application.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use howdah_pool::{
    FrontSeed, FrontSeeds, Handle, OpcacheOrder, PhpInfo, StartError, Status, Supervisor,
};
use tokio::sync::watch;

use super::ini_files::IniFiles;
use super::preload::{self, UsedFiles};
use super::root_options::{Application, TreeOptions};

/// A front thread's part of the current trees: its pools by number.
pub(crate) type Part = Vec<(usize, FrontSeed)>;

/// The parts that the front threads have not taken yet.
#[derive(Debug)]
pub(crate) struct Parts(Box<[Mutex<Option<Part>>]>);

impl Parts {
    pub(super) fn new(fronts: usize) -> Self {
        Self((0..fronts).map(|_| Mutex::new(None)).collect())
    }

    /// Takes the part of a front thread, if it has not been taken.
    pub(crate) fn take(&self, front: usize) -> Option<Part> {
        let part = self.0.get(front)?;
        part.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// `numbers`: of the pools, in the order of the configuration.
    pub(super) fn put(&self, parts: Vec<Part>, numbers: &[usize]) {
        for (place, part) in self.0.iter().zip(parts) {
            let own = part.into_iter().map(|(pool, seed)| (numbers[pool], seed));
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(own.collect());
        }
    }

    pub(super) fn clear(&self) {
        for front in 0..self.0.len() {
            drop(self.take(front));
        }
    }
}

/// Orders to a tree's task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Serve,
    /// Another tree has taken over; `followed`: and yet another since.
    Retire {
        followed: bool,
    },
    /// The server stops: there are no requests, and workers have until then to notice.
    Stop(Instant),
    Kill,
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) handle: Handle,
    order: Arc<watch::Sender<Order>>,
    pub(super) php: PhpInfo,
    pub(super) ini: Arc<IniFiles>,
    pub(super) facts: TreeFacts,
}

impl Tree {
    fn grow(supervisor: Supervisor, facts: TreeFacts) -> Self {
        let handle = supervisor.handle();
        let php = supervisor.php().clone();
        let (order, orders) = watch::channel(Order::Serve);
        tokio::spawn(supervise(supervisor, orders));
        Self {
            handle,
            order: Arc::new(order),
            ini: Arc::new(IniFiles::of(&php)),
            php,
            facts,
        }
    }

    pub(super) fn order(&self, order: Order) {
        // Its task may have ended.
        self.order.send_replace(order);
    }

    pub(super) fn is_gone(&self) -> bool {
        self.order.is_closed()
    }

    /// Returns when its processes have exited.
    pub(super) async fn ended(&self) {
        self.order.closed().await;
    }
}

/// Facts about a tree that are known before it starts.
#[derive(Debug, Clone)]
pub(super) struct TreeFacts {
    /// Its `howdah-php`.
    pub(super) executable: PathBuf,
    pub(super) application: Option<Application>,
    /// Names of its pools.
    pub(super) pools: Vec<String>,
    /// Files that its requests use, if `preload` is configured.
    pub(super) used: Option<UsedFiles>,
}

impl TreeFacts {
    /// Its name in messages, if there are several.
    fn name(&self) -> String {
        let executable = self.executable.display();
        match &self.application {
            Some(application) => format!(" ({executable} for {})", application.document_root),
            None => format!(" ({executable})"),
        }
    }
}

/// Supervises a tree to its end.
async fn supervise(mut supervisor: Supervisor, mut orders: watch::Receiver<Order>) {
    let mut order = Order::Serve;
    loop {
        let next = async {
            // The sender is dropped: the server is stopping.
            orders
                .changed()
                .await
                .map_or(Order::Kill, |()| *orders.borrow_and_update())
        };
        order = match order {
            Order::Serve => supervisor.run_until(next).await,
            Order::Retire { followed } => tokio::select! {
                () = supervisor.retire(followed) => {
                    tracing::info!(target: "howdah", "PHP processes of the previous configuration have exited");
                    return;
                }
                order = next => order,
            },
            Order::Stop(deadline) => tokio::select! {
                () = supervisor.stop(deadline) => return,
                order = next => order,
            },
            Order::Kill => return supervisor.kill().await,
        };
    }
}

/// Why the trees of a configuration did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrowError {
    #[error("{error}{of}")]
    Start {
        error: StartError,
        /// Which tree, if there are several.
        of: String,
    },
    #[error("{0}")]
    Preload(&'static str),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The trees of a configuration, whose workers are ready.
#[derive(Debug)]
pub(crate) struct NewTrees {
    pub(super) trees: Vec<Tree>,
    /// The front threads' parts, with pools by their index in the configuration.
    pub(super) parts: Vec<Part>,
}

impl NewTrees {
    /// Starts a tree for each PHP, one after the other; the first failure stops all. `before`: the status of the
    /// current trees, if any. Aborted when `overtaken` completes before the workers are ready.
    pub(crate) async fn start(
        options: Vec<(TreeOptions, Option<UsedFiles>)>,
        spool: &OwnedFd,
        mut before: Option<Status>,
        overtaken: impl Future<Output = ()>,
    ) -> Result<Self, GrowError> {
        let mut overtaken = pin!(overtaken);
        let fronts = options.first().map_or(0, |(own, _)| own.root.fronts);
        let count = options.len();
        let mut started = Self {
            trees: Vec::with_capacity(count),
            parts: (0..fronts).map(|_| Vec::new()).collect(),
        };
        for (options, used) in options {
            let facts = TreeFacts {
                executable: options.root.executable.clone(),
                application: options.application.clone(),
                pools: options.pools.iter().map(|pool| pool.name.clone()).collect(),
                used,
            };
            let places = options.places.clone();
            let new = start(options, spool, before.as_ref(), overtaken.as_mut()).await;
            let (supervisor, seeds) = match new {
                Ok(new) => new,
                Err(GrowError::Start { error, .. }) if count > 1 => {
                    started.kill().await;
                    return Err(GrowError::Start {
                        error,
                        of: facts.name(),
                    });
                }
                Err(error) => {
                    started.kill().await;
                    return Err(error);
                }
            };
            started.trees.push(Tree::grow(supervisor, facts));
            for (part, seeds) in started.parts.iter_mut().zip(seeds) {
                part.extend(places.iter().copied().zip(seeds));
            }
            // The first tree continues the counters of all.
            if let Some(before) = &mut before {
                before.root_restarts = 0;
            }
        }
        Ok(started)
    }

    /// What each PHP reported at its start.
    pub(crate) fn php(&self) -> Vec<PhpInfo> {
        self.trees.iter().map(|tree| tree.php.clone()).collect()
    }

    async fn kill(self) {
        for tree in &self.trees {
            tree.order(Order::Kill);
        }
        for tree in &self.trees {
            tree.ended().await;
        }
    }
}

async fn start(
    options: TreeOptions,
    spool: &OwnedFd,
    before: Option<&Status>,
    overtaken: impl Future<Output = ()>,
) -> Result<(Supervisor, Vec<FrontSeeds>), GrowError> {
    let (root, pools, spool) = (options.root, options.pools, spool.try_clone()?);
    let started = match before {
        None => Supervisor::start(root, pools, spool).await,
        Some(before) => Supervisor::start_overlapping(root, pools, spool, before, overtaken).await,
    };
    let (mut supervisor, seeds) = started.map_err(|error| GrowError::Start {
        error,
        of: String::new(),
    })?;
    if let Err(error) = preload::report(&supervisor) {
        supervisor.kill().await;
        return Err(GrowError::Preload(error));
    }
    Ok((supervisor, seeds))
}

/// Makes OPcache compile scripts before requests arrive. If this fails, the tree serves
/// nevertheless.
pub(super) async fn compile(handle: &Handle, scripts: Vec<Vec<u8>>) {
    if scripts.is_empty() {
        return;
    }
    let (count, began) = (scripts.len(), Instant::now());
    let order = OpcacheOrder {
        compile: scripts,
        ..OpcacheOrder::default()
    };
    let compiled = handle.opcache(order).await;
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    match compiled {
        Ok(_) => tracing::debug!(target: "howdah", count, took_ms, "scripts compiled"),
        Err(error) => {
            tracing::debug!(target: "howdah", count, took_ms, "not all scripts were compiled: {error}");
        }
    }
}
