//! The PHP side of the server: a tree of processes for the configuration in force, a root zygote and all that
//! is forked from it, and the trees of earlier configurations until their last requests have ended.
//!
//! A tree has a supervisor, which runs in a task of its own. A configuration whose pools differ gets another
//! tree: it is started beside the one that serves, the front threads take their part of it when they prepare
//! for the configuration, and the one before it leaves when none of them can hand out requests to it.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Instant, SystemTime};

use howdah_config::model::Config;
use howdah_http::POOLS_MAX;
use howdah_pool::{
    FrontSeed, FrontSeeds, Handle, OpcacheError, OpcacheOrder, PoolOptions, PoolStatus,
    RootOptions, ShutdownError, StartError, Status, Supervisor,
};
use tokio::sync::watch;

use super::pools;
use super::preload::{self, UsedFiles};
use super::renewal::{self, Places};

/// A front thread's part of a tree: its pools by their numbers.
pub(crate) type Part = Vec<(usize, FrontSeed)>;

/// The parts of a tree that the front threads have not taken yet.
#[derive(Debug)]
pub(crate) struct Parts(Box<[Mutex<Option<Part>>]>);

impl Parts {
    fn new(fronts: usize) -> Self {
        Self((0..fronts).map(|_| Mutex::new(None)).collect())
    }

    /// Of a front thread, if there is one for it.
    pub(crate) fn take(&self, front: usize) -> Option<Part> {
        let part = self.0.get(front)?;
        part.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, seeds: Vec<FrontSeeds>, numbers: &[usize]) {
        for (part, seeds) in self.0.iter().zip(seeds) {
            let own = numbers.iter().copied().zip(seeds).collect();
            *part.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        }
    }

    fn clear(&self) {
        for front in 0..self.0.len() {
            drop(self.take(front));
        }
    }
}

/// What a tree's task is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Serve,
    /// Another tree has taken over, and maybe yet another since.
    Leave {
        followed: bool,
    },
    /// The server stops: there are no requests, workers have so long to notice.
    Stop(Instant),
    Kill,
}

#[derive(Debug, Clone)]
struct Tree {
    handle: Handle,
    order: Arc<watch::Sender<Order>>,
}

impl Tree {
    fn grow(supervisor: Supervisor) -> Self {
        let handle = supervisor.handle();
        let (order, orders) = watch::channel(Order::Serve);
        tokio::spawn(look_after(supervisor, orders));
        let order = Arc::new(order);
        Self { handle, order }
    }

    fn order(&self, order: Order) {
        // Its task may have ended.
        self.order.send_replace(order);
    }

    fn is_gone(&self) -> bool {
        self.order.is_closed()
    }
}

/// The life of a tree.
async fn look_after(mut supervisor: Supervisor, mut orders: watch::Receiver<Order>) {
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
            Order::Leave { followed } => tokio::select! {
                () = supervisor.leave(followed) => {
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

/// What the trees of a server share; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Trees(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    parts: Arc<Parts>,
    /// Directory of spooled request bodies.
    spool: OwnedFd,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// Of all pools that there have been: their numbers are for good.
    names: Vec<String>,
    /// Of those in force, in the order of the configuration.
    pools: Vec<usize>,
    current: Tree,
    older: Vec<Tree>,
    seen: TreeFiles,
}

/// The files that OPcache of a tree has seen.
#[derive(Debug, Clone)]
pub(crate) struct TreeFiles {
    /// Scripts that it held before were compared with their files.
    compared: SystemTime,
    /// Where links led when it was started.
    places: Places,
    /// What its requests use, if something is to be preloaded.
    used: Option<UsedFiles>,
}

impl TreeFiles {
    /// Of the first tree. To be called before PHP is started: what changes from now on may have been read before.
    pub(crate) fn first(
        config: &Config,
        root: &mut RootOptions,
        pools: &mut [PoolOptions],
    ) -> std::io::Result<Self> {
        let seen = Self::now(config);
        let used = UsedFiles::prepare(config, None, Path::to_path_buf, (root, pools))?;
        Ok(Self { used, ..seen })
    }

    /// Of one that follows.
    fn next(
        &self,
        config: &Config,
        root: &mut RootOptions,
        pools: &mut [PoolOptions],
    ) -> std::io::Result<Self> {
        let seen = Self::now(config);
        let follow = |path: &Path| self.places.followed(&seen.places, path);
        let used = UsedFiles::prepare(config, self.used.as_ref(), follow, (root, pools))?;
        Ok(Self { used, ..seen })
    }

    fn now(config: &Config) -> Self {
        Self {
            compared: SystemTime::now(),
            places: Places::of(config),
            used: None,
        }
    }
}

/// Why another tree did not come to serve.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum TreeError {
    /// A boot failed: the first failure is the last here.
    #[error("pool {pool} did not start: {text}")]
    Boot { pool: String, text: String },
    /// It kept another reload waiting for too long.
    #[error("another reload was requested")]
    Overtaken,
    #[error("{0}")]
    Other(String),
}

impl TreeError {
    pub(crate) fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<StartError> for TreeError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Boot { pool, text, .. } => Self::Boot { pool, text },
            StartError::Overtaken => Self::Overtaken,
            other => Self::other(other),
        }
    }
}

