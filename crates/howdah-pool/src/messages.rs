//! Messages between the supervisor, the front threads and the tasks that wait for events. The supervisor owns
//! processes, a front thread owns requests; neither accesses the other's state.

use howdah_shm::{Front, Hold, ProtocolViolation, WorkerId};
use tokio::sync::{mpsc, oneshot};

use crate::crash_report::CrashLink;
use crate::looks::RequestLooks;
use crate::process::control::{ControlError, Message};
use crate::process::log_pipe::StateRecord;
use crate::process::opcache::{OpcacheAnswer, OpcacheError, OpcacheOrder};
use crate::profile::ProfiledPool;
use crate::status::Status;

/// Why a worker exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitReason {
    /// It was ordered to exit, or killed.
    Planned,
    /// It exited unexpectedly.
    Crash,
    /// It was killed after all its time: requests that it had started do not run again.
    Overdue,
}

/// A message to one front thread, for one pool.
#[derive(Debug)]
pub(crate) enum FrontMessage {
    /// The process in this place exited (reported by its pidfd, or by its zygote if it has none): recover its requests.
    WorkerGone(WorkerId),
    /// It exited unexpectedly: the request that ran is the suspect, and the report names it.
    WorkerCrashed(WorkerId, Option<CrashLink>),
    /// Like [`FrontMessage::WorkerGone`], but it was killed after all its time: requests that it had started do not run
    /// again.
    WorkerOverdue(WorkerId),
    /// Check the segment for corruption.
    Check,
    /// A new segment and its number. All processes with the old one have exited.
    Segment(Box<Front>, u32),
    /// Another front thread released a slot while requests waited; only with `max_in_flight`.
    Room,
    /// The pool has ended: remaining requests get no response, and nothing is kept.
    Ended,
}

/// To the supervisor. `segment` is the number of the pool's segment: messages about a previous one are
/// ignored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SupervisorMessage {
    /// All front threads have recovered the place: it may be filled again.
    Recovered {
        /// Index of the pool.
        pool: usize,
        segment: u32,
        worker: WorkerId,
    },
    /// Kill the process, if it still has this request.
    Kill {
        /// Index of the pool.
        pool: usize,
        segment: u32,
        worker: WorkerId,
        /// The request that is the reason; `None`: regardless of its request (it broke the
        /// contract).
        request: Option<HeldRequest>,
        /// The reason for the log.
        reason: KillReason,
    },
    /// A worker has corrupted the segment.
    Corrupt {
        /// Index of the pool.
        pool: usize,
        segment: u32,
        /// The evidence.
        violation: ProtocolViolation,
    },
    /// More requests are in flight than there are workers.
    Pressure {
        /// Index of the pool.
        pool: usize,
    },
}

/// A request that a worker has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldRequest {
    pub(crate) id: u64,
    pub(crate) hold: Hold,
}

/// Why a worker is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// Its request exceeded `request_timeout`.
    RequestTimeout,
    /// It wrote something that the contract does not allow.
    ProtocolViolation(ProtocolViolation),
}

/// Why a pool was not reloaded. The previous generation continues to serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pool {pool} was not reloaded: {text}")]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub struct ReloadError {
    pub pool: String,
    /// The output of its boot, or why it was not started.
    pub text: String,
}

/// Where the result of a reload is sent; each pool of the reload sends one.
pub(crate) type Reply = mpsc::UnboundedSender<Result<(), ReloadError>>;

/// Where the result of an order for OPcache is sent.
pub(crate) type OpcacheReply = oneshot::Sender<Result<OpcacheAnswer, OpcacheError>>;

/// An event. `pool` is an index, `generation` and `serial` identify the process: events of a replaced process are
/// ignored.
#[derive(Debug)]
pub(crate) enum Event {
    Front(SupervisorMessage),
    /// A message of the root, or the end of its socket. The number counts roots.
    Root(u32, Result<Message, ControlError>),
    /// A message from a pool's zygote.
    Zygote {
        pool: usize,
        generation: u32,
        message: Result<Message, ControlError>,
    },
    /// A zygote exited before it had booted, and its output has been read.
    BootFailed {
        pool: usize,
        generation: u32,
        text: String,
    },
    /// A zygote should by now have forked the worker that was requested.
    OrderDue {
        pool: usize,
        generation: u32,
    },
    /// A generation's boot has taken longer than most.
    BootSlow {
        pool: usize,
        generation: u32,
    },
    /// The time for a generation's boot is over.
    BootTimeout {
        pool: usize,
        generation: u32,
    },
    /// A worker wrote a state record.
    State {
        pool: usize,
        worker: WorkerId,
        serial: u64,
        state: StateRecord,
    },
    /// The kernel seems to have started to end a worker.
    Ending {
        pool: usize,
        worker: WorkerId,
    },
    /// A pidfd is readable.
    Gone {
        pool: usize,
        worker: WorkerId,
        serial: u64,
    },
    /// A worker exited before it was ready, and its output has been read.
    WorkerFailed {
        pool: usize,
        generation: u32,
        text: String,
    },
    /// The time for a backtrace is over.
    Kill {
        pool: usize,
        worker: WorkerId,
        serial: u64,
    },
    /// A delay is over: missing processes may be started.
    Fill(usize),
    /// Places whose process was never reported, after a zygote exited.
    Forget {
        pool: usize,
        generation: u32,
    },
    /// The time for the last requests of a generation is over.
    DrainOver {
        pool: usize,
        generation: u32,
    },
    /// A generation without workers.
    LetGo {
        pool: usize,
        generation: u32,
    },
    StartRoot,
    StartPool(usize),
    /// The processes with a corrupt segment have exited, or its replacement is retried.
    ReplaceSegment(usize),
    /// Check whether requests wait.
    Scale(usize),
    /// Check all workers.
    Tick,
    /// PHP code requested a reload, and enough time has passed since the last one.
    ReloadRequested(usize),
    /// A reload has ended, and others were requested meanwhile.
    ReloadNext(usize),
    /// A reload has taken longer than it may delay those that were requested meanwhile.
    ReloadLong(usize),
    /// Requested by a [`crate::Handle`]; no name: all pools.
    Reload(Option<String>, Reply),
    Status(oneshot::Sender<Status>),
    ProfiledPools(oneshot::Sender<Vec<ProfiledPool>>),
    Look(oneshot::Sender<Vec<RequestLooks>>),
    Opcache(OpcacheOrder, OpcacheReply),
}
