//! Frames of goridge, the protocol between RoadRunner and its PHP workers: pure functions on bytes.
//!
//! ```text
//! byte 0     version 1 in the upper half, size of the header in words in the lower: 3 and the number of options
//! byte 1     flags: what the frame is, and how its payload is encoded
//! 2 … 5      size of the payload
//! 6 … 9      CRC-32 of the bytes before
//! byte 10    marks: more frames follow, cancel, ping, pong
//! byte 11    0
//! then       the options, one word each; the payload
//! ```
//!
//! Words are little endian. A message has one option, the size of the context that its payload starts with. The rest
//! of the payload is the body.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a header without options.
pub const HEADER_SIZE: usize = 12;
/// Options that a header may have.
pub const OPTIONS_MAX: u8 = 10;
/// Bytes of a context: status and header of a response.
pub const CONTEXT_MAX: u32 = 1 << 20;

/// Flags: an order to a worker, or its reply.
pub const CONTROL: u8 = 0x01;
/// The payload is JSON.
pub const JSON: u8 = 0x08;
/// The payload is the text of an error.
pub const ERROR: u8 = 0x40;

/// Marks: another frame of the same response follows.
pub const STREAM: u8 = 0x01;
/// The response is not needed any more.
pub const STOP: u8 = 0x02;
/// Requests a frame with [`PONG`].
pub const PING: u8 = 0x04;
/// The reply to [`PING`].
pub const PONG: u8 = 0x08;

const VERSION: u8 = 1;
const WORD: usize = 4;
const HEADER_WORDS: u8 = 3;

/// Bytes that are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Invalid version or header size: most likely text.
    #[error("not a goridge frame")]
    NotAFrame,
    /// The header was modified in transit.
    #[error("the checksum of a frame's header is wrong")]
    Checksum,
    /// A message has exactly one.
    #[error("a message with {0} options, where 1 is expected")]
    Options(u8),
    /// The context does not fit.
    #[error(
        "a context of {context} bytes in a payload of {payload}; at most {CONTEXT_MAX} are read"
    )]
    Context {
        /// Bytes of the context.
        context: u32,
        /// Bytes of the payload.
        payload: u32,
    },
}

/// The fixed part of a frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// [`CONTROL`], [`JSON`], [`ERROR`] and others.
    pub flags: u8,
    /// [`STREAM`], [`STOP`], [`PING`], [`PONG`].
    pub marks: u8,
    /// Number of options.
    pub options: u8,
    /// Bytes of the payload.
    pub payload: u32,
}

impl Header {
    /// Encodes it, with its CRC-32.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[0] = VERSION << 4 | (HEADER_WORDS + self.options);
        bytes[1] = self.flags;
        bytes[2..6].copy_from_slice(&self.payload.to_le_bytes());
        let checksum = crc32(&bytes[..6]);
        bytes[6..10].copy_from_slice(&checksum.to_le_bytes());
        bytes[10] = self.marks;
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// They are not the header of a frame.
    pub fn decode(bytes: &[u8; HEADER_SIZE]) -> Result<Self, FrameError> {
        let options = (bytes[0] & 0x0f).checked_sub(HEADER_WORDS);
        let options = options.filter(|options| *options <= OPTIONS_MAX);
        let (Some(options), VERSION) = (options, bytes[0] >> 4) else {
            return Err(FrameError::NotAFrame);
        };
        if word(&bytes[6..10]) != crc32(&bytes[..6]) {
            return Err(FrameError::Checksum);
        }
        Ok(Self {
            flags: bytes[1],
            marks: bytes[10],
            options,
            payload: word(&bytes[2..6]),
        })
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// CRC-32 as in Ethernet, zip and PHP's `crc32()`.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| {
        (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize]
    })
}

/// Header and options of a request whose context and body follow; `None`: it is larger than a frame.
#[must_use]
pub fn message(context: usize, body: u64) -> Option<[u8; HEADER_SIZE + WORD]> {
    let payload = u32::try_from(u64::try_from(context).ok()?.checked_add(body)?).ok()?;
    let header = Header {
        flags: JSON,
        marks: 0,
        options: 1,
        payload,
    };
    let mut bytes = [0; HEADER_SIZE + WORD];
    bytes[..HEADER_SIZE].copy_from_slice(&header.encode());
    bytes[HEADER_SIZE..].copy_from_slice(&u32::try_from(context).ok()?.to_le_bytes());
    Some(bytes)
}

