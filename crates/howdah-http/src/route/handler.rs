//! The interface of compiled directives.

use super::context::Context;
use super::outcome::Outcome;

/// A compiled directive. It changes the request, or decides on the response.
pub(crate) trait Handler: std::fmt::Debug {
    /// [`Outcome::Next`] continues with the next directive.
    fn run(&self, context: &mut Context<'_>) -> Outcome;
}
