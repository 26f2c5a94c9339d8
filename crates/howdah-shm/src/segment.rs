//! A pool's segment and the parts that all front threads share: eventfds, places for workers,
//! stopping.

use crate::errors::EnlistError;
use crate::geometry::Geometry;
use crate::layout::{FRONTS_MAX, LIFE_ENDED, PARKED_WORDS};
use crate::memory::Memory;
use crate::sleep::Sleep;
use crate::slot::{Hold, WorkerId};
use crate::status::WorkerStatus;
use crate::sync::{Ordering, store_load_barrier};
#[cfg(not(loom))]
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Why a segment was not created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a shared segment of {size} bytes")]
pub struct SegmentError {
    /// Bytes that were requested.
    pub size: u64,
    #[source]
    pub(crate) source: rustix::io::Errno,
}

/// The shared memory of one pool. Created once, before the pool's zygote starts; may be used from
/// any thread. It lives as long as one of its `Front`s.
#[derive(Debug)]
pub struct Segment {
    pub(crate) memory: Memory,
    #[cfg(not(loom))]
    eventfds: Vec<OwnedFd>,
    #[cfg(loom)]
    pub(crate) bells: Vec<crate::sync::Bell>,
    pub(crate) sleep: Sleep,
    pub(crate) places: Places,
}

/// The places for workers, as the front process records them. Not in shared memory.
#[derive(Debug)]
pub(crate) struct Places {
    /// Places that were ever in use: their completion rings must be read. The empty ring of a free place costs one
    /// load.
    pub(crate) enlisted: [AtomicU64; PARKED_WORDS],
    /// For each worker, the front threads, as bits, that have not recovered the current process.
    waiting: Vec<AtomicU32>,
    /// For each front thread and worker, how far the completion ring was read when the last process
    /// exited.
    read: Vec<AtomicU32>,
    workers: usize,
}

/// Where the completion rings of a new worker process continue: the data of a SPAWN message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteIndices {
    indices: [u32; FRONTS_MAX as usize],
    fronts: usize,
}

impl WriteIndices {
    /// One index for each front thread.
    pub fn as_slice(&self) -> &[u32] {
        &self.indices[..self.fronts]
    }
}

impl Segment {
    /// The segment alone: `Segment::create` makes its fronts.
    pub(crate) fn with_sleep(geometry: Geometry, sleep: Sleep) -> Result<Arc<Self>, SegmentError> {
        let failed = |source| SegmentError {
            size: geometry.header().segment_size,
            source,
        };
        let segment = Arc::new(Self {
            memory: Memory::create(geometry).map_err(failed)?,
            #[cfg(not(loom))]
            eventfds: (0..geometry.fronts())
                .map(|_| crate::sleep::eventfd())
                .collect::<Result<_, _>>()
                .map_err(failed)?,
            #[cfg(loom)]
            bells: (0..geometry.fronts())
                .map(|_| crate::sync::Bell::default())
                .collect(),
            sleep,
            places: Places::new(&geometry),
        });
        #[cfg(all(any(test, feature = "fake-worker"), not(any(loom, miri))))]
        made::note(&segment);
        Ok(segment)
    }

    /// The segment of a file that was passed on, for workers that are threads of a test. `None`: it belongs to another
    /// test, or is gone.
    #[cfg(all(any(test, feature = "fake-worker"), not(any(loom, miri))))]
    pub fn of_file(file: BorrowedFd<'_>) -> Option<Arc<Self>> {
        let inode = |file: BorrowedFd<'_>| Some(rustix::fs::fstat(file).ok()?.st_ino);
        let wanted = inode(file)?;
        let segments = made::SEGMENTS.lock().ok()?;
        let mut segments = segments.iter().filter_map(std::sync::Weak::upgrade);
        segments.find(|segment| inode(segment.fd()) == Some(wanted))
    }

    /// Overwrites 8 bytes at a multiple of 8, as a broken worker may do. For tests.
    #[cfg(all(any(test, feature = "fake-worker"), not(loom)))]
    pub fn scribble(&self, at: u64, word: u64) {
        self.memory.scribble(at, word);
    }

