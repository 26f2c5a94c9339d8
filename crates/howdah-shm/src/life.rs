//! Detects workers that have begun to exit: the kernel marks a word of theirs first (`life` in `howdah_shm.h`), and the
//! pidfd becomes readable when their memory is freed, which can be milliseconds later.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::thread::ClockId;
use rustix::thread::futex::{Wait, WaitFlags, WaitPtr, WaitvFlags, waitv};

use crate::layout::{LIFE_AWAITED, LIFE_ENDED, PARKED_WORDS};
use crate::segment::Segment;
use crate::slot::WorkerId;

/// Watches up to 64 places of a pool, for one thread that waits in [`Self::next`].
#[derive(Debug)]
pub struct LifeWatch {
    segment: Arc<Segment>,
    /// Which 64 places.
    word: usize,
    /// The places among these, as bits, whose process has not been announced.
    watched: AtomicU64,
    /// Futex: incremented whenever the set of watched processes changes.
    changed: AtomicU32,
    closed: AtomicBool,
}

impl LifeWatch {
    /// Watches for all places of a segment, each for up to 64 of them in order.
    pub fn of(segment: &Arc<Segment>) -> impl Iterator<Item = Self> {
        let words = (segment.geometry().workers() as usize).div_ceil(64);
        debug_assert!(words <= PARKED_WORDS);
        (0..words).map(|word| Self {
            segment: segment.clone(),
            word,
            watched: AtomicU64::new(0),
            changed: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        })
    }

    /// A process has taken the place, and has claimed requests or announced that it will. Places outside this watch are
    /// ignored.
    pub fn add(&self, worker: WorkerId) {
        if worker.word() == self.word {
            self.watched.fetch_or(worker.bit(), Ordering::SeqCst);
            self.notify();
        }
    }

    /// Ends [`Self::next`], now and from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.notify();
    }

    /// Sleeps until a process has begun to exit, and returns its place, once for each process; `None`: closed.
    ///
    /// Only a hint, since a broken worker can write anything there, and the place may already have a new process: see
    /// [`Segment::is_ending`]. An error: the kernel has no `futex_waitv` (before Linux 5.16), or a sandbox denies it.
    pub fn next(&self) -> io::Result<Option<WorkerId>> {
        let mut waits = Vec::new();
        loop {
            let changed = self.changed.load(Ordering::SeqCst);
            if self.closed.load(Ordering::SeqCst) {
                return Ok(None);
            }
            waits.clear();
            waits.push(wait(&self.changed, changed));
            if let Some(ending) = self.look(&mut waits) {
                return Ok(Some(ending));
            }
            match waitv(&waits, WaitvFlags::empty(), None, ClockId::Monotonic) {
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A process that exits; if there is none: what to wait for.
    fn look(&self, waits: &mut Vec<Wait>) -> Option<WorkerId> {
        let mut watched = self.watched.load(Ordering::SeqCst);
        while watched != 0 {
            let worker = WorkerId((self.word * 64) as u16 + watched.trailing_zeros() as u16);
            let life = &self.segment.memory.worker(worker.0).life.0;
            let value = life.load(Ordering::Acquire);
            let awaited = value | LIFE_AWAITED;
            if value & LIFE_ENDED != 0 {
                self.watched.fetch_and(!worker.bit(), Ordering::SeqCst);
                if life.load(Ordering::SeqCst) & LIFE_ENDED != 0 {
                    return Some(worker);
                }
                // Otherwise a successor that was added since the first check would not be watched.
                self.watched.fetch_or(worker.bit(), Ordering::SeqCst);
            } else if value & !LIFE_AWAITED == 0 {
                watched &= !worker.bit(); // no process: a successor that is added changes that
            } else if value == awaited
                || life
                    .compare_exchange(value, awaited, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                waits.push(wait(life, awaited));
                watched &= !worker.bit();
            } // otherwise it has changed: check again
        }
        None
    }

    fn notify(&self) {
        self.changed.fetch_add(1, Ordering::SeqCst);
        let flags = rustix::thread::futex::Flags::empty();
        let woken = rustix::thread::futex::wake(&self.changed, flags, 1);
        debug_assert!(woken.is_ok(), "futex wake: {woken:?}");
    }
}

/// A word that workers write is shared with their processes: no private flag.
fn wait(word: &AtomicU32, seen: u32) -> Wait {
    let mut wait = Wait::new();
    wait.val = seen.into();
    wait.uaddr = WaitPtr::new(word.as_ptr().cast());
    wait.flags = WaitFlags::SIZE_U32;
    wait
}
