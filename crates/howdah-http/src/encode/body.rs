//! Bodies whose start was read in advance, and bodies that are compressed while they are sent.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::cache::Recorder;
use super::coder::Coder;
use super::stream::{Encoder, FlushMode};
use crate::message::response::Source;

/// Bytes that are compressed without a pause, in which other connections can run: with the slowest
/// formats this takes a millisecond or two.
pub(super) const SLICE: usize = 64 << 10;
/// Compressed bytes that are passed on at a time.
const FRAME: usize = 16 << 10;

/// A body, and the start that was read from it.
pub(crate) struct PeekedBody<B> {
    start: VecDeque<Bytes>,
    length: usize,
    rest: Source<B>,
    /// There is nothing after the start.
    ended: bool,
    /// What came in place of more data: an error, or a frame of a different kind.
    stopped_by: Option<Result<Frame<Bytes>, io::Error>>,
}

impl<B> PeekedBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    pub(super) fn new(rest: Source<B>) -> Self {
        Self {
            start: VecDeque::new(),
            length: 0,
            rest,
            ended: false,
            stopped_by: None,
        }
    }

    /// Reads what is available, up to a little more than `limit` bytes, without waiting.
    pub(super) fn fill(&mut self, cx: &mut Context<'_>, limit: usize) {
        while !self.ended && self.stopped_by.is_none() && self.length <= limit {
            if self.rest.is_end_stream() {
                self.ended = true;
                return;
            }
            match self.rest.poll_frame(cx) {
                Poll::Pending => return,
                Poll::Ready(None) => self.ended = true,
                Poll::Ready(Some(Err(error))) => self.stopped_by = Some(Err(error)),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        self.length += data.len();
                        self.start.push_back(data);
                    }
                    Err(frame) => self.stopped_by = Some(Ok(frame)),
                },
            }
        }
    }

    /// The whole body, if all of it was read and it has up to `limit` bytes.
    pub(super) fn whole(&mut self, limit: usize) -> Option<Bytes> {
        if !self.ended || self.length > limit {
            return None;
        }
        if self.start.len() > 1 {
            let mut whole = Vec::with_capacity(self.length);
            for chunk in self.start.drain(..) {
                whole.extend_from_slice(&chunk);
            }
            self.start.push_back(whole.into());
        }
        Some(self.start.front().cloned().unwrap_or_default())
    }

    /// Up to `limit` bytes of the start.
    pub(super) fn sample(&self, limit: usize) -> Bytes {
        match self.start.front() {
            Some(first) if first.len() >= limit || self.start.len() == 1 => {
                first.slice(..first.len().min(limit))
            }
            _ => {
                let mut sample = Vec::with_capacity(limit.min(self.length));
                for chunk in &self.start {
                    let room = limit - sample.len();
                    sample.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
                sample.into()
            }
        }
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(chunk) = self.start.pop_front() {
            self.length -= chunk.len();
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if let Some(stop) = self.stopped_by.take() {
            return Poll::Ready(Some(stop));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.rest.poll_frame(cx)
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.start.is_empty()
            && self.stopped_by.is_none()
            && (self.ended || self.rest.is_end_stream())
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        let rest = if self.ended {
            SizeHint::with_exact(0)
        } else {
            self.rest.size_hint()
        };
        let start = self.length as u64;
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(start));
        }
        hint.set_lower(rest.lower().saturating_add(start));
        hint
    }
}

impl<B> Body for PeekedBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.size_hint()
    }
}

/// A body that is compressed while it is sent. Whenever no more of it is available for the moment,
/// the encoder is flushed, so that what PHP flushes reaches the client.
pub(crate) struct EncodedBody<B> {
    input: Box<PeekedBody<B>>,
    coder: Rc<Coder>,
    /// `None`: the body has ended.
    encoder: Option<Encoder>,
    /// Input that is not compressed yet.
    chunk: Bytes,
    output: Vec<u8>,
    /// Input was added since the last flush.
    held_back: bool,
    /// Bytes until the next pause for other connections.
    slice: usize,
    /// What follows the compressed body.
    after: Option<Result<Frame<Bytes>, io::Error>>,
    recorder: Option<Recorder>,
}

