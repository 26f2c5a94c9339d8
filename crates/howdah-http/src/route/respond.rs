//! `respond`: the body and its type.

use bytes::Bytes;
use howdah_config::model;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::context::Context;
use super::template::{Text, Use};
use crate::answer;
use crate::response::Content;

/// A compiled body.
#[derive(Debug)]
pub(super) enum Body {
    Constant { bytes: Bytes, is_json: bool },
    Text(Text),
}

impl Body {
    pub(super) fn compile(body: &model::Template) -> Self {
        let Some(text) = body.as_text() else {
            return Self::Text(Text::new(body));
        };
        Self::Constant {
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            is_json: is_json(text),
        }
    }

    pub(super) fn answer(&self, context: &Context<'_>, status: StatusCode) -> Response<Content> {
        let (body, is_json) = match self {
            Self::Constant { bytes, is_json } => (bytes.clone(), *is_json),
            Self::Text(text) => {
                let text = text.evaluate(context, Use::Uri).into_owned();
                let is_json = is_json(&text);
                (text.into(), is_json)
            }
        };
        let mut response = answer::text(status, body);
        if is_json {
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
        }
        response
    }
}

/// Whether a text is an object or an array of JSON: the response says so then, as Caddy's does.
fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok()
}
