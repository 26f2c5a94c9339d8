//! The costs of a request in PHP, for the front's record of it and `server_timing`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use howdah_http::Progress;
use howdah_observe::usage::{PhpUsage, ScriptUsage, UsageSoFar};
use howdah_pool::{Observer, WorkerId};
use http::HeaderName;

/// The header that `server_timing` adds.
pub(super) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The times of one request.
#[derive(Debug)]
pub(super) struct Timing {
    /// When the pool was called, in nanoseconds of `CLOCK_MONOTONIC`, as the workers use it; 0: not
    /// yet.
    called: u64,
    claimed: Cell<u64>,
    /// The time that was spent in workers that crashed.
    crashed: Cell<Duration>,
    usage: Cell<Option<PhpUsage>>,
}

impl Timing {
    /// Starts the measurement: PHP is about to be called.
    pub(super) fn begin() -> Rc<Self> {
        Rc::new(Self {
            called: now_ns(),
            claimed: Cell::new(0),
            crashed: Cell::default(),
            usage: Cell::new(None),
        })
    }

    /// `None`: no worker has it. While the script still runs, only the time in the queue is known.
    pub(super) fn usage(&self) -> Option<UsageSoFar> {
        (self.claimed.get() > 0).then(|| UsageSoFar {
            queue: self.queue(),
            usage: self.usage.get(),
        })
    }

    fn queue(&self) -> Duration {
        between(self.called, self.claimed.get()).saturating_sub(self.crashed.get())
    }
}

/// Reports the progress of a request.
struct ProgressObserver {
    progress: Option<Progress>,
    timing: Option<Rc<Timing>>,
}

/// An observer for the pool, if timings are used.
pub(super) fn watch(
    progress: Option<Progress>,
    timing: Option<Rc<Timing>>,
) -> Option<Rc<dyn Observer>> {
    let is_wanted = progress.is_some() || timing.is_some();
    is_wanted.then(|| Rc::new(ProgressObserver { progress, timing }) as Rc<dyn Observer>)
}

impl Observer for ProgressObserver {
    fn on_claim(&self, claimed_ns: u64, worker: WorkerId) {
        if let Some(progress) = &self.progress {
            progress.on_claim(claimed_ns, worker.0);
        }
        if let Some(timing) = &self.timing {
            // The worker's time is accepted as far as it is plausible.
            let claimed = claimed_ns.clamp(timing.called, now_ns().max(timing.called));
            timing.claimed.set(claimed);
        }
    }

    fn on_crash(&self) {
        if let Some(progress) = &self.progress {
            progress.on_crash();
        }
        if let Some(timing) = &self.timing {
            let claimed = timing.claimed.take();
            if claimed > 0 {
                let crashed = timing.crashed.get() + between(claimed, now_ns());
                timing.crashed.set(crashed);
            }
        }
    }

    fn on_usage(&self, usage: howdah_pool::ScriptUsage) {
        let script = ScriptUsage {
            cpu: usage.cpu,
            database: usage.database,
            queries: usage.queries,
            memory_peak: usage.memory_peak,
        };
        if let Some(progress) = &self.progress {
            progress.on_usage(script);
        }
        if let Some(timing) = &self.timing {
            timing.usage.set(Some(PhpUsage {
                queue: timing.queue(),
                time: between(timing.claimed.get(), now_ns()),
                script,
            }));
        }
    }

    fn on_done(&self) {
        if let Some(progress) = &self.progress {
            progress.on_done();
        }
    }
}

fn between(from: u64, to: u64) -> Duration {
    Duration::from_nanos(to.saturating_sub(from))
}

/// The clock of the PHP processes.
pub(super) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
