//! The phase in which passwords are checked, `forward_auth` requests are sent and bodies are read for placeholders.
//! Routes do not wait for that: they return what they need, and run again with it.

use http::StatusCode;

use super::body;
use super::exchange::Exchange;
use super::pending::refusal;
use super::receive::ReceivedRequest;
use super::route::{RouteDecision, decide};
use super::scope::RequestScope;
use crate::message::incoming::Incoming;
use crate::message::reply;
use crate::route::outcome::Outcome;
use crate::route::verdict::Verdict;

/// How often the routes of a request run again.
const CHECKS_MAX: usize = 8;

/// Whether the routes need something first.
pub(super) fn is_needed(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::CheckPassword(_) | Outcome::ForwardAuth(_) | Outcome::ReadBody(_)
    )
}

/// Runs the routes again with each password that was checked, with each response of a `forward_auth` server that allows
/// the request, and with the body.
pub(super) async fn authorize<A>(
    scope: &RequestScope<A>,
    received: &mut ReceivedRequest,
    exchange: &mut Exchange,
    mut decision: RouteDecision,
) -> RouteDecision {
    let mut verdicts = Vec::new();
    while verdicts.len() < CHECKS_MAX {
        let verdict = match decision.outcome {
            Outcome::CheckPassword(check) => {
                let Some(verdict) = check.run().await else {
                    tracing::warn!("a request got a 503: too many password checks are queued");
                    return RouteDecision::answer(reply::plain(StatusCode::SERVICE_UNAVAILABLE));
                };
                verdict
            }
            Outcome::ForwardAuth(request) => match request.send(scope.limits(), scope.id).await {
                Ok(granted) => Verdict::Granted(granted),
                Err(response) => {
                    decision.outcome = Outcome::Answer(Box::new(response));
                    return decision;
                }
            },
            Outcome::ReadBody(limit) => {
                let limits = scope.limits();
                let limit = limit.unwrap_or(limits.max_body_size);
                let incoming = std::mem::replace(&mut received.body, Incoming::Empty);
                match body::in_memory(incoming, limits, limit).await {
                    Ok(body) => {
                        received.body = Incoming::Read(body.clone());
                        Verdict::Body(body)
                    }
                    Err(error) => {
                        decision.outcome = Outcome::Answer(Box::new(refusal(&error, scope.id)));
                        return decision;
                    }
                }
            }
            _ => return decision,
        };
        verdicts.push(verdict);
        decision = decide(scope, &received.parts, exchange, &verdicts);
    }
    decision
}
