//! A subscriber's connection: events as they arrive, and heartbeats.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::hub::{NewSubscriber, Place, QueuedBytes};

/// A comment, which clients ignore: it flushes the header of the response, and shows proxies that the connection is
/// alive.
const COMMENT: Bytes = Bytes::from_static(b":\n");
/// Bytes of events that are joined into one piece of the body.
const BATCH: usize = 64 << 10;

/// The body of a response to a subscriber. It ends when the subscriber has to reconnect.
#[derive(Debug)]
pub struct EventStream {
    /// Data before the queue: the first comment, and missed updates.
    first: VecDeque<Bytes>,
    queue: Receiver<Bytes>,
    waiting: QueuedBytes,
    beat: Option<(Duration, Pin<Box<Sleep>>)>,
    end: Option<Pin<Box<Sleep>>>,
    ended: bool,
    _place: Place,
}

impl EventStream {
    pub(crate) fn new(joined: NewSubscriber, beat: Option<Duration>, end: Option<Instant>) -> Self {
        let mut first = VecDeque::from(joined.missed);
        first.push_front(COMMENT);
        Self {
            first,
            queue: joined.queue,
            waiting: joined.waiting,
            beat: beat.map(|beat| (beat, Box::pin(sleep_until(Instant::now() + beat)))),
            end: end.map(|end| Box::pin(sleep_until(end))),
            ended: false,
            _place: joined.place,
        }
    }

    fn schedule_heartbeat(&mut self) {
        if let Some((beat, sleep)) = &mut self.beat {
            sleep.as_mut().reset(Instant::now() + *beat);
        }
    }
}

impl http_body::Body for EventStream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        if let Some(first) = this.first.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some(end) = &mut this.end
            && end.as_mut().poll(cx).is_ready()
        {
            this.ended = true;
            return Poll::Ready(None);
        }
        match this.queue.poll_recv(cx) {
            Poll::Ready(None) => {
                this.ended = true;
                return Poll::Ready(None);
            }
            Poll::Ready(Some(event)) => {
                this.schedule_heartbeat();
                this.waiting.subtract(event.len());
                let mut data = event;
                let mut more = Vec::new();
                while more.len() < BATCH
                    && let Ok(next) = this.queue.try_recv()
                {
                    this.waiting.subtract(next.len());
                    if more.is_empty() {
                        more.extend_from_slice(&data);
                    }
                    more.extend_from_slice(&next);
                }
                if !more.is_empty() {
                    data = more.into();
                }
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Poll::Pending => {}
        }
        if let Some((_, sleep)) = &mut this.beat
            && sleep.as_mut().poll(cx).is_ready()
        {
            this.schedule_heartbeat();
            return Poll::Ready(Some(Ok(Frame::data(COMMENT))));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
