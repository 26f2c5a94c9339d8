//! A worker that has several requests at the same time: how it searches for one, and how it sleeps. The model of what
//! `worker/src/mode/coroutine` does between its coroutines.

use super::{Claim, Worker};
use crate::sleep::Sleep;
use crate::sync::{Ordering, mutant, store_load_barrier};
use std::sync::Arc;

/// What a concurrent worker does next.
#[derive(Debug)]
pub enum WorkerStep {
    /// It has claimed another request.
    Claim(Claim),
    /// It slept and was woken: it checks its requests, since one may be aborted or have space again.
    Woken,
    /// The front ordered it to exit: it claims nothing more and finishes its requests.
    Stop,
}

impl Worker {
    /// Claims a request if there is one and the worker has a `free` place, otherwise sleeps until it is woken, for a
    /// request or for another reason. With `stopping`, after [`WorkerStep::Stop`], it only sleeps.
    ///
    /// # Panics
    /// If the pool is not concurrent.
    pub fn next(&mut self, free: bool, stopping: bool) -> WorkerStep {
        let segment = Arc::clone(&self.segment);
        let Sleep::OnEvent(events) = &segment.sleep else {
            panic!("the pool is not concurrent");
        };
        let stop = &segment.memory.worker(self.id.0).front.stop;
        let parked = segment.memory.parked(self.id.word());
        if !stopping && stop.load(Ordering::SeqCst) != 0 {
            if std::mem::take(&mut self.token) && !mutant!(StopKeepsWake) {
                self.pass_wake_on();
            }
            return WorkerStep::Stop;
        }
        let free = free && !stopping;
        if free && let Some(claim) = self.search() {
            self.token = false;
            return WorkerStep::Claim(claim);
        }
        let parks = free || (!stopping && mutant!(ParkedWhenFull));
        if parks {
            parked.fetch_or(self.id.bit(), Ordering::SeqCst);
        }
        store_load_barrier();
        let leaves = !stopping && stop.load(Ordering::SeqCst) != 0;
        let stays_awake = leaves || (free && self.peek());
        if !stays_awake {
            #[cfg(miri)]
            unreachable!("Miri has no poll(2): {events:?}");
            #[cfg(not(miri))]
            events[self.id.index()].wait();
        }
        if parks {
            let before = parked.fetch_and(!self.id.bit(), Ordering::SeqCst);
            self.token = before & self.id.bit() == 0;
        }
        WorkerStep::Woken
    }
}
