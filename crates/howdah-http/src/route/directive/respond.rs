//! `respond`: a fixed response, with the type of its body.

use bytes::Bytes;
use howdah_cgi::bytes_of;
use howdah_config::model;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use crate::message::reply;
use crate::message::response::Content;
use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::status::Status;
use crate::route::text::Text;

#[derive(Debug)]
pub(super) struct Respond {
    body: Body,
    status: Status,
    close: bool,
}

impl Respond {
    pub(super) fn compile(
        body: &model::Template,
        status: &model::Status,
        close: bool,
    ) -> Result<Self, RouteError> {
        Ok(Self {
            body: Body::compile(body),
            status: Status::compile(status)?,
            close,
        })
    }
}

impl Handler for Respond {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let status = self.status.evaluate(context).unwrap_or(StatusCode::OK);
        let mut response = self.body.answer(context, status);
        if self.close {
            reply::close(&mut response);
        }
        Outcome::answer(response)
    }
}

/// A compiled body.
#[derive(Debug)]
enum Body {
    Constant { bytes: Bytes, is_json: bool },
    Text(Text),
}

impl Body {
    fn compile(body: &model::Template) -> Self {
        let Some(text) = body.as_text() else {
            return Self::Text(Text::new(body));
        };
        Self::Constant {
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            is_json: is_json(text),
        }
    }

    fn answer(&self, context: &Context<'_>, status: StatusCode) -> Response<Content> {
        let (body, is_json) = match self {
            Self::Constant { bytes, is_json } => (bytes.clone(), *is_json),
            Self::Text(text) => {
                let text = text.evaluate(context, Purpose::Uri).into_owned();
                let is_json = is_json(&text);
                (bytes_of(&text).into_owned().into(), is_json)
            }
        };
        let mut response = reply::text(status, body);
        if is_json {
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
        }
        response
    }
}

/// Whether a text is a JSON object or array: its content type is JSON then, as in Caddy.
fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok()
}
