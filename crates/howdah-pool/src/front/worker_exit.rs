//! Recovery after the exit of a worker: its requests are retried or fail. And the end of the pool.

use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Instant;

use howdah_shm::{QueueError, TornSlot, WorkerId};

use super::exchange::ExchangeState;
use super::{Inner, Table, WaiterState};
use crate::crash_report::CrashLink;
use crate::messages::{ExitReason, SupervisorMessage};
use crate::response::CallError;
use crate::status::SlowOutcome;

/// Crashes of other requests that a request survives. A crash that the wrong request is blamed for repeats itself.
const BYSTANDER_RERUNS_MAX: u8 = 8;

/// How often a request may run again that its worker had started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rerun {
    Never,
    /// It may have caused the exit itself.
    Once,
    /// Another request ran, and is not run again.
    Bystander,
}

impl Inner {
    /// The pool has stopped: fails the requests that still wait for it.
    pub(super) fn end(&self) {
        self.ended.set(true);
        let mut table = self.table.borrow_mut();
        for waiter in table.waiting.drain(..) {
            match waiter.state.replace(WaiterState::Expired) {
                WaiterState::Waiting(Some(waker)) => waker.wake(),
                WaiterState::Abandoned(_) => self.refuse_orphan(),
                _ => {}
            }
        }
        for exchange in table.exchanges.iter_mut().filter_map(Option::take) {
            let mut state = exchange.state.borrow_mut();
            self.vacate(&mut state, Some(SlowOutcome::ServerStopped));
            state.end(Err(CallError::Stopping));
        }
    }

    /// Recovers the requests of a worker. One that it had started may run again, if its method and
    /// the kind of exit allow that.
    pub(super) fn recover(
        self: &Rc<Self>,
        worker: WorkerId,
        reason: ExitReason,
        report: Option<&CrashLink>,
    ) {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        // Before the place is enlisted again. A worker that runs one request at a time has only that one.
        let is_concurrent = self.options.is_concurrent();
        let culprit = is_concurrent.then(|| table.shm.running(worker)).flatten();
        let recovery = match table.shm.recover(worker) {
            Ok(recovery) => recovery,
            Err(error) => {
                tracing::error!(target: "howdah::pool", pool = self.options.name, "{error}");
                return;
            }
        };
        for event in recovery.completed {
            self.handle(table, event);
        }
        for torn in recovery.torn {
            // Complete frames that the worker committed go to the client.
            self.absorb(table, torn.slot, worker, None);
            self.recover_request(table, &torn, reason, culprit, report);
        }
        self.watch(&table.shm);
        if recovery.vacant {
            self.send(SupervisorMessage::Recovered {
                pool: self.pool,
                segment: table.segment,
                worker,
            });
        }
    }

    /// Queues the request of a slot again if it may run again, else ends it. `culprit`: the request that ran at the
    /// exit of a worker with several.
    fn recover_request(
        self: &Rc<Self>,
        table: &mut Table,
        torn: &TornSlot,
        reason: ExitReason,
        culprit: Option<NonZeroU64>,
        report: Option<&CrashLink>,
    ) {
        let Some(exchange) = table.exchanges[torn.slot.index()].clone() else {
            self.release(table, torn.slot);
            return;
        };
        let mut state = exchange.state.borrow_mut();
        // If the request that ran at the crash is retried, it may crash the requests of its next worker too.
        let suspect = culprit.is_some_and(|id| id.get() == state.request_id);
        // A worker may exit between claiming a request and starting it.
        let ran = torn.started && (suspect || !self.options.is_concurrent());
        let crashed = reason == ExitReason::Crash && ran && !torn.too_long && !torn.ended;
        if let Some(report) = report {
            report.add(state.crashed(ran, crashed));
        }
        let quarantined = crashed && self.count_crash(&state, report);
        let rerun = match culprit {
            _ if reason == ExitReason::Overdue || suspect || quarantined => Rerun::Never,
            Some(_) => Rerun::Bystander,
            None => Rerun::Once,
        };
        let ended = slow_outcome(torn, reason);
        if self.start_over_if_allowed(&mut state, torn, rerun, ended) {
            match table.shm.requeue(torn.slot) {
                Ok(()) => {
                    if state.client_disconnected {
                        // Queueing it has reset that.
                        let _ = table.shm.abort(torn.slot);
                    }
                    return;
                }
                Err(QueueError::ProtocolViolation(violation)) => {
                    drop(state);
                    // It is queued again in the next segment.
                    self.report_corruption(table, violation);
                    return;
                }
                Err(QueueError::Slot(_)) => {}
            }
        }
        self.vacate(&mut state, ended);
        state.end(Err(torn_error(torn)));
        drop(state);
        self.release(table, torn.slot);
    }

    /// Whether the request of a worker that crashed runs again, as if it had not been started. `ended`: how it ended
    /// there.
    pub(super) fn start_over_if_allowed(
        &self,
        state: &mut ExchangeState,
        torn: &TornSlot,
        rerun: Rerun,
        ended: Option<SlowOutcome>,
    ) -> bool {
        let silent = !torn.started && !torn.read;
        // It would take as long in the next worker, and a client that has disconnected waits for nothing.
        let repeatable = state.repeatable && rerun != Rerun::Never && !state.client_disconnected;
        let is_kept = !state.client_disconnected || self.keeps_abandoned();
        let again = !torn.too_long && is_kept && state.can_restart() && (silent || repeatable);
        if again {
            // A request that crashes its worker must not crash all of them.
            if rerun == Rerun::Bystander && state.crashes_of_others < BYSTANDER_RERUNS_MAX {
                state.crashes_of_others += 1;
            } else {
                state.repeatable &= silent;
            }
            self.end_slow(state, state.slow_outcome(ended), true);
            state.start_over(Instant::now());
        }
        again
    }
}

/// How a slow request ended whose worker exited. `None`: it had ended before.
fn slow_outcome(torn: &TornSlot, reason: ExitReason) -> Option<SlowOutcome> {
    Some(match reason {
        _ if torn.ended => return None,
        _ if torn.too_long => SlowOutcome::CpuTimeout,
        ExitReason::Crash => SlowOutcome::Crash,
        ExitReason::Planned | ExitReason::Overdue => SlowOutcome::ProcessEnded,
    })
}

/// Why the request of a worker that crashed does not run again.
pub(super) fn torn_error(torn: &TornSlot) -> CallError {
    if torn.too_long {
        CallError::CpuLimit
    } else {
        CallError::WorkerDied
    }
}
