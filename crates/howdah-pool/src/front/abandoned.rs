//! Requests whose clients disconnected before a worker claimed them.
//!
//! They arrived completely, so they run, as in PHP-FPM: much PHP code starts background work with a request whose
//! response nobody waits for. They keep their places in the queue and count like all others, so its limits apply. The
//! worker is notified of the disconnect before it begins; PHP notices it when it writes. A pool may drop them instead.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_shm::{Cancel, SlotId, SlotState, WorkerId};

use super::exchange::Exchange;
use super::waiting::{Waiter, WaiterState};
use super::{
    Admission, FRONTS, Inner, Observer, PoolFront, Publisher, Request, RequestBody, Table,
};
use crate::crashes::Target;

/// Shortest time between log lines about dropped requests.
const QUIET: Duration = Duration::from_secs(1);
/// How often [`settled`] checks.
const LOOK: Duration = Duration::from_millis(10);
/// Why the request of a disconnected client was not run, and cannot be retried.
const NO_MEMORY: &str = "the pool's shared memory is being replaced";

/// A request that waits for a slot and has no future.
pub(super) struct Orphan {
    /// Keeps the thread's membership in the pool.
    front: PoolFront,
    id: u64,
    vars: Vec<u8>,
    body: Body,
    body_file: Option<Box<dyn Any>>,
    target: Option<Target>,
    head: bool,
    account: bool,
    observer: Option<Rc<dyn Observer>>,
    publisher: Option<Arc<dyn Publisher>>,
}

enum Body {
    None,
    Inline(Vec<u8>),
    File(u64),
}

impl Orphan {
    fn new(front: &PoolFront, request: Request<'_>) -> Self {
        Self {
            front: front.clone(),
            id: request.id,
            vars: request.vars.to_vec(),
            body: match request.body {
                RequestBody::None => Body::None,
                RequestBody::Inline(bytes) => Body::Inline(bytes.to_vec()),
                RequestBody::File(size) => Body::File(size),
            },
            body_file: request.body_file,
            head: request.head,
            account: request.account,
            target: request.target,
            observer: request.observer,
            publisher: request.publisher,
        }
    }

    fn request(&mut self) -> Request<'_> {
        Request {
            id: self.id,
            vars: &self.vars,
            body: match &self.body {
                Body::None => RequestBody::None,
                Body::Inline(bytes) => RequestBody::Inline(bytes),
                Body::File(size) => RequestBody::File(*size),
            },
            body_file: self.body_file.take(),
            head: self.head,
            account: self.account,
            target: self.target.take(),
            // The client has disconnected, so the request is not tried again.
            repeatable: false,
            observer: self.observer.take(),
            publisher: self.publisher.take(),
        }
    }
}

/// Requests that were dropped and not logged yet, by reason.
#[derive(Debug, Default)]
pub(super) struct DropTallies {
    by_option: Tally,
    by_time: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    count: Cell<u64>,
    /// When it was last logged.
    last: Cell<Option<Instant>>,
}

impl Tally {
    fn add(&self) {
        self.count.set(self.count.get() + 1);
    }

    /// The number to log now.
    fn due(&self, now: Instant) -> Option<u64> {
        let quiet = self.last.get().is_some_and(|last| now < last + QUIET);
        if quiet || self.count.get() == 0 {
            return None;
        }
        self.last.set(Some(now));
        Some(self.count.take())
    }
}

impl Inner {
    /// The client has disconnected while its request waits for a slot.
    pub(super) fn abandon(
        self: &Rc<Self>,
        (front, waiter): (&PoolFront, &Rc<Waiter>),
        mut request: Request<'_>,
        admission: Admission<'_>,
    ) {
        let state = waiter.state.replace(WaiterState::Left);
        let segment = self.table.borrow().segment;
        let (waits, granted_before) = match &state {
            WaiterState::Waiting(_) => (true, false),
            WaiterState::Granted(_, of) if *of != segment => (true, true),
            _ => (false, false),
        };
        match state {
            _ if waits && self.keeps_abandoned() => {
                self.load.abandon();
                std::mem::forget(admission);
                let orphan = Box::new(Orphan::new(front, request));
                waiter.state.replace(WaiterState::Abandoned(orphan));
                if granted_before {
                    self.wait_again(waiter);
                }
                return; // it continues to wait
            }
            _ if waits => {
                self.drop_abandoned();
                if granted_before {
                    self.load.release_slot(self.options.limits.max_in_flight);
                }
            }
            WaiterState::Granted(slot, _) if self.keeps_abandoned() => {
                match self.dispatch(slot, waiter.since, &mut request) {
                    Ok(Some(exchange)) => {
                        std::mem::forget(admission);
                        self.client_disconnected(&exchange);
                    }
                    Ok(None) => self.not_run(request.id, &NO_MEMORY),
                    Err(error) => self.not_run(request.id, &error),
                }
            }
            WaiterState::Granted(slot, _) => {
                self.drop_abandoned();
                self.release(&mut self.table.borrow_mut(), slot);
            }
            // Its client has received nothing.
            WaiterState::Expired => self.expire_abandoned(),
            WaiterState::Waiting(_) | WaiterState::Abandoned(_) | WaiterState::Left => {}
        }
        self.load.end_wait();
    }

