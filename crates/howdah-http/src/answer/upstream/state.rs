//! State of upstreams, one for all front threads: requests in flight, failures and health. The network decides which
//! thread a connection is on, so no thread alone knows what an upstream does.

use std::cell::Cell;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use howdah_config::model::{Balance, Upstream};
use ring::hmac;

use crate::clock;
use crate::message::upstream_note::UpstreamNote;

/// All directives of this process. Those of previous configurations have no owner.
static ALL: Mutex<Vec<Weak<DirectiveState>>> = Mutex::new(Vec::new());

/// The directives that are in use.
pub(super) fn all() -> Vec<Arc<DirectiveState>> {
    lock(&ALL).iter().filter_map(Weak::upgrade).collect()
}

/// State of the upstreams of a configuration.
#[derive(Debug, Default)]
pub(crate) struct UpstreamStates {
    /// The upstreams of all directives, and of previous configurations whose requests have not ended.
    shared: Arc<Mutex<Vec<Weak<SharedUpstream>>>>,
    /// Indexed by the number of the directive.
    directives: Mutex<Vec<Arc<DirectiveState>>>,
}

impl UpstreamStates {
    /// For the next configuration, which keeps the failures and the requests in flight of its upstreams.
    pub(crate) fn next(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            directives: Mutex::default(),
        }
    }

    /// The state of the directive with this number. Every front thread numbers the directives in the same order.
    fn directive(
        &self,
        number: usize,
        upstreams: &[Upstream],
        balance: &Balance,
        handler: &'static str,
    ) -> Arc<DirectiveState> {
        let mut directives = lock(&self.directives);
        if let Some(state) = directives.get(number) {
            return Arc::clone(state);
        }
        let state = self.of(upstreams, balance, handler);
        directives.push(Arc::clone(&state));
        state
    }

    /// The state of upstreams that were not known when the configuration was read.
    pub(crate) fn of(
        &self,
        upstreams: &[Upstream],
        balance: &Balance,
        handler: &'static str,
    ) -> Arc<DirectiveState> {
        let shared = upstreams
            .iter()
            .map(|upstream| self.shared(upstream.to_string(), handler));
        let state = Arc::new(DirectiveState::new(shared, balance));
        let mut all = lock(&ALL);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&state));
        state
    }

    fn shared(&self, address: String, handler: &'static str) -> Arc<SharedUpstream> {
        let mut shared = lock(&self.shared);
        shared.retain(|other| other.strong_count() > 0);
        let mut known = shared.iter().filter_map(Weak::upgrade);
        if let Some(known) = known.find(|own| *own.address == *address && own.handler == handler) {
            return known;
        }
        let own = Arc::new(SharedUpstream {
            address: address.into(),
            handler,
            in_flight: AtomicUsize::new(0),
            failures: AtomicU64::new(0),
            recent_max: AtomicU32::new(0),
            recent_count: AtomicUsize::new(0),
            recent: Mutex::default(),
        });
        shared.push(Arc::downgrade(&own));
        own
    }
}

/// Numbers the directives of a configuration while a front thread compiles it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StateCursor {
    states: Arc<UpstreamStates>,
    next: Rc<Cell<usize>>,
}

impl StateCursor {
    pub(crate) fn new(states: &Arc<UpstreamStates>) -> Self {
        Self {
            states: Arc::clone(states),
            next: Rc::default(),
        }
    }

    /// The states of the configuration.
    pub(crate) fn states(&self) -> Arc<UpstreamStates> {
        Arc::clone(&self.states)
    }

    /// The state of the next directive; `handler` is its name.
    pub(crate) fn next(
        &self,
        upstreams: &[Upstream],
        balance: &Balance,
        handler: &'static str,
    ) -> Arc<DirectiveState> {
        let number = self.next.get();
        self.next.set(number + 1);
        self.states.directive(number, upstreams, balance, handler)
    }
}

/// An upstream, whichever directive uses it.
#[derive(Debug)]
pub(super) struct SharedUpstream {
    /// The address as configured.
    pub(super) address: Arc<str>,
    /// Name of the directive.
    pub(super) handler: &'static str,
    in_flight: AtomicUsize,
    failures: AtomicU64,
    /// The largest `max_fails`: older failures do not matter.
    recent_max: AtomicU32,
    /// The length of `recent`, which is rarely more than 0.
    recent_count: AtomicUsize,
    /// When each failure expires, on the coarse clock.
    recent: Mutex<Vec<u64>>,
}

impl SharedUpstream {
    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    /// Failures since the upstream was first used.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// Failures that have not expired.
    fn recent_failures(&self) -> usize {
        if self.recent_count.load(Relaxed) == 0 {
            return 0;
        }
        let now = clock::now();
        let mut recent = lock(&self.recent);
        recent.retain(|until| *until > now);
        self.recent_count.store(recent.len(), Relaxed);
        recent.len()
    }

