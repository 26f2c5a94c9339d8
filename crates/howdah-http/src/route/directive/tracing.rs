//! `tracing`: the request gets a trace.

use crate::message::path;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// The directive, with the name of the span.
#[derive(Debug)]
pub(super) struct Tracing(pub(super) Text);

impl Handler for Tracing {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.begin_trace();
        let name = path::readable(&self.0.evaluate(context, Purpose::File)).into_owned();
        if let Some(trace) = &mut context.trace {
            trace.name = name;
        }
        Outcome::Next
    }
}
