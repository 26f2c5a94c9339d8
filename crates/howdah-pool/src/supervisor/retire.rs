//! The retirement of a supervisor that another one replaces, without an effect on clients.

use std::time::{Duration, Instant};

use super::Supervisor;
use crate::pool::Pool;

/// How often it checks whether the last request has ended.
const LOOK: Duration = Duration::from_millis(100);
/// The same interval for requests that take long.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// When no request is left, workers only have to notice it.
pub const WORKER_EXIT_TIME: Duration = Duration::from_secs(5);

impl Supervisor {
    /// Serves until no front thread can dispatch a request any more and the last one has ended, then ends all
    /// processes. `followed`: the supervisor that replaced this one has been replaced too; then requests have as much
    /// time as those of a pool's generation in that position. It can be called again after it was cancelled.
    pub async fn retire(&mut self, followed: bool) {
        let since = *self.retiring_since.get_or_insert_with(Instant::now);
        let limit = self.pools.iter().map(|pool| self.drain_time(pool)).max();
        let limit = limit.unwrap_or_default();
        loop {
            // A request whose response has not begun keeps its front thread's membership.
            let pools = || self.pools.iter().map(|pool| &pool.load);
            let joined = pools().any(|load| load.joined() > 0);
            if !joined && pools().all(|load| load.in_flight() == 0) {
                break;
            }
            let over = since.elapsed() >= limit;
            if followed && over {
                self.end_requests(limit).await;
                return;
            }
            if !joined {
                self.pools.iter_mut().for_each(Pool::shrink);
            }
            let look = tokio::time::sleep(if over { LOOK_AGAIN } else { LOOK });
            self.run_until(look).await;
        }
        self.stop(Instant::now() + WORKER_EXIT_TIME).await;
    }

    async fn end_requests(&mut self, limit: Duration) {
        let count: usize = self.pools.iter().map(|pool| pool.load.in_flight()).sum();
        tracing::warn!(
            target: "howdah::pool", count,
            "requests aborted: still running {} seconds after a reload when another reload arrived",
            limit.as_secs()
        );
        for (_, occupant) in self.pools.iter_mut().flat_map(Pool::occupants_mut) {
            occupant.overdue = true;
        }
        self.kill().await;
    }
}
