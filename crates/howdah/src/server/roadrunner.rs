//! Requests for RoadRunner workers.

use std::any::Any;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use howdah_goridge::{
    Body, CallError, Head, Observer, Pool, Request, RequestBody as PoolBody, RequestHead,
};
use howdah_http::{AppRequest, Interim, Progress, RequestBody, RoadRunnerTarget};
use http::StatusCode;
use http::header::HOST;

use super::timing::now_ns;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoadRunnerError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the request body cannot be read: {0}")]
    Body(#[from] io::Error),
    #[error("the route does not name a pool of workers")]
    NoPool,
}

impl RoadRunnerError {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Call(error) => match error {
                CallError::QueueFull
                | CallError::WaitTimeout(_)
                | CallError::NotBooted(_)
                | CallError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
                CallError::RequestTimeout(_) => StatusCode::GATEWAY_TIMEOUT,
                CallError::Form(_) | CallError::Conflict(_) => StatusCode::BAD_REQUEST,
                CallError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                CallError::Crashed { .. } => StatusCode::BAD_GATEWAY,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Body(_) | Self::NoPool => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The pools as values that the web server returns with requests.
pub(crate) fn endpoints(pools: &[Arc<Pool>]) -> Vec<Arc<dyn Any + Send + Sync>> {
    pools.iter().map(|pool| Arc::clone(pool) as _).collect()
}

/// Runs the request in a worker. `interim` sends responses before the final one.
pub(super) async fn run(
    request: &mut AppRequest,
    target: RoadRunnerTarget,
    interim: Interim<'_>,
) -> Result<(Head, Body), RoadRunnerError> {
    let RoadRunnerTarget {
        pool,
        path,
        attributes,
    } = target;
    let pool = pool
        .downcast::<Pool>()
        .map_err(|_| RoadRunnerError::NoPool)?;
    // Removed when the worker has received it.
    let mut spooled = None;
    let body = match std::mem::replace(&mut request.body, RequestBody::Empty) {
        RequestBody::Empty => PoolBody::Empty,
        RequestBody::Memory(bytes) => PoolBody::Memory(bytes),
        RequestBody::Spooled(file) => {
            let open = file.open()?;
            let size = spooled.insert(file).len();
            PoolBody::File(open, size)
        }
    };
    let request = &*request;
    let host = request
        .headers
        .get(HOST)
        .and_then(|host| host.to_str().ok());
    let call = Request {
        id: request.id,
        head: RequestHead {
            method: &request.method,
            scheme: if request.connection.tls.is_some() {
                "https"
            } else {
                "http"
            },
            authority: host.unwrap_or_default(),
            path: &path,
            query: (!request.query.is_empty()).then_some(&*request.query),
            version: request.version,
            remote: request.connection.remote.ip(),
            headers: &request.headers,
            attributes: &attributes,
        },
        body,
        is_repeatable: request.method.is_safe(),
        observer: request
            .progress
            .clone()
            .map(|progress| Rc::new(ProgressObserver(progress)) as _),
    };
    let (id, uri) = (request.id, request.original_uri.path());
    let send = |head: &Head| {
        if let Err(error) = interim.send(head.status, &head.headers) {
            let (request_id, status) = (format!("{id:016x}"), head.status.as_u16());
            tracing::debug!(target: "howdah::php", request_id, uri, status, "an interim response was not sent: {error}");
        }
    };
    Ok(pool.call(call, send).await?)
}

/// Reports the progress of a request.
struct ProgressObserver(Progress);

impl Observer for ProgressObserver {
    fn on_claim(&self, place: u16) {
        self.0.on_claim(now_ns(), place);
    }

    fn on_done(&self) {
        self.0.on_done();
    }
}