    /// Whether requests of disconnected clients run.
    pub(super) fn keeps_abandoned(&self) -> bool {
        !self.options.limits.drop_abandoned && !self.ended.get()
    }

    /// Runs an abandoned request, which now has a slot.
    pub(super) fn run_orphan(
        &self,
        table: &mut Table,
        slot: SlotId,
        (since, mut orphan): (Instant, Orphan),
    ) {
        self.load.end_wait();
        let inner = Rc::clone(&orphan.front.inner);
        let queued = inner.queue((table, slot), since, &mut orphan.request(), true);
        let refused: &dyn fmt::Display = match &queued {
            Ok(Some(exchange)) => return exchange.state.borrow_mut().disconnect(),
            Ok(None) => &NO_MEMORY,
            Err(error) => error,
        };
        self.load.leave_in_flight();
        self.not_run(orphan.id, refused);
        if let Err(error) = table.shm.release(slot) {
            tracing::error!(target: "howdah::pool", pool = &*self.options.name, "{error}");
        }
        self.load.release_slot(self.options.limits.max_in_flight);
    }

    fn not_run(&self, id: u64, why: &dyn fmt::Display) {
        let (pool, request_id) = (&*self.options.name, format!("{id:016x}"));
        tracing::warn!(target: "howdah::pool", pool, request_id, "a request was dropped because its client had \
            disconnected: {why}");
    }

    /// An abandoned request gets no slot.
    pub(super) fn refuse_orphan(&self) {
        self.load.end_wait();
        self.load.leave_in_flight();
        if !self.ended.get() {
            self.expire_abandoned();
        }
    }

    /// The client disconnected: the worker is notified, now or later, and its output is dropped.
    pub(crate) fn client_disconnected(&self, exchange: &Exchange) {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        let slot = {
            let mut state = exchange.state.borrow_mut();
            // A script that has sent nothing yet: the front does not know of its worker.
            if let Some(worker) = state.slot.and_then(|slot| runner(table, slot)) {
                state.report_silent_claim(&table.shm, worker);
            }
            state.disconnect();
            if std::mem::take(&mut state.retry_pending) {
                drop(state);
                self.load.leave_in_flight();
                return;
            }
            // After `fastcgi_finish_request` the client has everything that it waited for: no
            // abort.
            if state.complete() { None } else { state.slot }
        };
        let Some(slot) = slot else { return };
        if self.options.limits.drop_abandoned
            && matches!(table.shm.cancel(slot), Ok(Cancel::Removed))
        {
            self.drop_abandoned();
            return self.on_withdrawal(table, slot);
        }
        if is_queued(table, slot) {
            self.load.abandon();
        }
        report_disconnect(table, exchange, slot);
    }

    fn drop_abandoned(&self) {
        self.load.drop_abandoned();
        self.dropped.by_option.add();
        self.report_dropped(Instant::now());
    }

    /// Drops a request whose client has disconnected: no worker was free in time.
    pub(super) fn expire_abandoned(&self) {
        self.load.refused(&self.wait_timeout());
        self.dropped.by_time.add();
        self.report_dropped(Instant::now());
    }

    /// Logs dropped requests, if the last line is old enough.
    pub(super) fn report_dropped(&self, now: Instant) {
        let pool = &*self.options.name;
        if let Some(count) = self.dropped.by_option.due(now) {
            tracing::info!(target: "howdah::pool", pool, count, "queued requests were dropped because their clients \
                had disconnected");
        }
        if let Some(count) = self.dropped.by_time.due(now) {
            let error = self.wait_timeout();
            tracing::warn!(target: "howdah::pool", pool, count, "requests were dropped because their clients had \
                disconnected: {error}");
        }
    }

    /// Whether [`Inner::report_dropped`] has something to report later.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped.by_option.count.get() + self.dropped.by_time.count.get() > 0
    }

    /// Whether a request waits for a worker.
    fn has_queued(&self) -> bool {
        let table = self.table.borrow();
        let mut exchanges = table.exchanges.iter().flatten();
        !table.waiting.is_empty()
            || exchanges.any(|exchange| {
                let slot = exchange.state.borrow().slot;
                slot.is_some_and(|slot| is_queued(&table, slot))
            })
    }
}

fn report_disconnect(table: &mut Table, exchange: &Exchange, slot: SlotId) {
    // Fails if it is done or torn already: then that handler releases it.
    if table.shm.abort(slot).is_ok() {
        // Empties the ring, so that a worker that waits for space continues and sees the flag.
        let _ = exchange.state.borrow_mut().absorb(&mut table.shm, None);
    }
}

/// The worker that runs the request.
fn runner(table: &Table, slot: SlotId) -> Option<WorkerId> {
    match table.shm.slot(slot)?.state {
        SlotState::Running { worker, .. } => Some(worker),
        _ => None,
    }
}

fn is_queued(table: &Table, slot: SlotId) -> bool {
    let status = table.shm.slot(slot);
    status.is_some_and(|status| status.state == SlotState::Queued)
}

/// Completes when workers have claimed all requests of this thread's pools. Without it, requests of disconnected
/// clients would be lost when the thread ends.
pub async fn settled() {
    while FRONTS.with_borrow(|fronts| fronts.iter().any(|inner| inner.has_queued())) {
        tokio::time::sleep(LOOK).await;
    }
}
