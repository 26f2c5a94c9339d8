//! The front's side: one [`Front`] per pool and front thread.

mod completion;
mod consistency;
mod leave;
mod queue;
mod recovery;
mod status;
mod wake_estimate;

pub use completion::Event;
pub use recovery::{Recovery, TornSlot};

use self::wake_estimate::WakeEstimate;
use crate::buffers::Buffers;
use crate::errors::{FillError, SlotError};
use crate::geometry::Geometry;
use crate::layout::{
    ABORTED_CLIENT, ABORTED_TIME, BODY_FILE, BODY_INLINE, BODY_NONE, SLOT_FREE, SLOT_OWNED, align8,
    state, state_worker,
};
use crate::memory::Area;
use crate::segment::{Segment, SegmentError};
use crate::sleep::Sleep;
use crate::slot::{Body, Hold, SlotId, WorkerId};
use crate::slot_record::{Phase, Progress, Record};
use crate::sync::{Ordering, mutant, store_load_barrier};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// The result of cancelling a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// No worker had it. The slot is free again and its id is no longer valid.
    Removed,
    /// A worker has it: `Event::Done` will come, or the worker's exit.
    Claimed,
}

/// A front thread's part of a segment: its slots, its request ring, its ends of the completion rings.
///
/// It can be moved to its thread and must then be used there only.
#[derive(Debug)]
pub struct Front {
    pub(crate) segment: Arc<Segment>,
    pub(crate) index: u16,
    pub(crate) records: Box<[Record]>,
    /// Free slots, last in first out: the memory of a slot that was just used is still in the processor's cache.
    free: Vec<u16>,
    /// The position of the next push.
    tail: u64,
    /// The last known head of the request ring: it only grows, so an old value is safe.
    head_seen: u64,
    /// The next cell to read of each worker.
    read: Box<[u32]>,
    /// Workers with invalid completions: not read again before they are recovered.
    distrusted: [u64; crate::layout::PARKED_WORDS],
    /// The worker whose completions are read next.
    cursor: usize,
    /// Buffers for responses.
    pub(crate) buffers: Buffers,
    wake_estimate: WakeEstimate,
    /// When all workers were last woken together.
    woken_all_ns: u64,
    /// The worker whose completion ring is checked next.
    next_ring: usize,
    /// `Send`, but not `Sync`.
    one_thread: PhantomData<Cell<()>>,
}

impl Segment {
    /// Creates the segment and one [`Front`] for each front thread.
    ///
    /// The file is sealed: no process can shrink or grow it.
    pub fn create(geometry: Geometry) -> Result<(Arc<Self>, Vec<Front>), SegmentError> {
        Ok(fronts(Self::with_sleep(geometry, Sleep::OnFutex)?))
    }

    /// The same for a pool whose workers run several requests at the same time: each place has an eventfd, on which its
    /// worker sleeps together with the descriptors that its requests wait for.
    pub fn create_concurrent(geometry: Geometry) -> Result<(Arc<Self>, Vec<Front>), SegmentError> {
        let sleep = Sleep::on_event(&geometry).map_err(|source| SegmentError {
            size: geometry.header().segment_size,
            source,
        })?;
        Ok(fronts(Self::with_sleep(geometry, sleep)?))
    }
}

/// A segment with a [`Front`] for each front thread.
fn fronts(segment: Arc<Segment>) -> (Arc<Segment>, Vec<Front>) {
    let fronts = (0..segment.geometry().fronts() as u16)
        .map(|front| Front::new(Arc::clone(&segment), front))
        .collect();
    (segment, fronts)
}

impl Front {
    pub(crate) fn new(segment: Arc<Segment>, index: u16) -> Self {
        let geometry = *segment.geometry();
        let slots = geometry.slots() as u16;
        Self {
            segment,
            index,
            records: (0..slots).map(|_| Record::new()).collect(),
            free: (0..slots).rev().collect(),
            tail: 0,
            head_seen: 0,
            read: vec![0; geometry.workers() as usize].into_boxed_slice(),
            distrusted: Default::default(),
            cursor: 0,
            buffers: Buffers::default(),
            wake_estimate: WakeEstimate::new(),
            woken_all_ns: 0,
            next_ring: 0,
            one_thread: PhantomData,
        }
    }

