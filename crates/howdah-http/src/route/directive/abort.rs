//! `abort`: the connection is closed without a response.

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;

#[derive(Debug)]
pub(super) struct Abort;

impl Handler for Abort {
    fn run(&self, _: &mut Context<'_>) -> Outcome {
        Outcome::Abort
    }
}
