//! Timeouts and the order to drain in each state of a connection.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::sync::futures::Notified;

use crate::clock;
use crate::connection::listener::Drain;
use crate::listen::limits::Limits;
use crate::observe::thread::ThreadState;
use crate::socket::state::{ConnectionState, Phase};
use crate::socket::timer::Timer;

/// Milliseconds after which an idle HTTP/1 connection frees its buffers (about 17 KiB).
const HIBERNATE: u64 = 2_000;
/// Milliseconds that a new client has to send its first request during a shutdown: the kernel has accepted the
/// connection.
const FRESH: u64 = 1_000;

/// A deadline that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deadline {
    /// The header is not complete.
    Header,
    /// No request within the idle timeout.
    Idle,
    /// No request for a while.
    Hibernate,
    /// The client accepts no bytes, or the shutdown grace is over.
    Cut,
}

/// Timeouts and the order to drain, which every state of a connection needs.
pub(super) struct Driver<'c, 'd> {
    pub(super) life: &'c Rc<ThreadState>,
    pub(super) limits: &'c Limits,
    pub(super) drain: &'c Drain,
    pub(super) state: &'c ConnectionState,
    drained: Pin<&'d mut Notified<'c>>,
    /// Deadline of the first request while the server shuts down, on the coarse clock; 0: it has arrived.
    fresh_until: u64,
    /// Whether the task's waker is registered for the order to drain.
    registered: bool,
    /// Whether the protocol was ordered to close: on HTTP/2, by GOAWAY.
    pub(super) goaway_sent: bool,
    /// When an HTTP/2 connection is cut after GOAWAY.
    pub(super) force_at: u64,
    pub(super) timer: Timer,
}

impl<'c, 'd> Driver<'c, 'd> {
    pub(super) fn new(
        life: &'c Rc<ThreadState>,
        limits: &'c Limits,
        drain: &'c Drain,
        state: &'c ConnectionState,
        drained: Pin<&'d mut Notified<'c>>,
    ) -> Self {
        Self {
            life,
            limits,
            drain,
            state,
            drained,
            fresh_until: clock::now().saturating_add(FRESH),
            registered: false,
            goaway_sent: false,
            force_at: u64::MAX,
            timer: Timer::new(),
        }
    }

    /// Records that the connection had a request.
    pub(super) fn set_used(&mut self) {
        self.fresh_until = 0;
    }

    /// Registers the waker. The task is always the same, so once is enough.
    pub(super) fn register(&mut self, cx: &mut Context<'_>) {
        if !self.registered {
            self.registered = true;
            // Ready or not, `is_ordered` decides.
            let _ = self.drained.as_mut().poll(cx);
        }
    }

    /// Completes when the connection has to close.
    pub(super) async fn stopped(&mut self) {
        std::future::poll_fn(|cx| {
            self.register(cx);
            if self.drain.is_ordered() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// The result of `work`, unless the deadline passes first, or the connection has to close.
    pub(super) async fn before_deadline<T>(
        &mut self,
        deadline: u64,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            self.register(cx);
            if let Poll::Ready(result) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            let deadline = deadline.min(self.first_request_until());
            self.timer.poll(cx, deadline).map(|()| None)
        })
        .await
    }

    /// Deadline of a connection without a request while the server shuts down, on the coarse clock.
    pub(super) fn first_request_until(&self) -> u64 {
        if self.drain.is_ordered() {
            self.fresh_until
        } else {
            u64::MAX
        }
    }

    /// True once, when the connection has to close.
    pub(super) fn take_drain_order(&mut self) -> bool {
        let now = self.drain.is_ordered() && !self.goaway_sent;
        self.goaway_sent |= now;
        now
    }

    /// The next deadline, and what happens then.
    pub(super) fn due(&self, hibernates: bool) -> (u64, Deadline) {
        let limits = self.limits;
        let since = self.state.phase_start();
        let mut due = match self.state.phase() {
            Phase::Header => (since.saturating_add(limits.read_header), Deadline::Header),
            Phase::Idle if hibernates && !self.state.is_writing() => {
                let idle = (since.saturating_add(limits.idle), Deadline::Idle);
                let hibernate = (since.saturating_add(HIBERNATE), Deadline::Hibernate);
                if hibernate.0 < idle.0 {
                    hibernate
                } else {
                    idle
                }
            }
            Phase::Idle => (since.saturating_add(limits.idle), Deadline::Idle),
            Phase::Busy => (u64::MAX, Deadline::Cut),
        };
        let cut = self
            .state
            .blocked_since()
            .map_or(u64::MAX, |blocked| blocked.saturating_add(limits.write))
            .min(self.drain.cut_at())
            .min(self.force_at);
        if cut <= due.0 {
            due = (cut, Deadline::Cut);
        }
        due
    }

    pub(super) fn poll_due(&mut self, cx: &mut Context<'_>, hibernates: bool) -> Poll<Deadline> {
        let (deadline, due) = self.due(hibernates);
        self.timer.poll(cx, deadline).map(|()| due)
    }
}
