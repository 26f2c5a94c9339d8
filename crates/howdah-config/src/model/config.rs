//! The whole configuration.

use super::global::Global;
use super::hub::{HotReload, Mercure};
use super::pool_settings::{ClassicPool, PoolSettings};
use super::roadrunner::RoadRunnerPool;
use super::site::{Address, AddressIndex, Site};
use super::worker_pool::WorkerPool;

/// A whole configuration: the global block and the sites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Options of the global block.
    pub global: Global,
    /// Sites in the order of the file.
    pub sites: Vec<Site>,
    /// The classic pools, except that of all sites, in the order of the file.
    pub pools: Vec<ClassicPool>,
    /// All worker pools: those of the global block, then those of `php_server` and `php` blocks, in
    /// the order of the file.
    pub workers: Vec<WorkerPool>,
    /// All pools of `roadrunner`, in the order of the file.
    pub roadrunner: Vec<RoadRunnerPool>,
    /// All Mercure hubs, in the order of the file.
    pub hubs: Vec<Mercure>,
    /// All `hot_reload`: files whose changes are sent to browsers.
    pub hot_reloads: Vec<HotReload>,
    /// With `preload`, the document root of each pool's application: first that of the classic pool of all sites, then
    /// as [`own_pool_settings`](Self::own_pool_settings). Otherwise empty.
    pub applications: Vec<String>,
}

impl Config {
    /// The address of a site.
    ///
    /// # Panics
    /// The address belongs to a different configuration.
    #[must_use]
    pub fn address(&self, at: AddressIndex) -> &Address {
        &self.sites[at.site].addresses[at.address]
    }

    /// Settings of all pools except the classic one of all sites: first the classic pools, then the worker pools.
    pub fn own_pool_settings(&self) -> impl Iterator<Item = &PoolSettings> {
        let classic = self.pools.iter().map(|pool| &pool.settings);
        classic.chain(self.workers.iter().map(|pool| &pool.settings))
    }
}
