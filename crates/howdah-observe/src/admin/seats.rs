//! Limits the concurrent connections of the admin API.
//!
//! Clients that connect and send nothing must not block others. So when all seats are taken, the connection that has
//! waited longest without a request is closed; requests that are being handled keep theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Limit of connections of the admin API. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Seats(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    capacity: usize,
    occupied: Mutex<SeatTable>,
    left: Notify,
}

#[derive(Debug, Default)]
struct SeatTable {
    next: u64,
    seats: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Since when it has had no request; `None`: one is being handled.
    waits_since: Option<Instant>,
    /// `None`: it has just been given away.
    connection: Option<AbortHandle>,
}

/// A connection's seat, which is freed when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Seats,
    id: u64,
}

impl Seats {
    pub(super) fn new(capacity: usize) -> Self {
        Self(Arc::new(Inner {
            capacity,
            occupied: Mutex::default(),
            left: Notify::new(),
        }))
    }

    /// Returns a seat, if necessary that of a waiting connection. Waits only while all connections handle requests.
    pub(super) async fn take(&self) -> Seat {
        loop {
            let left = self.0.left.notified();
            if let Some(id) = self.try_take() {
                let seats = self.clone();
                return Seat { seats, id };
            }
            left.await;
        }
    }

    fn try_take(&self) -> Option<u64> {
        let mut occupied = self.lock();
        if occupied.seats.len() >= self.0.capacity {
            let waiting = occupied.seats.iter().filter_map(|(id, entry)| {
                let connection = entry.connection.as_ref()?;
                Some((entry.waits_since?, *id, connection.clone()))
            });
            let (_, oldest, connection) = waiting.min_by_key(|(since, id, _)| (*since, *id))?;
            occupied.seats.remove(&oldest);
            connection.abort();
        }
        let id = occupied.next;
        occupied.next += 1;
        let entry = Entry {
            waits_since: Some(Instant::now()),
            connection: None,
        };
        occupied.seats.insert(id, entry);
        Some(id)
    }

    fn lock(&self) -> MutexGuard<'_, SeatTable> {
        self.0
            .occupied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// This task serves the connection of the seat.
    pub(super) fn occupy(&self, id: u64, connection: AbortHandle) {
        // It may have ended meanwhile.
        if let Some(entry) = self.lock().seats.get_mut(&id) {
            entry.connection = Some(connection);
        }
    }
}

impl Seat {
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
        self.seats.0.left.notify_waiters();
    }

    fn note(&self, waits_since: Option<Instant>) {
        if let Some(entry) = self.seats.lock().seats.get_mut(&self.id) {
            entry.waits_since = waits_since;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().seats.remove(&self.id);
        self.seats.0.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_one_that_has_waited_longest_gives_way() {
        let seats = Seats::new(2);
        let sit = async || {
            let seat = seats.take().await;
            let task = tokio::spawn(std::future::pending::<()>());
            seats.occupy(seat.id(), task.abort_handle());
            (seat, task)
        };
        let (first, first_task) = sit().await;
        let (second, second_task) = sit().await;
        first.begin();
        let (third, _third_task) = sit().await;
        assert!(second_task.await.expect_err("aborted").is_cancelled());
        assert!(!first_task.is_finished(), "it has a request");
        third.begin();
        let mut fourth = std::pin::pin!(seats.take());
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
