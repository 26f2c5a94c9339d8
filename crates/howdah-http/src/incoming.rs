//! Bodies of requests, whichever protocol they come by.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};

use crate::{http2, http3};

/// The body of a request on its way in.
pub(crate) enum Incoming {
    Http1(hyper::body::Incoming),
    Http2(http2::Upload),
    Http3(Box<http3::Upload>),
}

/// The body is malformed or ended early.
#[derive(Debug, thiserror::Error)]
#[error("the body is malformed or ended early")]
pub(crate) struct Broken;

impl Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Http1(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|_| Broken))),
            Self::Http2(upload) => upload.poll_frame(cx),
            Self::Http3(upload) => upload.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(body) => body.is_end_stream(),
            Self::Http2(upload) => upload.is_end_stream(),
            Self::Http3(upload) => upload.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(body) => body.size_hint(),
            Self::Http2(upload) => upload.size_hint(),
            Self::Http3(upload) => upload.size_hint(),
        }
    }
}

/// The length that the header tells, if it does; every field has to tell the same.
pub(crate) fn length(headers: &HeaderMap) -> Result<Option<u64>, Broken> {
    let mut told = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        let digits = value.as_bytes();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Broken);
        }
        let text = value.to_str().map_err(|_| Broken)?;
        let length: u64 = text.parse().map_err(|_| Broken)?;
        if told.replace(length).is_some_and(|known| known != length) {
            return Err(Broken);
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_numbers_and_agree() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_LENGTH, http::HeaderValue::from_static(value));
            }
            length(&headers).ok()
        };
        assert_eq!(of(&[]), Some(None));
        assert_eq!(of(&["12"]), Some(Some(12)));
        assert_eq!(of(&["12", "12"]), Some(Some(12)));
        for wrong in [&["12", "13"][..], &["+1"], &["1, 1"], &[""], &["-1"]] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }
}
