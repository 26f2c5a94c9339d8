//! A pool as one front thread sees it: hands requests to workers and collects their responses.
//!
//! Everything here runs on one thread. Completions are collected before the thread sleeps and after it wakes
//! ([`before_park`], [`after_unpark`]), and whenever a request is dispatched, so that a busy thread needs no system
//! call for them.

mod abandoned;
mod body;
mod corruption;
mod crashes;
mod crowding;
mod exchange;
mod limits;
mod spool;
mod task_signal;
mod waiting;
mod worker_exit;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use howdah_shm::layout::{REQUEST_ACCOUNT, REQUEST_HEAD, REQUEST_HUB};
use howdah_shm::{
    Event, FillError, Front, ProtocolViolation, QueueError, SlotId, Update, WorkerId,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::abandoned::DropTallies;
use self::crowding::Crowding;
use self::exchange::{Exchange, ExchangeState, Retry};
use self::task_signal::TaskSignal;
use self::waiting::{SlotWait, Waiter, WaiterState};
use crate::crashes::Target;
use crate::load::{Load, Membership};
use crate::messages::{ExitReason, FrontMessage, KillReason, SupervisorMessage};
use crate::options::{PoolOptions, User};
use crate::process::slow_log::SlowLog;
use crate::response::{CallError, Head, ScriptUsage};
use crate::status::SlowOutcome;
use crate::system::alarm::Alarm;
use crate::system::readiness::register;
use crate::system::scheduling::yield_on_wake;

pub use self::abandoned::settled;
pub use self::body::Body;
pub use howdah_shm::Body as RequestBody;

/// How often limits are checked while requests are in flight.
const SWEEP: Duration = Duration::from_millis(50);
/// The pause after a failure in which no response is spooled.
const SPOOL_AGAIN: Duration = Duration::from_secs(10);

/// The data that a front thread needs of a pool; created by the supervisor, moved to the thread.
#[derive(Debug)]
pub struct FrontSeed {
    pub(crate) pool: usize,
    /// The number of the segment that `shm` belongs to.
    pub(crate) segment: u32,
    pub(crate) shm: Front,
    pub(crate) options: Arc<PoolOptions>,
    pub(crate) load: Arc<Load>,
    pub(crate) joined: Membership,
    pub(crate) to_supervisor: mpsc::UnboundedSender<SupervisorMessage>,
    /// Senders to all front threads of the pool.
    pub(crate) fronts: Vec<mpsc::UnboundedSender<FrontMessage>>,
    /// Set if the pool has `slow_log`.
    pub(crate) slow_log: Option<Arc<SlowLog>>,
    pub(crate) receiver: mpsc::UnboundedReceiver<FrontMessage>,
}

/// A request as a worker gets it.
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Request<'a> {
    /// Not 0; a spooled body's file is named after it.
    pub id: u64,
    /// Encoded variables (`howdah-cgi` writes them).
    pub vars: &'a [u8],
    pub body: RequestBody<'a>,
    /// Removes the file of the body when it is dropped: when no worker can need it any more.
    pub body_file: Option<Box<dyn Any>>,
    /// The client expects no response body.
    pub head: bool,
    /// Its method and path. `None`: crashes while it runs are not counted by route.
    pub target: Option<Target>,
    /// It may run again if its worker crashes before anything was sent (a safe method).
    pub repeatable: bool,
    /// The worker measures its costs, for [`Observer::on_usage`].
    pub account: bool,
    /// Is notified of the progress of the request, if set.
    pub observer: Option<Rc<dyn Observer>>,
    /// Receives what the script publishes; without it the script gets the error that there is no
    /// hub.
    pub publisher: Option<Arc<dyn Publisher>>,
}

/// Receives the updates that a request publishes, on its front thread and in their order.
pub trait Publisher {
    /// `request` is its id. Must not wait: other requests would wait too. A request that runs again after its worker
    /// crashed may publish an update again.
    fn publish(&self, request: u64, update: Update);
}

/// Is notified of the progress of a request, on its front thread.
pub trait Observer {
    /// A worker has claimed it; called with the worker's first output for it. `claimed_ns` is `CLOCK_MONOTONIC` as
    /// reported by the worker, which may be wrong if the worker is broken. Called again if the request was retried with
    /// another worker.
    fn on_claim(&self, claimed_ns: u64, worker: WorkerId);

