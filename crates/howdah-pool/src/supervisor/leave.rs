//! The end of a supervisor whose server goes on with another: nobody is to notice.

use std::time::{Duration, Instant};

use super::Supervisor;
use super::reload::drain_time;
use crate::pool::Pool;

/// How often it is looked whether the last request has ended.
const LOOK: Duration = Duration::from_millis(100);
/// Once no request is left, workers only have to notice.
pub const WORKERS_LEAVE: Duration = Duration::from_secs(5);

impl Supervisor {
    /// Serves until no front thread can hand out a request any more and the last one has ended, then ends
    /// all processes. Requests that go on when a reload of a pool would not wait for them any longer are
    /// ended, too.
    pub async fn leave(&mut self) {
        let look = || tokio::time::sleep(LOOK);
        while self.pools.iter().any(|pool| pool.load.joined() > 0) {
            self.run_until(look()).await;
        }
        let pools = self.pools.iter();
        let limit = pools.map(|pool| drain_time(pool.options.request_timeout));
        let limit = limit.max().unwrap_or_default();
        let deadline = Instant::now() + limit;
        while self.pools.iter().any(|pool| pool.load.in_flight() > 0) {
            if Instant::now() >= deadline {
                let count: usize = self.pools.iter().map(|pool| pool.load.in_flight()).sum();
                tracing::warn!(
                    target: "howdah::pool", count,
                    "requests ended: they were not done {} seconds after a reload", limit.as_secs()
                );
                self.kill().await;
                return;
            }
            self.pools.iter_mut().for_each(Pool::shrink);
            self.run_until(look()).await;
        }
        self.stop(Instant::now() + WORKERS_LEAVE).await;
    }
}
