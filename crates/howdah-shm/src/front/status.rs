//! Status of a front thread's slots, for status pages.

use super::Front;
use crate::layout::{SLOT_QUEUED, state, state_worker};
use crate::slot::{SlotId, WorkerId};
use crate::slot_record::Phase;
use crate::status::{SlotState, SlotStatus};
use crate::sync::Ordering;
use std::num::NonZeroU64;

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

    /// The request that a worker ran last; none: it ran no request. For an exited worker, it stays until all front
    /// threads have recovered its slots.
    pub fn running(&self, worker: WorkerId) -> Option<NonZeroU64> {
        self.segment.worker(worker)?.request_id
    }

    /// `CLOCK_MONOTONIC` in nanoseconds when a worker claimed the request of a slot that is pushed, done or torn; 0:
    /// not claimed, or not reported. For measurements only: a broken worker can write anything.
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
