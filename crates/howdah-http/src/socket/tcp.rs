//! The TCP socket of a connection, whose client may disconnect before it has read anything.
//!
//! A client that closes with unread bytes resets the connection. What it sent before can still be read here, while each
//! write fails: session tickets of TLS, HTTP/2's settings. If such an error were passed on, requests that arrived
//! completely would be dropped unseen. So failed writes are ignored while the reader of the connection continues to its
//! end, which comes after the last request.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP socket.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    forgives: bool,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            forgives: true,
        }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn tcp_mut(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// From now on a write also detects that the client has disconnected: HTTP/1 writes only responses, and does not
    /// read while it has a body that is not needed.
    pub(crate) fn report_failed_writes(&mut self) {
        self.forgives = false;
    }

    /// `length`: the bytes that an ignored write counts as written.
    fn ignore_reset(
        &self,
        result: Poll<io::Result<usize>>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(Err(error)) if self.forgives && is_end_of_client(&error) => {
                Poll::Ready(Ok(length))
            }
            result => result,
        }
    }
}

fn is_end_of_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.ignore_reset(result, bytes.len())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        let length = slices.iter().map(|slice| slice.len()).sum();
        this.ignore_reset(result, length)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A TCP socket has nothing to flush.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A socket whose client has sent `bytes` and disconnected without reading.
    async fn disconnected(bytes: &[u8]) -> Socket {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let mut client = client.expect("connected");
        let (stream, _) = accepted.expect("accepted");
        let mut socket = Socket::new(stream);
        client.write_all(bytes).await.expect("sent");
        socket.write_all(b"unread").await.expect("sent");
        client.readable().await.expect("arrived");
        drop(client);
        socket
    }

    #[tokio::test]
    async fn received_bytes_are_read_although_writes_fail() {
        let mut socket = disconnected(b"a request").await;
        for _ in 0..3 {
            socket.write_all(b"settings").await.expect("forgiven");
        }
        let mut read = [0; 9];
        socket.read_exact(&mut read).await.expect("it arrived");
        assert_eq!(&read, b"a request");
        // Reading detects the end.
        assert!(!matches!(socket.read(&mut read).await, Ok(1..)));
    }

    #[tokio::test]
    async fn failed_writes_are_reported_on_demand() {
        let mut socket = disconnected(b"a request").await;
        socket.report_failed_writes();
        let error = socket.write_all(b"a response").await;
        assert!(is_end_of_client(&error.expect_err("reported")));
    }
}
