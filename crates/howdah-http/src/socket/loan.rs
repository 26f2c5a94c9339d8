//! A socket that returns to its owner when its user is dropped: h2 does not give it back.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::io::Io;
use super::stream::Stream;

/// A socket that returns to its owner when it is dropped.
pub(crate) struct Loan {
    /// Set until this is dropped.
    io: Option<Io>,
    owner: Rc<Cell<Option<Stream>>>,
}

/// Gets the socket back.
pub(crate) struct Lender(Rc<Cell<Option<Stream>>>);

impl Loan {
    pub(crate) fn new(io: Io) -> (Self, Lender) {
        let owner = Rc::default();
        let loan = Self {
            io: Some(io),
            owner: Rc::clone(&owner),
        };
        (loan, Lender(owner))
    }

    fn io(self: Pin<&mut Self>) -> io::Result<Pin<&mut Io>> {
        match &mut self.get_mut().io {
            Some(io) => Ok(Pin::new(io)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Lender {
    /// `None`: it is still lent.
    pub(crate) fn take(self) -> Option<Stream> {
        self.0.take()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.owner.set(self.io.take().map(|io| io.stream));
    }
}

impl AsyncRead for Loan {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.io()?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Loan {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io()?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io()?.poll_shutdown(cx)
    }
}
