//! What requests of HTTP/2 and HTTP/3 have in common: several are in flight on a connection, each on a separate stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{
    CONNECTION, CONTENT_LENGTH, DATE, EXPECT, HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body;
use tokio::sync::Notify;

use crate::date;
use crate::socket::state::ConnectionState;

/// Connection-specific fields of HTTP/1, which are not allowed here.
const OF_CONNECTIONS: [HeaderName; 5] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Whether a request has no forbidden fields.
pub(crate) fn is_well_formed(headers: &HeaderMap) -> bool {
    let te = headers.get_all(TE).iter();
    !OF_CONNECTIONS.iter().any(|name| headers.contains_key(name))
        && te
            .map(HeaderValue::as_bytes)
            .all(|value| value.eq_ignore_ascii_case(b"trailers"))
}

/// Prepares a response for the wire. The flag is true if `body` is sent too.
pub(crate) fn finalize<B: Body>(mut parts: Parts, body: &B, head: bool) -> (Response<()>, bool) {
    strip(&mut parts.headers);
    let bodiless = head
        || matches!(
            parts.status,
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
    if !bodiless && let Some(length) = body.size_hint().exact() {
        parts
            .headers
            .entry(CONTENT_LENGTH)
            .or_insert(HeaderValue::from(length));
    }
    if !parts.headers.contains_key(DATE)
        && let Some(now) = date::now()
    {
        parts.headers.insert(DATE, now);
    }
    // hyper's notes about HTTP/1 are not for these protocols.
    let mut response = Response::new(());
    *response.status_mut() = parts.status;
    *response.headers_mut() = parts.headers;
    (response, !bodiless && !body.is_end_stream())
}

/// Removes fields that are specific to a connection of HTTP/1, and those that `Connection` names.
fn strip(headers: &mut HeaderMap) {
    if let Some(named) = headers.remove(CONNECTION)
        && let Ok(named) = named.to_str()
    {
        for name in named.split(',') {
            headers.remove(name.trim());
        }
    }
    for name in OF_CONNECTIONS.iter().chain([&TE]) {
        headers.remove(name);
    }
}

/// A client that waits for `100 Continue`, which is sent when the body is first read.
#[derive(Debug)]
pub(crate) struct Expectation(Arc<Notify>);

/// Completes when `100 Continue` has to be sent.
pub(crate) type ContinueSignal = Pin<Box<dyn Future<Output = ()>>>;

impl Expectation {
    /// `None`: the request does not expect `100 Continue`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<(Self, ContinueSignal)> {
        let value = headers.get(EXPECT)?.as_bytes();
        value.eq_ignore_ascii_case(b"100-continue").then(|| {
            let notify = Arc::new(Notify::new());
            let continue_signal = Arc::clone(&notify);
            (
                Self(notify),
                Box::pin(async move { continue_signal.notified().await }) as ContinueSignal,
            )
        })
    }

    /// Sends `100 Continue`: the body is being read.
    pub(crate) fn fulfill(self) {
        self.0.notify_one();
    }
}

/// Interim responses, and the response if it is ready.
pub(crate) type Step<T> = (Vec<Response<()>>, Poll<T>);

/// Polls a request: collects interim responses, and the response when it is ready. All other code on the thread leaves
/// the connection's queue empty, so its entries belong to this request.
pub(crate) fn poll_answer<F: Future>(
    cx: &mut Context<'_>,
    answering: Pin<&mut F>,
    continue_signal: &mut Option<ContinueSignal>,
    state: &ConnectionState,
) -> Poll<Step<F::Output>> {
    let answer = answering.poll(cx);
    let mut interim = state.take_interim();
    if let Some(body) = continue_signal
        && (answer.is_ready() || body.as_mut().poll(cx).is_ready())
    {
        *continue_signal = None;
        if answer.is_pending() {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::CONTINUE;
            interim.insert(0, response);
        }
    }
    if interim.is_empty() && answer.is_pending() {
        return Poll::Pending;
    }
    Poll::Ready((interim, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn fields_of_connections_are_refused() {
        assert!(is_well_formed(&headers(&[
            ("te", "trailers"),
            ("x", "connection")
        ])));
        for field in [
            ("connection", "close"),
            ("keep-alive", "1"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers, gzip"),
        ] {
            assert!(!is_well_formed(&headers(&[field])), "{field:?}");
        }
    }

    #[test]
    fn fields_of_connections_are_taken_away() {
        let mut all = headers(&[
            ("connection", "close, X-Hop ,"),
            ("keep-alive", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-hop", "1"),
            ("x-kept", "1"),
        ]);
        strip(&mut all);
        assert_eq!(all, headers(&[("x-kept", "1")]));
    }

    #[test]
    fn a_client_gets_100_continue_once_its_body_is_read() {
        assert!(Expectation::of(&headers(&[("expect", "nothing")])).is_none());
        let (expectation, mut continue_signal) =
            Expectation::of(&headers(&[("expect", "100-Continue")])).unwrap();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(continue_signal.as_mut().poll(&mut cx).is_pending());
        expectation.fulfill();
        assert!(continue_signal.as_mut().poll(&mut cx).is_ready());
    }
}
