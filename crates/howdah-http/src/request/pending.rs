//! A request between the decision of the routes and its response.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Uri};

use super::receive::ReceivedRequest;
use super::route::RouteDecision;
use crate::listen::limits::Limits;
use crate::message::incoming::{BodyError, Incoming};
use crate::message::reply;
use crate::message::response::Content;

/// A request that waits for its response, after the routes have run.
pub(super) struct PendingRequest {
    pub(crate) parts: Parts,
    /// `None` once reading has started.
    pub(crate) body: Option<Incoming>,
    /// Raw, after rewrites; `None`: as sent.
    pub(crate) query: Option<String>,
    /// The client expects no body, even if routes have changed the method.
    pub(crate) is_head: bool,
    /// The user that the server has authenticated.
    pub(crate) user: Option<Rc<str>>,
    /// Limit in bytes.
    pub(crate) max_body_size: u64,
    /// The parts are needed again.
    pub(crate) is_kept: bool,
    /// The response must name its file.
    pub(crate) with_origin: bool,
    /// Bytes of the body that was read; `None`: it was refused, and not read to its end.
    pub(crate) received: Option<u64>,
    /// Bytes of the body that were passed on while they arrived. `None`: none were.
    pub(crate) forwarded: Option<Arc<AtomicU64>>,
}

impl PendingRequest {
    pub(super) fn new(
        received: ReceivedRequest,
        decision: &mut RouteDecision,
        limits: &Limits,
        with_origin: bool,
    ) -> Self {
        let ReceivedRequest { parts, body, .. } = received;
        let read = match &body {
            Incoming::Read(body) => body.len() as u64,
            _ => 0,
        };
        Self {
            is_head: parts.method == Method::HEAD,
            parts: decision.changed.take().map_or(parts, |changed| *changed),
            body: Some(body),
            query: decision.query.take(),
            user: decision.user.take(),
            max_body_size: decision.max_body_size.unwrap_or(limits.max_body_size),
            is_kept: decision.deferred.is_some(),
            with_origin,
            received: Some(read),
            forwarded: None,
        }
    }

    /// Whether the body was read to its end.
    pub(super) fn is_body_read(&self) -> bool {
        let is_read = |body: &Incoming| matches!(body, Incoming::Read(_));
        self.received.is_some() && self.body.as_ref().is_none_or(is_read)
    }

    pub(super) fn take_query(&mut self) -> String {
        let sent = || self.parts.uri.query().unwrap_or("").to_owned();
        self.query.take().unwrap_or_else(sent)
    }

    /// The response to a request whose body cannot be read.
    pub(super) fn refuse(&mut self, error: &BodyError, id: u64) -> Response<Content> {
        self.received = None;
        refusal(error, id)
    }

    /// Method, target and header. Copied only if they are needed again.
    pub(super) fn take_head(&mut self) -> (Method, Uri, HeaderMap) {
        let Parts {
            method,
            uri,
            headers,
            ..
        } = &mut self.parts;
        if self.is_kept {
            (method.clone(), uri.clone(), headers.clone())
        } else {
            (
                std::mem::replace(method, Method::GET),
                std::mem::take(uri),
                std::mem::take(headers),
            )
        }
    }
}

/// The response to the request `id`, whose body cannot be read.
pub(super) fn refusal(error: &BodyError, id: u64) -> Response<Content> {
    let status = match error {
        BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Timeout => StatusCode::REQUEST_TIMEOUT,
        BodyError::Client => StatusCode::BAD_REQUEST,
        BodyError::Storage(cause) => {
            let request_id = format_args!("{id:016x}");
            tracing::error!(%request_id, error = %cause, "a request body cannot be stored");
            StatusCode::INSUFFICIENT_STORAGE
        }
    };
    reply::explain(status, &error.to_string())
}
