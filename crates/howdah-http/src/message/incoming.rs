//! Bodies of requests, whatever the protocol.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};

/// The body of a request while it arrives.
pub(crate) enum Incoming {
    Http1(hyper::body::Incoming),
    Http2(Upload),
    Http3(Upload),
    /// It was read before, because a placeholder needed it.
    Read(Bytes),
    /// The stream ended with its header: there is no body.
    Empty,
}

/// The body of a request on a stream of HTTP/2 or HTTP/3.
pub(crate) type Upload = Pin<Box<dyn Body<Data = Bytes, Error = MalformedBody> + Send>>;

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the body did not arrive in time")]
    Timeout,
    #[error("the body is malformed or ended early")]
    Client,
    #[error("the body cannot be stored")]
    Storage(#[source] io::Error),
}

/// The body is malformed or ended early.
#[derive(Debug, thiserror::Error)]
#[error("the body is malformed or ended early")]
pub(crate) struct MalformedBody;

impl Body for Incoming {
    type Data = Bytes;
    type Error = MalformedBody;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, MalformedBody>>> {
        match self.get_mut() {
            Self::Http1(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|_| MalformedBody))),
            Self::Http2(upload) | Self::Http3(upload) => upload.as_mut().poll_frame(cx),
            Self::Read(body) if !body.is_empty() => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(body)))))
            }
            Self::Read(_) | Self::Empty => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(body) => body.is_end_stream(),
            Self::Http2(upload) | Self::Http3(upload) => upload.is_end_stream(),
            Self::Read(body) => body.is_empty(),
            Self::Empty => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(body) => body.size_hint(),
            Self::Http2(upload) | Self::Http3(upload) => upload.size_hint(),
            Self::Read(body) => SizeHint::with_exact(body.len() as u64),
            Self::Empty => SizeHint::with_exact(0),
        }
    }
}

/// The value of `Content-Length`, if present; all its fields must agree.
pub(crate) fn length(headers: &HeaderMap) -> Result<Option<u64>, MalformedBody> {
    let mut declared = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        let digits = value.as_bytes();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(MalformedBody);
        }
        let text = value.to_str().map_err(|_| MalformedBody)?;
        let length: u64 = text.parse().map_err(|_| MalformedBody)?;
        if declared
            .replace(length)
            .is_some_and(|known| known != length)
        {
            return Err(MalformedBody);
        }
    }
    Ok(declared)
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
