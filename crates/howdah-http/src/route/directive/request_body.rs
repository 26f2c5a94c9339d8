//! `request_body`: the limit of the request body.

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;

#[derive(Debug)]
pub(super) struct RequestBody {
    /// Bytes.
    pub(super) max_size: u64,
}

impl Handler for RequestBody {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.max_body_size = Some(self.max_size);
        Outcome::Next
    }
}
