//! The request ring: push, cancel, help, wake. The names of steps are those of
//! `docs/internals/queue.md`.

use super::{Cancel, Front};
use crate::errors::{ProtocolViolation, QueueError, SlotError};
use crate::layout::{POSITION_MASK, SLOT_FREE, SLOT_QUEUED, request_cell, state};
use crate::sleep::Sleep;
use crate::slot::{SlotId, WorkerId};
use crate::slot_record::Phase;
use crate::sync::{Ordering, mutant, store_load_barrier};

impl Front {
    /// Queues a filled slot and wakes a worker if one sleeps, unless the request is left to workers that are awake
    /// ([`Front::set_leave_limit`]). A violation means that a worker has overwritten the ring: the slot was not queued, and
    /// the pool needs a new segment.
    pub fn push(&mut self, slot: SlotId) -> Result<(), QueueError> {
        self.expect(slot, Phase::Filled)?;
        self.enqueue(slot.index)?;
        Ok(())
    }

    /// Takes a queued request back, unless a worker has claimed it.
    pub fn cancel(&mut self, slot: SlotId) -> Result<Cancel, SlotError> {
        self.expect(slot, Phase::Queued)?;
        if !self.take_back(slot.index) {
            return Ok(Cancel::Claimed);
        }
        self.give_back(slot.index);
        Ok(Cancel::Removed)
    }

    /// Requests that are pushed and not claimed; cancelled ones count until the head has passed
    /// their cell.
    pub fn queued(&self) -> u64 {
        let head = self
            .segment
            .memory
            .ring(self.index)
            .head
            .0
            .load(Ordering::Relaxed);
        self.tail
            .wrapping_sub(head)
            .min(u64::from(self.segment.geometry().slots()))
    }

