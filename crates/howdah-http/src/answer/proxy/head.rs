//! Checks the header of an upstream's response. hyper has refused what is not HTTP; this module refuses what two
//! recipients could interpret differently (RFC 9112 §6.3).

use http::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Response, StatusCode, Version};

use crate::message::incoming::length;

/// Why a response is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FramingError {
    #[error("its response has a Content-Length that is not one number")]
    Length,
    #[error("its response has a Transfer-Encoding that is not `chunked`")]
    Encoding,
    #[error("it switched to a protocol that the client did not request")]
    Switch,
}

/// Whether the connection may carry another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Kept,
    Once,
}

/// Leaves at most one `Content-Length` in the header, and none with `Transfer-Encoding`, which determined how the body
/// was read. `asked`: the protocol of the request's `Upgrade`.
pub(super) fn check<B>(
    response: &mut Response<B>,
    requested: Option<&HeaderValue>,
) -> Result<Trust, FramingError> {
    let (status, version) = (response.status(), response.version());
    *response.version_mut() = Version::HTTP_11; // the connection's own; the client's version is independent of it
    let headers = response.headers_mut();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let is_requested = requested.is_some_and(|requested| {
            let protocol = headers.get(UPGRADE).map(HeaderValue::as_bytes);
            protocol.is_some_and(|protocol| protocol.eq_ignore_ascii_case(requested.as_bytes()))
        });
        return is_requested
            .then_some(Trust::Once)
            .ok_or(FramingError::Switch);
    }
    let length = length(headers).map_err(|_| FramingError::Length)?;
    let is_encoded = is_chunked(headers)?;
    match length {
        // A response without a body has no Content-Length (RFC 9110 §8.6).
        Some(length) if !is_encoded && status != StatusCode::NO_CONTENT => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        _ => {
            headers.remove(CONTENT_LENGTH);
        }
    }
    // With both, recipients may disagree about where the next response begins. And hyper would continue with HTTP/1.0,
    // which leaves out a body of unknown length.
    let is_doubtful = is_encoded && length.is_some();
    if is_doubtful || version == Version::HTTP_10 {
        return Ok(Trust::Once);
    }
    Ok(Trust::Kept)
}

/// Whether the body was chunked. Other encodings were not requested, and could not be decoded here.
fn is_chunked(headers: &HeaderMap) -> Result<bool, FramingError> {
    let mut values = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(encoding) = values.next() else {
        return Ok(false);
    };
    let is_chunked = encoding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if is_chunked && values.next().is_none() {
        Ok(true)
    } else {
        Err(FramingError::Encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: &str = "content-length";
    const ENCODING: &str = "transfer-encoding";

    fn checked(
        (status, version): (u16, Version),
        fields: &[(&'static str, &'static str)],
    ) -> Result<(Trust, Vec<u64>), FramingError> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        *response.version_mut() = version;
        for (name, value) in fields {
            let value = HeaderValue::from_static(value);
            response.headers_mut().append(*name, value);
        }
        let websocket = HeaderValue::from_static("websocket");
        let trust = check(&mut response, Some(&websocket))?;
        assert_eq!(response.version(), Version::HTTP_11);
        let lengths = response.headers().get_all(LENGTH).iter();
        let number = |value: &HeaderValue| value.to_str().unwrap().parse().unwrap();
        Ok((trust, lengths.map(number).collect()))
    }

    #[test]
    fn there_is_one_length_or_none() {
        let usual = (200, Version::HTTP_11);
        let kept = |lengths: &[u64]| Ok((Trust::Kept, lengths.to_vec()));
        let once = |lengths: &[u64]| Ok((Trust::Once, lengths.to_vec()));
        let old = (200, Version::HTTP_10);
        for (line, fields, expected) in [
            (usual, &[][..], kept(&[])),
            (usual, &[(LENGTH, "5")], kept(&[5])),
            (usual, &[(LENGTH, "5"), (LENGTH, "005")], kept(&[5])),
            (
                usual,
                &[(LENGTH, "5"), (LENGTH, "6")],
                Err(FramingError::Length),
            ),
            (usual, &[(LENGTH, "5, 5")], Err(FramingError::Length)),
            (usual, &[(LENGTH, "+5")], Err(FramingError::Length)),
            (usual, &[(LENGTH, "")], Err(FramingError::Length)),
            (usual, &[(LENGTH, "0x5")], Err(FramingError::Length)),
            (
                usual,
                &[(LENGTH, "99999999999999999999")],
                Err(FramingError::Length),
            ),
            (usual, &[(ENCODING, "chunked")], kept(&[])),
            (usual, &[(ENCODING, "Chunked"), (LENGTH, "5")], once(&[])),
            (
                usual,
                &[(ENCODING, "gzip, chunked")],
                Err(FramingError::Encoding),
            ),
            (
                usual,
                &[(ENCODING, "identity")],
                Err(FramingError::Encoding),
            ),
            (
                usual,
                &[(ENCODING, "chunked"), (ENCODING, "chunked")],
                Err(FramingError::Encoding),
            ),
            (
                usual,
                &[(ENCODING, "chunked"), (LENGTH, "x")],
                Err(FramingError::Length),
            ),
            ((204, Version::HTTP_11), &[(LENGTH, "5")], kept(&[])),
            ((304, Version::HTTP_11), &[(LENGTH, "5")], kept(&[5])),
            (
                old,
                &[(LENGTH, "5"), ("connection", "keep-alive")],
                once(&[5]),
            ),
            (
                (101, Version::HTTP_11),
                &[("upgrade", "WebSocket")],
                once(&[]),
            ),
            (
                (101, Version::HTTP_11),
                &[("upgrade", "h2c")],
                Err(FramingError::Switch),
            ),
            ((101, Version::HTTP_11), &[], Err(FramingError::Switch)),
        ] {
            assert_eq!(checked(line, fields), expected, "{line:?} {fields:?}");
        }
    }
}
