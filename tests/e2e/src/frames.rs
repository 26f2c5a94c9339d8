//! A low-level HTTP/2 client that sends and receives single frames, valid and invalid ones.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use howdah_testkit::PATIENCE;

/// Frame types.
pub const DATA: u8 = 0x0;
/// See [`DATA`].
pub const HEADERS: u8 = 0x1;
/// See [`DATA`].
pub const PRIORITY: u8 = 0x2;
/// See [`DATA`].
pub const RST_STREAM: u8 = 0x3;
/// See [`DATA`].
pub const SETTINGS: u8 = 0x4;
/// See [`DATA`].
pub const PING: u8 = 0x6;
/// See [`DATA`].
pub const GOAWAY: u8 = 0x7;
/// See [`DATA`].
pub const WINDOW_UPDATE: u8 = 0x8;
/// See [`DATA`].
pub const CONTINUATION: u8 = 0x9;

/// Frame flags: the end of a stream, or the acknowledgement of settings.
pub const END_STREAM: u8 = 0x1;
/// End of the header fields.
pub const END_HEADERS: u8 = 0x4;

/// Error codes.
pub const PROTOCOL_ERROR: u32 = 0x1;
/// See [`PROTOCOL_ERROR`].
pub const ENHANCE_YOUR_CALM: u32 = 0xb;

/// Setting for the initial flow-control window of a stream.
pub const INITIAL_WINDOW_SIZE: u16 = 0x4;

/// Connection preface of a client.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Frame type.
    pub kind: u8,
    /// Frame flags.
    pub flags: u8,
    /// Stream id. 0 is the connection.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The encoded frame.
    ///
    /// # Panics
    /// Panics if the payload has 2^24 bytes or more.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).expect("a short payload");
        assert!(length < 1 << 24, "a short payload");
        let mut bytes = length.to_be_bytes()[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// Error code of `GOAWAY` and `RST_STREAM`.
    pub fn error(&self) -> Option<u32> {
        let at = match self.kind {
            RST_STREAM => 0,
            GOAWAY => 4,
            _ => return None,
        };
        let code = self.payload.get(at..at + 4)?;
        code.try_into().ok().map(u32::from_be_bytes)
    }

    /// Whether this frame starts a response with this status, encoded as servers encode the usual
    /// ones.
    pub fn is_status(&self, status: u16) -> bool {
        let indexed = [200, 204, 206, 304, 400, 404, 500];
        let place = indexed.iter().position(|known| *known == status);
        let first = place.and_then(|place| u8::try_from(0x88 + place).ok());
        self.kind == HEADERS && first.is_some() && self.payload.first().copied() == first
    }
}

/// Creates a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Frame {
    Frame {
        kind,
        flags,
        stream,
        payload: payload.into(),
    }
}

/// Encodes header fields for HPACK as literals.
pub fn block<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        string(&mut bytes, name.as_ref());
        string(&mut bytes, value.as_ref());
    }
    bytes
}

/// Encodes an uncompressed string for HPACK.
fn string(bytes: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    if length < 127 {
        bytes.push(u8::try_from(length).unwrap_or(0));
    } else {
        bytes.push(127);
        length -= 127;
        while length >= 128 {
            bytes.push(u8::try_from(length % 128).unwrap_or(0) | 128);
            length /= 128;
        }
        bytes.push(u8::try_from(length).unwrap_or(0));
    }
    bytes.extend_from_slice(text);
}

/// Header fields of every request.
pub fn request<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        (":method", method),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", path),
    ]
}

/// An HTTP/2 connection.
#[derive(Debug)]
pub struct Frames<S> {
    /// The stream under the connection.
    pub stream: S,
}

impl Frames<TcpStream> {
    /// Connects without TLS and sends these settings.
    ///
    /// # Panics
    /// Panics if the connection fails.
    #[track_caller]
    pub fn open(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(address).expect("it connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream.set_write_timeout(Some(PATIENCE)).expect("an option");
        stream.set_nodelay(true).expect("an option");
        Self::begin(stream, settings)
    }
}

impl<S: Read + Write> Frames<S> {
    /// Starts HTTP/2 on a connection.
    ///
    /// # Panics
    /// Panics if the server does not speak HTTP/2.
    #[track_caller]
    pub fn begin(stream: S, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self { stream };
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let mut bytes = PREFACE.to_vec();
        bytes.extend(frame(SETTINGS, 0, 0, payload).to_bytes());
        frames.send_bytes(&bytes).expect("sent");
        let first = frames.receive().expect("readable").expect("a frame");
        assert_eq!((first.kind, first.flags), (SETTINGS, 0), "{first:?}");
        let ack = frame(SETTINGS, END_STREAM, 0, []);
        frames.send(&[ack]).expect("sent");
        frames
    }

    /// Sends all frames in one write.
    pub fn send(&mut self, frames: &[Frame]) -> io::Result<()> {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
        self.send_bytes(&bytes)
    }

    /// Sends bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Sends a complete request without a body.
    pub fn get(&mut self, stream: u32, path: &str) -> io::Result<()> {
        let block = block(&request("GET", path));
        self.send(&[frame(HEADERS, END_STREAM | END_HEADERS, stream, block)])
    }

    /// Receives the next frame. Returns `None` if the connection has ended.
    pub fn receive(&mut self) -> io::Result<Option<Frame>> {
        let mut head = [0; 9];
        match self.stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.stream.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Ok(Some(frame(head[3], head[4], stream, payload)))
    }

    /// Receives frames until one for which `matches` is true.
    ///
    /// # Panics
    /// Panics if the connection ends before.
    #[track_caller]
    pub fn wait(&mut self, what: &str, matches: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            match self.receive() {
                Ok(Some(frame)) if matches(&frame) => return frame,
                Ok(Some(_)) => {}
                other => panic!("no {what}: {other:?}"),
            }
        }
    }

    /// Returns the error code with which the server closes the connection.
    ///
    /// # Panics
    /// Panics if the server does not close it, or closes it without an error code.
    #[track_caller]
    pub fn last_words(&mut self) -> u32 {
        let last = self.wait("GOAWAY", |frame| frame.kind == GOAWAY);
        let code = last.error().expect("a code");
        loop {
            match self.receive() {
                Ok(Some(_)) => {}
                Ok(None) => return code,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return code,
                Err(error) => panic!("it stays: {error}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_the_standard() {
        let bytes = frame(PING, 1, 0, [7; 8]).to_bytes();
        assert_eq!(bytes[..9], [0, 0, 8, 6, 1, 0, 0, 0, 0]);
        assert_eq!(block(&[("a", "bc")]), b"\0\x01a\x02bc");
        let long = "x".repeat(300);
        assert_eq!(block(&[("a", &long)])[3..6], [127, 173, 1]);
        assert_eq!(
            frame(GOAWAY, 0, 0, [0, 0, 0, 1, 0, 0, 0, 11]).error(),
            Some(11)
        );
    }
}
