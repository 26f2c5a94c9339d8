//! Limit on the log output of a pool's processes: an application that writes without end cannot fill the disk or delay
//! messages of other pools. Dropped messages are counted, and the log reports how many there were.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Size of a burst in bytes.
const BURST: u64 = 16 << 20;
/// Bytes per second, without a time limit.
const RATE: u64 = 4 << 20;
/// Bytes that a message counts in addition to its text: a line of the log has more in it.
const PER_MESSAGE: u64 = 200;
/// Interval between warnings about dropped messages.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Messages that were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogLoss {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct State {
    left: u64,
    since: Instant,
    dropped: LogLoss,
    reported_at: Option<Instant>,
}

/// The limit on the size of one pool's logs. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct LogBudget(Arc<Mutex<State>>);

impl LogBudget {
    pub(crate) fn new(now: Instant) -> Self {
        Self(Arc::new(Mutex::new(State {
            left: BURST,
            since: now,
            dropped: LogLoss::default(),
            reported_at: None,
        })))
    }

    /// Whether to log a message of this size. If not, it has been counted.
    pub(crate) fn take(&self, size: usize, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(state.since);
        let earned = u64::try_from(passed.as_micros())
            .unwrap_or(u64::MAX)
            .saturating_mul(RATE)
            / 1_000_000;
        // Fractions of a byte are added later.
        if earned > 0 {
            state.left = state.left.saturating_add(earned).min(BURST);
            state.since = now;
        }
        let cost = size as u64 + PER_MESSAGE;
        if let Some(left) = state.left.checked_sub(cost) {
            state.left = left;
            return true;
        }
        state.dropped.messages += 1;
        state.dropped.bytes += size as u64;
        false
    }

    /// Whether messages were dropped that no warning has counted yet.
    pub(crate) fn has_dropped_messages(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.dropped.messages > 0
    }

    /// The messages that were dropped since the last report, if that is long enough ago.
    pub(crate) fn take_due(&self, now: Instant) -> Option<LogLoss> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = state
            .reported_at
            .is_some_and(|reported_at| now.saturating_duration_since(reported_at) < REPORT_EVERY);
        if waits || state.dropped.messages == 0 {
            return None;
        }
        state.reported_at = Some(now);
        Some(std::mem::take(&mut state.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_messages_are_counted_and_reported_once_a_second() {
        let start = Instant::now();
        let budget = LogBudget::new(start);
        let line = 1 << 20;
        let logged = (0..100).filter(|_| budget.take(line, start)).count();
        assert_eq!(logged, 15);
        let dropped = budget.take_due(start).expect("something was lost");
        assert_eq!((dropped.messages, dropped.bytes), (85, 85 << 20));
        assert!(!budget.has_dropped_messages());
        assert!(!budget.take(line, start));
        assert_eq!(budget.take_due(start + REPORT_EVERY / 2), None);
        assert!(budget.has_dropped_messages());
        assert_eq!(
            budget
                .take_due(start + REPORT_EVERY)
                .map(|dropped| dropped.messages),
            Some(1)
        );
    }

    #[test]
    fn the_budget_comes_back_with_time_and_never_exceeds_a_burst() {
        let start = Instant::now();
        let budget = LogBudget::new(start);
        while budget.take(1000, start) {}
        assert!(!budget.take(1000, start));
        let later = start + Duration::from_secs(1);
        let logged = (0..100_000).filter(|_| budget.take(1000, later)).count() as u64;
        assert!((RATE / 1300..RATE / 1100).contains(&logged), "{logged}");
        let long = later + Duration::from_secs(3600);
        let logged = (0..100_000).filter(|_| budget.take(1000, long)).count() as u64;
        assert!((BURST / 1300..BURST / 1100).contains(&logged), "{logged}");
    }
}
