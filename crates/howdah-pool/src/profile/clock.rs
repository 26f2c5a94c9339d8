//! The clock of a profile: a thread that wakes at the rate of the profile, for all processes of all its pools.
//!
//! With more processes than processors, most of them wait for one at any moment. Waking a thread in each of them, too,
//! would push running processes off their processors and out of the caches. So PHP is interrupted by a word in shared
//! memory, and takes the sample itself; a thread is woken only where PHP does not react. Each wake of the clock pushes
//! processes off as well: there is one thread for all pools, since most of a server's pools are idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

use howdah_shm::{ProfileOrder, ProfiledPlace, Segment, Tick};
use rustix::time::{ClockId, Timespec};

use super::place::{Observation, PlaceClock, Sample, patience};
use crate::system::clock::monotonic_ns;
use crate::system::process_activity::ProcessActivity;
use crate::system::scheduling::run_on_wake;

/// Counts the samples that are due, until the profile ends.
pub(super) struct ProfileClock {
    period_ns: u64,
    patience: u32,
    end_ns: u64,
    ended: Arc<AtomicBool>,
    pools: Vec<ClockedPool>,
}

struct ClockedPool {
    segment: Arc<Segment>,
    /// Indexed by place.
    places: Vec<ClockedPlace>,
}

#[derive(Default)]
struct ClockedPlace {
    process: Option<ProcessActivity>,
    clock: PlaceClock,
}

impl ProfileClock {
    pub(super) fn new(
        segments: impl Iterator<Item = Arc<Segment>>,
        order: &ProfileOrder,
        ended: Arc<AtomicBool>,
    ) -> Self {
        Self {
            period_ns: u64::try_from(order.period.as_nanos())
                .unwrap_or(u64::MAX)
                .max(1),
            patience: patience(order.period),
            end_ns: order.end_ns,
            ended,
            pools: segments.map(ClockedPool::new).collect(),
        }
    }

    /// Starts it in a separate thread.
    pub(super) fn start(self) -> io::Result<()> {
        let thread = thread::Builder::new().name("profile".into());
        thread.spawn(move || self.run()).map(drop)
    }

    fn run(mut self) {
        run_on_wake();
        let mut next_ns = monotonic_ns().saturating_add(self.period_ns);
        while next_ns < self.end_ns {
            sleep_until(next_ns);
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            let due = 1 + monotonic_ns().saturating_sub(next_ns) / self.period_ns;
            next_ns = next_ns.saturating_add(due.saturating_mul(self.period_ns));
            for pool in &mut self.pools {
                pool.tick(due, self.patience);
            }
        }
    }
}

impl ClockedPool {
    fn new(segment: Arc<Segment>) -> Self {
        let places = segment
            .profiled()
            .map(|_| ClockedPlace::default())
            .collect();
        Self { segment, places }
    }

    fn tick(&mut self, due: u64, patience: u32) {
        for (place, clocked) in self.segment.profiled().zip(&mut self.places) {
            clocked.tick(self.segment.profiled_place(place), due, patience);
        }
    }
}

impl ClockedPlace {
    fn tick(&mut self, place: ProfiledPlace<'_>, due: u64, patience: u32) {
        let Some(id) = place.process() else {
            return;
        };
        if self
            .process
            .as_ref()
            .is_none_or(|process| process.id() != id)
        {
            *self = Self {
                process: Some(ProcessActivity::new(id)),
                clock: PlaceClock::default(),
            };
        }
        let Some(process) = &self.process else {
            return;
        };
        let request = place.request();
        let time = || {
            let time = process.time()?;
            Some(time.saturating_sub(place.sampler_time()))
        };
        let Some(flag) = place.interrupt_flag().filter(|_| request != 0) else {
            let observation = Observation {
                request,
                time: (request != 0).then(time).flatten(),
                samples_each: place.samples_each(),
            };
            let sample = self.clock.tick(&observation, || process.is_runnable());
            count(&place, sample, due);
            return;
        };
        let is_pending = flag.is_set();
        let is_runnable = || process.is_runnable();
        let sample = (self.clock).interrupted(request, is_pending, patience, time, is_runnable);
        count(&place, sample, due);
        if !is_pending {
            let time = process.time();
            flag.set(time, monotonic_ns());
        }
    }
}

fn count(place: &ProfiledPlace<'_>, sample: Sample, due: u64) {
    let tick = match sample {
        Sample::Idle => Tick::Idle,
        Sample::Same => Tick::Same,
        Sample::Now | Sample::Later => Tick::Ran,
    };
    place.count(tick, due);
    if sample == Sample::Now {
        place.wake();
    }
}

fn sleep_until(moment_ns: u64) {
    let moment = Timespec {
        tv_sec: (moment_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (moment_ns % 1_000_000_000).cast_signed(),
    };
    // Fails only for an invalid time, or by a signal, which this thread does not receive.
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &moment);
}
