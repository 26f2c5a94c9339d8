//! What every directive is once it is compiled.

use super::context::Context;
use super::outcome::Outcome;

/// A compiled directive. It changes the request, or decides how it is answered.
pub(crate) trait Handler: std::fmt::Debug {
    /// [`Outcome::Next`] lets the directives behind it go on.
    fn run(&self, context: &mut Context<'_>) -> Outcome;
}
