//! `intercept` and `handle_response`: certain responses are replaced.

use howdah_config::model;
use http::{StatusCode, response};

use super::context::Context;
use super::worker::WorkerFiles;
use super::{Outcome, Route, RouteError, compile, run, status};
use crate::encode::ResponseMatcher;

/// A compiled [`model::Intercept`].
#[derive(Debug)]
pub(crate) struct Intercept {
    rules: Box<[Rule]>,
    keeps_header: bool,
}

#[derive(Debug)]
struct Rule {
    matcher: Option<ResponseMatcher>,
    action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Status(StatusCode),
    Handle(Handle),
}

/// The routes of a `handle_response`.
#[derive(Debug)]
pub(crate) struct Handle(Box<[Route]>);

impl Handle {
    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        run(&self.0, context)
    }
}

impl Intercept {
    pub(super) fn compile(
        intercept: &model::Intercept,
        workers: &WorkerFiles,
    ) -> Result<Self, RouteError> {
        let rule = |rule: &model::InterceptRule| {
            Ok(Rule {
                matcher: rule
                    .matcher
                    .as_ref()
                    .map(ResponseMatcher::compile)
                    .transpose()?,
                action: match &rule.action {
                    model::InterceptAction::Status(code) => Action::Status(status(*code)?),
                    model::InterceptAction::Handle(routes) => {
                        Action::Handle(Handle(compile(routes, workers)?))
                    }
                },
            })
        };
        Ok(Self {
            rules: intercept
                .rules
                .iter()
                .map(rule)
                .collect::<Result<_, RouteError>>()?,
            keeps_header: intercept.keeps_header,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the header of a response that is replaced stays as a whole.
    pub(crate) fn keeps_header(&self) -> bool {
        self.keeps_header
    }

    /// What is done with this response, if anything.
    pub(crate) fn action(&self, head: &response::Parts) -> Option<&Action> {
        let fits = |rule: &&Rule| {
            rule.matcher
                .as_ref()
                .is_none_or(|matcher| matcher.matches(head))
        };
        self.rules.iter().find(fits).map(|rule| &rule.action)
    }
}