/// What new code takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReloadKind {
    /// New processes below the root that there is; so many scripts that OPcache holds are to be compiled again.
    Processes { stale: u64 },
    /// A fresh tree, for this reason.
    Tree(String),
}

/// A tree that is ready to serve. Dropped, it ends, and nothing has happened.
#[derive(Debug)]
pub(crate) struct StandbyTree {
    trees: Trees,
    tree: Option<Tree>,
    pools: Vec<usize>,
    /// Names that there were before.
    known: usize,
    seen: Option<TreeFiles>,
}

impl StandbyTree {
    /// Numbers of its pools, in the order of [`pools::options`](crate::php::pools::options).
    pub(crate) fn pools(&self) -> &[usize] {
        &self.pools
    }

    /// The front threads hand out requests to it: the one before leaves.
    pub(crate) fn take_over(mut self) {
        let Some(tree) = self.tree.take() else { return };
        let mut state = self.trees.write();
        let old = std::mem::replace(&mut state.current, tree);
        old.order(Order::Leave { followed: false });
        state.older.retain(|tree| !tree.is_gone());
        for older in &state.older {
            older.order(Order::Leave { followed: true });
        }
        state.older.push(old);
        state.pools = std::mem::take(&mut self.pools);
        if let Some(seen) = self.seen.take() {
            state.seen = seen;
        }
    }
}

impl Drop for StandbyTree {
    fn drop(&mut self) {
        if let Some(tree) = self.tree.take() {
            self.trees.0.parts.clear();
            self.trees.write().names.truncate(self.known);
            tree.order(Order::Kill);
        }
    }
}

impl Trees {
    /// The first tree, whose parts are there for the front threads.
    pub(crate) fn new(
        supervisor: Supervisor,
        seeds: Vec<FrontSeeds>,
        names: Vec<String>,
        spool: OwnedFd,
        seen: TreeFiles,
    ) -> Self {
        let pools: Vec<usize> = (0..names.len()).collect();
        let parts = Parts::new(seeds.len());
        parts.put(seeds, &pools);
        let state = State {
            names,
            pools,
            current: Tree::grow(supervisor),
            older: Vec::new(),
            seen,
        };
        Self(Arc::new(Shared {
            parts: Arc::new(parts),
            spool,
            state: RwLock::new(state),
        }))
    }

    /// Starts another tree beside the one that serves; it has its workers ready when this returns, and has
    /// compiled what the other one holds. It is given up when `overtaken` ends before its workers are ready.
    pub(crate) async fn start(
        &self,
        mut root: RootOptions,
        mut pools: Vec<PoolOptions>,
        config: &Config,
        overtaken: impl Future<Output = ()>,
    ) -> Result<StandbyTree, TreeError> {
        let names: Vec<_> = pools.iter().map(|pool| pool.name.clone()).collect();
        let last = self.read().seen.clone();
        let seen = last.next(config, &mut root, &mut pools);
        let seen = seen.map_err(TreeError::other)?;
        let held = self.held(&seen.places).await;
        let before = self.handle().status().await.map_err(TreeError::other)?;
        let spool = self.0.spool.try_clone().map_err(TreeError::other)?;
        let started = Supervisor::start_beside(root, pools, spool, &before, overtaken);
        let (mut supervisor, seeds) = started.await?;
        if let Err(error) = preload::tell(&supervisor) {
            supervisor.kill().await;
            return Err(TreeError::other(error));
        }
        let tree = Tree::grow(supervisor);
        let handle = tree.handle.clone();
        let beside = self.adopt(tree, names, seen)?;
        compile(&handle, held).await;
        self.0.parts.put(seeds, &beside.pools);
        Ok(beside)
    }

    /// Gives the pools of a tree their numbers.
    fn adopt(
        &self,
        tree: Tree,
        names: Vec<String>,
        seen: TreeFiles,
    ) -> Result<StandbyTree, TreeError> {
        let mut state = self.write();
        let known = state.names.len();
        let numbers: Vec<usize> = names
            .into_iter()
            .map(|name| number(&mut state.names, name))
            .collect();
        let count = state.names.len();
        drop(state);
        let beside = StandbyTree {
            trees: self.clone(),
            tree: Some(tree),
            pools: numbers,
            known,
            seen: Some(seen),
        };
        if count > POOLS_MAX.max(known) {
            return Err(TreeError::Other(format!(
                "{count} names of pools were used since the start, and the limit is {POOLS_MAX}: reuse names, or \
                restart"
            )));
        }
        Ok(beside)
    }

