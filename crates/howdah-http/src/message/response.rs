//! Bodies of responses.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::endpoint::EndpointBody;
use super::file_stream::FileStream;
use super::tunnel::Tunnel;

/// In the extensions of a response: its header comes from an application or an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExternalResponse;

/// A body that the server itself generates.
pub(crate) enum Content {
    Empty,
    Bytes(Bytes),
    File(Box<FileStream>),
    /// The body of an endpoint or an upstream.
    Endpoint(EndpointBody),
    /// No body: a different protocol follows.
    Tunnel(Box<Tunnel>),
}

/// Where a body comes from.
pub(crate) enum Source<B> {
    Content(Content),
    Application(B),
    /// A body that is compressed, or whose start was read.
    Encoded(Box<dyn Body<Data = Bytes, Error = io::Error> + Unpin>),
}

impl<B> Source<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self {
            Self::Application(body) => Pin::new(body).poll_frame(cx),
            Self::Content(Content::Empty | Content::Tunnel(_)) => Poll::Ready(None),
            Self::Content(content @ Content::Bytes(_)) => {
                match std::mem::replace(content, Content::Empty) {
                    Content::Bytes(bytes) if !bytes.is_empty() => {
                        Poll::Ready(Some(Ok(Frame::data(bytes))))
                    }
                    _ => Poll::Ready(None),
                }
            }
            Self::Content(Content::File(stream)) => stream
                .poll_chunk(cx)
                .map(|chunk| chunk.map(|chunk| chunk.map(Frame::data))),
            Self::Content(Content::Endpoint(body)) => body.as_mut().poll_frame(cx),
            Self::Encoded(body) => Pin::new(body).poll_frame(cx),
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        match self {
            Self::Application(body) => body.is_end_stream(),
            Self::Content(Content::Empty | Content::Tunnel(_)) => true,
            Self::Content(Content::Bytes(bytes)) => bytes.is_empty(),
            Self::Content(Content::File(stream)) => stream.remaining() == 0,
            Self::Content(Content::Endpoint(body)) => body.is_end_stream(),
            Self::Encoded(body) => body.is_end_stream(),
        }
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Application(body) => body.size_hint(),
            Self::Content(Content::Empty | Content::Tunnel(_)) => SizeHint::with_exact(0),
            Self::Content(Content::Bytes(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            Self::Content(Content::File(stream)) => SizeHint::with_exact(stream.remaining()),
            Self::Content(Content::Endpoint(body)) => body.size_hint(),
            Self::Encoded(body) => body.size_hint(),
        }
    }
}
