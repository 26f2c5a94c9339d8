//! Checks that the segment is consistent with the private memory of this front thread. A faulty worker may have written
//! anything anywhere: a contradiction is a violation, and a lost wake-up is repeated.
//!
//! A pool that is only busy, slow or stopped has no violation: each rule holds after any step of the protocol, however long
//! a process pauses between two steps. Where a rule needs time, it measures the progress of the worker and not the
//! clock.

use super::Front;
use crate::errors::ProtocolViolation;
use crate::layout::{POSITION_MASK, SLOT_OWNED, SLOT_QUEUED, request_cell, state, state_worker};
use crate::sleep::Sleep;
use crate::slot::WorkerId;
use crate::slot_record::{CheckHistory, Phase, Stage, Suspicion};
use crate::sync::Ordering;

/// Minimum time between two wakes of all workers.
const WAKE_AGAIN_NS: u64 = 1_000_000_000;
/// Cells of completion rings that one check reads: 16 KiB, some microseconds. Most pools have fewer.
const CELLS_PER_CHECK: u32 = 2048;

impl Front {
    /// Compares the segment with the private memory of this thread. Must be called about ten times a second while
    /// requests are in flight, and once more after the last one, each time after [`Front::poll`] has returned `None`.
    /// `now_ns` is `CLOCK_MONOTONIC`. After a violation the pool needs a new segment.
    ///
    /// Reads the slots in use, the request ring, the parked bits and some cells of completion rings.
    pub fn check(&mut self, now_ns: u64) -> Result<(), ProtocolViolation> {
        let head = self.check_ring()?;
        let mut waiting = false;
        for index in 0..self.records.len() as u16 {
            if self.records[usize::from(index)].phase == Phase::Queued {
                waiting |= self.check_slot(index, head, now_ns)?;
            }
        }
        self.check_places()?;
        self.check_completions()?;
        if waiting {
            self.wake_all(now_ns);
        }
        Ok(())
    }

    /// The head only grows and never passes the tail. This thread wrote every cell between the two, and none for later
    /// positions.
    fn check_ring(&mut self) -> Result<u64, ProtocolViolation> {
        let memory = &self.segment.memory;
        let cells = u64::from(memory.geometry().cells());
        let head = memory.ring(self.index).head.0.load(Ordering::SeqCst);
        if head < self.head_seen || head > self.tail || self.tail - head > cells {
            return Err(self.ring_violation());
        }
        self.head_seen = head;
        let slots = self.records.len();
        let overwritten = (head..head + cells).find(|&position| {
            let cell = memory.cell(self.index, position).load(Ordering::Acquire);
            let pushed = cell >> 16 == ((position + 1) & POSITION_MASK);
            pushed != (position < self.tail) || (pushed && usize::from(cell as u16) >= slots)
        });
        overwritten.map_or(Ok(head), |position| Err(ProtocolViolation::Cell(position)))
    }

    /// A pushed slot is queued at its position or claimed by one worker. Returns whether it is queued and was
    /// at the last check. `head` was read before.
    fn check_slot(
        &mut self,
        index: u16,
        head: u64,
        now_ns: u64,
    ) -> Result<bool, ProtocolViolation> {
        let record = &self.records[usize::from(index)];
        let position = record.position;
        let mut history = record.history;
        if history.position != position {
            history = CheckHistory {
                position,
                ..CheckHistory::default()
            };
        }
        let words = self.segment.memory.slot(self.index, index);
        let word = words.request.state.load(Ordering::SeqCst);
        let overwritten = ProtocolViolation::State {
            slot: index,
            state: word,
        };
        let mut waiting = false;
        if word == state(position, 0, SLOT_QUEUED) {
            waiting = std::mem::replace(&mut history.queued, true);
            if history.owner.is_some() {
                return Err(overwritten);
            }
            self.check_queued(index, head)?;
        } else {
            let worker = WorkerId(state_worker(word));
            let claimed = word == state(position, worker.0, SLOT_OWNED);
            // The recovery of an exited worker takes all its slots.
            if !claimed || !self.segment.places.awaits(worker, self.index) {
                return Err(overwritten);
            }
            if *history.owner.get_or_insert(worker) != worker {
                return Err(overwritten);
            }
            self.check_claimed(index, worker, &mut history, now_ns)?;
        }
        self.records[usize::from(index)].history = history;
        Ok(waiting)
    }

    /// The next search must find the slot, with the request that this thread wrote.
    fn check_queued(&self, index: u16, head: u64) -> Result<(), ProtocolViolation> {
        let record = &self.records[usize::from(index)];
        // The head passes a cell only after the slot has left QUEUED.
        if record.position < head {
            return Err(ProtocolViolation::Skipped(index));
        }
        let cell = self.segment.memory.cell(self.index, record.position);
        if cell.load(Ordering::Acquire) != request_cell(record.position, index) {
            return Err(ProtocolViolation::Cell(record.position));
        }
        let request = &self.segment.memory.slot(self.index, index).request;
        let unchanged = request.request_id.load(Ordering::Relaxed) == record.request_id
            && request.vars_size.load(Ordering::Relaxed) == record.vars_size
            && request.body_kind.load(Ordering::Relaxed) == record.body_kind
            && request.body_size.load(Ordering::Relaxed) == record.body_size
            && request.flags.load(Ordering::Relaxed) == record.flags;
        if unchanged {
            Ok(())
        } else {
            Err(ProtocolViolation::Request(index))
        }
    }