    /// QUEUED -> FREE. The cell stays in the ring and is stale: a worker that finds it skips it.
    pub(super) fn take_back(&self, index: u16) -> bool {
        let queued = state(self.records[usize::from(index)].position, 0, SLOT_QUEUED);
        let word = &self.segment.memory.slot(self.index, index).request.state;
        let free = state(0, 0, SLOT_FREE);
        word.compare_exchange(queued, free, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// P1 to P4. The slot is FREE, or OWNED by a process that has exited.
    pub(super) fn enqueue(&mut self, index: u16) -> Result<(), ProtocolViolation> {
        self.make_room()?;
        let memory = &self.segment.memory;
        let position = self.tail;
        let record = &mut self.records[usize::from(index)];
        record.position = position;
        record.phase = Phase::Queued;
        // P1. Release: the worker that claims it sees the request.
        let word = &memory.slot(self.index, index).request.state;
        word.store(state(position, 0, SLOT_QUEUED), Ordering::Release);
        // P2. An exchange, so that the load of `parked` comes after it; a store would not do.
        memory
            .cell(self.index, position)
            .swap(request_cell(position, index), Ordering::SeqCst);
        // P3
        self.tail = position + 1;
        // P4
        if !mutant!(PushWithoutBarrier) {
            store_load_barrier();
        }
        if !self.is_left()
            && let Some(woken) = self.wake_one()
        {
            self.wake_estimate.woken(woken);
        }
        Ok(())
    }

    /// Wakes one parked worker, the lowest, whose memory is in the caches. The bit is the token: whoever clears it
    /// wakes the worker.
    pub(super) fn wake_one(&self) -> Option<WorkerId> {
        if matches!(self.segment.sleep, Sleep::OnEvent(_)) {
            return self.wake_idlest();
        }
        let memory = &self.segment.memory;
        let geometry = memory.geometry();
        for word in 0..geometry.parked_words() {
            loop {
                let parked = memory.parked(word).load(Ordering::SeqCst);
                if parked == 0 {
                    break;
                }
                let bit = parked & parked.wrapping_neg();
                let before = memory.parked(word).fetch_and(!bit, Ordering::SeqCst);
                let worker = WorkerId((word * 64) as u16 + bit.trailing_zeros() as u16);
                // A broken worker has set the bit of a worker that does not exist.
                if before & bit != 0 && worker.index() < geometry.workers() as usize {
                    self.segment.wake_worker(worker);
                    return Some(worker);
                }
            }
        }
        None
    }

    /// The same in a concurrent pool, where a worker that sleeps may have many waiting requests: wakes the parked one
    /// with the fewest, of equal ones the lowest.
    fn wake_idlest(&self) -> Option<WorkerId> {
        let memory = &self.segment.memory;
        while let Some(worker) = self.idlest() {
            let before = memory
                .parked(worker.word())
                .fetch_and(!worker.bit(), Ordering::SeqCst);
            if before & worker.bit() != 0 {
                self.segment.wake_worker(worker);
                return Some(worker);
            }
        }
        None
    }

    fn idlest(&self) -> Option<WorkerId> {
        let memory = &self.segment.memory;
        let workers = memory.geometry().workers() as usize;
        let mut idlest = None;
        for word in 0..memory.geometry().parked_words() {
            let mut parked = memory.parked(word).load(Ordering::SeqCst);
            while parked != 0 {
                let worker = WorkerId((word * 64) as u16 + parked.trailing_zeros() as u16);
                parked &= parked - 1;
                if worker.index() >= workers {
                    break;
                }
                let in_flight = memory
                    .worker(worker.0)
                    .own
                    .in_flight
                    .load(Ordering::Relaxed);
                if in_flight == 0 {
                    return Some(worker);
                }
                if idlest.is_none_or(|(fewest, _)| in_flight < fewest) {
                    idlest = Some((in_flight, worker));
                }
            }
        }
        idlest.map(|(_, worker)| worker)
    }

    /// Makes sure that the ring has a free cell.
    ///
    /// The ring has two cells for each slot, so it only fills up if requests are cancelled behind one that no worker
    /// claims. Then the live requests are withdrawn, the ring is emptied, and they are queued again in their order: at
    /// most every `slots` pushes.
    fn make_room(&mut self) -> Result<(), ProtocolViolation> {
        let cells = u64::from(self.segment.geometry().cells());
        if self.tail.wrapping_sub(self.head_seen) < cells {
            return Ok(());
        }
        self.help()?;
        if self.tail.wrapping_sub(self.head_seen) < cells {
            return Ok(());
        }
        let mut live: Vec<u16> = (0..self.records.len() as u16)
            .filter(|&index| {
                self.records[usize::from(index)].phase == Phase::Queued && self.take_back(index)
            })
            .collect();
        live.sort_unstable_by_key(|&index| self.records[usize::from(index)].position);
        if self.help()? {
            return Err(self.ring_violation());
        }
        for index in live {
            self.enqueue(index)?;
        }
        Ok(())
    }

    /// Moves the head over stale cells. True: a queued request is at the head.
    pub(super) fn help(&mut self) -> Result<bool, ProtocolViolation> {
        let cells = u64::from(self.segment.geometry().cells());
        let memory = &self.segment.memory;
        let head_word = &memory.ring(self.index).head.0;
        // Each round advances the head or finds it advanced; only a broken worker moves it back.
        for _ in 0..4 * cells {
            let head = head_word.load(Ordering::SeqCst);
            if head > self.tail || self.tail - head > cells || head < self.head_seen {
                break;
            }
            self.head_seen = head;
            if head == self.tail {
                return Ok(false);
            }
            let cell = memory.cell(self.index, head).load(Ordering::Acquire);
            let index = cell as u16;
            if cell >> 16 != ((head + 1) & POSITION_MASK)
                || usize::from(index) >= self.records.len()
            {
                break;
            }
            let word = memory
                .slot(self.index, index)
                .request
                .state
                .load(Ordering::SeqCst);
            if word == state(head, 0, SLOT_QUEUED) {
                return Ok(true);
            }
            // Failed: another process has advanced it.
            let _ = head_word.compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Relaxed);
        }
        Err(self.ring_violation())
    }

    pub(super) fn ring_violation(&self) -> ProtocolViolation {
        let head = self
            .segment
            .memory
            .ring(self.index)
            .head
            .0
            .load(Ordering::Relaxed);
        ProtocolViolation::Ring {
            head,
            tail: self.tail,
        }
    }
}
