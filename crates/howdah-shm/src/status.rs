//! Status of slots and workers, for status pages.

use crate::memory::Memory;
use crate::slot::{SlotId, WorkerId};
use crate::sync::Ordering;
use std::num::NonZeroU64;

/// A slot in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct SlotStatus {
    pub slot: SlotId,
    /// 0 until it is filled.
    pub request_id: u64,
    pub state: SlotState,
}

/// State of a slot in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// The front prepares the request.
    Preparing,
    /// No worker has claimed it.
    Queued,
    /// A worker has claimed it.
    Running {
        /// The owner.
        worker: WorkerId,
        /// The request may have had effects.
        started: bool,
    },
    /// The worker is done with it.
    Done,
    /// Its worker exited.
    Torn,
    /// The state word was overwritten: the segment is no longer reliable.
    Corrupt,
}

/// A worker's report about itself. For display only: a broken worker can write anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// The current request; of several the one that runs at this moment, none while all of them wait.
    pub request_id: Option<NonZeroU64>,
    /// Requests that it has claimed: 0 or 1, unless the pool is concurrent.
    pub in_flight: u32,
    /// It runs one request at a time although its pool is concurrent.
    pub sequential: bool,
    /// Requests served by this process.
    pub requests: u64,
    /// Bytes of PHP's allocator at the end of the last request.
    pub memory: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds at the start of the current request.
    pub started_ns: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds when it last looked at the queue before it slept; of a worker of a concurrent
    /// pool at a recent time. 0: never.
    pub looked_ns: u64,
    /// It sleeps and can be woken for a request.
    pub parked: bool,
}

impl WorkerStatus {
    /// It has claimed a request.
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
