//! The socket of a connection: reports its events to the state, writes interim responses without
//! hyper, and sends files where hyper writes placeholders.

use std::borrow::Cow;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::state::{ConnectionState, EofDelivery};
use super::stream::Stream;

/// A socket, and bytes that were read from it before.
pub(crate) struct Io {
    pub(crate) stream: Stream,
    pub(crate) prefix: Bytes,
    pub(crate) state: Rc<ConnectionState>,
}

impl Io {
    /// These bytes were counted when they were read.
    fn take_prefix(&mut self, buffer: &mut ReadBuf<'_>) {
        let length = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix[..length]);
        self.prefix.advance(length);
    }

    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Ready(_) => self.state.write_progressed(),
            Poll::Pending => self.state.write_pending(),
        }
    }

    /// Writes the server's own bytes before those of hyper.
    #[cold]
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.state.interim.is_waiting() {
            let stream = Pin::new(&mut self.stream);
            let result = self.state.interim.take(|bytes| {
                let result = stream.poll_write(cx, bytes);
                let written = match &result {
                    Poll::Ready(Ok(written)) => *written,
                    Poll::Ready(Err(_)) | Poll::Pending => 0,
                };
                (written, result)
            });
            self.wrote(&result);
            if ready!(result)? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Runs before each write of hyper.
    fn poll_before(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.state.interim.is_waiting() {
            ready!(self.poll_interim(cx))?;
        }
        self.state.interim.writing();
        Poll::Ready(Ok(()))
    }

    /// Writes hyper's bytes, which contain placeholders for parts of files.
    fn poll_write_files(
        &self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &self.stream {
            Stream::Plain(socket) => self.state.files.poll_write(socket.tcp(), slices, cx),
            Stream::Tls(_) => Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.prefix.is_empty() {
            this.take_prefix(buffer);
            return Poll::Ready(Ok(()));
        }
        if this.state.refuses_more() || this.state.is_broken() {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        let read = buffer.filled().len() - before;
        if read == 0 {
            match this.state.end_of_bytes() {
                EofDelivery::Now => {}
                EofDelivery::NextTurn => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                EofDelivery::Later => return Poll::Pending,
            }
        }
        result?;
        let passed = match this.state.read(&buffer.filled()[before..]) {
            Cow::Borrowed(passed) => passed.len(),
            Cow::Owned(changed) => {
                this.prefix = changed.into();
                0
            }
        };
        if passed != read {
            buffer.set_filled(before + passed);
            this.take_prefix(buffer);
            if buffer.filled().len() == before {
                // 0 bytes would mean the end.
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_before(cx))?;
        let result = if this.state.files.is_empty() {
            Pin::new(&mut this.stream).poll_write(cx, bytes)
        } else {
            this.poll_write_files(cx, &[IoSlice::new(bytes)])
        };
        this.wrote(&result);
        result
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_before(cx))?;
        let result = if this.state.files.is_empty() {
            Pin::new(&mut this.stream).poll_write_vectored(cx, slices)
        } else {
            this.poll_write_files(cx, slices)
        };
        this.wrote(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper has written everything.
        let this = self.get_mut();
        this.state.interim.flushed();
        if this.state.interim.is_waiting() {
            ready!(this.poll_interim(cx))?;
        }
        // Encrypted data may still be buffered.
        let result = Pin::new(&mut this.stream).poll_flush(cx);
        match &result {
            Poll::Ready(_) => this.state.write_progressed(),
            Poll::Pending => this.state.write_pending(),
        }
        result
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The driver closes the socket: at once, or after lingering.
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_shutdown(cx);
        if result.is_pending() {
            this.state.write_pending();
        }
        result
    }
}
