//! What status pages show of slots and workers.

use crate::memory::Memory;
use crate::slot::{SlotId, WorkerId};
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
