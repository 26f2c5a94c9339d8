//! The layout of the segment: the mirror of `worker/include/howdah_shm.h`, number by number.
//!
//! `tests/layout.rs` compiles the header and compares every size, offset and constant.

use std::mem::size_of;

/// `magic` of the header, "HWDAHSHM" in memory order.
pub const MAGIC: u64 = 0x4d48_5348_4144_5748;
/// Version of the contract. A segment of another version is refused by the worker.
pub const VERSION: u32 = 9;

/// Front threads that one segment can serve.
pub const FRONTS_MAX: u32 = 16;
/// Places for workers in one segment.
pub const WORKERS_MAX: u32 = 512;
/// Slots of one front thread.
pub const SLOTS_MAX: u32 = 1024;
/// Words of the parked bitmap.
pub const PARKED_WORDS: usize = WORKERS_MAX as usize / 64;

/// Kind of a slot's state: the front's.
pub const SLOT_FREE: u64 = 0;
/// Kind of a slot's state: any worker may claim it.
pub const SLOT_QUEUED: u64 = 1;
/// Kind of a slot's state: the named worker's.
pub const SLOT_OWNED: u64 = 2;
/// Mask of a position: positions have 48 bits and are never used twice.
pub const POSITION_MASK: u64 = (1 << 48) - 1;

/// Kind of a completion cell: the request is finished.
pub const DONE: u64 = 0;
/// Kind of a completion cell: more of the response can be read.
pub const PROGRESS: u64 = 1;

/// The request has no body.
pub const BODY_NONE: u32 = 0;
/// The body follows the variables in the request area, at the next multiple of 8.
pub const BODY_INLINE: u32 = 1;
/// The body is a file in the spool directory, named by the request id as 16 hex digits.
pub const BODY_FILE: u32 = 2;

/// `aborted` of a slot: the client is gone.
pub const ABORTED_CLIENT: u32 = 1;
/// `aborted` of a slot in a concurrent pool: the request's time is over, it is to be ended now.
pub const ABORTED_TIME: u32 = 2;
/// `started`: PHP may have had effects.
pub const STARTED_EFFECTS: u32 = 1;
/// `started`: also, the worker ends itself since the request is over its processor time.
pub const STARTED_TOO_LONG: u32 = 2;

/// `life` of a worker: the front waits for its end.
pub const LIFE_AWAITED: u32 = 0x8000_0000;
/// `life` of a worker: the kernel has begun to end the process.
pub const LIFE_ENDED: u32 = 0x4000_0000;

/// Request flag: no body is to be sent.
pub const REQUEST_HEAD: u32 = 1;
/// Request flag: there is a hub that takes the request's updates.
pub const REQUEST_HUB: u32 = 2;

/// Frame: fills the rest of the ring.
pub const FRAME_PAD: u32 = 0;
/// Frame: the response's head.
pub const FRAME_HEADERS: u32 = 1;
/// Frame: bytes of the body.
pub const FRAME_BODY: u32 = 2;
/// Frame: the head of a 1xx response.
pub const FRAME_INFO: u32 = 3;
/// Frame: complete for the client, the script goes on.
pub const FRAME_FINISH: u32 = 4;
/// Frame: the request's end.
pub const FRAME_END: u32 = 5;
/// Frame: a part of an update for the request's hub.
pub const FRAME_PUBLISH: u32 = 6;
/// Size of a frame's header: kind and size, 32 bits each.
pub const FRAME_HEADER_SIZE: usize = 8;
/// Size of an END frame's payload.
pub const END_SIZE: usize = 24;
/// Size of what a PUBLISH frame's payload begins with (`struct howdah_publish`).
pub const PUBLISH_SIZE: usize = 8;
/// Size of what an update begins with (`struct howdah_update`).
pub const UPDATE_SIZE: usize = 32;
/// Largest update, in bytes as it is encoded.
pub const UPDATE_SIZE_MAX: u32 = 1 << 20;
/// Topics of one update.
pub const UPDATE_TOPICS_MAX: u32 = 1000;
/// Flag of a PUBLISH frame: the first part of an update; an unfinished one before it is given up.
pub const PUBLISH_FIRST: u32 = 1;
/// Flag of an update: for subscribers with a right to its topics.
pub const UPDATE_PRIVATE: u32 = 1;
/// Flag of an update: `retry` counts.
pub const UPDATE_RETRY: u32 = 2;

