//! Connections that carry one request after another. An upstream may close one just as the next request goes out
//! (RFC 9112 §9.3.1); what has passed over it says whether anybody can have seen that request.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::{io, io::IoSlice};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::MaybeTls;

/// The first request is under way: nothing has come from the upstream.
const FIRST: u8 = 0;
/// The upstream has had its say, now or about the request before.
const HEARD: u8 = 1;
/// A further request is about to be written.
const BEGUN: u8 = 2;
/// Some of it was.
const WRITTEN: u8 = 3;

/// What has passed over a connection, for who sends requests on it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionProgress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `FIRST` to `WRITTEN`.
    request: AtomicU8,
    /// Some of what was to be written since the last flush was.
    is_dirty: AtomicBool,
    /// When all that was to be written was, last.
    flushed: Mutex<Option<Instant>>,
    flush: Notify,
}

/// How much of a request is lost with a kept connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestLoss {
    /// None of it was sent.
    Unsent,
    /// Some of it was sent, and not a byte was answered.
    Unanswered,
}

impl ConnectionProgress {
    fn new() -> Self {
        Self(Arc::new(Inner {
            request: AtomicU8::new(FIRST),
            is_dirty: AtomicBool::new(false),
            flushed: Mutex::new(None),
            flush: Notify::new(),
        }))
    }

    fn writing(&self) {
        // One request at a time, on one thread.
        if self.0.request.load(Relaxed) == HEARD {
            self.0.request.store(BEGUN, Relaxed);
        }
    }

    fn note_write(&self) {
        self.0.is_dirty.store(true, Relaxed);
        if self.0.request.load(Relaxed) == BEGUN {
            self.0.request.store(WRITTEN, Relaxed);
        }
    }

    fn flushed(&self) {
        if self.0.is_dirty.swap(false, Relaxed) {
            let mut flushed = self
                .0
                .flushed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *flushed = Some(Instant::now());
            self.0.flush.notify_one();
        }
    }

    fn read(&self) {
        self.0.request.store(HEARD, Relaxed);
    }

    /// Over when all was written, and no more is left than at the time `since`; `None`: there will
    /// be more. For one who waits.
    pub(crate) async fn sent(&self, since: impl Fn() -> Option<Instant>) {
        loop {
            let flushed = *self
                .0
                .flushed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // A request that waited for a connection may get one on which another was written meanwhile.
            let begun = self.0.request.load(Relaxed) != HEARD;
            if let (true, Some(flushed), Some(since)) = (begun, flushed, since())
                && flushed >= since
            {
                return;
            }
            self.0.flush.notified().await;
        }
    }

    /// What is lost of the request under way if the connection has ended. `None`: it was the first one, for which
    /// the upstream was there, or its answer has begun.
    pub(crate) fn request_loss(&self) -> Option<RequestLoss> {
        match self.0.request.load(Relaxed) {
            BEGUN => Some(RequestLoss::Unsent),
            WRITTEN => Some(RequestLoss::Unanswered),
            _ => None,
        }
    }
}

/// A connection that notes what passes. Where the upstream takes nothing any more, what is written is lost, and
/// its response can still be read: it may have responded before it had the whole body, and closed the connection.
pub(crate) struct PooledConnection {
    stream: MaybeTls,
    passed: ConnectionProgress,
    is_deaf: bool,
}

impl PooledConnection {
    pub(super) fn new(stream: MaybeTls) -> Self {
        Self {
            stream,
            passed: ConnectionProgress::new(),
            is_deaf: false,
        }
    }

    /// The result of a write of `length` bytes.
    fn written(
        &mut self,
        result: Poll<io::Result<usize>>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        match ready!(result) {
            Ok(written) => {
                self.passed.note_write();
                Poll::Ready(Ok(written))
            }
            Err(error) if is_hung_up(&error) => {
                self.is_deaf = true;
                Poll::Ready(Ok(length))
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

fn is_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset
    )
}

impl Connection for PooledConnection {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.passed.clone())
    }
}

impl AsyncRead for PooledConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.passed.read();
        } else if self.is_deaf && buffer.remaining() > 0 {
            // The writer got the reset. For the reader the connection did not close cleanly either.
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PooledConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.passed.writing();
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(result, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.passed.writing();
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(result, slices.iter().map(|slice| slice.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_flush(cx)) {
            Err(error) if is_hung_up(&error) => {
                self.is_deaf = true;
                Poll::Ready(Ok(()))
            }
            result => {
                self.passed.flushed();
                Poll::Ready(result)
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;

    fn write(passed: &ConnectionProgress) {
        passed.writing();
        passed.note_write();
        passed.flushed();
    }

    #[tokio::test]
    async fn writes_of_another_request_do_not_count() {
        let passed = ConnectionProgress::new();
        let start = Instant::now();
        // It took the connection that this one waits for, and has its response.
        write(&passed);
        passed.read();
        let mut sent = pin!(passed.sent(|| Some(start)));
        let waits = poll_fn(|cx| Poll::Ready(sent.as_mut().poll(cx).is_pending()));
        assert!(waits.await);
        write(&passed);
        sent.await;
        assert_eq!(passed.request_loss(), Some(RequestLoss::Unanswered));
    }
}
