//! `handle_errors`: routes that generate the responses to errors.

use std::rc::Rc;

use crate::route::context::Context;
use crate::route::error::ErrorRoutes;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;

#[derive(Debug)]
pub(super) struct HandleErrors(pub(super) Rc<[ErrorRoutes]>);

impl Handler for HandleErrors {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.errors.push(Rc::clone(&self.0));
        Outcome::Next
    }
}