    /// That worker exited before the end, and the request is queued again.
    fn on_crash(&self);

    /// Its costs; called at the end of the response, which may come before the worker is done. All zero if
    /// [`Request::account`] was not set; not called without a valid end.
    fn on_usage(&self, usage: ScriptUsage);

    /// The worker is done with it.
    fn on_done(&self);
}

/// A pool on this thread. Clones are the same pool. When the last is dropped, the thread has left the pool; requests
/// that it has dispatched continue.
#[derive(Clone)]
pub struct PoolFront {
    inner: Rc<Inner>,
    _joined: Rc<Membership>,
}

pub(crate) struct Inner {
    pool: usize,
    pub(crate) options: Arc<PoolOptions>,
    load: Arc<Load>,
    /// The supervisor has to be notified when requests wait.
    scales: bool,
    to_supervisor: mpsc::UnboundedSender<SupervisorMessage>,
    /// The pool's other front threads, if slots that this one releases are useful to them.
    others: Vec<mpsc::UnboundedSender<FrontMessage>>,
    table: RefCell<Table>,
    /// Wakes the reactor when workers write to it; edge-triggered, so it need not be read.
    eventfd: Cell<AsyncFd<OwnedFd>>,
    sweep: TaskSignal,
    /// `None`: no request is left to workers that are awake.
    crowding: Option<RefCell<Crowding>>,
    second_look: TaskSignal,
    /// No response is spooled until then.
    no_spool: Cell<Option<Instant>>,
    slow_log: Option<Arc<SlowLog>>,
    /// Dropped requests of disconnected clients.
    dropped: DropTallies,
    /// All workers have exited, and none will start.
    ended: Cell<bool>,
}

struct Table {
    shm: Front,
    /// The number of its segment.
    segment: u32,
    /// A worker has corrupted the segment: no request is queued before it is replaced.
    is_corrupt: bool,
    /// Time of the last check.
    checked: Instant,
    /// Indexed by slot.
    exchanges: Vec<Option<Rc<Exchange>>>,
    waiting: VecDeque<Rc<Waiter>>,
}

thread_local! {
    static FRONTS: RefCell<Vec<Rc<Inner>>> = const { RefCell::new(Vec::new()) };
}

/// Must be called when this thread's runtime is about to sleep (`on_thread_park`).
pub fn before_park() {
    FRONTS.with_borrow(|fronts| fronts.iter().for_each(|inner| inner.before_park()));
}

/// Must be called when this thread's runtime wakes (`on_thread_unpark`).
pub fn after_unpark() {
    FRONTS.with_borrow(|fronts| fronts.iter().for_each(|inner| inner.after_unpark()));
}

impl PoolFront {
    /// Joins the pool on this thread. Must be called within the thread's runtime, which must call
    /// [`before_park`] and [`after_unpark`] and must be able to spawn local tasks.
    pub fn join(seed: FrontSeed) -> std::io::Result<Self> {
        yield_on_wake();
        let eventfd = wakeup_eventfd(&seed.shm)?;
        let slots = seed.shm.segment().geometry().slots() as usize;
        let mut others = seed.fronts;
        others.remove(seed.shm.index());
        if seed.options.limits.max_in_flight.is_none() {
            others.clear();
        }
        let alarm = seed.options.may_leave().then(Alarm::new).transpose()?;
        let inner = Rc::new(Inner {
            pool: seed.pool,
            scales: seed.options.serving_max() > seed.options.serving_min(),
            options: seed.options,
            load: seed.load,
            to_supervisor: seed.to_supervisor,
            others,
            table: RefCell::new(Table {
                shm: seed.shm,
                segment: seed.segment,
                is_corrupt: false,
                checked: Instant::now(),
                exchanges: vec![None; slots],
                waiting: VecDeque::new(),
            }),
            eventfd: Cell::new(eventfd),
            sweep: TaskSignal::default(),
            crowding: alarm.is_some().then(|| RefCell::new(Crowding::new())),
            second_look: TaskSignal::default(),
            no_spool: Cell::new(None),
            slow_log: seed.slow_log,
            dropped: DropTallies::default(),
            ended: Cell::new(false),
        });
        FRONTS.with_borrow_mut(|fronts| fronts.push(inner.clone()));
        inner.set_leave_limit_by_load();
        let mut looking =
            vec![tokio::task::spawn_local(enforce_limits_loop(inner.clone())).abort_handle()];
        if let Some(alarm) = alarm {
            let second = crowding::recheck_left(inner.clone(), alarm);
            looking.push(tokio::task::spawn_local(second).abort_handle());
        }
        tokio::task::spawn_local(listen(inner.clone(), seed.receiver, looking));
        Ok(Self {
            inner,
            _joined: Rc::new(seed.joined),
        })
    }

