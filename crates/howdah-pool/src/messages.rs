//! Messages between the supervisor, the front threads and the tasks that wait for something. The
//! supervisor knows processes, a front thread knows requests; neither reaches into the other's state.

use howdah_shm::{Fault, Front, Hold, WorkerId};
use tokio::sync::{mpsc, oneshot};

use crate::crash_report::CrashLink;
use crate::looks::RequestLooks;
use crate::process::control::{ControlError, Message};
use crate::process::log_pipe::StateRecord;
use crate::process::opcache::{OpcacheAnswer, OpcacheError, OpcacheOrder};
use crate::profile::ProfiledPool;
use crate::status::Status;

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// It was ordered to exit, or killed.
    Planned,
    /// It was not to exit.
    Crash,
    /// It was ended with all its time used up: what it had begun is not run again.
    Overdue,
}

/// To one front thread, for one pool.
#[derive(Debug)]
pub(crate) enum FrontMessage {
    /// The process in this place exited (reported by its pidfd, or by its zygote if it has none): recover what it held.
    WorkerGone(WorkerId),
    /// The same, unexpectedly: the request that ran is suspected, and named in the report.
    WorkerCrashed(WorkerId, Option<CrashLink>),
    /// As [`FrontMessage::WorkerGone`], and it was ended with all its time used up: what it had begun is not run again.
    WorkerOverdue(WorkerId),
    /// Check the segment for corruption.
    Check,
    /// A new segment and its number. All processes with the old one have exited.
    Segment(Box<Front>, u32),
    /// Under `max_in_flight`: another front thread gave a slot back while requests waited.
    Room,
    /// The pool has ended: what is left gets no answer, and nothing of it is kept.
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
        /// The place.
        worker: WorkerId,
    },
    /// End the process, if it still has this request in hand.
    Kill {
        /// Index of the pool.
        pool: usize,
        segment: u32,
        /// Its place.
        worker: WorkerId,
        /// The request that is the reason; `None`: whatever it does (it broke the contract).
        request: Option<HeldRequest>,
        /// For the log.
        reason: KillReason,
    },
    /// A worker has corrupted the segment.
    Corrupt {
        /// Index of the pool.
        pool: usize,
        segment: u32,
        /// The evidence.
        fault: Fault,
    },
    /// More requests are under way than there are workers.
    Pressure {
        /// Index of the pool.
        pool: usize,
    },
}

/// A request in a worker's hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldRequest {
    pub(crate) id: u64,
    pub(crate) hold: Hold,
}

/// Why a worker is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// Its request ran into `request_timeout`.
    RequestTimeout,
    /// It wrote what the contract does not allow.
    Fault(Fault),
}

/// Why a pool was not reloaded. What served before goes on serving.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pool {pool} was not reloaded: {text}")]
pub struct ReloadError {
    /// The pool's name.
    pub pool: String,
    /// What its boot wrote, or what kept it from being started.
    pub text: String,
}

/// Where the answer to a reload goes; each pool that was to be reloaded gives one.
pub(crate) type Reply = mpsc::UnboundedSender<Result<(), ReloadError>>;

/// Where the answer to an order for OPcache goes.
pub(crate) type OpcacheReply = oneshot::Sender<Result<OpcacheAnswer, OpcacheError>>;

/// Something happened. `pool` is an index, `generation` and `serial` say of which process: what is about
/// one that has been replaced is dropped.
#[derive(Debug)]
pub(crate) enum Event {
    Front(SupervisorMessage),
    /// A message of the root, or its end. The number counts roots.
    Root(u32, Result<Message, ControlError>),
    /// The same of a pool's zygote.
    Zygote {
        pool: usize,
        generation: u32,
        message: Result<Message, ControlError>,
    },
    /// A zygote ended before it had booted, and all it wrote has been read.
    BootFailed {
        pool: usize,
        generation: u32,
        text: String,
    },
    /// A zygote should have forked the worker that was requested a while ago.
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
    /// The kernel has begun to end a worker, or so it looks.
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
    /// A worker ended before it was ready, and all it wrote has been read.
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
    /// A delay is over: processes that are missing may be started.
    Fill(usize),
    /// Places whose process was never reported, after a zygote died.
    Forget {
        pool: usize,
        generation: u32,
    },
    /// The time for the last requests of a generation is over.
    DrainOver {
        pool: usize,
        generation: u32,
    },
    /// A generation whose workers are gone.
    LetGo {
        pool: usize,
        generation: u32,
    },
    StartRoot,
    StartPool(usize),
    /// The processes with a corrupt segment have exited, or its replacement is retried.
    ReplaceSegment(usize),
    /// Look whether requests wait.
    Scale(usize),
    /// Look at all workers.
    Tick,
    /// PHP code requested a reload, and the last one is long enough ago.
    ReloadAsked(usize),
    /// A reload is over, and others were requested meanwhile.
    ReloadNext(usize),
    /// A reload may have taken too long for those that were requested meanwhile.
    ReloadLong(usize),
    /// Requested by a [`crate::Handle`]; no name: all pools.
    Reload(Option<String>, Reply),
    Status(oneshot::Sender<Status>),
    ProfiledPools(oneshot::Sender<Vec<ProfiledPool>>),
    Look(oneshot::Sender<Vec<RequestLooks>>),
    Opcache(OpcacheOrder, OpcacheReply),
}
