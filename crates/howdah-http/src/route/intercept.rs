//! Rules for certain responses: `intercept` and `handle_response`.

use http::response;

use super::context::Context;
use super::handler::Handler;
use super::outcome::Outcome;
use crate::encode::ResponseMatcher;

/// The rules of one `intercept`, or of the `handle_response` blocks of one upstream.
#[derive(Debug)]
pub(crate) struct Intercept {
    pub(super) rules: Box<[Rule]>,
    /// Whether a replaced response keeps its whole header.
    pub(crate) keeps_header: bool,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) matcher: Option<ResponseMatcher>,
    pub(super) handle: Handle,
}

/// The routes of a `handle_response`; `replace_status` is a copy of the response with another status.
#[derive(Debug)]
pub(crate) struct Handle(pub(super) Box<dyn Handler>);

impl Handle {
    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        self.0.run(context)
    }
}

impl Intercept {
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(crate) fn handle(&self, head: &response::Parts) -> Option<&Handle> {
        let matches = |rule: &&Rule| {
            rule.matcher
                .as_ref()
                .is_none_or(|matcher| matcher.matches(head))
        };
        self.rules.iter().find(matches).map(|rule| &rule.handle)
    }
}
