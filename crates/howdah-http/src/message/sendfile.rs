//! Parts of files that the kernel sends to the socket without copying their bytes to this process.
//!
//! hyper handles bytes only. For a part of a file it gets a placeholder of the same length: memory without contents.
//! The socket recognises a placeholder by its address and sends the part of the file that is first in the queue. Only
//! an HTTP/1 connection without TLS may get placeholders, and only where each byte of a body reaches the socket
//! unchanged.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bytes of one part. The access log counts a part as sent when it is handed over.
pub(crate) const PART: usize = 2 << 20;

thread_local! {
    /// Never touched, so it only takes address space.
    static STAND_IN: Bytes = Bytes::from(vec![0; PART]);
}

/// A connection that accepts parts of files in place of their bytes.
pub(crate) trait SendfileTarget {
    fn queue(&self) -> &Queue;
}

/// The parts for which hyper has placeholders, in the order of the response.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    parts: RefCell<VecDeque<Part>>,
}

#[derive(Debug)]
struct Part {
    file: Arc<File>,
    offset: u64,
    left: usize,
}

impl SendfileTarget for Queue {
    fn queue(&self) -> &Queue {
        self
    }
}

impl Queue {
    /// Takes `length` bytes of the file, at most [`PART`], and returns their placeholder.
    pub(crate) fn push(&self, file: &Arc<File>, offset: u64, length: usize) -> Bytes {
        let length = length.min(PART);
        self.parts.borrow_mut().push_back(Part {
            file: Arc::clone(file),
            offset,
            left: length,
        });
        STAND_IN.with(|bytes| bytes.slice(..length))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.borrow().is_empty()
    }

    /// Writes bytes, or a part of a file, whichever is first.
    pub(crate) fn poll_write(
        &self,
        socket: &TcpStream,
        slices: &[IoSlice<'_>],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().position(|slice| is_stand_in(slice));
        if first == Some(0) {
            return self.poll_part(socket, slices[0].len(), cx);
        }
        // A response head is sent together with the start of its file.
        let flags = match first {
            Some(_) => SendFlags::NOSIGNAL | SendFlags::MORE,
            None => SendFlags::NOSIGNAL,
        };
        let slices = &slices[..first.unwrap_or(slices.len())];
        poll_socket(socket, cx, || {
            let mut control = SendAncillaryBuffer::default();
            rustix::net::sendmsg(socket, slices, &mut control, flags)
        })
    }

    /// Sends from the first part, of which `length` bytes of placeholder are left.
    fn poll_part(
        &self,
        socket: &TcpStream,
        length: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut parts = self.parts.borrow_mut();
        let Some(part) = parts.front_mut().filter(|part| part.left == length) else {
            // A placeholder that was cut or repeated: the client must not get its contents.
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        };
        let sent = ready!(part.poll_send(socket, cx))?;
        if part.left == 0 {
            parts.pop_front();
        }
        Poll::Ready(Ok(sent))
    }
}

impl Part {
    fn poll_send(&mut self, socket: &TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { file, offset, left } = self;
        let sent = ready!(poll_socket(socket, cx, || {
            rustix::fs::sendfile(socket, &*file, Some(offset), *left)
        }))?;
        if sent == 0 {
            tracing::debug!("a file became shorter while it was sent");
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        *left -= sent;
        Poll::Ready(Ok(sent))
    }
}

/// Writes when the socket is writable.
fn poll_socket(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    mut write: impl FnMut() -> Result<usize, Errno>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match socket.try_io(Interest::WRITABLE, || Ok(write()?)) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            result => return Poll::Ready(result),
        }
    }
}

fn is_stand_in(slice: &[u8]) -> bool {
    STAND_IN.with(|bytes| !slice.is_empty() && bytes.as_ptr_range().contains(&slice.as_ptr()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    fn file(contents: &[u8]) -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(contents).unwrap();
        Arc::new(file)
    }

    async fn sockets() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        (listener.accept().await.unwrap().0, client.unwrap())
    }

    /// Writes the slices as hyper does, and returns what the other side has received.
    async fn written(queue: &Queue, slices: &[&[u8]]) -> io::Result<Vec<u8>> {
        let (server, mut client) = sockets().await;
        let sending = async move {
            let mut rest: Vec<IoSlice<'_>> = slices.iter().map(|s| IoSlice::new(s)).collect();
            let mut rest = &mut rest[..];
            while !rest.is_empty() {
                let sent = std::future::poll_fn(|cx| queue.poll_write(&server, rest, cx)).await?;
                IoSlice::advance_slices(&mut rest, sent);
            }
            Ok(())
        };
        let mut seen = Vec::new();
        let (end, received): (io::Result<()>, _) =
            tokio::join!(sending, client.read_to_end(&mut seen));
        received.unwrap();
        end.map(|()| seen)
    }

    #[tokio::test]
    async fn files_take_the_places_of_their_stand_ins() {
        let contents: Vec<u8> = (0..PART + 999).map(|index| (index % 251) as u8).collect();
        let large = file(&contents);
        let small = file(b"small");
        let queue = Queue::default();
        let first = queue.push(&large, 7, PART + 1);
        assert_eq!(first.len(), PART);
        let second = queue.push(&small, 1, 3);
        let slices: [&[u8]; 5] = [b"head ", &first, b" next ", &second, b" end"];
        let seen = written(&queue, &slices).await.unwrap();
        assert!(queue.is_empty());
        let expected = [b"head ", &contents[7..7 + PART], b" next mal end"].concat();
        assert!(seen == expected);
    }

    #[tokio::test]
    async fn a_stand_in_is_never_sent_itself() {
        let queue = Queue::default();
        let whole = queue.push(&file(b"four"), 0, 4);
        let error = written(&queue, &[&whole[..3]]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let queue = Queue::default();
        let error = written(&queue, &[&whole]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_shorter_file_is_an_error() {
        let queue = Queue::default();
        let stand_in = queue.push(&file(b"short"), 3, 9);
        let error = written(&queue, &[&stand_in]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
