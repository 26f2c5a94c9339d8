//! `metrics`, `readiness` and `mercure`: other parts of the server respond.

use crate::message::endpoint::EndpointName;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;

const HUB_PATH: &str = "/.well-known/mercure";

/// `metrics` and `readiness`.
#[derive(Debug)]
pub(super) struct Endpoint(pub(super) EndpointName);

impl Handler for Endpoint {
    fn run(&self, _: &mut Context<'_>) -> Outcome {
        Outcome::Endpoint(self.0)
    }
}

/// `mercure`, with the index of its hub.
#[derive(Debug)]
pub(super) struct Mercure(pub(super) usize);

impl Handler for Mercure {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let below = context.path.strip_prefix(HUB_PATH);
        if below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            Outcome::Endpoint(EndpointName::Mercure(self.0))
        } else {
            Outcome::Next
        }
    }
}
