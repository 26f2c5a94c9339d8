//! `vars`: variables for placeholders.

use std::rc::Rc;

use howdah_config::model::Template;

use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::text::Text;
use crate::route::variables::Var;

#[derive(Debug)]
pub(super) struct Vars(Box<[(Rc<str>, Text)]>);

impl Vars {
    pub(super) fn compile(vars: &[(String, Template)]) -> Self {
        let vars = vars.iter();
        let vars = vars.map(|(name, value)| (name.as_str().into(), Text::new(value)));
        Self(vars.collect())
    }
}

impl Handler for Vars {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        for (name, value) in &self.0 {
            let value = Var::new(|purpose| value.evaluate(context, purpose).into_owned());
            context.notes.set_var(name, value);
        }
        Outcome::Next
    }
}
