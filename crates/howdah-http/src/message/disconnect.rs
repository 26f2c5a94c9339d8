//! Keeps a complete request until it is handed over, even if its client disconnects.
//!
//! A client need not wait for the response. While its request waits inside the server before it is handed over (a
//! password check, a request to another server, an upstream that is still receiving it), it is not aborted.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Detects the disconnect of the client during one request.
#[derive(Debug, Default)]
pub(crate) struct DisconnectGuard {
    on: Cell<bool>,
    /// The client's disconnect was detected meanwhile.
    ended: Cell<bool>,
    /// Waits for it.
    waiting: RefCell<Option<Waker>>,
}

impl DisconnectGuard {
    /// Whether the request must not be aborted. Checked when the client has disconnected.
    pub(crate) fn is_on(&self) -> bool {
        if self.on.get()
            && !self.ended.replace(true)
            && let Some(waker) = self.waiting.take()
        {
            waker.wake();
        }
        self.on.get()
    }

    /// Completes when the client's disconnect was detected while the request must not be aborted. Only one task may
    /// wait.
    pub(crate) async fn disconnected(&self) {
        poll_fn(|cx| {
            if self.ended.get() {
                return Poll::Ready(());
            }
            self.waiting.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// The request is not aborted during `work`, unless `work` releases it.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.on.set(true);
        let result = work.await;
        poll_fn(|cx| {
            self.release(cx);
            Poll::Ready(())
        })
        .await;
        result
    }

    /// The request may be aborted from now on. The polling task checks for the disconnect again.
    pub(crate) fn release(&self, cx: &Context<'_>) {
        self.on.set(false);
        if self.ended.take() {
            cx.waker().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_end_is_looked_for_again_if_it_was_found() {
        for found in [false, true] {
            let hold = DisconnectGuard::default();
            assert!(!hold.is_on());
            let count = Arc::new(Count(AtomicUsize::new(0)));
            let waker = Arc::clone(&count).into();
            let mut cx = Context::from_waker(&waker);
            let ready = Cell::new(false);
            let work = poll_fn(|_| {
                if ready.get() {
                    Poll::Ready(7)
                } else {
                    Poll::Pending
                }
            });
            let mut during = pin!(hold.during(work));
            assert!(during.as_mut().poll(&mut cx).is_pending());
            if found {
                assert!(hold.is_on());
            }
            ready.set(true);
            assert_eq!(during.as_mut().poll(&mut cx), Poll::Ready(7));
            assert!(!hold.is_on());
            assert_eq!(count.0.load(Ordering::Relaxed), usize::from(found));
        }
    }

    #[test]
    fn a_disconnect_wakes_what_waits_for_it() {
        let hold = DisconnectGuard::default();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Arc::clone(&count).into();
        let mut cx = Context::from_waker(&waker);
        let mut during = pin!(hold.during(hold.disconnected()));
        assert!(!hold.is_on());
        assert!(during.as_mut().poll(&mut cx).is_pending());
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        assert!(hold.is_on() && hold.is_on());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(during.as_mut().poll(&mut cx).is_ready());
    }
}
