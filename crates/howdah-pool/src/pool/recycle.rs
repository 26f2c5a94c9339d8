//! Regular replacement of workers: after a number of requests, at an age, or because of their memory. Pure.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::options::PoolOptions;
use crate::process::encode::Lifetime;

/// Minimum number of requests before a worker's last one at which its successor is requested: a fork takes a
/// millisecond, in which a fast application handles a few.
const NOTICE: u32 = 3;
/// Requests after which a worker's memory has settled: caches are filled, lazy services are
/// created.
const SETTLED: u64 = 10;

/// Spreads the exits of workers that were started together (splitmix64). Not for secrets.
#[derive(Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// `limit`, or up to a tenth less.
    fn below(&mut self, limit: u64) -> u64 {
        limit - self.next() % (limit / 10 + 1)
    }

    /// Number of requests that the next worker serves.
    pub(crate) fn lifetime(&mut self, options: &PoolOptions) -> Lifetime {
        let max_requests = self.max_requests(options);
        Lifetime {
            max_requests,
            retire_after: max_requests.saturating_sub(NOTICE.max(max_requests / 50)),
            max_memory: options.limits.max_memory.unwrap_or(0),
            max_memory_growth: options.limits.max_memory_growth.unwrap_or(0),
        }
    }

    fn max_requests(&mut self, options: &PoolOptions) -> u32 {
        if options.one_request() {
            return 1;
        }
        self.below(options.limits.max_requests.into()) as u32
    }

    /// When the next worker is replaced because of its age.
    pub(crate) fn expiry(&mut self, options: &PoolOptions, now: Instant) -> Option<Instant> {
        let age = u64::try_from(options.limits.max_age?.as_millis()).unwrap_or(u64::MAX);
        now.checked_add(Duration::from_millis(self.below(age)))
    }
}

/// Why a worker is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Age,
    Memory(u64),
    Growth(u64),
}

/// The requests that a worker has served, and its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerUsage {
    /// Requests served.
    pub(crate) requests: u64,
    /// Bytes held.
    pub(crate) memory: u64,
}

/// Judges a worker. `base` is its memory after it had settled; it is recorded here.
pub(crate) fn evaluate(
    options: &PoolOptions,
    expired: bool,
    usage: WorkerUsage,
    base: &mut Option<u64>,
) -> Option<Reason> {
    let memory = usage.memory;
    if expired {
        return Some(Reason::Age);
    }
    if options
        .limits
        .max_memory
        .is_some_and(|limit| memory > limit)
    {
        return Some(Reason::Memory(memory));
    }
    if usage.requests < SETTLED {
        return None;
    }
    let grown = memory.saturating_sub(*base.get_or_insert(memory));
    options
        .limits
        .max_memory_growth
        .is_some_and(|limit| grown > limit)
        .then_some(Reason::Growth(grown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Mode, WorkerMode};

    fn options(configure: impl FnOnce(&mut PoolOptions)) -> PoolOptions {
        let mut options = PoolOptions::new("app", 2);
        configure(&mut options);
        options
    }

    #[test]
    fn workers_exit_one_after_another_and_never_late() {
        let mut jitter = Jitter::new();
        let options = options(|options| options.limits.max_requests = 1000);
        let lives: Vec<_> = (0..200).map(|_| jitter.lifetime(&options)).collect();
        assert!(
            lives
                .iter()
                .all(|life| (900..=1000).contains(&life.max_requests)
                    && life.retire_after < life.max_requests
                    && life.retire_after >= life.max_requests - 20)
        );
        let distinct: std::collections::BTreeSet<_> =
            lives.iter().map(|life| life.max_requests).collect();
        assert!(distinct.len() > 20, "{distinct:?}");
    }

    #[test]
    fn short_lives_are_exact_and_end_without_notice() {
        let mut jitter = Jitter::new();
        for (max_requests, retire_after) in [(0, 0), (1, 0), (3, 0), (9, 6)] {
            let options = options(|options| options.limits.max_requests = max_requests);
            let life = Lifetime {
                max_requests,
                retire_after,
                max_memory: 0,
                max_memory_growth: 0,
            };
            assert_eq!(jitter.lifetime(&options), life);
        }
        let options = options(|options| {
            options.limits.max_requests = 50;
            let mut worker = WorkerMode::new("/w.php");
            worker.options.isolation = howdah_config::model::Isolation::Request;
            options.mode = Mode::Worker(worker.into());
        });
        assert_eq!(jitter.lifetime(&options).max_requests, 1, "one-shot");
    }

    #[test]
    fn an_age_is_met_within_a_tenth() {
        let mut jitter = Jitter::new();
        let now = Instant::now();
        assert_eq!(jitter.expiry(&options(|_| {}), now), None);
        let options = options(|options| options.limits.max_age = Some(Duration::from_secs(100)));
        for _ in 0..100 {
            let age = jitter.expiry(&options, now).expect("a moment") - now;
            assert!((90..=100).contains(&age.as_secs()), "{age:?}");
        }
    }

    #[test]
    fn memory_is_judged_whole_and_by_its_growth() {
        let options = options(|options| {
            options.limits.max_memory = Some(1000);
            options.limits.max_memory_growth = Some(100);
        });
        let mut base = None;
        let cases = [
            (1, 900, None),
            (9, 950, None),
            (12, 500, None),
            (13, 600, None),
            (14, 601, Some(Reason::Growth(101))),
            (15, 1001, Some(Reason::Memory(1001))),
            (16, 10, None),
        ];
        for (requests, memory, expected) in cases {
            let usage = WorkerUsage { requests, memory };
            assert_eq!(
                evaluate(&options, false, usage, &mut base),
                expected,
                "{usage:?}"
            );
        }
        let unused = WorkerUsage {
            requests: 0,
            memory: 0,
        };
        assert_eq!(
            evaluate(&options, true, unused, &mut base),
            Some(Reason::Age)
        );
    }
}
