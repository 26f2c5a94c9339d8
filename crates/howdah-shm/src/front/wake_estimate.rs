//! Estimates how soon workers that are awake reach the next request, from the times of earlier requests.

use crate::layout::PARKED_WORDS;
use crate::slot::WorkerId;

/// A front thread's estimate of how soon workers reach the next request.
#[derive(Debug)]
pub(crate) struct WakeEstimate {
    /// How long a request may be expected to wait for a worker that is awake. 0: not at all.
    pub(super) limit_ns: u64,
    /// Estimated time that nine of ten requests take a worker at most; it follows what workers
    /// report.
    served_ns: u64,
    /// Workers that are expected to look at the queue soon, if they are awake: this thread has woken them, or they have
    /// finished one of its requests, and no request had to wait for them since.
    pub(super) attentive: [u64; PARKED_WORDS],
    /// Requests served since, minus `WAIT_COST` for each that was left and had to wait.
    pub(super) credit: u32,
    /// A request was left.
    pub(super) left: bool,
    /// The tail at the last check.
    pub(super) looked_at: u64,
}

/// Range of the estimate: no request takes less, and more makes no difference. The maximum is the estimate at the start
/// and after a request that was left has had to wait. No limit is as high, so none is left until more than a hundred
/// requests have been fast.
const SERVED_NS: std::ops::RangeInclusive<u64> = 1_000..=20_000_000;
/// So many requests save about 5 ms of processor time by being left; one that is left to a worker that does not come
/// waits 1 to 2 ms. If that happens more often, as with one slow request in fifty, few are left.
pub(super) const WAIT_COST: u32 = 1_000;

impl WakeEstimate {
    pub(super) fn new() -> Self {
        Self {
            limit_ns: 0,
            served_ns: *SERVED_NS.end(),
            attentive: [0; PARKED_WORDS],
            credit: 0,
            left: false,
            looked_at: 0,
        }
    }

    /// A worker reports how long a request took. The estimate grows by half for one in ten above it, and shrinks by a
    /// twenty-third for nine in ten below it: it stays where these balance.
    pub(super) fn served(&mut self, worker: WorkerId, ns: u64) {
        self.attentive[worker.word()] |= worker.bit();
        self.credit = (self.credit + 1).min(4 * WAIT_COST);
        let guess = self.served_ns;
        let guess = if ns > guess {
            guess + guess / 2
        } else {
            guess - guess / 23
        };
        self.served_ns = guess.clamp(*SERVED_NS.start(), *SERVED_NS.end());
    }

    pub(super) fn woken(&mut self, worker: WorkerId) {
        self.attentive[worker.word()] |= worker.bit();
    }

    pub(super) fn remove(&mut self, worker: WorkerId) {
        self.attentive[worker.word()] &= !worker.bit();
    }

    /// A request that was left has had to wait.
    pub(super) fn note_late_claim(&mut self) {
        self.attentive = Default::default();
        self.credit = self.credit.saturating_sub(WAIT_COST);
        self.served_ns = *SERVED_NS.end();
    }

    /// Whether `awake` workers are expected to handle so many requests in time.
    pub(super) fn allows(&self, queued: u64, awake: u32) -> bool {
        awake > 0
            && self.credit >= WAIT_COST
            && queued.saturating_mul(self.served_ns)
                <= self.limit_ns.saturating_mul(u64::from(awake))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const FAST: WorkerId = WorkerId(70);

    fn estimate(limit_ns: u64) -> WakeEstimate {
        WakeEstimate {
            limit_ns,
            ..WakeEstimate::new()
        }
    }

    #[test]
    fn the_guess_is_what_nine_of_ten_stay_below() {
        let mut wake_estimate = estimate(0);
        for request in 0..20_000_u64 {
            // 1 to 100 microseconds, in an order without a pattern of ten.
            wake_estimate.served(FAST, (request * 37 % 100 + 1) * 1_000);
        }
        let guess = wake_estimate.served_ns;
        assert!((70_000..=110_000).contains(&guess), "{guess}");
    }

    #[test]
    fn messages_of_a_broken_worker_stay_within_bounds() {
        let mut wake_estimate = estimate(0);
        for ns in [u64::MAX, 0] {
            for _ in 0..1_000 {
                wake_estimate.served(FAST, ns);
            }
            assert!(SERVED_NS.contains(&wake_estimate.served_ns));
        }
    }

    #[test]
    fn requests_are_left_if_they_are_fast_and_a_worker_is_awake() {
        let mut wake_estimate = estimate(100_000);
        assert!(!wake_estimate.allows(1, 1), "nothing is known yet");
        for _ in 0..1_000 {
            wake_estimate.served(FAST, 10_000);
        }
        assert!(!wake_estimate.allows(1, 0));
        assert!(wake_estimate.allows(6, 1));
        assert!(!wake_estimate.allows(16, 1));
        assert!(wake_estimate.allows(12, 2));
        wake_estimate.note_late_claim();
        assert!(!wake_estimate.allows(1, 2));
        for _ in 0..WAIT_COST - 1 {
            wake_estimate.served(FAST, 10_000);
            assert!(!wake_estimate.allows(1, 2), "it has to be earned again");
        }
        wake_estimate.served(FAST, 10_000);
        assert!(wake_estimate.allows(1, 2));
        wake_estimate.note_late_claim();
        assert_eq!(wake_estimate.attentive, [0; PARKED_WORDS]);
    }
}
