//! The shared-memory contract between the front and the PHP processes.
//!
//! One [`Segment`] per pool holds slots (one request each), a request ring per front thread, a
//! completion ring per front thread and worker, and the words that each side sleeps on. The layout
//! is `worker/include/howdah_shm.h`; the algorithm and its proof are `docs/internals/queue.md`.
//!
//! ```text
//!   front thread                                       worker (PHP process)
//!   acquire, fill, push ── request ring ─────────────> claim (one CAS on the slot's state)
//!                       ── futex or eventfd ────────> wakes
//!   poll, response      <─ completion ring ──────────  PROGRESS, DONE
//!                       <─ eventfd, when `sleeping` ─
//! ```
//!
//! # Life of a slot on the front's side
//!
//! ```text
//!   acquire() ─> fill() ─> push() ─> Event::Progress* ─> Event::Done ─> release()
//!                            │ cancel(): taken back before a worker claimed it (freed)
//!                            │ abort():  the client is gone; Done still comes
//!                            │ expire(): its time is over (concurrent pools); Done is to come soon
//!                            └ recover(worker): torn ─> requeue() or release()
//! ```
//!
//! Each [`Front`] belongs to one thread: it is `Send`, its methods take `&mut self`, and it neither
//! allocates nor makes a system call per request, except to wake a sleeping worker. Every word and
//! byte that a worker can write is checked before use: an invalid value is a [`ProtocolViolation`], never a
//! panic or an access out of bounds. After a violation the worker must be killed; [`Front::recover`]
//! returns its slots.
//!
//! This crate must not depend on HTTP, PHP, or a pool's policy for retries and limits.

mod buffers;
mod errors;
mod frame;
mod front;
mod geometry;
pub mod layout;
#[cfg(not(any(loom, miri)))]
mod life;
#[cfg(not(loom))]
mod memory;
#[cfg(loom)]
#[path = "memory_loom.rs"]
mod memory;
#[cfg(not(loom))]
mod profile;
mod response;
mod segment;
mod sleep;
mod slot;
mod slot_record;
mod status;
mod sync;
mod update;
#[cfg(any(test, loom, feature = "fake-worker"))]
pub mod worker;

#[cfg(all(test, loom))]
mod loom_concurrent;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use errors::{
    EnlistError, FillError, ProtocolViolation, QueueError, ReadError, RecoverError, SlotError,
};
pub use frame::{End, Exit, Frame, Head, Headers};
pub use front::{Cancel, Event, Front, Recovery, TornSlot};
pub use geometry::{Geometry, GeometryError};
#[cfg(not(any(loom, miri)))]
pub use life::LifeWatch;
#[cfg(not(loom))]
pub use profile::{
    DamagedProfileError, FrameKind, InterruptFlag, ProfileFrame, ProfileNode, ProfileOrder,
    ProfiledPlace, SampleCounts, Tick, WorkerProfile,
};
pub use response::ResponseReader;
pub use segment::{Segment, SegmentError, WriteIndices};
pub use slot::{Body, Hold, SlotId, WorkerId};
pub use status::{SlotState, SlotStatus, WorkerStatus};
pub use update::{Part, Update, Updates};
