//! The bytes of a connection, with or without TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::tcp::Socket;

/// A connection, with or without TLS. Without TLS each call costs one comparison.
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// The socket below.
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket.tcp(),
            Self::Tls(stream) => stream.get_ref().0.tcp(),
        }
    }

    pub(crate) fn tcp_mut(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(socket) => socket.tcp_mut(),
            Self::Tls(stream) => stream.get_mut().0.tcp_mut(),
        }
    }

    /// See [`Socket::report_failed_writes`].
    pub(crate) fn report_failed_writes(&mut self) {
        match self {
            Self::Plain(socket) => socket.report_failed_writes(),
            Self::Tls(stream) => stream.get_mut().0.report_failed_writes(),
        }
    }

    /// Notifies the client of a TLS connection that it is closed, if the socket accepts the message
    /// immediately.
    pub(crate) fn close_notify(&mut self) {
        if let Self::Tls(stream) = self {
            let mut cx = Context::from_waker(Waker::noop());
            // The connection is abandoned, whatever the result.
            let _ = Pin::new(stream).poll_shutdown(&mut cx);
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            // A TCP socket has nothing to flush.
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    /// Shuts down only TLS: the driver closes the socket, immediately or after lingering.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
