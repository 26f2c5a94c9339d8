//! What the supervisor and the front threads tell each other. The supervisor knows processes, a front
//! thread knows requests; neither reaches into the other's state.

use howdah_shm::WorkerId;

/// To one front thread, for one pool.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToFront {
    /// The process in this place is gone (its pidfd said so): recover what it held.
    WorkerGone(WorkerId),
}

/// To the supervisor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToSupervisor {
    /// All front threads have recovered the place: it may be filled again.
    Recovered {
        /// Index of the pool.
        pool: usize,
        /// The place.
        worker: WorkerId,
    },
    /// End the process, if it still has this request in hand.
    Kill {
        /// Index of the pool.
        pool: usize,
        /// Its place.
        worker: WorkerId,
        /// The request that is the reason; `None`: whatever it does (it broke the contract).
        request_id: Option<u64>,
        /// For the log.
        reason: KillReason,
    },
}

/// Why a worker is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// Its request ran into `request_timeout`.
    RequestTimeout,
    /// It wrote what the contract does not allow.
    Fault(howdah_shm::Fault),
}
