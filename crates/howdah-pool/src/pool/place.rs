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

/// A process that has run this long did not fail at its start.
const YOUNG: Duration = Duration::from_secs(1);

/// One process, from the order to fork it.
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
    /// Set once the zygote has announced it, and the kernel has confirmed that it is the zygote's child; `None` also if
    /// it was lost. Then the zygote gets a message to kill the process.
    pub(crate) pidfd: Option<Arc<AsyncFd<OwnedFd>>>,
    /// When it was requested.
    pub(crate) since: Instant,
    /// It accepts requests.
    pub(crate) ready: bool,
    /// It will exit once a successor is ready.
    pub(crate) retiring: bool,
    /// It was ordered to exit.
    pub(crate) stopping: bool,
    /// Its exit has begun, and a successor may be forked.
    pub(crate) ending: bool,
    /// The supervisor killed it: its exit is expected.
    pub(crate) killed: bool,
    /// A worker of a draining generation that was in a request at the last check.
    pub(crate) lingers: bool,
    /// It had all the time of its generation: requests that it has started do not run again.
    pub(crate) overdue: bool,
    /// The request whose backtrace was requested; the worker is killed when the trace has arrived.
    pub(crate) traced: Option<HeldRequest>,
    /// When it has to be replaced.
    pub(crate) expires: Option<Instant>,
    /// Bytes of PHP's allocator after its first requests.
    pub(crate) memory_base: Option<u64>,
    /// Requests that it had served at the last check, and when that number last changed.
    pub(crate) active: (u64, Instant),
    /// How long a request has blocked the others of a concurrent pool.
    pub(crate) longest_hold: RecentMaximum,
    /// The reason why the worker of a concurrent pool runs one request at a time.
    pub(crate) sequential_cause: Option<String>,
    /// Its wait status, once its zygote has reported it.
    pub(crate) exit: watch::Sender<Option<ExitStatus>>,
    /// Recording of it for a crash report.
    pub(crate) recorder: CrashRecorder,
    /// Its output before it was ready, and the task that reads it.
    pub(crate) tail: Tail,
    pub(crate) reader: Option<JoinHandle<()>>,
}

impl Occupant {
    /// A process that its zygote has been ordered to fork.
    pub(crate) fn new(
        serial: u64,
        generation: u32,
        pid: watch::Sender<i32>,
        expires: Option<Instant>,
    ) -> Self {
        let now = Instant::now();
        Self {
            serial,
            generation,
            pid,
            pidfd: None,
            since: now,
            ready: false,
            retiring: false,
            stopping: false,
            ending: false,
            killed: false,
            lingers: false,
            overdue: false,
            traced: None,
            expires,
            memory_base: None,
            active: (0, now),
            longest_hold: RecentMaximum::default(),
            sequential_cause: None,
            exit: watch::Sender::new(None),
            recorder: CrashRecorder::new(),
            tail: Tail::new(),
            reader: None,
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        *self.pid.borrow()
    }

    /// Whether it was requested, and the zygote has not replied.
    pub(crate) fn is_awaited(&self) -> bool {
        self.pid() == 0
    }

    /// Whether it accepts requests and was not ordered to exit.
    pub(crate) fn serves(&self) -> bool {
        self.ready && !self.stopping
    }

    /// Whether it counts towards the target number of workers.
    pub(crate) fn counts(&self) -> bool {
        !self.retiring && !self.stopping && !self.ending
    }

    /// Whether an exit now, after so many requests, would be a failed start.
    pub(crate) fn would_fail(&self, served: u64) -> bool {
        !self.ready || (served == 0 && self.since.elapsed() < YOUNG)
    }

    pub(crate) fn exit_is_expected(&self) -> bool {
        self.killed || self.stopping || self.traced.is_some()
    }

    /// Whether a clean exit would be due to its requests, age or memory, or chosen by its script. `expected`: on
    /// request.
    pub(crate) fn recycles(&self, expected: bool) -> bool {
        self.ready && !self.killed && (self.retiring || !expected)
    }

    /// Kills the process. It may have exited already; then nothing happens.
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
    /// A process, or an order to fork one.
    Occupied(Box<Occupant>),
    /// It exited; front threads recover its requests.
    Recovering,
}

#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) state: State,
    /// The previous process, whose exit status may arrive before or after the place is used again.
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

    /// Its process has exited, and front threads recover its requests.
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

/// Data of a process that is kept until its exit status has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastProcess {
    pub(crate) pid: i32,
    pub(crate) request_id: u64,
    /// Its exit is expected: the supervisor killed it, or ordered it to exit.
    pub(crate) expected: bool,
    /// A clean exit is due to its limits.
    pub(crate) recycles: bool,
}

/// The maximum of recent values: of the last minute at least, so that an observer who reads it once a minute sees it,
/// and of the last one and a half at most.
#[derive(Debug, Default)]
pub(crate) struct RecentMaximum {
    /// When the current part began.
    since: Option<Instant>,
    /// The current part and those before it.
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

/// Consecutive failures, and the delay after them.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: u32,
    /// Failures of attempts that began before this belong to one round: they count once.
    last: Option<Instant>,
    /// No attempt may start before this.
    until: Option<Instant>,
}

impl BackOff {
    /// An attempt that began at `begun` has failed. Returns the delay: n² · 100 ms, at most 1 s.
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

    /// An attempt has succeeded.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The remaining delay.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Consecutive failures; those of one round count once.
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
