//! The layout of variables in the request area: `struct howdah_var` of `worker/include/howdah_shm.h`.
//!
//! ```text
//! id: u16 | name_size: u16 | value_size: u32 | [name NUL] | value NUL | zeros up to a multiple of 4
//! ```
//!
//! Little endian. The name is present only if `id` is 0.

use crate::{Error, vars};

/// Bytes before the name or value of a record.
pub(crate) const HEADER_SIZE: usize = 8;

/// The most bytes that a record needs beyond its name and value: header, two NULs, padding.
pub(crate) const OVERHEAD: usize = HEADER_SIZE + 2 + 3;

/// Appends a record with a number; its value is the joined parts, which contain no NUL.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, id: u16, parts: &[&[u8]]) -> Result<(), Error> {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let value_size = value_size(id, size)?;
    out.reserve(size + OVERHEAD);
    out.extend_from_slice(&header(id, 0, value_size));
    for part in parts {
        out.extend_from_slice(part);
    }
    finish(out, size);
    Ok(())
}

/// Appends a record with a number; `value` appends its value, without NUL.
pub(crate) fn put_with(
    out: &mut Vec<u8>,
    id: u16,
    value: impl FnOnce(&mut Vec<u8>),
) -> Result<(), Error> {
    let start = out.len();
    out.extend_from_slice(&header(id, 0, 0));
    value(out);
    let size = out.len() - start - HEADER_SIZE;
    let header = header(id, 0, value_size(id, size)?);
    out[start..start + HEADER_SIZE].copy_from_slice(&header);
    finish(out, size);
    Ok(())
}

/// Appends a record with a name. `name` writes `name_size` bytes without a NUL.
#[inline]
pub(crate) fn put_named(
    out: &mut Vec<u8>,
    name_size: usize,
    name: impl FnOnce(&mut Vec<u8>),
    value: &[u8],
) -> Result<(), Error> {
    let name_size_field = u16::try_from(name_size).map_err(|_| Error::NameTooLong)?;
    let value_size = value_size(vars::LITERAL, value.len())?;
    out.reserve(name_size + value.len() + OVERHEAD);
    out.extend_from_slice(&header(vars::LITERAL, name_size_field, value_size));
    name(out);
    out.push(0);
    out.extend_from_slice(value);
    finish(out, name_size + 1 + value.len());
    Ok(())
}

/// Lengthens the value of the last record, which starts at `start`.
pub(crate) fn append(
    out: &mut Vec<u8>,
    start: usize,
    separator: &[u8],
    more: &[u8],
) -> Result<(), Error> {
    let (id, name_size, old) = fields(&out[start..]).ok_or(Error::ValueTooLong { id: 0 })?;
    let name_bytes = if id == vars::LITERAL {
        usize::from(name_size) + 1
    } else {
        0
    };
    let size = old as usize + separator.len() + more.len();
    let value_size = value_size(id, size)?;
    out[start..start + HEADER_SIZE].copy_from_slice(&header(id, name_size, value_size));
    out.truncate(start + HEADER_SIZE + name_bytes + old as usize);
    out.extend_from_slice(separator);
    out.extend_from_slice(more);
    finish(out, name_bytes + size);
    Ok(())
}

fn value_size(id: u16, size: usize) -> Result<u32, Error> {
    u32::try_from(size).map_err(|_| Error::ValueTooLong { id })
}

#[inline]
const fn header(id: u16, name_size: u16, value_size: u32) -> [u8; HEADER_SIZE] {
    (id as u64 | (name_size as u64) << 16 | (value_size as u64) << 32).to_le_bytes()
}

/// The NUL and the padding after `size` bytes: one to four zeros, since the header is a multiple of 4.
#[inline]
fn finish(out: &mut Vec<u8>, size: usize) {
    // Four bytes at once and some removed: cheaper than a copy of varying size.
    let end = out.len() + 4 - size % 4;
    out.extend_from_slice(&[0; 4]);
    out.truncate(end);
}

fn fields(bytes: &[u8]) -> Option<(u16, u16, u32)> {
    let fields = u64::from_le_bytes(*bytes.first_chunk::<HEADER_SIZE>()?);
    Some((fields as u16, (fields >> 16) as u16, (fields >> 32) as u32))
}

/// A variable as the other side reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number, [`vars::LITERAL`] if the record has a name.
    pub id: u16,
    /// Its name, from the table or from the record.
    pub name: &'a [u8],
    /// Its value, without the NUL.
    pub value: &'a [u8],
}

/// Why bytes are not a sequence of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the record does.
    #[error("the record at byte {0} is cut off")]
    Truncated(usize),
    /// The number is beyond the table, or a numbered record has a name, or an unnumbered one has none.
    #[error("the record at byte {0} has no valid name")]
    Name(usize),
    /// A NUL inside a name or value, a missing NUL after it, or padding that is not zero.
    #[error("the record at byte {0} is not terminated by zeros")]
    Terminator(usize),
}

