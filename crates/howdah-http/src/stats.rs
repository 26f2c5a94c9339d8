//! Counters that other threads may read at any time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What the front threads are doing. Each thread writes a cache line of its own, readers add them up.
#[derive(Debug)]
pub struct Stats {
    threads: Box<[ThreadStats]>,
}

/// Counters of one front thread.
#[derive(Debug, Default)]
#[repr(align(128))] // two lines: the prefetcher of x86 takes lines in pairs
pub(crate) struct ThreadStats {
    pub(crate) connections: AtomicUsize,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) requests: AtomicU64,
}

impl Stats {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads: (0..threads).map(|_| ThreadStats::default()).collect(),
        }
    }

    pub(crate) fn thread(&self, index: usize) -> &ThreadStats {
        &self.threads[index]
    }

    /// Open client connections, idle ones included.
    pub fn connections(&self) -> usize {
        self.threads
            .iter()
            .map(|thread| thread.connections.load(Relaxed))
            .sum()
    }

    /// Requests whose header has been read and whose response is not yet finished.
    pub fn in_flight(&self) -> usize {
        self.threads
            .iter()
            .map(|thread| thread.in_flight.load(Relaxed))
            .sum()
    }

    /// Requests since the start.
    pub fn requests(&self) -> u64 {
        self.threads
            .iter()
            .map(|thread| thread.requests.load(Relaxed))
            .sum()
    }
}