    /// Remembers a failure until `until`.
    fn remember(&self, until: u64) {
        let mut recent = lock(&self.recent);
        recent.push(until);
        recent.sort_unstable();
        let most = self.recent_max.load(Relaxed) as usize;
        let excess = recent.len().saturating_sub(most);
        recent.drain(..excess);
        self.recent_count.store(recent.len(), Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct DirectiveState {
    upstreams: Box<[UpstreamState]>,
    limits: Limits,
    turn: AtomicU64,
    are_checks_started: AtomicBool,
}

impl DirectiveState {
    fn new(shared: impl Iterator<Item = Arc<SharedUpstream>>, balance: &Balance) -> Self {
        let remembers = !balance.fail_duration.is_zero();
        let limits = Limits {
            max_fails: remembers.then_some(balance.max_fails),
            max_requests: balance.max_requests,
        };
        // As in Caddy, so that clients keep their upstream when one server takes the place of the other.
        let key = hmac::Key::new(hmac::HMAC_SHA256, balance.policy.cookie_secret().as_bytes());
        let upstream = |shared: Arc<SharedUpstream>| {
            let most = limits.max_fails.unwrap_or(0);
            shared.recent_max.fetch_max(most, Relaxed);
            UpstreamState {
                cookie: hexadecimal(hmac::sign(&key, shared.address.as_bytes()).as_ref()),
                shared,
                is_unhealthy: AtomicBool::new(false),
                contrary: AtomicU32::new(0),
            }
        };
        Self {
            upstreams: shared.map(upstream).collect(),
            limits,
            turn: AtomicU64::new(0),
            are_checks_started: AtomicBool::new(false),
        }
    }

    pub(super) fn upstreams(&self) -> &[UpstreamState] {
        &self.upstreams
    }

    pub(super) fn is_available(&self, index: usize) -> bool {
        let has_room = |most| self.upstreams[index].in_flight() < most;
        self.is_healthy(index) && self.limits.max_requests.is_none_or(has_room)
    }

    /// Neither checks nor requests have failed too often.
    pub(super) fn is_healthy(&self, index: usize) -> bool {
        let upstream = &self.upstreams[index];
        let in_limit = |most| upstream.shared.recent_failures() < most as usize;
        !upstream.is_unhealthy.load(Relaxed) && self.limits.max_fails.is_none_or(in_limit)
    }

    /// Counts the choices.
    pub(super) fn turn(&self) -> u64 {
        self.turn.fetch_add(1, Relaxed)
    }

    /// Whether the caller has to run the active checks: one front thread does.
    pub(super) fn claim_checks(&self) -> bool {
        !self.are_checks_started.swap(true, Relaxed)
    }
}

/// When an upstream gets no requests.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// `None`: failures are not remembered.
    max_fails: Option<u32>,
    max_requests: Option<usize>,
}

#[derive(Debug)]
pub(super) struct UpstreamState {
    pub(super) shared: Arc<SharedUpstream>,
    /// Identifies it in the sticky cookie of a client.
    pub(super) cookie: String,
    /// Active checks failed.
    is_unhealthy: AtomicBool,
    /// Active checks in a row with the other result.
    contrary: AtomicU32,
}

impl UpstreamState {
    /// The name as configured.
    pub(super) fn name(&self) -> &str {
        &self.shared.address
    }

    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.shared.in_flight()
    }

    /// Counts a failure, and remembers it until `until`.
    pub(super) fn fail(&self, until: Option<u64>) {
        self.shared.failures.fetch_add(1, Relaxed);
        if let Some(until) = until {
            self.shared.remember(until);
        }
    }

    /// Records the result of an active check, of which `in_row` equal ones change the health; returns whether it has
    /// changed. One task runs the checks.
    pub(super) fn note_check(&self, is_unhealthy: bool, in_row: u32) -> bool {
        if self.is_unhealthy.load(Relaxed) == is_unhealthy {
            self.contrary.store(0, Relaxed);
            return false;
        }
        let count = self.contrary.fetch_add(1, Relaxed) + 1;
        if count < in_row {
            return false;
        }
        self.contrary.store(0, Relaxed);
        self.is_unhealthy.store(is_unhealthy, Relaxed);
        true
    }
}

/// How far the attempts of a request are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The start of the first attempt.
    pub(crate) begin: Instant,
    /// Attempts that have ended.
    pub(crate) retries: u32,
}

/// Counts a request as long as it is in flight.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    state: Arc<DirectiveState>,
    index: usize,
}

impl ActiveRequest {
    /// `None`: requests of other threads have reached the limit of the upstream.
    pub(super) fn begin(state: &Arc<DirectiveState>, index: usize) -> Option<Self> {
        let most = state.limits.max_requests.unwrap_or(usize::MAX);
        let more = |count: usize| (count < most).then_some(count + 1);
        let in_flight = &state.upstreams[index].shared.in_flight;
        in_flight.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Self {
            state: Arc::clone(state),
            index,
        })
    }

    /// The upstream for placeholders. `address`: that of this request, if it is not the configured one.
    pub(crate) fn note(&self, address: Option<&str>, progress: Progress) -> UpstreamNote {
        let shared = &self.state.upstreams[self.index].shared;
        UpstreamNote {
            name: address.map_or_else(|| Arc::clone(&shared.address), Arc::from),
            requests: shared.in_flight().saturating_sub(1),
            max_requests: self.state.limits.max_requests,
            fails: shared.recent_failures(),
            retries: progress.retries,
            begin: progress.begin,
            start: Instant::now(),
            latency: None,
        }
    }

    /// The number of its upstream.
    pub(crate) fn index(&self) -> usize {
        self.index
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let in_flight = &self.state.upstreams[self.index].shared.in_flight;
        in_flight.fetch_sub(1, Relaxed);
    }
}

/// A hash that is equal in all front threads and after a restart.
pub(super) fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to memory cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
