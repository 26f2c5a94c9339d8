//! Atomics, futexes and doorbells, replaced by models when built with `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The store-load barrier between publishing and checking whether the other side sleeps.
///
/// The accesses on both sides of every use are `SeqCst` read-modify-writes and loads, which is
/// enough in the real build. loom treats `SeqCst` accesses as `AcqRel`, so the model needs the
/// fence that the real accesses imply.
#[inline]
pub(crate) fn store_load_barrier() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// A 32-bit word in the segment that a worker sleeps on. Shared between processes, so the private
/// futex flag must not be used.
#[cfg(not(loom))]
#[repr(transparent)]
#[derive(Debug, Default)]
pub(crate) struct FutexWord(AtomicU32);

#[cfg(not(loom))]
impl FutexWord {
    #[cfg(any(test, feature = "fake-worker"))]
    pub(crate) fn load(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// Adds one. No thread sleeps on the word itself.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Adds one and wakes the worker that sleeps on the word.
    pub(crate) fn increment_and_wake(&self) {
        self.add();
        let woken = rustix::thread::futex::wake(&self.0, rustix::thread::futex::Flags::empty(), 1);
        // FUTEX_WAKE fails only for an address that is not mapped or not aligned.
        debug_assert!(woken.is_ok(), "futex wake: {woken:?}");
    }

    /// Sleeps unless the value has changed from `seen`. Returns early on a signal: callers check
    /// again.
    #[cfg(any(test, feature = "fake-worker"))]
    pub(crate) fn wait(&self, seen: u32) {
        let flags = rustix::thread::futex::Flags::empty();
        let slept = rustix::thread::futex::wait(&self.0, flags, seen, None);
        debug_assert!(
            matches!(
                slept,
                Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)
            ),
            "futex wait: {slept:?}"
        );
    }
}

#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct FutexWord {
    value: AtomicU32,
    queue: loom::sync::Mutex<()>,
    woken: loom::sync::Condvar,
}

#[cfg(loom)]
impl FutexWord {
    pub(crate) fn load(&self) -> u32 {
        self.value.load(Ordering::SeqCst)
    }

    pub(crate) fn add(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn increment_and_wake(&self) {
        self.add();
        // The kernel compares and enqueues under a lock of the word; the mutex is that lock.
        let _queue = self.queue.lock().unwrap();
        self.woken.notify_one();
    }

    pub(crate) fn wait(&self, seen: u32) {
        let queue = self.queue.lock().unwrap();
        if self.value.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(queue).unwrap());
        }
    }
}

/// An eventfd.
#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: loom::sync::Mutex<bool>,
    changed: loom::sync::Condvar,
}

#[cfg(loom)]
impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    /// Waits until it is set and resets it.
    pub(crate) fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.changed.wait(rung).unwrap();
        }
        *rung = false;
    }
}

/// A deliberate defect, enabled by a test that proves that the other tests would detect it.
#[cfg(any(test, loom))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// `push` checks `parked` without a barrier after publishing the cell.
    PushWithoutBarrier,
    /// The search after setting the parked bit claims instead of peeking.
    RecheckClaims,
    /// The front clears `notified` with a store instead of an exchange.
    NotifiedStored,
    /// The front goes to sleep without checking the completion rings again.
    SleepWithoutCheck,
    /// A claim takes any queued slot, whatever its position.
    ClaimIgnoresPosition,
    /// Recovery does not wake others for requests that are still queued.
    NoRewake,
    /// Recovery searches for owned slots before it has drained the completion ring.
    ScanBeforeDrain,
    /// A worker that exits keeps the wake that was meant for a request, or a request that was left to it.
    StopKeepsWake,
    /// A concurrent worker without a free place sets its parked bit.
    ParkedWhenFull,
    /// An abort increments the slot's word and does not wake the worker of a concurrent pool.
    AbortWithoutWake,
}

#[cfg(any(test, loom))]
mod mutants {
    use super::Mutant;
    use std::cell::Cell;

    // Not loom's thread-local: all threads of a model run on one thread of the system.
    std::thread_local! {
        static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    pub(crate) fn is_active(mutant: Mutant) -> bool {
        ACTIVE.get() == Some(mutant)
    }

    /// Runs `test` with the defect and returns whether it was detected, that is, whether `test` panicked.
    #[cfg(test)]
    pub(crate) fn catches(mutant: Mutant, test: impl FnOnce()) -> bool {
        ACTIVE.set(Some(mutant));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        ACTIVE.set(None);
        result.is_err()
    }
}

#[cfg(test)]
pub(crate) use mutants::catches;
#[cfg(any(test, loom))]
pub(crate) use mutants::is_active;

/// Whether the defect named by the identifier is enabled; `false` at compile time outside tests.
macro_rules! mutant {
    ($name:ident) => {{
        #[cfg(any(test, loom))]
        {
            $crate::sync::is_active($crate::sync::Mutant::$name)
        }
        #[cfg(not(any(test, loom)))]
        {
            false
        }
    }};
}
pub(crate) use mutant;
