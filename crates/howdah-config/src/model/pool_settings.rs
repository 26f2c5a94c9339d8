//! Settings of one pool, in any mode: part of [`model`](crate::model).

use super::php_executable::PhpExecutable;
use super::pool_limits::PoolLimitOverrides;
use super::user::User;

/// `pool NAME { … }`: separate processes for the sites that name it, with fresh PHP state for each request.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassicPool {
    /// For logs, status and process titles; unique, and never
    /// [`CLASSIC_POOL`](crate::model::CLASSIC_POOL).
    pub name: String,
    /// Its settings; the global block sets the rest.
    pub settings: PoolSettings,
}

/// Options of one pool. The global block sets missing ones, except the number of processes, whose default is that of
/// all pools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PoolSettings {
    /// `php`: the PHP of its processes. Default: that of the global block.
    pub php: Option<PhpExecutable>,
    /// `workers`, `num_threads` or `num`: number of processes.
    pub workers: Option<usize>,
    /// `max_threads`: maximum number of processes while requests wait. Default: `workers`.
    pub workers_max: WorkersMax,
    /// Its own limits; the others are those of the global block.
    pub limits: PoolLimitOverrides,
    /// `user`: of its processes.
    pub user: Option<User>,
    /// `php_ini` and `php_admin_ini`, in addition to those of the global block.
    pub ini: Ini,
}

/// PHP settings, names and values. Except for extensions to load, a name is only once in both lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ini {
    /// `php_ini`: as if they were at the end of php.ini.
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

/// Maximum number of processes of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkersMax {
    /// The initial number: it does not grow.
    #[default]
    Same,
    /// `max_threads NUMBER`: not less than the initial number.
    Number(usize),
    /// `max_threads auto`: depends on the machine.
    Auto,
}
