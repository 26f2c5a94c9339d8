//! Reports of processes that crashed: composed here and sent to the task that writes them. Everything that a process
//! wrote is treated as text.

mod compose;
mod fault;
mod kernel;
mod recorder;
pub(crate) mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

pub(crate) use compose::{CrashEvidence, compose};
pub(crate) use recorder::{CrashNote, CrashRecorder};

/// Reports that may wait to be written; further ones are dropped.
const WAITING_MAX: usize = 16;

/// A process that crashed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct CrashReport {
    /// Its number, never used twice in a folder.
    pub number: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// The server, since several may share a folder: its Caddyfile, or its addresses. Empty: unknown.
    #[serde(default)]
    pub server: String,
    /// A sentence: the signal, and the kernel's reason for it.
    pub cause: String,
    /// The signal that ended it; `None`: it exited.
    pub signal: Option<CrashSignal>,
    pub exit_status: Option<i32>,
    /// The kernel has written a core dump.
    pub core_dumped: bool,
    pub process: CrashedProcess,
    /// The requests in flight in it.
    pub requests: Vec<CrashedRequest>,
    /// The frames of PHP that ran, the innermost first.
    pub php_backtrace: Vec<String>,
    /// The frames of C, the innermost first.
    pub c_backtrace: Vec<String>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// Version of Howdah.
    pub howdah: String,
    /// Version of PHP.
    pub php: String,
    /// The distribution and its kernel.
    pub system: String,
    /// PHP's extensions.
    pub extensions: Vec<String>,
    /// The parts that are missing in this report, and why.
    pub notes: Vec<String>,
}

/// The signal that ended a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct CrashSignal {
    pub number: i32,
    /// `SIGSEGV`.
    pub name: String,
    /// `si_code`.
    pub code: Option<i32>,
    /// The fault address, in hexadecimal digits.
    pub address: Option<String>,
    /// The process that sent it.
    pub sender: Option<i32>,
    /// `php`, or `other` for a different thread.
    pub thread: Option<String>,
    /// The address is at the end of the thread's stack.
    #[serde(default)]
    pub stack_full: bool,
}

/// The identity of a process that crashed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashedProcess {
    /// The pool's name; empty for the root process.
    pub pool: String,
    /// `classic`, `worker` or `coroutines`.
    pub mode: String,
    /// The worker script.
    pub script: Option<String>,
    /// `worker`, `zygote` or `root`.
    pub role: String,
    /// Its place in the pool.
    pub worker: Option<u16>,
    /// Process id.
    pub pid: i32,
    /// Generation of the pool.
    pub generation: u32,
    /// Milliseconds since it was started.
    pub age_ms: u64,
    /// Requests that it had served before.
    pub requests: u64,
    /// Bytes of PHP's allocator after the last of them.
    pub memory: u64,
}

/// A request in flight in a process that crashed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct CrashedRequest {
    /// 16 hex digits, as in the logs.
    pub id: String,
    pub method: String,
    /// Path and query as sent, secrets in it masked.
    pub uri: String,
    /// Its route, as crashes are counted by it.
    pub route: String,
    /// Its code ran when the process crashed.
    pub ran: bool,
    /// Where its code waited, if it did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backtrace: Vec<String>,
    /// The crash counts for its route.
    #[serde(skip)]
    pub(crate) blamed: bool,
}

/// Where reports are sent. Clones are the same.
#[derive(Debug, Clone)]
pub struct CrashSink {
    next: Arc<AtomicU64>,
    reports: mpsc::Sender<CrashReport>,
    dropped: Arc<AtomicU64>,
    oom_kills: Arc<AtomicU64>,
}

/// Receives the reports.
#[derive(Debug)]
pub struct CrashReceiver {
    reports: mpsc::Receiver<CrashReport>,
    dropped: Arc<AtomicU64>,
}

impl CrashSink {
    /// Its reports are numbered from `next`.
    pub fn new(next: u64) -> (Self, CrashReceiver) {
        let (sender, reports) = mpsc::channel(WAITING_MAX);
        let dropped = Arc::<AtomicU64>::default();
        let sink = Self {
            next: Arc::new(next.into()),
            reports: sender,
            dropped: Arc::clone(&dropped),
            oom_kills: Arc::new(kernel::oom_kills().unwrap_or_default().into()),
        };
        (sink, CrashReceiver { reports, dropped })
    }

    /// The number of the next report.
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Numbers the next report after this one, which another server may have chosen.
    pub fn continue_after(&self, number: u64) {
        let next = number.saturating_add(1);
        self.next.fetch_max(next, Ordering::Relaxed);
    }

    /// Sends a report; never waits.
    pub(crate) fn send(&self, report: CrashReport) {
        if self.reports.try_send(report).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the kernel has killed a process for lack of memory since the last time; `None`: the kernel does not report it.
    pub(crate) fn take_oom_kill(&self) -> Option<bool> {
        let now = kernel::oom_kills()?;
        Some(self.oom_kills.swap(now, Ordering::Relaxed) < now)
    }
}

impl CrashReceiver {
    /// The next report; `None`: all sinks are dropped.
    pub async fn recv(&mut self) -> Option<CrashReport> {
        self.reports.recv().await
    }

    /// Reports that were dropped since the last time.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}

/// The number of a report, assigned when it is first needed.
#[derive(Debug, Clone)]
pub(crate) struct CrashNumber {
    number: Arc<OnceLock<u64>>,
    next: Arc<AtomicU64>,
}

impl CrashNumber {
    pub(crate) fn new(sink: &CrashSink) -> Self {
        Self {
            number: Arc::default(),
            next: Arc::clone(&sink.next),
        }
    }

    pub(crate) fn get(&self) -> u64 {
        let take = || self.next.fetch_add(1, Ordering::Relaxed);
        *self.number.get_or_init(take)
    }
}

/// The data that a front thread adds to the report of a process.
#[derive(Debug, Clone)]
pub(crate) struct CrashLink {
    pub(crate) number: CrashNumber,
    requests: mpsc::UnboundedSender<CrashedRequest>,
}

impl CrashLink {
    pub(crate) fn new(number: CrashNumber) -> (Self, mpsc::UnboundedReceiver<CrashedRequest>) {
        let (requests, receiver) = mpsc::unbounded_channel();
        (Self { number, requests }, receiver)
    }

    /// Adds a request that was in flight in the process.
    pub(crate) fn add(&self, request: CrashedRequest) {
        // The report may have been written without it.
        let _ = self.requests.send(request);
    }
}
