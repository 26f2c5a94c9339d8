//! A thread that queries the server, so that the keyboard does not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use howdah_observe::admin::{Client, ReloadReport};

use super::snapshot::Snapshot;
use super::tab::{TABS, Tab};
use crate::commands::remote::{success, version_mismatch};
use crate::failure::Failure;

/// What the server sent.
#[derive(Debug)]
pub(super) enum SourceEvent {
    Snapshot(Box<Snapshot>),
    /// The reason why a snapshot is missing.
    Problem(String),
    /// What was reloaded, or why not.
    Reloaded(Result<String, String>),
}

/// Orders to the thread. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct Source {
    orders: Sender<bool>,
    events: Sender<SourceEvent>,
    client: Client,
    /// The place of the tab that is shown, which decides what is asked for.
    shown: Arc<AtomicUsize>,
}

impl Source {
    /// `log`: the number of the last known line of the log.
    pub(super) fn start(
        client: Client,
        interval: Duration,
        log: u64,
    ) -> (Self, Receiver<SourceEvent>) {
        let (orders, paused) = mpsc::channel();
        let (events, event) = mpsc::channel();
        let source = Self {
            orders,
            events: events.clone(),
            client: client.clone(),
            shown: Arc::default(),
        };
        let shown = Arc::clone(&source.shown);
        thread::spawn(move || poll_server(&client, interval, log, &shown, &paused, &events));
        (source, event)
    }

    /// Applies from the next query on.
    pub(super) fn show(&self, tab: Tab) {
        self.shown.store(tab.index(), Ordering::Relaxed);
    }

    pub(super) fn pause(&self, is_paused: bool) {
        // Without the thread there is nothing to pause.
        let _ = self.orders.send(is_paused);
    }

    /// Orders the server to reload configuration and PHP, without a timeout.
    pub(super) fn reload(&self) {
        let (client, events) = (self.client.clone(), self.events.clone());
        thread::spawn(move || {
            let outcome = reload(&client).map_err(|failure| failure.to_string());
            // The receiver may have been dropped.
            let _ = events.send(SourceEvent::Reloaded(outcome));
        });
    }
}

fn poll_server(
    client: &Client,
    interval: Duration,
    mut log: u64,
    shown: &AtomicUsize,
    paused: &Receiver<bool>,
    events: &Sender<SourceEvent>,
) {
    let (mut failures, mut is_paused) = (0, false);
    loop {
        let wait = super::app::pause_after(failures, interval);
        let order = if is_paused {
            paused.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            paused.recv_timeout(wait)
        };
        match order {
            Ok(order) => is_paused = order,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if is_paused {
            continue;
        }
        let event = match Snapshot::take(client, log, TABS[shown.load(Ordering::Relaxed)]) {
            Ok(snapshot) => {
                failures = 0;
                log = snapshot.activity.log.as_ref().map_or(log, |log| log.last);
                SourceEvent::Snapshot(Box::new(snapshot))
            }
            Err(failure) => {
                failures += 1;
                SourceEvent::Problem(failure.to_string())
            }
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

fn reload(client: &Client) -> Result<String, Failure> {
    let reply = success(client.request("POST", "/reload", None))?;
    let done: ReloadReport = serde_json::from_slice(&reply.body).map_err(version_mismatch)?;
    let pools: Vec<String> = (done.pools.iter())
        .map(|pool| format!("{} (generation {})", pool.pool, pool.generation))
        .collect();
    Ok(if pools.is_empty() {
        "reloaded the configuration".into()
    } else {
        format!("reloaded {}", pools.join(", "))
    })
}
