//! The mirror against the C header, as the compiler sees it.

use crate::layout::{self, Header, words};
use crate::{Geometry, layout::Header as H};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

/// C expressions and the values that the mirror has for them.
fn mirror() -> Vec<(String, u64)> {
    let mut values: Vec<(String, u64)> = Vec::new();
    for (field, offset) in words::offsets() {
        let (name, field) = field.split_once('.').unwrap();
        values.push((format!("offsetof(struct {name}, {field})"), offset as u64));
    }
    let header = [
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
    ];
    for (field, offset) in header {
        values.push((
            format!("offsetof(struct howdah_shm_header, {field})"),
            offset as u64,
        ));
    }
    let sizes = [
        ("howdah_shm_header", size_of::<Header>()),
        ("howdah_front_ring", layout::FRONT_RING_SIZE),
        ("howdah_worker", layout::WORKER_SIZE),
        ("howdah_slot", layout::SLOT_SIZE),
        ("howdah_frame", layout::FRAME_HEADER_SIZE),
        ("howdah_end", layout::END_SIZE),
        ("howdah_publish", layout::PUBLISH_SIZE),
        ("howdah_update", layout::UPDATE_SIZE),
        ("howdah_control", layout::CONTROL_HEADER_SIZE),
        ("howdah_pool_options", layout::POOL_OPTIONS_SIZE),
        ("howdah_spawn", layout::SPAWN_SIZE),
    ];
    for (name, size) in sizes {
        values.push((format!("sizeof(struct {name})"), size as u64));
    }
    // The front reads these payloads byte by byte at the offsets that are stated here.
    let payloads = [
        (
            "offsetof(struct howdah_front_ring, cells)",
            layout::FRONT_RING_SIZE as u64,
        ),
        ("offsetof(struct howdah_frame, kind)", 0),
        ("offsetof(struct howdah_frame, size)", 4),
        ("offsetof(struct howdah_headers, status)", 0),
        ("offsetof(struct howdah_headers, reason_size)", 2),
        ("offsetof(struct howdah_headers, count)", 4),
        ("offsetof(struct howdah_header, name_size)", 0),
        ("offsetof(struct howdah_header, value_size)", 4),
        ("offsetof(struct howdah_end, exit)", 0),
        ("offsetof(struct howdah_end, exit_status)", 4),
        ("offsetof(struct howdah_end, memory_peak)", 8),
        ("offsetof(struct howdah_end, cpu_us)", 16),
        ("HOWDAH_SHM_MAGIC", layout::MAGIC),
        ("HOWDAH_SHM_VERSION", layout::VERSION.into()),
        ("HOWDAH_FRONTS_MAX", layout::FRONTS_MAX.into()),
        ("HOWDAH_WORKERS_MAX", layout::WORKERS_MAX.into()),
        ("HOWDAH_SLOTS_MAX", layout::SLOTS_MAX.into()),
        ("HOWDAH_PARKED_WORDS", layout::PARKED_WORDS as u64),
        ("HOWDAH_SLOT_FREE", layout::SLOT_FREE),
        ("HOWDAH_SLOT_QUEUED", layout::SLOT_QUEUED),
        ("HOWDAH_SLOT_OWNED", layout::SLOT_OWNED),
        ("HOWDAH_POS_MASK", layout::POSITION_MASK),
        ("HOWDAH_PROGRESS", layout::PROGRESS),
        ("HOWDAH_DONE", layout::DONE),
        ("HOWDAH_BODY_NONE", layout::BODY_NONE.into()),
        ("HOWDAH_BODY_INLINE", layout::BODY_INLINE.into()),
        ("HOWDAH_BODY_FILE", layout::BODY_FILE.into()),
        ("HOWDAH_REQUEST_HEAD", layout::REQUEST_HEAD.into()),
        ("HOWDAH_FRAME_PAD", layout::FRAME_PAD.into()),
        ("HOWDAH_FRAME_HEADERS", layout::FRAME_HEADERS.into()),
        ("HOWDAH_FRAME_BODY", layout::FRAME_BODY.into()),
        ("HOWDAH_FRAME_INFO", layout::FRAME_INFO.into()),
        ("HOWDAH_FRAME_FINISH", layout::FRAME_FINISH.into()),
        ("HOWDAH_FRAME_PUBLISH", layout::FRAME_PUBLISH.into()),
        ("HOWDAH_REQUEST_HUB", layout::REQUEST_HUB.into()),
        ("HOWDAH_PUBLISH_FIRST", layout::PUBLISH_FIRST.into()),
        ("HOWDAH_UPDATE_PRIVATE", layout::UPDATE_PRIVATE.into()),
        ("HOWDAH_UPDATE_RETRY", layout::UPDATE_RETRY.into()),
        ("HOWDAH_UPDATE_SIZE_MAX", layout::UPDATE_SIZE_MAX.into()),
        ("HOWDAH_UPDATE_TOPICS_MAX", layout::UPDATE_TOPICS_MAX.into()),
        ("offsetof(struct howdah_publish, flags)", 0),
        ("offsetof(struct howdah_publish, left)", 4),
        ("offsetof(struct howdah_update, flags)", 0),
        ("offsetof(struct howdah_update, topics)", 4),
        ("offsetof(struct howdah_update, retry)", 8),
        ("offsetof(struct howdah_update, topics_size)", 16),
        ("offsetof(struct howdah_update, id_size)", 20),
        ("offsetof(struct howdah_update, type_size)", 24),
        ("offsetof(struct howdah_update, data_size)", 28),
        ("HOWDAH_FRAME_END", layout::FRAME_END.into()),
        ("HOWDAH_EXIT_NORMAL", layout::EXIT_NORMAL.into()),
        ("HOWDAH_EXIT_FATAL", layout::EXIT_FATAL.into()),
        ("HOWDAH_POOL_CLASSIC", layout::POOL_CLASSIC.into()),
        ("HOWDAH_POOL_WORKER", layout::POOL_WORKER.into()),
        (
            "HOWDAH_POOL_FLAG_BOOT_EACH",
            layout::POOL_FLAG_BOOT_EACH.into(),
        ),
        (
            "HOWDAH_POOL_FLAG_EXIT_RESTARTS",
            layout::POOL_FLAG_EXIT_RESTARTS.into(),
        ),
        (
            "HOWDAH_POOL_FLAG_NO_ROLLBACK",
            layout::POOL_FLAG_NO_ROLLBACK.into(),
        ),
        (
            "HOWDAH_POOL_FLAG_FRESH_FILES",
            layout::POOL_FLAG_FRESH_FILES.into(),
        ),
        (
            "HOWDAH_POOL_FLAG_SHARE_STATICS",
            layout::POOL_FLAG_SHARE_STATICS.into(),
        ),
        ("HOWDAH_POOL_FLAG_USER", layout::POOL_FLAG_USER.into()),
        (
            "HOWDAH_POOL_FLAG_NO_NEW_PRIVS",
            layout::POOL_FLAG_NO_NEW_PRIVS.into(),
        ),
        (
            "sizeof(struct howdah_identity)",
            layout::IDENTITY_SIZE as u64,
        ),
        ("offsetof(struct howdah_identity, uid)", 0),
        ("offsetof(struct howdah_identity, gid)", 4),
        ("offsetof(struct howdah_identity, groups)", 8),
        ("offsetof(struct howdah_identity, name_size)", 12),
        ("offsetof(struct howdah_identity, home_size)", 16),
        ("HOWDAH_CONCURRENCY_MAX", layout::CONCURRENCY_MAX.into()),
        (
            "HOWDAH_CONCURRENT_PLACES_MAX",
            layout::CONCURRENT_PLACES_MAX.into(),
        ),
        ("HOWDAH_ABORTED_CLIENT", layout::ABORTED_CLIENT.into()),
        ("HOWDAH_ABORTED_TIME", layout::ABORTED_TIME.into()),
        ("HOWDAH_STARTED_EFFECTS", layout::STARTED_EFFECTS.into()),
        ("HOWDAH_STARTED_TOO_LONG", layout::STARTED_TOO_LONG.into()),
        ("HOWDAH_KEEP_ALL", layout::KEEP_ALL.into()),
        ("HOWDAH_CONTROL_SIZE_MAX", layout::CONTROL_SIZE_MAX as u64),
        ("HOWDAH_LOG_HEADER_SIZE", layout::LOG_HEADER_SIZE as u64),
        ("HOWDAH_LOG_MESSAGE_MAX", layout::LOG_MESSAGE_MAX as u64),
        ("HOWDAH_BOOTED_ONCE", layout::BOOTED_ONCE as u64),
        ("HOWDAH_BOOTED_EACH", layout::BOOTED_EACH as u64),
        ("HOWDAH_BOOTED_UNFIT", layout::BOOTED_UNFIT as u64),
        ("HOWDAH_EXIT_STATUS_CPU", layout::EXIT_STATUS_CPU as u64),
        ("HOWDAH_EXIT_STATUS_BOOT", layout::EXIT_STATUS_BOOT as u64),
        ("HOWDAH_SIGNAL_BACKTRACE", layout::SIGNAL_BACKTRACE as u64),
        // POOL and SPAWN are written word by word in this order.
        ("offsetof(struct howdah_pool_options, mode)", 0),
        ("offsetof(struct howdah_pool_options, flags)", 4),
        ("offsetof(struct howdah_pool_options, keep)", 8),
        ("offsetof(struct howdah_pool_options, connections)", 12),
        ("offsetof(struct howdah_pool_options, generation)", 16),
        ("offsetof(struct howdah_pool_options, cpu_limit_ms)", 20),
        ("offsetof(struct howdah_pool_options, name_size)", 24),
        ("offsetof(struct howdah_pool_options, script_size)", 28),
        ("offsetof(struct howdah_pool_options, root_size)", 32),
        ("offsetof(struct howdah_pool_options, env_size)", 36),
        ("offsetof(struct howdah_pool_options, warm_size)", 40),
        ("offsetof(struct howdah_pool_options, concurrency)", 44),
        ("offsetof(struct howdah_pool_options, stack_size)", 48),
        ("offsetof(struct howdah_pool_options, hog_threshold_ms)", 52),
        ("offsetof(struct howdah_pool_options, time_slice_ms)", 56),
        ("offsetof(struct howdah_spawn, max_requests)", 0),
        ("offsetof(struct howdah_spawn, retire_after)", 4),
        ("offsetof(struct howdah_spawn, state_key)", 8),
        ("offsetof(struct howdah_spawn, max_memory)", 16),
        ("offsetof(struct howdah_spawn, max_growth)", 24),
        (
            "HOWDAH_STATE(0x123456789abcull, 511, 2)",
            layout::state(0x1234_5678_9abc, 511, 2),
        ),
        ("HOWDAH_STATE_WORKER(0x123456789abc1ff2ull)", {
            u64::from(layout::state_worker(0x1234_5678_9abc_1ff2))
        }),
        (
            "HOWDAH_COMPLETION(0xffffffffu, 1, 0x123456789abcull, 1023)",
            layout::completion_cell(u32::MAX, 1, 0x1234_5678_9abc, 1023),
        ),
        (
            "HOWDAH_COMPLETION(41u, 0, 0xffffffffull, 7)",
            layout::completion_cell(41, 0, 0xffff_ffff, 7),
        ),
    ];
    values.extend(payloads.map(|(name, value)| (name.to_owned(), value)));
    values
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
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worker/include");
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&include, &source])
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
            (header.segment_size, 0),
        ];
        for pair in parts.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{parts:?}");
        }
        assert!(header.front_stride >= layout::FRONT_RING_SIZE as u64 + slots * 2 * 8);
        assert_eq!(header.workers_offset % 64, 0);
        assert_eq!(header.slots_offset % 64, 0);
        assert_eq!(header.requests_offset % 4096, 0);
    }
}
