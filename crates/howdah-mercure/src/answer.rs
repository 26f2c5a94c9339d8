//! A hub's responses: selects the handler of a request, and allows pages of other origins to read
//! the response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW,
    CONTENT_TYPE, HeaderValue, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body::{Frame, SizeHint};

use crate::hub::Hub;
use crate::options::PATH;
use crate::stream::EventStream;
use crate::token::{Claims, Credentials, TokenError, authorize};
use crate::{publish, subscribe, subscriptions};

/// A request for a hub.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Request<'r> {
    pub method: &'r Method,
    /// The path, which begins with [`PATH`].
    pub path: &'r str,
    /// The query without its question mark.
    pub query: &'r str,
    pub headers: &'r HeaderMap,
    /// The whole body.
    pub body: &'r [u8],
}

/// The body of a response.
#[derive(Debug)]
pub enum Body {
    /// All at once.
    Whole(Option<Bytes>),
    /// Events as they arrive.
    Events(Box<EventStream>),
}

impl Hub {
    /// Responds to a request. Must be called within a tokio runtime with timers.
    pub fn answer(self: &Arc<Self>, request: &Request<'_>) -> Response<Body> {
        let rest = request.path.strip_prefix(PATH);
        let mut response = match rest.map(|rest| rest.trim_end_matches('/')) {
            Some("") => match *request.method {
                Method::GET | Method::HEAD | Method::QUERY => subscribe::subscribe(self, request),
                Method::POST => publish::publish(self, request),
                Method::OPTIONS => preflight(),
                _ => not_allowed("GET, HEAD, QUERY, POST, OPTIONS"),
            },
            Some(rest) if self.options.subscriptions && is_subscriptions(rest) => {
                match *request.method {
                    Method::GET | Method::HEAD => subscriptions::answer(self, request),
                    Method::OPTIONS => preflight(),
                    _ => not_allowed("GET, HEAD, OPTIONS"),
                }
            }
            _ => text(StatusCode::NOT_FOUND, "Not Found"),
        };
        self.share(request, &mut response);
        response
    }

    /// Allows pages of permitted origins to read the response: named origins with the visitor's cookie, all others
    /// without it if there is a `*`. A `*` with the cookie would let every page read what the visitor may read.
    fn share(&self, request: &Request<'_>, response: &mut Response<Body>) {
        let origins = &self.options.cors_origins;
        let headers = response.headers_mut();
        if origins.include_named() {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        let Some(origin) = request.headers.get(ORIGIN) else {
            return;
        };
        if origin.to_str().is_ok_and(|origin| origins.name(origin)) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let yes = HeaderValue::from_static("true");
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        } else if origins.include_all() {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        } else {
            return;
        }
        let exposed = HeaderValue::from_static("Last-Event-ID, Link, Mercure-Last-Event-ID");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        if request.method == Method::OPTIONS {
            let fixed = [
                (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, QUERY"),
                (
                    ACCESS_CONTROL_ALLOW_HEADERS,
                    "Authorization, Cache-Control, Content-Type, Last-Event-ID",
                ),
                (ACCESS_CONTROL_MAX_AGE, "600"),
            ];
            for (name, value) in fixed {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
    }

    /// The claims of a subscriber. `Err` is the response to one without permission.
    pub(crate) fn subscriber(
        &self,
        request: &Request<'_>,
    ) -> Result<Option<Claims>, Box<Response<Body>>> {
        let Some(key) = &self.options.subscriber else {
            return Ok(None);
        };
        let query = parameter(request.query, "authorization");
        match authorize(
            &self.credentials(request, query.as_deref()),
            key,
            &self.options.publish_origins,
        ) {
            Ok(None) if !self.options.anonymous => Err(unauthorized(request, None)),
            Ok(claims) => Ok(claims),
            Err(refused) => Err(unauthorized(request, Some(&refused))),
        }
    }

    pub(crate) fn credentials<'r>(
        &'r self,
        request: &Request<'r>,
        query: Option<&'r str>,
    ) -> Credentials<'r> {
        Credentials {
            method: request.method,
            headers: request.headers,
            query,
            cookie: &self.options.cookie,
        }
    }
}

fn is_subscriptions(rest: &str) -> bool {
    rest == "/subscriptions" || rest.starts_with("/subscriptions/")
}

/// The first parameter of that name in a query.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// Refuses a token; only the log contains the reason.
pub(crate) fn unauthorized(
    request: &Request<'_>,
    refused: Option<&TokenError>,
) -> Box<Response<Body>> {
    let why = refused.map_or_else(|| "the token is missing".to_owned(), ToString::to_string);
    tracing::debug!(target: "howdah::mercure", method = %request.method, "refused: {why}");
    let challenge = match refused {
        None | Some(TokenError::NoKey) => "Bearer",
        Some(_) => "Bearer error=\"invalid_token\"",
    };
    challenged(StatusCode::UNAUTHORIZED, "Unauthorized", challenge)
}

/// Refuses what the token does not permit.
pub(crate) fn forbidden(request: &Request<'_>, claims: &Claims) -> Box<Response<Body>> {
    tracing::debug!(target: "howdah::mercure", method = %request.method, "refused: the token does not permit it");
    if claims.version_1 {
        let challenge = "Bearer error=\"insufficient_scope\"";
        challenged(StatusCode::FORBIDDEN, "Forbidden", challenge)
    } else {
        challenged(StatusCode::UNAUTHORIZED, "Unauthorized", "Bearer")
    }
}

fn challenged(status: StatusCode, body: &str, challenge: &'static str) -> Box<Response<Body>> {
    let mut response = text(status, body);
    let challenge = HeaderValue::from_static(challenge);
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    Box::new(response)
}

pub(crate) fn text(status: StatusCode, text: &str) -> Response<Body> {
    let body = Bytes::from(format!("{text}\n"));
    whole(status, "text/plain; charset=utf-8", body)
}

pub(crate) fn whole(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Some(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole(body) => Poll::Ready(body.take().map(|body| Ok(Frame::data(body)))),
            Self::Events(events) => Pin::new(&mut **events).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_none(),
            Self::Events(events) => events.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => {
                SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64))
            }
            Self::Events(events) => events.size_hint(),
        }
    }
}
