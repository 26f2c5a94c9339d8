//! What status pages show of slots and workers.

use crate::front::Front;
use crate::layout::{SLOT_QUEUED, state, state_worker};
use crate::memory::Memory;
use crate::slot::{Phase, SlotId, WorkerId};
use crate::sync::Ordering;
use std::num::NonZeroU64;

/// A slot in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotStatus {
    /// Which slot.
    pub slot: SlotId,
    /// 0 until it is filled.
    pub request_id: u64,
    /// Where it is.
    pub state: SlotState,
}

/// Where a slot in use is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// The front prepares the request.
    Preparing,
    /// No worker has it yet.
    Queued,
    /// A worker has it.
    Running {
        /// The owner.
        worker: WorkerId,
        /// The request may have had effects.
        started: bool,
    },
    /// The worker is done with it.
    Done,
    /// Its worker died.
    Torn,
    /// The state word was overwritten: the segment cannot be trusted any more.
    Corrupt,
}

/// What a worker says of itself. For display only: a broken worker can write anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// The request in hand; of several the one that runs at this moment, none while all of them wait.
    pub request_id: Option<NonZeroU64>,
    /// Requests in hand: 0 or 1, unless the pool is concurrent.
    pub in_flight: u32,
    /// It runs one request at a time although its pool is concurrent.
    pub sequential: bool,
    /// Requests served by this process.
    pub requests: u64,
    /// Bytes of PHP's allocator at the end of the last request.
    pub memory: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds at the start of the request in hand.
    pub started_ns: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds at its last look at the queue before it slept; of a worker of a concurrent pool
    /// at a recent one. 0: there was none.
    pub looked_ns: u64,
    /// It sleeps and can be woken for a request.
    pub parked: bool,
}

impl WorkerStatus {
    /// It has a request in hand.
    pub fn is_busy(&self) -> bool {
        self.request_id.is_some() || self.in_flight > 0
    }

    pub(crate) fn read(memory: &Memory, worker: WorkerId) -> Self {
        let own = &memory.worker(worker.0).own;
        Self {
            request_id: NonZeroU64::new(own.request_id.load(Ordering::Relaxed)),
            in_flight: own.in_flight.load(Ordering::Relaxed),
            sequential: own.sequential.load(Ordering::Relaxed) != 0,
            requests: own.requests.load(Ordering::Relaxed),
            memory: own.memory.load(Ordering::Relaxed),
            started_ns: own.started_ns.load(Ordering::Relaxed),
            looked_ns: own.looked_ns.load(Ordering::Relaxed),
            parked: memory.parked(worker.word()).load(Ordering::Relaxed) & worker.bit() != 0,
        }
    }
}

impl Front {
    /// All slots in use, for a status page.
    pub fn slots(&self) -> impl Iterator<Item = SlotStatus> {
        (0..self.records.len() as u16).filter_map(|index| {
            let record = &self.records[usize::from(index)];
            let slot = SlotId {
                generation: record.generation,
                index,
                front: self.index,
            };
            (record.phase != Phase::Free).then(|| self.status(slot))
        })
    }

    /// One slot. `None` if it was released.
    pub fn slot(&self, slot: SlotId) -> Option<SlotStatus> {
        self.record(slot).is_ok().then(|| self.status(slot))
    }

    /// The request that a worker ran last; none: it ran no code of any. A dead worker says it until all front threads
    /// have recovered what it held.
    pub fn running(&self, worker: WorkerId) -> Option<NonZeroU64> {
        self.segment.worker(worker)?.request_id
    }

    /// `CLOCK_MONOTONIC` in nanoseconds when a worker claimed the request of a slot that is pushed, done or
    /// torn; 0: none has, or it does not say. For measurements only: a broken worker can write anything.
    pub fn claimed_ns(&self, slot: SlotId) -> u64 {
        if self.record(slot).is_err() {
            return 0;
        }
        let words = self.segment.memory.slot(self.index, slot.index);
        words.worker.claimed_ns.load(Ordering::Relaxed)
    }

    fn status(&self, slot: SlotId) -> SlotStatus {
        let record = &self.records[slot.index()];
        let state = match record.phase {
            Phase::Free | Phase::Empty | Phase::Filled => SlotState::Preparing,
            Phase::Done => SlotState::Done,
            Phase::Torn => SlotState::Torn,
            Phase::Queued => self.shared_state(slot.index),
        };
        SlotStatus {
            slot,
            request_id: record.request_id,
            state,
        }
    }

    fn shared_state(&self, index: u16) -> SlotState {
        let words = self.segment.memory.slot(self.index, index);
        let position = self.records[usize::from(index)].position;
        let word = words.request.state.load(Ordering::Acquire);
        if word == state(position, 0, SLOT_QUEUED) {
            return SlotState::Queued;
        }
        let worker = WorkerId(state_worker(word));
        if worker.index() >= self.segment.geometry().workers() as usize
            || word != self.owned(index, worker)
        {
            return SlotState::Corrupt;
        }
        SlotState::Running {
            worker,
            started: words.worker.started.load(Ordering::Acquire) != 0,
        }
    }
}
