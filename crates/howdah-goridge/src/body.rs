//! The body of a response: whole, or streamed from a worker as fast as the client reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::call_error::CallError;

/// The body of a response.
#[derive(Debug)]
pub struct Body {
    inner: Inner,
    trailers: Option<HeaderMap>,
}

#[derive(Debug)]
enum Inner {
    Whole(Bytes),
    Stream {
        pieces: mpsc::Receiver<Piece>,
        /// Remaining bytes, if known.
        remaining: Option<u64>,
    },
    End,
}

#[derive(Debug)]
enum Piece {
    Data(Bytes),
    End,
    Failed(String),
}

/// The worker's side of a body.
#[derive(Debug)]
pub(crate) struct Chunks(mpsc::Sender<Piece>);

/// The client has disconnected.
#[derive(Debug)]
pub(crate) struct DisconnectError;

impl Chunks {
    pub(crate) async fn send(&mut self, data: Bytes) -> Result<(), DisconnectError> {
        let sent = self.0.send(Piece::Data(data)).await;
        sent.map_err(|_| DisconnectError)
    }

    /// The client has disconnected.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// The body is complete.
    pub(crate) async fn end(self) {
        let _ = self.0.send(Piece::End).await;
    }

    /// The connection is aborted, so that the client does not take a part for the whole.
    pub(crate) async fn fail(self, error: CallError) {
        let _ = self.0.send(Piece::Failed(error.to_string())).await;
    }
}

impl Body {
    pub(crate) fn whole(data: Bytes, trailers: Option<HeaderMap>) -> Self {
        let inner = if data.is_empty() {
            Inner::End
        } else {
            Inner::Whole(data)
        };
        Self { inner, trailers }
    }

    /// A body with room for so many pieces.
    pub(crate) fn stream(
        pieces: usize,
        remaining: Option<u64>,
        trailers: Option<HeaderMap>,
    ) -> (Chunks, Self) {
        let (sender, pieces) = mpsc::channel(pieces);
        let inner = Inner::Stream { pieces, remaining };
        (Chunks(sender), Self { inner, trailers })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.inner {
            Inner::Whole(data) => {
                let data = std::mem::take(data);
                self.inner = Inner::End;
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Inner::Stream { pieces, remaining } => match ready!(pieces.poll_recv(cx)) {
                Some(Piece::Data(data)) => {
                    if let Some(remaining) = remaining {
                        *remaining = remaining.saturating_sub(data.len() as u64);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Piece::End) => self.inner = Inner::End,
                failed => {
                    self.inner = Inner::End;
                    self.trailers = None;
                    let text = match failed {
                        Some(Piece::Failed(text)) => text,
                        _ => "the server is stopping".to_owned(),
                    };
                    return Poll::Ready(Some(Err(io::Error::other(text))));
                }
            },
            Inner::End => {}
        }
        Poll::Ready(
            self.trailers
                .take()
                .map(|trailers| Ok(Frame::trailers(trailers))),
        )
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.inner, Inner::End) && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        // A length in the header leaves no place for trailers over HTTP/1.1.
        if self.trailers.is_some() {
            return SizeHint::default();
        }
        match &self.inner {
            Inner::Whole(data) => SizeHint::with_exact(data.len() as u64),
            Inner::Stream { remaining, .. } => {
                remaining.map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            Inner::End => SizeHint::with_exact(0),
        }
    }
}