/// `exit` of END: the script ran to its end.
pub const EXIT_NORMAL: u32 = 0;
/// `exit` of END: a fatal error was reported; the response is complete all the same.
pub const EXIT_FATAL: u32 = 1;

/// Size of the header of a front thread's request ring; its cells follow.
pub const FRONT_RING_SIZE: usize = 128;
/// Size of a worker's words.
pub const WORKER_SIZE: usize = 192;
/// Size of a slot.
pub const SLOT_SIZE: usize = 192;

/// Mode of a pool: PHP's state is fresh for each request.
pub const POOL_CLASSIC: u32 = 1;
/// Mode of a pool: a worker script is booted once.
pub const POOL_WORKER: u32 = 2;
/// Flag of a pool: the script is run in each worker.
pub const POOL_FLAG_BOOT_EACH: u32 = 1;
/// Flag of a pool: `exit()` in a request ends the worker.
pub const POOL_FLAG_EXIT_RESTARTS: u32 = 2;
/// Flag of a pool: transactions that a request left open stay open.
pub const POOL_FLAG_NO_ROLLBACK: u32 = 4;
/// Flag of a pool: boot with the files as they are on disk.
pub const POOL_FLAG_FRESH_FILES: u32 = 8;
/// Flag of a concurrent pool: static properties and variables are one for all requests.
pub const POOL_FLAG_SHARE_STATICS: u32 = 16;
/// The processes are another user's, who follows the strings.
pub const POOL_FLAG_USER: u32 = 32;
/// Programs that the processes start gain no rights.
pub const POOL_FLAG_NO_NEW_PRIVS: u32 = 64;
/// Requests that a worker of a concurrent pool can run at a time.
pub const CONCURRENCY_MAX: u32 = SLOTS_MAX;
/// Places of a concurrent pool: the eventfd of each travels in the POOL message, with four other descriptors
/// and one for each front thread, and a message carries 253 at most.
pub const CONCURRENT_PLACES_MAX: u32 = 224;
/// Size of the numbers in front of a POOL message's strings (`struct howdah_pool_options`).
pub const POOL_OPTIONS_SIZE: usize = 60;
/// Bytes of `struct howdah_identity`.
pub const IDENTITY_SIZE: usize = 20;
/// Size of the numbers in front of a SPAWN message's indices (`struct howdah_spawn`).
pub const SPAWN_SIZE: usize = 32;
/// Status of BOOTED: workers are forks of the booted script.
pub const BOOTED_ONCE: i32 = 0;
/// Status of BOOTED: workers run the script themselves, as the options said.
pub const BOOTED_EACH: i32 = 1;
/// Status of BOOTED: what the script left open does not survive a fork.
pub const BOOTED_UNFIT: i32 = 2;
/// Exit status of a process whose script ended before it asked for a request.
pub const EXIT_STATUS_BOOT: i32 = 71;
/// Exit status of a worker whose request has used up its processor time.
pub const EXIT_STATUS_CPU: i32 = 72;
/// A worker that gets SIGRTMIN + this logs the backtrace of its request.
pub const SIGNAL_BACKTRACE: i32 = 5;
/// All bits of state that requests may change for later ones.
pub const KEEP_ALL: u32 = 0x3ff;
/// Largest data part of a control message.
pub const CONTROL_SIZE_MAX: usize = 32768;
/// Size of a control message's header.
pub const CONTROL_HEADER_SIZE: usize = 24;
/// Size of the header of a log record.
pub const LOG_HEADER_SIZE: usize = 26;
/// Largest message of a log record; a longer one comes as several.
pub const LOG_MESSAGE_MAX: usize = 65536;

/// The header, written once by the front before anyone maps the segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each field is documented in howdah_shm.h
pub struct Header {
    pub magic: u64,
    pub version: u32,
    pub fronts: u32,
    pub workers: u32,
    pub slots: u32,
    pub request_size: u32,
    pub response_size: u32,
    pub segment_size: u64,
    pub fronts_offset: u64,
    pub front_stride: u64,
    pub parked_offset: u64,
    pub workers_offset: u64,
    pub completions_offset: u64,
    pub slots_offset: u64,
    pub requests_offset: u64,
    pub responses_offset: u64,
}
const _: () = assert!(size_of::<Header>() == 104);

