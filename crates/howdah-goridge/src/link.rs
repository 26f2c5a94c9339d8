//! The pipes of a worker, and frames on them.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::BytesMut;
use howdah_pool::register;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe::Receiver;
use tokio::task::coop::consume_budget;

use crate::frame::{Decoder, FrameError, Part};

/// Bytes that are read at a time: the whole content of a pipe of the usual size.
const READ_SIZE: usize = 64 << 10;
/// How long the rest of garbage may take.
const PIECES: Duration = Duration::from_millis(50);
/// Bytes of garbage that are shown.
const SHOWN_MAX: usize = 200;

/// Both ends of a worker's pipes.
#[derive(Debug)]
pub(crate) struct Link {
    stdin: OwnedFd,
    stdout: Receiver,
    /// Registered with the runtime that reports readable data.
    thread: ThreadId,
    decoder: Decoder,
    buffer: BytesMut,
}

/// Errors of a worker's pipes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("it closed its standard output")]
    Closed,
    #[error("its pipes failed: {0}")]
    Io(#[from] io::Error),
    #[error(
        "{error}: it wrote {shown:?} to its standard output, which only the worker library may use: write to stderr"
    )]
    Frame { error: FrameError, shown: String },
}

impl Link {
    /// Must be called in a runtime.
    pub(crate) fn new(stdin: OwnedFd, stdout: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&stdin, fcntl_getfl(&stdin)? | OFlags::NONBLOCK)?;
        Ok(Self {
            stdin,
            stdout: Receiver::from_owned_fd(stdout)?,
            thread: thread::current().id(),
            decoder: Decoder::default(),
            buffer: BytesMut::new(),
        })
    }

    /// Registers the link with the runtime of this thread.
    pub(crate) fn here(self) -> io::Result<Self> {
        if self.is_here() {
            return Ok(self);
        }
        let stdout = self.stdout.into_nonblocking_fd()?;
        Ok(Self {
            stdout: Receiver::from_owned_fd(stdout)?,
            thread: thread::current().id(),
            ..self
        })
    }

    pub(crate) fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Writes all parts, and waits while the pipe is full.
    pub(crate) async fn write(&self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        let mut writable = None;
        while !parts.is_empty() {
            match rustix::io::writev(&self.stdin, parts) {
                Ok(size) => IoSlice::advance_slices(&mut parts, size),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Few requests are larger than a pipe, so it is not registered before.
                    let pipe = match &writable {
                        Some(pipe) => pipe,
                        None => {
                            writable.insert(register(self.stdin.try_clone()?, Interest::WRITABLE)?)
                        }
                    };
                    pipe.writable().await?.clear_ready();
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next part of the worker's output. If it never pauses, other tasks of the thread still run.
    pub(crate) async fn next(&mut self) -> Result<Part, LinkError> {
        loop {
            consume_budget().await;
            match self.decoder.next(&mut self.buffer) {
                Ok(Some(part)) => return Ok(part),
                Ok(None) => {}
                Err(error) => return Err(self.garbage(error).await),
            }
            if self.fill().await? == 0 {
                return Err(LinkError::Closed);
            }
        }
    }

    /// Reads available data, and waits until there is some.
    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(READ_SIZE);
        self.stdout.read_buf(&mut self.buffer).await
    }

    /// The bytes that the worker wrote in place of a frame, as far as they have arrived.
    async fn garbage(&mut self, error: FrameError) -> LinkError {
        // Data that was written together may arrive in pieces.
        let more = async {
            while self.buffer.len() < SHOWN_MAX && matches!(self.fill().await, Ok(1..)) {}
        };
        let _ = tokio::time::timeout(PIECES, more).await;
        let shown = &self.buffer[..self.buffer.len().min(SHOWN_MAX)];
        LinkError::Frame {
            error,
            shown: String::from_utf8_lossy(shown).into_owned(),
        }
    }

    /// Whether everything that was read from the worker is complete frames.
    pub(crate) fn is_between(&self) -> bool {
        self.decoder.is_between() && self.buffer.is_empty()
    }

    /// Whether the worker has sent unread data. Between two requests it would be read as the
    /// response to the next one.
    pub(crate) fn has_unread(&self) -> bool {
        !self.is_between() || ioctl_fionread(&self.stdout).is_ok_and(|bytes| bytes > 0)
    }
}
