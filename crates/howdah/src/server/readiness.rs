//! Whether the server accepts requests, for load balancers: through the admin API or a site.

use std::sync::Arc;

use howdah_http::Shutdown;
use howdah_observe::admin::{SequentialPool, UnhealthyError};
use howdah_pool::Status;
use tokio::sync::watch;

/// Readiness of the server; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Readiness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Counts requests for readiness.
    shutdown: Shutdown,
    stopping: watch::Sender<bool>,
}

impl Readiness {
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        let stopping = watch::Sender::new(false);
        Self(Arc::new(Inner { shutdown, stopping }))
    }

    /// A load balancer has requested readiness.
    pub(crate) fn note_poll(&self) {
        self.0.shutdown.count_poll();
    }

    /// Makes the server report that it is not ready from now on.
    pub(crate) fn set_stopping(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Whether the server stops, for whatever reason.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Completes when it stops.
    pub(crate) async fn stopping(&self) {
        // An error would mean that the sender is dropped, which this value owns.
        let _ = self
            .0
            .stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }
}

/// Whether all pools accept requests, and the pools that fell back to one request at a time.
pub(crate) fn check(status: &Status) -> Result<Vec<SequentialPool>, UnhealthyError> {
    if let Some(pool) = status.pools.iter().find(|pool| pool.ready == 0) {
        return Err(UnhealthyError::NoWorker(pool.name.clone()));
    }
    let sequential = status.pools.iter().filter(|pool| pool.sequential > 0);
    let sequential = sequential.map(|pool| SequentialPool {
        pool: pool.name.clone(),
        workers: pool.sequential,
        cause: pool.sequential_cause.clone().unwrap_or_default(),
    });
    Ok(sequential.collect())
}