    /// User of its processes, if it is not the front's: files for them must be owned by that user.
    pub fn user(&self) -> Option<&User> {
        self.inner.options.user.as_ref()
    }

    /// Whether responses report the costs of their requests.
    pub fn has_server_timing(&self) -> bool {
        self.inner.options.limits.server_timing
    }

    /// Runs one request: waits for a worker, sends it the request, and returns when the head of the response has
    /// arrived. Dropping the future, or later the body, notifies the worker that the client disconnected. A request
    /// that has been polled once runs nevertheless, unless the pool drops those of disconnected clients
    /// (`drop_abandoned`).
    pub async fn call(&self, request: Request<'_>) -> Result<(Head, Body), CallError> {
        self.call_with(request, drop).await
    }

    /// Like [`call`](Self::call), and passes each interim response (1xx) of the script to `interim` as it arrives. A
    /// request that runs again may send them again.
    pub async fn call_with(
        &self,
        request: Request<'_>,
        mut interim: impl FnMut(Head),
    ) -> Result<(Head, Body), CallError> {
        let result = self.run(request, &mut interim).await;
        if let Err(error) = &result {
            self.inner.load.refused(error);
        }
        result
    }

    async fn run(
        &self,
        mut request: Request<'_>,
        interim: &mut impl FnMut(Head),
    ) -> Result<(Head, Body), CallError> {
        let inner = &self.inner;
        inner.check_quarantine(request.target.as_ref())?;
        let mut admission = inner.admit()?;
        let mut since = Instant::now();
        inner.collect();
        loop {
            let slot = if let Some(slot) = inner.acquire() {
                slot
            } else {
                let waiting = SlotWait::begin(self, since, request, admission);
                // Boxed: it is large, and a request that finds a slot would have room for it too.
                let granted = Box::pin(waiting.slot()).await?;
                (request, admission) = (granted.request, granted.admission);
                granted.slot
            };
            let Some(exchange) = inner.dispatch(slot, since, &mut request)? else {
                continue;
            };
            // From here on the slot counts; it is released when the worker is done.
            std::mem::forget(admission);
            let mut pending = HeadWait(Some(exchange));
            let ended = poll_fn(|context| {
                let Some(exchange) = &pending.0 else {
                    return Poll::Ready(Ok(Err(CallError::Stopping)));
                };
                for head in exchange.take_interims() {
                    interim(head);
                }
                if let Some(retry) = exchange.take_retry() {
                    pending.0 = None;
                    return Poll::Ready(Err(retry));
                }
                let result = exchange.poll_head(context);
                if result.is_ready() {
                    pending.0 = None;
                }
                result.map(Ok)
            });
            match ended.await {
                Ok(result) => return result,
                Err(retry) => {
                    // It is still counted.
                    admission = Admission(&inner.load);
                    since = retry.queued_at;
                    request.take_back(retry);
                }
            }
        }
    }

    /// Requests of the whole pool that wait or run, on all front threads.
    pub fn in_flight(&self) -> usize {
        self.inner.load.in_flight()
    }
}

impl Request<'_> {
    /// Restores the values that the previous attempt took.
    fn take_back(&mut self, retry: Retry) {
        self.repeatable = retry.repeatable;
        self.target = retry.target;
        self.observer = retry.observer;
        self.publisher = retry.publisher;
        self.body_file = retry.body_file;
    }
}

