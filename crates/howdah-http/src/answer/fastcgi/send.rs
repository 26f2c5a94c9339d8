//! Sends a request to a FastCGI server in a separate task, so that the server can respond before it has read
//! everything.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::transfer::Outgoing;
use super::{Failure, record};
use crate::message::file_stream::FileStream;
use crate::message::request::RequestBody;

/// The task; it is aborted when this is dropped.
pub(super) struct SendTask {
    /// `None`: it has ended, and its result was reported.
    task: Option<JoinHandle<Result<(), Failure>>>,
    is_answered: Rc<Cell<bool>>,
}

/// Why the rest of a request was not sent.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error(transparent)]
    Write(#[from] io::Error),
    #[error("the request body cannot be read: {0}")]
    Body(io::Error),
}

impl SendTask {
    /// Starts to send a request. `limit`: how long the server may accept no bytes before it has responded.
    pub(super) fn start(
        writer: impl AsyncWrite + Unpin + 'static,
        request: &Outgoing<'_>,
        limit: Option<Duration>,
    ) -> Self {
        let (id, start, body) = (
            request.id,
            Rc::clone(&request.start),
            Rc::clone(&request.body),
        );
        let is_answered = Rc::new(Cell::new(false));
        let mut sender = Sender {
            writer,
            limit,
            is_answered: Rc::clone(&is_answered),
        };
        let task = tokio::task::spawn_local(async move {
            let error = match sender.send(&start, &body).await {
                Ok(()) => return Ok(()),
                Err(SendError::Body(error)) => return Err(Failure::Body(error)),
                Err(SendError::Write(error)) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(Failure::Io(error));
                }
                Err(SendError::Write(error)) => error,
            };
            // A server that has responded need not read the rest. A closed connection is noticed where the response is
            // read.
            if let Some(id) = id {
                let request_id = format_args!("{id:016x}");
                tracing::debug!(target: "howdah::php", %request_id, %error, "a request body was not read to its end");
            }
            Ok(())
        });
        Self {
            task: Some(task),
            is_answered,
        }
    }

    /// The server has responded: there is no limit for reading the rest.
    pub(super) fn note_answer(&self) {
        self.is_answered.set(true);
    }

    /// Whether sending has ended.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_none()
    }

    /// Ready, once, when the rest of the request is not received or not accepted in time.
    pub(super) fn poll_failure(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let Some(task) = &mut self.task else {
            return Poll::Pending;
        };
        let result = ready!(Pin::new(task).poll(cx));
        self.task = None;
        match result {
            Ok(Ok(())) => Poll::Pending,
            Ok(Err(failure)) => Poll::Ready(failure),
            Err(error) => Poll::Ready(Failure::Io(io::Error::other(error))),
        }
    }
}

impl Drop for SendTask {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

struct Sender<W> {
    writer: W,
    limit: Option<Duration>,
    is_answered: Rc<Cell<bool>>,
}

impl<W: AsyncWrite + Unpin> Sender<W> {
    async fn send(&mut self, start: &[u8], body: &RequestBody) -> Result<(), SendError> {
        self.write(start).await?;
        match body {
            RequestBody::Empty => {}
            RequestBody::Memory(bytes) => self.send_part(bytes).await?,
            RequestBody::Spooled(file) => {
                let length = file.len();
                let file = file.open().map_err(SendError::Body)?;
                let mut stream = FileStream::new(file, 0, length);
                while let Some(part) = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await {
                    self.send_part(&part.map_err(SendError::Body)?).await?;
                }
            }
        }
        self.write(&record::stdin_end()).await?;
        Ok(self.writer.flush().await?)
    }

    async fn send_part(&mut self, part: &Bytes) -> io::Result<()> {
        for (header, content) in record::stdin(part) {
            self.write(&header).await?;
            self.write(&content).await?;
        }
        Ok(())
    }

    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let writing = self.writer.write(bytes);
            let written = match self.limit {
                None => writing.await?,
                Some(limit) => match tokio::time::timeout(limit, writing).await {
                    Ok(written) => written?,
                    Err(_) if self.is_answered.get() => continue,
                    Err(_) => return Err(send_timeout()),
                },
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

fn send_timeout() -> io::Error {
    let text = "it read nothing of the request before the timeout";
    io::Error::new(io::ErrorKind::TimedOut, text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::future::poll_fn;

    use http::{Method, StatusCode};
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;
    use crate::message::spool::SpoolDir;

    const LIMIT: Option<Duration> = Some(Duration::from_millis(1));

    fn outgoing(body: RequestBody) -> Outgoing<'static> {
        Outgoing {
            id: None,
            method: &Method::POST,
            start: Rc::from(*b"start"),
            body: Rc::new(body),
        }
    }

    fn memory(length: usize) -> Outgoing<'static> {
        outgoing(RequestBody::Memory(vec![b'x'; length].into()))
    }

    #[tokio::test(flavor = "local")]
    async fn a_body_that_cannot_be_read_is_a_failure() {
        let base = tempfile::tempdir().unwrap();
        let spool = SpoolDir::create_in(base.path()).unwrap();
        for is_there in [false, true] {
            let mut file = spool.file(u64::from(is_there)).unwrap();
            file.append(b"all of it").unwrap();
            if is_there {
                fs::write(file.path(), "all").unwrap();
            } else {
                fs::remove_file(file.path()).unwrap();
            }
            let request = outgoing(RequestBody::Spooled(file));
            let (writer, _server) = duplex(1 << 10);
            let mut sending = SendTask::start(writer, &request, None);
            // A response changes nothing: the server waits for the rest.
            sending.note_answer();
            let failure = poll_fn(|cx| sending.poll_failure(cx)).await;
            assert!(matches!(failure, Failure::Body(_)), "{failure}");
            assert_eq!(failure.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(!failure.is_upstream_fault());
        }
    }

    #[tokio::test(flavor = "local")]
    async fn a_server_may_respond_before_it_has_read_the_body() {
        // The server is gone.
        let (writer, server) = duplex(16);
        drop(server);
        let mut sending = SendTask::start(writer, &memory(1 << 10), LIMIT);
        while sending.task.is_some() {
            let polled = poll_fn(|cx| Poll::Ready(sending.poll_failure(cx))).await;
            assert!(polled.is_pending(), "{polled:?}");
            tokio::task::yield_now().await;
        }
        // The server accepts no bytes, before and after its response.
        for is_answered in [false, true] {
            let (writer, mut server) = duplex(16);
            let mut sending = SendTask::start(writer, &memory(1 << 10), LIMIT);
            if !is_answered {
                let failure = poll_fn(|cx| sending.poll_failure(cx)).await;
                assert_eq!(failure.status(), StatusCode::GATEWAY_TIMEOUT, "{failure}");
                continue;
            }
            sending.note_answer();
            // The test waits for the limit, so the wait must be longer.
            let wait = Duration::from_millis(20);
            let failed = poll_fn(|cx| sending.poll_failure(cx));
            assert!(tokio::time::timeout(wait, failed).await.is_err());
            let mut all = vec![0; b"start".len() + (1 << 10)];
            server.read_exact(&mut all).await.unwrap();
        }
    }
}
