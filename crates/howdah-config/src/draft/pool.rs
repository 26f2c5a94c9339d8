//! Pools while they are read.

use crate::error::Position;
use crate::model::PoolSettings;

/// Settings in the block of one pool.
#[derive(Debug, Default)]
pub(crate) struct PoolDraft {
    pub(crate) settings: PoolSettings,
    /// The names of `php_ini`.
    pub(crate) ini_places: Vec<(String, Position)>,
}

/// A `pool` as written.
#[derive(Debug)]
pub(crate) struct ClassicPoolDraft {
    /// Position of the word `pool`.
    pub(crate) position: Position,
    pub(crate) name: String,
    pub(crate) own: PoolDraft,
    /// An application names it.
    pub(crate) is_used: bool,
}
