//! How long a front thread leaves requests to workers that are awake, and the later check of requests that it has left.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::Duration;

use howdah_shm::Front;

use super::Inner;
use crate::system::alarm::Alarm;
use crate::system::schedstat::Schedstat;

/// Limit when processors are free: about as long as a worker takes to wake up, so waking one gains nothing for a
/// request that waits less.
const FREE: Duration = Duration::from_micros(50);
/// Limit when threads wait for processors: another worker would have to wait for one as well, or take that of another.
/// `docs/internals/performance.md` has the figures.
const CROWDED: Duration = Duration::from_micros(400);
/// A request that was left and not claimed wakes a worker after this time, or twice as long.
const LOOK: Duration = Duration::from_millis(1);
/// With less time on processors than this, no conclusion is possible.
const RAN_NS_MIN: u64 = 500_000;

/// Measures whether the thread that created it has to wait for processors.
#[derive(Debug)]
pub(super) struct Crowding {
    /// `None` where the kernel does not count.
    file: Option<File>,
    last: Option<Schedstat>,
}

impl Crowding {
    pub(super) fn new() -> Self {
        let mut own = Self {
            file: File::open("/proc/thread-self/schedstat").ok(),
            last: None,
        };
        own.last = own.read();
        own
    }

    /// Whether it has waited for a processor at least half as long as it ran, since the last call.
    fn is_crowded(&mut self) -> bool {
        let now = self.read();
        let last = std::mem::replace(&mut self.last, now);
        last.zip(now).is_some_and(|(last, now)| waits(last, now))
    }

    fn read(&self) -> Option<Schedstat> {
        let mut text = [0; Schedstat::SIZE_MAX];
        let size = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        Schedstat::parse(&text[..size])
    }
}

fn waits(last: Schedstat, now: Schedstat) -> bool {
    let ran = now.ran_ns.saturating_sub(last.ran_ns);
    let waited = now.waited_ns.saturating_sub(last.waited_ns);
    ran >= RAN_NS_MIN && waited >= ran / 2
}

impl Inner {
    /// Sets how long requests are left to workers that are awake, by the load of the processors.
    pub(super) fn set_leave_limit_by_load(&self) {
        let Some(crowding) = &self.crowding else {
            return;
        };
        let limit = if crowding.borrow_mut().is_crowded() {
            CROWDED
        } else {
            FREE
        };
        self.table.borrow_mut().shm.set_leave_limit(limit);
    }

    /// Schedules a check of a queued request that was left.
    pub(super) fn watch(&self, shm: &Front) {
        if shm.may_have_left() {
            self.second_look.request_run();
        }
    }
}

/// Checks requests that were left until none is queued; sleeps otherwise.
pub(super) async fn recheck_left(inner: Rc<Inner>, alarm: Alarm) {
    loop {
        inner.second_look.wait_for_request().await;
        while inner.table.borrow_mut().shm.recheck_left() {
            if let Err(error) = alarm.sleep(LOOK).await {
                tracing::error!(target: "howdah::pool", pool = inner.options.name, %error, "a timer failed");
                tokio::time::sleep(LOOK).await;
            }
        }
        inner.second_look.done();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(ran_ns: u64, waited_ns: u64) -> Schedstat {
        Schedstat { ran_ns, waited_ns }
    }

    #[test]
    fn a_machine_is_crowded_if_workers_wait_half_as_long_as_they_run() {
        let start = stat(7_000_000, 9_000_000);
        for (ran_ns, waited_ns, expected) in [
            (0, 0, false),
            (10_000_000, 0, false),
            (10_000_000, 4_000_000, false),
            (10_000_000, 6_000_000, true),
            // Too little for a conclusion.
            (100_000, 6_000_000, false),
        ] {
            let now = stat(start.ran_ns + ran_ns, start.waited_ns + waited_ns);
            assert_eq!(waits(start, now), expected, "{ran_ns} {waited_ns}");
        }
    }

    #[test]
    fn a_kernel_that_does_not_count_is_not_crowded() {
        let mut crowding = Crowding {
            file: None,
            last: None,
        };
        assert!(!crowding.is_crowded());
    }

    #[test]
    fn this_kernel_counts() {
        assert!(Crowding::new().last.is_some());
    }
}
