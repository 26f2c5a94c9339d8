//! Wakes a task that sleeps while it has no work.

use std::cell::Cell;

use tokio::sync::Notify;

/// Wakes the task once for all requests that arrive before it has finished.
#[derive(Debug, Default)]
pub(crate) struct TaskSignal {
    wanted: Cell<bool>,
    begin: Notify,
}

impl TaskSignal {
    pub(crate) fn request_run(&self) {
        if !self.wanted.replace(true) {
            self.begin.notify_one();
        }
    }

    /// Called by the task: waits for a request.
    pub(crate) async fn wait_for_request(&self) {
        self.begin.notified().await;
    }

    /// Called by the task: all work is done.
    pub(crate) fn done(&self) {
        self.wanted.set(false);
    }
}
