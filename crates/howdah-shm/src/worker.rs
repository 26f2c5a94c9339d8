//! The worker's side, for tests: the same steps as `worker/src/request/queue.c`, in a thread in place of a PHP process.
//! loom checks these steps; the tests of other crates run them as fake workers.

mod concurrent;
mod response;

pub use concurrent::WorkerStep;
pub use response::ResponseWriter;
#[cfg(test)]
pub(crate) use response::SuspendedResponse;

use crate::layout::{
    DONE, POSITION_MASK, PROGRESS, SLOT_OWNED, SLOT_QUEUED, STARTED_EFFECTS, STARTED_TOO_LONG,
    align8, completion_cell, state, state_kind, state_position,
};
use crate::memory::Area;
use crate::segment::{Segment, WriteIndices};
use crate::sleep::Sleep;
use crate::slot::WorkerId;
use crate::sync::{Ordering, mutant, store_load_barrier};
use bytes::BytesMut;
use std::sync::Arc;

/// A fake worker in one place of a pool.
#[derive(Debug)]
pub struct Worker {
    segment: Arc<Segment>,
    id: WorkerId,
    write: Vec<u32>,
    rotate: usize,
    /// Concurrent: it was woken for a request and has not claimed one since.
    token: bool,
}

/// A claimed request. Dropping it without [`Claim::done`] leaves it as a crashed worker would.
#[derive(Debug)]
pub struct Claim {
    /// Never 0.
    pub request_id: u64,
    /// The encoded variables.
    pub vars: Vec<u8>,
    /// `HOWDAH_BODY_*`.
    pub body_kind: u32,
    /// Bytes of the body.
    pub body_size: u64,
    /// The body if it is in the slot, else empty.
    pub body: Vec<u8>,
    /// `HOWDAH_REQUEST_*`.
    pub flags: u32,
    position: u64,
    front: u16,
    slot: u16,
}

/// A request holds values that the front never writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CorruptRequest;

#[cfg(all(test, loom))]
impl Claim {
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }
}

impl Worker {
    /// Takes a place; `write` is what [`Segment::admit`] returned for it.
    pub fn attach(segment: &Arc<Segment>, id: WorkerId, write: &WriteIndices) -> Self {
        Self::attach_at(segment, id, write.as_slice())
    }

    /// Attaches with the indices as encoded in a SPAWN message.
    pub fn attach_at(segment: &Arc<Segment>, id: WorkerId, write: &[u32]) -> Self {
        let write = write.to_vec();
        let worker = Self {
            segment: Arc::clone(segment),
            id,
            write,
            rotate: id.index(),
            token: false,
        };
        #[cfg(not(loom))]
        worker.life().store(u32::from(id.0) + 1, Ordering::SeqCst);
        worker
    }

    #[cfg(not(loom))]
    fn life(&self) -> &crate::sync::AtomicU32 {
        &self.segment.memory.worker(self.id.0).life.0
    }

    /// Marks its process as one that has begun to exit, as the kernel does for a real one.
    #[cfg(not(any(loom, miri)))]
    pub fn begin_end(&self) {
        use crate::layout::LIFE_ENDED;
        use rustix::thread::futex;
        self.life().fetch_or(LIFE_ENDED, Ordering::SeqCst);
        let woken = futex::wake(self.life(), futex::Flags::empty(), 1);
        debug_assert!(woken.is_ok(), "futex wake: {woken:?}");
    }

    /// Waits for a request. `None`: the front ordered the worker to exit.
    pub fn get(&mut self) -> Option<Claim> {
        let segment = Arc::clone(&self.segment);
        let front = &segment.memory.worker(self.id.0).front;
        let parked = segment.memory.parked(self.id.word());
        loop {
            if front.stop.load(Ordering::SeqCst) != 0 {
                if !mutant!(StopKeepsWake) {
                    self.pass_wake_on();
                }
                return None;
            }
            if let Some(claim) = self.search() {
                return Some(claim);
            }
            // G1 to G6
            let seen = front.wake.load();
            parked.fetch_or(self.id.bit(), Ordering::SeqCst);
            store_load_barrier();
            if mutant!(RecheckClaims) {
                if let Some(claim) = self.search() {
                    parked.fetch_and(!self.id.bit(), Ordering::SeqCst);
                    return Some(claim);
                }
                front.wake.wait(seen);
            } else if !self.peek() && front.stop.load(Ordering::SeqCst) == 0 {
                front.wake.wait(seen);
            }
            parked.fetch_and(!self.id.bit(), Ordering::SeqCst);
        }
    }

    /// Claims a request if there is one.
    ///
    /// # Panics
    /// If it was overwritten, where a real worker exits.
    pub fn search(&mut self) -> Option<Claim> {
        self.try_search().expect("a sound request")
    }

