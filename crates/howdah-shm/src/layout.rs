//! The layout of the segment: the counterpart of `worker/include/howdah_shm.h`, number by number.
//!
//! `tests/layout.rs` compiles the header and compares every size, offset and constant. It fails for a name in the
//! header that it does not compare.

use std::mem::size_of;

/// `magic` of the header, "HWDAHSHM" in memory order.
pub const MAGIC: u64 = 0x4d48_5348_4144_5748;
/// Version of the contract. The worker refuses a segment of another version.
pub const VERSION: u32 = 16;

/// Front threads that one segment can serve.
pub const FRONTS_MAX: u32 = 16;
/// Places for workers in one segment.
pub const WORKERS_MAX: u32 = 512;
/// Slots of one front thread.
pub const SLOTS_MAX: u32 = 1024;
/// Words of the parked bitmap.
pub const PARKED_WORDS: usize = WORKERS_MAX as usize / 64;

/// State of a slot: it belongs to the front.
pub const SLOT_FREE: u64 = 0;
/// State of a slot: any worker may claim it.
pub const SLOT_QUEUED: u64 = 1;
/// State of a slot: it belongs to the named worker.
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

/// `aborted` of a slot: the client disconnected.
pub const ABORTED_CLIENT: u32 = 1;
/// `aborted` of a slot in a concurrent pool: the request's time is over, it must be ended now.
pub const ABORTED_TIME: u32 = 2;
/// `started`: PHP may have had effects.
pub const STARTED_EFFECTS: u32 = 1;
/// `started`: also, the worker exits since the request exceeded its processor time.
pub const STARTED_TOO_LONG: u32 = 2;

/// `life` of a worker: the front waits for its exit.
pub const LIFE_AWAITED: u32 = 0x8000_0000;
/// `life` of a worker: the kernel has begun to end the process.
pub const LIFE_ENDED: u32 = 0x4000_0000;

/// Request flag: no body must be sent.
pub const REQUEST_HEAD: u32 = 1;
/// Request flag: there is a hub that takes the request's updates.
pub const REQUEST_HUB: u32 = 2;
/// Request flag: END contains the costs of the request.
pub const REQUEST_ACCOUNT: u32 = 4;

/// Frame: fills the rest of the ring.
pub const FRAME_PAD: u32 = 0;
/// Frame: the response's head.
pub const FRAME_HEADERS: u32 = 1;
/// Frame: bytes of the body.
pub const FRAME_BODY: u32 = 2;
/// Frame: the head of a 1xx response.
pub const FRAME_INFO: u32 = 3;
/// Frame: complete for the client, the script continues.
pub const FRAME_FINISH: u32 = 4;
/// Frame: the request's end.
pub const FRAME_END: u32 = 5;
/// Frame: a part of an update for the request's hub.
pub const FRAME_PUBLISH: u32 = 6;
/// Size of a frame's header: kind and size, 32 bits each.
pub const FRAME_HEADER_SIZE: usize = 8;
/// Size of an END frame's payload.
pub const END_SIZE: usize = 40;
/// Size of the header of a PUBLISH frame's payload (`struct howdah_publish`).
pub const PUBLISH_SIZE: usize = 8;
/// Size of the header of an update (`struct howdah_update`).
pub const UPDATE_SIZE: usize = 32;
/// Largest encoded update, in bytes.
pub const UPDATE_SIZE_MAX: u32 = 1 << 20;
/// Maximum number of topics of one update.
pub const UPDATE_TOPICS_MAX: u32 = 1000;
/// Flag of a PUBLISH frame: the first part of an update; an unfinished previous one is dropped.
pub const PUBLISH_FIRST: u32 = 1;
/// Flag of an update: for subscribers with a right to its topics.
pub const UPDATE_PRIVATE: u32 = 1;
/// Flag of an update: it has a `retry`.
pub const UPDATE_RETRY: u32 = 2;

