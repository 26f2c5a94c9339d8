//! Names of slots and workers, and what the front keeps of a slot in its own memory.

use crate::response::Progress;
use std::fmt;

/// A slot in use: index and generation, so that an id that was kept too long is told apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotId {
    pub(crate) generation: u32,
    pub(crate) index: u16,
    pub(crate) front: u16,
}

impl SlotId {
    /// Index among the slots of its front thread, below [`crate::Geometry::slots`]: for tables with
    /// one entry a slot.
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

/// A request in a worker's hand: to be asked later, from any thread, whether it still is.
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
    /// For tables with one entry a worker.
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
    /// Bytes that travel in the slot, behind the variables.
    Inline(&'a [u8]),
    /// So many bytes in the spool directory, in the file that is named by the request id as 16 hex
    /// digits.
    File(u64),
}

/// Where a slot is in its life, as the front knows it. The shared state word is checked against this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Free,
    /// Acquired, not yet filled.
    Empty,
    /// Filled, not queued.
    Filled,
    /// Pushed: queued or claimed, the state word says which.
    Queued,
    /// Its worker died with it.
    Torn,
    /// Its DONE cell was read.
    Done,
}

impl Phase {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Empty => "empty",
            Self::Filled => "filled",
            Self::Queued => "queued",
            Self::Torn => "torn",
            Self::Done => "done",
        }
    }
}

/// The front's own copy of what a slot holds: nothing here can be written by a worker.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) phase: Phase,
    pub(crate) generation: u32,
    pub(crate) position: u64,
    pub(crate) request_id: u64,
    pub(crate) vars_size: u32,
    pub(crate) body_kind: u32,
    pub(crate) body_size: u64,
    pub(crate) flags: u32,
    pub(crate) progress: Progress,
    pub(crate) sighting: Sighting,
}

/// What earlier checks of a pushed slot have found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sighting {
    /// The position that it is about.
    pub(crate) position: u64,
    /// The worker that has claimed the slot. No other can at this position.
    pub(crate) owner: Option<WorkerId>,
    /// It was queued at the last check.
    pub(crate) queued: bool,
    pub(crate) doubt: Doubt,
    /// The value of `consumed` that the owner was last woken for.
    pub(crate) nudged: u64,
}

/// Whether the owner of a slot has its request in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doubt {
    #[default]
    None,
    /// Since this time (nanoseconds of `CLOCK_MONOTONIC`) it has not opened the request, or not completed it.
    Since(u64),
    /// And it has done something else since.
    MovedOn,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Free,
            generation: 0,
            position: 0,
            request_id: 0,
            vars_size: 0,
            body_kind: 0,
            body_size: 0,
            flags: 0,
            progress: Progress::new(),
            sighting: Sighting::default(),
        }
    }
}