/// The eventfd with which workers wake this front thread.
fn wakeup_eventfd(shm: &Front) -> std::io::Result<AsyncFd<OwnedFd>> {
    let eventfd = shm.segment().eventfds().nth(shm.index());
    let eventfd = eventfd.ok_or(std::io::ErrorKind::NotFound)?;
    register(eventfd.try_clone_to_owned()?, Interest::READABLE)
}

impl fmt::Debug for PoolFront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolFront")
            .field("pool", &self.inner.options.name)
            .finish_non_exhaustive()
    }
}

/// Notifies the worker of the disconnect, if the future is dropped before the head has arrived.
struct HeadWait(Option<Rc<Exchange>>);

impl Drop for HeadWait {
    fn drop(&mut self) {
        if let Some(exchange) = self.0.take() {
            exchange.client_disconnected();
        }
    }
}

/// Counts a request from its arrival until it has a slot.
struct Admission<'a>(&'a Load);

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.0.leave_in_flight();
    }
}

impl Inner {
    fn admit(&self) -> Result<Admission<'_>, CallError> {
        let before = self.load.arrive();
        let admission = Admission(&self.load);
        if self.ended.get() {
            return Err(CallError::Stopping);
        }
        if before >= self.options.admitted_max() {
            return Err(CallError::QueueFull);
        }
        if self.load.is_failing() {
            return Err(CallError::NotBooted);
        }
        if self.scales && self.load.press(before) {
            self.send(SupervisorMessage::Pressure { pool: self.pool });
        }
        self.sweep.request_run();
        Ok(admission)
    }

    /// Returns a free slot, unless others have waited longer for one.
    fn acquire(&self) -> Option<SlotId> {
        let mut table = self.table.borrow_mut();
        if table.waiting.is_empty() {
            self.take_slot(&mut table)
        } else {
            None
        }
    }

    fn take_slot(&self, table: &mut Table) -> Option<SlotId> {
        let limit = self.options.limits.max_in_flight;
        if table.is_corrupt || !self.load.take_slot(limit) {
            return None;
        }
        let slot = table.shm.acquire();
        if slot.is_none() {
            self.load.release_slot(limit);
        }
        slot
    }

    fn wait_timeout(&self) -> CallError {
        CallError::WaitTimeout(self.options.limits.max_wait_time)
    }

    /// Queues a request. `None`: the segment is corrupt, and the request has to wait for a new one.
    fn dispatch(
        self: &Rc<Self>,
        slot: SlotId,
        queued_at: Instant,
        request: &mut Request<'_>,
    ) -> Result<Option<Rc<Exchange>>, CallError> {
        let mut table = self.table.borrow_mut();
        let queued = self.queue((&mut table, slot), queued_at, request, false);
        if !matches!(queued, Ok(Some(_))) {
            self.release(&mut table, slot);
        }
        queued
    }

    /// Fills a slot and pushes it; `client_disconnected`: its worker is notified of that. If no exchange is returned,
    /// the slot is still held and the request is unchanged.
    fn queue(
        self: &Rc<Self>,
        (table, slot): (&mut Table, SlotId),
        queued_at: Instant,
        request: &mut Request<'_>,
        client_disconnected: bool,
    ) -> Result<Option<Rc<Exchange>>, CallError> {
        let malformed = |error: &dyn fmt::Display| {
            tracing::error!(target: "howdah::pool", pool = self.options.name, "{error}");
            Err(CallError::Malformed)
        };
        let hub = request.publisher.is_some();
        let flags = (u32::from(request.head) * REQUEST_HEAD)
            | (u32::from(hub) * REQUEST_HUB)
            | (u32::from(request.account) * REQUEST_ACCOUNT);
        let filled = table
            .shm
            .fill(slot, request.id, request.vars, request.body, flags);
        match filled {
            Ok(()) => {}
            Err(FillError::TooLarge { .. }) => return Err(CallError::TooLarge),
            Err(error) => return malformed(&error),
        }
        if client_disconnected {
            // It is filled, so this cannot fail.
            let _ = table.shm.abort(slot);
        }
        match table.shm.push(slot) {
            Ok(()) => {}
            Err(QueueError::ProtocolViolation(violation)) => {
                self.report_corruption(table, violation);
                return Ok(None);
            }
            Err(error) => return malformed(&error),
        }
        let mut state = ExchangeState::new(slot, request.id, queued_at, request.repeatable);
        state.target = request.target.take();
        state.observer = request.observer.take();
        state.publisher = request.publisher.take();
        state.body_file = request.body_file.take();
        let exchange = Rc::new(Exchange {
            front: self.clone(),
            state: RefCell::new(state),
        });
        table.exchanges[slot.index()] = Some(exchange.clone());
        self.watch(&table.shm);
        Ok(Some(exchange))
    }

    /// Releases a slot and passes it to the request that has waited longest for one.
    fn release(&self, table: &mut Table, slot: SlotId) {
        table.exchanges[slot.index()] = None;
        if let Err(error) = table.shm.release(slot) {
            tracing::error!(target: "howdah::pool", pool = self.options.name, "{error}");
        }
        self.slot_freed(table);
    }

    /// A slot was released: the request that has waited longest on this thread gets it, or else one on another.
    fn slot_freed(&self, table: &mut Table) {
        let wanted = self.load.release_slot(self.options.limits.max_in_flight);
        self.grant(table);
        if wanted {
            for other in &self.others {
                // A front thread that exited has no waiting requests.
                let _ = other.send(FrontMessage::Room);
            }
        }
    }

    // --- completions ---------------------------------------------------------------------------------

    fn before_park(&self) {
        loop {
            self.collect();
            if !self.table.borrow_mut().shm.prepare_sleep() {
                return;
            }
        }
    }

    fn after_unpark(&self) {
        self.table.borrow_mut().shm.woken();
        self.collect();
    }

    /// Takes all completions.
    fn collect(&self) {
        let mut table = self.table.borrow_mut();
        while let Some(event) = table.shm.poll() {
            self.handle(&mut table, event);
        }
    }

    fn handle(&self, table: &mut Table, event: Event) {
        match event {
            Event::Progress { slot, worker } => {
                self.absorb(
                    table,
                    slot,
                    worker,
                    Some(self.options.limits.response_buffer),
                );
            }
            Event::Done { slot, worker } => {
                self.absorb(table, slot, worker, None);
                self.finish(table, slot);
            }
            Event::ProtocolViolation { worker, violation } => {
                self.report_violation(table, worker, violation);
            }
        }
    }

    /// Requests that a worker is killed because it wrote an invalid value, or all workers if the segment is corrupt.
    fn report_violation(&self, table: &mut Table, worker: WorkerId, violation: ProtocolViolation) {
        if violation.corrupts_segment() {
            return self.report_corruption(table, violation);
        }
        self.send(SupervisorMessage::Kill {
            pool: self.pool,
            segment: table.segment,
            worker,
            request: None,
            reason: KillReason::ProtocolViolation(violation),
        });
    }

    fn absorb(&self, table: &mut Table, slot: SlotId, worker: WorkerId, limit: Option<usize>) {
        let Some(exchange) = &table.exchanges[slot.index()] else {
            return;
        };
        let mut state = exchange.state.borrow_mut();
        state.report_claim(&table.shm, worker);
        let absorbed = state.absorb(&mut table.shm, limit);
        state.wake();
        drop(state);
        if let Err(violation) = absorbed {
            self.report_violation(table, worker, violation);
        }
    }

    /// The slot's request has ended: the part of its response that is not passed on is now in
    /// memory.
    fn finish(&self, table: &mut Table, slot: SlotId) {
        if let Some(exchange) = &table.exchanges[slot.index()] {
            let mut state = exchange.state.borrow_mut();
            if let Some(observer) = state.observer.take() {
                observer.on_done();
            }
            if let Some(exit) = state.exit {
                self.load.ended(exit);
            }
            self.vacate(&mut state, None);
            // Done without an end: the violation was reported.
            state.end(Err(CallError::Malformed));
        }
        self.release(table, slot);
    }

    /// The request no longer holds a slot, and is no longer counted. `torn`: how it ended, if
    /// its worker did not finish it.
    fn vacate(&self, state: &mut ExchangeState, torn: Option<SlowOutcome>) {
        self.end_slow(state, state.slow_outcome(torn), false);
        if state.slot.take().is_some() {
            self.load.leave_in_flight();
        }
        state.body_file = None;
    }

    /// The client has read enough of the response to fetch more of it.
    pub(crate) fn resume(&self, exchange: &Exchange) {
        let mut table = self.table.borrow_mut();
        let mut state = exchange.state.borrow_mut();
        if let Err(violation) =
            state.absorb(&mut table.shm, Some(self.options.limits.response_buffer))
        {
            tracing::error!(target: "howdah::pool", pool = self.options.name, "{violation}");
        }
    }

    /// A response could not be written to a file: workers wait for their clients for a while.
    pub(crate) fn spool_failed(&self, error: &std::io::Error) {
        self.avoid_spools();
        let (pool, folder) = (&*self.options.name, std::env::temp_dir());
        tracing::warn!(
            target: "howdah::pool", pool, folder = %folder.display(), %error,
            "a response for a slow client cannot be spooled: PHP waits for slow clients now; check the disk of \
            TMPDIR, or lower `response_spool`"
        );
    }

    /// The spooled part of a response cannot be read: the response is cut.
    pub(crate) fn spool_lost(&self, error: &std::io::Error) {
        self.avoid_spools();
        let (pool, folder) = (&*self.options.name, std::env::temp_dir());
        tracing::error!(
            target: "howdah::pool", pool, folder = %folder.display(), %error,
            "a response for a slow client was cut off: its spool file cannot be read; check the disk of TMPDIR"
        );
    }

    fn avoid_spools(&self) {
        self.no_spool.set(Some(Instant::now() + SPOOL_AGAIN));
    }

    /// A queued request was withdrawn; its slot is already free.
    fn on_withdrawal(&self, table: &mut Table, slot: SlotId) {
        if let Some(exchange) = table.exchanges[slot.index()].take() {
            self.vacate(&mut exchange.state.borrow_mut(), None);
        }
        self.slot_freed(table);
    }

    fn send(&self, message: SupervisorMessage) {
        // Without a supervisor the server is about to stop.
        let _ = self.to_supervisor.send(message);
    }
}

