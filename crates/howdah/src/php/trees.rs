//! The PHP side of the server: the trees of the current configuration, one for each PHP that it names and each
//! application that it preloads, and the trees of previous configurations until their last requests have ended.
//!
//! A configuration with different pools gets new trees. They are started while the old ones serve. The front threads
//! take their parts of them when they prepare for the configuration. The old trees exit when no front thread can send
//! them requests.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use howdah_config::model::Config;
use howdah_http::POOLS_MAX;
use howdah_pool::{
    Handle, Opcache, OpcacheAnswer, OpcacheError, OpcacheOrder, PoolStatus, ProfiledPool,
    ReloadError, RequestLook, ShutdownError, StartError, Status,
};

use super::pools;
use super::preload::UsedFiles;
use super::renewal::{self, Places};
use super::roadrunner::RoadRunnerPools;
use super::root_options::TreeOptions;
use super::tree::{GrowError, NewTrees, Order, Parts, Tree, compile};

/// What the trees of a server share; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Trees(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Arc<Parts>,
    /// Directory of spooled request bodies.
    spool: OwnedFd,
    /// Pools outside the trees, whose processes are not started by this server's PHP.
    roadrunner: RoadRunnerPools,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// Names of all pools since the start; their numbers never change.
    names: Vec<String>,
    /// The current ones, in the order of the configuration.
    pools: Vec<usize>,
    /// The trees in the order in which the configuration names their PHP.
    current: Vec<Tree>,
    older: Vec<Tree>,
    seen: TreeFiles,
}

/// The state of files as OPcache has read them.
#[derive(Debug, Clone)]
pub(crate) struct TreeFiles {
    /// Scripts that it held before were compared with their files at this time.
    compared: SystemTime,
    /// Targets of links when the trees were started.
    places: Places,
}

impl TreeFiles {
    /// Must be called before PHP is started: files that change from now on may be read before the
    /// change.
    pub(crate) fn now(config: &Config) -> Self {
        Self {
            compared: SystemTime::now(),
            places: Places::of(config),
        }
    }
}

/// What the first trees record and preload.
pub(crate) fn prepare_first(
    config: &Config,
    trees: Vec<TreeOptions>,
) -> std::io::Result<Vec<(TreeOptions, Option<UsedFiles>)>> {
    let prepare = |mut tree: TreeOptions| {
        let own = (&mut tree.root, tree.pools.as_mut_slice());
        let used = UsedFiles::prepare(config, None, Path::to_path_buf, own)?;
        Ok((tree, used))
    };
    trees.into_iter().map(prepare).collect()
}

/// Why a new tree did not start to serve.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum TreeError {
    /// A boot failed: here the first failure is final.
    #[error("pool {pool} did not start: {text}")]
    Boot { pool: String, text: String },
    /// It delayed another reload for too long.
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

impl From<GrowError> for TreeError {
    fn from(error: GrowError) -> Self {
        match error {
            GrowError::Start { error, of } => match error {
                StartError::Boot { pool, text, .. } => Self::Boot { pool, text },
                StartError::Overtaken => Self::Overtaken,
                other => Self::Other(format!("{other}{of}")),
            },
            other => Self::other(other),
        }
    }
}

/// The restart that new code needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReloadKind {
    /// New processes of the current root; so many scripts in OPcache must be compiled again.
    Processes { stale: u64 },
    /// A fresh tree, for this reason.
    Tree(String),
}

/// Trees that are ready to serve. Dropping them ends them, without an effect.
#[derive(Debug)]
pub(crate) struct StandbyTrees {
    trees: Trees,
    new: Vec<Tree>,
    pools: Vec<usize>,
    /// Number of names before them.
    known: usize,
    seen: Option<TreeFiles>,
}

impl StandbyTrees {
    /// Numbers of their pools, in the order of [`pools::options`](crate::php::pools::options).
    pub(crate) fn pools(&self) -> &[usize] {
        &self.pools
    }

    /// The front threads now send requests to them: the previous trees retire.
    pub(crate) fn take_over(mut self) {
        let new = std::mem::take(&mut self.new);
        let mut state = self.trees.write();
        let old = std::mem::replace(&mut state.current, new);
        for tree in &old {
            tree.order(Order::Retire { followed: false });
        }
        state.older.retain(|tree| !tree.is_gone());
        for older in &state.older {
            older.order(Order::Retire { followed: true });
        }
        state.older.extend(old);
        state.pools = std::mem::take(&mut self.pools);
        if let Some(seen) = self.seen.take() {
            state.seen = seen;
        }
    }
}

