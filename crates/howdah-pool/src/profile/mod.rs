//! Profiles of a pool: begun and read through its segment, without its supervisor.

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
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has its workers take samples for this time, also those that are started meanwhile.
    pub fn begin(&self, period: Duration, duration: Duration) -> RunningProfile {
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let duration = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let order = ProfileOrder {
            number,
            period,
            end_ns: monotonic_ns().saturating_add(duration),
        };
        self.segment.begin_profile(&order);
        let ended = Arc::new(AtomicBool::new(false));
        let clock = ProfileClock::new(Arc::clone(&self.segment), &order, Arc::clone(&ended));
        if let Err(error) = clock.start() {
            tracing::warn!(target: "howdah::pool", pool = &*self.name, "no thread for the clock of a profile: {error}; the profile stays empty");
        }
        RunningProfile {
            pool: self.clone(),
            number,
            ended,
        }
    }
}

/// A profile that is being taken. Dropped, it ends, and its memory is given back.
#[derive(Debug)]
pub struct RunningProfile {
    pool: ProfiledPool,
    number: u32,
    /// Ends its clock.
    ended: Arc<AtomicBool>,
}

impl RunningProfile {
    /// The pool.
    pub fn pool(&self) -> &str {
        &self.pool.name
    }

    /// What each place's workers have counted so far.
    pub fn read(&self) -> Vec<WorkerProfile> {
        let segment = &self.pool.segment;
        let mut workers = Vec::new();
        for place in segment.profiled() {
            match segment.profile(place, self.number) {
                Ok(worker) => workers.extend(worker),
                Err(error) => {
                    tracing::warn!(target: "howdah::pool", pool = &*self.pool.name, "{error}: PHP code has overwritten shared memory; the profile lacks it");
                }
            }
        }
        workers
    }
}

impl Drop for RunningProfile {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.pool.segment.end_profile();
        self.pool.segment.discard_profiles();
    }
}
