//! Whether the server takes requests: what load balancers ask for, the admin API or a site.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howdah_http::Shutdown;
use howdah_observe::admin::{SequentialPool, UnhealthyError};
use howdah_pool::Status;

/// Of the server; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Readiness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Counts requests for readiness.
    shutdown: Shutdown,
    stopping: AtomicBool,
}

impl Readiness {
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        let stopping = AtomicBool::new(false);
        Self(Arc::new(Inner { shutdown, stopping }))
    }

    /// Somebody asked whether it is ready, who wants to send requests.
    pub(crate) fn note_poll(&self) {
        self.0.shutdown.count_poll();
    }

    /// From now on it is not ready any more.
    pub(crate) fn set_stopping(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the server stops, for whatever reason.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
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
