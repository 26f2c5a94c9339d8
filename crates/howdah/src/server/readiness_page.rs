//! `readiness` in a site, and the same endpoint of the admin API.

use std::sync::Arc;

use howdah_http::endpoint::{Endpoint, EndpointFuture, EndpointRequest};
use howdah_observe::admin::{SequentialPool, UnhealthyError};
use http::StatusCode;

use super::readiness::check;
use super::state::{ServerState, page, refused};

impl ServerState {
    /// Requested by a load balancer.
    pub(crate) async fn ready(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        if self.readiness.is_stopping() {
            return Err(UnhealthyError::Stopping);
        }
        let status = self.trees.status().await;
        let status = status.map_err(|_| UnhealthyError::Stopping)?;
        let sequential = check(&status)?;
        self.readiness.note_poll();
        Ok(sequential)
    }
}

/// The response of `readiness` in a site.
pub(crate) struct ReadinessPage(pub(crate) ServerState);

impl Endpoint for ReadinessPage {
    fn call(self: Arc<Self>, request: EndpointRequest) -> EndpointFuture {
        Box::pin(async move {
            if let Some(refused) = refused(&request) {
                return refused;
            }
            // The page is public: only the admin API shows the cause.
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
