//! The server's activity in the last minutes, for the dashboard and `howdah top`. It is collected outside the front
//! threads, and only while it is requested.

mod groups;
mod histogram;
mod hosts;
mod routes;
mod seconds;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use howdah_http::{FinishedBatch, FinishedRequests, Stats};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use self::hosts::Hosts;
use self::routes::Routes;
use self::seconds::{Second, Seconds};
use crate::php::trees::Trees;

/// How long requests are collected after the last query.
const WATCHED: Duration = Duration::from_secs(60);
/// How often finished requests are taken from the front threads.
const TICK: Duration = Duration::from_millis(250);
/// Batches that a reader of each request may lag behind.
const BATCHES: usize = 16;

/// The server's activity. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    finished: FinishedRequests,
    stats: Arc<Stats>,
    trees: Trees,
    /// The channel for readers of individual requests.
    batches: broadcast::Sender<Arc<FinishedBatch>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None`: nothing is collected.
    collection: Option<Collection>,
}

#[derive(Debug)]
struct Collection {
    since: Instant,
    /// When the collection ends, unless it is requested again.
    until: Instant,
    seconds: Seconds,
    current: Second,
    /// Requests at its start.
    requests: u64,
    routes: Routes,
    hosts: Hosts,
    missed: u64,
}

impl Activity {
    pub(crate) fn new(finished: FinishedRequests, stats: Arc<Stats>, trees: Trees) -> Self {
        Self(Arc::new(Inner {
            finished,
            stats,
            trees,
            batches: broadcast::Sender::new(BATCHES),
            state: Mutex::default(),
        }))
    }

    /// The requests of the last minutes as JSON, if they were collected. Starts the collection.
    pub(crate) fn to_json(&self) -> Value {
        self.watch();
        let (names, now) = (self.0.trees.names(), unix_seconds());
        let state = self.lock();
        let Some(own) = &state.collection else {
            return Value::Null;
        };
        let collected = own.since.elapsed().as_secs();
        json!({
            "collected_s": collected,
            "missed": own.missed,
            "seconds": own.seconds.to_json(),
            "latency": own.seconds.latency(),
            "routes": own.routes.to_json(&names, now, collected),
            "hosts": own.hosts.to_json(now, collected),
        })
    }

    /// The requests that end from now on, as long as there is a watcher.
    pub(crate) fn batches(&self) -> broadcast::Receiver<Arc<FinishedBatch>> {
        self.0.batches.subscribe()
    }

    /// Collects from now on, for a minute.
    pub(crate) fn watch(&self) {
        self.0.finished.watch(WATCHED);
        let now = Instant::now();
        let until = now + WATCHED;
        let mut state = self.lock();
        if let Some(own) = &mut state.collection {
            own.until = until;
            return;
        }
        // Requests that were not taken belong to an earlier time.
        self.0.finished.take();
        state.collection = Some(Collection {
            since: now,
            until,
            seconds: Seconds::default(),
            current: Second::begin(unix_seconds()),
            requests: self.0.stats.requests(),
            routes: Routes::default(),
            hosts: Hosts::default(),
            missed: 0,
        });
        tokio::spawn(self.clone().collect());
    }

    async fn collect(self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (batch, now) = (Arc::new(self.0.finished.take()), unix_seconds());
            if !batch.requests.is_empty() {
                // There may be no reader.
                let _ = self.0.batches.send(Arc::clone(&batch));
            }
            let Some(is_over) = self.add(&batch, now) else {
                return;
            };
            if is_over {
                let status = self.0.trees.status().await;
                let pools = status.map(|status| status.pools).unwrap_or_default();
                let busy = pools.iter().map(|pool| pool.busy).sum();
                let queue = pools.iter().map(|pool| pool.queue).sum();
                self.end_second(now, busy, queue);
            }
        }
    }

    /// Adds requests. Returns whether the current second is over; `None`: there was no query for a
    /// long time.
    fn add(&self, batch: &FinishedBatch, now: u64) -> Option<bool> {
        let mut state = self.lock();
        let own = state.collection.as_mut()?;
        if Instant::now() >= own.until {
            state.collection = None;
            return None;
        }
        for request in &batch.requests {
            own.current.add(request);
            own.routes.add(request, now);
            own.hosts.add(request, now);
        }
        own.missed += batch.missed;
        Some(own.current.at != now)
    }

    fn end_second(&self, now: u64, busy: usize, queue: usize) {
        let requests = self.0.stats.requests();
        let in_flight = self.0.stats.in_flight();
        let mut state = self.lock();
        let Some(own) = &mut state.collection else {
            return;
        };
        let mut ended = std::mem::replace(&mut own.current, Second::begin(now));
        ended.requests = requests.saturating_sub(own.requests);
        ended.in_flight = in_flight;
        ended.busy = busy;
        ended.queue = queue;
        own.requests = requests;
        own.seconds.push(ended);
        own.routes.forget(now);
        own.hosts.forget(now);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
