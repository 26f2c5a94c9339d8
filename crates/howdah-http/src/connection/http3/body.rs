//! The body of an HTTP/3 request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::server::RequestStream;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::connection::multiplexed::Expectation;
use crate::message::incoming::{MalformedBody, length};

/// The body of an HTTP/3 request. Trailers are dropped.
pub(crate) struct Upload {
    stream: RequestStream<h3_quinn::RecvStream, Bytes>,
    /// Bytes that arrived together with the header.
    first: Option<Bytes>,
    /// Bytes that `Content-Length` still promises.
    left: Option<u64>,
    ended: bool,
    expectation: Option<Expectation>,
}

impl Upload {
    /// `None`: the length in `headers` is invalid.
    pub(super) fn new(
        stream: RequestStream<h3_quinn::RecvStream, Bytes>,
        headers: &HeaderMap,
    ) -> Option<Self> {
        Some(Self {
            stream,
            first: None,
            left: length(headers).ok()?,
            ended: false,
            expectation: None,
        })
    }

    /// Takes what has already arrived, so that a request without a body is recognised.
    pub(super) fn poll_available(&mut self, cx: &mut Context<'_>) -> Result<(), MalformedBody> {
        match self.poll_data(cx) {
            Poll::Ready(Some(Ok(data))) => self.first = Some(data),
            Poll::Ready(Some(Err(error))) => return Err(error),
            Poll::Ready(None) | Poll::Pending => {}
        }
        Ok(())
    }

    /// Reading the body fulfils the expectation from now on.
    pub(super) fn expect(&mut self, expectation: Expectation) {
        self.expectation = Some(expectation);
    }

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, MalformedBody>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let received = ready!(self.stream.poll_recv_data(cx));
        let Ok(Some(mut data)) = received else {
            self.ended = true;
            let complete = received.is_ok() && self.left.unwrap_or(0) == 0;
            return Poll::Ready((!complete).then_some(Err(MalformedBody)));
        };
        let data = data.copy_to_bytes(data.remaining());
        if let Some(left) = &mut self.left {
            let Some(less) = left.checked_sub(data.len() as u64) else {
                self.ended = true;
                return Poll::Ready(Some(Err(MalformedBody)));
            };
            *left = less;
        }
        Poll::Ready(Some(Ok(data)))
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
        this.poll_data(cx)
            .map(|data| data.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.first.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, Bytes::len) as u64;
        let mut hint = SizeHint::default();
        match self.left {
            Some(left) => hint.set_exact(first + left),
            None if self.ended => hint.set_exact(first),
            None => hint.set_lower(first),
        }
        hint
    }
}
