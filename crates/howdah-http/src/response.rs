//! Bodies of responses, and the end of an exchange: it is counted and logged when its body is gone.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};

use crate::connection::state::ConnectionState;
use crate::encode::{Encoded, Started};
use crate::endpoint::EndpointBody;
use crate::executor;
use crate::files::FileStream;
use crate::life::Life;
use crate::log::{Ending, LogEntry};
use crate::proxy::Tunnel;
use crate::record::Record;

/// A body that the server makes itself.
pub(crate) enum Content {
    Empty,
    Bytes(Bytes),
    File(Box<FileStream>),
    /// What an endpoint or an upstream answers.
    Endpoint(EndpointBody),
    /// There is none: what follows is another protocol.
    Tunnel(Box<Tunnel>),
}

/// A body and the exchange that ends with it.
pub(crate) struct ResponseBody<B> {
    source: Source<B>,
    exchange: Exchange,
}

/// Where a body comes from.
pub(crate) enum Source<B> {
    Content(Content),
    Application(B),
    /// A body whose start was looked at and that is sent as it is.
    Started(Box<Started<B>>),
    Encoded(Box<Encoded<B>>),
}

impl<B> ResponseBody<B> {
    pub(crate) fn new(source: Source<B>, exchange: Exchange) -> Self {
        Self { source, exchange }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let frame = this.source.poll_frame(cx);
        executor::note_body(frame.is_pending());
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                this.exchange.sent += length as u64;
                this.exchange.finished = this.source.is_end_stream();
            }
            Poll::Ready(None) => this.exchange.finished = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.source.size_hint()
    }
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
            Self::Started(started) => started.poll_frame(cx),
            Self::Encoded(encoded) => encoded.poll_frame(cx),
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        match self {
            Self::Application(body) => body.is_end_stream(),
            Self::Content(Content::Empty | Content::Tunnel(_)) => true,
            Self::Content(Content::Bytes(bytes)) => bytes.is_empty(),
            Self::Content(Content::File(stream)) => stream.remaining() == 0,
            Self::Content(Content::Endpoint(body)) => body.is_end_stream(),
            Self::Started(started) => started.is_end_stream(),
            Self::Encoded(encoded) => encoded.is_end_stream(),
        }
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Application(body) => body.size_hint(),
            Self::Content(Content::Empty | Content::Tunnel(_)) => SizeHint::with_exact(0),
            Self::Content(Content::Bytes(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            Self::Content(Content::File(stream)) => SizeHint::with_exact(stream.remaining()),
            Self::Content(Content::Endpoint(body)) => body.size_hint(),
            Self::Started(started) => started.size_hint(),
            Self::Encoded(_) => SizeHint::default(),
        }
    }
}

/// A request from the end of its header to the end of its response, however it ends.
pub(crate) struct Exchange {
    connection: Rc<ConnectionState>,
    life: Rc<Life>,
    pub(crate) log: Option<Box<LogEntry>>,
    pub(crate) record: Option<Rc<Record>>,
    /// 0 while there is no response.
    status: u16,
    /// Bytes of the request's body.
    pub(crate) received: u64,
    /// Bytes of the body handed to the connection.
    sent: u64,
    /// Whether the body was handed over to its end.
    pub(crate) finished: bool,
}

impl Exchange {
    pub(crate) fn begin(connection: &Rc<ConnectionState>, life: &Rc<Life>) -> Self {
        connection.begin();
        life.begin();
        Self {
            connection: Rc::clone(connection),
            life: Rc::clone(life),
            log: None,
            record: None,
            status: 0,
            received: 0,
            sent: 0,
            finished: false,
        }
    }

    /// The header of the response is settled.
    pub(crate) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = status.as_u16();
        if let Some(entry) = &mut self.log {
            entry.response(headers);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.connection.end();
        self.life.end();
        if let Some(record) = self.record.take() {
            record.end(self.status, self.sent);
        }
        if let Some(entry) = self.log.take() {
            entry.write(Ending {
                status: self.status,
                received: self.received,
                sent: self.sent,
                finished: self.finished,
            });
        }
    }
}
