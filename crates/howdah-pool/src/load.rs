//! The load of a pool, shared by its front threads and its supervisor. A pool's front threads share nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use howdah_shm::Exit;

use crate::crashes::Crashes;
use crate::response::CallError;
use crate::status::{AbandonmentCounts, Exits, PoolStatus, RefusalCounts};

/// One pool's counters. They are hints for limits and for scaling; no memory is published through them.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Requests of all front threads, waiting or running.
    in_flight: AtomicUsize,
    /// Slots in use, counted only under `max_in_flight`.
    slots: AtomicUsize,
    /// Requests without a slot.
    waiting: AtomicUsize,
    /// Responses that were spooled for slow clients.
    spooled: AtomicU64,
    /// Requests refused with 503 before they reached PHP.
    refused: Refusals,
    /// Requests whose clients disconnected before a worker claimed them.
    abandoned: Abandonments,
    exits: ExitCounts,
    /// Crashes by route.
    pub(crate) crashes: Crashes,
    supervisor: SupervisorState,
}

/// Counters in a cache line that is not written for each request.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Refusals {
    queue_full: AtomicU64,
    wait_timeout: AtomicU64,
    not_booted: AtomicU64,
    quarantined: AtomicU64,
}

#[derive(Debug, Default)]
struct Abandonments {
    kept: AtomicU64,
    dropped: AtomicU64,
}

/// Requests of worker mode whose code was unwound.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ExitCounts {
    kept: AtomicU64,
    restarted: AtomicU64,
    skipped: AtomicU64,
    lost: AtomicU64,
    suspended: AtomicU64,
}

/// Rarely written, so in a different cache line than the counters of each request.
#[derive(Debug, Default)]
#[repr(align(64))]
struct SupervisorState {
    /// Requests that the workers can take.
    room: AtomicUsize,
    /// Front threads that may dispatch requests.
    joined: AtomicUsize,
    /// There is no worker, and the last boot failed.
    failing: AtomicBool,
    /// The supervisor was notified that requests wait, and checks the pool until none does.
    pressure: AtomicBool,
}

