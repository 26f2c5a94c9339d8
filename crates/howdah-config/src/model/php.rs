//! PHP processes: settings for all pools.

use std::collections::BTreeSet;

use super::php_executable::PhpExecutable;
use super::pool_limits::PoolLimits;
use super::pool_settings::Ini;
use super::pool_settings::WorkersMax;
use super::user::User;

/// Maximum number of front threads: the limit of the shared-memory contract.
pub const FRONT_THREADS_MAX: usize = 16;

/// The `frankenphp` (or `howdah`) block: PHP processes and their limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Php {
    /// `php`. Default: `howdah-php` next to the running `howdah`, then the newest installed version, then PATH.
    pub executable: Option<PhpExecutable>,
    /// `num_threads` (FrankenPHP's name) or `workers`: PHP processes of the classic pool. Default:
    /// the formula of `howdah-pool::default_workers`.
    pub workers: Option<usize>,
    /// `max_threads`: maximum number of processes while requests wait. Default: `workers`.
    pub workers_max: WorkersMax,
    /// `front_threads`: threads that serve connections. Default: one for each core, 1 to 16.
    pub front_threads: Option<usize>,
    /// `php_ini` and `php_admin_ini`: settings in addition to the distribution's php.ini.
    pub ini: Ini,
    /// Limits of all pools without their own.
    pub limits: PoolLimits,
    /// `user`: of all PHP processes, except those of pools with their own. Default: the server's.
    pub user: Option<User>,
    /// `preload`: the files that PHP preloads. Default: none.
    pub preload: Preload,
    /// The part of the server's environment that PHP's processes get.
    pub environment: Environment,
}

impl Default for Php {
    fn default() -> Self {
        Self {
            executable: None,
            workers: None,
            workers_max: WorkersMax::Same,
            front_threads: None,
            ini: Ini::default(),
            limits: PoolLimits::default(),
            user: None,
            preload: Preload::Off,
            environment: Environment::default(),
        }
    }
}

impl Php {
    /// Whether `php_ini` or `php_admin_ini` sets `opcache.preload`.
    #[must_use]
    pub fn preloads_itself(&self) -> bool {
        let lists = [&self.ini.php_ini, &self.ini.php_admin_ini];
        lists
            .into_iter()
            .flatten()
            .any(|(name, _)| name == "opcache.preload")
    }
}

/// Which of the server's environment variables PHP's processes get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `clear_env`: only those that a process needs. Default false.
    pub clear: bool,
    /// Names that the configuration uses for itself.
    pub withheld: BTreeSet<String>,
}

/// `preload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preload {
    /// Nothing is preloaded.
    #[default]
    Off,
    /// Files that an autoloader has included, and that declare classes and do nothing else.
    Auto,
    /// All files that requests have used.
    All,
}

impl Preload {
    /// Its name in a Caddyfile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::All => "all",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Off, Self::Auto, Self::All]
            .into_iter()
            .find(|own| own.name() == name)
    }
}
