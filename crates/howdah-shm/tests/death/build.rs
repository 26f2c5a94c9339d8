//! Builds the worker process from the C sources of this repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the worker binary, built once.
pub(crate) fn worker() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queue_worker");
        let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worker");
        let status = Command::new("cc")
            .args([
                "-std=c11",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-DHOWDAH_INJECT",
            ])
            .arg("-I")
            .arg(worker.join("include"))
            .arg("-I")
            .arg(worker.join("src"))
            .args(
                [
                    "src/request/queue.c",
                    "src/request/response.c",
                    "tests/queue_worker.c",
                ]
                .map(|c| worker.join(c)),
            )
            .arg("-o")
            .arg(&binary)
            .status()
            .expect("a C compiler called cc");
        assert!(status.success(), "the worker does not compile");
        binary
    })
}
