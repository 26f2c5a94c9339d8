//! The order to stop, which the coordinator sends to every front thread: first announced, then
//! carried out.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The last fraction (one in so many) of the time between announcement and drain, in which connections of HTTP/1 close
/// with their next response.
const WIND_DOWN: u32 = 4;
/// Requests for readiness within this time of each other count as polling.
const POLLED_WITHIN: Duration = Duration::from_secs(60);
/// Polls from which readiness counts as polled: a script that waits for the start stops after its
/// first success.
const POLLED_FROM: u64 = 2;

/// Orders the front threads to stop. Clones give the same order.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    order: watch::Sender<Option<Instant>>,
    /// Not set: the server keeps running.
    schedule: OnceLock<Schedule>,
    /// The times below count from here.
    created: Instant,
    /// Requests for readiness that were served while the server was ready.
    polls: AtomicU64,
    /// When the last one was served, in milliseconds since `created`.
    polled_at: AtomicU64,
}

/// When the server stops accepting connections.
#[derive(Debug)]
struct Schedule {
    winds_down: Instant,
    closes: Instant,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    /// Nothing is ordered yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            order: watch::Sender::new(None),
            schedule: OnceLock::new(),
            created: Instant::now(),
            polls: AtomicU64::new(0),
            polled_at: AtomicU64::new(0),
        }))
    }

    /// Announces that [`drain`](Self::drain) follows after `delay`: until then everything is served as before.
    /// Connections of HTTP/1 close with their first response in the last quarter. Only the first call has an effect.
    pub fn announce(&self, delay: Duration) {
        let now = Instant::now();
        // A second call changes nothing.
        let _ = self.0.schedule.set(Schedule {
            winds_down: saturating_deadline(now, delay.saturating_sub(delay / WIND_DOWN)),
            closes: saturating_deadline(now, delay),
        });
    }

    /// Stops accepting and closes idle connections immediately; requests in flight have `grace` to finish, then their
    /// connections are cut. A second call can shorten the grace, never lengthen it.
    pub fn drain(&self, grace: Duration) {
        self.announce(Duration::ZERO);
        let until = saturating_deadline(Instant::now(), grace);
        self.0.order.send_if_modified(|order| {
            let earlier = order.is_none_or(|known| until < known);
            if earlier {
                *order = Some(until);
            }
            earlier
        });
    }

    /// Whether the order to drain was given.
    pub fn is_draining(&self) -> bool {
        self.0.order.borrow().is_some()
    }

    /// How long connections are still accepted; `None`: no order was given.
    pub fn closes_in(&self) -> Option<Duration> {
        let schedule = self.0.schedule.get()?;
        Some(schedule.closes.saturating_duration_since(Instant::now()))
    }

    /// Counts a request for readiness while the server is ready.
    pub fn count_poll(&self) {
        let now = u64::try_from(self.0.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.polled_at.store(now, Relaxed);
        self.0.polls.fetch_add(1, Relaxed);
    }

    /// Whether readiness is requested repeatedly, as load balancers do.
    pub fn is_polled(&self) -> bool {
        let at = Duration::from_millis(self.0.polled_at.load(Relaxed));
        self.0.polls.load(Relaxed) >= POLLED_FROM
            && self.0.created.elapsed().saturating_sub(at) < POLLED_WITHIN
    }

    /// Whether connections of HTTP/1 close with their next response.
    pub(crate) fn closes_connections(&self) -> bool {
        let schedule = self.0.schedule.get();
        schedule.is_some_and(|schedule| schedule.winds_down <= Instant::now())
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Instant>> {
        self.0.order.subscribe()
    }
}

/// A time beyond the range of the clock becomes a year, longer than any wait.
fn saturating_deadline(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_comes_before_the_order() {
        let shutdown = Shutdown::new();
        assert_eq!(shutdown.closes_in(), None);
        assert!(!shutdown.closes_connections());
        shutdown.announce(Duration::from_secs(100));
        shutdown.announce(Duration::ZERO);
        let left = shutdown.closes_in().expect("announced");
        assert!(left > Duration::from_secs(90), "{left:?}");
        assert!(!shutdown.closes_connections() && !shutdown.is_draining());
        shutdown.drain(Duration::from_secs(1));
        assert!(shutdown.is_draining());
    }

    #[test]
    fn without_a_delay_connections_end_at_once() {
        let shutdown = Shutdown::new();
        shutdown.drain(Duration::MAX);
        assert!(shutdown.closes_connections() && shutdown.is_draining());
        assert_eq!(shutdown.closes_in(), Some(Duration::ZERO));
    }

    #[test]
    fn a_single_request_is_not_polling() {
        let shutdown = Shutdown::new();
        assert!(!shutdown.is_polled());
        shutdown.count_poll();
        assert!(!shutdown.is_polled());
        shutdown.count_poll();
        assert!(shutdown.is_polled());
    }
}
