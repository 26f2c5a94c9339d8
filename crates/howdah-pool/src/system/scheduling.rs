//! The front threads' place among the processes that share a processor.

/// Has the calling thread wait its turn when it is woken, instead of pushing a worker off its processor in
/// the middle of a request: a worker then keeps its caches warm, and the thread finds several completions
/// at a time. Workers do the same (`howdah_worker_yield_on_wake()`). A processor that idles takes the
/// thread at once in any case. `docs/internals/performance.md` has the figures.
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