/// `slot.state`: position, worker and kind in one word, so that one CAS is the claim.
pub const fn state(position: u64, worker: u16, kind: u64) -> u64 {
    (position << 16) | ((worker as u64 & 0xfff) << 4) | kind
}

/// The worker named by a state word.
pub const fn state_worker(state: u64) -> u16 {
    ((state >> 4) & 0xfff) as u16
}

/// A cell of a request ring.
pub const fn request_cell(position: u64, slot: u16) -> u64 {
    (((position + 1) & POSITION_MASK) << 16) | slot as u64
}

/// A cell of a completion ring: `(index + 1):32 | kind:1 | low 15 bits of the position | slot:16`.
pub const fn completion_cell(index: u32, kind: u64, position: u64, slot: u16) -> u64 {
    ((index.wrapping_add(1) as u64) << 32)
        | (kind << 31)
        | ((position & 0x7fff) << 16)
        | slot as u64
}

/// The next multiple of 8.
pub const fn align8(size: u64) -> u64 {
    (size + 7) & !7
}

pub(crate) mod words {
    //! The structures that both sides work on at the same time.

    use crate::sync::{AtomicU32, AtomicU64, FutexWord};

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct Line64(pub(crate) AtomicU64);

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct Line32(pub(crate) AtomicU32);

