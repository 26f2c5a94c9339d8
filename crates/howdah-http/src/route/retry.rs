//! Which requests are sent again after an upstream that may have begun them has failed.

use howdah_config::model::Balance;
use http::Method;

use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::matcher::Matcher;

/// A compiled `lb_retry_match`: one of the matchers has to match.
#[derive(Debug)]
pub(super) struct RetryRule(Box<[Matcher]>);

impl RetryRule {
    pub(super) fn compile(balance: &Balance) -> Result<Self, RouteError> {
        let matchers = balance.retry_match.iter().map(Matcher::compile);
        Ok(Self(matchers.collect::<Result<_, _>>()?))
    }

    /// Whether a request that is sent with this method may be sent again. By default, if the method is safe.
    pub(super) fn allows(&self, method: &Method, context: &Context<'_>) -> bool {
        if self.0.is_empty() {
            return method.is_safe();
        }
        let allows = self.0.iter().any(|matcher| matcher.matches(context));
        // It decides on a repetition only.
        context.notes.take_error();
        allows
    }
}
