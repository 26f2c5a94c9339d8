//! `handle`, `route` and similar directives: routes within routes.

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::routes::Routes;

#[derive(Debug)]
pub(super) struct Handle(pub(super) Routes);

impl Handler for Handle {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let outer = context.errors.len();
        let outcome = self.0.run(context);
        if matches!(outcome, Outcome::Next) {
            context.errors.truncate(outer);
        }
        outcome
    }
}