    /// Index among the front threads of the segment.
    pub const fn index(&self) -> usize {
        self.index as usize
    }

    /// The segment that it belongs to.
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Takes a free slot. `None`: all are in use, so the request must wait or be refused.
    pub fn acquire(&mut self) -> Option<SlotId> {
        let index = self.free.pop()?;
        let record = &mut self.records[usize::from(index)];
        record.generation = record.generation.wrapping_add(1);
        record.phase = Phase::Empty;
        record.request_id = 0;
        Some(SlotId {
            generation: record.generation,
            index,
            front: self.index,
        })
    }

    /// Writes a request into an acquired slot: `vars` in the encoding of `struct howdah_var`, `flags`
    /// of `HOWDAH_REQUEST_*`. After an error the slot can be filled again or released.
    pub fn fill(
        &mut self,
        slot: SlotId,
        request_id: u64,
        vars: &[u8],
        body: Body<'_>,
        flags: u32,
    ) -> Result<(), FillError> {
        self.expect(slot, Phase::Empty)?;
        if request_id == 0 {
            return Err(FillError::NoId);
        }
        let room = self.segment.geometry().request_size();
        let body_at = align8(vars.len() as u64);
        let (body_kind, body_size, needed) = match body {
            Body::None => (BODY_NONE, 0, vars.len() as u64),
            Body::Inline(bytes) => (
                BODY_INLINE,
                bytes.len() as u64,
                body_at + bytes.len() as u64,
            ),
            Body::File(size) => (BODY_FILE, size, vars.len() as u64),
        };
        if needed > u64::from(room) {
            return Err(FillError::TooLarge { needed, room });
        }
        let area = Area::Request {
            front: self.index,
            slot: slot.index,
        };
        self.segment.memory.copy_in(area, 0, vars);
        if let Body::Inline(bytes) = body {
            self.segment.memory.copy_in(area, body_at, bytes);
        }
        let record = &mut self.records[slot.index()];
        record.request_id = request_id;
        record.vars_size = vars.len() as u32;
        record.body_kind = body_kind;
        record.body_size = body_size;
        record.flags = flags;
        record.phase = Phase::Filled;
        self.write_request(slot.index);
        Ok(())
    }

    /// Writes all words of a slot except the state. No other process uses them: the slot is FREE, or OWNED by a process
    /// that has exited. The release store of the state publishes them.
    fn write_request(&mut self, index: u16) {
        let record = &mut self.records[usize::from(index)];
        record.progress = Progress::new();
        let slot = self.segment.memory.slot(self.index, index);
        slot.request
            .request_id
            .store(record.request_id, Ordering::Relaxed);
        slot.request
            .vars_size
            .store(record.vars_size, Ordering::Relaxed);
        slot.request
            .body_kind
            .store(record.body_kind, Ordering::Relaxed);
        slot.request
            .body_size
            .store(record.body_size, Ordering::Relaxed);
        slot.request.flags.store(record.flags, Ordering::Relaxed);
        slot.front.consumed.store(0, Ordering::Relaxed);
        slot.front.aborted.store(0, Ordering::Relaxed);
        slot.worker.committed.store(0, Ordering::Relaxed);
        slot.worker.echo_id.store(0, Ordering::Relaxed);
        slot.worker.started.store(0, Ordering::Relaxed);
        slot.worker.waiting.store(0, Ordering::Relaxed);
        slot.worker.notified.store(0, Ordering::Relaxed);
        slot.worker.claimed_ns.store(0, Ordering::Relaxed);
        slot.worker.served_ns.store(0, Ordering::Relaxed);
    }

    /// Notifies the worker, also one that claims the request later, that the client disconnected. The request runs to
    /// its end or PHP ends it; `Event::Done` comes in both cases.
    pub fn abort(&mut self, slot: SlotId) -> Result<(), SlotError> {
        if self.record(slot)?.phase == Phase::Filled {
            let words = self.segment.memory.slot(self.index, slot.index);
            words.front.aborted.store(ABORTED_CLIENT, Ordering::Relaxed);
            return Ok(());
        }
        self.give_up(slot, ABORTED_CLIENT)
    }

