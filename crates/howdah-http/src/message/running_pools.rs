//! The running pools of a configuration.

use std::sync::Arc;

/// The pools of a configuration as they run.
#[derive(Debug, Clone, Default)]
pub struct RunningPools {
    /// The number by which the application knows each pool: the configuration's classic pools, then its worker pools,
    /// then those of `roadrunner`.
    pub numbers: Vec<usize>,
    /// Ids of the users that they run as, except the server's user.
    pub users: Arc<[u32]>,
}