    /// The same. An error: the claimed request is not valid.
    pub(crate) fn try_search(&mut self) -> Result<Option<Claim>, CorruptRequest> {
        let fronts = self.write.len();
        for step in 0..fronts {
            let front = (self.rotate + step) % fronts;
            if let Some((slot, position)) = self.claim(front as u16) {
                self.rotate = front + 1;
                return self.open(front as u16, slot, position).map(Some);
            }
        }
        Ok(None)
    }

    /// C1 to C5.
    fn claim(&self, front: u16) -> Option<(u16, u64)> {
        let memory = &self.segment.memory;
        let head_word = &memory.ring(front).head.0;
        loop {
            let head = head_word.load(Ordering::SeqCst);
            let cell = memory.cell(front, head).load(Ordering::SeqCst);
            if cell >> 16 != (head.wrapping_add(1) & POSITION_MASK) {
                if head_word.load(Ordering::SeqCst) == head {
                    return None;
                }
                continue;
            }
            let slot = cell as u16;
            if u32::from(slot) >= memory.geometry().slots() {
                let next = head.wrapping_add(1);
                let _ = head_word.compare_exchange(head, next, Ordering::SeqCst, Ordering::Relaxed);
                continue;
            }
            let word = &memory.slot(front, slot).request.state;
            let mut queued = state(head, 0, SLOT_QUEUED);
            let found = word.load(Ordering::Relaxed);
            if mutant!(ClaimIgnoresPosition) && state_kind(found) == SLOT_QUEUED {
                queued = found;
            }
            let position = state_position(queued);
            let owned = state(position, self.id.0, SLOT_OWNED);
            let won = found == queued
                && word
                    .compare_exchange(queued, owned, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok();
            // Success or failure: each process advances the head here. Failure: another one has
            // advanced it.
            let next = head.wrapping_add(1);
            let _ = head_word.compare_exchange(head, next, Ordering::SeqCst, Ordering::Relaxed);
            if won {
                return Some((slot, position));
            }
        }
    }

    /// Whether a ring contains anything. A stale cell counts: the search passes it.
    pub(crate) fn peek(&self) -> bool {
        (0..self.write.len() as u16).any(|front| {
            let head_word = &self.segment.memory.ring(front).head.0;
            loop {
                let head = head_word.load(Ordering::SeqCst);
                let cell = self.segment.memory.cell(front, head).load(Ordering::SeqCst);
                if cell >> 16 == (head.wrapping_add(1) & POSITION_MASK) {
                    return true;
                }
                if head_word.load(Ordering::SeqCst) == head {
                    return false;
                }
            }
        })
    }

    /// Passes on the wake of this worker, which may have been meant for a request that it will not claim; or one was
    /// left to it, since it was awake.
    fn pass_wake_on(&self) {
        if !self.peek() {
            return;
        }
        let memory = &self.segment.memory;
        for word in 0..memory.geometry().parked_words() {
            let mut parked = memory.parked(word).load(Ordering::SeqCst);
            while parked != 0 {
                let bit = parked & parked.wrapping_neg();
                if memory.parked(word).fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
                    let worker = word as u16 * 64 + bit.trailing_zeros() as u16;
                    self.segment.wake_worker(WorkerId(worker));
                    return;
                }
                parked = memory.parked(word).load(Ordering::SeqCst);
            }
        }
    }

    fn open(&self, front: u16, slot: u16, position: u64) -> Result<Claim, CorruptRequest> {
        let memory = &self.segment.memory;
        let words = memory.slot(front, slot);
        let request_id = words.request.request_id.load(Ordering::Relaxed);
        let vars_size = words.request.vars_size.load(Ordering::Relaxed);
        let body_kind = words.request.body_kind.load(Ordering::Relaxed);
        let body_size = words.request.body_size.load(Ordering::Relaxed);
        let room = u64::from(memory.geometry().request_size());
        let inline_max = room.saturating_sub(align8(u64::from(vars_size)));
        if request_id == 0
            || u64::from(vars_size) > room
            || body_kind > crate::layout::BODY_FILE
            || (body_kind == crate::layout::BODY_INLINE && body_size > inline_max)
        {
            return Err(CorruptRequest);
        }
        let copy = |at: u64, size: u64| {
            let mut bytes = BytesMut::new();
            memory.copy_out(Area::Request { front, slot }, at, size as usize, &mut bytes);
            Vec::from(bytes)
        };
        let inline = if body_kind == crate::layout::BODY_INLINE {
            body_size
        } else {
            0
        };
        words.worker.echo_id.store(request_id, Ordering::Relaxed);
        words.worker.claimed_ns.store(1, Ordering::Relaxed);
        let own = &memory.worker(self.id.0).own;
        own.request_id.store(request_id, Ordering::Relaxed);
        own.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(Claim {
            request_id,
            vars: copy(0, u64::from(vars_size)),
            body_kind,
            body_size,
            body: copy(align8(u64::from(vars_size)), inline),
            flags: words.request.flags.load(Ordering::Relaxed),
            position,
            front,
            slot,
        })
    }

