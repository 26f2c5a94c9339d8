//! State of upstreams as front threads see it, for observers. Each thread has its own counters; readers add them up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::clock;

/// An upstream at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// As configured.
    pub address: String,
    /// The directive.
    pub handler: &'static str,
    /// All front threads send requests to it.
    pub is_healthy: bool,
    /// Requests in flight.
    pub in_flight: usize,
    /// Requests that failed since the configuration took effect.
    pub failures: u64,
}

/// An upstream as one front thread knows it.
#[derive(Debug)]
pub(crate) struct UpstreamCounters {
    address: String,
    handler: &'static str,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) failures: AtomicU64,
    /// The last active check failed.
    pub(crate) is_ill: AtomicBool,
    /// It gets no requests until then because requests failed; on the coarse clock.
    pub(crate) down_until: AtomicU64,
}

/// Counters of all front threads. Those of previous configurations have no owner.
static BOARD: Mutex<Vec<Weak<UpstreamCounters>>> = Mutex::new(Vec::new());

impl UpstreamCounters {
    /// Creates counters that are listed as long as they are in use.
    pub(crate) fn listed(address: &str, handler: &'static str) -> Arc<Self> {
        let own = Arc::new(Self {
            address: address.to_owned(),
            handler,
            in_flight: AtomicUsize::new(0),
            failures: AtomicU64::new(0),
            is_ill: AtomicBool::new(false),
            down_until: AtomicU64::new(0),
        });
        let mut board = BOARD.lock().unwrap_or_else(PoisonError::into_inner);
        board.retain(|other| other.strong_count() > 0);
        board.push(Arc::downgrade(&own));
        own
    }

    fn is_healthy(&self, now: u64) -> bool {
        !self.is_ill.load(Relaxed) && self.down_until.load(Relaxed) <= now
    }
}

/// The upstreams of the current configuration, and of previous ones whose requests have not ended.
pub fn upstreams() -> Vec<UpstreamStatus> {
    let all: Vec<_> = {
        let board = BOARD.lock().unwrap_or_else(PoisonError::into_inner);
        board.iter().filter_map(Weak::upgrade).collect()
    };
    let now = clock::now();
    let mut summed: BTreeMap<(String, &'static str), UpstreamStatus> = BTreeMap::new();
    for own in all {
        let key = (own.address.clone(), own.handler);
        let sum = summed.entry(key).or_insert_with(|| UpstreamStatus {
            address: own.address.clone(),
            handler: own.handler,
            is_healthy: true,
            in_flight: 0,
            failures: 0,
        });
        sum.is_healthy &= own.is_healthy(now);
        sum.in_flight += own.in_flight.load(Relaxed);
        sum.failures += own.failures.load(Relaxed);
    }
    summed.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests have upstreams too.
    fn statuses(address: &str) -> Vec<UpstreamStatus> {
        let all = upstreams().into_iter();
        all.filter(|own| own.address == address).collect()
    }

    #[test]
    fn threads_are_summed_and_the_ones_that_are_gone_are_forgotten() {
        let address = "board.test:1";
        let threads = [(); 2].map(|()| UpstreamCounters::listed(address, "reverse_proxy"));
        for thread in &threads {
            thread.in_flight.store(2, Relaxed);
            thread.failures.store(3, Relaxed);
        }
        let own = statuses(address);
        assert_eq!(own.len(), 1);
        assert!(own[0].is_healthy);
        assert_eq!((own[0].in_flight, own[0].failures), (4, 6));
        threads[1].is_ill.store(true, Relaxed);
        assert!(!statuses(address)[0].is_healthy);
        threads[1].is_ill.store(false, Relaxed);
        threads[0].down_until.store(clock::now() + 60_000, Relaxed);
        assert!(!statuses(address)[0].is_healthy);
        drop(threads);
        assert_eq!(statuses(address), []);
    }
}
