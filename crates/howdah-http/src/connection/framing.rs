//! Finds HTTP/1 requests whose length can be read in two ways: with both `Content-Length` and
//! `Transfer-Encoding`, or with more than one `Content-Length`.
//!
//! hyper picks one reading and hides the other, so the bytes are looked at before it gets them. The
//! reader follows heads and bodies as hyper does, and with pipelining it knows which request it means.
//! Where hyper refuses what comes, nothing that follows is ever served, and the reader stops as well.

use memchr::memchr_iter;

/// What is kept of a line that comes in pieces: the two names and any number fit.
const LINE_MAX: usize = 128;

/// The requests of one connection, as their bytes come.
#[derive(Debug, Default)]
pub(super) struct Framing {
    state: State,
    head: Head,
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// Heads that are complete.
    heads: u64,
    /// Number of the head that has two lengths, from 1; nothing is read after it.
    ambiguous: Option<u64>,
}

/// Where the next byte stands. The states of a chunked body are hyper's.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// So many bytes are left.
    Body(u64),
    Chunk(Chunk, u64),
    /// Nothing that follows is a request.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Start,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    EndCr,
    Trailer,
    TrailerLf,
    EndLf,
}

/// What the lines of one head have told.
#[derive(Debug, Default, Clone, Copy)]
struct Head {
    /// Its request line has come: empty lines before it do not end it.
    begun: bool,
    lengths: u32,
    /// `None`: no number.
    length: Option<u64>,
    coded: bool,
}

impl Framing {
    /// Takes what was received, all of it and in order.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = match self.state {
                State::Head => self.head(bytes),
                State::Body(left) => {
                    let (left, taken) = skip(left, bytes);
                    self.state = if left == 0 {
                        State::Head
                    } else {
                        State::Body(left)
                    };
                    taken
                }
                State::Chunk(Chunk::Data, left) => {
                    let (left, taken) = skip(left, bytes);
                    let next = if left == 0 {
                        Chunk::DataCr
                    } else {
                        Chunk::Data
                    };
                    self.state = State::Chunk(next, left);
                    taken
                }
                State::Chunk(chunk, size) => {
                    self.state = step(chunk, size, bytes[0]);
                    1
                }
                State::Stopped => return,
            };
            bytes = &bytes[taken..];
        }
    }

    /// Nothing of this connection is HTTP/1.
    pub(super) fn stop(&mut self) {
        self.state = State::Stopped;
    }

    /// Number of the request that has two lengths, counted from 1.
    pub(super) fn ambiguous(&self) -> Option<u64> {
        self.ambiguous
    }

    /// Lines of a head; answers how many bytes belong to it.
    fn head(&mut self, bytes: &[u8]) -> usize {
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            let piece = &bytes[start..end];
            start = end + 1;
            let complete = if self.line.is_empty() {
                self.head.line(piece)
            } else {
                self.keep(piece);
                let complete = self.head.line(&self.line);
                self.line.clear();
                complete
            };
            if complete {
                self.end_head();
                return start;
            }
        }
        self.keep(&bytes[start..]);
        bytes.len()
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LINE_MAX - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn end_head(&mut self) {
        self.heads += 1;
        let head = std::mem::take(&mut self.head);
        self.state = if head.lengths > 1 || (head.coded && head.lengths > 0) {
            self.ambiguous = Some(self.heads);
            State::Stopped
        } else if head.coded {
            State::Chunk(Chunk::Start, 0)
        } else {
            match (head.lengths, head.length) {
                (0, _) | (_, Some(0)) => State::Head,
                (_, Some(length)) => State::Body(length),
                (_, None) => State::Stopped,
            }
        };
    }
}

impl Head {
    /// Takes a line without its end; true if it is the last one.
    fn line(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(first) = line.first() else {
            return self.begun;
        };
        self.begun = true;
        match first | 0x20 {
            b'c' => {
                if let Some(value) = value(line, b"content-length") {
                    self.lengths = self.lengths.saturating_add(1);
                    self.length = number(value);
                }
            }
            b't' => self.coded |= value(line, b"transfer-encoding").is_some(),
            _ => {}
        }
        false
    }
}

/// The value if the line is the field `name`.
fn value<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let (field, rest) = line.split_at_checked(name.len())?;
    if field.eq_ignore_ascii_case(name) {
        rest.strip_prefix(b":")
    } else {
        None
    }
}

fn number(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// What is left of `left` after these bytes, and how many of them belong to it.
fn skip(left: u64, bytes: &[u8]) -> (u64, usize) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (left - taken as u64, taken)
}

