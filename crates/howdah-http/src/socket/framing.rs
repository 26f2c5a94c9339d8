//! Reads HTTP/1 requests before hyper does, and refuses those whose end is ambiguous: with both `Content-Length` and
//! `Transfer-Encoding`, with more than one `Content-Length`, with lines that end in LF alone, which a proxy before this
//! server may interpret differently.
//!
//! hyper chooses one interpretation and hides the other, so the bytes are inspected before. The reader follows heads
//! and bodies as hyper does, and with pipelining it knows which request is meant. It never guesses: input that it
//! cannot follow is refused, and so is everything after it.
//!
//! It also finds bytes of a request target that hyper would refuse, although clients send them.

use memchr::{memchr, memchr_iter};

/// Bytes that are stored of a line that arrives in pieces. Fields with a length may not be longer,
/// so that the result does not depend on the pieces.
const LINE_MAX: usize = 128;
/// The start of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

const TWO_LENGTHS: &str = "the body has two lengths";
const NO_LENGTH: &str = "the Content-Length is not a number";
const LONG_LENGTH: &str = "the Content-Length or Transfer-Encoding line is too long";
const LINE_END: &str = "a line does not end in CR LF";
const BAD_CHUNK: &str = "the chunked body of the previous request is malformed";
const NOT_HTTP1: &str = "the connection is not HTTP/1";

/// The requests of one connection, read as their bytes arrive.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    state: State,
    head: Head,
    line: Line,
    /// Number of complete heads.
    heads: u64,
    /// The request, counted from 1, from which on all are refused, and why.
    refused: Option<(u64, &'static str)>,
    /// Positions in the bytes received last where a request target has characters that are not
    /// valid in a URI.
    unescaped: Vec<usize>,
    /// A request upgrades the connection: what follows may not be HTTP, and is not changed.
    upgrades: bool,
}

/// What the next byte belongs to. The states of a chunked body are hyper's.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// Bytes that are left.
    Body(u64),
    Chunk(Chunk, u64),
    /// No further request is served. hyper gets the bytes all the same.
    Stopped,
    /// An error inside of a body: hyper gets no more bytes.
    Broken,
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

/// A line whose end has not arrived.
#[derive(Debug, Default)]
struct Line {
    /// Its start.
    kept: Vec<u8>,
    length: usize,
    last: u8,
}

/// The part of a head that comes next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Empty lines may precede it.
    #[default]
    Method,
    /// The rest of the request line.
    Target,
    /// An empty line ends it.
    Fields,
}

/// What the lines of one head contained.
#[derive(Debug, Default, Clone, Copy)]
struct Head {
    part: Part,
    lengths: u32,
    /// `None`: not a number.
    length: Option<u64>,
    coded: bool,
    upgrades: bool,
}

impl Framing {
    /// Takes all received bytes, in order. Returns how many of them hyper may get.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> usize {
        let mut position = 0;
        while let Some(rest) = bytes.get(position..).filter(|rest| !rest.is_empty()) {
            position += match self.state {
                State::Head => self.head(rest, position),
                State::Body(left) => {
                    let (left, taken) = skip(left, rest);
                    self.state = if left == 0 {
                        State::Head
                    } else {
                        State::Body(left)
                    };
                    taken
                }
                State::Chunk(Chunk::Data, left) => {
                    let (left, taken) = skip(left, rest);
                    let next = if left == 0 {
                        Chunk::DataCr
                    } else {
                        Chunk::Data
                    };
                    self.state = State::Chunk(next, left);
                    taken
                }
                State::Chunk(chunk, size) => {
                    if let Some(state) = step(chunk, size, rest[0]) {
                        self.state = state;
                        1
                    } else {
                        self.refuse(self.heads + 1, BAD_CHUNK);
                        self.state = State::Broken;
                        0
                    }
                }
                State::Stopped => rest.len(),
                State::Broken => break,
            };
        }
        position
    }

    /// The connection is not HTTP/1.
    pub(crate) fn stop(&mut self) {
        *self = Self {
            state: State::Stopped,
            ..Self::default()
        };
    }

    /// Why the request of this number, counted from 1, is refused.
    pub(crate) fn refusal(&self, request: u64) -> Option<&'static str> {
        self.refused
            .filter(|(first, _)| request >= *first)
            .map(|(_, reason)| reason)
    }

    /// Whether the body of the last request has not ended.
    pub(crate) fn is_in_body(&self) -> bool {
        matches!(self.state, State::Body(_) | State::Chunk(..))
    }

    /// Whether the rest of a body cannot be read.
    pub(crate) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Positions in the bytes received last that must be percent-encoded, in order.
    pub(crate) fn unescaped(&self) -> &[usize] {
        &self.unescaped
    }

    /// Removes those bytes after they were encoded.
    pub(crate) fn clear_unescaped(&mut self) {
        self.unescaped = Vec::new();
    }

    fn refuse(&mut self, request: u64, reason: &'static str) {
        self.refused = Some((request, reason));
        self.state = State::Stopped;
    }

    /// Reads lines of a head, which begins at `position` of the received bytes; returns how many bytes belong to it.
    fn head(&mut self, bytes: &[u8], position: usize) -> usize {
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            let piece = &bytes[start..end];
            if self.head.part != Part::Fields {
                self.find_unescaped(piece, position + start);
            }
            start = end + 1;
            let ended = if self.line.length == 0 {
                self.head.line(piece, piece.len(), piece.last().copied())
            } else {
                self.line.append(piece);
                let Line { kept, length, last } = &self.line;
                let ended = self.head.line(kept, *length, Some(*last));
                self.line.clear();
                ended
            };
            match ended {
                Ok(false) => {}
                Ok(true) => {
                    self.end_head();
                    return start;
                }
                Err(reason) => {
                    self.refuse(self.heads + 1, reason);
                    return start;
                }
            }
        }
        let piece = &bytes[start..];
        if self.head.part != Part::Fields {
            self.find_unescaped(piece, position + start);
            if memchr(b' ', piece).is_some() {
                self.head.part = Part::Target;
            }
        }
        self.line.append(piece);
        bytes.len()
    }

    /// Checks a part of the request line.
    fn find_unescaped(&mut self, piece: &[u8], position: usize) {
        let any = piece.iter().fold(0, |any, byte| any | unescaped(*byte));
        if any != 0 && !self.upgrades {
            self.record_unescaped(piece, position);
        }
    }

    #[cold]
    fn record_unescaped(&mut self, piece: &[u8], position: usize) {
        let target = match self.head.part {
            Part::Method => memchr(b' ', piece).unwrap_or(piece.len()),
            Part::Target | Part::Fields => 0,
        };
        let places = (target..piece.len()).filter(|at| unescaped(piece[*at]) != 0);
        self.unescaped.extend(places.map(|at| position + at));
    }

    fn end_head(&mut self) {
        self.heads += 1;
        let head = std::mem::take(&mut self.head);
        self.upgrades |= head.upgrades;
        if head.lengths > 1 || (head.coded && head.lengths > 0) {
            self.refuse(self.heads, TWO_LENGTHS);
            return;
        }
        self.state = match (head.coded, head.lengths, head.length) {
            (true, ..) => State::Chunk(Chunk::Start, 0),
            (_, 0, _) | (_, _, Some(0)) => State::Head,
            (_, _, Some(length)) => State::Body(length),
            (_, _, None) => return self.refuse(self.heads, NO_LENGTH),
        };
    }
}