/// Reads what [`crate::encode`] wrote, with every rule of the layout checked. For tests and tools: the
/// worker has its own reader.
pub fn decode(bytes: &[u8]) -> Result<Vec<Record<'_>>, DecodeError> {
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (record, size) = decode_one(&bytes[at..], at)?;
        records.push(record);
        at += size;
    }
    Ok(records)
}

fn decode_one(bytes: &[u8], at: usize) -> Result<(Record<'_>, usize), DecodeError> {
    let truncated = DecodeError::Truncated(at);
    let (id, name_size, value_size) = fields(bytes).ok_or(truncated)?;
    let mut end = HEADER_SIZE;
    let name = if id == vars::LITERAL {
        let name = bytes
            .get(end..end + usize::from(name_size))
            .ok_or(truncated)?;
        end += name.len() + 1;
        if name.is_empty() {
            return Err(DecodeError::Name(at));
        }
        if name.contains(&0) || bytes.get(end - 1).ok_or(truncated)? != &0 {
            return Err(DecodeError::Terminator(at));
        }
        name
    } else {
        match vars::name(id) {
            Some(name) if name_size == 0 => name.as_bytes(),
            _ => return Err(DecodeError::Name(at)),
        }
    };
    let start = end;
    end = start.checked_add(value_size as usize).ok_or(truncated)?;
    let value = bytes.get(start..end).ok_or(truncated)?;
    let padded = (end + 1).next_multiple_of(4);
    let zeros = bytes.get(end..padded).ok_or(truncated)?;
    if value.contains(&0) || zeros.iter().any(|b| *b != 0) {
        return Err(DecodeError::Terminator(at));
    }
    Ok((Record { id, name, value }, padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_contract() {
        let mut out = Vec::new();
        put(&mut out, 3, &[b"ab", b"c"]).unwrap();
        assert_eq!(out, [3, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c', 0]);
        out.clear();
        put(&mut out, 0x0201, &[b"abcd"]).unwrap();
        assert_eq!(
            out,
            [1, 2, 0, 0, 4, 0, 0, 0, b'a', b'b', b'c', b'd', 0, 0, 0, 0]
        );
        out.clear();
        put_named(&mut out, 2, |out| out.extend_from_slice(b"XY"), b"v").unwrap();
        assert_eq!(
            out,
            [0, 0, 2, 0, 1, 0, 0, 0, b'X', b'Y', 0, b'v', 0, 0, 0, 0]
        );
    }

    #[test]
    fn a_value_grows_in_place() {
        for first in ["", "a", "ab", "abc", "abcd"] {
            let mut out = Vec::new();
            put(&mut out, 1, &[b"before"]).unwrap();
            let start = out.len();
            put(&mut out, 2, &[first.as_bytes()]).unwrap();
            append(&mut out, start, b", ", b"second").unwrap();
            append(&mut out, start, b", ", b"").unwrap();
            let records = decode(&out).unwrap();
            assert_eq!(records[0].value, b"before");
            assert_eq!(records[1].value, format!("{first}, second, ").as_bytes());

            out.truncate(start);
            put_named(&mut out, 1, |out| out.push(b'N'), first.as_bytes()).unwrap();
            append(&mut out, start, b"; ", b"second").unwrap();
            assert_eq!(
                decode(&out).unwrap()[1].value,
                format!("{first}; second").as_bytes()
            );
        }
    }

    #[test]
    fn names_beyond_16_bits_are_refused() {
        let mut out = Vec::new();
        let name = vec![b'N'; 65536];
        let put = put_named(
            &mut out,
            name.len(),
            |out| out.extend_from_slice(&name),
            b"",
        );
        assert_eq!(put, Err(Error::NameTooLong));
        assert!(out.is_empty());
    }

    #[test]
    fn broken_records_are_distinguished() {
        let cases: &[(&[u8], DecodeError)] = &[
            (&[1], DecodeError::Truncated(0)),
            (&[1, 0, 0, 0, 1, 0, 0, 0], DecodeError::Truncated(0)),
            (
                &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
                DecodeError::Truncated(0),
            ),
            (&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], DecodeError::Truncated(0)),
            (
                &[0, 0, 9, 0, 0, 0, 0, 0, b'a', 0, 0, 0],
                DecodeError::Truncated(0),
            ),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], DecodeError::Name(0)),
            (&[1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], DecodeError::Name(0)),
            (
                &[255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                DecodeError::Name(0),
            ),
            (
                &[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
                DecodeError::Terminator(0),
            ),
            (
                &[1, 0, 0, 0, 1, 0, 0, 0, b'a', b'b', 0, 0],
                DecodeError::Terminator(0),
            ),
            (
                &[0, 0, 1, 0, 1, 0, 0, 0, b'a', b'b', b'c', 0],
                DecodeError::Terminator(0),
            ),
            (
                &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                DecodeError::Truncated(12),
            ),
        ];
        for (bytes, error) in cases {
            assert_eq!(decode(bytes), Err(*error), "{bytes:?}");
        }
    }
}
