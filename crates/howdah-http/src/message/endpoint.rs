//! The interface to other parts of the server: `metrics`, `readiness` and `mercure` in a site.

use std::any::Any;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body::Body;

use super::connection::Connection;

/// The body of an endpoint's response.
pub type EndpointBody = Pin<Box<dyn Body<Data = Bytes, Error = io::Error>>>;
/// A future of an endpoint's response.
pub type EndpointFuture = Pin<Box<dyn Future<Output = Response<EndpointBody>>>>;

/// A request for an endpoint, with its body.
#[derive(Debug)]
pub struct EndpointRequest {
    /// Request line and header fields, as sent.
    pub parts: Parts,
    /// The query after rewrites.
    pub query: String,
    /// The body, empty if there was none.
    pub body: Bytes,
    /// The connection that it came on.
    pub connection: std::rc::Rc<Connection>,
}

/// Handles requests. Called on front threads, so it must not block.
pub trait Endpoint: Any + Send + Sync {
    /// The response. Dropping the future or the body means that the client disconnected.
    fn call(self: Arc<Self>, request: EndpointRequest) -> EndpointFuture;
}

impl std::fmt::Debug for dyn Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

/// Which endpoint a route names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndpointName {
    /// `metrics`; false with `disable_openmetrics`.
    Metrics { openmetrics: bool },
    /// `readiness`.
    Readiness,
    /// `mercure`, by its index in [`Config::hubs`](howdah_config::model::Config::hubs).
    Mercure(usize),
}

/// The endpoints of a server.
#[derive(Clone, Default)]
pub struct Endpoints {
    /// The page of metrics.
    pub metrics: Option<Arc<dyn Endpoint>>,
    /// Whether the server accepts requests.
    pub readiness: Option<Arc<dyn Endpoint>>,
    /// The pools of `roadrunner`, in the order of the configuration; their types belong to the
    /// application.
    pub roadrunner: Vec<Arc<dyn Any + Send + Sync>>,
    /// The Mercure hubs, in the order of the configuration.
    pub hubs: Vec<Arc<dyn Endpoint>>,
}

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoints").finish_non_exhaustive()
    }
}

impl Endpoints {
    pub(crate) fn find(&self, name: EndpointName) -> Option<&Arc<dyn Endpoint>> {
        match name {
            EndpointName::Metrics { .. } => self.metrics.as_ref(),
            EndpointName::Readiness => self.readiness.as_ref(),
            EndpointName::Mercure(index) => self.hubs.get(index),
        }
    }
}
