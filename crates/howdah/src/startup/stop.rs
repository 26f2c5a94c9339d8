//! The stop of a server: first not ready, then closed to new connections, then without requests, then without PHP.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_http::{Server, Shutdown};
use howdah_pool::WORKER_EXIT_TIME;

use crate::php::tree::Order;
use crate::php::trees::Trees;
use crate::server::control::ServerControl;
use crate::server::notify;
use crate::server::signals::SignalStream;

/// Default `shutdown_delay` if load balancers poll readiness: `HAProxy`'s default of three checks every two seconds,
/// plus a second. `docker stop` kills after ten.
const POLLED_DELAY: Duration = Duration::from_secs(7);

/// The parts of a server that stop.
pub(super) struct Stop<'a> {
    pub(super) control: &'a ServerControl,
    pub(super) server: &'a Server,
    pub(super) shutdown: &'a Shutdown,
    pub(super) trees: &'a Trees,
}

impl Stop<'_> {
    /// Stops the server, immediately if a second signal arrives.
    pub(super) async fn run(&self, threads: Vec<JoinHandle<()>>, signals: &mut SignalStream) {
        // The runtime waits for it in any case: the threads have to release their resources.
        let threads = tokio::task::spawn_blocking(move || join(threads));
        tokio::select! {
            () = self.drain(threads) => tracing::info!(target: "howdah", "stopped"),
            _ = signals.next() => {
                tracing::warn!(target: "howdah", "stopped immediately by a second signal");
                self.shutdown.drain(Duration::ZERO);
                self.trees.end(Order::Kill).await;
            }
        }
    }

    /// From the order to stop to the exit. Cancel-safe: `Order::Kill` ends what is left.
    async fn drain(&self, threads: tokio::task::JoinHandle<()>) {
        let Self {
            control,
            server,
            shutdown,
            trees,
        } = self;
        control.set_stopping();
        let delay = control.current().shutdown_delay().await;
        let delay = delay.unwrap_or_else(|| default_delay(shutdown));
        shutdown.announce(delay);
        if !delay.is_zero() {
            notify::leaving(delay);
            tracing::info!(
                target: "howdah",
                delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                "no longer ready; requests are served as before until load balancers have noticed"
            );
            tokio::time::sleep(delay).await;
        }
        notify::stopping();
        let grace = control.current().stop().await;
        if grace == Duration::MAX {
            tracing::info!(target: "howdah", "stopping as soon as all requests are done");
        } else {
            tracing::info!(target: "howdah", grace_seconds = grace.as_secs(), "stopping");
        }
        server.remove_unix_sockets();
        shutdown.drain(grace);
        // Requests in flight still need their workers, and crashed workers their successors. The panic hook has
        // reported a panic of the waiting thread.
        let _ = threads.await;
        trees
            .end(Order::Stop(Instant::now() + WORKER_EXIT_TIME))
            .await;
    }
}

fn default_delay(shutdown: &Shutdown) -> Duration {
    if shutdown.is_polled() {
        POLLED_DELAY
    } else {
        Duration::ZERO
    }
}

/// Waits until the front threads have exited.
fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A panic there was reported by the panic hook.
        let _ = thread.join();
    }
}