    /// The numbers that the segment was made from.
    pub const fn geometry(&self) -> &Geometry {
        self.memory.geometry()
    }

    /// Whether a process that maps the segment now finds what [`Segment::create`] wrote.
    #[cfg(not(loom))]
    pub fn is_mappable(&self) -> bool {
        self.memory.has_header()
    }

    /// The file for the pool's zygote.
    #[cfg(not(any(loom, miri)))]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// The eventfds, one for each front thread, non-blocking. Workers write to them; the front
    /// thread waits until its own is readable. With edge-triggered waiting it need not be read.
    #[cfg(not(loom))]
    pub fn eventfds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.eventfds.iter().map(OwnedFd::as_fd)
    }

    /// The eventfds that the workers of a concurrent pool sleep on, one for each place; none otherwise.
    #[cfg(not(loom))]
    pub fn worker_eventfds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sleep.eventfds()
    }

    /// Wakes a worker, or keeps it from going to sleep.
    pub(crate) fn wake_worker(&self, worker: WorkerId) {
        let wake = &self.memory.worker(worker.0).front.wake;
        match &self.sleep {
            Sleep::OnFutex => wake.increment_and_wake(),
            Sleep::OnEvent(events) => {
                wake.add();
                events[worker.index()].ring();
            }
        }
    }

    /// Wakes a front thread, as a worker does.
    #[cfg(any(test, loom, feature = "fake-worker"))]
    pub(crate) fn ring_bell(&self, front: u16) {
        #[cfg(loom)]
        self.bells[front as usize].ring();
        #[cfg(not(loom))]
        crate::sleep::ring(&self.eventfds[front as usize]);
    }

    /// Assigns a place to a new worker process, which must be forked with the returned indices.
    /// From here on each front thread reads the worker's completions, until it has recovered it.
    ///
    /// Refused while a front thread has not recovered the predecessor in that place. If the process
    /// then cannot be started, recover the place as if it had exited.
    pub fn admit(&self, worker: WorkerId) -> Result<WriteIndices, EnlistError> {
        let indices = self.places.admit(worker, self.geometry().fronts())?;
        let words = self.memory.worker(worker.0);
        // The predecessor exited, so the front owns its words for this moment.
        words.front.stop.store(0, Ordering::Relaxed);
        words.own.request_id.store(0, Ordering::Relaxed);
        words.own.requests.store(0, Ordering::Relaxed);
        words.own.memory.store(0, Ordering::Relaxed);
        words.own.hog_ns.store(0, Ordering::Relaxed);
        words.own.in_flight.store(0, Ordering::Relaxed);
        words.own.looked_ns.store(0, Ordering::Relaxed);
        words.own.sequential.store(0, Ordering::Relaxed);
        words.life.0.store(0, Ordering::Relaxed);
        Ok(indices)
    }

    /// Whether a process may run in the place, or its exit is not fully recovered.
    pub fn is_enlisted(&self, worker: WorkerId) -> bool {
        let waiting = self.places.waiting.get(worker.index());
        waiting.is_some_and(|waiting| waiting.load(Ordering::Acquire) != 0)
    }

    /// Orders a worker to exit once it is idle: it claims nothing more. Its exit is then recovered
    /// like a crash. Unknown workers are ignored.
    pub fn stop(&self, worker: WorkerId) {
        if worker.index() >= self.places.workers {
            return;
        }
        let words = self.memory.worker(worker.0);
        words.front.stop.store(1, Ordering::SeqCst);
        store_load_barrier();
        self.wake_worker(worker);
    }

    /// Orders a worker to log the activity of each of its requests. Unknown workers are ignored.
    pub fn look(&self, worker: WorkerId) {
        if worker.index() < self.places.workers {
            let words = &self.memory.worker(worker.0).front;
            words.look.store(1, Ordering::SeqCst);
            words.sample.increment_and_wake();
        }
    }

    /// A worker's report about itself. For display: a broken worker can write anything here.
    pub fn worker(&self, worker: WorkerId) -> Option<WorkerStatus> {
        (worker.index() < self.places.workers).then(|| WorkerStatus::read(&self.memory, worker))
    }

    /// Whether the kernel has begun to end the process in a place. It may still write: only its pidfd confirms the
    /// exit.
    pub fn is_ending(&self, worker: WorkerId) -> bool {
        worker.index() < self.places.workers
            && self.memory.worker(worker.0).life.0.load(Ordering::Acquire) & LIFE_ENDED != 0
    }

    /// The longest time that a request of a concurrent worker has blocked the others, in nanoseconds, since the last
    /// call. For display, as above.
    pub fn take_hog_ns(&self, worker: WorkerId) -> u64 {
        if worker.index() >= self.places.workers {
            return 0;
        }
        let words = &self.memory.worker(worker.0).own;
        words.hog_ns.swap(0, Ordering::Relaxed)
    }

    /// Whether the worker still has the request, or its completion has not been seen yet.
    pub fn is_held(&self, hold: Hold) -> bool {
        let slot = self.memory.slot(hold.front, hold.slot);
        slot.request.state.load(Ordering::Acquire) == hold.state
    }
}

