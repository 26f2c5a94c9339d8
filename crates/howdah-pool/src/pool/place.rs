//! A place for a worker process, and the life of the processes that fill it one after another.
//!
//! ```text
//!   Vacant ──SPAWN──> Occupied: requested ──SPAWNED──> has a pidfd ──"ready"──> serves
//!      ^                                                                          │ pidfd
//!      └──────────────── all front threads ──────────────── Recovering <──────────┘
//! ```

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_monitor::process;
use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::crash_report::CrashRecorder;
use crate::messages::HeldRequest;
use crate::process::tail::Tail;
use crate::system::signal;

/// A process that lived this long did not fail at its start.
const YOUNG: Duration = Duration::from_secs(1);

/// One process, from the request for it.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with a name"
)]
pub(crate) struct Occupant {
    /// Distinguishes it from every other process of this server.
    pub(crate) serial: u64,
    /// The generation of its pool that it was forked from.
    pub(crate) generation: u32,
    /// 0 until the zygote has reported it; the reader of its log waits for it.
    pub(crate) pid: watch::Sender<i32>,
    /// Once the zygote has announced it, and the kernel has confirmed that it is its child; `None` too if it got lost.
    /// Then the zygote gets a message to kill the process.
    pub(crate) pidfd: Option<Arc<AsyncFd<OwnedFd>>>,
    /// When it was requested.
    pub(crate) since: Instant,
    /// It takes requests.
    pub(crate) ready: bool,
    /// It is to exit once a successor is ready.
    pub(crate) retiring: bool,
    /// It was ordered to exit.
    pub(crate) stopping: bool,
    /// Its end has begun, and a successor may be forked.
    pub(crate) ending: bool,
    /// We ended it: its exit is expected.
    pub(crate) killed: bool,
    /// A worker of a draining generation that was in a request at the last check.
    pub(crate) lingers: bool,
    /// It had all the time of its generation: what it has begun is not run again.
    pub(crate) overdue: bool,
    /// The request whose backtrace was requested; the worker is killed when the trace has arrived.
    pub(crate) traced: Option<HeldRequest>,
    /// When it is to be replaced.
    pub(crate) expires: Option<Instant>,
    /// Bytes of PHP's allocator after its first requests.
    pub(crate) memory_base: Option<u64>,
    /// Requests that it had served when it was last looked at, and when that number last changed.
    pub(crate) active: (u64, Instant),
    /// In a concurrent pool: how long a request has blocked the others.
    pub(crate) longest_hold: RecentMaximum,
    /// In a concurrent pool: why the worker runs one request at a time.
    pub(crate) sequential_cause: Option<String>,
    /// Its wait status, once its zygote has reported it.
    pub(crate) exit: watch::Sender<Option<ExitStatus>>,
    /// What is kept of it for the case that it crashes.
    pub(crate) recorder: CrashRecorder,
    /// What it wrote before it was ready, and the task that reads it.
    pub(crate) tail: Tail,
    pub(crate) reader: Option<JoinHandle<()>>,
}

impl Occupant {
    pub(crate) fn pid(&self) -> i32 {
        *self.pid.borrow()
    }

    /// It was requested, and the zygote has not replied.
    pub(crate) fn is_awaited(&self) -> bool {
        self.pid() == 0
    }

    /// It takes requests and was not ordered to exit.
    pub(crate) fn serves(&self) -> bool {
        self.ready && !self.stopping
    }

    /// It counts towards the number of workers that there should be.
    pub(crate) fn counts(&self) -> bool {
        !self.retiring && !self.stopping && !self.ending
    }

    /// If it ended now, after so many requests, it would have failed at its start.
    pub(crate) fn would_fail(&self, served: u64) -> bool {
        !self.ready || (served == 0 && self.since.elapsed() < YOUNG)
    }

    /// Its end is expected.
    pub(crate) fn exit_is_expected(&self) -> bool {
        self.killed || self.stopping || self.traced.is_some()
    }

    /// Whether its end, if it is in order, is one for its requests, age or memory, or one that its script chose.
    /// `expected`: on request.
    pub(crate) fn recycles(&self, expected: bool) -> bool {
        self.ready && !self.killed && (self.retiring || !expected)
    }

    /// Ends the process. It may be gone already; then there is nothing to end.
    pub(crate) fn kill(&mut self) {
        if let Some(pidfd) = &self.pidfd {
            self.killed = true;
            let _ = process::signal(pidfd.get_ref().as_fd(), Signal::KILL);
        }
    }

    /// Requests a backtrace of its request for the log. False: the signal cannot be sent.
    pub(crate) fn request_backtrace(&self) -> bool {
        let Some(pidfd) = &self.pidfd else {
            return false;
        };
        let signal = signal::backtrace();
        process::signal(pidfd.get_ref().as_fd(), signal).is_ok()
    }
}

#[derive(Debug, Default)]
pub(crate) enum State {
    /// No process.
    #[default]
    Vacant,
    /// A process, or the wish for one.
    Occupied(Box<Occupant>),
    /// It exited; front threads recover what it held.
    Recovering,
}

