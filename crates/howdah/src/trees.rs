//! The PHP side of the server: a tree of processes for the configuration in force, a root zygote and all that
//! is forked from it, and the trees of earlier configurations until their last requests have ended.
//!
//! A tree has a supervisor, which runs in a task of its own. A configuration whose pools differ gets another
//! tree: it is started beside the one that serves, the front threads take their part of it when they prepare
//! for the configuration, and the one before it leaves when none of them can hand out requests to it.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use howdah_config::model::Config;
use howdah_http::POOLS_MAX;
use howdah_pool::{
    FrontSeed, FrontSeeds, Handle, PoolOptions, PoolStatus, RootOptions, StartError, Status,
    Stopped, Supervisor,
};
use tokio::sync::watch;

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
            // Who could give one is gone: the server is at its end.
            orders
                .changed()
                .await
                .map_or(Order::Kill, |()| *orders.borrow_and_update())
        };
        order = match order {
            Order::Serve => supervisor.run_until(next).await,
            Order::Leave { followed } => tokio::select! {
                () = supervisor.leave(followed) => {
                    tracing::info!(target: "howdah", "PHP of the configuration before has ended");
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
}

/// A tree that is ready to serve. Dropped, it ends, and nothing has happened.
#[derive(Debug)]
pub(crate) struct Beside {
    trees: Trees,
    tree: Option<Tree>,
    pools: Vec<usize>,
    /// Names that there were before.
    known: usize,
}

impl Beside {
    /// Numbers of its pools: the classic one, then the worker pools in the order of the configuration.
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
    }
}

impl Drop for Beside {
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
    ) -> Self {
        let pools: Vec<usize> = (0..names.len()).collect();
        let parts = Parts::new(seeds.len());
        parts.put(seeds, &pools);
        let state = State {
            names,
            pools,
            current: Tree::grow(supervisor),
            older: Vec::new(),
        };
        Self(Arc::new(Shared {
            parts: Arc::new(parts),
            spool,
            state: RwLock::new(state),
        }))
    }

    /// Starts another tree beside the one that serves; it has its workers ready when this returns.
    pub(crate) async fn start(
        &self,
        root: RootOptions,
        pools: Vec<PoolOptions>,
    ) -> Result<Beside, String> {
        let names: Vec<_> = pools.iter().map(|pool| pool.name.clone()).collect();
        let before = self.handle().status().await;
        let before = before.map_err(|error| error.to_string())?;
        let spool = self
            .0
            .spool
            .try_clone()
            .map_err(|error| error.to_string())?;
        let started = Supervisor::start_beside(root, pools, spool, &before).await;
        let (supervisor, seeds) = started.map_err(|error| told(&error))?;
        let mut state = self.write();
        let known = state.names.len();
        let numbers: Vec<usize> = names
            .into_iter()
            .map(|name| number(&mut state.names, name))
            .collect();
        let beside = Beside {
            trees: self.clone(),
            tree: Some(Tree::grow(supervisor)),
            pools: numbers,
            known,
        };
        let count = state.names.len();
        drop(state);
        if count > POOLS_MAX.max(known) {
            return Err(format!(
                "there have been {count} names of pools since the start, and at most {POOLS_MAX} can be told \
                 apart: use names that there have been, or restart"
            ));
        }
        self.0.parts.put(seeds, &beside.pools);
        Ok(beside)
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
    pub(crate) async fn status(&self) -> Result<Status, Stopped> {
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

    /// Numbers of a configuration's worker pools, which are in force, maybe in another order.
    pub(crate) fn numbers(&self, config: &Config) -> Vec<usize> {
        let state = self.read();
        let number = |name: &String| state.names.iter().position(|known| known == name);
        let pools = config.workers.iter();
        pools.filter_map(|pool| number(&pool.name)).collect()
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

/// The first failure is the last here.
fn told(error: &StartError) -> String {
    match error {
        StartError::Boot { pool, text, .. } => format!("pool {pool} did not start: {text}"),
        other => other.to_string(),
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
        let error = StartError::Boot {
            pool: "app".into(),
            failures: 0,
            text: "no database".into(),
        };
        assert_eq!(told(&error), "pool app did not start: no database");
    }
}