/// One byte of a chunked body that is no chunk's data.
fn step(chunk: Chunk, size: u64, byte: u8) -> State {
    let next = match (chunk, byte) {
        (Chunk::Start | Chunk::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
            let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
            let size = size
                .checked_mul(16)
                .and_then(|size| size.checked_add(digit));
            return size.map_or(State::Stopped, |size| State::Chunk(Chunk::Size, size));
        }
        (Chunk::Size | Chunk::SizeSpace, b' ' | b'\t') => Chunk::SizeSpace,
        (Chunk::Size | Chunk::SizeSpace, b';') => Chunk::Extension,
        (Chunk::Size | Chunk::SizeSpace | Chunk::Extension, b'\r') => Chunk::SizeLf,
        (Chunk::SizeLf, b'\n') if size == 0 => Chunk::EndCr,
        (Chunk::SizeLf, b'\n') => Chunk::Data,
        (Chunk::DataCr, b'\r') => Chunk::DataLf,
        (Chunk::DataLf, b'\n') => Chunk::Start,
        (Chunk::EndCr, b'\r') => Chunk::EndLf,
        (Chunk::Trailer, b'\r') => Chunk::TrailerLf,
        (Chunk::TrailerLf, b'\n') => Chunk::EndCr,
        (Chunk::EndLf, b'\n') => return State::Head,
        (Chunk::EndCr | Chunk::Trailer, _) => Chunk::Trailer,
        (Chunk::Extension, other) if other != b'\n' => Chunk::Extension,
        _ => return State::Stopped,
    };
    State::Chunk(next, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const SIZED: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 54\r\n\r\n\
                         Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n12345";
    const CHUNKED: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nCookie: content-length: 1\r\n\r\n\
                           1B ;x=\"\r\na: b\r\nContent-Length: 1\r\n\r\n\r\n\
                           3\r\nabc\r\n0\r\nContent-Length: 7\r\n\nT: x\r\n\r\n";
    const BOTH: &str =
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    const BOTH_TURNED: &str =
        "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\nX: y\r\nCONTENT-LENGTH:3\r\n\r\n0\r\n\r\n";
    const TWICE: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc";

    fn read(text: &[u8], piece: usize) -> Framing {
        let mut framing = Framing::default();
        for bytes in text.chunks(piece) {
            framing.receive(bytes);
        }
        framing
    }

    /// However the bytes are split, the answer is the same.
    #[track_caller]
    fn check(text: &str, heads: u64, ambiguous: Option<u64>) {
        for piece in 1..=text.len() {
            let framing = read(text.as_bytes(), piece);
            assert_eq!(framing.heads, heads, "in pieces of {piece}: {framing:?}");
            assert_eq!(framing.ambiguous(), ambiguous, "in pieces of {piece}");
            let ended = if ambiguous.is_some() {
                State::Stopped
            } else {
                State::Head
            };
            assert_eq!(framing.state, ended, "in pieces of {piece}");
        }
    }

    #[test]
    fn requests_with_one_length_pass() {
        check(PLAIN, 1, None);
        check(SIZED, 1, None);
        check(CHUNKED, 1, None);
        check(&[CHUNKED, SIZED, PLAIN, CHUNKED, PLAIN].concat(), 5, None);
        check(
            "\r\n\nGET / HTTP/1.1\nHost: a\n\n\r\nGET / HTTP/1.1\n\n",
            2,
            None,
        );
        check(
            "C / HTTP/1.1\r\nT: x\r\nContent-Lengths: 4\r\n\r\n",
            1,
            None,
        );
        check("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 1, None);
    }

    #[test]
    fn two_lengths_are_found_in_any_order_and_place() {
        for request in [BOTH, BOTH_TURNED, TWICE] {
            check(request, 1, Some(1));
            check(&[PLAIN, request, PLAIN].concat(), 2, Some(2));
            check(&[CHUNKED, SIZED, request].concat(), 3, Some(3));
        }
        let long = format!(
            "GET / HTTP/1.1\r\nCookie: {}\r\n{}",
            "c".repeat(4000),
            &BOTH["POST / HTTP/1.1\r\n".len()..]
        );
        check(&long, 1, Some(1));
    }

    #[test]
    fn nothing_follows_what_hyper_refuses() {
        for request in [
            "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;\nx",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        ] {
            let framing = read([request, BOTH].concat().as_bytes(), 7);
            assert_eq!(framing.state, State::Stopped, "{request:?}");
            assert_eq!(framing.heads, 1, "{request:?}");
        }
    }
}
