//! `copy_response` and `copy_response_headers`, within `handle_response`.

use std::rc::Rc;

use crate::route::context::Context;
use crate::route::copied_headers::CopiedHeaders;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::status::Status;

/// `copy_response`.
#[derive(Debug)]
pub(super) struct CopyResponse(pub(super) Status);

impl Handler for CopyResponse {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        Outcome::CopyResponse(self.0.evaluate(context))
    }
}

/// `copy_response_headers`.
#[derive(Debug)]
pub(super) struct CopyResponseHeaders(pub(super) Rc<CopiedHeaders>);

impl Handler for CopyResponseHeaders {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.copies.push(Rc::clone(&self.0));
        Outcome::Next
    }
}
