//! The death of a worker (R1 to R5).

use super::{Event, Front};
use crate::errors::{QueueError, RecoverError, SlotError};
use crate::layout::{STARTED_EFFECTS, STARTED_TOO_LONG, state_worker};
use crate::slot::{SlotId, WorkerId};
use crate::slot_record::{Phase, Stage};
use crate::sync::{Ordering, mutant, store_load_barrier};

/// What a dead worker has left behind in this front thread. Handle `completed` first.
#[derive(Debug, Default)]
pub struct Recovery {
    /// What it published before it died: these count.
    pub completed: Vec<Event>,
    /// What it held: each is to be requeued or released.
    pub torn: Vec<TornSlot>,
    /// True: this was the last front thread to recover it, the place can be enlisted again.
    pub vacant: bool,
}

/// A request whose worker died with it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a death, each with a name"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornSlot {
    /// The request.
    pub slot: SlotId,
    /// False: PHP had not begun, so a retry is silent. True: it may have had effects.
    pub started: bool,
    /// The worker ended itself, since the request was over its processor time.
    pub too_long: bool,
    /// Part of the response was read.
    pub read: bool,
    /// The end of the response was read, only the completion is missing: nothing is lost.
    pub ended: bool,
}

impl Front {
    /// Takes back what a dead worker held. To be called by every front thread, once for each death.
    ///
    /// The death must be confirmed: the worker's pidfd is readable. To have sent a signal is not
    /// enough, since a slot that is used again while the process still writes would be corrupted.
    pub fn recover(&mut self, worker: WorkerId) -> Result<Recovery, RecoverError> {
        if !self.segment.places.awaits(worker, self.index) {
            return Err(RecoverError(worker));
        }
        let mut recovery = Recovery::default();
        if mutant!(ScanBeforeDrain) {
            recovery.torn = self.take_torn(worker);
        }
        // R1. What is published is complete. The process is dead, so there is an end to it.
        for _ in 0..self.segment.geometry().cells() {
            if self.distrusted[worker.word()] & worker.bit() != 0 {
                break;
            }
            let Some(event) = self.completion(worker) else {
                break;
            };
            recovery.completed.push(event);
        }
        // A writer of nonsense may have left more of it: the successor starts where the front reads,
        // on cells that cannot be taken for new ones.
        if self.distrusted[worker.word()] & worker.bit() != 0 {
            self.clear_completions(worker);
        }
        self.distrusted[worker.word()] &= !worker.bit();
        // R2. Or a wake would be spent on it.
        self.segment
            .memory
            .parked(worker.word())
            .fetch_and(!worker.bit(), Ordering::SeqCst);
        self.wake_estimate.remove(worker);
        // R3
        if !mutant!(ScanBeforeDrain) {
            recovery.torn = self.take_torn(worker);
        }
        // R4. A wake that was spent on it is lost: what is queued may have no one who looks for it.
        if !mutant!(NoRewake) {
            self.rewake();
        }
        // R5
        let read = self.read[worker.index()];
        recovery.vacant = self.segment.places.recovered(worker, self.index, read);
        Ok(recovery)
    }

    /// Queues a torn request again, as it was filled. Not for one whose response has been passed on
    /// to a client.
    pub fn requeue(&mut self, slot: SlotId) -> Result<(), QueueError> {
        self.expect(slot, Phase::Torn)?;
        self.write_request(slot.index);
        self.enqueue(slot.index)?;
        Ok(())
    }

    /// Takes a pushed request out of a corrupt segment, after all its workers have exited. `started` is also
    /// true if the state is invalid.
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

    /// Wakes as many workers as there may be requests queued. Recovery does it; a pool that suspects
    /// a lost wake-up may do it at any time. True: it has woken one.
    pub fn rewake(&mut self) -> bool {
        store_load_barrier();
        // A broken ring is reported by the next push. Here it only means not knowing how many.
        if matches!(self.help(), Ok(false)) {
            return false;
        }
        (0..self.queued()).map_while(|_| self.wake_one()).count() > 0
    }

    fn clear_completions(&self, worker: WorkerId) {
        let next = self.read[worker.index()];
        for step in 0..self.segment.geometry().cells() {
            let index = next.wrapping_add(step);
            // A new cell would say index + 1.
            let old = u64::from(index) << 32;
            let cell = self.segment.memory.completion(self.index, worker.0, index);
            cell.store(old, Ordering::Relaxed);
        }
    }
}
