//! One zygote of a pool and its forks. A pool's generations share its segment.
//!
//! ```text
//!   Booting ──BOOTED──> Serving ──a later one is complete──> Draining ──its workers are gone──> let go
//!      └──────────── ends before that: the boot failed; an earlier one goes on serving
//! ```

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::time::Instant;

use howdah_monitor::process;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::crash_report::CrashRecorder;
use crate::process::control::{Link, Message};
use crate::process::process_identity::has_ended;
use crate::process::tail::Tail;

/// State of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The zygote was requested, and runs the worker script.
    Booting,
    /// Workers are forked from it.
    Serving,
    /// A later one has taken over: its workers finish their requests.
    Draining,
}

#[derive(Debug)]
pub(crate) struct Generation {
    /// Counts the pool's zygotes, from 1.
    pub(crate) id: u32,
    /// The zygote's number at the root.
    pub(crate) number: u32,
    pub(crate) phase: Phase,
    /// All its workers have been ready at the same time.
    pub(crate) complete: bool,
    /// Workers of it that have become ready so far.
    pub(crate) readied: usize,
    /// Its workers run the script themselves.
    pub(crate) boot_each: bool,
    /// The zygote's control socket; `None` after its exit.
    pub(crate) link: Option<Link>,
    /// 0 until the root has reported it; the reader of its log waits for it.
    pub(crate) pid: watch::Sender<i32>,
    /// Set once the kernel has confirmed that it is a child of the root.
    pub(crate) pidfd: Option<OwnedFd>,
    /// BOOTED, if it arrived before the root had reported the process.
    pub(crate) booted: Option<Message>,
    /// Workers that it has announced and whose exit it has not reported.
    pub(crate) announced: usize,
    /// The zygote's wait status, once the root has reported it.
    pub(crate) ended: watch::Sender<Option<ExitStatus>>,
    pub(crate) since: Instant,
    /// When a later one took over.
    pub(crate) replaced: Option<Instant>,
    /// Workers that it may have while a later generation needs their places.
    pub(crate) cap: usize,
    /// Recording of the zygote for a crash report.
    pub(crate) recorder: CrashRecorder,
    /// The zygote's output while it booted, and the task that reads it.
    pub(crate) tail: Tail,
    pub(crate) reader: Option<JoinHandle<()>>,
}

impl Generation {
    /// A generation whose zygote has not been requested.
    pub(crate) fn new(id: u32, boot_each: bool, pid: watch::Sender<i32>) -> Self {
        Self {
            id,
            number: u32::MAX,
            phase: Phase::Booting,
            complete: false,
            readied: 0,
            boot_each,
            link: None,
            pid,
            pidfd: None,
            booted: None,
            announced: 0,
            ended: watch::Sender::new(None),
            since: Instant::now(),
            replaced: None,
            cap: usize::MAX,
            recorder: CrashRecorder::new(),
            tail: Tail::new(),
            reader: None,
        }
    }

    /// The zygote runs.
    pub(crate) fn is_alive(&self) -> bool {
        let pidfd = self.pidfd.as_ref();
        pidfd.is_some_and(|pidfd| !has_ended(pidfd.as_fd()))
    }

    /// Continues the zygote if it is stopped: PHP of its user can send it SIGSTOP.
    pub(crate) fn resume(&self) {
        if let Some(pidfd) = &self.pidfd {
            // It may have exited. PHP that stops a zygote of a user that only the monitor can signal stops its own
            // pool.
            let _ = pidfd_send_signal(pidfd.as_fd(), Signal::CONT);
        }
    }

    /// Kills the zygote, and with it all its workers.
    pub(crate) fn kill(&mut self) {
        self.link = None;
        if let Some(pidfd) = &self.pidfd {
            // It may have exited already.
            let _ = process::signal(pidfd.as_fd(), Signal::KILL);
        }
    }
}
