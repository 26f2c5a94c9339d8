//! The hub: its subscribers, and stored updates.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::options::Options;
use crate::selector::{Selector, any};
use crate::subscriptions::{SubscriptionState, announce, drafts};
use crate::token::Claims;
use crate::update::{Draft, Problem, Update, urn};

/// Bytes of updates that are stored.
const HISTORY_BYTES: usize = 16 << 20;
/// Bytes of updates that may be queued for one subscriber. Subscribers share the memory of an update.
const WAITING_BYTES: usize = 16 << 20;
/// The id before the first update.
pub(crate) const EARLIEST: &str = "earliest";

/// A hub. Front threads share it.
#[derive(Debug)]
pub struct Hub {
    pub(crate) options: Options,
    state: Mutex<State>,
    accepted: AtomicU64,
    updates: AtomicU64,
    dropped: AtomicU64,
}

/// Activity of a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Subscribers at the moment.
    pub subscribers: u64,
    /// Subscribers since the start.
    pub accepted: u64,
    /// Updates since the start.
    pub updates: u64,
    /// Subscribers that were dropped because they did not keep up.
    pub dropped: u64,
}

#[derive(Debug)]
struct State {
    subscribers: HashMap<u64, Subscriber>,
    next: u64,
    history: VecDeque<Arc<Update>>,
    bytes: usize,
    last: String,
    closed: bool,
}

#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) id: String,
    /// Its topics.
    pub(crate) topics: Vec<Selector>,
    /// Private updates that it is authorised for.
    pub(crate) private: Vec<Selector>,
    /// For each of its topics, the data in the token for those who see the subscription.
    pub(crate) payloads: Vec<Option<Arc<Value>>>,
    queue: Option<Sender<Bytes>>,
    /// Shared with the subscriber's stream, which subtracts what it has sent.
    waiting: QueuedBytes,
}

/// Number of bytes in a queue; both ends update it.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueuedBytes(Arc<AtomicUsize>);

impl QueuedBytes {
    /// False: there is no room for that many.
    fn add(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Relaxed);
        before == 0 || before + bytes <= WAITING_BYTES
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}

/// A subscriber's place in the hub, as long as the connection lives.
#[derive(Debug)]
pub(crate) struct Place {
    hub: Arc<Hub>,
    number: u64,
}

/// The initial data of a new subscriber.
#[derive(Debug)]
pub(crate) struct NewSubscriber {
    pub(crate) place: Place,
    pub(crate) queue: Receiver<Bytes>,
    pub(crate) waiting: QueuedBytes,
    /// Updates that it missed.
    pub(crate) missed: Vec<Bytes>,
    /// The last update before those.
    pub(crate) last: String,
}

impl Subscriber {
    pub(crate) fn new(topics: Vec<Selector>, claims: Claims) -> Self {
        let payloads = topics.iter().map(|topic| claims.payload.of(topic));
        Self {
            id: urn(),
            payloads: payloads.collect(),
            topics,
            private: claims.subscribe,
            queue: None,
            waiting: QueuedBytes::default(),
        }
    }

    fn gets(&self, update: &Update) -> bool {
        any(&self.topics, &update.topics) && (!update.private || any(&self.private, &update.topics))
    }
}

impl Hub {
    /// A hub without subscribers.
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            options,
            state: Mutex::new(State {
                subscribers: HashMap::new(),
                next: 0,
                history: VecDeque::new(),
                bytes: 0,
                last: EARLIEST.to_owned(),
                closed: false,
            }),
            accepted: AtomicU64::new(0),
            updates: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// Its activity.
    pub fn counts(&self) -> Counts {
        Counts {
            subscribers: self.lock().subscribers.len() as u64,
            accepted: self.accepted.load(Relaxed),
            updates: self.updates.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }

    /// Ends all subscriptions and accepts no new ones: a server that stops does not wait for connections that never end
    /// by themselves.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.subscribers.clear();
    }

    /// Publishes an update of the server itself, which needs no token.
    pub fn publish(&self, draft: Draft) -> Result<(), Problem> {
        draft.check()?;
        self.dispatch(draft.finish());
        Ok(())
    }

    /// The id of the last update.
    pub(crate) fn last(&self) -> String {
        self.lock().last.clone()
    }

