//! Profiles of pools: started and read through their segments, without their supervisors.

mod clock;
mod place;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use howdah_shm::{ProfileOrder, Segment, WorkerProfile};

use crate::system::clock::monotonic_ns;
use clock::ProfileClock;

/// Numbers of profiles, which separate their counts in a segment.
static LAST: AtomicU32 = AtomicU32::new(0);

/// A pool whose workers can be profiled.
#[derive(Debug, Clone)]
pub struct ProfiledPool {
    pub(crate) name: String,
    pub(crate) segment: Arc<Segment>,
}

impl ProfiledPool {
    /// Name of the pool.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A profile that is being taken. Dropping it ends it and frees its memory.
#[derive(Debug)]
pub struct RunningProfile {
    pools: Vec<ProfiledPool>,
    number: u32,
    /// Ends its clock.
    ended: Arc<AtomicBool>,
}

impl RunningProfile {
    /// Starts a profile: the workers of these pools, including new ones, take samples for this time.
    pub fn begin(pools: Vec<ProfiledPool>, period: Duration, duration: Duration) -> Self {
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let duration = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let order = ProfileOrder {
            number,
            period,
            end_ns: monotonic_ns().saturating_add(duration),
        };
        for pool in &pools {
            pool.segment.begin_profile(&order);
        }
        let ended = Arc::new(AtomicBool::new(false));
        let segments = pools.iter().map(|pool| Arc::clone(&pool.segment));
        let clock = ProfileClock::new(segments, &order, Arc::clone(&ended));
        if let Err(error) = clock.start() {
            tracing::warn!(target: "howdah::pool", "the clock of a profile cannot start: {error}; the profile stays empty");
        }
        Self {
            pools,
            number,
            ended,
        }
    }

    /// The counts of each place's workers so far, with the name of its pool.
    pub fn read(&self) -> Vec<(&str, WorkerProfile)> {
        let mut workers = Vec::new();
        for pool in &self.pools {
            for place in pool.segment.profiled() {
                match pool.segment.profile(place, self.number) {
                    Ok(worker) => workers.extend(worker.map(|worker| (pool.name(), worker))),
                    Err(error) => {
                        tracing::warn!(target: "howdah::pool", pool = pool.name(), "{error}: PHP code has overwritten shared memory; the profile lacks it");
                    }
                }
            }
        }
        workers
    }
}

impl Drop for RunningProfile {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for pool in &self.pools {
            pool.segment.end_profile();
            pool.segment.discard_profiles();
        }
    }
}
