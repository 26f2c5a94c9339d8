//! The body of an HTTP/2 request. That its length is the one that the header tells is checked by h2.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http::HeaderMap;
use http_body::{Frame, SizeHint};

use crate::incoming::{Broken, length};
use crate::multiplexed::Expectation;

/// See the module.
pub(crate) struct Upload {
    stream: RecvStream,
    /// Bytes that `Content-Length` still promises.
    left: Option<u64>,
    /// Whether only trailers can follow.
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
            left: length(headers).unwrap_or(None),
            data_ended: false,
            expectation,
        }
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(expectation) = self.expectation.take() {
            expectation.meet();
        }
        if !self.data_ended {
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    // Whoever polls has room for it. Fails when more is given back than came.
                    let released = self.stream.flow_control().release_capacity(data.len());
                    debug_assert!(released.is_ok());
                    let length = data.len() as u64;
                    self.left = self.left.map(|left| left.saturating_sub(length));
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                // A client that ends its stream in the middle of the body, whatever it says, has not
                // sent the whole of it.
                Some(Err(_)) => return Poll::Ready(Some(Err(Broken))),
                None => self.data_ended = true,
            }
        }
        match ready!(self.stream.poll_trailers(cx)) {
            Ok(trailers) => Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers)))),
            Err(_) => Poll::Ready(Some(Err(Broken))),
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        if self.is_end_stream() {
            return SizeHint::with_exact(0);
        }
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
