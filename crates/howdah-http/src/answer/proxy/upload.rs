//! The request body for an upstream.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::message::incoming::BodyError;
use crate::message::incoming::Incoming;

/// Limits on reading a client's body for `reverse_proxy`.
pub(crate) struct UploadLimits {
    pub(crate) size: u64,
    /// Between two reads.
    pub(crate) wait: Duration,
    /// Counts the bytes that were read. The response may end before the body does.
    pub(crate) received: Arc<AtomicU64>,
}

impl UploadLimits {
    /// For a request of the server itself.
    pub(crate) fn of(size: u64, wait: Duration) -> Self {
        Self {
            size,
            wait,
            received: Arc::default(),
        }
    }
}

/// The body. It stays here until an upstream reads it: an attempt that reaches no upstream costs nothing.
#[derive(Clone)]
pub(super) struct Source(Arc<Mutex<Inner>>);

struct Inner {
    body: Option<Incoming>,
    /// Bytes that may still come.
    remaining: u64,
    limit: u64,
    /// Bytes that were read.
    received: Arc<AtomicU64>,
    wait: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    is_begun: bool,
    /// The upstream has taken everything so far, and more is expected from the client.
    is_awaited: bool,
    /// When the last part, or the end, was handed over.
    handed: Option<Instant>,
    refused: Option<BodyError>,
}

impl Source {
    pub(super) fn new(body: Option<Incoming>, limits: UploadLimits) -> Self {
        let UploadLimits {
            size: limit,
            wait,
            received,
        } = limits;
        let body = body.filter(|body| !body.is_end_stream());
        Self(Arc::new(Mutex::new(Inner {
            body,
            remaining: limit,
            limit,
            received,
            wait,
            timer: None,
            is_begun: false,
            is_awaited: false,
            handed: None,
            refused: None,
        })))
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Inner) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an upstream has received a part of it.
    pub(super) fn has_started(&self) -> bool {
        self.with(|inner| inner.is_begun)
    }

    /// Completes when the upstream has been inactive for `limit`, counted from now or from when the body, or a part of
    /// it, was handed over. Waiting for the client does not count.
    pub(super) async fn silence(&self, limit: Duration) {
        let mut since = Instant::now();
        loop {
            tokio::time::sleep(limit.saturating_sub(since.elapsed())).await;
            let (is_awaited, handed) = self.with(|inner| (inner.is_awaited, inner.handed));
            since = match handed {
                _ if is_awaited => Instant::now(),
                Some(handed) if handed > since => handed,
                _ => return,
            };
        }
    }

    /// Time since the whole body, or its last part, was handed to an upstream whose request began at `start`.
    pub(super) fn latency(&self, start: Instant) -> Duration {
        let handed = self.with(|inner| inner.handed);
        handed.map_or(start, |handed| handed.max(start)).elapsed()
    }

    /// When the end of the body was sent to an upstream whose request began at `start`; `None`: there is more.
    pub(super) fn sent_at(&self, start: Instant) -> Option<Instant> {
        self.with(|inner| {
            let is_over = inner.body.as_ref().is_none_or(Body::is_end_stream);
            is_over.then(|| inner.handed.map_or(start, |handed| handed.max(start)))
        })
    }

    /// Why the client's body is refused, if it is.
    pub(super) fn refusal(&self) -> Option<BodyError> {
        self.with(|inner| inner.refused.take())
    }

    /// Sets the length of what is sent, whatever client and directives wrote into the header. hyper trusts the header:
    /// with a length but no body, the upstream would read the next request on the connection as the body.
    pub(super) fn frame(&self, method: &Method, headers: &mut HeaderMap) {
        headers.remove(TRANSFER_ENCODING);
        let (length, is_chunked) = self.with(|inner| match &inner.body {
            None => (Some(0), false),
            // HTTP/1 and HTTP/2 have a body without a length only if they announce it. In HTTP/3 an empty body is only
            // known at its end.
            Some(body) => (
                body.size_hint().exact(),
                !matches!(body, Incoming::Http3(_)),
            ),
        });
        match length {
            // Methods without a body send no length, unless the client did (RFC 9110 §8.6).
            Some(0)
                if !headers.contains_key(CONTENT_LENGTH)
                    && !matches!(*method, Method::POST | Method::PUT | Method::PATCH) => {}
            Some(length) => {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            None => {
                headers.remove(CONTENT_LENGTH);
                if is_chunked {
                    // hyper would leave out the body of GET and HEAD.
                    let chunked = HeaderValue::from_static("chunked");
                    headers.insert(TRANSFER_ENCODING, chunked);
                }
            }
        }
    }

    /// Refuses a body that is known to be too large.
    pub(super) fn check_size(&self) -> Option<BodyError> {
        self.with(|inner| {
            let size = inner
                .body
                .as_ref()
                .map_or(0, |body| body.size_hint().lower());
            (size > inner.limit).then_some(BodyError::TooLarge { limit: inner.limit })
        })
    }
}

/// The body as hyper sends it.
pub(super) struct Upload(pub(super) Source);

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.with(|inner| inner.poll(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.0.with(|inner| inner.body.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.with(|inner| match &inner.body {
            None => SizeHint::with_exact(0),
            Some(body) => body.size_hint(),
        })
    }
}

impl Inner {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        self.is_begun = true;
        let polled = Pin::new(body).poll_frame(cx);
        self.is_awaited = polled.is_pending();
        if !self.is_awaited {
            self.handed = Some(Instant::now());
        }
        let error = match polled {
            Poll::Pending => {
                let wait = self.wait;
                let timer = self
                    .timer
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                BodyError::Timeout
            }
            Poll::Ready(None) => {
                self.body = None;
                return Poll::Ready(None);
            }
            Poll::Ready(Some(Err(_))) => BodyError::Client,
            Poll::Ready(Some(Ok(frame))) => {
                self.timer = None;
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                self.received.fetch_add(length, Relaxed);
                match self.remaining.checked_sub(length) {
                    Some(remaining) => {
                        self.remaining = remaining;
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    None => BodyError::TooLarge { limit: self.limit },
                }
            }
        };
        self.body = None;
        self.is_awaited = false;
        let cause = io::Error::other(error.to_string());
        self.refused = Some(error);
        Poll::Ready(Some(Err(cause)))
    }
}
