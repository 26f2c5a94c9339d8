//! Bodies of requests, whichever protocol they come by.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::server::RequestStream;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};

/// The body of a request on its way in.
pub(crate) enum Incoming {
    /// HTTP/1 and HTTP/2.
    Hyper(hyper::body::Incoming),
    Http3(Box<Upload>),
}

/// The body is malformed or ended early.
#[derive(Debug, thiserror::Error)]
#[error("the body is malformed or ended early")]
pub(crate) struct Broken;

impl From<hyper::body::Incoming> for Incoming {
    fn from(body: hyper::body::Incoming) -> Self {
        Self::Hyper(body)
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Hyper(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|_| Broken))),
            Self::Http3(upload) => upload
                .poll_data(cx)
                .map(|data| data.map(|data| data.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Hyper(body) => body.is_end_stream(),
            Self::Http3(upload) => upload.ended && upload.first.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Hyper(body) => body.size_hint(),
            Self::Http3(upload) => upload.size_hint(),
        }
    }
}

/// The body of an HTTP/3 request. Trailers are dropped.
pub(crate) struct Upload {
    stream: RequestStream<h3_quinn::RecvStream, Bytes>,
    /// What came along with the header.
    first: Option<Bytes>,
    /// Bytes that `Content-Length` still promises.
    left: Option<u64>,
    ended: bool,
}

impl Upload {
    /// `None`: the length in `headers` is none.
    pub(super) fn new(
        stream: RequestStream<h3_quinn::RecvStream, Bytes>,
        headers: &HeaderMap,
    ) -> Option<Self> {
        Some(Self {
            stream,
            first: None,
            left: length(headers).ok()?,
            ended: false,
        })
    }

    /// Takes what is there already, so that a request without a body is known to have none.
    pub(super) fn look(&mut self, cx: &mut Context<'_>) -> Result<(), Broken> {
        match self.poll_data(cx) {
            Poll::Ready(Some(Ok(data))) => self.first = Some(data),
            Poll::Ready(Some(Err(error))) => return Err(error),
            Poll::Ready(None) | Poll::Pending => {}
        }
        Ok(())
    }

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let received = ready!(self.stream.poll_recv_data(cx));
        let Ok(Some(mut data)) = received else {
            self.ended = true;
            let complete = received.is_ok() && self.left.unwrap_or(0) == 0;
            return Poll::Ready((!complete).then_some(Err(Broken)));
        };
        let data = data.copy_to_bytes(data.remaining());
        if let Some(left) = &mut self.left {
            let Some(less) = left.checked_sub(data.len() as u64) else {
                self.ended = true;
                return Poll::Ready(Some(Err(Broken)));
            };
            *left = less;
        }
        Poll::Ready(Some(Ok(data)))
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, Bytes::len) as u64;
        let mut hint = SizeHint::default();
        match self.left {
            Some(left) => hint.set_exact(first + left),
            None if self.ended => hint.set_exact(first),
            None => hint.set_lower(first),
        }
        hint
    }
}

/// The length that the header tells, if it does; every field has to tell the same.
fn length(headers: &HeaderMap) -> Result<Option<u64>, Broken> {
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