    fn check_claimed(
        &self,
        index: u16,
        worker: WorkerId,
        history: &mut CheckHistory,
        now_ns: u64,
    ) -> Result<(), ProtocolViolation> {
        if self.is_distrusted(worker) {
            return Ok(()); // it is being killed
        }
        let progress = self.records[usize::from(index)].progress;
        let words = self.segment.memory.slot(self.index, index);
        // Only this thread writes the word.
        if words.front.consumed.load(Ordering::Relaxed) != progress.acknowledged {
            return Err(ProtocolViolation::Consumed(index));
        }
        self.check_owner(index, worker, history, now_ns)?;
        // `waiting` may be overwritten, so the worker is woken once more for the last space that was released. A
        // spurious wake is harmless.
        if progress.acknowledged != history.nudged {
            history.nudged = progress.acknowledged;
            self.wake_owner(index, false);
        }
        Ok(())
    }

    /// Checks that the worker in the state really has the request.
    fn check_owner(
        &self,
        index: u16,
        worker: WorkerId,
        history: &mut CheckHistory,
        now_ns: u64,
    ) -> Result<(), ProtocolViolation> {
        let not_held = Err(ProtocolViolation::NotHeld {
            slot: index,
            worker: worker.0,
        });
        let parked = self.segment.memory.parked(worker.word());
        let sleeps = parked.load(Ordering::SeqCst) & worker.bit() != 0;
        let one_at_a_time = matches!(self.segment.sleep, Sleep::OnFutex);
        // Such a worker sets its bit after it has completed what it claimed. The state was read before the
        // bit, so the bit is later than the claim.
        if one_at_a_time && sleeps {
            return if self.cell_is_new(worker).is_none() {
                not_held
            } else {
                Ok(()) // the completion has not been polled yet
            };
        }
        let words = &self.segment.memory.slot(self.index, index).worker;
        let record = &self.records[usize::from(index)];
        // A worker writes `echo_id` right after the claim, and the completion right after the END frame.
        let opened = words.echo_id.load(Ordering::Relaxed) != 0;
        let ended = record.progress.stage == Stage::Ended;
        if (opened && !ended) || self.cell_is_new(worker).is_some() {
            history.suspicion = Suspicion::None;
            return Ok(());
        }
        match history.suspicion {
            Suspicion::None => {
                history.suspicion = Suspicion::Since(now_ns);
                // It may sleep without its bit.
                self.segment.wake_worker(worker);
            }
            Suspicion::Since(since_ns) => {
                let words = &self.segment.memory.worker(worker.0).own;
                let running = words.request_id.load(Ordering::Relaxed);
                let elsewhere = one_at_a_time && running != 0 && running != record.request_id;
                if elsewhere || words.looked_ns.load(Ordering::Relaxed) > since_ns {
                    // A completion before that is visible at the next check at the latest.
                    history.suspicion = Suspicion::MovedOn;
                }
            }
            Suspicion::MovedOn => return not_held,
        }
        Ok(())
    }

    /// Recovery clears the parked bit of an exited worker.
    fn check_places(&self) -> Result<(), ProtocolViolation> {
        for number in 0..self.segment.geometry().workers() as u16 {
            let worker = WorkerId(number);
            let parked = self.segment.memory.parked(worker.word());
            // The bit is read first: a worker that has just started may set it at any moment.
            if parked.load(Ordering::SeqCst) & worker.bit() != 0
                && !self.segment.places.awaits(worker, self.index)
            {
                return Err(ProtocolViolation::Parked(number));
            }
        }
        Ok(())
    }

    /// A worker writes its cells in order, so none may be missing before a new one. Each check reads some of the rings.
    fn check_completions(&mut self) -> Result<(), ProtocolViolation> {
        let cells = self.segment.geometry().cells();
        let workers = self.segment.geometry().workers() as usize;
        let rings = (CELLS_PER_CHECK / cells).max(1) as usize;
        for _ in 0..rings.min(workers) {
            let worker = WorkerId(self.next_ring as u16);
            self.next_ring = (self.next_ring + 1) % workers;
            if !self.segment.places.awaits(worker, self.index) || self.is_distrusted(worker) {
                continue;
            }
            let later = (1..cells).any(|ahead| self.cell_ahead(worker, ahead).is_some());
            if later && self.cell_is_new(worker).is_none() {
                return Err(ProtocolViolation::CompletionLost(worker.0));
            }
        }
        Ok(())
    }

    /// Wakes every worker, at most once a second, because a request waits: the parked bits may be
    /// overwritten. Workers that are busy or stopped ignore it.
    fn wake_all(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.woken_all_ns) < WAKE_AGAIN_NS {
            return;
        }
        self.woken_all_ns = now_ns;
        for number in 0..self.segment.geometry().workers() as u16 {
            let worker = WorkerId(number);
            if self.segment.places.awaits(worker, self.index) {
                self.segment.wake_worker(worker);
            }
        }
    }

    fn is_distrusted(&self, worker: WorkerId) -> bool {
        self.distrusted[worker.word()] & worker.bit() != 0
    }
}
