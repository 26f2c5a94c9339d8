//! `header`: changes of the response header.

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::header::{FieldChange, prepare};
use crate::route::outcome::Outcome;

/// Changes that apply as if made before the response.
#[derive(Debug)]
pub(super) struct Header(pub(super) Box<[FieldChange]>);

impl Handler for Header {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let pending = prepare(&self.0, context);
        context.headers.add(pending);
        Outcome::Next
    }
}

/// Changes that are made when the response has arrived.
#[derive(Debug)]
pub(super) struct DeferredHeader(pub(super) Box<[FieldChange]>);

impl Handler for DeferredHeader {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let pending = prepare(&self.0, context);
        context.headers.defer(pending);
        Outcome::Next
    }
}
