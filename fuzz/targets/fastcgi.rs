//! `howdah_http`: output of a FastCGI upstream, as records that contain the response of a CGI
//! script.
//!
//! The first three bytes are the positions at which the rest is split.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/fastcgi/head.rs"]
mod head;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/fastcgi/record.rs"]
mod record;

use record::{Decoder, Record};

/// Contents of the records, and whether there was an error or an incomplete record.
#[derive(Debug, Default, PartialEq)]
struct Read {
    output: Vec<u8>,
    errors: Vec<u8>,
    ends: Vec<u8>,
    is_wrong: bool,
    is_partial: bool,
}

fuzz_target!(|data: &[u8]| {
    let Some((cuts, bytes)) = data.split_at_checked(3) else {
        return;
    };
    let mut places = [cuts[0], cuts[1], cuts[2]].map(|cut| usize::from(cut).min(bytes.len()));
    places.sort_unstable();
    let [first, second, third] = places;
    let pieces = [
        &bytes[..first],
        &bytes[first..second],
        &bytes[second..third],
        &bytes[third..],
    ];
    let whole = read([bytes].into_iter());
    assert_eq!(whole, plain(bytes));
    assert_eq!(whole, read(pieces.into_iter()));
    assert_eq!(whole, read(bytes.chunks(1)));
    check_head(&whole.output);
    // Most inputs are not records, but any input may be a header.
    check_head(bytes);
    check_request(&pieces);
});

fn read<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> Read {
    let mut decoder = Decoder::default();
    let mut read = Read::default();
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(None) => break,
                Ok(Some(Record::Output(part))) => {
                    assert!(!part.is_empty());
                    read.output.extend_from_slice(&part);
                }
                Ok(Some(Record::Error(part))) => read.errors.extend_from_slice(&part),
                Ok(Some(Record::End(status))) => read.ends.push(status),
                Err(_) => {
                    read.is_wrong = true;
                    return read;
                }
            }
        }
    }
    read.is_partial = decoder.is_partial();
    read
}

/// Reference implementation: reads the records one after another.
fn plain(mut bytes: &[u8]) -> Read {
    let mut read = Read::default();
    while let [version, kind, _, _, high, low, padding, _, rest @ ..] = bytes {
        if *version != 1 {
            read.is_wrong = true;
            return read;
        }
        let size = usize::from(*high) * 256 + usize::from(*low);
        let Some((content, rest)) = rest.split_at_checked(size) else {
            break;
        };
        let Some((_, rest)) = rest.split_at_checked(usize::from(*padding)) else {
            break;
        };
        bytes = rest;
        match (kind, content) {
            (6, content) => read.output.extend_from_slice(content),
            (7, content) => read.errors.extend_from_slice(content),
            (3, [_, _, _, _, status, ..]) => read.ends.push(*status),
            (3, _) => {
                read.is_wrong = true;
                return read;
            }
            _ => {}
        }
    }
    read.is_partial = !bytes.is_empty();
    read
}

fn check_head(bytes: &[u8]) {
    let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
    let blank = |line: &&[u8]| matches!(*line, b"\n" | b"\r\n");
    let end = lines()
        .position(|line| blank(&line))
        .map(|before| lines().take(before + 1).map(<[u8]>::len).sum::<usize>());
    assert_eq!(head::end(bytes), end);
    let start = &bytes[..end.unwrap_or(bytes.len())];
    let is_status = |line: &[u8]| {
        let name = line.split(|byte| *byte == b':').next();
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"status"))
    };
    let Ok((status, mut headers, bad)) = head::parse(start) else {
        assert!(start.split(|byte| *byte == b'\n').any(is_status));
        return;
    };
    assert!(
        status.as_u16() >= 200,
        "an interim response is not the final one"
    );
    let filled = start
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    assert!(headers.len() + bad <= filled.count());

    // A header that is written and parsed again is unchanged.
    let mut text = format!("Status: {}\r\n", status.as_u16()).into_bytes();
    for (name, value) in &headers {
        assert_ne!(name, "status");
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend(b"\r\nbody");
    assert_eq!(head::end(&text), Some(text.len() - 4));
    let again = head::parse(&text[..text.len() - 4]);
    assert_eq!(again, Ok((status, headers.clone(), 0)));

    // Afterwards it has at most one length.
    let length = head::normalize_length(&mut headers).unwrap_or(None);
    let declared = headers
        .get_all("content-length")
        .iter()
        .map(|value| value.to_str().unwrap());
    assert!(
        declared.eq(length
            .map(|length| length.to_string())
            .iter()
            .map(String::as_str))
    );
}

/// Variables and a body that are sent must reach an upstream unchanged.
fn check_request(pieces: &[&[u8]; 4]) {
    let [a, b, c, d] = *pieces;
    let pairs = [(a, b), (c, d), (b"", c)];
    let mut out = Vec::new();
    record::begin(&mut out);
    record::params(pairs.into_iter(), &mut out);
    let content: Vec<u8> = records(&out, &[1, 4]).concat();
    let (start, mut content) = content.split_at(8);
    assert_eq!(start, [0, 1, 0, 0, 0, 0, 0, 0]);
    for (name, value) in pairs {
        let sizes = [size(&mut content), size(&mut content)];
        assert_eq!(sizes, [name.len(), value.len()]);
        let (found, rest) = content.split_at(name.len() + value.len());
        assert_eq!(found, [name, value].concat());
        content = rest;
    }
    assert!(content.is_empty());

    // In some runs the body is long enough for several records.
    let body = Bytes::from(a.repeat(1 + 512 * usize::from(b.len() == 7)));
    let mut out = Vec::new();
    for (header, content) in record::stdin(&body) {
        out.extend([&header[..], &content].concat());
    }
    out.extend(record::stdin_end());
    let read: Vec<u8> = records(&out, &[5]).concat();
    assert_eq!(read, body);
}

/// Contents of records of these kinds. The last record, and only the last, is empty.
fn records(mut bytes: &[u8], kinds: &[u8]) -> Vec<Vec<u8>> {
    let mut contents = Vec::new();
    while let [1, kind, 0, 1, high, low, 0, 0, rest @ ..] = bytes {
        assert!(kinds.contains(kind));
        let (content, rest) = rest.split_at(usize::from(*high) * 256 + usize::from(*low));
        assert_eq!(content.is_empty(), rest.is_empty());
        contents.push(content.to_vec());
        bytes = rest;
    }
    assert!(bytes.is_empty(), "bytes outside of records were written");
    contents
}

fn size(content: &mut &[u8]) -> usize {
    let (size, rest) = match **content {
        [size, ..] if size < 0x80 => (usize::from(size), &content[1..]),
        [a, b, c, d, ..] => {
            let size = u32::from_be_bytes([a & 0x7f, b, c, d]);
            (size as usize, &content[4..])
        }
        _ => panic!("a size is missing"),
    };
    *content = rest;
    size
}
