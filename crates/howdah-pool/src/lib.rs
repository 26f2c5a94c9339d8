//! Pools of PHP processes: who runs, who waits, and what happens when one crashes.
//!
//! ```text
//!   main thread                         front threads (one PoolFront for each pool on each)
//!   Supervisor ── processes             PoolFront::call ── slots, queue, responses
//!       │  WorkerGone ───────────────────────>│ recovers what the worker held
//!       │<────────────── Recovered, Kill ─────│
//!       └─ control sockets ─> zygotes         └─ shared memory <─> workers
//! ```
//!
//! The [`Supervisor`] starts the root zygote, the pools' zygotes and the workers, replaces processes that exit, and
//! forwards their logs. It reloads a pool by generations, and is controlled through its [`Handle`]. A [`PoolFront`]
//! passes requests to workers and collects their responses; it has no access to processes, only to places. The two
//! exchange messages and share nothing else.
//!
//! # Layers
//!
//! Each may use those below it and no others:
//!
//! | | |
//! |---|---|
//! | `supervisor` | all processes: starts, replaces and reloads them |
//! | `pool` | what the supervisor records of one pool: generations, places, scaling |
//! | `front` | requests and responses on a front thread |
//! | `handle`, `load`, `looks`, `messages`, `request_wait`, `response` | what the layers above exchange and count |
//! | `process` | one PHP process: the root's start, control messages, identity, log, OPcache |
//! | `options`, `preload`, `profile`, `record`, `status` | options and figures |
//! | `crash_report` | the reports of processes that crashed |
//! | `system` | timers, clocks and descriptors |
//!
//! This crate must not depend on PHP's headers, HTTP connections or configuration files.
#![deny(unsafe_code)]

mod crash_report;
mod crashes;
mod front;
mod handle;
mod leaks;
mod load;
mod looks;
mod messages;
mod options;
mod pool;
mod preload;
mod process;
mod profile;
mod record;
mod request_wait;
mod response;
mod status;
mod supervisor;
mod system;

pub use crash_report::{
    CrashReceiver, CrashReport, CrashSignal, CrashSink, CrashedProcess, CrashedRequest,
};
pub use crashes::Target;
pub use front::{
    Body, FrontSeed, Observer, PoolFront, Publisher, Request, RequestBody, after_unpark,
    before_park, settled,
};
pub use handle::{Handle, ShutdownError};
pub use howdah_shm::{Update, WorkerId};
pub use leaks::{Leak, Leaks};
pub use looks::RequestLook;
pub use messages::ReloadError;
pub use options::{Mode, PoolOptions, RootOptions, User, WorkerMode, default_workers};
pub use preload::{Preload, PreloadMode, PreloadResult, PreloadedFile, Verdict};
pub use process::control::ControlError;
pub use process::encode::EncodeError;
pub use process::opcache::{Opcache, OpcacheAnswer, OpcacheError, OpcacheOrder, Tally};
pub use process::root::{PhpInfo, StartError, php_info};
pub use process::root_command::{
    FROM_SERVICE_MANAGER, USER_OF_SERVER, inherited_environment, withheld_from_php,
};
pub use profile::{ProfiledPool, RunningProfile};
pub use record::{Record, RecordedFile};
pub use request_wait::RequestWait;
pub use response::{CallError, FIELDS_MAX, HOP_BY_HOP, Head, ScriptResult, ScriptUsage};
pub use status::{
    AbandonmentCounts, Counters, Exits, GenerationStatus, PoolStatus, PreloadStatus, RefusalCounts,
    RequestStatus, RouteCrashes, SlowOutcome, SlowPlace, SlowRequestStatus, Status, WorkerStatus,
};
pub use supervisor::{FrontSeeds, Supervisor, WORKER_EXIT_TIME, start_time};
pub use system::readiness::register;
pub use system::signal::worker_signals;
