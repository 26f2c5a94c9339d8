//! What a pool may have of its own, whatever its mode: part of [`model`](crate::model).

use super::php_executable::PhpExecutable;
use super::pool_limits::PoolLimitOverrides;
use super::user::User;

/// `pool NAME { … }`: processes of their own for the sites that name it, where PHP starts afresh for each
/// request.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassicPool {
    /// For logs, status and process titles; unique, and never
    /// [`CLASSIC_POOL`](crate::model::CLASSIC_POOL).
    pub name: String,
    /// What is given; the rest is as in the global block.
    pub settings: PoolSettings,
}

/// Options of one pool. What is not given is that of the global block, and the number of processes the
/// default of all pools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PoolSettings {
    /// `php`: the PHP of its processes. Default: that of the global block.
    pub php: Option<PhpExecutable>,
    /// `workers`, `num_threads` or `num`: processes that are always there.
    pub workers: Option<usize>,
    /// `max_threads`: how many there may be when requests wait. Default: as many as `workers`.
    pub workers_max: WorkersMax,
    /// The limits that it gives itself; the others are those of the global block.
    pub limits: PoolLimitOverrides,
    /// `user`: of its processes.
    pub user: Option<User>,
    /// `php_ini` and `php_admin_ini`, on top of those of the global block.
    pub ini: Ini,
}

/// PHP settings, names and values. No name is in both lists, or twice in one, but for extensions to load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ini {
    /// `php_ini`: as if they stood at the end of php.ini.
    pub php_ini: Vec<(String, String)>,
    /// `php_admin_ini`: final, neither scripts nor `.user.ini` files change them.
    pub php_admin_ini: Vec<(String, String)>,
}

impl Ini {
    /// All of them, for the start of PHP.
    #[must_use]
    pub fn all(&self) -> Vec<(String, String)> {
        let lists = [&self.php_ini, &self.php_admin_ini];
        lists.into_iter().flatten().cloned().collect()
    }
}

/// How many processes a pool may grow to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkersMax {
    /// As many as it starts with: it does not grow.
    #[default]
    Same,
    /// `max_threads NUMBER`: at least the number that it starts with.
    Number(usize),
    /// `max_threads auto`: what the machine allows.
    Auto,
}