/// An order to a worker.
#[must_use]
pub fn control(json: &str) -> Vec<u8> {
    let header = Header {
        flags: CONTROL | JSON,
        marks: 0,
        options: 0,
        // Orders are short.
        payload: u32::try_from(json.len()).unwrap_or(u32::MAX),
    };
    [&header.encode()[..], json.as_bytes()].concat()
}

/// A frame that has marks and nothing else.
#[must_use]
pub fn mark(marks: u8) -> [u8; HEADER_SIZE] {
    let header = Header {
        flags: 0,
        marks,
        options: 0,
        payload: 0,
    };
    header.encode()
}

/// A reply to a call of a plugin: its options, the name of the method, and what failed.
#[must_use]
pub fn failed_call(flags: u8, options: [u32; 2], method: &[u8], error: &str) -> Vec<u8> {
    let size = method.len() + error.len();
    let header = Header {
        flags: flags | ERROR,
        marks: 0,
        options: 2,
        // Names and errors are short.
        payload: u32::try_from(size).unwrap_or(u32::MAX),
    };
    let mut bytes = header.encode().to_vec();
    for option in options {
        bytes.extend_from_slice(&option.to_le_bytes());
    }
    bytes.extend_from_slice(method);
    bytes.extend_from_slice(error.as_bytes());
    bytes
}

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A reply to an order: JSON.
    Control,
    /// What failed, as text.
    Error,
    /// A response, or a part of one.
    Message,
}

/// A part of a stream of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Part {
    /// A frame starts. Its body follows, and its end.
    Start {
        kind: Kind,
        marks: u8,
        /// The first part of the payload of a message.
        context: Bytes,
        /// Bytes of the rest of the payload.
        body: u32,
    },
    /// A piece of the body.
    Body(Bytes),
    /// The frame with these marks ends.
    End(u8),
}

impl Part {
    /// Whether it starts a frame with marks alone, which does not belong to a response.
    #[must_use]
    pub fn is_mark(&self) -> bool {
        let Self::Start {
            kind: Kind::Message,
            marks,
            context,
            body: 0,
        } = self
        else {
            return false;
        };
        context.is_empty() && marks & !STREAM != 0
    }
}

/// Parses a stream of frames. It stores only a context: bodies are passed on as they arrive.
#[derive(Debug, Default)]
pub struct Decoder(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    Header,
    Context(Header),
    Body {
        marks: u8,
        remaining: u32,
    },
}

impl Decoder {
    /// Takes the next part from the input; `None`: more input is needed.
    ///
    /// # Errors
    /// The input is not a stream of frames. Nothing more can be read from it.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Part>, FrameError> {
        loop {
            match self.0 {
                State::Header => {
                    let Some(bytes) = input.first_chunk::<HEADER_SIZE>() else {
                        // The first byte distinguishes text.
                        let first = input.first().map(|first| first >> 4);
                        return match first {
                            None | Some(VERSION) => Ok(None),
                            Some(_) => Err(FrameError::NotAFrame),
                        };
                    };
                    let header = Header::decode(bytes)?;
                    if kind(header) == Kind::Message && !is_mark(header) && header.options != 1 {
                        return Err(FrameError::Options(header.options));
                    }
                    input.advance(HEADER_SIZE);
                    self.0 = State::Context(header);
                }
                State::Context(header) => {
                    let kind = kind(header);
                    let options = WORD * usize::from(header.options);
                    if input.len() < options {
                        return Ok(None);
                    }
                    let context = match kind {
                        Kind::Message if header.options > 0 => word(&input[..WORD]),
                        _ => 0,
                    };
                    let payload = header.payload;
                    if context > payload.min(CONTEXT_MAX) {
                        return Err(FrameError::Context { context, payload });
                    }
                    if input.len() - options < context as usize {
                        return Ok(None);
                    }
                    input.advance(options);
                    let (marks, remaining) = (header.marks, payload - context);
                    self.0 = State::Body { marks, remaining };
                    return Ok(Some(Part::Start {
                        kind,
                        marks,
                        context: input.split_to(context as usize).freeze(),
                        body: remaining,
                    }));
                }
                State::Body {
                    marks,
                    remaining: 0,
                } => {
                    self.0 = State::Header;
                    return Ok(Some(Part::End(marks)));
                }
                State::Body { marks, remaining } => {
                    let size = input.len().min(remaining as usize);
                    if size == 0 {
                        return Ok(None);
                    }
                    let remaining = remaining - u32::try_from(size).unwrap_or(remaining);
                    self.0 = State::Body { marks, remaining };
                    return Ok(Some(Part::Body(input.split_to(size).freeze())));
                }
            }
        }
    }

    /// Whether it is between two frames.
    #[must_use]
    pub fn is_between(&self) -> bool {
        matches!(self.0, State::Header)
    }
}

