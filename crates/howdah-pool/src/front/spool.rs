//! A response to a slow client: a file takes the part that the client has not read, so that the worker need not wait.
//!
//! Bytes flow in one direction: a task on the front thread takes them from the exchange as a client would and appends
//! them to the file, and the body reads them from there. When the file has reached its limit, or the disk is full, the
//! task ends and the worker waits for the client again.

use std::collections::VecDeque;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};

use super::exchange::Exchange;

/// Bytes that are read at a time.
const PART: u64 = 256 << 10;

/// The file of one response, from the side of its body. Dropping it ends the task that writes.
pub(crate) struct Spool {
    file: Option<Arc<File>>,
    read: u64,
    written: u64,
    /// Bytes that were not written to the file; they follow those in the file.
    rest: VecDeque<Bytes>,
    /// Nothing more is written.
    closed: bool,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    client: Option<Waker>,
    writer: AbortHandle,
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

/// Writes the rest of the response to a file of at most about `max` bytes.
pub(crate) fn begin(exchange: &Rc<Exchange>, max: u64) {
    let writer = tokio::task::spawn_local(write(exchange.clone(), max)).abort_handle();
    exchange.state.borrow_mut().spool = Some(Spool {
        file: None,
        read: 0,
        written: 0,
        rest: VecDeque::new(),
        closed: false,
        reading: None,
        client: None,
        writer,
    });
}

/// The task that writes.
async fn write(exchange: Rc<Exchange>, max: u64) {
    if let Err(error) = append_all(&exchange, max).await {
        exchange.front.spool_failed(&error);
    }
    exchange.with_spool(|spool| {
        spool.closed = true;
        spool.wake();
    });
}

async fn append_all(exchange: &Exchange, max: u64) -> io::Result<()> {
    let file = Arc::new(blocking(tempfile::tempfile).await?);
    exchange.with_spool(|spool| spool.file = Some(file.clone()));
    let mut written = 0;
    while written < max {
        let Some(chunks) = poll_fn(|context| exchange.poll_chunks(context)).await else {
            break;
        };
        let (file, parts) = (file.clone(), chunks.clone());
        let append = move || {
            let mut offset = written;
            for part in &parts {
                file.write_all_at(part, offset)?;
                offset += part.len() as u64;
            }
            Ok(offset)
        };
        let result = blocking(append).await;
        exchange.with_spool(|spool| {
            match result {
                Ok(offset) => spool.written = offset,
                Err(_) => spool.rest = chunks,
            }
            spool.wake();
        });
        written = result?;
    }
    Ok(())
}

/// Runs outside the front thread: the disk may be slow.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

impl Spool {
    /// The next part of the response; `None`: nothing more from the spool.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Bytes>>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let read = ready!(Pin::new(reading).poll(context));
                self.reading = None;
                let bytes = read.map_err(io::Error::other)??;
                self.read += bytes.len() as u64;
                return Poll::Ready(Ok(Some(bytes)));
            }
            if let Some(file) = self.file.as_ref().filter(|_| self.read < self.written) {
                let (file, offset) = (file.clone(), self.read);
                let size = (self.written - offset).min(PART) as usize;
                self.reading = Some(spawn_blocking(move || {
                    let mut bytes = vec![0; size];
                    file.read_exact_at(&mut bytes, offset)?;
                    Ok(bytes.into())
                }));
                continue;
            }
            if let Some(bytes) = self.rest.pop_front() {
                return Poll::Ready(Ok(Some(bytes)));
            }
            if self.closed {
                return Poll::Ready(Ok(None));
            }
            self.client = Some(context.waker().clone());
            return Poll::Pending;
        }
    }

    fn wake(&mut self) {
        if let Some(client) = self.client.take() {
            client.wake();
        }
    }
}