    /// Notifies the worker of a concurrent pool that the request's time is over: it must be ended now, and the worker's
    /// other requests continue. `Event::Done` follows, unless the request cannot be ended.
    pub fn expire(&mut self, slot: SlotId) -> Result<(), SlotError> {
        self.give_up(slot, ABORTED_TIME)
    }

    fn give_up(&mut self, slot: SlotId, why: u32) -> Result<(), SlotError> {
        self.expect(slot, Phase::Queued)?;
        let aborted = &self
            .segment
            .memory
            .slot(self.index, slot.index)
            .front
            .aborted;
        // An exceeded limit is more specific than a disconnected client.
        aborted.fetch_max(why, Ordering::SeqCst);
        store_load_barrier();
        // Whether or not the worker already waits: the word has changed, so it checks again.
        self.wake_owner(slot.index, mutant!(AbortWithoutWake));
        Ok(())
    }

    /// Requests a sample of the slot's request from a worker that has claimed it; otherwise does nothing.
    pub fn sample(&self, slot: SlotId) {
        let Some(worker) = self.owner(slot.index) else {
            return;
        };
        let words = &self.segment.memory.worker(worker.0).front;
        let id = self.records[slot.index()].request_id;
        words.sample_id.store(id, Ordering::Relaxed);
        words.sample.increment_and_wake();
    }

    /// Makes the worker that has claimed the slot check the front's words again.
    pub(crate) fn wake_owner(&self, index: u16, silently: bool) {
        let slot = self.segment.memory.slot(self.index, index);
        if matches!(self.segment.sleep, Sleep::OnFutex) {
            slot.front.space.increment_and_wake();
            return;
        }
        slot.front.space.add();
        if let Some(worker) = self.owner(index).filter(|_| !silently) {
            self.segment.wake_worker(worker);
        }
    }

    /// The worker that has claimed the slot.
    fn owner(&self, index: u16) -> Option<WorkerId> {
        let slot = self.segment.memory.slot(self.index, index);
        let word = slot.request.state.load(Ordering::SeqCst);
        let worker = WorkerId(state_worker(word));
        let exists = worker.index() < self.segment.geometry().workers() as usize;
        (exists && word == self.owned(index, worker)).then_some(worker)
    }

    /// Identifies the request for later checks of whether a worker still has it. `None`: no worker
    /// has it.
    pub fn hold(&self, slot: SlotId) -> Option<Hold> {
        self.expect(slot, Phase::Queued).ok()?;
        let worker = self.owner(slot.index)?;
        Some(Hold {
            front: self.index,
            slot: slot.index,
            state: self.owned(slot.index, worker),
        })
    }

    /// Releases a slot that was never pushed, that is done, or that is torn and not requeued.
    pub fn release(&mut self, slot: SlotId) -> Result<(), SlotError> {
        let record = self.record(slot)?;
        if record.phase == Phase::Queued {
            return Err(Self::wrong_phase(record.phase, "done, torn or not pushed"));
        }
        self.give_back(slot.index);
        Ok(())
    }

    fn give_back(&mut self, index: u16) {
        let request = &self.segment.memory.slot(self.index, index).request;
        request
            .state
            .store(state(0, 0, SLOT_FREE), Ordering::Relaxed);
        self.records[usize::from(index)].phase = Phase::Free;
        self.free.push(index);
    }

    /// The state word of a slot that `worker` has claimed.
    pub(crate) fn owned(&self, index: u16, worker: WorkerId) -> u64 {
        state(
            self.records[usize::from(index)].position,
            worker.0,
            SLOT_OWNED,
        )
    }

    pub(crate) fn record(&self, slot: SlotId) -> Result<&Record, SlotError> {
        let record = self.records.get(slot.index()).ok_or(SlotError::Stale)?;
        let current = slot.front == self.index
            && record.generation == slot.generation
            && record.phase != Phase::Free;
        if current {
            Ok(record)
        } else {
            Err(SlotError::Stale)
        }
    }

    fn expect(&self, slot: SlotId, phase: Phase) -> Result<(), SlotError> {
        let found = self.record(slot)?.phase;
        if found == phase {
            Ok(())
        } else {
            Err(Self::wrong_phase(found, phase.name()))
        }
    }

    pub(crate) const fn wrong_phase(found: Phase, expected: &'static str) -> SlotError {
        SlotError::State {
            found: found.name(),
            expected,
        }
    }
}
