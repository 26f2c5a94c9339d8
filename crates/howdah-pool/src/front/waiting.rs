//! Requests that wait in the front's own queue: no slot is free for them.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use howdah_shm::SlotId;

use super::abandoned::Orphan;
use super::{Admission, Inner, PoolFront, Request, Table};
use crate::response::CallError;

/// A request's place in the queue.
pub(super) struct Waiter {
    pub(super) since: Instant,
    pub(super) state: RefCell<WaiterState>,
}

pub(super) enum WaiterState {
    Waiting(Option<Waker>),
    /// A slot, and the number of its segment.
    Granted(SlotId, u32),
    /// The client has disconnected; the request waits without it.
    Abandoned(Box<Orphan>),
    Expired,
    Left,
}

impl Waiter {
    pub(super) fn is_waiting(&self) -> bool {
        let state = self.state.borrow();
        matches!(*state, WaiterState::Waiting(_) | WaiterState::Abandoned(_))
    }
}

/// The future of a request in the queue.
pub(super) struct SlotWait<'a> {
    front: &'a PoolFront,
    waiter: Rc<Waiter>,
    /// The request that waits, until it has a slot or is refused.
    request: Option<(Request<'a>, Admission<'a>)>,
}

/// A slot, and the request that it was granted to.
pub(super) struct GrantedSlot<'a> {
    pub(super) slot: SlotId,
    pub(super) request: Request<'a>,
    pub(super) admission: Admission<'a>,
}

impl<'a> SlotWait<'a> {
    /// Queues a request that arrived at `since`.
    pub(super) fn begin(
        front: &'a PoolFront,
        since: Instant,
        request: Request<'a>,
        admission: Admission<'a>,
    ) -> Self {
        let inner = &front.inner;
        let waiter = Rc::new(Waiter {
            since,
            state: RefCell::new(WaiterState::Waiting(None)),
        });
        inner.load.wait();
        {
            let mut table = inner.table.borrow_mut();
            table.enqueue(&waiter);
            // Another front thread may have released a slot before it noticed that this one waits.
            inner.grant(&mut table);
        }
        Self {
            front,
            waiter,
            request: Some((request, admission)),
        }
    }

    /// Waits for the slot. If this is dropped before, the request is abandoned.
    pub(super) async fn slot(mut self) -> Result<GrantedSlot<'a>, CallError> {
        let granted = poll_fn(|context| self.poll_slot(context)).await;
        match (granted, self.request.take()) {
            (Ok(slot), Some((request, admission))) => Ok(GrantedSlot {
                slot,
                request,
                admission,
            }),
            (Err(error), _) => Err(error),
            (Ok(_), None) => Err(CallError::Stopping),
        }
    }

    fn poll_slot(&self, context: &Context<'_>) -> Poll<Result<SlotId, CallError>> {
        let inner = &self.front.inner;
        let mut state = self.waiter.state.borrow_mut();
        match &mut *state {
            WaiterState::Granted(slot, segment) => {
                let (slot, segment) = (*slot, *segment);
                if inner.table.borrow().segment == segment {
                    *state = WaiterState::Left;
                    return Poll::Ready(Ok(slot));
                }
                *state = WaiterState::Waiting(Some(context.waker().clone()));
                drop(state);
                inner.wait_again(&self.waiter);
                Poll::Pending
            }
            WaiterState::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            _ if inner.ended.get() => Poll::Ready(Err(CallError::Stopping)),
            _ => Poll::Ready(Err(inner.wait_timeout())),
        }
    }
}

impl Drop for SlotWait<'_> {
    fn drop(&mut self) {
        let inner = &self.front.inner;
        if let Some((request, admission)) = self.request.take() {
            return inner.abandon((self.front, &self.waiter), request, admission);
        }
        inner.load.end_wait();
    }
}

impl Table {
    /// Adds a waiter in the order of arrival: one whose segment was replaced has waited longer than others.
    fn enqueue(&mut self, waiter: &Rc<Waiter>) {
        let later = |other: &&Rc<Waiter>| other.since > waiter.since;
        let behind = self.waiting.iter().rev().take_while(later).count();
        let at = self.waiting.len() - behind;
        self.waiting.insert(at, Rc::clone(waiter));
    }
}

impl Inner {
    /// The segment of a granted slot was replaced before the slot was used: the waiter waits again.
    pub(super) fn wait_again(&self, waiter: &Rc<Waiter>) {
        let mut table = self.table.borrow_mut();
        self.load.release_slot(self.options.limits.max_in_flight);
        table.enqueue(waiter);
        self.grant(&mut table);
    }

    /// Grants free slots to the requests that have waited longest.
    pub(super) fn grant(&self, table: &mut Table) {
        while let Some(waiter) = table.waiting.front().cloned() {
            if !waiter.is_waiting() {
                table.waiting.pop_front();
                continue;
            }
            let Some(slot) = self.take_slot(table) else {
                return;
            };
            table.waiting.pop_front();
            match waiter
                .state
                .replace(WaiterState::Granted(slot, table.segment))
            {
                WaiterState::Waiting(Some(waker)) => waker.wake(),
                WaiterState::Abandoned(orphan) => {
                    waiter.state.replace(WaiterState::Left);
                    self.run_orphan(table, slot, (waiter.since, *orphan));
                }
                _ => {}
            }
        }
    }
}
