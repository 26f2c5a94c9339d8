//! Counters that other threads may read at any time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use howdah_observe::metrics::Connections;

/// Activity of the front threads. Each thread writes to a separate cache line, readers add the values up.
#[derive(Debug)]
pub struct Stats {
    threads: Box<[ThreadStats]>,
}

/// Counters of one front thread.
#[derive(Debug, Default)]
#[repr(align(128))] // two lines: x86 prefetches lines in pairs
pub(crate) struct ThreadStats {
    pub(crate) connections: AtomicUsize,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) requests: AtomicU64,
    /// Connections by protocol.
    pub(crate) open: [AtomicU64; 3],
    pub(crate) accepted: [AtomicU64; 3],
    /// TLS handshakes by result.
    pub(crate) handshakes: [AtomicU64; 3],
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

    /// Connections by protocol, in the order of
    /// [`Protocol`](howdah_observe::metrics::Protocol); connections that have sent nothing yet are not counted.
    pub fn protocols(&self) -> Connections {
        Connections {
            open: self.sums(|thread| &thread.open),
            accepted: self.sums(|thread| &thread.accepted),
        }
    }

    /// TLS handshakes since the start, in the order of [`Handshake`](howdah_observe::metrics::Handshake).
    pub fn handshakes(&self) -> [u64; 3] {
        self.sums(|thread| &thread.handshakes)
    }

    fn sums(&self, counters: fn(&ThreadStats) -> &[AtomicU64; 3]) -> [u64; 3] {
        std::array::from_fn(|index| {
            let threads = self.threads.iter();
            threads
                .map(|thread| counters(thread)[index].load(Relaxed))
                .sum()
        })
    }

    /// Requests whose header has been read and whose response has not ended.
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
