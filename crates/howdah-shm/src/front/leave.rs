//! Which requests are left to workers that are awake, and which another worker is woken for.
//!
//! To wake a worker for a request of some microseconds costs more than the request: the wake, two
//! switches, and the caches of those that it takes the processor from. A worker that is awake looks for
//! requests before it sleeps (G3), so one that it will soon come to needs no wake. How soon that is can
//! only be guessed, from how long requests took before, so a front thread that leaves requests has to look
//! again in time: [`Front::recheck_left`].

use super::Front;
#[cfg(all(test, loom))]
use super::wake_estimate::WAIT_COST;
use crate::sleep::Sleep;
#[cfg(all(test, loom))]
use crate::slot::WorkerId;
use crate::sync::Ordering;
use std::time::Duration;

impl Front {
    /// From now on a request wakes no worker if those that are awake are expected to come to it within
    /// `limit`. Zero, as at the start: each request wakes one, if one sleeps. Its caller calls
    /// [`Front::recheck_left`] every few milliseconds while [`Front::may_have_left`]. Concurrent pools have
    /// their own way and take no notice.
    pub fn set_leave_limit(&mut self, limit: Duration) {
        if matches!(self.segment.sleep, Sleep::OnFutex) {
            self.wake_estimate.limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        }
    }

    /// Whether requests that woke no worker may still be queued.
    pub fn may_have_left(&self) -> bool {
        self.wake_estimate.left && self.queued() > 0
    }

    /// Wakes workers if a request is still queued that was so at the last call. Call it again after a
    /// while if it says true: something is queued.
    pub fn recheck_left(&mut self) -> bool {
        let kept_waiting = std::mem::replace(&mut self.wake_estimate.looked_at, self.tail);
        let queued = self.queued();
        if queued == 0 {
            self.wake_estimate.left = false;
        } else if self.tail.saturating_sub(queued) < kept_waiting && self.rewake() {
            // A worker slept. Where none does, leaving it was not a mistake.
            self.wake_estimate.note_late_claim();
        }
        queued > 0
    }

    /// Takes all workers for attentive, whatever that cost before.
    #[cfg(all(test, loom))]
    pub(crate) fn trust_workers(&mut self) {
        for worker in 0..self.segment.geometry().workers() as u16 {
            self.wake_estimate.woken(WorkerId(worker));
        }
        self.wake_estimate.credit = WAIT_COST;
    }

    /// Whether a request that was just queued is left to workers that are awake. To be called after the
    /// barrier: a worker that is about to sleep is seen to be, or sees the request.
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
