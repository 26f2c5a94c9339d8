//! QUIC streams for h3, with a limit on its memory: h3 buffers a whole frame of a header or of
//! settings, whatever length the client has announced.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};

/// Bytes that a client may send on each of its control streams during a connection: settings, priorities.
const CONTROL_MAX: usize = 1 << 20;
/// Allowance beyond the header: unknown frames, and bytes of the body that arrive with it.
const MARGIN: usize = 64 << 10;

type RequestStream = h3_quinn::BidiStream<Bytes>;
type OpenResult<T> = Poll<Result<T, StreamErrorIncoming>>;

/// A connection whose streams have limits.
pub(super) struct Quic {
    inner: h3_quinn::Connection,
    max_header_size: usize,
}

impl Quic {
    pub(super) fn new(connection: quinn::Connection, max_header_size: usize) -> Self {
        Self {
            inner: h3_quinn::Connection::new(connection),
            max_header_size,
        }
    }
}

/// A stream that ends when its limit is reached. The receiving half of a request has no limit once its header has
/// arrived and the stream is split.
pub(super) struct BoundedStream<S> {
    inner: S,
    left: usize,
}

impl<S: quic::RecvStream<Buf = Bytes>> BoundedStream<S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> OpenResult<Option<Bytes>> {
        let data = ready!(self.inner.poll_data(cx))?;
        let length = data.as_ref().map_or(0, Bytes::len);
        if let Some(left) = self.left.checked_sub(length) {
            self.left = left;
            return Poll::Ready(Ok(data));
        }
        let error_code = Code::H3_EXCESSIVE_LOAD.value();
        self.inner.stop_sending(error_code);
        Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }))
    }
}

impl<S: quic::RecvStream<Buf = Bytes>> quic::RecvStream for BoundedStream<S> {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> OpenResult<Option<Bytes>> {
        self.poll(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.inner.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl quic::SendStream<Bytes> for BoundedStream<RequestStream> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> OpenResult<()> {
        self.inner.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> OpenResult<()> {
        self.inner.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.inner.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}

impl quic::BidiStream<Bytes> for BoundedStream<RequestStream> {
    type SendStream = h3_quinn::SendStream<Bytes>;
    type RecvStream = h3_quinn::RecvStream;

    fn split(self) -> (Self::SendStream, Self::RecvStream) {
        self.inner.split()
    }
}

impl quic::Connection<Bytes> for Quic {
    type RecvStream = BoundedStream<h3_quinn::RecvStream>;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let inner = ready!(quic::Connection::<Bytes>::poll_accept_recv(
            &mut self.inner,
            cx
        ))?;
        Poll::Ready(Ok(BoundedStream {
            inner,
            left: CONTROL_MAX,
        }))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let inner = ready!(quic::Connection::<Bytes>::poll_accept_bidi(
            &mut self.inner,
            cx
        ))?;
        Poll::Ready(Ok(BoundedStream {
            inner,
            left: self.max_header_size.saturating_add(MARGIN),
        }))
    }

    fn opener(&self) -> Opener {
        Opener(quic::Connection::<Bytes>::opener(&self.inner))
    }
}

impl quic::OpenStreams<Bytes> for Quic {
    type BidiStream = BoundedStream<RequestStream>;
    type SendStream = h3_quinn::SendStream<Bytes>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> OpenResult<Self::BidiStream> {
        open(&mut self.inner, cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> OpenResult<Self::SendStream> {
        self.inner.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<Bytes>::close(&mut self.inner, code, reason);
    }
}

/// Opens streams of a connection.
pub(super) struct Opener(h3_quinn::OpenStreams);

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = BoundedStream<RequestStream>;
    type SendStream = h3_quinn::SendStream<Bytes>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> OpenResult<Self::BidiStream> {
        open(&mut self.0, cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> OpenResult<Self::SendStream> {
        self.0.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<Bytes>::close(&mut self.0, code, reason);
    }
}

/// A server opens no bidirectional streams; the trait requires the function.
fn open<O>(opener: &mut O, cx: &mut Context<'_>) -> OpenResult<BoundedStream<RequestStream>>
where
    O: quic::OpenStreams<Bytes, BidiStream = RequestStream>,
{
    let inner = ready!(opener.poll_open_bidi(cx))?;
    Poll::Ready(Ok(BoundedStream {
        inner,
        left: MARGIN,
    }))
}
