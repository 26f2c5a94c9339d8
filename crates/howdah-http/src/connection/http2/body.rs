//! The body of an HTTP/2 request. h2 checks that its length is the one in the header.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::connection::multiplexed::Expectation;
use crate::message::incoming::{MalformedBody, length};

/// The body of an HTTP/2 request.
pub(crate) struct Upload {
    stream: RecvStream,
    /// Bytes that `Content-Length` still promises.
    remaining: Option<u64>,
    /// Whether the data has ended: only trailers can follow.
    data_ended: bool,
    expectation: Option<Expectation>,
}

impl Upload {
    pub(super) fn new(
        stream: RecvStream,
        headers: &HeaderMap,
        expectation: Option<Expectation>,
    ) -> Self {
        Self {
            stream,
            remaining: length(headers).unwrap_or(None),
            data_ended: false,
            expectation,
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = MalformedBody;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, MalformedBody>>> {
        let this = self.get_mut();
        if let Some(expectation) = this.expectation.take() {
            expectation.fulfill();
        }
        if !this.data_ended {
            match ready!(this.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    // The caller has room for it. This only fails when more is released than was
                    // received.
                    let released = this.stream.flow_control().release_capacity(data.len());
                    debug_assert!(released.is_ok());
                    let length = data.len() as u64;
                    this.remaining = this
                        .remaining
                        .map(|remaining| remaining.saturating_sub(length));
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                // The whole body arrived before the client reset the stream.
                Some(Err(_)) if this.remaining == Some(0) => return Poll::Ready(None),
                // A client that ends its stream in the middle of the body, for whatever reason, has not sent all of it.
                Some(Err(_)) => return Poll::Ready(Some(Err(MalformedBody))),
                None => this.data_ended = true,
            }
        }
        match ready!(this.stream.poll_trailers(cx)) {
            Err(_) if this.remaining == Some(0) => Poll::Ready(None),
            Ok(trailers) => Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers)))),
            Err(_) => Poll::Ready(Some(Err(MalformedBody))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_end_stream() {
            return SizeHint::with_exact(0);
        }
        self.remaining
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
