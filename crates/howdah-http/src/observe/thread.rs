//! State of a front thread that is independent of its configuration: counters, ids, the number of connections.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use howdah_observe::metrics::{Handshake, Protocol};
use tokio::sync::Notify;

use crate::observe::stats::{Stats, ThreadStats};
use crate::shutdown::Shutdown;
use crate::socket::handshakes::Handshakes;

/// State of one front thread.
pub(crate) struct ThreadState {
    pub(crate) handshakes: Handshakes,
    /// Notified when a connection ends, or when the limit of connections is raised.
    pub(crate) room: Notify,
    /// Whether and when the server has to stop.
    pub(crate) shutdown: Shutdown,
    stats: Arc<Stats>,
    index: usize,
    next_id: Cell<u64>,
    connections: Cell<usize>,
    max_connections: Cell<usize>,
}

const ID_MASK: u64 = (1 << 56) - 1;

impl ThreadState {
    /// `first_id` is random, so that ids do not repeat after a restart.
    pub(crate) fn new(
        index: usize,
        stats: Arc<Stats>,
        first_id: u64,
        shutdown: Shutdown,
    ) -> Rc<Self> {
        Rc::new(Self {
            handshakes: Handshakes::default(),
            room: Notify::new(),
            shutdown,
            stats,
            index,
            // The thread's number is in the top byte: unique without a shared counter, and never 0.
            next_id: Cell::new(((index as u64 + 1) << 56) | (first_id & ID_MASK)),
            connections: Cell::new(0),
            max_connections: Cell::new(usize::MAX),
        })
    }

    /// Sets the limit of concurrent connections; existing connections beyond it stay.
    pub(crate) fn set_max_connections(&self, most: usize) {
        self.max_connections.set(most);
        self.room.notify_waiters();
    }

    /// Whether the limit of connections is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.connections.get() >= self.max_connections.get()
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.get() == 0
    }

    /// Wraps around within the thread after 2^56 requests.
    pub(crate) fn next_id(&self) -> u64 {
        let id = self.next_id.get();
        self.next_id
            .set((id & !ID_MASK) | (id.wrapping_add(1) & ID_MASK));
        id
    }

    pub(crate) fn begin(&self) {
        let stats = self.stats();
        stats.in_flight.fetch_add(1, Relaxed);
        stats.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn end(&self) {
        self.stats().in_flight.fetch_sub(1, Relaxed);
    }

    /// Counts a finished TLS handshake.
    pub(crate) fn count_handshake(&self, how: Handshake) {
        self.stats().handshakes[how as usize].fetch_add(1, Relaxed);
    }

    /// Counts the protocol of a connection, as long as the guard lives.
    pub(crate) fn count_protocol(self: &Rc<Self>, protocol: Protocol) -> ProtocolGuard {
        let stats = self.stats();
        stats.accepted[protocol as usize].fetch_add(1, Relaxed);
        stats.open[protocol as usize].fetch_add(1, Relaxed);
        ProtocolGuard(Rc::clone(self), protocol)
    }

    fn stats(&self) -> &ThreadStats {
        self.stats.thread(self.index)
    }
}

/// Counts a connection as long as it lives.
pub(crate) struct ConnectionGuard(Rc<ThreadState>);

impl ConnectionGuard {
    pub(crate) fn new(life: &Rc<ThreadState>) -> Self {
        life.connections.set(life.connections.get() + 1);
        life.stats().connections.fetch_add(1, Relaxed);
        Self(Rc::clone(life))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
        self.0.stats().connections.fetch_sub(1, Relaxed);
        self.0.room.notify_waiters();
    }
}

/// A connection whose protocol is known.
pub(crate) struct ProtocolGuard(Rc<ThreadState>, Protocol);

impl Drop for ProtocolGuard {
    fn drop(&mut self) {
        self.0.stats().open[self.1 as usize].fetch_sub(1, Relaxed);
    }
}
