//! `error`: the response is an error, which `handle_errors` may replace.

use std::borrow::Cow;

use howdah_config::model;
use http::StatusCode;

use crate::message::path;
use crate::message::reply;
use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::status::Status;
use crate::route::text::Text;

#[derive(Debug)]
pub(super) struct Error {
    message: Text,
    status: Status,
}

impl Error {
    pub(super) fn compile(
        message: &model::Template,
        status: &model::Status,
    ) -> Result<Self, RouteError> {
        Ok(Self {
            message: Text::new(message),
            status: Status::compile(status)?,
        })
    }
}

impl Handler for Error {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let message = path::readable(&self.message.evaluate(context, Purpose::Uri)).into_owned();
        let status = self.status.evaluate(context);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Outcome::answer(reply::error(status, Cow::Owned(message)))
    }
}