fn kind(header: Header) -> Kind {
    if header.flags & CONTROL != 0 {
        Kind::Control
    } else if header.flags & ERROR != 0 {
        Kind::Error
    } else {
        Kind::Message
    }
}

/// A message without a payload need not have an option.
fn is_mark(header: Header) -> bool {
    header.payload == 0 && header.options == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn checksums() {
        for (text, expected) in [
            ("", 0),
            ("123456789", 0xcbf4_3926),
            ("a", 0xe8b7_be43),
            ("\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", 0xb1c2_a1a3),
        ] {
            assert_eq!(crc32(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn frames_as_php_packs_them() {
        // `Frame::packFrame(new Frame('{"pid":7}', [], Frame::CONTROL | Frame::CODEC_JSON))`
        let expected = b"\x13\x09\x09\x00\x00\x00\x6d\xfc\x98\x44\x00\x00{\"pid\":7}";
        assert_eq!(control("{\"pid\":7}"), expected);
        assert_eq!(mark(PONG)[10..], [PONG, 0]);
        assert_eq!(mark(STOP)[..6], [0x13, 0, 0, 0, 0, 0]);
        let head = message(3, 4).expect("it fits");
        assert_eq!(head[..6], [0x14, JSON, 7, 0, 0, 0]);
        assert_eq!(head[10..], [0, 0, 3, 0, 0, 0]);
        assert_eq!(message(1, u64::from(u32::MAX)), None);
        assert!(message(0, u64::from(u32::MAX)).is_some());
    }

    #[test]
    fn invalid_frames() {
        let good = Header {
            flags: 0,
            marks: 0,
            options: 1,
            payload: 9,
        };
        let with = |change: fn(&mut [u8; HEADER_SIZE])| {
            let mut bytes = good.encode();
            change(&mut bytes);
            Header::decode(&bytes)
        };
        assert_eq!(with(|_| ()), Ok(good));
        assert_eq!(with(|bytes| bytes[0] = 0x24), Err(FrameError::NotAFrame));
        assert_eq!(with(|bytes| bytes[0] = 0x12), Err(FrameError::NotAFrame));
        assert_eq!(with(|bytes| bytes[0] = 0x1e), Err(FrameError::NotAFrame));
        assert_eq!(with(|bytes| bytes[2] ^= 1), Err(FrameError::Checksum));
        assert_eq!(with(|bytes| bytes[9] ^= 1), Err(FrameError::Checksum));
        // Marks are not in the checksum.
        assert!(with(|bytes| bytes[10] = STREAM).is_ok());
        let text: &[u8; HEADER_SIZE] = b"Could not op";
        assert_eq!(Header::decode(text), Err(FrameError::NotAFrame));
    }

    /// A frame with a context.
    fn packed(marks: u8, context: &[u8], body: &[u8]) -> Vec<u8> {
        let payload = u32::try_from(context.len() + body.len()).expect("small");
        let header = Header {
            flags: 0,
            marks,
            options: 1,
            payload,
        };
        let size = u32::try_from(context.len()).expect("small").to_le_bytes();
        [&header.encode()[..], &size, context, body].concat()
    }

    fn all(input: &mut BytesMut, decoder: &mut Decoder) -> Result<Vec<Part>, FrameError> {
        std::iter::from_fn(|| decoder.next(input).transpose()).collect()
    }

    #[test]
    fn sizes_that_do_not_fit() {
        let mut short = packed(0, b"{}", b"body");
        short[HEADER_SIZE] = 200;
        let mut decoder = Decoder::default();
        let result = all(&mut BytesMut::from(&short[..]), &mut decoder);
        let (context, payload) = (200, 6);
        assert_eq!(result, Err(FrameError::Context { context, payload }));
        // 4 GiB are announced: nothing is allocated, and the context has a limit.
        let huge = |options: u8, first: u32| {
            let header = Header {
                flags: 0,
                marks: 0,
                options,
                payload: u32::MAX,
            };
            let bytes = [&header.encode()[..], &first.to_le_bytes()].concat();
            all(&mut BytesMut::from(&bytes[..]), &mut Decoder::default())
        };
        let (context, payload) = (CONTEXT_MAX + 1, u32::MAX);
        assert_eq!(
            huge(1, context),
            Err(FrameError::Context { context, payload })
        );
        assert_eq!(huge(0, 0), Err(FrameError::Options(0)));
        assert_eq!(huge(2, 0), Err(FrameError::Options(2)));
        assert!(matches!(
            huge(1, 0).as_deref(),
            Ok([Part::Start { body: u32::MAX, .. }])
        ));
    }

    #[test]
    fn text_is_known_by_its_first_byte() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.next(&mut BytesMut::new()), Ok(None));
        let mut input = BytesMut::from("W");
        assert_eq!(decoder.next(&mut input), Err(FrameError::NotAFrame));
        let mut input = BytesMut::from(&packed(0, b"", b"")[..5]);
        assert_eq!(decoder.next(&mut input), Ok(None));
    }

    #[test]
    fn calls_of_plugins_are_refused_in_their_own_words() {
        let bytes = failed_call(JSON, [5, 6], b"kv.Has", "no");
        let header = Header::decode(bytes.first_chunk().expect("a header")).expect("valid");
        assert_eq!(
            (header.flags, header.options, header.payload),
            (JSON | ERROR, 2, 8)
        );
        assert_eq!(bytes[HEADER_SIZE..], *b"\x05\0\0\0\x06\0\0\0kv.Hasno");
    }

    proptest! {
        #[test]
        fn frames_come_out_however_they_are_cut(
            frames in prop::collection::vec((0_u8..16, prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 0..99)), 1..5),
            cuts in prop::collection::vec(1_usize..50, 1..20),
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(|(marks, context, body)| packed(*marks, context, body)).collect();
            let (mut decoder, mut input) = (Decoder::default(), BytesMut::new());
            let (mut found, mut body) = (Vec::new(), Vec::new());
            let (mut rest, mut cuts) = (&bytes[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, remaining) = rest.split_at(rest.len().min(*cuts.next().expect("endless")));
                input.extend_from_slice(piece);
                rest = remaining;
                while let Some(part) = decoder.next(&mut input).expect("valid") {
                    match part {
                        Part::Start { kind, context, body: size, .. } => {
                            prop_assert_eq!(kind, Kind::Message);
                            found.push((0, context.to_vec(), size as usize));
                        }
                        Part::Body(piece) => body.extend_from_slice(&piece),
                        Part::End(marks) => {
                            let last = found.last_mut().expect("it has started");
                            prop_assert_eq!(last.2, body.len());
                            last.0 = marks;
                            prop_assert_eq!(&std::mem::take(&mut body), &frames[found.len() - 1].2);
                        }
                    }
                }
            }
            prop_assert!(decoder.is_between() && input.is_empty());
            let heads: Vec<_> = frames.into_iter().map(|(marks, context, body)| (marks, context, body.len())).collect();
            prop_assert_eq!(found, heads);
        }

        #[test]
        fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = all(&mut BytesMut::from(&bytes[..]), &mut Decoder::default());
        }
    }
}
