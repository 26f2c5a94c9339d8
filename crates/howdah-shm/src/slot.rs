//! Identifiers of slots and workers.

use std::fmt;

/// A slot in use: index and generation, so that an outdated id is recognised.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotId {
    pub(crate) generation: u32,
    pub(crate) index: u16,
    pub(crate) front: u16,
}

impl SlotId {
    /// Index among the slots of its front thread, below [`crate::Geometry::slots`]: for tables with
    /// one entry per slot.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

impl fmt::Debug for SlotId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "slot {}.{}#{}",
            self.front, self.index, self.generation
        )
    }
}

/// A request that a worker has claimed: shows later, from any thread, whether the worker still has
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    pub(crate) front: u16,
    pub(crate) slot: u16,
    /// The state word: position and owner.
    pub(crate) state: u64,
}

/// A place for a worker in a pool, below [`crate::Geometry::workers`]. A respawned process takes
/// the place of its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u16);

impl WorkerId {
    /// The index for tables with one entry per worker.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn word(self) -> usize {
        self.index() / 64
    }

    pub(crate) const fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// No body.
    None,
    /// Bytes in the slot, after the variables.
    Inline(&'a [u8]),
    /// This number of bytes in the spool directory, in the file that is named by the request id as
    /// 16 hex digits.
    File(u64),
}
