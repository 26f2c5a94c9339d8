//! Errors. A [`Fault`] is the worker's, everything else is a misuse or a limit.

use crate::slot::WorkerId;

/// What a worker wrote makes no sense: kill it and wait for its death.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum Fault {
    #[error("the request ring is overwritten (head {head}, tail {tail})")]
    Ring { head: u64, tail: u64 },
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
    #[error("there is no frame of kind {0}")]
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

/// The slot is not in the state that a call needs: a mistake of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum SlotError {
    #[error("the slot was released before")]
    Stale,
    #[error("the slot is {found}, not {expected}")]
    State {
        found: &'static str,
        expected: &'static str,
    },
}

/// Why a request was not written into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
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
#[allow(missing_docs)] // the messages say it
pub enum QueueError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The pool's segment cannot be used any more: start the pool anew.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a response was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum ReadError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a place cannot be given to a new worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum EnlistError {
    #[error("worker {} does not exist", .0.0)]
    Unknown(WorkerId),
    #[error("worker {} is alive, or a front thread has not recovered it yet", .0.0)]
    InUse(WorkerId),
}

/// Why a worker's death was not handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {} was not enlisted, or this front thread has recovered it before", .0.0)]
pub struct RecoverError(pub WorkerId);
