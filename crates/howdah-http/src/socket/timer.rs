//! One timer for all the timeouts of a connection.
//!
//! It is armed for the first deadline and left alone while later requests move that deadline: when it fires, the
//! deadline at that moment is checked. A request only reads the coarse clock.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::clock;

const NEVER: u64 = u64::MAX;
/// The coarse clock may be late by its tick, which is at most so long.
const TICK: u64 = 10;
/// Largest difference between it and the timer's clock.
const SLACK: u64 = 5 * TICK;
/// A day: later deadlines are checked again then.
const LONGEST: u64 = 24 * 3600 * 1000;

/// The timer, created when it is first needed.
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

    /// Ready when `deadline`, on the coarse clock, has passed; otherwise the task is woken then. It fires a tick later,
    /// since the start of the period may have been a tick too early: no limit is cut short. It must always be polled by
    /// the same task: only the waker of the poll that arms it counts.
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
        // Armed for later, then needed earlier.
        let far = std::future::poll_fn(|cx| Poll::Ready(watch.poll(cx, start + 60_000))).await;
        assert!(far.is_pending());
        std::future::poll_fn(|cx| watch.poll(cx, start + 40)).await;
        assert!(clock::now() >= start + 40);
        // Armed, moved before it fires, still on time.
        let soon = clock::now() + 20;
        let pending = std::future::poll_fn(|cx| Poll::Ready(watch.poll(cx, soon))).await;
        assert!(pending.is_pending());
        std::future::poll_fn(|cx| watch.poll(cx, soon + 40)).await;
        assert!(clock::now() >= soon + 40);
    }
}