/// The segments of a test.
#[cfg(all(any(test, feature = "fake-worker"), not(any(loom, miri))))]
mod made {
    use super::Segment;
    use std::sync::{Arc, Mutex, Weak};

    pub(super) static SEGMENTS: Mutex<Vec<Weak<Segment>>> = Mutex::new(Vec::new());

    pub(super) fn note(segment: &Arc<Segment>) {
        if let Ok(mut segments) = SEGMENTS.lock() {
            segments.retain(|segment| segment.strong_count() > 0);
            segments.push(Arc::downgrade(segment));
        }
    }
}

impl Places {
    fn new(geometry: &Geometry) -> Self {
        let workers = geometry.workers() as usize;
        let count = workers * geometry.fronts() as usize;
        Self {
            enlisted: Default::default(),
            waiting: (0..workers).map(|_| AtomicU32::new(0)).collect(),
            read: (0..count).map(|_| AtomicU32::new(0)).collect(),
            workers,
        }
    }

    fn admit(&self, worker: WorkerId, fronts: u32) -> Result<WriteIndices, EnlistError> {
        let waiting = self
            .waiting
            .get(worker.index())
            .ok_or(EnlistError::Unknown(worker))?;
        // Acquire: pairs with the release in `recovered`, so that the indices read below are final.
        waiting
            .compare_exchange(0, (1 << fronts) - 1, Ordering::AcqRel, Ordering::Acquire)
            .map_err(|_| EnlistError::InUse(worker))?;
        let mut indices = [0; FRONTS_MAX as usize];
        for (front, index) in indices.iter_mut().enumerate().take(fronts as usize) {
            *index = self.read[front * self.workers + worker.index()].load(Ordering::Relaxed);
        }
        self.enlisted[worker.word()].fetch_or(worker.bit(), Ordering::Release);
        Ok(WriteIndices {
            indices,
            fronts: fronts as usize,
        })
    }

    /// Whether a front thread has yet to recover the worker.
    pub(crate) fn awaits(&self, worker: WorkerId, front: u16) -> bool {
        let waiting = self.waiting.get(worker.index());
        waiting.is_some_and(|waiting| waiting.load(Ordering::Acquire) & (1 << front) != 0)
    }

    /// A front thread has read the completion ring up to `index` and recovered its slots. True for
    /// the last front thread: the place is free again.
    pub(crate) fn recovered(&self, worker: WorkerId, front: u16, index: u32) -> bool {
        self.read[front as usize * self.workers + worker.index()].store(index, Ordering::Relaxed);
        let waiting = &self.waiting[worker.index()];
        let bit = 1 << front;
        let before = waiting.fetch_and(!bit, Ordering::AcqRel);
        debug_assert!(before & bit != 0);
        before == bit
    }
}
