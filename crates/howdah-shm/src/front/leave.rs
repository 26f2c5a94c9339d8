//! Decides which requests are left to workers that are awake, and for which another worker is
//! woken.
//!
//! Waking a worker for a request of some microseconds costs more than the request: the wake, two switches, and the
//! caches of the processes that it displaces. A worker that is awake looks for requests before it sleeps (G3), so a
//! request that it will soon reach needs no wake. How soon that is can only be estimated, from the times of earlier
//! requests, so a front thread that leaves requests must check them again in time: [`Front::recheck_left`].

use super::Front;
#[cfg(all(test, loom))]
use super::wake_estimate::WAIT_COST;
use crate::sleep::Sleep;
#[cfg(all(test, loom))]
use crate::slot::WorkerId;
use crate::sync::Ordering;
use std::time::Duration;

impl Front {
    /// From now on a request wakes no worker if workers that are awake are expected to reach it within `limit`. With
    /// zero, the default, each request wakes one, if one sleeps. The caller must call [`Front::recheck_left`] every few
    /// milliseconds while [`Front::may_have_left`]. Concurrent pools have a different mechanism and ignore this.
    pub fn set_leave_limit(&mut self, limit: Duration) {
        if matches!(self.segment.sleep, Sleep::OnFutex) {
            self.wake_estimate.limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        }
    }

    /// Whether requests that woke no worker may still be queued.
    pub fn may_have_left(&self) -> bool {
        self.wake_estimate.left && self.queued() > 0
    }

    /// Wakes workers if a request is still queued that was queued at the last call. True: something is queued, so call
    /// it again after a while.
    pub fn recheck_left(&mut self) -> bool {
        let kept_waiting = std::mem::replace(&mut self.wake_estimate.looked_at, self.tail);
        let queued = self.queued();
        if queued == 0 {
            self.wake_estimate.left = false;
        } else if self.tail.saturating_sub(queued) < kept_waiting && self.rewake() {
            // A worker slept. If none does, leaving the request was no error.
            self.wake_estimate.note_late_claim();
        }
        queued > 0
    }

    /// Treats all workers as attentive, whatever that cost before.
    #[cfg(all(test, loom))]
    pub(crate) fn trust_workers(&mut self) {
        for worker in 0..self.segment.geometry().workers() as u16 {
            self.wake_estimate.woken(WorkerId(worker));
        }
        self.wake_estimate.credit = WAIT_COST;
    }

    /// Whether a request that was just queued is left to workers that are awake. Must be called after the barrier:
    /// either a worker that is about to sleep is seen, or it sees the request.
    pub(super) fn is_left(&mut self) -> bool {
        if self.wake_estimate.limit_ns == 0 {
            return false;
        }
        let memory = &self.segment.memory;
        let awake = (0..memory.geometry().parked_words())
            .map(|word| {
                let parked = memory.parked(word).load(Ordering::SeqCst);
                (self.wake_estimate.attentive[word] & !parked).count_ones()
            })
            .sum();
        let left = self.wake_estimate.allows(self.queued(), awake);
        self.wake_estimate.left |= left;
        left
    }
}
