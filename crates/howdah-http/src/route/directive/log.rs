//! `log_skip` and `log_append`: the entry of the request in the access log.

use crate::observe::log::AppendedValue;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// `log_skip`.
#[derive(Debug)]
pub(super) struct LogSkip;

impl Handler for LogSkip {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.log.skip = true;
        Outcome::Next
    }
}

/// `log_append`.
#[derive(Debug)]
pub(super) struct LogAppend {
    pub(super) name: String,
    pub(super) value: Text,
}

impl Handler for LogAppend {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let value = if self.value.is_deferred() {
            AppendedValue::Deferred(self.value.evaluate_deferred(context, Purpose::File))
        } else {
            AppendedValue::Known(self.value.evaluate(context, Purpose::File).into_owned())
        };
        context.log.append.push((self.name.clone(), value));
        Outcome::Next
    }
}
