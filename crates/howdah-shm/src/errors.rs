//! Errors. A [`ProtocolViolation`] is caused by a worker, all others by misuse or a limit.

use crate::slot::WorkerId;

/// A worker wrote an invalid value: kill it and wait for its exit, or kill all workers if the whole segment is corrupt
/// ([`ProtocolViolation::corrupts_segment`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ProtocolViolation {
    #[error("the request ring is overwritten (head {head}, tail {tail})")]
    Ring { head: u64, tail: u64 },
    #[error("the header of the segment is overwritten")]
    Header,
    #[error("the cell of the request ring for position {0} is overwritten")]
    Cell(u64),
    #[error("the state of slot {slot} is overwritten ({state:#x})")]
    State { slot: u16, state: u64 },
    #[error("the request in slot {0} is overwritten")]
    Request(u16),
    #[error("the queued request in slot {0} was skipped")]
    Skipped(u16),
    #[error("slot {slot} is claimed by worker {worker}, which does not have its request")]
    NotHeld { slot: u16, worker: u16 },
    #[error("a completion of worker {0} is overwritten")]
    CompletionLost(u16),
    #[error("place {0} is parked and has no worker")]
    Parked(u16),
    #[error("the count of consumed bytes of slot {0} is overwritten")]
    Consumed(u16),
    #[error("a completion names slot {0}, which does not exist")]
    CompletionSlot(u16),
    #[error("a completion names slot {0}, which is not queued")]
    CompletionUnexpected(u16),
    #[error("a completion names slot {0}, which the worker does not own")]
    CompletionOwner(u16),
    #[error("the response belongs to request {found:016x}, not {expected:016x}")]
    Echo { expected: u64, found: u64 },
    #[error("{committed} bytes committed and {consumed} consumed do not fit a response ring")]
    Committed { committed: u64, consumed: u64 },
    #[error("a frame of {size} bytes at {at} crosses the end of what was committed or of the ring")]
    FrameSize { at: u64, size: u32 },
    #[error("frame kind {0} does not exist")]
    FrameKind(u32),
    #[error("a {0} frame is out of order")]
    FrameOrder(&'static str),
    #[error("the head of a response is malformed")]
    Head,
    #[error("status {0} does not fit the frame")]
    Status(u16),
    #[error("the end frame is malformed")]
    End,
    #[error("an update to publish is malformed")]
    Update,
    #[error("the request was completed without an end frame")]
    NoEnd,
}

impl ProtocolViolation {
    /// Whether the violation is not limited to the requests of one worker: the pool needs a new segment.
    pub const fn corrupts_segment(&self) -> bool {
        matches!(
            self,
            Self::Ring { .. }
                | Self::Header
                | Self::Cell(_)
                | Self::State { .. }
                | Self::Request(_)
                | Self::Skipped(_)
                | Self::NotHeld { .. }
                | Self::CompletionLost(_)
                | Self::CompletionOwner(_)
                | Self::Parked(_)
                | Self::Consumed(_)
        )
    }
}

/// The slot is not in the state that a call needs: an error of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum SlotError {
    #[error("the slot was already released")]
    Stale,
    #[error("the slot is {found}, not {expected}")]
    State {
        found: &'static str,
        expected: &'static str,
    },
}

/// Why a request was not written into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum FillError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error("the request takes {needed} bytes, a slot has {room}: spool the body to a file")]
    TooLarge { needed: u64, room: u32 },
    #[error("0 is not a request id")]
    NoId,
}

/// Why a slot was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum QueueError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The pool's segment cannot be used any more: it needs a new one.
    #[error(transparent)]
    ProtocolViolation(#[from] ProtocolViolation),
}

/// Why a response was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ReadError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    ProtocolViolation(#[from] ProtocolViolation),
}

/// Why a place cannot be given to a new worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum EnlistError {
    #[error("worker {} does not exist", .0.0)]
    Unknown(WorkerId),
    #[error("worker {} is alive, or a front thread has not recovered it yet", .0.0)]
    InUse(WorkerId),
}

/// Why the exit of a worker was not handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {} was not enlisted, or this front thread has recovered it before", .0.0)]
pub struct RecoverError(pub WorkerId);
