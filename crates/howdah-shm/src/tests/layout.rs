//! Compares the Rust layout with the C header, as the compiler sees it.

mod names;

use crate::Geometry;
use crate::layout::Header as H;
use crate::layout::{self, Header, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pairs of a C macro and its constant in [`layout`].
macro_rules! constants {
    ($($macro:ident = $constant:ident,)*) => {
        &[$((stringify!($macro), layout::$constant as u64)),*]
    };
}

/// C expressions and their values in the Rust layout.
fn mirror() -> Vec<(String, u64)> {
    let mut values: Vec<(String, u64)> = Vec::new();
    for (field, offset) in words::offsets() {
        let (name, field) = field.split_once('.').unwrap();
        values.push((offset_in(name, field), offset as u64));
    }
    values.push((
        offset_in("howdah_front_ring", "cells"),
        layout::FRONT_RING_SIZE as u64,
    ));
    values.push((
        offset_in("howdah_worker", "life_mutex"),
        offset_of!(words::Worker, life) as u64,
    ));
    for (field, offset) in HEADER {
        values.push((offset_in("howdah_shm_header", field), offset as u64));
    }
    let sizes = [
        ("howdah_shm_header", size_of::<Header>()),
        ("howdah_front_ring", layout::FRONT_RING_SIZE),
        ("howdah_worker", layout::WORKER_SIZE),
        ("howdah_slot", layout::SLOT_SIZE),
    ];
    let payload_sizes = PAYLOADS.iter().map(|(name, size, _)| (*name, *size));
    for (name, size) in sizes.into_iter().chain(payload_sizes) {
        values.push((format!("sizeof(struct {name})"), size as u64));
    }
    for (name, _, fields) in PAYLOADS {
        for (field, offset) in *fields {
            values.push((offset_in(name, field), *offset));
        }
    }
    let constants = CONSTANTS.iter().chain(&FUNCTIONS);
    values.extend(constants.map(|(expression, value)| ((*expression).to_owned(), *value)));
    values
}

fn offset_in(name: &str, field: &str) -> String {
    format!("offsetof(struct {name}, {field})")
}

const HEADER: [(&str, usize); 17] = [
    ("magic", offset_of!(H, magic)),
    ("version", offset_of!(H, version)),
    ("fronts", offset_of!(H, fronts)),
    ("workers", offset_of!(H, workers)),
    ("slots", offset_of!(H, slots)),
    ("request_size", offset_of!(H, request_size)),
    ("response_size", offset_of!(H, response_size)),
    ("segment_size", offset_of!(H, segment_size)),
    ("fronts_offset", offset_of!(H, fronts_offset)),
    ("front_stride", offset_of!(H, front_stride)),
    ("parked_offset", offset_of!(H, parked_offset)),
    ("workers_offset", offset_of!(H, workers_offset)),
    ("completions_offset", offset_of!(H, completions_offset)),
    ("slots_offset", offset_of!(H, slots_offset)),
    ("requests_offset", offset_of!(H, requests_offset)),
    ("responses_offset", offset_of!(H, responses_offset)),
    ("profiles_offset", offset_of!(H, profiles_offset)),
];

/// Name and size of a structure that is read or written word by word, and the offset of each of its fields.
type Payload = (&'static str, usize, &'static [(&'static str, u64)]);

const PAYLOADS: &[Payload] = &[
    (
        "howdah_frame",
        layout::FRAME_HEADER_SIZE,
        &[("kind", 0), ("size", 4)],
    ),
    (
        "howdah_headers",
        8,
        &[("status", 0), ("reason_size", 2), ("count", 4)],
    ),
    ("howdah_header", 8, &[("name_size", 0), ("value_size", 4)]),
    (
        "howdah_end",
        layout::END_SIZE,
        &[
            ("exit", 0),
            ("exit_status", 4),
            ("memory_peak", 8),
            ("cpu_us", 16),
            ("database_us", 24),
            ("queries", 32),
            ("reserved", 36),
        ],
    ),
    (
        "howdah_publish",
        layout::PUBLISH_SIZE,
        &[("flags", 0), ("left", 4)],
    ),
    (
        "howdah_update",
        layout::UPDATE_SIZE,
        &[
            ("flags", 0),
            ("topics", 4),
            ("retry", 8),
            ("topics_size", 16),
            ("id_size", 20),
            ("type_size", 24),
            ("data_size", 28),
        ],
    ),
    (
        "howdah_var",
        8,
        &[("id", 0), ("name_size", 2), ("value_size", 4)],
    ),
    (
        "howdah_control",
        layout::CONTROL_HEADER_SIZE,
        &[
            ("kind", 0),
            ("worker", 4),
            ("pid", 8),
            ("status", 12),
            ("size", 16),
            ("reserved", 20),
        ],
    ),
    (
        "howdah_pool_options",
        layout::POOL_OPTIONS_SIZE,
        &[
            ("mode", 0),
            ("flags", 4),
            ("keep", 8),
            ("connections", 12),
            ("generation", 16),
            ("cpu_timeout_ms", 20),
            ("name_size", 24),
            ("script_size", 28),
            ("root_size", 32),
            ("env_size", 36),
            ("warm_size", 40),
            ("php_ini_size", 44),
            ("php_admin_ini_size", 48),
            ("detect_leaks_allow_size", 52),
            ("concurrency", 56),
            ("stack_size", 60),
            ("hog_threshold_ms", 64),
            ("time_slice_ms", 68),
            ("hang_timeout_ms", 72),
            ("detect_leaks_sample", 76),
            ("log_key", 80),
        ],
    ),
    (
        "howdah_preload",
        layout::PRELOAD_SIZE,
        &[
            ("mode", 0),
            ("count", 4),
            ("user_size", 8),
            ("paths_size", 12),
            ("done", 16),
            ("foreign", 20),
            ("classes", 24),
            ("functions", 28),
            ("memory", 32),
            ("message", 40),
        ],
    ),
    (
        "howdah_profile",
        layout::PROFILE_HEADER_SIZE,
        &[
            ("number", 0),
            ("strings", 4),
            ("frames", 8),
            ("nodes", 12),
            ("due", 16),
            ("taken", 24),
            ("idle", 32),
            ("late", 40),
            ("unreadable", 48),
            ("full", 56),
        ],
    ),
    (
        "howdah_profile_frame",
        layout::PROFILE_FRAME_SIZE,
        &[
            ("hash", 0),
            ("name", 8),
            ("file", 12),
            ("line", 16),
            ("kind", 20),
        ],
    ),
    (
        "howdah_profile_node",
        layout::PROFILE_NODE_SIZE,
        &[
            ("parent", 0),
            ("frame", 4),
            ("samples", 8),
            ("wall_ns", 16),
            ("cpu_ns", 24),
        ],
    ),
    (
        "howdah_record",
        layout::RECORD_HEADER_SIZE,
        &[("used", 0), ("reserved", 4)],
    ),
    (
        "howdah_opcache_order",
        layout::OPCACHE_ORDER_SIZE,
        &[("what", 0), ("reserved", 4), ("since", 8)],
    ),
    (
        "howdah_identity",
        layout::IDENTITY_SIZE,
        &[
            ("uid", 0),
            ("gid", 4),
            ("groups", 8),
            ("name_size", 12),
            ("home_size", 16),
        ],
    ),
    (
        "howdah_spawn",
        layout::SPAWN_SIZE,
        &[
            ("max_requests", 0),
            ("retire_after", 4),
            ("log_key", 8),
            ("max_memory", 16),
            ("max_memory_growth", 24),
        ],
    ),
];

const CONSTANTS: &[(&str, u64)] = constants! {
    HOWDAH_SHM_MAGIC = MAGIC,
    HOWDAH_SHM_VERSION = VERSION,
    HOWDAH_FRONTS_MAX = FRONTS_MAX,
    HOWDAH_WORKERS_MAX = WORKERS_MAX,
    HOWDAH_SLOTS_MAX = SLOTS_MAX,
    HOWDAH_PARKED_WORDS = PARKED_WORDS,
    HOWDAH_SLOT_FREE = SLOT_FREE,
    HOWDAH_SLOT_QUEUED = SLOT_QUEUED,
    HOWDAH_SLOT_OWNED = SLOT_OWNED,
    HOWDAH_POS_MASK = POSITION_MASK,
    HOWDAH_PROGRESS = PROGRESS,
    HOWDAH_DONE = DONE,
    HOWDAH_LIFE_AWAITED = LIFE_AWAITED,
    HOWDAH_LIFE_ENDED = LIFE_ENDED,
    HOWDAH_ABORTED_CLIENT = ABORTED_CLIENT,
    HOWDAH_ABORTED_TIME = ABORTED_TIME,
    HOWDAH_STARTED_EFFECTS = STARTED_EFFECTS,
    HOWDAH_STARTED_TOO_LONG = STARTED_TOO_LONG,
    HOWDAH_BODY_NONE = BODY_NONE,
    HOWDAH_BODY_INLINE = BODY_INLINE,
    HOWDAH_BODY_FILE = BODY_FILE,
    HOWDAH_REQUEST_HEAD = REQUEST_HEAD,
    HOWDAH_REQUEST_HUB = REQUEST_HUB,
    HOWDAH_REQUEST_ACCOUNT = REQUEST_ACCOUNT,
    HOWDAH_FRAME_PAD = FRAME_PAD,
    HOWDAH_FRAME_HEADERS = FRAME_HEADERS,
    HOWDAH_FRAME_BODY = FRAME_BODY,
    HOWDAH_FRAME_INFO = FRAME_INFO,
    HOWDAH_FRAME_FINISH = FRAME_FINISH,
    HOWDAH_FRAME_END = FRAME_END,
    HOWDAH_FRAME_PUBLISH = FRAME_PUBLISH,
    HOWDAH_PUBLISH_FIRST = PUBLISH_FIRST,
    HOWDAH_UPDATE_PRIVATE = UPDATE_PRIVATE,
    HOWDAH_UPDATE_RETRY = UPDATE_RETRY,
    HOWDAH_UPDATE_SIZE_MAX = UPDATE_SIZE_MAX,
    HOWDAH_UPDATE_TOPICS_MAX = UPDATE_TOPICS_MAX,
    HOWDAH_EXIT_NORMAL = EXIT_NORMAL,
    HOWDAH_EXIT_FATAL = EXIT_FATAL,
    HOWDAH_EXIT_KEPT = EXIT_KEPT,
    HOWDAH_EXIT_RESTARTED = EXIT_RESTARTED,
    HOWDAH_EXIT_SKIPPED = EXIT_SKIPPED,
    HOWDAH_EXIT_LOST = EXIT_LOST,
    HOWDAH_EXIT_SUSPENDED = EXIT_SUSPENDED,
    HOWDAH_CONTROL_POOL = CONTROL_POOL,
    HOWDAH_CONTROL_READY = CONTROL_READY,
    HOWDAH_CONTROL_POOL_STARTED = CONTROL_POOL_STARTED,
    HOWDAH_CONTROL_POOL_EXITED = CONTROL_POOL_EXITED,
    HOWDAH_CONTROL_SPAWN = CONTROL_SPAWN,
    HOWDAH_CONTROL_SPAWNED = CONTROL_SPAWNED,
    HOWDAH_CONTROL_EXITED = CONTROL_EXITED,
    HOWDAH_CONTROL_FAILED = CONTROL_FAILED,
    HOWDAH_CONTROL_BOOTED = CONTROL_BOOTED,
    HOWDAH_CONTROL_OPCACHE = CONTROL_OPCACHE,
    HOWDAH_CONTROL_PRELOAD = CONTROL_PRELOAD,
    HOWDAH_CONTROL_KILL = CONTROL_KILL,
    HOWDAH_CONTROL_USERS = CONTROL_USERS,
    HOWDAH_CONTROL_SIZE_MAX = CONTROL_SIZE_MAX,
    HOWDAH_PROFILE_SIZE = PROFILE_SIZE,
    HOWDAH_PROFILE_FRAMES_OFFSET = PROFILE_FRAMES_OFFSET,
    HOWDAH_PROFILE_NODES_OFFSET = PROFILE_NODES_OFFSET,
    HOWDAH_PROFILE_STRINGS_OFFSET = PROFILE_STRINGS_OFFSET,
    HOWDAH_PROFILE_FRAMES_MAX = PROFILE_FRAMES_MAX,
    HOWDAH_PROFILE_NODES_MAX = PROFILE_NODES_MAX,
    HOWDAH_PROFILE_STRINGS_MAX = PROFILE_STRINGS_MAX,
    HOWDAH_PROFILE_GLOBALS_OFFSET = PROFILE_GLOBALS_OFFSET,
    HOWDAH_PROFILE_GLOBALS_SIZE = PROFILE_GLOBALS_SIZE,
    HOWDAH_FRAME_UNKNOWN = FRAME_UNKNOWN,
    HOWDAH_PROFILE_ROUTE = PROFILE_ROUTE,
    HOWDAH_PROFILE_FUNCTION = PROFILE_FUNCTION,
    HOWDAH_PROFILE_INTERNAL = PROFILE_INTERNAL,
    HOWDAH_PROFILE_WAIT = PROFILE_WAIT,
    HOWDAH_POOL_CLASSIC = POOL_CLASSIC,
    HOWDAH_POOL_WORKER = POOL_WORKER,
    HOWDAH_PRELOAD_AUTO = PRELOAD_AUTO,
    HOWDAH_PRELOAD_ALL = PRELOAD_ALL,
    HOWDAH_VERDICT_LOADED = VERDICT_LOADED,
    HOWDAH_VERDICT_MISSING = VERDICT_MISSING,
    HOWDAH_VERDICT_SYNTAX = VERDICT_SYNTAX,
    HOWDAH_VERDICT_NO_CLASS = VERDICT_NO_CLASS,
    HOWDAH_VERDICT_FUNCTION = VERDICT_FUNCTION,
    HOWDAH_VERDICT_CONSTANT = VERDICT_CONSTANT,
    HOWDAH_VERDICT_CONDITION = VERDICT_CONDITION,
    HOWDAH_VERDICT_CODE = VERDICT_CODE,
    HOWDAH_VERDICT_DUPLICATE = VERDICT_DUPLICATE,
    HOWDAH_VERDICT_DIAGNOSTIC = VERDICT_DIAGNOSTIC,
    HOWDAH_VERDICT_FAILED = VERDICT_FAILED,
    HOWDAH_VERDICT_UNLINKED = VERDICT_UNLINKED,
    HOWDAH_RECORD_SIZE = RECORD_SIZE,
    HOWDAH_RECORD_AUTOLOADED = RECORD_AUTOLOADED,
    HOWDAH_CONCURRENCY_MAX = CONCURRENCY_MAX,
    HOWDAH_CONCURRENT_PLACES_MAX = CONCURRENT_PLACES_MAX,
    HOWDAH_POOL_FLAG_BOOT_EACH = POOL_FLAG_BOOT_EACH,
    HOWDAH_POOL_FLAG_EXIT_RESTARTS = POOL_FLAG_EXIT_RESTARTS,
    HOWDAH_POOL_FLAG_NO_ROLLBACK = POOL_FLAG_NO_ROLLBACK,
    HOWDAH_POOL_FLAG_FRESH_FILES = POOL_FLAG_FRESH_FILES,
    HOWDAH_POOL_FLAG_SHARE_STATICS = POOL_FLAG_SHARE_STATICS,
    HOWDAH_POOL_FLAG_USER = POOL_FLAG_USER,
    HOWDAH_POOL_FLAG_NO_NEW_PRIVS = POOL_FLAG_NO_NEW_PRIVS,
    HOWDAH_POOL_FLAG_RECORD = POOL_FLAG_RECORD,
    HOWDAH_POOL_FLAG_SAMPLES = POOL_FLAG_SAMPLES,
    HOWDAH_POOL_FLAG_DUMPABLE = POOL_FLAG_DUMPABLE,
    HOWDAH_POOL_FLAG_CONCURRENCY_FALLBACK = POOL_FLAG_CONCURRENCY_FALLBACK,
    HOWDAH_POOL_FLAG_LEAK_HEADER = POOL_FLAG_LEAK_HEADER,
    HOWDAH_POOL_FLAG_ALL = POOL_FLAG_ALL,
    HOWDAH_OPCACHE_SCRIPTS = OPCACHE_SCRIPTS,
    HOWDAH_OPCACHE_INVALIDATE = OPCACHE_INVALIDATE,
    HOWDAH_OPCACHE_PATHS = OPCACHE_PATHS,
    HOWDAH_OPCACHE_COMPILE = OPCACHE_COMPILE,
    HOWDAH_OPCACHE_USER = OPCACHE_USER,
    HOWDAH_OPCACHE_ALL = OPCACHE_ALL,
    HOWDAH_KEEP_INI = KEEP_INI,
    HOWDAH_KEEP_HANDLERS = KEEP_HANDLERS,
    HOWDAH_KEEP_LOCALE = KEEP_LOCALE,
    HOWDAH_KEEP_TIMEZONE = KEEP_TIMEZONE,
    HOWDAH_KEEP_CWD = KEEP_CWD,
    HOWDAH_KEEP_UMASK = KEEP_UMASK,
    HOWDAH_KEEP_ENV = KEEP_ENV,
    HOWDAH_KEEP_MBSTRING = KEEP_MBSTRING,
    HOWDAH_KEEP_LIBXML = KEEP_LIBXML,
    HOWDAH_KEEP_RANDOM = KEEP_RANDOM,
    HOWDAH_KEEP_SESSION = KEEP_SESSION,
    HOWDAH_KEEP_ALL = KEEP_ALL,
    HOWDAH_CONNECTIONS_REPLACE = CONNECTIONS_REPLACE,
    HOWDAH_CONNECTIONS_REVIVE = CONNECTIONS_REVIVE,
    HOWDAH_CONNECTIONS_IGNORE = CONNECTIONS_IGNORE,
    HOWDAH_BOOTED_ONCE = BOOTED_ONCE,
    HOWDAH_BOOTED_EACH = BOOTED_EACH,
    HOWDAH_BOOTED_UNFIT = BOOTED_UNFIT,
    HOWDAH_EXIT_STATUS_BOOT = EXIT_STATUS_BOOT,
    HOWDAH_EXIT_STATUS_CPU = EXIT_STATUS_CPU,
    HOWDAH_EXIT_STATUS_HUNG = EXIT_STATUS_HUNG,
    HOWDAH_SIGNAL_BACKTRACE = SIGNAL_BACKTRACE,
    HOWDAH_LOG_MARK = LOG_MARK,
    HOWDAH_LOG_HEADER_SIZE = LOG_HEADER_SIZE,
    HOWDAH_LOG_MESSAGE_MAX = LOG_MESSAGE_MAX,
};

/// Calls of the header's function-like macros.
const FUNCTIONS: [(&str, u64); 6] = [
    (
        "HOWDAH_STATE(0x123456789abcull, 511, 2)",
        layout::state(0x1234_5678_9abc, 511, 2),
    ),
    (
        "HOWDAH_STATE_POS(0x123456789abc1ff2ull)",
        layout::state_position(0x1234_5678_9abc_1ff2),
    ),
    (
        "HOWDAH_STATE_WORKER(0x123456789abc1ff2ull)",
        layout::state_worker(0x1234_5678_9abc_1ff2) as u64,
    ),
    (
        "HOWDAH_STATE_KIND(0x123456789abc1ff2ull)",
        layout::state_kind(0x1234_5678_9abc_1ff2),
    ),
    (
        "HOWDAH_COMPLETION(0xffffffffu, 1, 0x123456789abcull, 1023)",
        layout::completion_cell(u32::MAX, 1, 0x1234_5678_9abc, 1023),
    ),
    (
        "HOWDAH_COMPLETION(41u, 0, 0xffffffffull, 7)",
        layout::completion_cell(41, 0, 0xffff_ffff, 7),
    ),
];

/// The folder of the header.
fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worker/include")
}

#[test]
fn every_name_of_the_header_is_compared() {
    let header = std::fs::read_to_string(include().join("howdah_shm.h")).unwrap();
    assert!(names::expressions(&header).len() > 200);
    assert_eq!(names::missing(&header, &mirror()), Vec::<String>::new());
}

#[test]
fn the_mirror_is_the_header() {
    let mirror = mirror();
    let mut program =
        String::from("#include \"howdah_shm.h\"\n#include <stdio.h>\nint main(void)\n{\n");
    for (expression, _) in &mirror {
        writeln!(
            program,
            "\tprintf(\"%llu\\n\", (unsigned long long)({expression}));"
        )
        .unwrap();
    }
    program.push_str("\treturn 0;\n}\n");
    let directory = tempfile::tempdir().unwrap();
    let (source, binary) = (
        directory.path().join("layout.c"),
        directory.path().join("layout"),
    );
    std::fs::write(&source, program).unwrap();
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&include(), &source])
        .arg("-o")
        .arg(&binary)
        .status()
        .expect("a C compiler called cc");
    assert!(built.success(), "the header does not compile");
    let output = Command::new(&binary).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let header: Vec<u64> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(header.len(), mirror.len());
    let differences: BTreeMap<_, _> = mirror
        .iter()
        .zip(header)
        .filter(|((_, mirror), header)| mirror != header)
        .map(|((name, mirror), header)| (name, (mirror, header)))
        .collect();
    assert!(differences.is_empty(), "(mirror, header): {differences:#?}");
}

#[test]
fn parts_of_a_segment_do_not_overlap() {
    for (fronts, workers, slots) in [(1, 1, 1), (3, 7, 2), (16, 512, 1024)] {
        let header = Geometry::new(fronts, workers, slots, 8192, 65536)
            .unwrap()
            .header();
        let [fronts, workers, slots] = [fronts, workers, slots].map(u64::from);
        let parts = [
            (0, size_of::<Header>() as u64),
            (header.fronts_offset, fronts * header.front_stride),
            (header.parked_offset, layout::PARKED_WORDS as u64 * 8),
            (header.workers_offset, workers * layout::WORKER_SIZE as u64),
            (header.completions_offset, fronts * workers * slots * 2 * 8),
            (
                header.slots_offset,
                fronts * slots * layout::SLOT_SIZE as u64,
            ),
            (header.requests_offset, fronts * slots * 8192),
            (header.responses_offset, fronts * slots * 65536),
            (
                header.profiles_offset,
                workers * layout::PROFILE_SIZE as u64,
            ),
            (header.segment_size, 0),
        ];
        for pair in parts.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{parts:?}");
        }
        assert!(header.front_stride >= layout::FRONT_RING_SIZE as u64 + slots * 2 * 8);
        assert_eq!(header.workers_offset % 64, 0);
        assert_eq!(header.slots_offset % 64, 0);
        assert_eq!(header.requests_offset % 4096, 0);
        assert_eq!(header.profiles_offset % 4096, 0);
    }
}
