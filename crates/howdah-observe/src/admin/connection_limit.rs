//! Limits the concurrent connections of the admin API.
//!
//! Clients that connect and send nothing must not block others. So at the limit, the connection that has waited longest
//! without a request is closed; connections with a request in flight stay open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Limit of connections of the admin API. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLimit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    capacity: usize,
    occupied: Mutex<PermitTable>,
    released: Notify,
}

#[derive(Debug, Default)]
struct PermitTable {
    next: u64,
    permits: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Since when it has had no request; `None`: one is being handled.
    waits_since: Option<Instant>,
    /// `None`: it has just been given away.
    connection: Option<AbortHandle>,
}

/// Permission for one open connection, returned when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: ConnectionLimit,
    id: u64,
}

impl ConnectionLimit {
    pub(super) fn new(capacity: usize) -> Self {
        Self(Arc::new(Inner {
            capacity,
            occupied: Mutex::default(),
            released: Notify::new(),
        }))
    }

    /// Returns a permit, if necessary that of a waiting connection. Waits only while all connections handle requests.
    pub(super) async fn take(&self) -> ConnectionPermit {
        loop {
            let released = self.0.released.notified();
            if let Some(id) = self.try_take() {
                let limit = self.clone();
                return ConnectionPermit { limit, id };
            }
            released.await;
        }
    }

    fn try_take(&self) -> Option<u64> {
        let mut occupied = self.lock();
        if occupied.permits.len() >= self.0.capacity {
            let waiting = occupied.permits.iter().filter_map(|(id, entry)| {
                let connection = entry.connection.as_ref()?;
                Some((entry.waits_since?, *id, connection.clone()))
            });
            let (_, oldest, connection) = waiting.min_by_key(|(since, id, _)| (*since, *id))?;
            occupied.permits.remove(&oldest);
            connection.abort();
        }
        let id = occupied.next;
        occupied.next += 1;
        let entry = Entry {
            waits_since: Some(Instant::now()),
            connection: None,
        };
        occupied.permits.insert(id, entry);
        Some(id)
    }

    fn lock(&self) -> MutexGuard<'_, PermitTable> {
        self.0
            .occupied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// This task serves the connection of the permit.
    pub(super) fn occupy(&self, id: u64, connection: AbortHandle) {
        // It may have ended meanwhile.
        if let Some(entry) = self.lock().permits.get_mut(&id) {
            entry.connection = Some(connection);
        }
    }
}

impl ConnectionPermit {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// A complete request has arrived.
    pub(super) fn begin(&self) {
        self.note(None);
    }

    /// It has been handled.
    pub(super) fn end(&self) {
        self.note(Some(Instant::now()));
        self.limit.0.released.notify_waiters();
    }

    fn note(&self, waits_since: Option<Instant>) {
        if let Some(entry) = self.limit.lock().permits.get_mut(&self.id) {
            entry.waits_since = waits_since;
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.lock().permits.remove(&self.id);
        self.limit.0.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_connection_that_has_waited_longest_is_closed() {
        let limit = ConnectionLimit::new(2);
        let open = async || {
            let permit = limit.take().await;
            let task = tokio::spawn(std::future::pending::<()>());
            limit.occupy(permit.id(), task.abort_handle());
            (permit, task)
        };
        let (first, first_task) = open().await;
        let (second, second_task) = open().await;
        first.begin();
        let (third, _third_task) = open().await;
        assert!(second_task.await.expect_err("aborted").is_cancelled());
        assert!(!first_task.is_finished(), "it has a request");
        third.begin();
        let mut fourth = std::pin::pin!(limit.take());
        tokio::select! {
            biased;
            _ = &mut fourth => panic!("all have requests"),
            () = std::future::ready(()) => {}
        }
        // The rest of the aborted one has no owner.
        drop(second);
        tokio::select! {
            biased;
            _ = &mut fourth => panic!("all have requests"),
            () = std::future::ready(()) => {}
        }
        first.end();
        fourth.await;
        assert!(first_task.await.expect_err("aborted").is_cancelled());
    }
}
