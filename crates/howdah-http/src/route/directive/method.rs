//! `method`: changes the method of the request.

use http::Method;

use crate::message::reply;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::{Outcome, Refusal};
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// The directive; named so that it is not mistaken for [`Method`].
#[derive(Debug)]
pub(super) struct MethodChange(pub(super) Text);

impl Handler for MethodChange {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        match evaluate(&self.0, context) {
            Ok(method) => {
                context.parts_mut().method = method;
                Outcome::Next
            }
            Err(refusal) => Outcome::Answer(refusal),
        }
    }
}

/// The method that a text names.
pub(super) fn evaluate(text: &Text, context: &Context<'_>) -> Result<Method, Refusal> {
    let method = text.evaluate(context, Purpose::Uri).to_ascii_uppercase();
    Method::from_bytes(method.as_bytes()).map_err(|_| Box::new(reply::bad_request("bad method")))
}