#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) state: State,
    /// The process before, whose exit status may come before or after the place moved on.
    pub(crate) last: Option<LastProcess>,
    /// Receives that status.
    pub(crate) last_exit: Option<watch::Sender<Option<ExitStatus>>>,
}

impl Place {
    pub(crate) fn occupant(&self) -> Option<&Occupant> {
        match &self.state {
            State::Occupied(occupant) => Some(occupant),
            _ => None,
        }
    }

    /// Its process is gone, and front threads take back what it held.
    pub(crate) fn vacate(&mut self) {
        if let State::Occupied(gone) = std::mem::replace(&mut self.state, State::Recovering) {
            self.last_exit = Some(gone.exit);
        }
    }

    pub(crate) fn occupant_mut(&mut self) -> Option<&mut Occupant> {
        match &mut self.state {
            State::Occupied(occupant) => Some(occupant),
            _ => None,
        }
    }
}

/// What is kept of a process until its exit status has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastProcess {
    pub(crate) pid: i32,
    pub(crate) request_id: u64,
    /// Its exit is expected: we killed it, or ordered it to exit.
    pub(crate) expected: bool,
    /// If it ends in order, then because its time had come.
    pub(crate) recycles: bool,
}

/// The largest of what was noted lately: for a minute at least, so that who looks once a minute sees it, and for
/// one and a half at most.
#[derive(Debug, Default)]
pub(crate) struct RecentMaximum {
    /// Since when the present part is.
    since: Option<Instant>,
    /// The present part and those before it.
    parts: [u64; 3],
}

impl RecentMaximum {
    const PART: Duration = Duration::from_secs(30);

    pub(crate) fn note(&mut self, value: u64, now: Instant) {
        let mut since = *self.since.get_or_insert(now);
        let mut passed = 0;
        while passed < self.parts.len() && now.saturating_duration_since(since) >= Self::PART {
            self.parts.rotate_right(1);
            self.parts[0] = 0;
            since += Self::PART;
            passed += 1;
        }
        self.since = Some(if passed < self.parts.len() {
            since
        } else {
            now
        });
        self.parts[0] = self.parts[0].max(value);
    }

    pub(crate) fn largest(&self) -> u64 {
        self.parts.iter().copied().max().unwrap_or_default()
    }
}

/// Failures in a row, and how long to wait after them.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: u32,
    /// Failures of what was begun before this are of one round: they count once.
    last: Option<Instant>,
    /// Nothing is to be started before this.
    until: Option<Instant>,
}

impl BackOff {
    /// Something that was begun at `begun` failed. Says how long to wait: n² · 100 ms, at most 1 s.
    pub(crate) fn fail(&mut self, begun: Instant, now: Instant) -> Duration {
        if self.last.is_none_or(|last| begun >= last) {
            self.failures = self.failures.saturating_add(1);
            self.last = Some(now);
            let millis = u64::from(self.failures)
                .saturating_pow(2)
                .saturating_mul(100);
            self.until = Some(now + Duration::from_millis(millis.min(1000)));
        }
        self.wait(now)
    }

    /// It works again.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// How long to wait still.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Failures in a row, those of one round counted once.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_forgotten_after_a_minute() {
        let (mut recent, start) = (RecentMaximum::default(), Instant::now());
        let mut at = |seconds, value| {
            recent.note(value, start + Duration::from_secs(seconds));
            recent.largest()
        };
        assert_eq!(at(0, 5), 5);
        assert_eq!(at(1, 3), 5);
        assert_eq!(at(31, 1), 5);
        assert_eq!(at(62, 0), 5);
        assert_eq!(at(89, 0), 5);
        assert_eq!(at(91, 0), 1);
        assert_eq!(at(119, 2), 2);
        assert_eq!(at(250, 0), 0);
        assert_eq!(at(1000, 7), 7);
        assert_eq!(at(1029, 0), 7);
    }

    #[test]
    fn repeated_failures_are_restarted_with_back_off() {
        let mut back_off = BackOff::default();
        let mut now = Instant::now();
        let delays: Vec<_> = (0..5)
            .map(|_| {
                let begun = now;
                now += Duration::from_millis(1);
                back_off.fail(begun, now).as_millis()
            })
            .collect();
        assert_eq!(delays, [100, 400, 900, 1000, 1000]);
        assert_eq!(
            back_off.wait(now + Duration::from_millis(400)).as_millis(),
            600
        );
        assert_eq!(back_off.wait(now + Duration::from_secs(2)), Duration::ZERO);
        back_off.reset();
        assert_eq!(back_off.wait(now), Duration::ZERO);
        assert_eq!(back_off.fail(now, now).as_millis(), 100, "again");
    }

    #[test]
    fn processes_that_were_started_together_fail_once() {
        let mut back_off = BackOff::default();
        let begun = Instant::now();
        for millis in 5..13 {
            back_off.fail(begun, begun + Duration::from_millis(millis));
        }
        assert_eq!(back_off.failures(), 1);
        assert_eq!(back_off.wait(begun).as_millis(), 105, "from the first on");
    }
}
