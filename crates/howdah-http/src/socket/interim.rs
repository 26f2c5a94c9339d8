//! Interim responses (1xx), of which 103 Early Hints is the one in use.
//!
//! On HTTP/2 and HTTP/3 a request's future leaves them here while it is polled, and its poller sends
//! them on its stream. hyper's server sends none, so on HTTP/1.1 their bytes go past it into the socket:
//!
//! - A request's future queues them while hyper polls it. hyper flushes at the end of that poll, and it
//!   writes nothing of the response before that: so what is queued is written at a flush, or before the
//!   next bytes of hyper's, and is never inside a response.
//! - hyper asks for a flush only when all that it had to write is written. Between a write and a flush
//!   something of an earlier response may be left, and interim responses are refused: they would come
//!   before its rest.

use std::cell::{Cell, RefCell};

use bytes::{Buf, BytesMut};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Response, StatusCode};

use super::state::ConnectionState;
use crate::message::interim::{InterimError, InterimSink, SIZE_MAX};

/// What waits for a client that takes nothing.
const QUEUED_MAX: usize = 64 << 10;

/// Fields of the connection, and of a content that an interim response has not.
const LEFT_OUT: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

impl InterimSink for ConnectionState {
    fn send(&self, status: StatusCode, headers: &HeaderMap) -> Result<(), InterimError> {
        if !self.is_multiplexed() {
            return self.interim.push(status, headers);
        }
        if self.blocked_since().is_some() {
            return Err(InterimError::Blocked);
        }
        self.interim.queue(status, headers)
    }
}

/// What of them waits for the socket.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: RefCell<BytesMut>,
    waiting: Cell<bool>,
    /// hyper has written, and not said since that this was all.
    unflushed: Cell<bool>,
    /// Interim responses of the stream that is being polled, and their size.
    heads: RefCell<Vec<Response<()>>>,
    heads_size: Cell<usize>,
}

impl Queue {
    fn push(&self, status: StatusCode, headers: &HeaderMap) -> Result<(), InterimError> {
        if self.unflushed.get() {
            return Err(InterimError::Blocked);
        }
        let mut bytes = self.bytes.borrow_mut();
        let start = bytes.len();
        encode(&mut bytes, status, headers);
        let refused = if bytes.len() - start > SIZE_MAX {
            InterimError::TooLarge
        } else if bytes.len() > QUEUED_MAX {
            InterimError::Blocked
        } else {
            self.waiting.set(true);
            return Ok(());
        };
        bytes.truncate(start);
        Err(refused)
    }

    fn queue(&self, status: StatusCode, headers: &HeaderMap) -> Result<(), InterimError> {
        let mut response = Response::new(());
        *response.status_mut() = status;
        let mut size = 0;
        for (name, value) in headers {
            if !LEFT_OUT.contains(name) {
                size += name.as_str().len() + value.len() + 4;
                response.headers_mut().append(name, value.clone());
            }
        }
        let all = self.heads_size.get() + size;
        if size > SIZE_MAX {
            return Err(InterimError::TooLarge);
        }
        if all > QUEUED_MAX {
            return Err(InterimError::Blocked);
        }
        self.heads_size.set(all);
        self.heads.borrow_mut().push(response);
        Ok(())
    }

    pub(crate) fn take_heads(&self) -> Vec<Response<()>> {
        self.heads_size.set(0);
        std::mem::take(&mut self.heads.borrow_mut())
    }

    /// Whether bytes are to be written before hyper's.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.get()
    }

    /// hyper is about to write.
    pub(crate) fn writing(&self) {
        self.unflushed.set(true);
    }

    /// hyper has nothing left to write.
    pub(crate) fn flushed(&self) {
        self.unflushed.set(false);
    }

    /// Has `write` take from what waits.
    pub(crate) fn take<T>(&self, write: impl FnOnce(&[u8]) -> (usize, T)) -> T {
        let mut bytes = self.bytes.borrow_mut();
        let (written, result) = write(&bytes);
        let written = written.min(bytes.len());
        bytes.advance(written);
        if bytes.is_empty() {
            // Most connections never need the memory again.
            *bytes = BytesMut::new();
            self.waiting.set(false);
        }
        result
    }
}

fn encode(bytes: &mut BytesMut, status: StatusCode, headers: &HeaderMap) {
    bytes.extend_from_slice(b"HTTP/1.1 ");
    bytes.extend_from_slice(status.as_str().as_bytes());
    bytes.extend_from_slice(b" ");
    bytes.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    bytes.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        if LEFT_OUT.contains(name) {
            continue;
        }
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[path = "interim_tests.rs"]
mod tests;
