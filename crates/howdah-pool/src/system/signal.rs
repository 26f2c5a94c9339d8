//! Signals to PHP processes. They are sent only through pidfds (`process_identity.rs`); the monitor sends those to
//! processes of other users.

use howdah_shm::layout::SIGNAL_BACKTRACE;
use rustix::process::Signal;

/// SIGRTMIN as the C library counts it: it reserves the first ones for itself.
#[cfg(target_env = "musl")]
const SIGRTMIN: i32 = 35;
#[cfg(not(target_env = "musl"))]
const SIGRTMIN: i32 = 34;

/// All signals that this crate sends.
#[must_use]
pub fn worker_signals() -> [Signal; 2] {
    [Signal::KILL, backtrace()]
}

/// Makes a worker log its backtrace: SIGRTMIN + `HOWDAH_SIGNAL_BACKTRACE`.
#[expect(
    unsafe_code,
    reason = "rustix has no safe way to name a real-time signal"
)]
pub(crate) fn backtrace() -> Signal {
    // SAFETY: the number is that of a signal, above those that the C library keeps for its threads and
    // timers, and the contract gives it to us: nothing else in this process or the workers uses it.
    unsafe { Signal::from_raw_unchecked(SIGRTMIN + SIGNAL_BACKTRACE) }
}
