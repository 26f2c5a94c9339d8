//! Scheduling of the front's threads among the processes that share a processor.

use std::mem::size_of;

/// The shortest time slice that the kernel supports.
const SLICE_NS: u64 = 100_000;

/// Makes the calling thread wait its turn when it is woken, instead of preempting a worker in the middle of a request:
/// the worker's caches stay warm, and the thread finds several completions at a time. Workers do the same
/// (`howdah_worker_yield_on_wake()`). An idle processor takes the thread immediately in any case.
/// `docs/internals/performance.md` has the figures.
#[expect(unsafe_code, reason = "rustix has no scheduling policies")]
pub(crate) fn yield_on_wake() {
    // SAFETY: the structure holds numbers only, for which zero is a value.
    let none: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure of the type that the call reads; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        tracing::debug!(%error, "the front thread keeps its scheduling policy");
    }
}

/// Makes the kernel give the calling thread a processor soon after it wakes: for a thread that needs it for some
/// microseconds each time. It needs no privilege, and is not available before kernel 6.12.
#[expect(unsafe_code, reason = "rustix has no scheduling policies")]
pub(crate) fn run_on_wake() {
    // SAFETY: the structure holds numbers only, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = u32::try_from(size_of::<libc::sched_attr>()).unwrap_or_default();
    attributes.sched_policy = libc::SCHED_OTHER.cast_unsigned();
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: the pointer is to a live structure of the size that it names; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        tracing::debug!(%error, "the thread keeps its scheduling policy");
    }
}
