//! The phases of a request, in the order in which they run.
//!
//! ```text
//! receive ─> route ─> authorize ─> trace ─> respond ─> replace ─> finish
//!    │         ^          │                    │          ^
//!  check       └─ again ──┘                  body         └─ routes for errors and responses
//! ```

mod authorize;
mod body;
mod check;
mod discard;
pub(crate) mod exchange;
mod finish;
mod pending;
mod receive;
mod replace;
mod respond;
mod route;
pub(crate) mod scope;
mod script;
pub(crate) mod snapshot;
mod trace;

use http::{Request, Response};

use self::exchange::{Exchange, ResponseBody};
use self::finish::Finish;
use self::pending::PendingRequest;
use self::respond::Responder;
use self::scope::RequestScope;
use crate::answer::challenge;
use crate::message::application::Application;
use crate::message::disconnect::DisconnectGuard;
use crate::message::incoming::Incoming;

/// The connection is closed without a response.
#[derive(Debug, thiserror::Error)]
#[error("the configuration closes this connection")]
pub(crate) struct ConnectionAbort;

/// Handles one request of the connection. `hold`: its guard, if it is not the connection's.
///
/// Not an `async fn`, which stores its arguments twice: hyper moves the future of each request.
pub(crate) fn handle<A: Application>(
    scope: RequestScope<A>,
    mut exchange: Exchange,
    request: Request<Incoming>,
    hold: Option<&DisconnectGuard>,
) -> impl Future<Output = Result<Response<ResponseBody<A::Body>>, ConnectionAbort>> {
    let mut received = receive::receive(&scope, &mut exchange, request);
    async move {
        let (scope, hold) = (&scope, hold.unwrap_or(&scope.state.hold));
        if received.response.is_none()
            && let Some(find) = receive::shared_proof(scope, &received.parts)
        {
            received.response = Box::pin(find).await.map(challenge::answer).map(Box::new);
        }
        let mut decision = route::decide_first(scope, &mut received, &mut exchange);
        if authorize::is_needed(&decision.outcome) {
            let authorized = authorize::authorize(scope, &mut received, &mut exchange, decision);
            // Boxed: few requests need it.
            decision = Box::pin(hold.during(authorized)).await;
        }
        let mut finish = Finish::new(&received, std::mem::take(&mut decision.encodings));
        let compresses = finish.compresses();
        let mut pending = PendingRequest::new(received, &mut decision, scope.limits(), compresses);
        if let Some(trace) = decision.trace.take() {
            trace::pass_on(*trace, &mut decision.outcome, &mut pending, &exchange);
        }
        let responder = Responder::new(scope, hold, &exchange, &decision.headers);
        let response = responder.respond(decision.outcome, &mut pending).await;
        let mut response = response.ok_or(ConnectionAbort)?;
        exchange.received = pending.received.unwrap_or(0);
        if decision.deferred.is_some() {
            // They may forward the body, and end without a response.
            pending.forwarded.get_or_insert_default();
        }
        exchange.forwarded.clone_from(&pending.forwarded);
        if let Some(deferred) = decision.deferred {
            let replaced =
                deferred.apply(response, &responder, &mut pending, &mut decision.headers);
            response = Box::pin(replaced).await.ok_or(ConnectionAbort)?;
        }
        Ok(finish.finish(scope, response, &pending, decision.headers, exchange))
    }
}
