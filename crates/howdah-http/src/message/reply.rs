//! Responses that the server itself generates: short, plain text, with the reason.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Response, StatusCode};

use crate::message::response::Content;

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// In the extensions of a response: it is an error of the server, which `handle_errors` may
/// replace. Responses of an application with this extension are treated the same.
#[derive(Debug, Clone)]
pub struct Failure {
    /// `{err.message}`; may be empty.
    pub message: Cow<'static, str>,
}

/// A response with the status and its name.
pub(crate) fn plain(status: StatusCode) -> Response<Content> {
    error(status, Cow::Borrowed(""))
}

/// A response with the status and its name; the reason is for `handle_errors`.
pub(crate) fn error(status: StatusCode, message: Cow<'static, str>) -> Response<Content> {
    let reason = status.canonical_reason().unwrap_or("");
    let body = format!("{} {reason}\n", status.as_u16()).into();
    failure(text(status, body), message)
}

pub(crate) fn explain(status: StatusCode, reason: &str) -> Response<Content> {
    let response = text(status, format!("{reason}\n").into());
    failure(response, Cow::Owned(reason.to_owned()))
}

fn failure(mut response: Response<Content>, message: Cow<'static, str>) -> Response<Content> {
    response.extensions_mut().insert(Failure { message });
    response
}

pub(crate) fn bad_request(reason: &str) -> Response<Content> {
    explain(StatusCode::BAD_REQUEST, reason)
}

pub(crate) fn uri_too_long(reason: &str) -> Response<Content> {
    explain(StatusCode::URI_TOO_LONG, reason)
}

pub(crate) fn not_found() -> Response<Content> {
    let body = Bytes::from_static(b"404 Not Found\n");
    failure(text(StatusCode::NOT_FOUND, body), Cow::Borrowed(""))
}

/// PHP-FPM's text.
pub(crate) fn no_script() -> Response<Content> {
    let body = Bytes::from_static(b"File not found.\n");
    let message = Cow::Borrowed("the script does not exist");
    failure(text(StatusCode::NOT_FOUND, body), message)
}

pub(crate) fn method_not_allowed(allow: &'static str) -> Response<Content> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allow));
    response
}

/// The response to OPTIONS, without a body.
pub(crate) fn options(allow: &'static str) -> Response<Content> {
    let mut response = empty(StatusCode::NO_CONTENT);
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allow));
    response
}

pub(crate) fn empty(status: StatusCode) -> Response<Content> {
    let mut response = Response::new(Content::Empty);
    *response.status_mut() = status;
    response
}

pub(crate) fn text(status: StatusCode, body: Bytes) -> Response<Content> {
    let mut response = empty(status);
    if !body.is_empty() {
        *response.body_mut() = Content::Bytes(body);
        response.headers_mut().insert(CONTENT_TYPE, PLAIN);
    }
    response
}

/// Redirects to `location`, which is not changed; 500 if a placeholder has added control
/// characters.
pub(crate) fn redirect(status: StatusCode, location: &str) -> Response<Content> {
    if let Ok(location) = HeaderValue::from_bytes(&howdah_cgi::bytes_of(location)) {
        let mut response = empty(status);
        response.headers_mut().insert(LOCATION, location);
        response
    } else {
        tracing::warn!("a redirect has control characters in its target");
        plain(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Redirects to the same path with a slash. `path` is normalised: it starts with one slash, is escaped here, and so
/// cannot name another host.
pub(crate) fn directory_redirect(path: &str, query: &str) -> Response<Content> {
    let mut location = crate::message::path::encode(path).into_owned();
    location.push('/');
    if !query.is_empty() {
        location.push('?');
        location.push_str(query);
    }
    redirect(StatusCode::PERMANENT_REDIRECT, &location)
}

/// Closes the HTTP/1 connection after the response.
pub(crate) fn close<B>(response: &mut Response<B>) {
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
}
