//! A request from the end of its header to the end of its response: it is counted and logged when the body of
//! its response is dropped.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};

use crate::message::response::Source;
use crate::message::upstream_note::UpstreamNote;
use crate::observe::log::{LogEntry, ResponseEnd};
use crate::observe::record::Record;
use crate::observe::thread::ThreadState;
use crate::socket::executor;
use crate::socket::state::ConnectionState;

/// A body and the exchange that ends with it.
pub(crate) struct ResponseBody<B> {
    source: Source<B>,
    exchange: Exchange,
}

impl<B> ResponseBody<B> {
    pub(crate) fn new(source: Source<B>, exchange: Exchange) -> Self {
        Self { source, exchange }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let frame = this.source.poll_frame(cx);
        executor::note_body(frame.is_pending());
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                this.exchange.sent += length as u64;
                this.exchange.finished = this.source.is_end_stream();
            }
            Poll::Ready(None) => this.exchange.finished = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.source.size_hint()
    }
}

/// A request from the end of its header to the end of its response, however it ends.
pub(crate) struct Exchange {
    connection: Rc<ConnectionState>,
    life: Rc<ThreadState>,
    pub(crate) log: Option<Box<LogEntry>>,
    pub(crate) record: Option<Rc<Record>>,
    /// 0 while there is no response.
    status: u16,
    /// Bytes of the request's body.
    pub(crate) received: u64,
    /// Bytes that were forwarded while they arrived, possibly after the response has begun. `None`: none were.
    pub(crate) forwarded: Option<Arc<AtomicU64>>,
    /// Bytes of the body handed to the connection.
    sent: u64,
    /// Whether the whole body was handed over.
    pub(crate) finished: bool,
}

impl Exchange {
    pub(crate) fn begin(connection: &Rc<ConnectionState>, life: &Rc<ThreadState>) -> Self {
        connection.begin();
        life.begin();
        Self {
            connection: Rc::clone(connection),
            life: Rc::clone(life),
            log: None,
            record: None,
            status: 0,
            received: 0,
            forwarded: None,
            sent: 0,
            finished: false,
        }
    }

    /// Records the upstream that has responded.
    pub(crate) fn set_upstream(&mut self, upstream: Option<Arc<UpstreamNote>>) {
        if let Some(entry) = &mut self.log {
            entry.upstream = upstream;
        }
    }

    /// Records the final header of the response.
    pub(crate) fn set_response(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = status.as_u16();
        if let Some(entry) = &mut self.log {
            entry.response(headers);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.connection.end();
        self.life.end();
        let record = self.record.take();
        let forwarded = self.forwarded.take().map(|bytes| bytes.load(Relaxed));
        let received = self.received + forwarded.unwrap_or(0);
        if let Some(record) = &record {
            record.set_received(received);
            record.end(self.status, self.sent, self.finished);
        }
        if let Some(entry) = self.log.take() {
            entry.write(ResponseEnd {
                status: self.status,
                received,
                sent: self.sent,
                finished: self.finished,
                php: record.and_then(|record| record.usage()),
            });
        }
    }
}
