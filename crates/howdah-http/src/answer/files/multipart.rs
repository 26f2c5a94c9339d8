//! Several parts of a file in one response: `multipart/byteranges`, RFC 9110 section 14.6.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::range::ByteRange;
use super::request::Source;
use crate::message::file_stream::FileStream;
use crate::message::response::Content;

/// The body to send: each part after its header, and the closing delimiter.
#[derive(Debug)]
pub(super) struct Multipart {
    boundary: String,
    parts: Vec<Part>,
    end: Bytes,
    length: u64,
}

#[derive(Debug)]
struct Part {
    head: Bytes,
    first: u64,
    length: u64,
}

impl Multipart {
    /// `ranges`: within a file of `total` bytes and of the type `kind`.
    pub(super) fn new(ranges: &[ByteRange], total: u64, kind: &HeaderValue) -> Self {
        // Random, so that no file can contain it.
        let half = || RandomState::new().hash_one(total);
        Self::with_boundary(
            format!("{:016x}{:016x}", half(), half()),
            ranges,
            total,
            kind,
        )
    }

    fn with_boundary(
        boundary: String,
        ranges: &[ByteRange],
        total: u64,
        kind: &HeaderValue,
    ) -> Self {
        // Types come from this server or from a list.
        let kind = kind.to_str().unwrap_or("application/octet-stream");
        let part = |(index, range): (usize, &ByteRange)| {
            let ByteRange { first, last } = *range;
            let line = if index == 0 { "" } else { "\r\n" };
            let head = format!(
                "{line}--{boundary}\r\nContent-Type: {kind}\r\n\
                 Content-Range: bytes {first}-{last}/{total}\r\n\r\n"
            );
            Part {
                head: head.into(),
                first,
                length: range.length(),
            }
        };
        let parts: Vec<Part> = ranges.iter().enumerate().map(part).collect();
        let end = Bytes::from(format!("\r\n--{boundary}--\r\n"));
        let inner: u64 = parts
            .iter()
            .map(|part| part.head.len() as u64 + part.length)
            .sum();
        Self {
            length: inner + end.len() as u64,
            boundary,
            parts,
            end,
        }
    }

    /// Length of the whole body.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Changes the response with the file's header into this one.
    pub(super) fn respond(
        self,
        source: Source,
        mut response: Response<Content>,
    ) -> Response<Content> {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let kind = format!("multipart/byteranges; boundary={}", self.boundary);
        // Hexadecimal digits: always a valid value.
        if let Ok(kind) = HeaderValue::try_from(kind) {
            response.headers_mut().insert(CONTENT_TYPE, kind);
        }
        *response.body_mut() = match source {
            Source::Kept(contents) => Content::Bytes(self.assemble(&contents)),
            Source::File(file) => Content::Endpoint(Box::pin(MultipartStream::new(self, file))),
        };
        response
    }

    fn assemble(&self, contents: &Bytes) -> Bytes {
        let mut whole = BytesMut::with_capacity(usize::try_from(self.length).unwrap_or(0));
        for part in &self.parts {
            whole.extend_from_slice(&part.head);
            // A range lies within the size, which is the length of the contents.
            let start = usize::try_from(part.first).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(part.length).unwrap_or(usize::MAX));
            whole.extend_from_slice(contents.get(start..end).unwrap_or_default());
        }
        whole.extend_from_slice(&self.end);
        whole.freeze()
    }
}

/// The body, from a file.
struct MultipartStream {
    file: Arc<File>,
    parts: std::vec::IntoIter<Part>,
    part: Option<FileStream>,
    end: Bytes,
    remaining: u64,
}

impl MultipartStream {
    fn new(multipart: Multipart, file: File) -> Self {
        Self {
            file: Arc::new(file),
            remaining: multipart.length,
            parts: multipart.parts.into_iter(),
            part: None,
            end: multipart.end,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.remaining == 0 {
            return Poll::Ready(None);
        }
        if let Some(part) = &mut self.part {
            if let Some(chunk) = ready!(part.poll_chunk(cx)) {
                return Poll::Ready(Some(chunk));
            }
            self.part = None;
        }
        let Some(part) = self.parts.next() else {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.end))));
        };
        let file = Arc::clone(&self.file);
        self.part = Some(FileStream::of(file, part.first, part.length));
        Poll::Ready(Some(Ok(part.head)))
    }
}

impl Body for MultipartStream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let chunk = ready!(this.poll(cx));
        match &chunk {
            Some(Ok(chunk)) => this.remaining = this.remaining.saturating_sub(chunk.len() as u64),
            // The promised bytes cannot be sent.
            Some(Err(_)) | None => this.remaining = 0,
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const EXPECTED: &str = "--b\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n\
                            --b\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n\
                            --b--\r\n";

    fn multipart() -> Multipart {
        let kind = HeaderValue::from_static("text/plain");
        Multipart::with_boundary(
            "b".into(),
            &[ByteRange::new(8, 9), ByteRange::new(0, 0)],
            10,
            &kind,
        )
    }

    #[test]
    fn parts_of_memory() {
        let multipart = multipart();
        assert_eq!(multipart.length(), EXPECTED.len() as u64);
        assert_eq!(
            multipart.assemble(&Bytes::from_static(b"0123456789")),
            EXPECTED
        );
    }

    #[tokio::test]
    async fn parts_of_a_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut stream = MultipartStream::new(multipart(), file);
        let mut seen = Vec::new();
        while !stream.is_end_stream() {
            assert_eq!(
                stream.size_hint().exact(),
                Some((EXPECTED.len() - seen.len()) as u64)
            );
            let frame = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_frame(cx)).await;
            seen.extend_from_slice(&frame.unwrap().unwrap().into_data().unwrap());
        }
        assert_eq!(seen, EXPECTED.as_bytes());
        let end = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_frame(cx)).await;
        assert!(end.is_none());
    }

    #[tokio::test]
    async fn a_file_that_has_become_shorter_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"01234567").unwrap();
        let mut stream = MultipartStream::new(multipart(), file);
        let mut last = None;
        while let Some(frame) =
            std::future::poll_fn(|cx| Pin::new(&mut stream).poll_frame(cx)).await
        {
            last = Some(frame);
        }
        let error = last.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
