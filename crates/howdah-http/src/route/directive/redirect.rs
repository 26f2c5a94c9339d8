//! `redir`: redirects the client.

use http::StatusCode;

use crate::message::reply;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) to: Text,
    pub(super) status: StatusCode,
}

impl Handler for Redirect {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let location = self.to.evaluate(context, Purpose::Uri);
        Outcome::answer(reply::redirect(self.status, &location))
    }
}