    /// `struct howdah_front_ring` without its cells.
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(crate) struct FrontRing {
        pub(crate) head: Line64,
        pub(crate) sleeping: Line32,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct WorkerFront {
        pub(crate) wake: FutexWord,
        pub(crate) stop: AtomicU32,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct WorkerOwn {
        pub(crate) request_id: AtomicU64,
        pub(crate) requests: AtomicU64,
        pub(crate) memory: AtomicU64,
        pub(crate) started_ns: AtomicU64,
        pub(crate) hog_ns: AtomicU64,
        pub(crate) in_flight: AtomicU32,
        pub(crate) looked_ns: AtomicU64,
    }

    /// `struct howdah_worker`. Of its mutex only the first word is looked at.
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(crate) struct Worker {
        pub(crate) front: WorkerFront,
        pub(crate) own: WorkerOwn,
        pub(crate) life: Line32,
    }

    // Fields that are plain integers in C are atomics here, used relaxed: same layout, and a peer
    // that breaks the rules cannot make a read undefined.
    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct SlotRequest {
        pub(crate) state: AtomicU64,
        pub(crate) request_id: AtomicU64,
        pub(crate) vars_size: AtomicU32,
        pub(crate) body_kind: AtomicU32,
        pub(crate) body_size: AtomicU64,
        pub(crate) flags: AtomicU32,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct SlotFront {
        pub(crate) consumed: AtomicU64,
        pub(crate) space: FutexWord,
        pub(crate) aborted: AtomicU32,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct SlotWorker {
        pub(crate) committed: AtomicU64,
        pub(crate) echo_id: AtomicU64,
        pub(crate) started: AtomicU32,
        pub(crate) waiting: AtomicU32,
        pub(crate) notified: AtomicU32,
        pub(crate) claimed_ns: AtomicU64,
        pub(crate) served_ns: AtomicU64,
    }

    /// `struct howdah_slot`: line 0 is the request, line 1 the front's, line 2 the worker's.
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(crate) struct Slot {
        pub(crate) request: SlotRequest,
        pub(crate) front: SlotFront,
        pub(crate) worker: SlotWorker,
    }

    #[cfg(not(loom))]
    mod checks {
        use super::{FrontRing, Slot, SlotFront, SlotRequest, SlotWorker, Worker, WorkerOwn};
        use std::mem::{offset_of, size_of};

        const _: () = {
            assert!(size_of::<FrontRing>() == crate::layout::FRONT_RING_SIZE);
            assert!(offset_of!(FrontRing, sleeping) == 64);
            assert!(size_of::<Worker>() == crate::layout::WORKER_SIZE);
            assert!(offset_of!(Worker, front.stop) == 4);
            assert!(offset_of!(Worker, own) == 64);
            assert!(offset_of!(Worker, life) == 128);
            assert!(offset_of!(WorkerOwn, requests) == 8);
            assert!(offset_of!(WorkerOwn, memory) == 16);
            assert!(offset_of!(WorkerOwn, started_ns) == 24);
            assert!(offset_of!(WorkerOwn, hog_ns) == 32);
            assert!(offset_of!(WorkerOwn, in_flight) == 40);
            assert!(offset_of!(WorkerOwn, looked_ns) == 48);
            assert!(size_of::<Slot>() == crate::layout::SLOT_SIZE);
            assert!(offset_of!(SlotRequest, request_id) == 8);
            assert!(offset_of!(SlotRequest, vars_size) == 16);
            assert!(offset_of!(SlotRequest, body_kind) == 20);
            assert!(offset_of!(SlotRequest, body_size) == 24);
            assert!(offset_of!(SlotRequest, flags) == 32);
            assert!(offset_of!(Slot, front) == 64);
            assert!(offset_of!(SlotFront, space) == 8);
            assert!(offset_of!(SlotFront, aborted) == 12);
            assert!(offset_of!(Slot, worker) == 128);
            assert!(offset_of!(SlotWorker, echo_id) == 8);
            assert!(offset_of!(SlotWorker, started) == 16);
            assert!(offset_of!(SlotWorker, waiting) == 20);
            assert!(offset_of!(SlotWorker, notified) == 24);
            assert!(offset_of!(SlotWorker, claimed_ns) == 32);
            assert!(offset_of!(SlotWorker, served_ns) == 40);
        };
    }

    /// Sizes and offsets under the names of the C header, for the test that compares them.
    #[cfg(all(test, not(any(loom, miri))))]
    pub(crate) fn offsets() -> Vec<(&'static str, usize)> {
        use std::mem::offset_of;
        vec![
            ("howdah_front_ring.head", offset_of!(FrontRing, head)),
            (
                "howdah_front_ring.sleeping",
                offset_of!(FrontRing, sleeping),
            ),
            ("howdah_worker.wake", offset_of!(Worker, front.wake)),
            ("howdah_worker.stop", offset_of!(Worker, front.stop)),
            (
                "howdah_worker.request_id",
                offset_of!(Worker, own.request_id),
            ),
            ("howdah_worker.requests", offset_of!(Worker, own.requests)),
            ("howdah_worker.memory", offset_of!(Worker, own.memory)),
            (
                "howdah_worker.started_ns",
                offset_of!(Worker, own.started_ns),
            ),
            ("howdah_worker.hog_ns", offset_of!(Worker, own.hog_ns)),
            ("howdah_worker.in_flight", offset_of!(Worker, own.in_flight)),
            ("howdah_worker.looked_ns", offset_of!(Worker, own.looked_ns)),
            ("howdah_worker.life", offset_of!(Worker, life)),
            ("howdah_slot.state", offset_of!(Slot, request.state)),
            (
                "howdah_slot.request_id",
                offset_of!(Slot, request.request_id),
            ),
            ("howdah_slot.vars_size", offset_of!(Slot, request.vars_size)),
            ("howdah_slot.body_kind", offset_of!(Slot, request.body_kind)),
            ("howdah_slot.body_size", offset_of!(Slot, request.body_size)),
            ("howdah_slot.flags", offset_of!(Slot, request.flags)),
            ("howdah_slot.consumed", offset_of!(Slot, front.consumed)),
            ("howdah_slot.space", offset_of!(Slot, front.space)),
            ("howdah_slot.aborted", offset_of!(Slot, front.aborted)),
            ("howdah_slot.committed", offset_of!(Slot, worker.committed)),
            ("howdah_slot.echo_id", offset_of!(Slot, worker.echo_id)),
            ("howdah_slot.started", offset_of!(Slot, worker.started)),
            ("howdah_slot.waiting", offset_of!(Slot, worker.waiting)),
            ("howdah_slot.notified", offset_of!(Slot, worker.notified)),
            (
                "howdah_slot.claimed_ns",
                offset_of!(Slot, worker.claimed_ns),
            ),
            ("howdah_slot.served_ns", offset_of!(Slot, worker.served_ns)),
        ]
    }
}
