//! The body of a response, which is passed on as it arrives.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::exchange::Exchange;

/// A response body, in pieces as PHP produced them. Dropping it notifies the worker that the client disconnected.
pub struct Body {
    source: Source,
}

enum Source {
    /// The response was complete when its head was taken.
    Whole(VecDeque<Bytes>),
    /// More follows.
    Live(Rc<Exchange>),
}

impl Body {
    pub(crate) fn whole(chunks: VecDeque<Bytes>) -> Self {
        Self {
            source: Source::Whole(chunks),
        }
    }

    pub(crate) fn live(exchange: Rc<Exchange>) -> Self {
        Self {
            source: Source::Live(exchange),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let chunk = match &mut self.source {
            Source::Whole(chunks) => chunks.pop_front().map(Ok),
            Source::Live(exchange) => std::task::ready!(exchange.poll_chunk(context)),
        };
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data).map_err(std::io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.source, Source::Whole(chunks) if chunks.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(chunks) => {
                SizeHint::with_exact(chunks.iter().map(|chunk| chunk.len() as u64).sum())
            }
            Source::Live(_) => SizeHint::default(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Source::Live(exchange) = &self.source {
            exchange.client_disconnected();
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.source {
            Source::Whole(_) => "whole",
            Source::Live(_) => "live",
        };
        f.debug_struct("Body").field("source", &kind).finish()
    }
}
