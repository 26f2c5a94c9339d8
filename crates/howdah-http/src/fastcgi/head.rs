//! The header of a CGI response (RFC 3875 §6).

use http::header::{HeaderName, HeaderValue, LOCATION};
use http::{HeaderMap, StatusCode};

/// Bytes of a header; more is no response. So many have fewer names than a map has room for, which would
/// panic.
pub(super) const SIZE_MAX: usize = 64 << 10;

/// Where the header ends and the body starts, if it is there as a whole.
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    for at in memchr::memchr_iter(b'\n', bytes) {
        let line = &bytes[start..at];
        if line.is_empty() || line == b"\r" {
            return Some(at + 1);
        }
        start = at + 1;
    }
    None
}

/// Status and fields of at most [`SIZE_MAX`] bytes. What is no field is left out and counted.
pub(super) fn parse(bytes: &[u8]) -> (StatusCode, HeaderMap, usize) {
    let mut status = None;
    let mut headers = HeaderMap::new();
    let mut bad = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let Some(colon) = memchr::memchr(b':', line) else {
            bad += 1;
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"status") {
            let code = value.split(|byte| *byte == b' ').next().unwrap_or_default();
            status = StatusCode::from_bytes(code)
                .ok()
                .filter(|status| !status.is_informational());
            bad += usize::from(status.is_none());
            continue;
        }
        match (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            (Ok(name), Ok(value)) => {
                headers.append(name, value);
            }
            _ => bad += 1,
        }
    }
    let default = if headers.contains_key(LOCATION) {
        StatusCode::FOUND
    } else {
        StatusCode::OK
    };
    (status.unwrap_or(default), headers, bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        for (text, rest, status, count, bad) in [
            (
                "Status: 404 Not Found\r\nA: b\r\n\r\nbody",
                "body",
                404,
                1,
                0,
            ),
            ("A: b\nA: c\n\nbody", "body", 200, 2, 0),
            ("Location: /x\r\n\r\n", "", 302, 1, 0),
            ("Status: 301\nLocation: /x\n\n", "", 301, 1, 0),
            ("\r\nbody", "body", 200, 0, 0),
            ("Status: 20\r\nno field\r\na b: c\r\n\r\n", "", 200, 0, 3),
        ] {
            let end = end(text.as_bytes()).unwrap();
            assert_eq!(&text[end..], rest, "{text}");
            let (code, headers, wrong) = parse(&text.as_bytes()[..end]);
            assert_eq!(
                (code.as_u16(), headers.len(), wrong),
                (status, count, bad),
                "{text}"
            );
        }
        assert_eq!(end(b"A: b\r\nC: d"), None);
    }

    #[test]
    fn the_largest_header_leaves_room_for_the_fields_of_the_server() {
        // All that a name may have, so that most of them are short.
        let letters = b"abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";
        let mut text = Vec::new();
        for mut number in 1.. {
            let start = text.len();
            while number > 0 {
                text.push(letters[number % letters.len()]);
                number /= letters.len();
            }
            text.extend_from_slice(b":\n");
            if text.len() > SIZE_MAX {
                text.truncate(start);
                break;
            }
        }
        let (_, mut headers, bad) = parse(&text);
        assert_eq!(bad, 0);
        for number in 0..1000 {
            let name = HeaderName::try_from(format!("x-{number}")).expect("a name");
            headers.insert(name, HeaderValue::from_static(""));
        }
    }
}
