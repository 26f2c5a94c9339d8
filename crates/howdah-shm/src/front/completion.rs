//! Completion rings and the sleep of the front thread.

use super::Front;
use crate::errors::ProtocolViolation;
use crate::layout::{PROGRESS, completion_cell};
use crate::slot::{SlotId, WorkerId};
use crate::slot_record::Phase;
use crate::sync::{Ordering, mutant, store_load_barrier};
use std::sync::atomic;

/// A report of a worker to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Event {
    /// More of the response can be read.
    Progress { slot: SlotId, worker: WorkerId },
    /// The worker is done: read the rest of the response, then release the slot.
    Done { slot: SlotId, worker: WorkerId },
    /// The worker wrote an invalid value: kill it. Its ring is not read again before it is
    /// recovered; its slots are torn then.
    ProtocolViolation {
        worker: WorkerId,
        /// The bytes that it wrote.
        violation: ProtocolViolation,
    },
}

impl Front {
    /// Returns the next completion; `None` if there is none at the moment. Call it until then.
    pub fn poll(&mut self) -> Option<Event> {
        let words = self.segment.geometry().parked_words();
        // The rest of the cursor's word, the other words, and the part before the cursor.
        for step in 0..=words {
            let word = (self.cursor / 64 + step) % words;
            let mut mask = self.segment.places.enlisted[word].load(atomic::Ordering::Acquire);
            mask &= !self.distrusted[word];
            if step == 0 {
                mask &= u64::MAX << (self.cursor % 64);
            }
            while mask != 0 {
                let worker = word * 64 + mask.trailing_zeros() as usize;
                mask &= mask - 1;
                if let Some(event) = self.completion(WorkerId(worker as u16)) {
                    self.cursor = worker;
                    return Some(event);
                }
            }
        }
        None
    }

    pub(super) fn cell_is_new(&self, worker: WorkerId) -> Option<u64> {
        self.cell_ahead(worker, 0)
    }

    /// The cell that many positions after the next, if it is written.
    pub(super) fn cell_ahead(&self, worker: WorkerId, ahead: u32) -> Option<u64> {
        let index = self.read[worker.index()].wrapping_add(ahead);
        // Has the effect of acquire: what the worker wrote before its exchange is visible.
        let cell = self
            .segment
            .memory
            .completion(self.index, worker.0, index)
            .load(Ordering::SeqCst);
        ((cell >> 32) as u32 == index.wrapping_add(1)).then_some(cell)
    }

    /// Takes one completion of a worker.
    pub(super) fn completion(&mut self, worker: WorkerId) -> Option<Event> {
        let cell = self.cell_is_new(worker)?;
        let read = &mut self.read[worker.index()];
        let index = *read;
        *read = index.wrapping_add(1);
        Some(
            self.checked(worker, index, cell)
                .unwrap_or_else(|violation| {
                    self.distrusted[worker.word()] |= worker.bit();
                    Event::ProtocolViolation { worker, violation }
                }),
        )
    }

    fn checked(
        &mut self,
        worker: WorkerId,
        index: u32,
        cell: u64,
    ) -> Result<Event, ProtocolViolation> {
        let slot_index = cell as u16;
        let kind = (cell >> 31) & 1;
        let record = self
            .records
            .get(usize::from(slot_index))
            .ok_or(ProtocolViolation::CompletionSlot(slot_index))?;
        if record.phase != Phase::Queued
            || cell != completion_cell(index, kind, record.position, slot_index)
        {
            return Err(ProtocolViolation::CompletionUnexpected(slot_index));
        }
        let slot = SlotId {
            generation: record.generation,
            index: slot_index,
            front: self.index,
        };
        let words = self.segment.memory.slot(self.index, slot_index);
        if words.request.state.load(Ordering::Relaxed) != self.owned(slot_index, worker) {
            return Err(ProtocolViolation::CompletionOwner(slot_index));
        }
        if kind == PROGRESS {
            if mutant!(NotifiedStored) {
                words.worker.notified.store(0, Ordering::Release);
            } else {
                // An exchange, not a store: it reads the worker's last exchange, so that after a
                // worker found 1 here, the following read sees its `committed`.
                words.worker.notified.swap(0, Ordering::AcqRel);
            }
            return Ok(Event::Progress { slot, worker });
        }
        self.wake_estimate
            .served(worker, words.worker.served_ns.load(Ordering::Relaxed));
        self.records[usize::from(slot_index)].phase = Phase::Done;
        Ok(Event::Done { slot, worker })
    }

    /// Announces that the thread will sleep on its eventfd (S1, S2). True: completions are pending
    /// and the announcement is withdrawn, so poll again instead of sleeping. The wait must include
    /// everything else that the thread waits for, such as exits of workers.
    #[must_use = "sleeping on pending completions would be for ever"]
    pub fn prepare_sleep(&mut self) -> bool {
        let sleeping = &self.segment.memory.ring(self.index).sleeping.0;
        let epoch = sleeping.load(Ordering::Relaxed);
        if epoch & 1 == 0 {
            // An exchange, so that the loads of the cells come after it.
            sleeping.swap(epoch.wrapping_add(1), Ordering::SeqCst);
        }
        store_load_barrier();
        let pending = !mutant!(SleepWithoutCheck) && self.is_pending();
        if pending {
            self.woken();
        }
        pending
    }

    fn is_pending(&self) -> bool {
        (0..self.segment.geometry().parked_words()).any(|word| {
            let mut mask = self.segment.places.enlisted[word].load(atomic::Ordering::Acquire);
            mask &= !self.distrusted[word];
            while mask != 0 {
                let worker = word * 64 + mask.trailing_zeros() as usize;
                if self.cell_is_new(WorkerId(worker as u16)).is_some() {
                    return true;
                }
                mask &= mask - 1;
            }
            false
        })
    }

    /// The thread is awake again, for whatever reason (S4): workers need not write to the eventfd.
    pub fn woken(&mut self) {
        let sleeping = &self.segment.memory.ring(self.index).sleeping.0;
        let epoch = sleeping.load(Ordering::Relaxed);
        if epoch & 1 == 1 {
            let awake = epoch.wrapping_add(1);
            // Failed: a worker has done it at the same time.
            let _ = sleeping.compare_exchange(epoch, awake, Ordering::SeqCst, Ordering::Relaxed);
        }
    }
}
