//! Profiles of a pool: begun and read through its segment, without its supervisor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use howdah_shm::{ProfileOrder, Segment, WorkerProfile};

use crate::system::clock::monotonic_ns;

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
        self.segment.begin_profile(&ProfileOrder {
            number,
            period,
            end_ns: monotonic_ns().saturating_add(duration),
        });
        RunningProfile {
            pool: self.clone(),
            number,
        }
    }
}

/// A profile that is being taken. Dropped, it ends, and its memory is given back.
#[derive(Debug)]
pub struct RunningProfile {
    pool: ProfiledPool,
    number: u32,
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
        self.pool.segment.end_profile();
        self.pool.segment.discard_profiles();
    }
}
