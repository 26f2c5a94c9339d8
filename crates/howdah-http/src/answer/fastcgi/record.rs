//! The records of FastCGI 1.0: an encoder, and a decoder that takes bytes as they arrive.

use bytes::{Buf, Bytes, BytesMut};

const VERSION: u8 = 1;
/// There is one request per connection, so the number is constant.
const REQUEST_ID: [u8; 2] = [0, 1];
const HEADER_SIZE: usize = 8;
/// The most content of one record that needs no padding.
const CONTENT_MAX: usize = 0xfff8;

const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const RESPONDER: u8 = 1;

/// What an upstream sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    Output(Bytes),
    Error(Bytes),
    /// Protocol status; 0 means success.
    End(u8),
}

/// Bytes that are not FastCGI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordError {
    #[error("it does not speak FastCGI 1.0")]
    Version,
    #[error("it sent a record that is cut off")]
    Size,
}

fn header(kind: u8, size: usize) -> [u8; HEADER_SIZE] {
    let size = u16::try_from(size).unwrap_or(u16::MAX).to_be_bytes();
    let [high, low] = REQUEST_ID;
    [VERSION, kind, high, low, size[0], size[1], 0, 0]
}

/// Starts a request; the connection is closed after it.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&header(BEGIN_REQUEST, 8));
    out.extend_from_slice(&[0, RESPONDER, 0, 0, 0, 0, 0, 0]);
}

/// All variables, and their end.
pub(super) fn params<'v>(variables: impl Iterator<Item = (&'v [u8], &'v [u8])>, out: &mut Vec<u8>) {
    let mut content = Vec::with_capacity(2048);
    for (name, value) in variables {
        for size in [name.len(), value.len()] {
            match u8::try_from(size) {
                Ok(size) if size < 0x80 => content.push(size),
                _ => {
                    // A value of 2 GiB is impossible: headers are limited.
                    let size = u32::try_from(size).unwrap_or(u32::MAX) | 0x8000_0000;
                    content.extend_from_slice(&size.to_be_bytes());
                }
            }
        }
        content.extend_from_slice(name);
        content.extend_from_slice(value);
    }
    for part in content.chunks(CONTENT_MAX) {
        out.extend_from_slice(&header(PARAMS, part.len()));
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&header(PARAMS, 0));
}

/// Splits a part of the body into records: each header with its content.
pub(super) fn stdin(body: &Bytes) -> impl Iterator<Item = ([u8; HEADER_SIZE], Bytes)> + '_ {
    (0..body.len()).step_by(CONTENT_MAX).map(|start| {
        let part = body.slice(start..body.len().min(start + CONTENT_MAX));
        (header(STDIN, part.len()), part)
    })
}

/// The end of the body.
pub(super) fn stdin_end() -> [u8; HEADER_SIZE] {
    header(STDIN, 0)
}

/// Takes records out of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    buffer: BytesMut,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether a record is incomplete.
    pub(super) fn is_partial(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// The next complete record that has a meaning.
    pub(super) fn next(&mut self) -> Result<Option<Record>, RecordError> {
        loop {
            let Some(header) = self.buffer.first_chunk::<HEADER_SIZE>() else {
                return Ok(None);
            };
            let [version, kind, _, _, high, low, padding, _] = *header;
            if version != VERSION {
                return Err(RecordError::Version);
            }
            let size = usize::from(u16::from_be_bytes([high, low]));
            let whole = HEADER_SIZE + size + usize::from(padding);
            if self.buffer.len() < whole {
                return Ok(None);
            }
            let mut record = self.buffer.split_to(whole).freeze();
            record.advance(HEADER_SIZE);
            record.truncate(size);
            match kind {
                STDOUT if !record.is_empty() => return Ok(Some(Record::Output(record))),
                STDERR if !record.is_empty() => return Ok(Some(Record::Error(record))),
                END_REQUEST => {
                    let status = record.get(4).copied().ok_or(RecordError::Size)?;
                    return Ok(Some(Record::End(status)));
                }
                // The ends of streams, and types of later versions.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
        let mut bytes = header(kind, content.len()).to_vec();
        bytes[6] = padding;
        bytes.extend_from_slice(content);
        bytes.extend(std::iter::repeat_n(0xaa, usize::from(padding)));
        bytes
    }

    fn piece() -> impl Strategy<Value = (u8, Vec<u8>, u8)> {
        (
            prop_oneof![Just(STDOUT), Just(STDERR)],
            prop::collection::vec(any::<u8>(), 0..300),
            any::<u8>(),
        )
    }

    proptest! {
        #[test]
        fn records_come_out_however_they_come_in(
            pieces in prop::collection::vec(piece(), 0..12),
            cut in 1_usize..64,
        ) {
            let mut bytes = Vec::new();
            let mut expected = Vec::new();
            for (kind, content, padding) in pieces {
                bytes.extend(record(kind, &content, padding));
                if !content.is_empty() {
                    let content = Bytes::from(content);
                    expected.push(if kind == STDOUT {
                        Record::Output(content)
                    } else {
                        Record::Error(content)
                    });
                }
            }
            bytes.extend(record(END_REQUEST, &[0, 0, 0, 7, 3, 0, 0, 0], 0));
            expected.push(Record::End(3));
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for part in bytes.chunks(cut) {
                decoder.push(part);
                while let Some(record) = decoder.next().unwrap() {
                    found.push(record);
                }
            }
            prop_assert_eq!(found, expected);
            prop_assert!(!decoder.is_partial());
        }

        #[test]
        fn any_bytes_have_an_end(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            let mut records = 0;
            while let Ok(Some(_)) = decoder.next() {
                records += 1;
            }
            prop_assert!(records <= bytes.len() / HEADER_SIZE);
        }

        #[test]
        fn variables_survive(
            variables in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..200), any::<u8>(), 0..70_000_usize),
                0..4,
            ),
        ) {
            let variables: Vec<(Vec<u8>, Vec<u8>)> = variables
                .into_iter()
                .map(|(name, byte, length)| (name, vec![byte; length]))
                .collect();
            let mut out = Vec::new();
            params(variables.iter().map(|(name, value)| (&name[..], &value[..])), &mut out);
            // Join the records, then read the pairs back.
            let (mut content, mut rest) = (Vec::new(), &out[..]);
            loop {
                let size = usize::from(u16::from_be_bytes([rest[4], rest[5]]));
                prop_assert_eq!(rest[1], PARAMS);
                content.extend_from_slice(&rest[8..8 + size]);
                rest = &rest[8 + size..];
                if size == 0 {
                    break;
                }
            }
            prop_assert!(rest.is_empty());
            let mut content = &content[..];
            let size = |content: &mut &[u8]| {
                if content[0] < 0x80 {
                    usize::from(content.get_u8())
                } else {
                    (content.get_u32() & 0x7fff_ffff) as usize
                }
            };
            for (name, value) in &variables {
                let (names, values) = (size(&mut content), size(&mut content));
                prop_assert_eq!(&content[..names], &name[..]);
                prop_assert_eq!(&content[names..names + values], &value[..]);
                content = &content[names + values..];
            }
            prop_assert!(content.is_empty());
        }
    }

    #[test]
    fn invalid_fastcgi_is_an_error() {
        let mut decoder = Decoder::default();
        decoder.push(b"HTTP/1.1 400 Bad");
        assert_eq!(decoder.next(), Err(RecordError::Version));
        let mut decoder = Decoder::default();
        decoder.push(&record(END_REQUEST, &[0, 0], 0));
        assert_eq!(decoder.next(), Err(RecordError::Size));
    }
}
