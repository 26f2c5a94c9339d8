//! The order to stop, given once by the coordinator and heard by every front thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Tells the front threads to stop. Clones give the same order.
#[derive(Debug, Clone)]
pub struct Shutdown {
    order: Arc<watch::Sender<Option<Instant>>>,
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
        Self {
            order: Arc::new(watch::Sender::new(None)),
        }
    }

    /// Stop accepting and close idle connections at once; requests in flight have `grace` to finish,
    /// then their connections are cut. A second call can shorten the grace, never lengthen it.
    pub fn drain(&self, grace: Duration) {
        let now = Instant::now();
        // A grace beyond what the clock can express means a year: nobody waits longer.
        let until = now
            .checked_add(grace)
            .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600));
        self.order.send_if_modified(|order| {
            let earlier = order.is_none_or(|known| until < known);
            if earlier {
                *order = Some(until);
            }
            earlier
        });
    }

    /// Whether the order was given.
    pub fn is_draining(&self) -> bool {
        self.order.borrow().is_some()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Instant>> {
        self.order.subscribe()
    }
}
