//! Responses of the endpoints, completely in memory.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;

pub(super) type FullResponse = Response<Full<Bytes>>;

pub(super) fn error(status: StatusCode, text: &str) -> FullResponse {
    let mut page = json(&json!({"error": text}));
    *page.status_mut() = status;
    page
}

pub(super) fn json(value: &impl Serialize) -> FullResponse {
    match serde_json::to_vec(value) {
        Ok(mut body) => {
            body.push(b'\n');
            response("application/json", body.into())
        }
        Err(cause) => {
            let mut page = text(&format!("{cause}\n"));
            *page.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            page
        }
    }
}

pub(super) fn text(text: &str) -> FullResponse {
    response(
        "text/plain; charset=utf-8",
        Bytes::copy_from_slice(text.as_bytes()),
    )
}

pub(super) fn response(kind: &'static str, body: Bytes) -> FullResponse {
    let mut page = Response::new(Full::new(body));
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    page
}
