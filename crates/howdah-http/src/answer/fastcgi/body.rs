//! The body that a FastCGI server sends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf, ReadHalf};
use tokio::time::Sleep;

use super::problems::Problems;
use super::record::{Decoder, Record};
use super::send::SendTask;
use super::transfer::{READ, Transfer, timed_out};
use crate::answer::upstream::Stream;
use crate::answer::upstream::state::ActiveRequest;

/// The body of a response.
pub(super) struct Output {
    /// Bytes that arrived together with the header.
    first: Bytes,
    /// Bytes that `Content-Length` still promises; `None`: it is missing.
    remaining: Option<u64>,
    reader: ReadHalf<Stream>,
    decoder: Decoder,
    scratch: Box<[u8; READ]>,
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    is_over: bool,
    /// Part of the body was left out.
    is_cut: bool,
    problems: Problems,
    sending: SendTask,
    _active: Option<ActiveRequest>,
}

impl Output {
    pub(super) fn new(first: Bytes, length: Option<u64>, transfer: Transfer) -> Self {
        Self {
            first,
            remaining: length,
            reader: transfer.reader,
            decoder: transfer.decoder,
            scratch: Box::new([0; READ]),
            limit: transfer.limit,
            timer: None,
            is_over: false,
            is_cut: false,
            problems: transfer.problems,
            sending: transfer.sending,
            _active: None,
        }
    }

    /// Counts the response among the active requests of its upstream.
    pub(super) fn counted(self, active: ActiveRequest) -> Self {
        Self {
            _active: Some(active),
            ..self
        }
    }

    /// The next part; `None` at the end. Bytes beyond `Content-Length` are discarded, as by nginx: a client would read
    /// them as the next response.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let Some(part) = ready!(self.poll_part(cx)?) else {
                return match self.remaining.take() {
                    Some(1..) => {
                        self.fail(io::Error::other("it is shorter than its Content-Length"))
                    }
                    _ => Poll::Ready(None),
                };
            };
            let part = self.truncate_to_length(part);
            if !part.is_empty() {
                return Poll::Ready(Some(Ok(part)));
            }
        }
    }

    /// Truncates a part to the length that the header has promised.
    fn truncate_to_length(&mut self, mut part: Bytes) -> Bytes {
        let Some(remaining) = self.remaining else {
            return part;
        };
        let length = part.len() as u64;
        self.remaining = Some(remaining.saturating_sub(length));
        if length <= remaining {
            return part;
        }
        if let Some(id) = self
            .problems
            .id
            .filter(|_| !std::mem::replace(&mut self.is_cut, true))
        {
            let request_id = format_args!("{id:016x}");
            tracing::warn!(target: "howdah::php", %request_id, "a response is longer than its Content-Length; \
                dropped the rest");
        }
        // Shorter than the part.
        part.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        part
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
        }
        while !self.is_over {
            match self.decoder.next() {
                Ok(Some(Record::Output(part))) => return Poll::Ready(Some(Ok(part))),
                Ok(Some(Record::Error(text))) => {
                    self.problems.add(&text);
                    continue;
                }
                Ok(Some(Record::End(_))) => {
                    self.is_over = true;
                    break;
                }
                Ok(None) => {}
                Err(error) => return self.fail(io::Error::other(error)),
            }
            let mut buffer = ReadBuf::new(&mut self.scratch[..]);
            match Pin::new(&mut self.reader).poll_read(cx, &mut buffer) {
                // The body has its full length.
                Poll::Ready(Ok(())) if buffer.filled().is_empty() && self.remaining == Some(0) => {
                    self.is_over = true;
                }
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return self.fail(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Ready(Ok(())) => {
                    self.decoder.push(buffer.filled());
                    self.timer = None;
                }
                Poll::Ready(Err(error)) => return self.fail(error),
                Poll::Pending => {
                    if let Poll::Ready(failure) = self.sending.poll_failure(cx) {
                        return self.fail(io::Error::other(failure));
                    }
                    let Some(limit) = self.limit else {
                        return Poll::Pending;
                    };
                    let timer = self
                        .timer
                        .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                    if timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    return self.fail(timed_out());
                }
            }
        }
        Poll::Ready(None)
    }

    fn fail(&mut self, error: io::Error) -> Poll<Option<io::Result<Bytes>>> {
        self.is_over = true;
        if let Some(id) = self.problems.id {
            let request_id = format_args!("{id:016x}");
            tracing::warn!(target: "howdah::php", %request_id, %error, "a response of the FastCGI server was cut off");
        }
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for Output {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut()
            .poll(cx)
            .map(|part| part.map(|part| part.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over && self.first.is_empty() && !matches!(self.remaining, Some(1..))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