impl Drop for StandbyTrees {
    fn drop(&mut self) {
        if self.new.is_empty() {
            return;
        }
        self.trees.0.parts.clear();
        self.trees.write().names.truncate(self.known);
        for tree in &self.new {
            tree.order(Order::Kill);
        }
    }
}

impl Trees {
    /// The first trees, whose parts are available to the front threads. `names`: of their pools, in the order of the
    /// configuration.
    pub(crate) fn new(new: NewTrees, names: Vec<String>, spool: OwnedFd, seen: TreeFiles) -> Self {
        let pools: Vec<usize> = (0..names.len()).collect();
        let parts = Parts::new(new.parts.len());
        parts.put(new.parts, &pools);
        let state = State {
            names,
            pools,
            current: new.trees,
            older: Vec::new(),
            seen,
        };
        Self(Arc::new(Inner {
            parts: Arc::new(parts),
            spool,
            roadrunner: RoadRunnerPools::default(),
            state: RwLock::new(state),
        }))
    }

    /// Starts new trees while the old ones serve. When this returns, their workers are ready, and their OPcache has
    /// compiled the scripts of the old ones. Aborted when `overtaken` completes before their workers are ready.
    pub(crate) async fn start(
        &self,
        options: Vec<TreeOptions>,
        config: &Config,
        overtaken: impl Future<Output = ()>,
    ) -> Result<StandbyTrees, TreeError> {
        let names = names(&options);
        let seen = TreeFiles::now(config);
        let mut prepared = Vec::with_capacity(options.len());
        let mut held = Vec::with_capacity(options.len());
        for mut options in options {
            let (last, current) = self.last(&options);
            let before = current
                .iter()
                .filter(|tree| tree.facts.application == options.application)
                .find_map(|tree| tree.facts.used.as_ref());
            let follow = |path: &Path| last.places.follow_path(&seen.places, path);
            let own = (&mut options.root, options.pools.as_mut_slice());
            let used = UsedFiles::prepare(config, before, follow, own);
            prepared.push((options, used.map_err(TreeError::other)?));
            held.push(
                last.places
                    .follow(&seen.places, cached_scripts(&current).await),
            );
        }
        let before = self.status().await.map_err(TreeError::other)?;
        // Boxed, since all reloads contain it.
        let start = NewTrees::start(prepared, &self.0.spool, Some(before), overtaken);
        let new = Box::pin(start).await?;
        let standby = self.adopt(new.trees, names, seen)?;
        for (tree, held) in standby.new.iter().zip(held) {
            compile(&tree.handle, held).await;
        }
        self.0.parts.put(new.parts, &standby.pools);
        Ok(standby)
    }

    /// The state of files of the current trees, and the current trees that a new one follows: those with the same
    /// application and PHP; else the same application, else the same PHP, else all.
    fn last(&self, options: &TreeOptions) -> (TreeFiles, Vec<Tree>) {
        let state = self.read();
        let likeness = |tree: &Tree| {
            let same_php = tree.facts.executable == options.root.executable;
            (tree.facts.application == options.application, same_php)
        };
        let most = state.current.iter().map(likeness).max();
        let followed = state.current.iter();
        let followed = followed.filter(|tree| Some(likeness(tree)) == most);
        (state.seen.clone(), followed.cloned().collect())
    }

