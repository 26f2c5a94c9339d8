//! What the workers of a pool sleep on: the futex word of their place, or in a concurrent pool the eventfd of their
//! place, since such a worker waits for descriptors of its requests at the same time.

use crate::geometry::Geometry;
#[cfg(not(loom))]
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(crate) enum Sleep {
    /// One request at a time.
    OnFutex,
    /// Several: an event for each worker.
    OnEvent(Vec<Event>),
}

/// Wakes a worker of a concurrent pool. It stays set until the worker has slept on it: unlike with a futex, it does not
/// matter whether the worker already sleeps.
#[derive(Debug)]
pub(crate) struct Event {
    #[cfg(not(loom))]
    fd: OwnedFd,
    #[cfg(loom)]
    bell: crate::sync::Bell,
}

impl Sleep {
    pub(crate) fn on_event(geometry: &Geometry) -> rustix::io::Result<Self> {
        let events: rustix::io::Result<_> = (0..geometry.workers()).map(|_| Event::new()).collect();
        events.map(Self::OnEvent)
    }

    #[cfg(not(loom))]
    pub(crate) fn eventfds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let events: &[Event] = match self {
            Self::OnFutex => &[],
            Self::OnEvent(events) => events,
        };
        events.iter().map(|event| event.fd.as_fd())
    }
}

#[cfg(not(loom))]
impl Event {
    fn new() -> rustix::io::Result<Self> {
        eventfd().map(|fd| Self { fd })
    }

    pub(crate) fn ring(&self) {
        ring(&self.fd);
    }

    /// Sleeps until it is set and resets it.
    #[cfg(all(any(test, feature = "fake-worker"), not(miri)))]
    pub(crate) fn wait(&self) {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut counter = [0; 8];
        while rustix::io::read(&self.fd, &mut counter).is_err() {
            // An error is a signal: check again.
            let _ = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], None);
        }
    }
}

#[cfg(loom)]
#[allow(clippy::unnecessary_wraps)] // the real one can fail
impl Event {
    fn new() -> rustix::io::Result<Self> {
        let bell = crate::sync::Bell::default();
        Ok(Self { bell })
    }

    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn wait(&self) {
        self.bell.wait();
    }
}

/// An eventfd for one sleeper.
#[cfg(not(loom))]
pub(crate) fn eventfd() -> rustix::io::Result<OwnedFd> {
    use rustix::event::EventfdFlags;
    rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
}

/// Wakes the thread that sleeps on it, or is about to.
#[cfg(not(loom))]
pub(crate) fn ring(fd: &OwnedFd) {
    let rung = rustix::io::write(fd, &1_u64.to_ne_bytes());
    // EAGAIN: the counter is full, so the sleeper is being woken anyway.
    debug_assert!(
        matches!(rung, Ok(8) | Err(rustix::io::Errno::AGAIN)),
        "{rung:?}"
    );
}
