//! When a task has something to do that otherwise sleeps.

use std::cell::Cell;

use tokio::sync::Notify;

/// Tells the task once, however often there is something, until it is done.
#[derive(Debug, Default)]
pub(crate) struct Chore {
    wanted: Cell<bool>,
    begin: Notify,
}

impl Chore {
    /// There is something to do.
    pub(crate) fn want(&self) {
        if !self.wanted.replace(true) {
            self.begin.notify_one();
        }
    }

    /// For the task: waits until there is.
    pub(crate) async fn wanted(&self) {
        self.begin.notified().await;
    }

    /// For the task: there is nothing left to do.
    pub(crate) fn done(&self) {
        self.wanted.set(false);
    }
}