impl<B> EncodedBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    pub(super) fn new(
        input: Box<PeekedBody<B>>,
        coder: &Rc<Coder>,
        recorder: Option<Recorder>,
    ) -> Result<Self, (io::Error, Box<PeekedBody<B>>)> {
        let encoder = match coder.take() {
            Ok(encoder) => encoder,
            Err(error) => return Err((error, input)),
        };
        Ok(Self {
            input,
            coder: Rc::clone(coder),
            encoder: Some(encoder),
            chunk: Bytes::new(),
            output: Vec::new(),
            held_back: false,
            slice: SLICE,
            after: None,
            recorder,
        })
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let result = ready!(self.poll_output(cx));
        match &result {
            Some(Ok(frame)) => {
                if let Some(recorder) = &mut self.recorder
                    && let Some(data) = frame.data_ref()
                    && !recorder.add(data)
                {
                    self.recorder = None;
                }
                if self.is_end_stream()
                    && let Some(recorder) = self.recorder.take()
                {
                    recorder.finish();
                }
            }
            // A partial response is not compressed.
            Some(Err(_)) => {
                self.recorder = None;
                self.release();
            }
            None => {}
        }
        Poll::Ready(result)
    }

    fn poll_output(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            let Some(encoder) = &mut self.encoder else {
                return Poll::Ready(self.after.take());
            };
            if self.output.len() >= FRAME {
                return Poll::Ready(Some(Ok(self.frame())));
            }
            if !self.chunk.is_empty() {
                if self.slice == 0 {
                    self.slice = SLICE;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                let part = self.chunk.split_to(self.chunk.len().min(self.slice));
                self.slice -= part.len();
                self.held_back = true;
                if let Err(error) = encoder.step(&part, &mut self.output, FlushMode::Continue) {
                    return Poll::Ready(Some(Err(error)));
                }
                continue;
            }
            let end = match self.input.poll_frame(cx) {
                Poll::Pending => {
                    self.slice = SLICE;
                    if self.held_back {
                        self.held_back = false;
                        if let Err(error) = encoder.step(b"", &mut self.output, FlushMode::Flush) {
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                    if self.output.is_empty() {
                        return Poll::Pending;
                    }
                    return Poll::Ready(Some(Ok(self.frame())));
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        self.chunk = data;
                        continue;
                    }
                    Err(frame) => Some(Ok(frame)),
                },
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => None,
            };
            if let Err(error) = encoder.step(b"", &mut self.output, FlushMode::Finish) {
                return Poll::Ready(Some(Err(error)));
            }
            self.after = end;
            self.release();
            return Poll::Ready(Some(Ok(self.frame())));
        }
    }

    fn frame(&mut self) -> Frame<Bytes> {
        Frame::data(std::mem::take(&mut self.output).into())
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.encoder.is_none() && self.after.is_none()
    }
}

impl<B> Body for EncodedBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.is_end_stream()
    }
}

impl<B> EncodedBody<B> {
    fn release(&mut self) {
        if let Some(encoder) = self.encoder.take() {
            self.coder.put(encoder);
        }
    }
}

impl<B> Drop for EncodedBody<B> {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::pin::Pin;
    use std::task::Waker;

    use howdah_config::model::Compression;
    use proptest::prelude::*;

    use super::*;

