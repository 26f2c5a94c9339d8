//! The front's private record of a slot, which no worker can write.

use crate::slot::WorkerId;

/// The state of a slot, as the front knows it. The shared state word is checked against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Free,
    /// Acquired, not yet filled.
    Empty,
    /// Filled, not queued.
    Filled,
    /// Pushed: queued or claimed; the state word says which.
    Queued,
    /// Its worker exited while it held the slot.
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

/// The front's private copy of a slot's contents, which no worker can write.
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
    pub(crate) history: CheckHistory,
}

/// Results of earlier checks of a pushed slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckHistory {
    /// The position that they are about.
    pub(crate) position: u64,
    /// The worker that has claimed the slot. No other worker can claim this position.
    pub(crate) owner: Option<WorkerId>,
    /// It was queued at the last check.
    pub(crate) queued: bool,
    pub(crate) suspicion: Suspicion,
    /// The value of `consumed` that the owner was last woken for.
    pub(crate) nudged: u64,
}

/// Whether the owner of a slot really has its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Suspicion {
    #[default]
    None,
    /// Since this time (nanoseconds of `CLOCK_MONOTONIC`) it has not opened the request, or not completed it.
    Since(u64),
    /// And it has made other progress since.
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
            history: CheckHistory::default(),
        }
    }
}

/// How far a response was read; private to the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes taken since the claim.
    pub(crate) consumed: u64,
    /// The part of these bytes that was reported to the worker.
    pub(crate) acknowledged: u64,
    pub(crate) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// HEADERS is expected.
    Start,
    /// HEADERS has been read.
    Body,
    /// FINISH has been read.
    Finished,
    /// END has been read.
    Ended,
    /// A frame was invalid: nothing more is read.
    Broken,
}

impl Progress {
    pub(crate) const fn new() -> Self {
        Self {
            consumed: 0,
            acknowledged: 0,
            stage: Stage::Start,
        }
    }
}