impl Line {
    fn append(&mut self, piece: &[u8]) {
        let Some(last) = piece.last() else { return };
        let room = LINE_MAX - self.kept.len();
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        self.length += piece.len();
        self.last = *last;
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.length = 0;
    }
}

impl Head {
    /// Takes a line without its LF: its start, its length and its last byte. True if it is the last line of the head.
    fn line(&mut self, line: &[u8], length: usize, last: Option<u8>) -> Result<bool, &'static str> {
        if last != Some(b'\r') {
            return Err(LINE_END);
        }
        let length = length - 1;
        let line = &line[..line.len().min(length)];
        let Some(first) = line.first() else {
            return Ok(self.part == Part::Fields);
        };
        if self.part != Part::Fields {
            self.part = Part::Fields;
            return match first {
                // hyper may skip it, and count heads differently.
                b'\r' => Err(LINE_END),
                b'P' if line == PREFACE => Err(NOT_HTTP1),
                _ => Ok(false),
            };
        }
        let framing_field = match first | 0x20 {
            b'c' => value(line, b"content-length").map(|value| {
                self.lengths = self.lengths.saturating_add(1);
                self.length = number(value);
            }),
            b't' => value(line, b"transfer-encoding").map(|_| self.coded = true),
            b'u' => {
                self.upgrades |= value(line, b"upgrade").is_some();
                None
            }
            _ => None,
        };
        if framing_field.is_some() && length > LINE_MAX {
            return Err(LONG_LENGTH);
        }
        Ok(false)
    }
}

/// Not 0 for a byte that the `http` crate refuses somewhere in a URI, while other servers accept it. Without branches,
/// so that the loop over it can be vectorised.
fn unescaped(byte: u8) -> u8 {
    let quote = u8::from(byte == b'"') | u8::from(byte == b'`');
    let angle = u8::from(byte == b'<') | u8::from(byte == b'>');
    byte & 0x80 | quote | angle
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

/// What remains of `left` after these bytes, and how many of them belong to it.
fn skip(left: u64, bytes: &[u8]) -> (u64, usize) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (left - taken as u64, taken)
}

/// One byte of a chunked body that is not data. `None`: it is not valid there.
fn step(chunk: Chunk, size: u64, byte: u8) -> Option<State> {
    let next = match (chunk, byte) {
        (Chunk::Start | Chunk::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
            let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
            let size = size.checked_mul(16)?.checked_add(digit)?;
            return Some(State::Chunk(Chunk::Size, size));
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
        (Chunk::EndLf, b'\n') => return Some(State::Head),
        (Chunk::EndCr | Chunk::Trailer, other) if other != b'\n' => Chunk::Trailer,
        (Chunk::Extension, other) if other != b'\n' => Chunk::Extension,
        _ => return None,
    };
    Some(State::Chunk(next, size))
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