/// `exit` of END: the script ran to its end.
pub const EXIT_NORMAL: u32 = 0;
/// `exit` of END: a fatal error was reported; the response is complete nevertheless.
pub const EXIT_FATAL: u32 = 1;
/// `exit` of END: `exit()` was called, and `finally` blocks have run; the worker continues.
pub const EXIT_KEPT: u32 = 2;
/// `exit` of END: `exit()` was called where that ends the worker. From here on it accepts no more requests.
pub const EXIT_RESTARTED: u32 = 3;
/// `exit` of END: code was unwound without its `finally` blocks.
pub const EXIT_SKIPPED: u32 = 4;
/// `exit` of END: an exception replaced the unwinding of code.
pub const EXIT_LOST: u32 = 5;
/// `exit` of END: a Fiber or generator with a pending `finally` block was abandoned.
pub const EXIT_SUSPENDED: u32 = 6;

/// Size of the header of a front thread's request ring; its cells follow.
pub const FRONT_RING_SIZE: usize = 128;
/// Size of a worker's words.
pub const WORKER_SIZE: usize = 256;
/// Bytes of a slot's words, without its areas.
pub const SLOT_SIZE: usize = 192;

/// Bytes of the area in which a worker counts the samples of a profile.
pub const PROFILE_SIZE: usize = 2 << 20;
/// Offset of the frames in the area.
pub const PROFILE_FRAMES_OFFSET: usize = 4096;
/// Offset of the nodes in the area.
pub const PROFILE_NODES_OFFSET: usize = 200_704;
/// Offset of the strings in the area.
pub const PROFILE_STRINGS_OFFSET: usize = 1_249_280;
/// Maximum number of frames.
pub const PROFILE_FRAMES_MAX: u32 = 8192;
/// Maximum number of nodes.
pub const PROFILE_NODES_MAX: u32 = 32_768;
/// Bytes for strings.
pub const PROFILE_STRINGS_MAX: u32 = 843_776;
/// Offset of the page that a process maps in place of the one with PHP's interrupt flag.
pub const PROFILE_GLOBALS_OFFSET: usize = 2_093_056;
/// Its bytes.
pub const PROFILE_GLOBALS_SIZE: usize = 4096;
/// `tick_frame` of a process whose current frame the front does not see.
pub const FRAME_UNKNOWN: u64 = 1;
/// Size of the header before all that (`struct howdah_profile`).
pub const PROFILE_HEADER_SIZE: usize = 64;
/// Bytes of a frame (`struct howdah_profile_frame`).
pub const PROFILE_FRAME_SIZE: usize = 24;
/// Bytes of a node (`struct howdah_profile_node`).
pub const PROFILE_NODE_SIZE: usize = 32;
/// Kind of a frame: method and path of the request.
pub const PROFILE_ROUTE: u32 = 1;
/// Kind of a frame: PHP code.
pub const PROFILE_FUNCTION: u32 = 2;
/// Kind of a frame: a function of PHP or an extension.
pub const PROFILE_INTERNAL: u32 = 3;
/// Kind of a frame: the wait of the innermost function.
pub const PROFILE_WAIT: u32 = 4;

