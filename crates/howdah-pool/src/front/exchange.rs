//! One request in flight: the part of its response that has arrived and was not passed on.

use std::any::Any;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use howdah_shm::{
    Exit, Frame, Front, Part, ProtocolViolation, ReadError, SlotId, Updates, WorkerId,
};

use super::body::Body;
use super::spool::Spool;
use super::{Inner, Observer, Publisher};
use crate::crashes::Target;
use crate::process::slow_log::SlowTimer;
use crate::response::{CallError, Head, ScriptResult, ScriptUsage};
use crate::status::SlowOutcome;
use crate::system::clock::monotonic_ns;

/// Interim responses of one request that may wait to be passed on.
const INTERIMS_MAX: usize = 64;

/// Shared by the request's future or body and by the front thread's table of slots.
pub(crate) struct Exchange {
    pub(crate) front: Rc<Inner>,
    pub(crate) state: RefCell<ExchangeState>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with a name"
)]
pub(crate) struct ExchangeState {
    /// The slot, as long as one is held.
    pub(crate) slot: Option<SlotId>,
    pub(crate) request_id: u64,
    /// Its method and path, if its crashes are counted.
    pub(crate) target: Option<Target>,
    /// When it began to wait, not counting time in a worker that crashed.
    pub(crate) queued_at: Instant,
    /// When it was first seen in a worker.
    pub(crate) running_since: Option<Instant>,
    /// Once it runs, with `slow_log`.
    pub(crate) slow: Option<SlowTimer>,
    /// When its worker was notified of the timeout (concurrent pools).
    pub(crate) expired: Option<Instant>,
    /// It may run again if its worker crashes before anything was passed on.
    pub(crate) repeatable: bool,
    /// Workers that crashed while another request ran, after which this one ran again.
    pub(crate) crashes_of_others: u8,
    pub(crate) client_disconnected: bool,
    /// It disconnected before the end of the response had arrived.
    pub(crate) disconnected_early: bool,
    /// The caller has to queue the request again.
    pub(crate) retry_pending: bool,
    /// Interim responses that were not passed on.
    interims: Vec<Head>,
    head: Option<Head>,
    /// The head was passed on: the rest belongs to that response.
    head_taken: bool,
    chunks: VecDeque<Bytes>,
    buffered: usize,
    /// The ring contains more than the buffer may hold.
    paused: bool,
    /// The time that the worker has waited because of that.
    held: Duration,
    /// Receives the body in place of the client, which reads it from there.
    pub(crate) spool: Option<Spool>,
    outcome: Option<Result<ScriptResult, CallError>>,
    /// How the script ended, once known.
    pub(crate) exit: Option<Exit>,
    waker: Option<Waker>,
    /// Set until the worker is done.
    pub(crate) observer: Option<Rc<dyn Observer>>,
    /// The observer has been notified of the worker.
    claim_reported: bool,
    /// Removes the file of the body when dropped; held as long as the slot.
    pub(crate) body_file: Option<Box<dyn Any>>,
    /// Receives the updates that the request publishes.
    pub(crate) publisher: Option<Arc<dyn Publisher>>,
    updates: Updates,
}

impl ExchangeState {
    pub(crate) fn new(slot: SlotId, request_id: u64, queued_at: Instant, repeatable: bool) -> Self {
        Self {
            slot: Some(slot),
            request_id,
            target: None,
            queued_at,
            running_since: None,
            slow: None,
            expired: None,
            repeatable,
            crashes_of_others: 0,
            client_disconnected: false,
            disconnected_early: false,
            retry_pending: false,
            interims: Vec::new(),
            head: None,
            head_taken: false,
            chunks: VecDeque::new(),
            buffered: 0,
            paused: false,
            held: Duration::ZERO,
            spool: None,
            outcome: None,
            exit: None,
            waker: None,
            observer: None,
            claim_reported: false,
            body_file: None,
            publisher: None,
            updates: Updates::default(),
        }
    }

