//! Recovery after the exit of a worker (R1 to R5).

use super::{Event, Front};
use crate::errors::{QueueError, RecoverError, SlotError};
use crate::layout::{STARTED_EFFECTS, STARTED_TOO_LONG, state_worker};
use crate::slot::{SlotId, WorkerId};
use crate::slot_record::{Phase, Stage};
use crate::sync::{Ordering, mutant, store_load_barrier};

/// The state that an exited worker has left behind in this front thread. Handle `completed` first.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Completions that it published before its exit: these are valid.
    pub completed: Vec<Event>,
    /// Slots that it held: each must be requeued or released.
    pub torn: Vec<TornSlot>,
    /// True: this was the last front thread to recover it, and the place can be enlisted again.
    pub vacant: bool,
}

/// A request that a worker held when it exited.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a death, each with a name"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct TornSlot {
    pub slot: SlotId,
    /// False: PHP had not started, so a retry has no side effects. True: it may have had effects.
    pub started: bool,
    /// The worker exited by itself, since the request exceeded its processor time.
    pub too_long: bool,
    /// Part of the response was read.
    pub read: bool,
    /// The end of the response was read, and only the completion is missing: nothing is lost.
    pub ended: bool,
}

impl Front {
    /// Recovers the slots of an exited worker. Must be called by every front thread, once for each
    /// exit.
    ///
    /// The exit must be confirmed: the worker's pidfd is readable. A signal is not enough, since a
    /// slot would be corrupted if it were used again while the process still writes.
    pub fn recover(&mut self, worker: WorkerId) -> Result<Recovery, RecoverError> {
        if !self.segment.places.awaits(worker, self.index) {
            return Err(RecoverError(worker));
        }
        let mut recovery = Recovery::default();
        if mutant!(ScanBeforeDrain) {
            recovery.torn = self.take_torn(worker);
        }
        // R1. Published completions are complete. The process has exited, so their number is
        // finite.
        for _ in 0..self.segment.geometry().cells() {
            if self.distrusted[worker.word()] & worker.bit() != 0 {
                break;
            }
            let Some(event) = self.completion(worker) else {
                break;
            };
            recovery.completed.push(event);
        }
        // A writer of invalid values may have left more of them: the successor starts at the position that the front
        // reads next, on cells that cannot be mistaken for new ones.
        if self.distrusted[worker.word()] & worker.bit() != 0 {
            self.clear_completions(worker);
        }
        self.distrusted[worker.word()] &= !worker.bit();
        // R2. Otherwise a wake would be wasted on it.
        self.segment
            .memory
            .parked(worker.word())
            .fetch_and(!worker.bit(), Ordering::SeqCst);
        self.wake_estimate.remove(worker);
        // R3
        if !mutant!(ScanBeforeDrain) {
            recovery.torn = self.take_torn(worker);
        }
        // R4. A wake that was sent to it is lost: queued requests may have no worker that looks for
        // them.
        if !mutant!(NoRewake) {
            self.rewake();
        }
        // R5
        let read = self.read[worker.index()];
        recovery.vacant = self.segment.places.recovered(worker, self.index, read);
        Ok(recovery)
    }

    /// Queues a torn request again, as it was filled. Not allowed once a part of its response was
    /// passed on to a client.
    pub fn requeue(&mut self, slot: SlotId) -> Result<(), QueueError> {
        self.expect(slot, Phase::Torn)?;
        self.write_request(slot.index);
        self.enqueue(slot.index)?;
        Ok(())
    }

    /// Takes a pushed request out of a corrupt segment, after all its workers have exited. `started` is also true if
    /// the state is invalid.
    pub fn abandon(&mut self, slot: SlotId) -> Result<TornSlot, SlotError> {
        let phase = self.record(slot)?.phase;
        let words = self.segment.memory.slot(self.index, slot.index);
        let started = match phase {
            // It was not started, and cannot be any more.
            Phase::Queued if self.take_back(slot.index) => 0,
            Phase::Queued => {
                let word = words.request.state.load(Ordering::Acquire);
                let claimed = word == self.owned(slot.index, WorkerId(state_worker(word)));
                if claimed {
                    words.worker.started.load(Ordering::Acquire)
                } else {
                    STARTED_EFFECTS
                }
            }
            // Queueing it again has failed.
            Phase::Torn => 0,
            phase => return Err(Self::wrong_phase(phase, "pushed")),
        };
        let record = &mut self.records[slot.index()];
        record.phase = Phase::Torn;
        Ok(TornSlot {
            slot,
            started: started != 0,
            too_long: started == STARTED_TOO_LONG,
            read: record.progress.consumed != 0,
            ended: record.progress.stage == Stage::Ended,
        })
    }

    fn take_torn(&mut self, worker: WorkerId) -> Vec<TornSlot> {
        let mut torn = Vec::new();
        for index in 0..self.records.len() as u16 {
            if self.records[usize::from(index)].phase != Phase::Queued {
                continue;
            }
            let words = self.segment.memory.slot(self.index, index);
            if words.request.state.load(Ordering::Acquire) != self.owned(index, worker) {
                continue;
            }
            let started = words.worker.started.load(Ordering::Acquire);
            let record = &mut self.records[usize::from(index)];
            record.phase = Phase::Torn;
            torn.push(TornSlot {
                slot: SlotId {
                    generation: record.generation,
                    index,
                    front: self.index,
                },
                started: started != 0,
                too_long: started == STARTED_TOO_LONG,
                read: record.progress.consumed != 0,
                ended: record.progress.stage == Stage::Ended,
            });
        }
        torn
    }

    /// Wakes as many workers as requests may be queued. Recovery does this; a pool that suspects a lost wake-up may do
    /// it at any time. True: it has woken one.
    pub fn rewake(&mut self) -> bool {
        store_load_barrier();
        // The next push reports a broken ring. Here it only means that the number is unknown.
        if matches!(self.help(), Ok(false)) {
            return false;
        }
        (0..self.queued()).map_while(|_| self.wake_one()).count() > 0
    }

    fn clear_completions(&self, worker: WorkerId) {
        let next = self.read[worker.index()];
        for step in 0..self.segment.geometry().cells() {
            let index = next.wrapping_add(step);
            // A new cell would contain index + 1.
            let old = u64::from(index) << 32;
            let cell = self.segment.memory.completion(self.index, worker.0, index);
            cell.store(old, Ordering::Relaxed);
        }
    }
}