/// Mode of a pool: PHP's state is fresh for each request.
pub const POOL_CLASSIC: u32 = 1;
/// Mode of a pool: a worker script is booted once.
pub const POOL_WORKER: u32 = 2;
/// Flag of a pool: each worker runs the script.
pub const POOL_FLAG_BOOT_EACH: u32 = 1;
/// Flag of a pool: `exit()` in a request ends the worker.
pub const POOL_FLAG_EXIT_RESTARTS: u32 = 2;
/// Flag of a pool: transactions that a request left open stay open.
pub const POOL_FLAG_NO_ROLLBACK: u32 = 4;
/// Flag of a pool: boot with the files as they are on disk.
pub const POOL_FLAG_FRESH_FILES: u32 = 8;
/// Flag of a concurrent pool: all requests share static properties and variables.
pub const POOL_FLAG_SHARE_STATICS: u32 = 16;
/// The processes run as a different user, who follows the strings.
pub const POOL_FLAG_USER: u32 = 32;
/// Programs that the processes start gain no privileges.
pub const POOL_FLAG_NO_NEW_PRIVS: u32 = 64;
/// The processes record the files that they run.
pub const POOL_FLAG_RECORD: u32 = 128;
/// The processes are dumpable: others of their user can access their memory.
pub const POOL_FLAG_DUMPABLE: u32 = 256;
/// Flag of a concurrent pool: one request at a time if PHP cannot run several.
pub const POOL_FLAG_CONCURRENCY_FALLBACK: u32 = 512;
/// Flag of a pool: responses have the number of leaks found in `X-Howdah-Leaks`.
pub const POOL_FLAG_LEAK_HEADER: u32 = 2048;
/// Size of a record of files, including its header (`struct howdah_record`).
pub const RECORD_SIZE: usize = 4 << 20;
/// Size of the header of a record, in bytes.
pub const RECORD_HEADER_SIZE: usize = 8;
/// Flag in the word of an entry: an autoloader included the file; the rest is the size of its path.
pub const RECORD_AUTOLOADED: u32 = 1 << 31;
/// Size of the header before the verdicts of files to preload (`struct howdah_preload`).
pub const PRELOAD_SIZE: usize = 296;
/// Mode of preloading: files that declare classes and do nothing else.
pub const PRELOAD_AUTO: u32 = 1;
/// Mode of preloading: all files that can be compiled.
pub const PRELOAD_ALL: u32 = 2;
/// Verdict of preloading: the file is preloaded.
pub const VERDICT_LOADED: u8 = 1;
/// Verdict of preloading: the file cannot be read.
pub const VERDICT_MISSING: u8 = 2;
/// Verdict of preloading: the file has a syntax error.
pub const VERDICT_SYNTAX: u8 = 3;
/// Verdict of preloading: the file declares nothing.
pub const VERDICT_NO_CLASS: u8 = 4;
/// Verdict of preloading: the file declares a function.
pub const VERDICT_FUNCTION: u8 = 5;
/// Verdict of preloading: the file declares a constant.
pub const VERDICT_CONSTANT: u8 = 6;
/// Verdict of preloading: the file declares something under a condition.
pub const VERDICT_CONDITION: u8 = 7;
/// Verdict of preloading: the file does more than declare classes.
pub const VERDICT_CODE: u8 = 8;
/// Verdict of preloading: another file, or PHP, declares the same name.
pub const VERDICT_DUPLICATE: u8 = 9;
/// Verdict of preloading: PHP reports a diagnostic when it compiles the file.
pub const VERDICT_DIAGNOSTIC: u8 = 10;
/// Verdict of preloading: the file cannot be compiled.
pub const VERDICT_FAILED: u8 = 11;
/// Verdict of preloading: its class extends, implements or uses something that is not preloaded.
pub const VERDICT_UNLINKED: u8 = 12;
/// Requests that a worker of a concurrent pool can run at the same time.
pub const CONCURRENCY_MAX: u32 = SLOTS_MAX;
/// Places of a concurrent pool: the POOL message carries the eventfd of each, five other descriptors and one for each
/// front thread, and a message carries at most 253.
pub const CONCURRENT_PLACES_MAX: u32 = 224;
/// Size of the numbers before a POOL message's strings (`struct howdah_pool_options`).
pub const POOL_OPTIONS_SIZE: usize = 88;
/// Bytes of `struct howdah_identity`.
pub const IDENTITY_SIZE: usize = 20;
/// Size of the numbers before a SPAWN message's indices (`struct howdah_spawn`).
pub const SPAWN_SIZE: usize = 32;
/// Status of BOOTED: workers are forks of the booted script.
pub const BOOTED_ONCE: i32 = 0;
/// Status of BOOTED: each worker runs the script, as configured.
pub const BOOTED_EACH: i32 = 1;
/// Status of BOOTED: resources that the script left open do not survive a fork.
pub const BOOTED_UNFIT: i32 = 2;
/// Exit status of a process whose script ended before its first request.
pub const EXIT_STATUS_BOOT: i32 = 71;
/// Exit status of a worker whose request has exceeded its processor time.
pub const EXIT_STATUS_CPU: i32 = 72;
/// Exit status of a worker that made no progress for `hang_timeout`.
pub const EXIT_STATUS_HUNG: i32 = 73;
/// A worker that gets SIGRTMIN + this logs the backtrace of its request.
pub const SIGNAL_BACKTRACE: i32 = 5;
/// The front requests samples of slow requests.
pub const POOL_FLAG_SAMPLES: u32 = 1024;
/// All flags of a pool. A zygote refuses a pool with others.
pub const POOL_FLAG_ALL: u32 = 0xfff;
/// `keep` of a pool: requests may change ini settings for later ones.
pub const KEEP_INI: u32 = 0x1;
/// Also error and exception handlers, autoloaders, stream wrappers and filters.
pub const KEEP_HANDLERS: u32 = 0x2;
/// Also `setlocale()`.
pub const KEEP_LOCALE: u32 = 0x4;
/// Also `date_default_timezone_set()`.
pub const KEEP_TIMEZONE: u32 = 0x8;
/// Also `chdir()`.
pub const KEEP_CWD: u32 = 0x10;
/// Also `umask()`.
pub const KEEP_UMASK: u32 = 0x20;
/// Also `putenv()` and `$_ENV`.
pub const KEEP_ENV: u32 = 0x40;
/// Also `mb_internal_encoding()` and similar settings.
pub const KEEP_MBSTRING: u32 = 0x80;
/// Also `libxml_use_internal_errors()`.
pub const KEEP_LIBXML: u32 = 0x100;
/// Also the state of `mt_rand()` and similar generators.
pub const KEEP_RANDOM: u32 = 0x200;
/// Also `session_name()`, `session_set_cookie_params()` and all of `session.*`.
pub const KEEP_SESSION: u32 = 0x400;
/// All bits of state that requests may change for later ones.
pub const KEEP_ALL: u32 = 0x7ff;
/// `connections` of a pool: a worker whose connection was closed between requests is replaced.
pub const CONNECTIONS_REPLACE: u32 = 0;
/// `connections` of a pool: the connection is reopened where that is safe; otherwise the worker is replaced.
pub const CONNECTIONS_REVIVE: u32 = 1;
/// `connections` of a pool: connections are not checked.
pub const CONNECTIONS_IGNORE: u32 = 2;
/// Flag of an OPCACHE message: compare scripts with their files.
pub const OPCACHE_SCRIPTS: u32 = 1;
/// And make OPcache compile those that differ at their next use.
pub const OPCACHE_INVALIDATE: u32 = 2;
/// And report the paths of those whose files exist.
pub const OPCACHE_PATHS: u32 = 4;
/// Compile the files whose paths are sent.
pub const OPCACHE_COMPILE: u32 = 8;
/// Flag of an OPCACHE message: the child runs as another user, who is named.
pub const OPCACHE_USER: u32 = 16;
/// All bits of an OPCACHE message. The root refuses an order with others.
pub const OPCACHE_ALL: u32 = 0x1f;
/// Size of the numbers before an OPCACHE message's user (`struct howdah_opcache_order`).
pub const OPCACHE_ORDER_SIZE: usize = 16;
/// Control message, front to root: start a zygote of a pool.
pub const CONTROL_POOL: u32 = 1;
/// Control message, root to front: PHP has started.
pub const CONTROL_READY: u32 = 2;
/// Control message, root to front: the pool's zygote runs.
pub const CONTROL_POOL_STARTED: u32 = 3;
/// Control message, root to front: the pool's zygote exited.
pub const CONTROL_POOL_EXITED: u32 = 4;
/// Control message, front to pool: fork a worker.
pub const CONTROL_SPAWN: u32 = 5;
/// Control message, pool to front: the worker runs.
pub const CONTROL_SPAWNED: u32 = 6;
/// Control message, pool to front: the worker exited.
pub const CONTROL_EXITED: u32 = 7;
/// Control message, either zygote to front: a request of the front failed.
pub const CONTROL_FAILED: u32 = 8;
/// Control message, pool to front: the zygote accepts SPAWN from now on, or cannot.
pub const CONTROL_BOOTED: u32 = 9;
/// Control message, front to root: inspect or change OPcache.
pub const CONTROL_OPCACHE: u32 = 10;
/// Control message, front to root: the files to preload, as the first message.
pub const CONTROL_PRELOAD: u32 = 11;
/// Control message, front to either zygote: kill a child whose pidfd did not arrive.
pub const CONTROL_KILL: u32 = 12;
/// Control message, monitor to root: the users that the processes of pools may have, as the very first message.
pub const CONTROL_USERS: u32 = 13;
/// Largest data part of a control message.
pub const CONTROL_SIZE_MAX: usize = 32768;
/// Size of a control message's header.
pub const CONTROL_HEADER_SIZE: usize = 24;
/// First byte of a log record.
pub const LOG_MARK: u8 = 0x1e;
/// Size of the header of a log record.
pub const LOG_HEADER_SIZE: usize = 42;
/// Largest message of a log record; a longer one is split.
pub const LOG_MESSAGE_MAX: usize = 65536;