    /// A body in pieces; `None` is a pause.
    struct Pieces(VecDeque<Option<Bytes>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            match self.0.pop_front() {
                None => Poll::Ready(None),
                Some(None) => Poll::Pending,
                Some(Some(piece)) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            }
        }
    }

    fn gunzip(encoded: &[u8], length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        let mut decoder = flate2::read::GzDecoder::new(encoded);
        decoder.read_exact(&mut body).unwrap();
        body
    }

    fn encoded(pieces: Vec<Option<Bytes>>, filled: usize) -> EncodedBody<Pieces> {
        let mut started = Box::new(PeekedBody::new(Source::Application(Pieces(pieces.into()))));
        started.fill(&mut Context::from_waker(Waker::noop()), filled);
        let coder = Rc::new(Coder::new(Compression::Gzip(1)));
        EncodedBody::new(started, &coder, None).ok().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn all_input_is_flushed_when_there_is_no_more(
            pieces in prop::collection::vec(
                prop::option::of(("[a-z ]{0,30}", 0..4000_usize)), 0..12),
            filled in 0..100_000_usize,
        ) {
            let pieces: Vec<_> = pieces
                .into_iter()
                .map(|piece| piece.map(|(text, times)| Bytes::from(text.repeat(times))))
                .collect();
            let total: usize = pieces.iter().flatten().map(Bytes::len).sum();
            let body: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
            let mut encoded = encoded(pieces, filled);
            let cx = &mut Context::from_waker(Waker::noop());
            let mut seen = Vec::new();
            loop {
                match encoded.poll_frame(cx) {
                    Poll::Ready(None) => break,
                    Poll::Ready(Some(frame)) => {
                        seen.extend_from_slice(frame.unwrap().data_ref().unwrap());
                    }
                    // A pause for other connections while a part of the body is still to be
                    // compressed.
                    Poll::Pending if !encoded.chunk.is_empty() => {}
                    Poll::Pending => {
                        let left: usize = match &encoded.input.rest {
                            Source::Application(rest) => rest.0.iter().flatten().map(Bytes::len).sum(),
                            _ => 0,
                        };
                        let given = total - left - encoded.input.length;
                        prop_assert!(gunzip(&seen, given) == body[..given]);
                    }
                }
            }
            prop_assert!(encoded.is_end_stream());
            let mut decoded = Vec::new();
            flate2::read::GzDecoder::new(&seen[..]).read_to_end(&mut decoded).unwrap();
            prop_assert!(decoded == body);
        }

        #[test]
        fn a_start_that_was_taken_is_given_back(
            pieces in prop::collection::vec(
                prop::option::of(prop::collection::vec(any::<u8>(), 0..50)), 0..12),
            limit in 0..200_usize,
        ) {
            let body: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
            let queue = pieces.into_iter().map(|piece| piece.map(Bytes::from)).collect();
            let mut started = PeekedBody::new(Source::Application(Pieces(queue)));
            let cx = &mut Context::from_waker(Waker::noop());
            started.fill(cx, limit);
            let sample = started.sample(limit);
            prop_assert!(sample.len() <= limit && body.starts_with(&sample));
            if let Some(whole) = started.whole(limit) {
                prop_assert!(whole == body);
                prop_assert_eq!(started.size_hint().exact(), Some(body.len() as u64));
            }
            let mut seen = Vec::new();
            loop {
                match started.poll_frame(cx) {
                    Poll::Ready(None) => break,
                    Poll::Ready(Some(frame)) => {
                        seen.extend_from_slice(frame.unwrap().data_ref().unwrap());
                    }
                    Poll::Pending => {}
                }
            }
            prop_assert!(seen == body);
        }
    }

    #[test]
    fn others_have_their_turn_in_a_large_body() {
        let large = Bytes::from(vec![b'x'; SLICE * 3 + 1]);
        let mut encoded = encoded(vec![Some(large)], 0);
        let cx = &mut Context::from_waker(Waker::noop());
        let mut turns = 0;
        loop {
            match encoded.poll_frame(cx) {
                Poll::Ready(None) => break,
                Poll::Ready(Some(frame)) => drop(frame.unwrap()),
                Poll::Pending => turns += 1,
            }
        }
        assert_eq!(turns, 3);
    }

    #[test]
    fn an_error_of_the_body_is_passed_on() {
        let mut started = Box::new(PeekedBody::new(Source::<Pieces>::Content(
            crate::message::response::Content::Empty,
        )));
        started.stopped_by = Some(Err(io::ErrorKind::BrokenPipe.into()));
        let coder = Rc::new(Coder::new(Compression::Gzip(1)));
        let mut encoded = EncodedBody::new(started, &coder, None).ok().unwrap();
        let cx = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(Some(Err(error))) = encoded.poll_frame(cx) else {
            panic!("an error")
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
