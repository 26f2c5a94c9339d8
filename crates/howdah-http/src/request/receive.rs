//! The first phase: a request is recorded and checked. Invalid HTTP is refused, and challenges of certificate
//! authorities are answered, before routes run.

use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;

use super::check::check;
use super::exchange::Exchange;
use super::scope::RequestScope;
use crate::message::incoming::Incoming;
use crate::message::reply;
use crate::message::response::Content;

/// A request whose header has been read.
pub(super) struct ReceivedRequest {
    pub(super) parts: Parts,
    pub(super) body: Incoming,
    pub(super) has_body: bool,
    /// The end of the body is unknown: the connection cannot be reused.
    pub(super) is_misframed: bool,
    /// The response, if no route is run.
    pub(super) response: Option<Box<Response<Content>>>,
}

pub(super) fn receive<A>(
    scope: &RequestScope<A>,
    exchange: &mut Exchange,
    request: Request<Incoming>,
) -> ReceivedRequest {
    let (mut parts, body) = request.into_parts();
    if let Some(observer) = &scope.snapshot().observer {
        exchange.record = Some(observer.begin(scope.id, &scope.connection, &parts));
    }
    let limit = scope.limits().max_header_size;
    let checked = check(&mut parts, scope.state.header_bytes(), limit);
    let misframed = scope.state.framing_refusal();
    let response = match (misframed, checked) {
        (Some(reason), _) => Some(reply::bad_request(reason).into()),
        (None, Err(refusal)) => Some(refusal),
        (None, Ok(())) => None,
    };
    ReceivedRequest {
        has_body: !body.is_end_stream(),
        is_misframed: misframed.is_some(),
        parts,
        body,
        response,
    }
}

/// The lookup of a challenge's response that another machine may have stored, if the request may come from an
/// authority.
pub(super) fn shared_proof<'r, A>(
    scope: &'r RequestScope<A>,
    parts: &'r Parts,
) -> Option<impl Future<Output = Option<Vec<u8>>> + 'r> {
    let challenges = scope.snapshot().challenges.as_ref()?;
    if scope.connection.tls.is_some() || !matches!(parts.method, Method::GET | Method::HEAD) {
        return None;
    }
    let (proofs, token) = challenges.shared(parts.uri.path())?;
    Some(proofs.find(token))
}
