//! Whether the server takes requests: what load balancers ask for, the admin API or a site.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howdah_http::Shutdown;
use howdah_http::endpoint::{Endpoint, EndpointFuture, EndpointRequest};
use howdah_observe::admin::{SequentialPool, UnhealthyError};
use howdah_pool::Status;
use http::StatusCode;

use crate::observed::{Observed, page, refused};

/// Of the server; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Readiness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Told of who asks.
    shutdown: Shutdown,
    stopping: AtomicBool,
}

impl Readiness {
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        let stopping = AtomicBool::new(false);
        Self(Arc::new(Inner { shutdown, stopping }))
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

impl Observed {
    /// Asked by somebody who wants to send requests.
    pub(crate) async fn ready(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        if self.readiness.is_stopping() {
            return Err(UnhealthyError::Stopping);
        }
        let status = self.trees.status().await;
        let status = status.map_err(|_| UnhealthyError::Stopping)?;
        let sequential = check(&status)?;
        self.readiness.0.shutdown.asked();
        Ok(sequential)
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

/// What `readiness` in a site answers.
pub(crate) struct ReadinessPage(pub(crate) Observed);

impl Endpoint for ReadinessPage {
    fn call(self: Arc<Self>, request: EndpointRequest) -> EndpointFuture {
        Box::pin(async move {
            if let Some(refused) = refused(&request) {
                return refused;
            }
            // Anybody may ask: why not is told by the admin API.
            let (status, text) = match self.0.ready().await {
                Ok(_) => (StatusCode::OK, "ready\n"),
                Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
            };
            let kind = "text/plain; charset=utf-8";
            let mut response = page(kind, text.to_owned());
            *response.status_mut() = status;
            response
        })
    }
}
