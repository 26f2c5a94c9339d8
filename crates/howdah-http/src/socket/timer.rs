//! One timer for all the timeouts of a connection.
//!
//! It is armed for the first deadline and left alone while later requests move that deadline away:
//! when it fires, the deadline of that moment is looked at. A request costs it nothing but a look at
//! the coarse clock.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::clock;

const NEVER: u64 = u64::MAX;
/// The coarse clock may be behind by its tick, which is at most so long.
const TICK: u64 = 10;
/// What it may differ from the timer's.
const SLACK: u64 = 5 * TICK;
/// A day: later deadlines are looked at again then.
const LONGEST: u64 = 24 * 3600 * 1000;

/// The timer, made when it is first needed.
#[derive(Debug)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: u64,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self {
            sleep: None,
            armed: NEVER,
        }
    }

    /// Ready when `deadline`, on the coarse clock, has passed; otherwise the task is woken then. A tick later,
    /// as what the deadline was counted from may be a tick too early: no limit is cut short.
    /// Must always be polled by the same task: the waker of the arming poll is the one that counts.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: u64) -> Poll<()> {
        let deadline = deadline.saturating_add(TICK);
        let mut now = clock::now();
        loop {
            if now >= deadline {
                return Poll::Ready(());
            }
            if self.armed != NEVER
                && now.saturating_add(SLACK) >= self.armed
                && let Some(sleep) = &mut self.sleep
                && sleep.as_mut().poll(cx).is_ready()
            {
                self.armed = NEVER;
            }
            if self.armed <= deadline && self.armed != NEVER {
                return Poll::Pending;
            }
            if deadline == NEVER {
                return Poll::Pending;
            }
            let wait = (deadline - now).min(LONGEST);
            let at = Instant::now() + Duration::from_millis(wait);
            let sleep = match &mut self.sleep {
                Some(sleep) => {
                    sleep.as_mut().reset(at);
                    sleep
                }
                empty => empty.insert(Box::pin(tokio::time::sleep_until(at))),
            };
            self.armed = now + wait;
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.armed = NEVER;
            now = clock::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn deadlines_are_met_and_may_move() {
        let mut watch = Timer::new();
        let start = clock::now();
        // Armed for later, then needed sooner.
        let far = std::future::poll_fn(|cx| Poll::Ready(watch.poll(cx, start + 60_000))).await;
        assert!(far.is_pending());
        std::future::poll_fn(|cx| watch.poll(cx, start + 40)).await;
        assert!(clock::now() >= start + 40);
        // Armed, moved away before it fires, still met.
        let soon = clock::now() + 20;
        let pending = std::future::poll_fn(|cx| Poll::Ready(watch.poll(cx, soon))).await;
        assert!(pending.is_pending());
        std::future::poll_fn(|cx| watch.poll(cx, soon + 40)).await;
        assert!(clock::now() >= soon + 40);
    }
}
