//! Runs the streams of HTTP/2 and HTTP/3 connections on the front thread, and ends those whose client accepts no bytes:
//! flow control can stall a stream while its connection is busy, so the socket does not show it. The limit applies to
//! each piece that the body produces, at most 128 KiB: a client must accept one within that time.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

/// Spawns onto the thread's own runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalExecutor {
    /// How long a stream may wait for its client.
    pub(crate) write_limit: Duration,
}

impl LocalExecutor {
    pub(crate) fn run(&self, future: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(Stream {
            future: Box::pin(future),
            stall: None,
            limit: self.write_limit,
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyPoll {
    /// The body was not polled: the client has to accept what there is.
    Untouched,
    /// The application has to produce more.
    Waiting,
    /// It produced something.
    Yielded,
}

thread_local! {
    /// State of the response's body in the current poll of a stream.
    static BODY: Cell<BodyPoll> = const { Cell::new(BodyPoll::Untouched) };
}

/// Called by the body when it was polled.
pub(crate) fn note_body(pending: bool) {
    BODY.set(if pending {
        BodyPoll::Waiting
    } else {
        BodyPoll::Yielded
    });
}

/// Called when a response is ready: from now on its stream can stall.
pub(crate) fn note_response() {
    BODY.set(BodyPoll::Yielded);
}

struct Stream<F> {
    future: Pin<Box<F>>,
    /// Armed while the stream waits for the client.
    stall: Option<Pin<Box<Sleep>>>,
    limit: Duration,
}

impl<F: Future> Future for Stream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        BODY.set(BodyPoll::Untouched);
        if this.future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match BODY.get() {
            BodyPoll::Waiting => this.stall = None,
            BodyPoll::Yielded => this.stall = Some(Box::pin(tokio::time::sleep(this.limit))),
            BodyPoll::Untouched => {}
        }
        match &mut this.stall {
            // Dropping the future resets the stream and notifies the application.
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}
