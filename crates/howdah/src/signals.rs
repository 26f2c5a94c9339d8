//! Orders that come as signals.
//!
//! | signal | meaning |
//! |---|---|
//! | SIGTERM, SIGINT | stop; a second one stops at once |
//! | SIGUSR1 | reload the configuration, and PHP in all pools |
//! | SIGHUP | the same, as services expect it; but stop when the server was started from a terminal, \
//!   because then the signal says that the terminal is gone |

use rustix::fs::{Mode, OFlags};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// All of them, caught from the moment on at which this exists.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) stop: StopSignals,
    pub(crate) reload: ReloadSignals,
}

/// Those that mean: stop.
#[derive(Debug)]
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

/// Those that mean: reload.
#[derive(Debug)]
pub(crate) struct ReloadSignals {
    user: Signal,
    hangup: Option<Signal>,
}

impl Signals {
    /// Catches them from now on. Must be called within a tokio runtime.
    pub(crate) fn new() -> std::io::Result<Self> {
        let meaning = hangup_means(hangup_is_ignored(), has_terminal());
        let hangup = |wanted| {
            (meaning == wanted)
                .then(|| signal(SignalKind::hangup()))
                .transpose()
        };
        Ok(Self {
            stop: StopSignals {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hangup: hangup(Hangup::Stop)?,
            },
            reload: ReloadSignals {
                user: signal(SignalKind::user_defined1())?,
                hangup: hangup(Hangup::Reload)?,
            },
        })
    }
}

impl StopSignals {
    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = received(self.hangup.as_mut()) => {}
        }
    }
}

impl ReloadSignals {
    /// The next one; several that came since count as one. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.user.recv() => {}
            () = received(self.hangup.as_mut()) => {}
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
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
        // `nohup` says that it shall mean nothing.
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

/// Whether there is a controlling terminal: the one whose end SIGHUP reports.
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
