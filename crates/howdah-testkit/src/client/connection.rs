use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::response::parse_fields;
use super::{ClientError, Head, Request, Response};
use crate::PATIENCE;

/// Longest response head or chunk line. Responses of the tests are shorter.
const LINE_MAX: usize = 256 << 10;
const READ_SIZE: usize = 16 << 10;

/// A connection to the server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that were consumed.
    start: usize,
    /// Maximum number of bytes of one read from the socket.
    read_size: usize,
    framing: Framing,
    informational: Vec<Head>,
    trailers: Vec<(String, String)>,
}

/// Rest of the body that is being received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// The body is complete.
    Done,
    Length(u64),
    /// Bytes left of the current chunk. If 0, a chunk line is next.
    Chunked {
        left: u64,
        first: bool,
    },
    UntilClose,
}

impl Connection {
    /// Connects, at most for [`PATIENCE`].
    pub fn open(address: SocketAddr) -> Result<Self, ClientError> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)
            .map_err(|error| ClientError::io(error, "accept the connection"))?;
        Self::over(stream)
    }

    /// Opens a connection with a receive buffer of about `bytes`, so that a large response fills it
    /// and the server has to wait.
    pub fn open_with_receive_buffer(
        address: SocketAddr,
        bytes: usize,
    ) -> Result<Self, ClientError> {
        let connect = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            // This must be set before the handshake, which announces the window.
            socket.set_recv_buffer_size(bytes)?;
            socket.connect_timeout(&address.into(), PATIENCE)?;
            Ok(TcpStream::from(socket))
        };
        Self::over(connect().map_err(|error| ClientError::io(error, "accept the connection"))?)
    }

    fn over(stream: TcpStream) -> Result<Self, ClientError> {
        let prepare = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))
        };
        prepare().map_err(ClientError::Io)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            read_size: READ_SIZE,
            framing: Framing::Done,
            informational: Vec::new(),
            trailers: Vec::new(),
        })
    }

    /// Address of the client, which PHP sees as `REMOTE_ADDR` and `REMOTE_PORT`.
    pub fn local_addr(&self) -> Result<SocketAddr, ClientError> {
        self.stream.local_addr().map_err(ClientError::Io)
    }

    /// Changes the timeout of this connection.
    pub fn set_timeout(&self, limit: Duration) -> Result<(), ClientError> {
        self.stream
            .set_read_timeout(Some(limit))
            .map_err(ClientError::Io)?;
        self.stream
            .set_write_timeout(Some(limit))
            .map_err(ClientError::Io)
    }

    /// Limits each following read from the socket to `bytes`.
    pub fn read_at_most(&mut self, bytes: usize) {
        self.read_size = bytes.clamp(1, READ_SIZE);
    }

    /// Sends a request, and does not wait for its response.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        self.send_bytes(&request.to_bytes())
    }

    /// Sends arbitrary bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        self.stream
            .write_all(bytes)
            .map_err(|error| ClientError::io(error, "take the request"))
    }

    /// Sends `bytes` in packets of `size` bytes and calls `between` after each. With 1, it sends
    /// byte by byte.
    pub fn send_slowly(
        &mut self,
        bytes: &[u8],
        size: usize,
        mut between: impl FnMut(usize),
    ) -> Result<(), ClientError> {
        for (index, piece) in bytes.chunks(size.max(1)).enumerate() {
            self.send_bytes(piece)?;
            between(index);
        }
        Ok(())
    }

    /// Sends a request and receives its response.
    pub fn exchange(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.send(request)?;
        self.receive(request.method())
    }

    /// Receives the whole response to a request with this method.
    pub fn receive(&mut self, method: &str) -> Result<Response, ClientError> {
        let head = self.begin(method)?;
        let mut body = Vec::new();
        while let Some(part) = self.next_part()? {
            body.extend_from_slice(&part);
        }
        Ok(Response {
            head,
            informational: std::mem::take(&mut self.informational),
            body,
            trailers: std::mem::take(&mut self.trailers),
        })
    }

    /// Receives one response head. It may have a 1xx status.
    pub fn read_head(&mut self) -> Result<Head, ClientError> {
        let text = self.read_through(b"\r\n\r\n", "the end of a response head")?;
        Head::parse(&text[..text.len() - 4])
    }

    /// Receives the head of the response to a request with this method, and any 1xx responses
    /// before it. [`next_part`](Self::next_part) returns the body.
    pub fn begin(&mut self, method: &str) -> Result<Head, ClientError> {
        self.informational.clear();
        self.trailers.clear();
        loop {
            let head = self.read_head()?;
            if (100..200).contains(&head.status) && head.status != 101 {
                self.informational.push(head);
                continue;
            }
            self.framing = framing(method, &head)?;
            return Ok(head);
        }
    }

    /// Returns the next bytes of the body as they arrive. `None` at the end of the body.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        match self.framing {
            Framing::Done => Ok(None),
            Framing::UntilClose => {
                if self.buffered() == 0 && self.fill("the end of the body")? == 0 {
                    self.framing = Framing::Done;
                    return Ok(None);
                }
                Ok(Some(self.take(u64::MAX)))
            }
            Framing::Length(left) => {
                let part = self.read_some("the end of the body", left)?;
                self.framing = match left - part.len() as u64 {
                    0 => Framing::Done,
                    left => Framing::Length(left),
                };
                Ok(Some(part))
            }
            Framing::Chunked { left: 0, first } => {
                if !first {
                    self.chunk_end()?;
                }
                self.chunk_start()
            }
            Framing::Chunked { left, .. } => {
                let part = self.read_some("the end of a chunk", left)?;
                let left = left - part.len() as u64;
                self.framing = Framing::Chunked { left, first: false };
                Ok(Some(part))
            }
        }
    }

    /// Receives parts of the body until they contain `text`. Returns all bytes received by this
    /// call.
    pub fn read_until(&mut self, text: &str) -> Result<Vec<u8>, ClientError> {
        let mut seen = Vec::new();
        while !contains(&seen, text.as_bytes()) {
            seen.extend(
                self.next_part()?
                    .ok_or(ClientError::Closed("the expected text"))?,
            );
        }
        Ok(seen)
    }

    /// Receives at most `size` bytes as sent, at least one. The result is empty at the end of the
    /// stream.
    pub fn read_raw(&mut self, size: usize) -> Result<Vec<u8>, ClientError> {
        if self.buffered() == 0 {
            self.fill("any bytes")?;
        }
        Ok(self.take(size as u64))
    }

    /// Waits until the server closes the connection. Returns an error if bytes arrive instead.
    pub fn wait_closed(&mut self) -> Result<(), ClientError> {
        match self.read_raw(4096) {
            Ok(bytes) if bytes.is_empty() => Ok(()),
            Ok(bytes) => Err(ClientError::malformed("end of the connection", &bytes)),
            Err(error) if error.is_closed() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Shuts down the sending direction.
    pub fn finish_sending(&self) -> Result<(), ClientError> {
        self.stream
            .shutdown(std::net::Shutdown::Write)
            .map_err(ClientError::Io)
    }

    /// Resets the connection, as a crashed client does.
    pub fn reset(self) -> Result<(), ClientError> {
        SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .map_err(ClientError::Io)
    }

    fn buffered(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn fill(&mut self, expected: &'static str) -> Result<usize, ClientError> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        let mut piece = [0; READ_SIZE];
        let piece = &mut piece[..self.read_size];
        let size = loop {
            match self.stream.read(piece) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(|error| ClientError::io(error, expected))?,
            }
        };
        self.buffer.extend_from_slice(&piece[..size]);
        Ok(size)
    }

    fn take(&mut self, at_most: u64) -> Vec<u8> {
        let size = usize::try_from(at_most)
            .unwrap_or(usize::MAX)
            .min(self.buffered());
        let taken = self.buffer[self.start..self.start + size].to_vec();
        self.start += size;
        taken
    }

    fn read_some(&mut self, expected: &'static str, at_most: u64) -> Result<Vec<u8>, ClientError> {
        if self.buffered() == 0 && self.fill(expected)? == 0 {
            return Err(ClientError::Closed(expected));
        }
        Ok(self.take(at_most))
    }

    fn read_through(&mut self, end: &[u8], expected: &'static str) -> Result<Vec<u8>, ClientError> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.start..];
            if let Some(found) = rest[searched..].windows(end.len()).position(|w| w == end) {
                return Ok(self.take((searched + found + end.len()) as u64));
            }
            if rest.len() > LINE_MAX {
                return Err(ClientError::malformed(expected, &rest[..200]));
            }
            searched = rest.len().saturating_sub(end.len() - 1);
            if self.fill(expected)? == 0 {
                return Err(ClientError::Closed(expected));
            }
        }
    }

    fn chunk_end(&mut self) -> Result<(), ClientError> {
        let line = self.read_through(b"\r\n", "the end of a chunk")?;
        if line == b"\r\n" {
            Ok(())
        } else {
            Err(ClientError::malformed("end of a chunk", &line))
        }
    }

    fn chunk_start(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let line = self.read_through(b"\r\n", "a chunk size")?;
        let wrong = || ClientError::malformed("chunk size", &line);
        let digits = line
            .split(|b| matches!(b, b';' | b'\r'))
            .next()
            .unwrap_or_default();
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        let left = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
        if left > 0 {
            self.framing = Framing::Chunked { left, first: false };
            return self.next_part();
        }
        let mut lines = Vec::new();
        loop {
            let line = self.read_through(b"\r\n", "the end of the trailers")?;
            if line == b"\r\n" {
                break;
            }
            lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
        self.trailers = parse_fields(lines.iter().map(String::as_str))?;
        self.framing = Framing::Done;
        Ok(None)
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || haystack.windows(needle.len()).any(|w| w == needle)
}

fn framing(method: &str, head: &Head) -> Result<Framing, ClientError> {
    if method == "HEAD" || head.status == 204 || head.status == 304 || head.status == 101 {
        return Ok(Framing::Done);
    }
    let lengths = head.header_all("content-length");
    if head.has_token("transfer-encoding", "chunked") {
        if !lengths.is_empty() {
            return Err(ClientError::malformed(
                "framing, both chunked and",
                lengths[0].as_bytes(),
            ));
        }
        return Ok(Framing::Chunked {
            left: 0,
            first: true,
        });
    }
    match lengths.as_slice() {
        [] => Ok(Framing::UntilClose),
        [length] => match length.parse() {
            Ok(0) => Ok(Framing::Done),
            Ok(length) => Ok(Framing::Length(length)),
            Err(_) => Err(ClientError::malformed("Content-Length", length.as_bytes())),
        },
        [first, ..] => Err(ClientError::malformed(
            "repeated Content-Length",
            first.as_bytes(),
        )),
    }
}

#[cfg(test)]
mod tests;
