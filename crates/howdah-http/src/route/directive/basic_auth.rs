//! `basic_auth`: only users with a valid password may continue.

use std::rc::Rc;

use howdah_config::model;

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::password::{PasswordState, Passwords};

#[derive(Debug)]
pub(super) struct BasicAuth(Rc<Passwords>);

impl BasicAuth {
    pub(super) fn compile(auth: &model::BasicAuth) -> Self {
        Self(Rc::new(Passwords::compile(auth)))
    }
}

impl Handler for BasicAuth {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        match self.0.check(&context.original.headers, context.verdicts) {
            PasswordState::Good(user) => {
                context.notes.user = Some(user);
                Outcome::Next
            }
            PasswordState::Bad => Outcome::answer(self.0.refusal()),
            PasswordState::Unknown(check) => Outcome::CheckPassword(Box::new(check)),
        }
    }
}
