//! `encode`: the response may be compressed.

use std::rc::Rc;

use crate::encode::Encoding;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;

#[derive(Debug)]
pub(super) struct Encode(pub(super) Rc<Encoding>);

impl Handler for Encode {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.encodings.add(&self.0);
        Outcome::Next
    }
}
