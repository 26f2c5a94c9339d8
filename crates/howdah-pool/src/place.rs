//! A place for a worker process, and the life of the processes that fill it one after another.
//!
//! ```text
//!   Vacant ──spawn──> Starting ──SPAWNED──> Running ──pidfd──> Recovering ──all fronts──> Vacant
//!      └──────────── after a delay, if the last process ended before it served anything ────┘
//! ```

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) pidfd: Arc<AsyncFd<OwnedFd>>,
    pub(crate) since: Instant,
    /// We ended it: its exit is no news.
    pub(crate) killed: bool,
}

impl Process {
    /// Ends the process. It may be gone already; then there is nothing to end.
    pub(crate) fn kill(&mut self) {
        self.killed = true;
        let _ = rustix::process::pidfd_send_signal(self.pidfd.get_ref().as_fd(), Signal::KILL);
    }
}

#[derive(Debug, Default)]
pub(crate) enum State {
    /// No process.
    #[default]
    Vacant,
    /// The zygote of this generation was asked to fork one; its pid goes to its log's reader as well.
    Starting(u32, Arc<AtomicI32>),
    /// It runs.
    Running(Process),
    /// It is gone; front threads take back what it held.
    Recovering,
}

#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) state: State,
    /// Processes in a row that ended before they served a request.
    failures: u32,
    /// Pids whose exit was announced before or will be announced after the place moved on, with the
    /// request they had in hand and whether we ended them.
    pub(crate) last: Option<LastProcess>,
}

/// What is kept of a process until its exit status has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastProcess {
    pub(crate) pid: i32,
    pub(crate) request_id: u64,
    pub(crate) killed: bool,
}

/// A process that lived this long did not fail at its start.
const YOUNG: Duration = Duration::from_secs(1);

impl Place {
    /// The process is gone. Says how long to wait before the next one: not at all, unless processes end
    /// one after another before they serve anything.
    pub(crate) fn ended(&mut self, served: u64, lived: Duration) -> Duration {
        if served > 0 || lived >= YOUNG {
            self.failures = 0;
            return Duration::ZERO;
        }
        self.failures = self.failures.saturating_add(1);
        let millis = u64::from(self.failures)
            .saturating_pow(2)
            .saturating_mul(100);
        Duration::from_millis(millis.min(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_never_served_are_replaced_more_and_more_slowly() {
        let mut place = Place::default();
        let young = Duration::from_millis(5);
        let delays: Vec<_> = (0..5).map(|_| place.ended(0, young).as_millis()).collect();
        assert_eq!(delays, [100, 400, 900, 1000, 1000]);
        assert_eq!(place.ended(1, young), Duration::ZERO, "it served");
        assert_eq!(
            place.ended(0, young).as_millis(),
            100,
            "the count starts anew"
        );
        assert_eq!(
            place.ended(0, Duration::from_secs(2)),
            Duration::ZERO,
            "it lived"
        );
    }
}
