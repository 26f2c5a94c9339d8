//! Requests that wait or run too long, or wait too long for their clients.

use std::cell::RefMut;
use std::time::{Duration, Instant};

use howdah_shm::{Cancel, SlotId, SlotState, WorkerId};

use super::exchange::ExchangeState;
use super::spool;
use super::{Inner, SWEEP, Table, WaiterState};
use crate::crash_report::text;
use crate::messages::{HeldRequest, KillReason, SupervisorMessage};
use crate::process::slow_log::{SlowEnd, SlowTimer, seconds};
use crate::response::CallError;
use crate::status::SlowOutcome;

/// How long in total a worker waits for a slow client, before a file takes the rest of the
/// response.
const HELD_MAX: Duration = Duration::from_secs(1);
/// The same limit while other requests wait for a worker.
const HELD_MAX_CROWDED: Duration = Duration::from_millis(100);

/// Characters of method and URI in the log of slow requests, about as many as PHP's own samples have.
const TITLE_MAX: usize = 300;

/// A request that a worker runs.
struct RunningRequest {
    slot: SlotId,
    worker: WorkerId,
    /// When the front first saw it run.
    since: Instant,
}

impl Inner {
    /// Ends requests that have waited or run too long. True if any is in flight.
    pub(super) fn enforce_limits(&self) -> bool {
        let now = Instant::now();
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        let max_wait = self.options.limits.max_wait_time;
        self.expire_waiters(table, now);
        let may_spool = self.no_spool.get().is_none_or(|until| until <= now);
        let spool_max = self.options.limits.response_spool.filter(|_| may_spool);
        let held_max = if self.load.is_crowded() {
            HELD_MAX_CROWDED
        } else {
            HELD_MAX
        };
        self.report_dropped(now);
        let mut busy = !table.waiting.is_empty() || self.has_dropped();
        for index in 0..table.exchanges.len() {
            let Some(exchange) = table.exchanges[index].clone() else {
                continue;
            };
            busy = true;
            let mut state = exchange.state.borrow_mut();
            let Some(slot) = state.slot else { continue };
            match table.shm.slot(slot).map(|status| status.state) {
                Some(SlotState::Queued) if now.duration_since(state.queued_at) >= max_wait => {
                    self.withdraw(table, state, slot);
                }
                Some(SlotState::Running { worker, .. }) => {
                    let running = RunningRequest {
                        slot,
                        worker,
                        since: state.find_claim(&table.shm, now),
                    };
                    state.report_silent_claim(&table.shm, worker);
                    self.sample_slow(table, &mut state, &running, now);
                    self.enforce_timeout(table, &mut state, &running, now);
                    if let Some(max) = spool_max
                        && state.exceeds_hold(SWEEP, held_max)
                    {
                        drop(state);
                        self.load.spool();
                        spool::begin(&exchange, max);
                    }
                }
                _ => {}
            }
        }
        busy
    }

    /// Ends requests that have waited for a slot longer than `max_wait_time`.
    fn expire_waiters(&self, table: &mut Table, now: Instant) {
        for waiter in &table.waiting {
            if now.duration_since(waiter.since) < self.options.limits.max_wait_time {
                break;
            }
            match waiter.state.replace(WaiterState::Expired) {
                WaiterState::Waiting(Some(waker)) => waker.wake(),
                WaiterState::Abandoned(_) => self.refuse_orphan(),
                _ => {}
            }
        }
        table.waiting.retain(|waiter| waiter.is_waiting());
    }

    /// Ends a request that has waited for a worker longer than `max_wait_time`, unless one has just claimed it.
    fn withdraw(&self, table: &mut Table, mut state: RefMut<'_, ExchangeState>, slot: SlotId) {
        if let Ok(Cancel::Removed) = table.shm.cancel(slot) {
            if state.client_disconnected {
                self.expire_abandoned();
            }
            state.end(Err(self.wait_timeout()));
            drop(state);
            self.on_withdrawal(table, slot);
        }
    }

    /// Requests a sample of a request that runs longer than `slow_log`.
    fn sample_slow(
        &self,
        table: &Table,
        state: &mut ExchangeState,
        running: &RunningRequest,
        now: Instant,
    ) {
        let Some((log, limit)) = self.slow_log.as_ref().zip(self.options.limits.slow_log) else {
            return;
        };
        let timer = state.slow.get_or_insert_with(|| SlowTimer::new(limit));
        if timer.is_due(now.duration_since(running.since)) {
            log.begin(state.request_id, running.since);
            table.shm.sample(running.slot);
        }
    }

    /// Logs the timeline of a slow request when it leaves its worker.
    pub(super) fn end_slow(&self, state: &mut ExchangeState, outcome: SlowOutcome, repeated: bool) {
        let limit = state.slow.take().and(self.options.limits.slow_log);
        let Some((log, limit)) = self.slow_log.as_ref().zip(limit) else {
            return;
        };
        let at = Instant::now();
        // It may have become slow since the last sweep.
        if let Some(since) = state.running_since
            && at.duration_since(since) >= limit
        {
            log.begin(state.request_id, since);
        }
        let target = state.target.as_ref();
        let end = SlowEnd {
            outcome,
            client_disconnected: state.disconnected_early,
            repeated,
            title: target.map_or_else(String::new, |own| {
                text::line(&format!("{} {}", own.method, own.path), TITLE_MAX)
            }),
            at,
        };
        let Some(timeline) = log.end(state.request_id, end) else {
            return;
        };
        let (pool, request_id) = (&*self.options.name, format!("{:016x}", state.request_id));
        let (time, outcome) = (seconds(timeline.age), timeline.outcome);
        let (title, places) = (timeline.title, timeline.places);
        tracing::warn!(
            target: "howdah::php", pool, request_id,
            "slow request ended after {time}{outcome}: {title}{places}"
        );
    }

    /// Responds to a request that exceeds `request_timeout`, and requests the kill of its worker. In a concurrent pool
    /// the worker only ends this request; it is killed if the request has not ended within `end_grace`.
    fn enforce_timeout(
        &self,
        table: &mut Table,
        state: &mut ExchangeState,
        running: &RunningRequest,
        now: Instant,
    ) {
        let Some(limit) = self.options.limits.request_timeout else {
            return;
        };
        if now.duration_since(running.since) < limit {
            return;
        }
        state.end(Err(CallError::RequestTimeout(limit)));
        if self.options.is_concurrent() {
            match state.expired {
                None => {
                    state.expired = Some(now);
                    // Its state shows that a worker has it.
                    let _ = table.shm.expire(running.slot);
                    return;
                }
                Some(expired) if now.duration_since(expired) < self.options.end_grace => return,
                Some(_) => {}
            }
        }
        let Some(hold) = table.shm.hold(running.slot) else {
            return;
        };
        self.send(SupervisorMessage::Kill {
            pool: self.pool,
            segment: table.segment,
            worker: running.worker,
            request: Some(HeldRequest {
                id: state.request_id,
                hold,
            }),
            reason: KillReason::RequestTimeout,
        });
    }
}
