//! How a server ends: not ready first, then closed to new connections, then without requests, then without PHP.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_http::{Server, Shutdown};
use howdah_pool::WORKER_EXIT_TIME;

use crate::php::tree::Order;
use crate::php::trees::Trees;
use crate::server::control::ServerControl;
use crate::server::notify;

/// `shutdown_delay` where load balancers poll readiness: what `HAProxy` takes with its defaults, three checks
/// every two seconds, and a second more. `docker stop` kills after ten.
const POLLED_DELAY: Duration = Duration::from_secs(7);

/// From the order to stop to the end. Dropped, it can be ended at once.
pub(crate) async fn stop(
    control: &ServerControl,
    server: &Server,
    shutdown: &Shutdown,
    threads: tokio::task::JoinHandle<()>,
    trees: &Trees,
) {
    control.set_stopping();
    let delay = control.in_force().shutdown_delay().await;
    let delay = delay.unwrap_or_else(|| default_delay(shutdown));
    shutdown.announce(delay);
    if !delay.is_zero() {
        notify::leaving(delay);
        tracing::info!(
            target: "howdah",
            delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            "not ready any more; requests are served as before until load balancers have noticed"
        );
        tokio::time::sleep(delay).await;
    }
    notify::stopping();
    let grace = control.in_force().stop().await;
    if grace == Duration::MAX {
        tracing::info!(target: "howdah", "stopping as soon as all requests are done");
    } else {
        tracing::info!(target: "howdah", grace_seconds = grace.as_secs(), "stopping");
    }
    server.remove_unix_sockets();
    shutdown.drain(grace);
    // Requests in flight still need their workers, and dead workers their successors. A panic of the
    // thread that waits was reported by the panic hook.
    let _ = threads.await;
    trees
        .end(Order::Stop(Instant::now() + WORKER_EXIT_TIME))
        .await;
}

fn default_delay(shutdown: &Shutdown) -> Duration {
    if shutdown.is_polled() {
        POLLED_DELAY
    } else {
        Duration::ZERO
    }
}

/// Waits until the front threads have ended.
pub(crate) fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A panic there was reported by the panic hook.
        let _ = thread.join();
    }
}
