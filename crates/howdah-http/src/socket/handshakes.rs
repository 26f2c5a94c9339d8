//! The TLS handshakes in flight on a front thread: the oldest is dropped when there are too many.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Context;

use tokio::sync::oneshot;

/// Concurrent handshakes of a front thread. Beyond it the oldest, which has had the most time, is dropped for a new
/// one: slow clients cannot block others.
const UNDER_WAY_MAX: usize = 1024;

/// The handshakes in flight on a front thread, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    under_way: RefCell<VecDeque<(u64, oneshot::Sender<()>)>>,
    next: Cell<u64>,
}

/// The place of one of them.
pub(crate) struct Place<'c> {
    all: &'c Handshakes,
    id: u64,
    taken: oneshot::Receiver<()>,
}

impl Handshakes {
    pub(crate) fn place(&self) -> Place<'_> {
        let id = self.next.get();
        self.next.set(id + 1);
        let (keep, taken) = oneshot::channel();
        let mut under_way = self.under_way.borrow_mut();
        if under_way.len() >= UNDER_WAY_MAX {
            // Its receiver notices that the place was given up.
            under_way.pop_front();
        }
        under_way.push_back((id, keep));
        Place {
            all: self,
            id,
            taken,
        }
    }
}

impl Place<'_> {
    pub(crate) fn is_evicted(&mut self, cx: &mut Context<'_>) -> bool {
        Pin::new(&mut self.taken).poll(cx).is_ready()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut under_way = self.all.under_way.borrow_mut();
        if let Ok(index) = under_way.binary_search_by_key(&self.id, |(id, _)| *id) {
            under_way.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let all = Handshakes::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = all.place();
        let mut second = all.place();
        let rest: Vec<_> = (2..UNDER_WAY_MAX).map(|_| all.place()).collect();
        assert!(!first.is_evicted(&mut cx));
        let newest = all.place();
        assert!(first.is_evicted(&mut cx));
        assert!(!second.is_evicted(&mut cx));
        drop(first);
        assert_eq!(all.under_way.borrow().len(), UNDER_WAY_MAX);
        // A finished handshake frees its place.
        drop(rest);
        let third = all.place();
        assert!(!second.is_evicted(&mut cx));
        drop((second, third, newest));
        assert!(all.under_way.borrow().is_empty());
    }
}
