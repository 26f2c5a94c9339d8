//! The process of the root zygote: a child of this one, or of the monitor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;

use howdah_monitor::process::{self, SpawnedProgram};
use rustix::process::{Pid, Signal, kill_process, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

use super::process_identity::has_ended;
use crate::system::readiness::register;

/// The process of the root zygote.
#[derive(Debug)]
pub(crate) enum RootProcess {
    /// The server has its rights.
    Child(Child),
    /// Its pools have their own users.
    OfMonitor {
        pid: i32,
        pidfd: AsyncFd<OwnedFd>,
        /// The monitor reports it once.
        status: Option<ExitStatus>,
    },
}

impl RootProcess {
    /// A process that the monitor has started. Must be called in a runtime.
    pub(crate) fn of_monitor(started: SpawnedProgram) -> io::Result<(Self, OwnedFd)> {
        let process = Self::OfMonitor {
            pid: started.pid,
            pidfd: register(started.pidfd, Interest::READABLE)?,
            status: None,
        };
        Ok((process, started.socket))
    }

    /// Its number while it runs.
    pub(crate) fn pid(&mut self) -> Option<i32> {
        match self {
            Self::Child(child) => {
                let pid = child.id()?.cast_signed();
                (!matches!(child.try_wait(), Ok(Some(_)))).then_some(pid)
            }
            Self::OfMonitor { pid, pidfd, .. } => {
                (!has_ended(pidfd.get_ref().as_fd())).then_some(*pid)
            }
        }
    }

    /// Its number until its exit was waited for.
    pub(crate) fn number(&self) -> Option<i32> {
        match self {
            Self::Child(child) => child.id().map(u32::cast_signed),
            Self::OfMonitor { pid, .. } => Some(*pid),
        }
    }

    /// Continues it if it is stopped: PHP of its user can send it SIGSTOP.
    pub(crate) fn resume(&self) {
        // It may have exited. PHP cannot stop a process of a different user.
        let _ = match self {
            Self::Child(child) => child
                .id()
                .and_then(|id| Pid::from_raw(id.cast_signed()))
                .map_or(Ok(()), |pid| kill_process(pid, Signal::CONT)),
            Self::OfMonitor { pidfd, .. } => {
                pidfd_send_signal(pidfd.get_ref().as_fd(), Signal::CONT)
            }
        };
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Child(child) => child.wait().await,
            Self::OfMonitor { pid, pidfd, status } => {
                if let Some(status) = status {
                    return Ok(*status);
                }
                // A pidfd stays readable.
                pidfd.readable().await?.retain_ready();
                let reaped = process::reap(*pid)?;
                *status = Some(reaped);
                Ok(reaped)
            }
        }
    }

    /// Kills it and waits for its exit.
    pub(crate) async fn kill(&mut self) -> io::Result<()> {
        match self {
            Self::Child(child) => child.kill().await,
            Self::OfMonitor { pidfd, .. } => {
                // It may have exited already.
                let _ = process::signal(pidfd.get_ref().as_fd(), Signal::KILL);
                self.wait().await.map(drop)
            }
        }
    }
}
