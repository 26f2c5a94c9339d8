//! The interim responses of an upstream on their way to the client.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use http::{HeaderMap, StatusCode};

/// Interim responses of one request that wait to be passed on.
const INTERIMS_MAX: usize = 16;

/// Interim responses that were not passed on. Not a channel: that allocates room for many when it is created, and
/// nearly all requests have none.
#[derive(Debug, Default)]
pub(super) struct InterimQueue(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Vec<(StatusCode, HeaderMap)>,
    waker: Option<Waker>,
}

impl InterimQueue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a response. It is dropped if too many wait: hints may be.
    pub(super) fn push(&self, status: StatusCode, headers: &HeaderMap) {
        let mut inner = self.lock();
        if inner.waiting.len() < INTERIMS_MAX {
            inner.waiting.push((status, headers.clone()));
        }
        if let Some(waker) = inner.waker.take() {
            waker.wake();
        }
    }

    /// Takes those that have arrived.
    pub(super) fn take(&self) -> Vec<(StatusCode, HeaderMap)> {
        std::mem::take(&mut self.lock().waiting)
    }

    /// Takes those that have arrived, as soon as there is one.
    pub(super) fn poll_take(&self, cx: &Context<'_>) -> Poll<Vec<(StatusCode, HeaderMap)>> {
        let mut inner = self.lock();
        if inner.waiting.is_empty() {
            match &mut inner.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                waker => *waker = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut inner.waiting))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Wake;

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn arrivals_wake_the_reader_and_are_limited() {
        let queue = InterimQueue::default();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Arc::clone(&count).into();
        let cx = Context::from_waker(&waker);
        assert!(queue.poll_take(&cx).is_pending());
        for _ in 0..=INTERIMS_MAX {
            queue.push(StatusCode::EARLY_HINTS, &HeaderMap::new());
        }
        assert_eq!(count.0.load(Relaxed), 1);
        let Poll::Ready(arrived) = queue.poll_take(&cx) else {
            panic!("none has arrived");
        };
        assert_eq!(arrived.len(), INTERIMS_MAX);
        assert!(queue.take().is_empty());
    }
}
