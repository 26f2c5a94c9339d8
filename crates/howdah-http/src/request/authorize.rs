//! The phase in which passwords are checked and `forward_auth` requests are sent. Routes do not wait for that: they
//! return the check that they need, and run again with its verdict.

use http::StatusCode;
use http::request::Parts;

use super::exchange::Exchange;
use super::route::{RouteDecision, decide};
use super::scope::RequestScope;
use crate::message::reply;
use crate::route::outcome::Outcome;
use crate::route::verdict::Verdict;

/// Limit of password checks and `forward_auth` requests per request.
const CHECKS_MAX: usize = 8;

/// Whether the routes need an authorization first.
pub(super) fn is_needed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::CheckPassword(_) | Outcome::ForwardAuth(_))
}

/// Runs the routes again with each password that was checked, and with each response of a `forward_auth` server that
/// allows the request.
pub(super) async fn authorize<A>(
    scope: &RequestScope<A>,
    parts: &Parts,
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
            _ => return decision,
        };
        verdicts.push(verdict);
        decision = decide(scope, parts, exchange, &verdicts);
    }
    decision
}
