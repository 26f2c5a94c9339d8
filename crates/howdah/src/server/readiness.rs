//! Whether the server takes requests: what load balancers ask for, the admin API or a site.

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

    /// From now on it is not ready any more.
    pub(crate) fn set_stopping(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Whether the server stops, for whatever reason.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Ends when it does.
    pub(crate) async fn stopping(&self) {
        // An error would mean that the sender is gone, which this value holds.
        let _ = self
            .0
            .stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }
}

/// Whether all pools take requests, and those that fell back to one request at a time.
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
