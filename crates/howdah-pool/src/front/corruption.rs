//! Corruption of a segment by a worker: detection, and the switch to a new segment.

use std::time::{Duration, Instant};

use howdah_shm::{Front, ProtocolViolation, SlotState};

use super::worker_exit::{Rerun, torn_error};
use super::{Inner, Table, wakeup_eventfd};
use crate::messages::SupervisorMessage;
use crate::response::CallError;
use crate::status::SlowOutcome;
use crate::system::clock::monotonic_ns;

/// Interval of the checks while requests are in flight.
const CHECK: Duration = Duration::from_millis(100);

impl Inner {
    /// Checks the segment, if a check is due.
    pub(super) fn check(&self, now: Instant) {
        let mut table = self.table.borrow_mut();
        if now.duration_since(table.checked) >= CHECK {
            table.checked = now;
            self.check_table(&mut table);
        }
    }

    /// Checks the segment now.
    pub(super) fn check_now(&self) {
        self.collect();
        self.check_table(&mut self.table.borrow_mut());
    }

    fn check_table(&self, table: &mut Table) {
        if table.is_corrupt {
            return;
        }
        self.absorb_all(table);
        if let Err(violation) = table.shm.check(monotonic_ns()) {
            self.report_corruption(table, violation);
        }
    }

    /// Reads all committed frames of responses: the notification may be overwritten.
    fn absorb_all(&self, table: &mut Table) {
        for index in 0..table.exchanges.len() {
            let Some(exchange) = table.exchanges[index].clone() else {
                continue;
            };
            let mut state = exchange.state.borrow_mut();
            let Some(status) = state.slot.and_then(|slot| table.shm.slot(slot)) else {
                continue;
            };
            let SlotState::Running { worker, .. } = status.state else {
                continue;
            };
            let absorbed = state.absorb(&mut table.shm, Some(self.options.limits.response_buffer));
            state.wake();
            drop(state);
            if let Err(violation) = absorbed {
                self.report_violation(table, worker, violation);
            }
        }
    }

    /// Stops the use of the segment and requests a new one.
    pub(super) fn report_corruption(&self, table: &mut Table, violation: ProtocolViolation) {
        if !std::mem::replace(&mut table.is_corrupt, true) {
            self.send(SupervisorMessage::Corrupt {
                pool: self.pool,
                segment: table.segment,
                violation,
            });
        }
    }

    /// Changes to a new segment, after all processes with the old one have exited. Complete responses are
    /// delivered. Requests that PHP had not started, or that are safe to repeat, are queued again by their
    /// callers, from the callers' memory: the copy in the old segment may be overwritten.
    pub(super) fn replace_segment(&self, shm: Front, number: u32) {
        self.table.borrow_mut().is_corrupt = true;
        self.collect();
        let mut table = self.table.borrow_mut();
        for index in 0..table.exchanges.len() {
            let Some(exchange) = table.exchanges[index].take() else {
                continue;
            };
            let mut state = exchange.state.borrow_mut();
            let Some(slot) = state.slot else { continue };
            if let Some(SlotState::Running { worker, .. }) =
                table.shm.slot(slot).map(|status| status.state)
            {
                state.report_claim(&table.shm, worker);
            }
            let torn = table.shm.abandon(slot);
            if torn.is_ok_and(|torn| torn.started) {
                // Committed frames are complete. Their worker has exited, so a violation has no consequence.
                let _ = state.absorb(&mut table.shm, None);
            }
            self.load.release_slot(self.options.limits.max_in_flight);
            let ended = match &torn {
                Ok(torn) if torn.too_long => SlowOutcome::CpuTimeout,
                _ => SlowOutcome::ProcessEnded,
            };
            let retry = !state.client_disconnected
                && torn.is_ok_and(|torn| {
                    self.start_over_if_allowed(&mut state, &torn, Rerun::Once, Some(ended))
                });
            if retry {
                state.slot = None;
                state.retry_pending = true;
                state.wake();
            } else {
                self.vacate(&mut state, Some(ended));
                state.end(Err(torn.as_ref().map_or(CallError::WorkerDied, torn_error)));
            }
        }
        table.shm = shm;
        table.segment = number;
        table.is_corrupt = false;
        match wakeup_eventfd(&table.shm) {
            Ok(eventfd) => drop(self.eventfd.replace(eventfd)),
            // Completions are then only noticed when limits are enforced.
            Err(error) => {
                tracing::error!(target: "howdah::pool", pool = self.options.name, %error, "an eventfd cannot be watched");
            }
        }
        self.grant(&mut table);
        drop(table);
        self.set_leave_limit_by_load();
    }
}
