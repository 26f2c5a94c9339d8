//! Signals as orders to the server.
//!
//! | signal | meaning |
//! |---|---|
//! | SIGTERM, SIGINT, SIGQUIT, SIGPWR, SIGRTMIN+3 | stop; a second one stops at once |
//! | SIGUSR1, SIGUSR2 | reload the configuration, and PHP in all pools |
//! | SIGHUP | the same, as services expect it; but stop when the server was started from a terminal, \
//!   because then the signal means that the terminal was closed |
//!
//! All other signals whose default would terminate the process, except those of a fault, are logged and ignored:
//! requests in flight are more important than the sender's possible intention.

use std::task::{Context, Poll};

use rustix::fs::{Mode, OFlags};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Numbers that the standard library and tokio do not name; they are valid for Linux on all supported processors.
const SIGSTKFLT: i32 = 16;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;
const SIGVTALRM: i32 = 26;
const SIGPROF: i32 = 27;
const SIGPWR: i32 = 30;
/// The C library reserves the two before.
const SIGRTMIN: i32 = 34;
const SIGRTMAX: i32 = 64;

/// Signals that ask a container to stop: SIGTERM; SIGQUIT in the images of PHP-FPM and nginx; SIGPWR of LXC, and of a
/// machine whose power fails; SIGRTMIN+3 of Podman and systemd-nspawn.
const STOP: [(SignalKind, &str); 5] = [
    (SignalKind::terminate(), "SIGTERM"),
    (SignalKind::interrupt(), "SIGINT"),
    (SignalKind::quit(), "SIGQUIT"),
    (SignalKind::from_raw(SIGPWR), "SIGPWR"),
    (SignalKind::from_raw(SIGRTMIN + 3), "SIGRTMIN+3"),
];
const RELOAD: [(SignalKind, &str); 2] = [
    (SignalKind::user_defined1(), "SIGUSR1"),
    (SignalKind::user_defined2(), "SIGUSR2"),
];
/// The standard library ignores SIGPIPE: a write fails instead.
const WITHOUT_MEANING: [(SignalKind, &str); 7] = [
    (SignalKind::alarm(), "SIGALRM"),
    (SignalKind::from_raw(SIGVTALRM), "SIGVTALRM"),
    (SignalKind::from_raw(SIGPROF), "SIGPROF"),
    (SignalKind::io(), "SIGIO"),
    (SignalKind::from_raw(SIGSTKFLT), "SIGSTKFLT"),
    (SignalKind::from_raw(SIGXCPU), "SIGXCPU"),
    (SignalKind::from_raw(SIGXFSZ), "SIGXFSZ"),
];

/// All of them, caught as soon as this exists.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) stop: SignalStream,
    pub(crate) reload: SignalStream,
    /// Signals that are ignored.
    pub(crate) others: SignalStream,
}

/// Signals with the same meaning, and their names.
#[derive(Debug)]
pub(crate) struct SignalStream(Vec<(Signal, String)>);

impl Signals {
    /// Catches them from now on, also if they were inherited as ignored. Must be called within a tokio runtime.
    pub(crate) fn new() -> std::io::Result<Self> {
        let mut signals = Self {
            stop: SignalStream::new(&STOP)?,
            reload: SignalStream::new(&RELOAD)?,
            others: SignalStream::new(&WITHOUT_MEANING)?,
        };
        for number in (SIGRTMIN..=SIGRTMAX).filter(|number| *number != SIGRTMIN + 3) {
            let name = format!("SIGRTMIN+{}", number - SIGRTMIN);
            signals.others.add(SignalKind::from_raw(number), name)?;
        }
        let meant = match hangup_means(hangup_is_ignored(), has_terminal()) {
            Hangup::Nothing => return Ok(signals),
            Hangup::Stop => &mut signals.stop,
            Hangup::Reload => &mut signals.reload,
        };
        meant.add(SignalKind::hangup(), "SIGHUP".into())?;
        Ok(signals)
    }
}

impl SignalStream {
    fn new(kinds: &[(SignalKind, &str)]) -> std::io::Result<Self> {
        let mut caught = Self(Vec::new());
        for (kind, name) in kinds {
            caught.add(*kind, (*name).to_owned())?;
        }
        Ok(caught)
    }

    fn add(&mut self, kind: SignalKind, name: String) -> std::io::Result<()> {
        self.0.push((signal(kind)?, name));
        Ok(())
    }

    /// The name of the next one; repetitions since the last call count as one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> String {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        // None of them ends before the runtime does.
        let came = |(signal, name): &mut (Signal, String)| {
            signal.poll_recv(cx).is_ready().then(|| name.clone())
        };
        let name = self.0.iter_mut().find_map(came);
        name.map_or(Poll::Pending, Poll::Ready)
    }
}

pub(crate) async fn log_ignored(mut signals: SignalStream) {
    loop {
        let signal = signals.next().await;
        tracing::info!(target: "howdah", signal, "ignored a signal that the server does not use");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hangup {
    Nothing,
    Stop,
    Reload,
}

fn hangup_means(ignored: bool, terminal: bool) -> Hangup {
    match (ignored, terminal) {
        // `nohup` requests that it is ignored.
        (true, _) => Hangup::Nothing,
        (false, true) => Hangup::Stop,
        (false, false) => Hangup::Reload,
    }
}

fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, 1)
}

/// Whether a process with this `/proc/PID/status` ignores a signal.
fn ignores(status: &str, signal: u32) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Whether there is a controlling terminal, whose end SIGHUP reports.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open("/dev/tty", flags, Mode::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_of_sighup() {
        assert_eq!(hangup_means(false, true), Hangup::Stop);
        assert_eq!(hangup_means(false, false), Hangup::Reload);
        assert_eq!(hangup_means(true, true), Hangup::Nothing);
        assert_eq!(hangup_means(true, false), Hangup::Nothing);
    }

    #[test]
    fn ignored_signals() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, 1));
        assert!(ignores(status, 13));
        assert!(!ignores(status, 15));
        assert!(!ignores("Name:\tx\n", 1));
    }
}
