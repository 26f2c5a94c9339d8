//! Configured status codes.

use howdah_config::model;
use http::StatusCode;

use super::context::Context;
use super::purpose::Purpose;
use super::text::Text;
use crate::message::route_error::{RouteError, RouteErrorKind};

/// A compiled [`model::Status`].
#[derive(Debug)]
pub(super) enum Status {
    Default,
    Code(StatusCode),
    Text(Text),
}

impl Status {
    pub(super) fn compile(status: &model::Status) -> Result<Self, RouteError> {
        Ok(match status {
            model::Status::Default => Self::Default,
            model::Status::Code(code) => Self::Code(valid(*code)?),
            model::Status::Text(text) => Self::Text(Text::new(text)),
        })
    }

    /// The code; if there is none, that of the error that is being handled, if any.
    pub(super) fn evaluate(&self, context: &Context<'_>) -> Option<StatusCode> {
        match self {
            Self::Default => context.problem.map(|problem| problem.status),
            Self::Code(status) => Some(*status),
            Self::Text(text) => {
                let text = text.evaluate(context, Purpose::Uri);
                let code = text.trim().parse().ok().and_then(|code| valid(code).ok());
                if code.is_none() {
                    tracing::warn!(%text, "the value of a placeholder is not a status code");
                }
                Some(code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
            }
        }
    }
}

/// Checks that a response may have this status.
pub(super) fn valid(status: u16) -> Result<StatusCode, RouteError> {
    match StatusCode::from_u16(status) {
        Ok(code) if (200..600).contains(&status) => Ok(code),
        _ => Err(RouteErrorKind::Status { status }.into()),
    }
}