    /// Notifies the observer, once, of the worker that has claimed the request.
    pub(crate) fn report_claim(&mut self, shm: &Front, worker: WorkerId) {
        if self.claim_reported {
            return;
        }
        if let (Some(observer), Some(slot)) = (&self.observer, self.slot) {
            observer.on_claim(shm.claimed_ns(slot), worker);
            self.claim_reported = true;
        }
    }

    /// When the worker claimed the request: as it says itself, but not before the request was queued. `now` for one that
    /// is about to say so.
    pub(crate) fn find_claim(&mut self, shm: &Front, now: Instant) -> Instant {
        let seen = *self.running_since.get_or_insert(now);
        let claimed = self.slot.map_or(0, |slot| shm.claimed_ns(slot));
        let age = Duration::from_nanos(monotonic_ns().saturating_sub(claimed));
        let since = match now.checked_sub(age) {
            Some(since) if claimed > 0 => since.clamp(self.queued_at.min(seen), seen),
            _ => seen,
        };
        self.running_since = Some(since);
        since
    }

    /// The same for a worker without output, which may be about to write the time.
    pub(crate) fn report_silent_claim(&mut self, shm: &Front, worker: WorkerId) {
        if self.slot.is_some_and(|slot| shm.claimed_ns(slot) > 0) {
            self.report_claim(shm, worker);
        }
    }

    /// Moves committed frames from the ring to the buffer: up to `limit` bytes of body, or all of it.
    pub(crate) fn absorb(
        &mut self,
        shm: &mut Front,
        limit: Option<usize>,
    ) -> Result<(), ProtocolViolation> {
        let Some(slot) = self.slot else { return Ok(()) };
        let mut reader = match shm.response(slot) {
            Ok(reader) => reader,
            Err(ReadError::ProtocolViolation(violation)) => {
                self.end(Err(CallError::Malformed));
                return Err(violation);
            }
            Err(ReadError::Slot(_)) => return Ok(()),
        };
        self.paused = false;
        loop {
            // A complete response is not buffered any further, but the script may still publish.
            if limit.is_some_and(|limit| self.buffered >= limit)
                && !self.client_disconnected
                && self.outcome.is_none()
            {
                self.paused = true;
                break;
            }
            match reader.next() {
                None => break,
                Some(frame) => {
                    if let Err(violation) = frame.and_then(|frame| self.take(frame)) {
                        self.end(Err(CallError::Malformed));
                        return Err(violation);
                    }
                }
            }
        }
        Ok(())
    }