    /// Sends the update to all its subscribers, and stores it. Subscribers that are dropped because of it are announced
    /// as gone, which may cause others to be dropped.
    pub(crate) fn dispatch(&self, update: Update) {
        let mut dropped = VecDeque::from(self.publish_update(update));
        while let Some(subscriber) = dropped.pop_front() {
            for draft in drafts(self, &subscriber, SubscriptionState::Closed) {
                dropped.extend(self.publish_update(draft.finish()));
            }
        }
    }

    /// Publishes an update; returns the subscribers that were dropped because they are slow.
    fn publish_update(&self, update: Update) -> Vec<Subscriber> {
        let update = Arc::new(update);
        let mut slow = Vec::new();
        let mut state = self.lock();
        state.last.clone_from(&update.id);
        for (number, subscriber) in &state.subscribers {
            if !subscriber.gets(&update) {
                continue;
            }
            let Some(queue) = &subscriber.queue else {
                continue;
            };
            let room = subscriber.waiting.add(update.event.len());
            if !room || queue.try_send(update.event.clone()).is_err() {
                slow.push(*number);
            }
        }
        // Their queues end here. Queued updates are still sent to clients that keep reading.
        let dropped: Vec<_> = slow
            .iter()
            .filter_map(|number| state.subscribers.remove(number))
            .collect();
        state.store(update, self.options.history);
        drop(state);
        self.updates.fetch_add(1, Relaxed);
        if !dropped.is_empty() {
            self.dropped.fetch_add(dropped.len() as u64, Relaxed);
            tracing::info!(target: "howdah::mercure", subscribers = dropped.len(), "slow subscribers were dropped");
        }
        dropped
    }

    /// Adds a subscriber. `since` is the last update that it has seen. `None`: there is no room, or the hub
    /// is closed.
    pub(crate) fn join(
        self: &Arc<Self>,
        mut subscriber: Subscriber,
        since: Option<&str>,
    ) -> Option<NewSubscriber> {
        let (sender, queue) = mpsc::channel(self.options.queue.max(1));
        subscriber.queue = Some(sender);
        let waiting = subscriber.waiting.clone();
        let mut state = self.lock();
        if state.closed || state.subscribers.len() >= self.options.subscribers {
            return None;
        }
        let (last, missed) = state.missed_updates(&subscriber, since);
        let number = state.next;
        state.next += 1;
        state.subscribers.insert(number, subscriber);
        drop(state);
        self.accepted.fetch_add(1, Relaxed);
        let hub = Arc::clone(self);
        Some(NewSubscriber {
            place: Place { hub, number },
            queue,
            waiting,
            missed,
            last,
        })
    }

    /// Calls `see` with each subscriber.
    pub(crate) fn for_each_subscriber(&self, mut see: impl FnMut(&Subscriber)) {
        self.lock().subscribers.values().for_each(&mut see);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn store(&mut self, update: Arc<Update>, most: usize) {
        self.bytes += update.size();
        self.history.push_back(update);
        while self.history.len() > most || self.bytes > HISTORY_BYTES {
            let Some(oldest) = self.history.pop_front() else {
                break;
            };
            self.bytes -= oldest.size();
        }
    }

    /// The updates after an update, and the last update before those. After an unknown or expired id nothing is sent,
    /// and the last id shows the subscriber that it has missed something.
    fn missed_updates(&self, subscriber: &Subscriber, since: Option<&str>) -> (String, Vec<Bytes>) {
        let Some(since) = since else {
            return (self.last.clone(), Vec::new());
        };
        let start = if since == EARLIEST {
            Some(0)
        } else {
            let found = self.history.iter().rposition(|update| update.id == since);
            found.map(|index| index + 1)
        };
        let Some(start) = start else {
            return (self.last.clone(), Vec::new());
        };
        let after = self.history.iter().skip(start);
        let missed = after
            .filter(|update| subscriber.gets(update))
            .map(|update| update.event.clone())
            .collect();
        (since.to_owned(), missed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        let removed = state.subscribers.remove(&self.number);
        let closed = state.closed;
        drop(state);
        if let Some(subscriber) = removed
            && !closed
        {
            announce(&self.hub, &subscriber, SubscriptionState::Closed);
        }
    }
}
