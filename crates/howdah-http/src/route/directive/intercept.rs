//! `intercept`, and the `handle_response` of upstreams.

use std::rc::Rc;

use howdah_config::model;

use super::copy_response::CopyResponse;
use crate::encode::ResponseMatcher;
use crate::message::route_error::RouteError;
use crate::route::compiler::Compiler;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::intercept::{Handle, Intercept, Rule};
use crate::route::outcome::Outcome;
use crate::route::status::Status;

/// Compiles a [`model::Intercept`].
pub(super) fn compile(
    intercept: &model::Intercept,
    compiler: &Compiler,
) -> Result<Rc<Intercept>, RouteError> {
    let rule = |rule: &model::InterceptRule| {
        Ok(Rule {
            matcher: rule
                .matcher
                .as_ref()
                .map(ResponseMatcher::compile)
                .transpose()?,
            handle: Handle(match &rule.action {
                model::InterceptAction::Status(code) => {
                    Box::new(CopyResponse(Status::compile(code)?))
                }
                model::InterceptAction::Handle(routes) => Box::new(compiler.routes(routes)?),
            }),
        })
    };
    Ok(Rc::new(Intercept {
        rules: intercept
            .rules
            .iter()
            .map(rule)
            .collect::<Result<_, RouteError>>()?,
        keeps_header: intercept.keeps_header,
    }))
}

#[derive(Debug)]
pub(super) struct InterceptHandler(pub(super) Rc<Intercept>);

impl Handler for InterceptHandler {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        context.intercepts.push(Rc::clone(&self.0));
        Outcome::Next
    }
}
