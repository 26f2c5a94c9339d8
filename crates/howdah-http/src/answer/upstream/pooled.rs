//! Connections that carry one request after another. An upstream may close one just as the next request is sent (RFC
//! 9112 §9.3.1); the bytes that were transferred show whether the upstream can have received that request.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{io, io::IoSlice};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use super::MaybeTls;

/// The first request is in flight; the upstream has sent nothing yet.
const FIRST: u8 = 0;
/// The upstream has sent something, for the current request or the previous one.
const HEARD: u8 = 1;
/// A further request is about to be written.
const BEGUN: u8 = 2;
/// A part of it was written.
const WRITTEN: u8 = 3;

/// What was transferred on a connection, for the code that sends requests on it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionProgress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `FIRST` to `WRITTEN`.
    request: AtomicU8,
    /// Something was written since the last flush.
    is_dirty: AtomicBool,
    /// When everything to write was last written.
    flushed: Mutex<Option<Instant>>,
    flush: Notify,
}

/// How much of a request is lost with a kept connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestLoss {
    /// None of it was sent.
    Unsent,
    /// A part of it was sent, and no byte of a response was received.
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

    /// Completes when everything was written, and nothing has been added since the time `since`;
    /// `None`: more will be added. Only one task may wait.
    pub(crate) async fn sent(&self, since: impl Fn() -> Option<Instant>) {
        loop {
            let flushed = *self
                .0
                .flushed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Another request may have been written on the connection while this one waited for it.
            let begun = self.0.request.load(Relaxed) != HEARD;
            if let (true, Some(flushed), Some(since)) = (begun, flushed, since())
                && flushed >= since
            {
                return;
            }
            self.0.flush.notified().await;
        }
    }

    /// How much of the request in flight is lost if the connection has closed. `None`: it was the first request of the
    /// connection, or its response has begun.
    pub(crate) fn request_loss(&self) -> Option<RequestLoss> {
        match self.0.request.load(Relaxed) {
            BEGUN => Some(RequestLoss::Unsent),
            WRITTEN => Some(RequestLoss::Unanswered),
            _ => None,
        }
    }
}

/// A connection that records what is transferred. When the upstream accepts no more bytes, written bytes are dropped,
/// and the response can still be read: the upstream may have responded before it had the whole body, and closed the
/// connection.
pub(crate) struct PooledConnection {
    stream: MaybeTls,
    passed: ConnectionProgress,
    is_deaf: bool,
    write_timeout: Option<Duration>,
    /// Runs while the upstream accepts nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl PooledConnection {
    pub(super) fn new(stream: MaybeTls, write_timeout: Option<Duration>) -> Self {
        Self {
            stream,
            passed: ConnectionProgress::new(),
            is_deaf: false,
            write_timeout,
            stalled: None,
        }
    }

    /// The result of a write, or an error of the kind `TimedOut` if it waits for too long.
    fn within_limit<T>(
        &mut self,
        result: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        let Some(limit) = self.write_timeout.filter(|_| result.is_pending()) else {
            self.stalled = None;
            return result;
        };
        let timer = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        timer.as_mut().poll(cx).map(|()| {
            let reason = "it accepted nothing of the request within `write_timeout`";
            Err(io::Error::new(io::ErrorKind::TimedOut, reason))
        })
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
            // The writer got the reset. The reader must not see a clean close either.
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
        let result = self.within_limit(result, cx);
        self.written(result, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.passed.writing();
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        let result = self.within_limit(result, cx);
        self.written(result, slices.iter().map(|slice| slice.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        match ready!(self.within_limit(result, cx)) {
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
        // That request took the connection that this one waits for, and has its response.
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
