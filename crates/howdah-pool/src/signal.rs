//! Signals to PHP processes, other than those that go through a pidfd at hand.

use howdah_shm::layout::SIGNAL_BACKTRACE;
use rustix::process::{Pid, Signal, kill_process};

/// SIGRTMIN as the C library counts it: it keeps the first ones for itself.
#[cfg(target_env = "musl")]
const SIGRTMIN: i32 = 35;
#[cfg(not(target_env = "musl"))]
const SIGRTMIN: i32 = 34;

/// Has a worker log its backtrace: SIGRTMIN + `HOWDAH_SIGNAL_BACKTRACE`.
#[expect(
    unsafe_code,
    reason = "rustix has no safe way to name a real-time signal"
)]
pub(crate) fn backtrace() -> Signal {
    // SAFETY: the number is that of a signal, above those that the C library keeps for its threads and
    // timers, and the contract gives it to us: nobody else in this process or the workers uses it.
    unsafe { Signal::from_raw_unchecked(SIGRTMIN + SIGNAL_BACKTRACE) }
}

/// Ends a process that has just been announced without its pidfd. Only then: its number may be another's once it
/// has been gone for long.
pub(crate) fn kill_unwatched(pid: i32) {
    // 0 and negative numbers would mean others, and many.
    if let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() {
        // It may be gone already.
        let _ = kill_process(pid, Signal::KILL);
    }
}
