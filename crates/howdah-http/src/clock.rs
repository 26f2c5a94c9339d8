//! A clock that costs a few nanoseconds. Timeouts are seconds, so the kernel's tick is precise
//! enough.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of the coarse monotonic clock; it moves in ticks of 1 to 10 ms.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Seconds since 1970, of the coarse clock.
pub(crate) fn seconds() -> i64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec
}

/// A configured limit in milliseconds.
pub(crate) fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
