//! Finished requests, for observers of the server. Without observers, a request only reads one number here.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method, Uri};

use crate::clock;

/// Requests of one front thread that wait for the observer; further ones are only counted.
const BATCH_MAX: usize = 4096;

/// A request whose response has ended.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct FinishedRequest {
    pub id: u64,
    pub method: Method,
    /// The URI as received.
    pub uri: Uri,
    /// The authority of the target, or the `Host` header.
    pub host: Option<HeaderValue>,
    /// The client.
    pub remote: SocketAddr,
    /// The pool that ran it.
    pub pool: Option<usize>,
    /// The status; 0: the client disconnected before there was one.
    pub status: u16,
    /// The time from the end of its header to the end of the response.
    pub duration: Duration,
    /// The part of `duration` in which it waited for a worker.
    pub queue: Duration,
    /// The part of `duration` in PHP.
    pub php: Duration,
    /// Bytes of the response's body.
    pub sent: u64,
    /// Largest use of PHP's allocator, in bytes, if that is known.
    pub memory_peak: Option<u64>,
}

/// The requests that have finished since the last batch.
#[derive(Debug, Default)]
pub struct FinishedBatch {
    /// Not sorted.
    pub requests: Vec<FinishedRequest>,
    /// Requests that were dropped, because there were too many.
    pub missed: u64,
}

/// Finished requests, while there is an observer. Clones share them.
#[derive(Debug, Clone)]
pub struct FinishedRequests(Arc<BatchList>);

#[derive(Debug)]
struct BatchList {
    /// The time until which requests are stored; `CLOCK_MONOTONIC` in milliseconds.
    until: AtomicU64,
    threads: Box<[ThreadBatch]>,
}

/// Finished requests of one front thread. The lock is contended only while a batch is taken.
#[derive(Debug, Default)]
#[repr(align(128))] // two lines: x86 prefetches lines in pairs
struct ThreadBatch(Mutex<FinishedBatch>);

impl FinishedRequests {
    /// Creates the collection for this number of front threads.
    pub fn new(threads: usize) -> Self {
        Self(Arc::new(BatchList {
            until: AtomicU64::new(0),
            threads: (0..threads).map(|_| ThreadBatch::default()).collect(),
        }))
    }

    /// Stores finished requests for this time from now on.
    pub fn watch(&self, time: Duration) {
        let until = clock::now().saturating_add(clock::milliseconds(time));
        self.0.until.store(until, Relaxed);
    }

    /// Takes the stored requests.
    pub fn take(&self) -> FinishedBatch {
        let mut all = FinishedBatch::default();
        for thread in &self.0.threads {
            let own = std::mem::take(&mut *thread.0.lock().unwrap_or_else(PoisonError::into_inner));
            all.requests.extend(own.requests);
            all.missed += own.missed;
        }
        all
    }

    pub(crate) fn is_watched(&self, now_ms: u64) -> bool {
        now_ms < self.0.until.load(Relaxed)
    }

    pub(crate) fn push(&self, thread: usize, request: FinishedRequest) {
        let Some(batch) = self.0.threads.get(thread) else {
            return;
        };
        let mut batch = batch.0.lock().unwrap_or_else(PoisonError::into_inner);
        if batch.requests.len() < BATCH_MAX {
            batch.requests.push(request);
        } else {
            batch.missed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: u64) -> FinishedRequest {
        FinishedRequest {
            id,
            method: Method::GET,
            uri: Uri::from_static("/a"),
            host: None,
            remote: ([127, 0, 0, 1], 1).into(),
            pool: Some(0),
            status: 200,
            duration: Duration::from_millis(1),
            queue: Duration::ZERO,
            php: Duration::ZERO,
            sent: 1,
            memory_peak: None,
        }
    }

    #[test]
    fn nothing_is_collected_without_a_watcher() {
        let finished = FinishedRequests::new(2);
        assert!(!finished.is_watched(clock::now()));
        finished.watch(Duration::from_secs(60));
        assert!(finished.is_watched(clock::now()));
        assert!(!finished.is_watched(clock::now() + 61_000));
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let finished = FinishedRequests::new(2);
        for id in 0..BATCH_MAX as u64 + 3 {
            finished.push(0, request(id));
        }
        finished.push(1, request(1 << 40));
        finished.push(2, request(0));
        let batch = finished.take();
        assert_eq!((batch.requests.len(), batch.missed), (BATCH_MAX + 1, 3));
        let batch = finished.take();
        assert_eq!((batch.requests.len(), batch.missed), (0, 0));
    }
}