/// Handles messages of the supervisor.
async fn listen(
    inner: Rc<Inner>,
    mut receiver: mpsc::UnboundedReceiver<FrontMessage>,
    looking: Vec<AbortHandle>,
) {
    while let Some(message) = receiver.recv().await {
        match message {
            FrontMessage::WorkerGone(worker) => inner.recover(worker, ExitReason::Planned, None),
            FrontMessage::WorkerCrashed(worker, report) => {
                inner.recover(worker, ExitReason::Crash, report.as_ref());
            }
            FrontMessage::WorkerOverdue(worker) => inner.recover(worker, ExitReason::Overdue, None),
            FrontMessage::Check => inner.check_now(),
            FrontMessage::Segment(shm, number) => inner.replace_segment(*shm, number),
            FrontMessage::Room => inner.grant(&mut inner.table.borrow_mut()),
            FrontMessage::Ended => {
                looking.iter().for_each(AbortHandle::abort);
                FRONTS.with_borrow_mut(|fronts| fronts.retain(|own| !Rc::ptr_eq(own, &inner)));
                inner.end();
                return;
            }
        }
    }
}

/// Checks limits while requests are in flight; sleeps otherwise, so that an idle server uses no
/// processor.
async fn enforce_limits_loop(inner: Rc<Inner>) {
    loop {
        inner.sweep.wait_for_request().await;
        loop {
            tokio::time::sleep(SWEEP).await;
            inner.set_leave_limit_by_load();
            let busy = inner.enforce_limits();
            // One more check after the last request, which may have corrupted the segment.
            if !busy {
                inner.check_now();
                break;
            }
            inner.check(Instant::now());
        }
        inner.sweep.done();
    }
}

#[cfg(test)]
mod abandoned_tests;
#[cfg(test)]
mod concurrent_tests;
#[cfg(test)]
mod observer_tests;
#[cfg(test)]
mod publish_tests;
#[cfg(test)]
mod tests;
