//! What a front thread does when a worker is gone: its requests go to others, or end. And when all are gone.

use std::time::Instant;

use howdah_shm::WorkerId;

use super::{Inner, WaiterState};
use crate::messages::ToSupervisor;
use crate::response::CallError;

impl Inner {
    /// The pool has ended: whoever still waits for it is told.
    pub(super) fn end(&self) {
        self.ended.set(true);
        let mut table = self.table.borrow_mut();
        for waiter in table.waiting.drain(..) {
            if let WaiterState::Waiting(Some(waker)) = waiter.state.replace(WaiterState::Expired) {
                waker.wake();
            }
        }
        for exchange in table.exchanges.iter_mut().filter_map(Option::take) {
            let mut state = exchange.state.borrow_mut();
            self.vacate(&mut state);
            state.end(Err(CallError::Stopping));
        }
    }

    /// `repeats`: a request that it had begun may be run again, if its method allows that.
    pub(super) fn recover(&self, worker: WorkerId, repeats: bool) {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
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
            let silent = !torn.started && !torn.read;
            // It would compute as long in the next worker.
            let repeatable = state.repeatable && repeats;
            let again = !torn.too_long && state.can_start_over() && (silent || repeatable);
            if again {
                // Once: a request that kills its worker must not go round and kill them all.
                state.repeatable &= silent;
                state.start_over(Instant::now());
                if table.shm.requeue(torn.slot).is_ok() {
                    continue;
                }
            }
            self.vacate(&mut state);
            state.end(Err(if torn.too_long {
                CallError::CpuLimit
            } else {
                CallError::WorkerDied
            }));
            drop(state);
            self.release(table, torn.slot);
        }
        self.watch(&table.shm);
        if recovery.vacant {
            self.send(ToSupervisor::Recovered {
                pool: self.pool,
                worker,
            });
        }
    }
}