    /// Assigns numbers to the pools of new trees.
    fn adopt(
        &self,
        new: Vec<Tree>,
        names: Vec<String>,
        seen: TreeFiles,
    ) -> Result<StandbyTrees, TreeError> {
        let mut state = self.write();
        let known = state.names.len();
        let numbers: Vec<usize> = names
            .into_iter()
            .map(|name| number(&mut state.names, name))
            .collect();
        let count = state.names.len();
        drop(state);
        let standby = StandbyTrees {
            trees: self.clone(),
            new,
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
        Ok(standby)
    }

    /// The restart that new code needs, if links have the targets `now`.
    pub(crate) async fn required_reload(&self, now: &Places) -> Result<ReloadKind, OpcacheError> {
        let (seen, trees) = self.current();
        let mut all_stale = 0;
        for tree in trees {
            if let Some(file) = tree.ini.first_changed() {
                let reason = format!("{} has changed", file.display());
                return Ok(ReloadKind::Tree(reason));
            }
            let order = OpcacheOrder {
                compare: Some(seen.compared),
                ..OpcacheOrder::default()
            };
            let Some(held) = tree.handle.opcache(order).await?.opcache else {
                continue;
            };
            let moved = seen.places.first_change(now);
            let new_files = tree.facts.used.as_ref().map_or(0, UsedFiles::new_files);
            let preload = || {
                (new_files > 0)
                    .then(|| format!("{new_files} more files that requests use will be preloaded"))
            };
            if let Some(reason) = renewal::reason(&held, moved).or_else(preload) {
                return Ok(ReloadKind::Tree(reason));
            }
            all_stale += held.changed.scripts + held.gone.scripts;
        }
        Ok(ReloadKind::Processes { stale: all_stale })
    }

    /// Makes OPcache of the current trees compile changed scripts at their next use.
    pub(crate) async fn invalidate(&self) -> Result<(), OpcacheError> {
        let now = SystemTime::now();
        let (seen, trees) = self.current();
        for tree in trees {
            let order = OpcacheOrder {
                compare: Some(seen.compared),
                invalidate: true,
                ..OpcacheOrder::default()
            };
            tree.handle.opcache(order).await?;
        }
        self.write().seen.compared = now;
        Ok(())
    }

    /// OPcache's report of each current tree, with the version of its PHP; without trees where it is off or that are
    /// starting.
    pub(crate) async fn opcaches(&self) -> Vec<(String, Opcache)> {
        let mut opcaches = Vec::new();
        for tree in self.current().1 {
            let answer = tree.handle.opcache(OpcacheOrder::default()).await;
            if let Some(opcache) = answer.ok().and_then(|answer| answer.opcache) {
                opcaches.push((tree.php.php, opcache));
            }
        }
        opcaches
    }

    /// The files that requests use, for each tree with `preload`.
    pub(crate) fn used(&self) -> Vec<UsedFiles> {
        let state = self.read();
        let trees = state.current.iter();
        trees.filter_map(|tree| tree.facts.used.clone()).collect()
    }

    /// The front threads' parts of the newest trees.
    pub(crate) fn parts(&self) -> Arc<Parts> {
        Arc::clone(&self.0.parts)
    }

    fn current(&self) -> (TreeFiles, Vec<Tree>) {
        let state = self.read();
        (state.seen.clone(), state.current.clone())
    }

    /// Handles of the current trees.
    pub(crate) fn handles(&self) -> Vec<Handle> {
        let state = self.read();
        let trees = state.current.iter();
        trees.map(|tree| tree.handle.clone()).collect()
    }

    /// Reloads a pool of the current trees, or all of them. All are tried; the first error is returned.
    pub(crate) async fn reload(&self, pool: Option<&str>) -> Result<(), ReloadError> {
        let trees = self.current().1;
        let has =
            |tree: &&Tree| pool.is_none_or(|name| tree.facts.pools.iter().any(|own| own == name));
        let mut meant: Vec<&Tree> = trees.iter().filter(has).collect();
        if meant.is_empty() {
            // Any tree reports that the pool is unknown.
            meant.extend(trees.first());
        }
        let mut result = Ok(());
        for tree in meant {
            let one = tree.handle.reload(pool).await;
            result = result.and(one);
        }
        result
    }

    /// The status of the current trees, with pools in the order of the configuration.
    pub(crate) async fn status(&self) -> Result<Status, ShutdownError> {
        let mut trees = self.handles().into_iter();
        let first = trees.next().ok_or(ShutdownError)?;
        let mut all = first.status().await?;
        for handle in trees {
            let status = handle.status().await?;
            all.root_restarts += status.root_restarts;
            all.pools.extend(status.pools);
            all.preloads.extend(status.preloads);
        }
        let order = self.pools();
        all.pools
            .sort_by_key(|pool| order.iter().position(|name| *name == pool.name));
        all.pools.extend(self.roadrunner().statuses());
        Ok(all)
    }

    /// The pools of RoadRunner workers.
    pub(crate) fn roadrunner(&self) -> &RoadRunnerPools {
        &self.0.roadrunner
    }

    /// The current pools, for profiles.
    pub(crate) async fn profiled_pools(&self) -> Result<Vec<ProfiledPool>, ShutdownError> {
        let mut pools = Vec::new();
        for handle in self.handles() {
            pools.extend(handle.profiled_pools().await?);
        }
        Ok(pools)
    }

    /// What the requests in PHP processes do at this moment, by their ids.
    pub(crate) async fn request_looks(&self) -> HashMap<u64, RequestLook> {
        let mut looks = HashMap::new();
        for handle in self.handles() {
            looks.extend(handle.request_looks().await.unwrap_or_default());
        }
        looks
    }

    /// The status of the pools of previous trees.
    pub(crate) async fn retiring(&self) -> Vec<PoolStatus> {
        let older: Vec<Handle> = {
            let state = self.read();
            let older = state.older.iter().filter(|tree| !tree.is_gone());
            older.map(|tree| tree.handle.clone()).collect()
        };
        let mut pools = Vec::new();
        for handle in older {
            // A tree that has ended meanwhile has no pools.
            if let Ok(status) = handle.status().await {
                pools.extend(status.pools);
            }
        }
        pools
    }

    /// Names of the current pools, in the order of the configuration.
    pub(crate) fn pools(&self) -> Vec<String> {
        let state = self.read();
        let names = state.pools.iter().filter_map(|pool| state.names.get(*pool));
        names.cloned().chain(self.roadrunner().names()).collect()
    }

    /// Names of all pools since the start, by their numbers.
    pub(crate) fn names(&self) -> Vec<String> {
        self.read().names.clone()
    }

    /// Numbers of a configuration's pools of RoadRunner workers.
    pub(crate) fn roadrunner_numbers(&self, config: &Config) -> Vec<usize> {
        let mut state = self.write();
        let pools = config.roadrunner.iter();
        let numbers = pools.map(|pool| number(&mut state.names, pool.name.clone()));
        // More pools are not counted separately.
        numbers.map(|number| number.min(POOLS_MAX - 1)).collect()
    }

    /// Numbers of a configuration's pools except the classic one of all sites. They are current, possibly in a
    /// different order.
    pub(crate) fn numbers(&self, config: &Config) -> Vec<usize> {
        let state = self.read();
        let number = |name: &String| state.names.iter().position(|known| known == name);
        pools::named_pools(config).filter_map(number).collect()
    }

    /// Sends the order to all trees, and returns when they have ended.
    pub(crate) async fn end(&self, order: Order) {
        let trees: Vec<Tree> = {
            let state = self.read();
            let all = state.older.iter().chain(&state.current);
            all.cloned().collect()
        };
        for tree in &trees {
            tree.order(order);
        }
        if !matches!(order, Order::Kill) {
            self.roadrunner().stop().await;
        }
        for tree in trees {
            tree.ended().await;
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names of the pools of all trees, in the order of the configuration.
pub(crate) fn names(trees: &[TreeOptions]) -> Vec<String> {
    let pools = trees
        .iter()
        .flat_map(|tree| tree.places.iter().zip(&tree.pools));
    let mut pools: Vec<_> = pools.collect();
    pools.sort_by_key(|(place, _)| **place);
    pools.iter().map(|(_, pool)| pool.name.clone()).collect()
}

/// Paths of the scripts in the OPcache of some trees.
async fn cached_scripts(trees: &[Tree]) -> Vec<Vec<u8>> {
    let mut held = Vec::new();
    for tree in trees {
        let order = OpcacheOrder {
            compare: Some(SystemTime::now()),
            paths: true,
            ..OpcacheOrder::default()
        };
        let answer: Result<OpcacheAnswer, _> = tree.handle.opcache(order).await;
        held.extend(answer.map(|answer| answer.paths).unwrap_or_default());
    }
    held
}

/// Number of the pool with this name, which may be new.
fn number(names: &mut Vec<String>, name: String) -> usize {
    let known = names.iter().position(|known| *known == name);
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
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
    fn a_failed_boot_is_reported_with_its_output() {
        let error = TreeError::from(GrowError::Start {
            error: StartError::Boot {
                pool: "app".into(),
                failures: 0,
                text: "no database".into(),
            },
            of: " (/opt/howdah-php)".into(),
        });
        assert_eq!(error.to_string(), "pool app did not start: no database");
    }
}