    /// Publishes whether or not the client is connected. A worker that sends malformed data is
    /// killed.
    fn publish(&mut self, part: Part) -> Result<(), ProtocolViolation> {
        let Some(publisher) = &self.publisher else {
            return Err(ProtocolViolation::FrameOrder("publish"));
        };
        if let Some(update) = self.updates.add(part)? {
            publisher.publish(self.request_id, update);
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Result<(), ProtocolViolation> {
        match frame {
            Frame::Headers(head) if self.outcome.is_none() => {
                let fields = head.headers();
                match Head::new(head.status, &head.reason, fields) {
                    Some(head) => self.head = Some(head),
                    None => self.end(Err(CallError::Malformed)),
                }
            }
            Frame::Body(bytes) if !self.client_disconnected && self.outcome.is_none() => {
                self.buffered += bytes.len();
                self.chunks.push_back(bytes);
            }
            Frame::Info(info) if !self.client_disconnected && self.outcome.is_none() => {
                if self.interims.len() < INTERIMS_MAX {
                    self.interims
                        .extend(Head::interim(info.status, info.headers()));
                } else {
                    let request_id = format!("{:016x}", self.request_id);
                    tracing::debug!(target: "howdah::pool", request_id, "an interim response was dropped: \
                        {INTERIMS_MAX} are queued");
                }
            }
            // Nothing waits for these.
            Frame::Headers(_) | Frame::Body(_) | Frame::Info(_) => {}
            Frame::Publish(part) => self.publish(part)?,
            Frame::Finish => self.end(Ok(ScriptResult::default())),
            Frame::End(end) => {
                self.exit = Some(end.exit);
                if let Some(observer) = &self.observer {
                    observer.on_usage(ScriptUsage::new(&end));
                }
                self.end(Ok(ScriptResult {
                    fatal: end.exit == Exit::Fatal,
                    exit_status: end.exit_status,
                    memory_peak: end.memory_peak,
                }));
            }
        }
        Ok(())
    }

    /// Sets how the response ended; only the first call counts.
    pub(crate) fn end(&mut self, outcome: Result<ScriptResult, CallError>) {
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
        }
        self.wake();
    }

    /// How the request ended if its worker is done with it, or `torn` if its worker exited.
    pub(crate) fn slow_outcome(&self, torn: Option<SlowOutcome>) -> SlowOutcome {
        match (&self.outcome, torn) {
            (Some(Err(CallError::RequestTimeout(_))), _) => SlowOutcome::RequestTimeout,
            (Some(Err(CallError::CpuLimit)), _) => SlowOutcome::CpuTimeout,
            (_, Some(torn)) => torn,
            _ => self
                .exit
                .map_or(SlowOutcome::MalformedResponse, |exit| match exit {
                    Exit::Normal => SlowOutcome::Finished,
                    Exit::Fatal => SlowOutcome::FatalError,
                    Exit::Kept | Exit::Restarted | Exit::Skipped | Exit::Lost | Exit::Suspended => {
                        SlowOutcome::Exit
                    }
                }),
        }
    }

    /// The whole response has arrived.
    pub(crate) fn complete(&self) -> bool {
        matches!(self.outcome, Some(Ok(_)))
    }

    /// Must be called after each `time` in a worker. True, once: the worker has waited for the client for the maximum
    /// total time.
    pub(crate) fn exceeds_hold(&mut self, time: Duration, max: Duration) -> bool {
        if !self.paused || !self.head_taken || self.spool.is_some() || self.outcome.is_some() {
            return false;
        }
        self.held += time;
        if self.held < max {
            return false;
        }
        self.held = Duration::ZERO;
        true
    }

    /// Whether the request can be given to another worker: nothing of a response was passed on.
    pub(crate) fn can_restart(&self) -> bool {
        !self.head_taken && self.outcome.is_none()
    }

    /// Discards the part of a response that a crashed worker left, and does not count the time in that worker as
    /// waiting. Earlier waiting counts, so that a request whose workers crash repeatedly still times out.
    pub(crate) fn start_over(&mut self, now: Instant) {
        if let Some(since) = self.running_since.take() {
            self.queued_at += now.saturating_duration_since(since);
        }
        self.interims.clear();
        self.head = None;
        self.chunks.clear();
        self.buffered = 0;
        self.paused = false;
        self.held = Duration::ZERO;
        if std::mem::take(&mut self.claim_reported)
            && let Some(observer) = &self.observer
        {
            observer.on_crash();
        }
        self.updates = Updates::default();
    }

    pub(crate) fn disconnect(&mut self) {
        self.client_disconnected = true;
        self.disconnected_early |= self.outcome.is_none();
        self.interims.clear();
        self.chunks.clear();
        self.buffered = 0;
        self.spool = None;
        self.waker = None;
    }

    pub(crate) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn wait(&mut self, context: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            waker => *waker = Some(context.waker().clone()),
        }
    }
}

/// The data that a request needs for its next attempt.
pub(crate) struct Retry {
    pub(crate) queued_at: Instant,
    pub(crate) repeatable: bool,
    pub(crate) target: Option<Target>,
    pub(crate) observer: Option<Rc<dyn Observer>>,
    pub(crate) publisher: Option<Arc<dyn Publisher>>,
    pub(crate) body_file: Option<Box<dyn Any>>,
}