/// The header, written once by the front before anyone maps the segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "howdah_shm.h documents each field")]
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
    pub profiles_offset: u64,
}
const _: () = assert!(size_of::<Header>() == 112);

/// `slot.state`: position, worker and kind in one word, so that one CAS is the claim.
pub const fn state(position: u64, worker: u16, kind: u64) -> u64 {
    (position << 16) | ((worker as u64 & 0xfff) << 4) | kind
}

/// The position in a state word.
pub const fn state_position(state: u64) -> u64 {
    state >> 16
}

/// The kind of a state word.
pub const fn state_kind(state: u64) -> u64 {
    state & 0xf
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
        pub(crate) sample_id: AtomicU64,
        pub(crate) sample: FutexWord,
        pub(crate) profile: AtomicU32,
        pub(crate) profile_period_us: AtomicU32,
        pub(crate) profile_end_ns: AtomicU64,
        pub(crate) look: AtomicU32,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct WorkerRecord {
        pub(crate) request_id: AtomicU64,
        pub(crate) requests: AtomicU64,
        pub(crate) memory: AtomicU64,
        pub(crate) started_ns: AtomicU64,
        pub(crate) hog_ns: AtomicU64,
        pub(crate) in_flight: AtomicU32,
        pub(crate) sequential: AtomicU32,
        pub(crate) looked_ns: AtomicU64,
    }

    #[repr(C, align(64))]
    #[derive(Debug, Default)]
    pub(crate) struct WorkerTicks {
        pub(crate) ticks_idle: AtomicU64,
        pub(crate) ticks_ran: AtomicU64,
        pub(crate) ticks_same: AtomicU64,
        pub(crate) sampler_ns: AtomicU64,
        pub(crate) sample_each: AtomicU32,
        pub(crate) interrupt_at: AtomicU32,
        pub(crate) frame_at: AtomicU32,
        pub(crate) tick_frame: AtomicU64,
        pub(crate) tick_us: AtomicU32,
        pub(crate) tick_cpu_us: AtomicU32,
    }

    /// `struct howdah_worker`. Only the first word of its mutex is used.
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(crate) struct Worker {
        pub(crate) front: WorkerFront,
        pub(crate) own: WorkerRecord,
        pub(crate) life: Line32,
        pub(crate) ticks: WorkerTicks,
    }

    // Fields that are plain integers in C are atomics here, used relaxed: the layout is the same,
    // and a peer that breaks the rules cannot cause undefined behaviour.
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

    /// `struct howdah_slot`: line 0 is the request, line 1 belongs to the front, line 2 to the
    /// worker.
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(crate) struct Slot {
        pub(crate) request: SlotRequest,
        pub(crate) front: SlotFront,
        pub(crate) worker: SlotWorker,
    }

    #[cfg(not(loom))]
    mod checks {
        use super::{FrontRing, Slot, SlotFront, SlotRequest, SlotWorker, Worker, WorkerRecord};
        use std::mem::{offset_of, size_of};

        const _: () = {
            assert!(size_of::<FrontRing>() == crate::layout::FRONT_RING_SIZE);
            assert!(offset_of!(FrontRing, sleeping) == 64);
            assert!(size_of::<Worker>() == crate::layout::WORKER_SIZE);
            assert!(offset_of!(Worker, front.stop) == 4);
            assert!(offset_of!(Worker, front.sample_id) == 8);
            assert!(offset_of!(Worker, front.sample) == 16);
            assert!(offset_of!(Worker, front.profile) == 20);
            assert!(offset_of!(Worker, front.profile_period_us) == 24);
            assert!(offset_of!(Worker, front.profile_end_ns) == 32);
            assert!(offset_of!(Worker, front.look) == 40);
            assert!(offset_of!(Worker, own) == 64);
            assert!(offset_of!(Worker, life) == 128);
            assert!(offset_of!(Worker, ticks) == 192);
            assert!(offset_of!(Worker, ticks.ticks_ran) == 200);
            assert!(offset_of!(Worker, ticks.ticks_same) == 208);
            assert!(offset_of!(Worker, ticks.sampler_ns) == 216);
            assert!(offset_of!(Worker, ticks.sample_each) == 224);
            assert!(offset_of!(Worker, ticks.interrupt_at) == 228);
            assert!(offset_of!(Worker, ticks.frame_at) == 232);
            assert!(offset_of!(Worker, ticks.tick_frame) == 240);
            assert!(offset_of!(Worker, ticks.tick_us) == 248);
            assert!(offset_of!(Worker, ticks.tick_cpu_us) == 252);
            assert!(offset_of!(WorkerRecord, requests) == 8);
            assert!(offset_of!(WorkerRecord, memory) == 16);
            assert!(offset_of!(WorkerRecord, started_ns) == 24);
            assert!(offset_of!(WorkerRecord, hog_ns) == 32);
            assert!(offset_of!(WorkerRecord, in_flight) == 40);
            assert!(offset_of!(WorkerRecord, sequential) == 44);
            assert!(offset_of!(WorkerRecord, looked_ns) == 48);
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

    /// Sizes and offsets under their names in the C header, for the test that compares them.
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
                "howdah_worker.sample_id",
                offset_of!(Worker, front.sample_id),
            ),
            ("howdah_worker.sample", offset_of!(Worker, front.sample)),
            ("howdah_worker.profile", offset_of!(Worker, front.profile)),
            (
                "howdah_worker.profile_period_us",
                offset_of!(Worker, front.profile_period_us),
            ),
            (
                "howdah_worker.profile_end_ns",
                offset_of!(Worker, front.profile_end_ns),
            ),
            ("howdah_worker.look", offset_of!(Worker, front.look)),
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
            (
                "howdah_worker.sequential",
                offset_of!(Worker, own.sequential),
            ),
            ("howdah_worker.looked_ns", offset_of!(Worker, own.looked_ns)),
            ("howdah_worker.life", offset_of!(Worker, life)),
            (
                "howdah_worker.ticks_idle",
                offset_of!(Worker, ticks.ticks_idle),
            ),
            (
                "howdah_worker.ticks_ran",
                offset_of!(Worker, ticks.ticks_ran),
            ),
            (
                "howdah_worker.ticks_same",
                offset_of!(Worker, ticks.ticks_same),
            ),
            (
                "howdah_worker.sampler_ns",
                offset_of!(Worker, ticks.sampler_ns),
            ),
            (
                "howdah_worker.sample_each",
                offset_of!(Worker, ticks.sample_each),
            ),
            (
                "howdah_worker.interrupt_at",
                offset_of!(Worker, ticks.interrupt_at),
            ),
            ("howdah_worker.frame_at", offset_of!(Worker, ticks.frame_at)),
            (
                "howdah_worker.tick_frame",
                offset_of!(Worker, ticks.tick_frame),
            ),
            ("howdah_worker.tick_us", offset_of!(Worker, ticks.tick_us)),
            (
                "howdah_worker.tick_cpu_us",
                offset_of!(Worker, ticks.tick_cpu_us),
            ),
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
