//! A timer that is independent of the timers of the runtime.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::readiness::register;

/// For times of about a millisecond on a thread that sleeps and wakes much more often: the runtime's timers are a
/// timeout of each sleep, which programs the processor's clock each time, and in a virtual machine calls the host. This
/// one programs it once.
#[derive(Debug)]
pub(crate) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// Must be called within the thread's runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        register(timer, Interest::READABLE).map(Self)
    }

    /// Waits; only one task may wait at a time.
    pub(crate) async fn sleep(&self, time: Duration) -> io::Result<()> {
        let value = Timespec::try_from(time).map_err(io::Error::other)?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: value,
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        // Each expiry makes it ready, so the count need not be read.
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn each_sleep_lasts_its_time() {
        let alarm = Alarm::new().unwrap();
        for milliseconds in [2, 1, 5] {
            let (start, time) = (Instant::now(), Duration::from_millis(milliseconds));
            alarm.sleep(time).await.unwrap();
            assert!(start.elapsed() >= time);
        }
    }
}
