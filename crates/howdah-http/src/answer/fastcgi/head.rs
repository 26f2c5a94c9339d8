//! The header of a CGI response (RFC 3875 §6).

use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION};
use http::{HeaderMap, StatusCode};

/// Bytes of a header; more is not a valid response. A header of this size cannot have more names than a map has room
/// for, which would panic.
pub(super) const SIZE_MAX: usize = 64 << 10;

/// Where the header ends and the body starts, if the header is complete.
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

/// A `Status` that is not valid for a final response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Status of its response is not one of 200 to 999")]
pub(super) struct StatusError;

/// Status and fields of at most [`SIZE_MAX`] bytes. Invalid fields are left out and counted.
pub(super) fn parse(bytes: &[u8]) -> Result<(StatusCode, HeaderMap, usize), StatusError> {
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
            let code = StatusCode::from_bytes(code).ok();
            let code = code.filter(|status| !status.is_informational());
            status = Some(code.ok_or(StatusError)?);
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
    Ok((status.unwrap_or(default), headers, bad))
}

/// The length of the body by `Content-Length`, of which at most one field remains. `Err`: its value is not one number.
/// It is removed then: the end of the body is known without it.
pub(super) fn normalize_length(headers: &mut HeaderMap) -> Result<Option<u64>, HeaderValue> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    let number = |value: &HeaderValue| {
        let text = value.to_str().ok()?;
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits)
    };
    let length = number(first);
    let invalid = values
        .find(|value| number(value) != length)
        .or(length.is_none().then_some(first));
    match (invalid.cloned(), length) {
        (None, Some(length)) => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            Ok(Some(length))
        }
        (invalid, _) => {
            headers.remove(CONTENT_LENGTH);
            Err(invalid.unwrap_or(HeaderValue::from_static("")))
        }
    }
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
            ("Status: 203\r\nno field\r\na b: c\r\n\r\n", "", 203, 0, 2),
            ("Status: 200\nA: b\nStatus: 404\n\n", "", 404, 1, 0),
            ("Status: 999\n\n", "", 999, 0, 0),
        ] {
            let end = end(text.as_bytes()).unwrap();
            assert_eq!(&text[end..], rest, "{text}");
            let (code, headers, wrong) = parse(&text.as_bytes()[..end]).unwrap();
            assert_eq!(
                (code.as_u16(), headers.len(), wrong),
                (status, count, bad),
                "{text}"
            );
        }
        assert_eq!(end(b"A: b\r\nC: d"), None);
        for status in [
            "", "abc", "20", "000", "099", "1000", "100", "103", "-1", "200OK",
        ] {
            let text = format!("Status: {status}\r\n\r\n");
            assert_eq!(parse(text.as_bytes()), Err(StatusError), "{status}");
        }
    }

    #[test]
    fn lengths() {
        for (values, expected, left) in [
            (&[][..], Ok(None), None),
            (&["5"], Ok(Some(5)), Some("5")),
            (&["05", "5"], Ok(Some(5)), Some("5")),
            (&["5", "6"], Err("6"), None),
            (&["5x"], Err("5x"), None),
            (&["+5"], Err("+5"), None),
            (&["5", ""], Err(""), None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_LENGTH, HeaderValue::from_static(value));
            }
            let length = normalize_length(&mut headers);
            assert_eq!(
                length,
                expected.map_err(HeaderValue::from_static),
                "{values:?}"
            );
            let kept = headers
                .get(CONTENT_LENGTH)
                .map(|value| value.to_str().unwrap());
            assert_eq!(kept, left, "{values:?}");
        }
    }

    #[test]
    fn the_largest_header_leaves_room_for_the_fields_of_the_server() {
        // All characters that a name may have, so that most names are short.
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
        let (_, mut headers, bad) = parse(&text).unwrap();
        assert_eq!(bad, 0);
        for number in 0..1000 {
            let name = HeaderName::try_from(format!("x-{number}")).expect("a name");
            headers.insert(name, HeaderValue::from_static(""));
        }
    }
}
