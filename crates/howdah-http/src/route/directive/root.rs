//! `root`: the document root, in which paths are looked up.

use crate::message::reply;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::root::RootText;

#[derive(Debug)]
pub(super) struct Root(pub(super) RootText);

impl Handler for Root {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        match self.0.evaluate(context) {
            Some(root) => {
                context.root = root;
                Outcome::Next
            }
            None => Outcome::answer(reply::not_found()),
        }
    }
}