    /// Paths of the scripts that OPcache of the tree in force holds, where they are `now`.
    async fn held(&self, now: &Places) -> Vec<Vec<u8>> {
        let order = OpcacheOrder {
            compare: Some(SystemTime::now()),
            paths: true,
            ..OpcacheOrder::default()
        };
        let answer = self.handle().opcache(order).await;
        let paths = answer.map(|answer| answer.paths).unwrap_or_default();
        self.read().seen.places.follow(now, paths)
    }

    /// What new code takes, while links lead where they do `now`.
    pub(crate) async fn need(&self, now: &Places) -> Result<ReloadKind, OpcacheError> {
        let compare = Some(self.read().seen.compared);
        let order = OpcacheOrder {
            compare,
            ..OpcacheOrder::default()
        };
        let answer = self.handle().opcache(order).await?;
        let Some(held) = answer.opcache else {
            return Ok(ReloadKind::Processes { stale: 0 });
        };
        let stale = held.changed.scripts + held.gone.scripts;
        let seen = self.read().seen.clone();
        let moved = seen.places.one_moved(now);
        let news = seen.used.as_ref().map_or(0, UsedFiles::news);
        let preload =
            || (news > 0).then(|| format!("{news} files that requests use are to be preloaded"));
        let reason = renewal::reason(&held, moved).or_else(preload);
        Ok(reason.map_or(ReloadKind::Processes { stale }, ReloadKind::Tree))
    }

    /// Has OPcache of the tree in force compile at their next use those scripts whose files are other ones now.
    pub(crate) async fn invalidate(&self) -> Result<(), OpcacheError> {
        let now = SystemTime::now();
        let order = OpcacheOrder {
            compare: Some(self.read().seen.compared),
            invalidate: true,
            ..OpcacheOrder::default()
        };
        self.handle().opcache(order).await?;
        self.write().seen.compared = now;
        Ok(())
    }

    /// What requests use, if something is to be preloaded.
    pub(crate) fn used(&self) -> Option<UsedFiles> {
        self.read().seen.used.clone()
    }

    /// The front threads' parts of the newest tree.
    pub(crate) fn parts(&self) -> Arc<Parts> {
        Arc::clone(&self.0.parts)
    }

    /// Of the tree in force.
    pub(crate) fn handle(&self) -> Handle {
        self.read().current.handle.clone()
    }

    /// What the processes of the tree in force do.
    pub(crate) async fn status(&self) -> Result<Status, ShutdownError> {
        let handle = self.handle();
        handle.status().await
    }

    /// The same of the pools of earlier trees.
    pub(crate) async fn leaving(&self) -> Vec<PoolStatus> {
        let older: Vec<Handle> = {
            let state = self.read();
            let older = state.older.iter().filter(|tree| !tree.is_gone());
            older.map(|tree| tree.handle.clone()).collect()
        };
        let mut pools = Vec::new();
        for handle in older {
            // One that has ended meanwhile has none.
            if let Ok(status) = handle.status().await {
                pools.extend(status.pools);
            }
        }
        pools
    }

    /// Names of the pools in force, in the order of the configuration.
    pub(crate) fn pools(&self) -> Vec<String> {
        let state = self.read();
        let names = state.pools.iter().filter_map(|pool| state.names.get(*pool));
        names.cloned().collect()
    }

    /// Names of all pools that there have been, by their numbers.
    pub(crate) fn names(&self) -> Vec<String> {
        self.read().names.clone()
    }

    /// Numbers of a configuration's pools but the classic one of all sites. They are in force, maybe in another
    /// order.
    pub(crate) fn numbers(&self, config: &Config) -> Vec<usize> {
        let state = self.read();
        let number = |name: &String| state.names.iter().position(|known| known == name);
        pools::own_names(config).filter_map(number).collect()
    }

    /// Tells all trees, and returns when they have ended.
    pub(crate) async fn end(&self, order: Order) {
        let trees: Vec<Tree> = {
            let state = self.read();
            let all = state.older.iter().chain([&state.current]);
            all.cloned().collect()
        };
        for tree in &trees {
            tree.order(order);
        }
        for tree in trees {
            tree.order.closed().await;
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the pool with this name, which may be new.
fn number(names: &mut Vec<String>, name: String) -> usize {
    let known = names.iter().position(|known| *known == name);
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// Before requests come. A tree serves as well if it does not work out.
async fn compile(handle: &Handle, scripts: Vec<Vec<u8>>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_keeps_its_number() {
        let mut names = vec!["php".to_owned(), "app".to_owned()];
        assert_eq!(number(&mut names, "new".into()), 2);
        assert_eq!(number(&mut names, "app".into()), 1);
        assert_eq!(number(&mut names, "new".into()), 2);
        assert_eq!(names, ["php", "app", "new"]);
    }

    #[test]
    fn a_failed_boot_is_told_with_what_it_wrote() {
        let error = TreeError::from(StartError::Boot {
            pool: "app".into(),
            failures: 0,
            text: "no database".into(),
        });
        assert_eq!(error.to_string(), "pool app did not start: no database");
    }
}