impl Load {
    /// Counts a new request. Returns how many there were before.
    pub(crate) fn arrive(&self) -> usize {
        self.in_flight.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts the end of a request.
    pub(crate) fn leave_in_flight(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Requests that wait or run.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Acquires the right to one more slot. False: the limit is reached.
    pub(crate) fn take_slot(&self, limit: Option<usize>) -> bool {
        let Some(limit) = limit else { return true };
        // Sequentially consistent, as is the count of waiting requests: either the thread that releases a slot sees the
        // waiting request, or the waiting request sees the slot.
        let taken = self
            .slots
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |slots| {
                (slots < limit).then_some(slots + 1)
            });
        taken.is_ok()
    }

    /// Releases it. Returns whether others may wait for it.
    pub(crate) fn release_slot(&self, limit: Option<usize>) -> bool {
        if limit.is_none() {
            return false;
        }
        self.slots.fetch_sub(1, Ordering::SeqCst);
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Counts a request that starts to wait for a slot.
    pub(crate) fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts the end of a wait.
    pub(crate) fn end_wait(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Requests without a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts a request that failed because it got no worker.
    pub(crate) fn refused(&self, error: &CallError) {
        let counter = match error {
            CallError::QueueFull => &self.refused.queue_full,
            CallError::WaitTimeout(_) => &self.refused.wait_timeout,
            CallError::NotBooted => &self.refused.not_booted,
            CallError::Quarantined(_) => &self.refused.quarantined,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of refused requests.
    pub(crate) fn refusals(&self) -> RefusalCounts {
        RefusalCounts {
            queue_full: self.refused.queue_full.load(Ordering::Relaxed),
            wait_timeout: self.refused.wait_timeout.load(Ordering::Relaxed),
            not_booted: self.refused.not_booted.load(Ordering::Relaxed),
            quarantined: self.refused.quarantined.load(Ordering::Relaxed),
        }
    }

    /// Counts a request that stays queued although its client has disconnected.
    pub(crate) fn abandon(&self) {
        self.abandoned.kept.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was dropped because its client has disconnected.
    pub(crate) fn drop_abandoned(&self) {
        self.abandoned.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of abandoned requests.
    pub(crate) fn abandonments(&self) -> AbandonmentCounts {
        AbandonmentCounts {
            kept: self.abandoned.kept.load(Ordering::Relaxed),
            dropped: self.abandoned.dropped.load(Ordering::Relaxed),
        }
    }

    /// Counts a request that has ended, if its code was unwound.
    pub(crate) fn ended(&self, exit: Exit) {
        let counter = match exit {
            Exit::Normal | Exit::Fatal => return,
            Exit::Kept => &self.exits.kept,
            Exit::Restarted => &self.exits.restarted,
            Exit::Skipped => &self.exits.skipped,
            Exit::Lost => &self.exits.lost,
            Exit::Suspended => &self.exits.suspended,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of unwound requests.
    pub(crate) fn exits(&self) -> Exits {
        Exits {
            kept: self.exits.kept.load(Ordering::Relaxed),
            restarted: self.exits.restarted.load(Ordering::Relaxed),
            skipped: self.exits.skipped.load(Ordering::Relaxed),
            lost: self.exits.lost.load(Ordering::Relaxed),
            suspended: self.exits.suspended.load(Ordering::Relaxed),
        }
    }

    /// Counts a response that is spooled for a slow client.
    pub(crate) fn spool(&self) {
        self.spooled.fetch_add(1, Ordering::Relaxed);
    }

    /// The count of spooled responses.
    pub(crate) fn spooled(&self) -> u64 {
        self.spooled.load(Ordering::Relaxed)
    }

    /// Whether to notify the supervisor of waiting requests: true once until [`Load::reset_pressure`].
    pub(crate) fn press(&self, before: usize) -> bool {
        before >= self.supervisor.room.load(Ordering::Relaxed)
            && !self.supervisor.pressure.load(Ordering::Relaxed)
            && !self.supervisor.pressure.swap(true, Ordering::Relaxed)
    }

    /// Front threads that may still dispatch requests.
    pub(crate) fn joined(&self) -> usize {
        // The counts of a thread before it left must be visible.
        self.supervisor.joined.load(Ordering::Acquire)
    }

    /// Starts with the counts of the previous pool of this name.
    pub(crate) fn count_on(&self, before: &PoolStatus) {
        self.crashes.count_on(&before.crashes);
        self.spooled.store(before.spooled, Ordering::Relaxed);
        let (counters, abandoned) = (&self.abandoned, &before.abandoned);
        counters.kept.store(abandoned.kept, Ordering::Relaxed);
        counters.dropped.store(abandoned.dropped, Ordering::Relaxed);
        let (counters, refused) = (&self.refused, &before.refused);
        counters
            .queue_full
            .store(refused.queue_full, Ordering::Relaxed);
        counters
            .wait_timeout
            .store(refused.wait_timeout, Ordering::Relaxed);
        counters
            .not_booted
            .store(refused.not_booted, Ordering::Relaxed);
        counters
            .quarantined
            .store(refused.quarantined, Ordering::Relaxed);
        let (counters, exits) = (&self.exits, &before.exits);
        counters.kept.store(exits.kept, Ordering::Relaxed);
        counters.restarted.store(exits.restarted, Ordering::Relaxed);
        counters.skipped.store(exits.skipped, Ordering::Relaxed);
        counters.lost.store(exits.lost, Ordering::Relaxed);
        counters.suspended.store(exits.suspended, Ordering::Relaxed);
    }

    /// Whether there are more requests than the workers can take.
    pub(crate) fn is_crowded(&self) -> bool {
        self.in_flight() > self.supervisor.room.load(Ordering::Relaxed)
    }

    /// No request waits any more.
    pub(crate) fn reset_pressure(&self) {
        self.supervisor.pressure.store(false, Ordering::Relaxed);
    }

    /// No worker will claim a request until a boot succeeds.
    pub(crate) fn is_failing(&self) -> bool {
        self.supervisor.failing.load(Ordering::Relaxed)
    }

    /// Publishes the supervisor's view for the front threads.
    pub(crate) fn publish(&self, room: usize, failing: bool) {
        self.supervisor.room.store(room, Ordering::Relaxed);
        self.supervisor.failing.store(failing, Ordering::Relaxed);
    }
}

/// A front thread may dispatch requests until this is dropped.
#[derive(Debug)]
pub(crate) struct Membership(Arc<Load>);

impl Membership {
    pub(crate) fn new(load: &Arc<Load>) -> Self {
        load.supervisor.joined.fetch_add(1, Ordering::Relaxed);
        Self(load.clone())
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.0.supervisor.joined.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_threads_are_counted_until_they_leave() {
        let load = Arc::new(Load::default());
        let joined = [Membership::new(&load), Membership::new(&load)];
        assert_eq!(load.joined(), 2);
        drop(joined);
        assert_eq!(load.joined(), 0);
    }

    #[test]
    fn slots_are_counted_only_under_a_limit() {
        let load = Load::default();
        assert!((0..100).all(|_| load.take_slot(None)));
        assert!(load.take_slot(Some(2)) && load.take_slot(Some(2)));
        assert!(!load.take_slot(Some(2)));
        assert!(!load.release_slot(Some(2)), "nobody waits");
        load.wait();
        assert_eq!(load.waiting(), 1);
        assert!(load.take_slot(Some(2)));
        assert!(load.release_slot(Some(2)), "somebody waits");
    }

    #[test]
    fn more_requests_than_workers_are_a_crowd() {
        let load = Load::default();
        load.publish(2, false);
        load.arrive();
        load.arrive();
        assert!(!load.is_crowded(), "each has a worker");
        load.arrive();
        assert!(load.is_crowded());
        load.leave_in_flight();
        assert!(!load.is_crowded());
    }

    #[test]
    fn pressure_is_reported_once_until_it_is_over() {
        let load = Load::default();
        load.publish(2, false);
        assert!(!load.press(1), "a worker is free");
        assert!(load.press(2));
        assert!(!load.press(3), "reported already");
        load.reset_pressure();
        assert!(load.press(2));
    }
}
