//! Interim responses (1xx); in practice 103 Early Hints.
//!
//! On HTTP/2 and HTTP/3 a request's future queues them here while it is polled, and its poller sends them on its
//! stream. hyper's server cannot send them, so on HTTP/1.1 their bytes are written to the socket without hyper:
//!
//! - A request's future queues them while hyper polls it. hyper flushes at the end of that poll, and does not write
//!   anything of the response before that. So the queue is written at a flush, or before the next bytes of hyper, and
//!   never inside a response.
//! - hyper flushes only when it has written everything. Between a write and a flush, a part of an earlier response may
//!   remain, so interim responses are refused: they would come before that part.

use std::cell::{Cell, RefCell};

use bytes::{Buf, BytesMut};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Response, StatusCode};

use super::state::ConnectionState;
use crate::message::interim::{InterimError, InterimSink, SIZE_MAX};

/// Most bytes that wait for a client that accepts none.
const QUEUED_MAX: usize = 64 << 10;

/// Fields of the connection, and fields that describe a content, which an interim response lacks.
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

/// Interim responses that wait for the socket.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: RefCell<BytesMut>,
    waiting: Cell<bool>,
    /// hyper has written, and has not flushed since.
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

    /// Whether bytes must be written before hyper's.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.get()
    }

    /// hyper is about to write.
    pub(crate) fn writing(&self) {
        self.unflushed.set(true);
    }

    /// hyper has written everything.
    pub(crate) fn flushed(&self) {
        self.unflushed.set(false);
    }

    /// Lets `write` consume from the queue.
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
