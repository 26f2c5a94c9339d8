//! Pools of PHP processes: who runs, who waits, and what happens when one dies.
//!
//! ```text
//!   main thread                         front threads (one PoolFront for each pool on each)
//!   Supervisor ── processes             PoolFront::call ── slots, queue, responses
//!       │  WorkerGone ───────────────────────>│ recovers what the worker held
//!       │<────────────── Recovered, Kill ─────│
//!       └─ control sockets ─> zygotes         └─ shared memory <─> workers
//! ```
//!
//! The [`Supervisor`] starts the root zygote, the pools' zygotes and the workers, replaces what ends, and
//! forwards their logs. It reloads a pool by generations, and is asked from elsewhere by its [`Handle`]. A [`PoolFront`] hands requests to workers and collects their responses; it knows no
//! processes, only places. The two exchange messages and share nothing else.
//!
//! This crate must not know PHP's headers, HTTP connections or configuration files.
#![deny(unsafe_code)]

mod alarm;
mod blocked;
mod chore;
mod clock;
mod control;
mod crashes;
mod encode;
mod ends;
mod exchange;
#[cfg(test)]
mod fake_concurrent;
mod flood;
mod front;
mod generation;
mod handle;
mod kin;
mod load;
mod log_pipe;
mod meant;
mod messages;
mod opcache;
mod options;
mod place;
mod pool;
mod preload;
mod readiness;
mod record;
mod recycle;
mod response;
mod root;
mod scaling;
mod schedstat;
mod scheduling;
mod signal;
mod spool;
mod status;
mod supervisor;
mod tail;
mod worker_log;

pub use control::ControlError;
pub use crashes::Target;
pub use front::{
    FrontSeed, Observer, PoolFront, Publisher, Request, RequestBody, after_unpark, before_park,
    settled,
};
pub use handle::{Handle, ReloadError, Stopped};
pub use howdah_shm::{Update, WorkerId};
pub use opcache::{Opcache, OpcacheAnswer, OpcacheError, OpcacheOrder, Tally};
pub use options::{Mode, PoolOptions, RootOptions, User, WorkerOptions, default_workers};
pub use preload::{Preload, PreloadMode, Preloaded, PreloadedFile, Verdict};
pub use record::{Record, Recorded};
pub use response::{Body, CallError, Finished, Head};
pub use root::{
    FROM_SERVICE_MANAGER, PhpInfo, StartError, USER_OF_SERVER, is_always_inherited, php_info,
};
pub use status::{
    Abandoned, Counters, Exits, GenerationStatus, PoolStatus, PreloadStatus, Refused,
    RequestStatus, RouteCrashes, Status, WorkerStatus,
};
pub use supervisor::{FrontSeeds, Supervisor, WORKERS_LEAVE, start_time};
