//! What a front thread does after the exit of a worker: its requests go to others, or fail. And after the exit of all.

use std::rc::Rc;
use std::time::Instant;

use howdah_shm::{QueueError, TornSlot, WorkerId};

use super::exchange::ExchangeState;
use super::{Inner, WaiterState};
use crate::crash_report::CrashLink;
use crate::messages::{Death, SupervisorMessage};
use crate::response::CallError;

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
            self.vacate(&mut state);
            state.end(Err(CallError::Stopping));
        }
    }

    /// A request that it had begun may be run again, if its method and the death allow that.
    pub(super) fn recover(
        self: &Rc<Self>,
        worker: WorkerId,
        death: Death,
        report: Option<&CrashLink>,
    ) {
        let repeats = death != Death::Overdue;
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        // Before the place is enlisted again. Of a worker that runs one request at a time it is that one.
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
            // Whole frames that the worker committed are the client's.
            self.absorb(table, torn.slot, worker, None);
            let Some(exchange) = table.exchanges[torn.slot.index()].clone() else {
                self.release(table, torn.slot);
                continue;
            };
            let mut state = exchange.state.borrow_mut();
            // The one of several that ran when the worker died would take its next neighbours along.
            let suspect = culprit.is_some_and(|id| id.get() == state.request_id);
            // A worker may leave between taking a request and beginning it.
            let ran = torn.started && (suspect || !is_concurrent);
            let crashed = death == Death::Crash && ran && !torn.too_long && !torn.ended;
            if let Some(report) = report {
                report.add(state.crashed(ran, crashed));
            }
            let quarantined = crashed && self.count_crash(&state, report);
            if self.start_over_if_allowed(&mut state, &torn, repeats && !suspect && !quarantined) {
                match table.shm.requeue(torn.slot) {
                    Ok(()) => {
                        if state.client_disconnected {
                            // Queueing it has taken that back.
                            let _ = table.shm.abort(torn.slot);
                        }
                        continue;
                    }
                    Err(QueueError::Fault(fault)) => {
                        drop(state);
                        // It is queued again in the next segment.
                        self.report_corruption(table, fault);
                        continue;
                    }
                    Err(QueueError::Slot(_)) => {}
                }
            }
            self.vacate(&mut state);
            state.end(Err(torn_error(&torn)));
            drop(state);
            self.release(table, torn.slot);
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

    /// Whether a request is run again whose worker died with it; then it is as if it had not been begun.
    /// `repeats`: it may be although it was.
    pub(super) fn start_over_if_allowed(
        &self,
        state: &mut ExchangeState,
        torn: &TornSlot,
        repeats: bool,
    ) -> bool {
        let silent = !torn.started && !torn.read;
        // It would compute as long in the next worker, and a client that has left waits for nothing.
        let repeatable = state.repeatable && repeats && !state.client_disconnected;
        let is_kept = !state.client_disconnected || self.keeps_abandoned();
        let again = !torn.too_long && is_kept && state.can_restart() && (silent || repeatable);
        if again {
            // Once: a request that kills its worker must not go round and kill them all.
            state.repeatable &= silent;
            state.start_over(Instant::now());
        }
        again
    }
}

/// Why a request whose worker died with it is not run again.
pub(super) fn torn_error(torn: &TornSlot) -> CallError {
    if torn.too_long {
        CallError::CpuLimit
    } else {
        CallError::WorkerDied
    }
}