impl Exchange {
    /// Ends the attempt if the request is to be queued again.
    pub(crate) fn take_retry(&self) -> Option<Retry> {
        let mut state = self.state.borrow_mut();
        std::mem::take(&mut state.retry_pending).then(|| Retry {
            queued_at: state.queued_at,
            repeatable: state.repeatable,
            target: state.target.take(),
            observer: state.observer.take(),
            publisher: state.publisher.take(),
            body_file: state.body_file.take(),
        })
    }

    /// Takes the interim responses that have arrived; returns each once.
    pub(crate) fn take_interims(&self) -> Vec<Head> {
        std::mem::take(&mut self.state.borrow_mut().interims)
    }

    /// The head of the response, and the part of the body that has arrived.
    pub(crate) fn poll_head(
        self: &Rc<Self>,
        context: &Context<'_>,
    ) -> Poll<Result<(Head, Body), CallError>> {
        let mut state = self.state.borrow_mut();
        let Some(head) = state.head.take() else {
            return match state.outcome {
                Some(Err(error)) => Poll::Ready(Err(error)),
                // Complete without a head: the worker broke the contract.
                Some(Ok(_)) => Poll::Ready(Err(CallError::Malformed)),
                None => {
                    state.wait(context);
                    Poll::Pending
                }
            };
        };
        state.head_taken = true;
        let body = if let Some(Ok(_)) = state.outcome {
            Body::whole(std::mem::take(&mut state.chunks))
        } else {
            Body::live(self.clone())
        };
        Poll::Ready(Ok((head, body)))
    }

    /// The next piece of the body.
    pub(crate) fn poll_chunk(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, CallError>>> {
        let mut state = self.state.borrow_mut();
        if let Some(spool) = &mut state.spool {
            let next = ready!(spool.poll_next(context));
            let next = next.inspect_err(|error| self.front.spool_lost(error));
            if let Some(next) = next.map_err(|_| CallError::Spool).transpose() {
                return Poll::Ready(Some(next));
            }
            state.spool = None;
        }
        drop(state);
        let mut state = self.refill();
        if let Some(chunk) = state.chunks.pop_front() {
            state.buffered -= chunk.len();
            // Half empty is soon enough: the worker is woken once for many bytes.
            if state.paused && state.buffered <= self.front.options.limits.response_buffer / 2 {
                drop(state);
                self.front.resume(self);
            }
            return Poll::Ready(Some(Ok(chunk)));
        }
        match state.outcome {
            Some(Ok(_)) => Poll::Ready(None),
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => {
                state.wait(context);
                Poll::Pending
            }
        }
    }

    /// The state, after fetching more of a paused response if everything before it was passed on.
    fn refill(&self) -> RefMut<'_, ExchangeState> {
        let state = self.state.borrow_mut();
        if !state.chunks.is_empty() || !state.paused {
            return state;
        }
        drop(state);
        self.front.resume(self);
        self.state.borrow_mut()
    }

    /// All of the body that has arrived and was not passed on; `None`: nothing follows.
    pub(crate) fn poll_chunks(&self, context: &Context<'_>) -> Poll<Option<VecDeque<Bytes>>> {
        let mut state = self.refill();
        if !state.chunks.is_empty() {
            state.buffered = 0;
            return Poll::Ready(Some(std::mem::take(&mut state.chunks)));
        }
        if state.outcome.is_some() {
            return Poll::Ready(None);
        }
        state.wait(context);
        Poll::Pending
    }

    /// Changes its spool, unless the client has disconnected.
    pub(crate) fn with_spool(&self, change: impl FnOnce(&mut Spool)) {
        if let Some(spool) = &mut self.state.borrow_mut().spool {
            change(spool);
        }
    }

    pub(crate) fn client_disconnected(self: &Rc<Self>) {
        self.front.client_disconnected(self);
    }
}