    /// Publishes a completion cell and wakes the front thread if it sleeps (D1 to D4).
    fn complete(&mut self, claim: &Claim, kind: u64) {
        let memory = &self.segment.memory;
        let write = &mut self.write[claim.front as usize];
        let index = *write;
        *write = index.wrapping_add(1);
        let cell = completion_cell(index, kind, claim.position, claim.slot);
        memory
            .completion(claim.front, self.id.0, index)
            .swap(cell, Ordering::SeqCst);
        store_load_barrier();
        let sleeping = &memory.ring(claim.front).sleeping.0;
        let epoch = sleeping.load(Ordering::SeqCst);
        if epoch & 1 == 1 {
            // The write comes first: if the worker crashes between the two, the word still says
            // that the front sleeps, and the next worker writes.
            self.segment.ring_bell(claim.front);
            // Failed: the front is already awake.
            let _ = sleeping.compare_exchange(
                epoch,
                epoch.wrapping_add(1),
                Ordering::SeqCst,
                Ordering::Relaxed,
            );
        }
    }

    /// Records that the request may have had effects from here on.
    pub fn started(&self, claim: &Claim) {
        let words = &self.segment.memory.slot(claim.front, claim.slot).worker;
        words.started.store(STARTED_EFFECTS, Ordering::Release);
    }

    /// Which of several requests runs; `None`: all of them wait.
    pub fn runs(&self, claim: Option<&Claim>) {
        let own = &self.segment.memory.worker(self.id.0).own;
        let id = claim.map_or(0, |claim| claim.request_id);
        own.request_id.store(id, Ordering::Relaxed);
    }

    /// The worker is about to exit, since the request exceeded its processor time.
    pub fn too_long(&self, claim: &Claim) {
        let words = &self.segment.memory.slot(claim.front, claim.slot).worker;
        words.started.store(STARTED_TOO_LONG, Ordering::Release);
    }

    /// The word that the worker sleeps on while it waits for space.
    #[cfg(test)]
    pub(crate) fn space(&self, claim: &Claim) -> u32 {
        self.segment
            .memory
            .slot(claim.front, claim.slot)
            .front
            .space
            .load()
    }

    /// Whether the client disconnected.
    pub fn is_aborted(&self, claim: &Claim) -> bool {
        self.aborted(claim) != 0
    }

    /// Why the response is not needed: `HOWDAH_ABORTED_*`; 0: it is.
    pub fn aborted(&self, claim: &Claim) -> u32 {
        let words = &self.segment.memory.slot(claim.front, claim.slot).front;
        words.aborted.load(Ordering::Acquire)
    }

    /// Makes `committed` bytes of the response visible and notifies the front, unless it was already notified.
    pub(crate) fn progress(&mut self, claim: &Claim, committed: u64) {
        let segment = Arc::clone(&self.segment);
        let words = &segment.memory.slot(claim.front, claim.slot).worker;
        words.committed.store(committed, Ordering::Release);
        if words.notified.swap(1, Ordering::AcqRel) == 0 {
            self.complete(claim, PROGRESS);
        }
    }

    /// Makes the rest visible and releases the slot.
    pub(crate) fn done(&mut self, claim: &Claim, committed: u64) {
        let segment = Arc::clone(&self.segment);
        let own = &segment.memory.worker(self.id.0).own;
        own.requests.fetch_add(1, Ordering::Relaxed);
        own.request_id.store(0, Ordering::Relaxed);
        own.in_flight.fetch_sub(1, Ordering::Relaxed);
        let words = &segment.memory.slot(claim.front, claim.slot).worker;
        words.committed.store(committed, Ordering::Release);
        self.complete(claim, DONE);
    }

    /// Sleeps until `room` bytes behind `committed` are free. False: the client disconnected.
    pub(crate) fn wait_space(&self, claim: &Claim, committed: u64, room: u64) -> bool {
        let slot = self.segment.memory.slot(claim.front, claim.slot);
        let ring = u64::from(self.segment.geometry().response_size());
        let used = || committed.wrapping_sub(slot.front.consumed.load(Ordering::SeqCst));
        loop {
            let seen = slot.front.space.load();
            slot.worker.waiting.swap(1, Ordering::SeqCst);
            store_load_barrier();
            let used = used();
            let sound = used <= ring;
            if slot.front.aborted.load(Ordering::SeqCst) != 0 || !sound || used + room <= ring {
                slot.worker.waiting.store(0, Ordering::Relaxed);
                return sound && slot.front.aborted.load(Ordering::SeqCst) == 0;
            }
            match &self.segment.sleep {
                Sleep::OnFutex => slot.front.space.wait(seen),
                #[cfg(not(miri))]
                Sleep::OnEvent(events) => events[self.id.index()].wait(),
                #[cfg(miri)]
                Sleep::OnEvent(_) => unreachable!("not with Miri"),
            }
        }
    }
}
