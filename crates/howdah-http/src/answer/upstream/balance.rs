//! Chooses an upstream for a request, and tracks the state of each: for `reverse_proxy` and `php_fastcgi`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use howdah_config::model::{Balance, Policy, Upstream};
use http::{HeaderValue, StatusCode};

use super::board::UpstreamCounters;
use crate::clock::{self, milliseconds};

/// What the choice of an upstream depends on, besides the upstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    Hash(u64),
    /// The value of the sticky cookie that the client has sent.
    Cookie(String),
}

impl Hint {
    pub(crate) fn of<T: Hash + ?Sized>(value: &T) -> Self {
        Self::Hash(hash(value))
    }
}

/// The same in all front threads and after a restart.
fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The upstreams of a directive, as one front thread knows them.
pub(crate) struct Balancer {
    states: Rc<[State]>,
    policy: Policy,
    limits: Limits,
    turn: Cell<u64>,
    retries: u32,
    try_duration: Duration,
    try_interval: Duration,
    /// Milliseconds; 0: failures are not counted.
    fail_duration: u64,
    unhealthy_status: Box<[(u16, u16)]>,
    unhealthy_latency: Option<Duration>,
}

impl std::fmt::Debug for Balancer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Balancer").field(&self.states).finish()
    }
}

impl Balancer {
    /// `handler`: the directive.
    pub(crate) fn new(upstreams: &[Upstream], balance: &Balance, handler: &'static str) -> Self {
        let states = upstreams.iter();
        Self {
            states: states
                .map(|upstream| State::new(upstream, handler))
                .collect(),
            policy: balance.policy.clone(),
            limits: Limits {
                max_fails: balance.max_fails,
                max_requests: balance.max_requests,
            },
            turn: Cell::new(0),
            retries: balance.retries,
            try_duration: balance.try_duration,
            try_interval: balance.try_interval,
            fail_duration: milliseconds(balance.fail_duration),
            unhealthy_status: balance.unhealthy_status.clone().into(),
            unhealthy_latency: balance.unhealthy_latency,
        }
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How many upstreams there are.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// An upstream as configured.
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.states[index].name
    }

    /// The attempts of a request.
    pub(crate) fn attempts<'b>(&'b self, hint: &'b Hint) -> Attempts<'b> {
        Attempts {
            balancer: self,
            hint,
            start: Instant::now(),
            count: 0,
            tried: Vec::new(),
        }
    }

    /// Records that a request has failed.
    pub(crate) fn fail(&self, index: usize) {
        self.states[index].counters.failures.fetch_add(1, Relaxed);
        if self.fail_duration > 0 {
            let until = clock::now().saturating_add(self.fail_duration);
            self.states[index].fail(until, self.limits.max_fails);
        }
    }

    /// Records a response and its time, which may count as a failure.
    pub(crate) fn record_response(&self, index: usize, status: StatusCode, latency: Duration) {
        let code = status.as_u16();
        let bad = |(first, last): &(u16, u16)| (*first..=*last).contains(&code);
        let is_late = self.unhealthy_latency.is_some_and(|limit| latency >= limit);
        if is_late || self.unhealthy_status.iter().any(bad) {
            self.fail(index);
        }
    }

    /// Records the result of an active check; returns whether it has changed.
    pub(crate) fn note_health(&self, index: usize, is_ill: bool) -> bool {
        let state = &self.states[index];
        state.counters.is_ill.store(is_ill, Relaxed);
        state.is_ill.replace(is_ill) != is_ill
    }

    /// The cookie that ties a client to an upstream, if the client lacks it.
    pub(crate) fn cookie(&self, index: usize, hint: &Hint) -> Option<HeaderValue> {
        let Policy::Cookie(name) = &self.policy else {
            return None;
        };
        let value = &self.states[index].cookie;
        if matches!(hint, Hint::Cookie(known) if known == value) {
            return None;
        }
        HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly")).ok()
    }
}

/// The attempts of one request: one upstream after the other, within the configured limits.
pub(crate) struct Attempts<'b> {
    balancer: &'b Balancer,
    hint: &'b Hint,
    start: Instant,
    /// Attempts that have ended.
    count: u32,
    tried: Vec<usize>,
}

impl Attempts<'_> {
    /// Starts an attempt with the next upstream; `None` if none is healthy.
    pub(crate) fn begin(&mut self) -> Option<ActiveRequest> {
        let balancer = self.balancer;
        let index = choose(
            &balancer.states,
            &balancer.policy,
            balancer.limits,
            (self.hint, &self.tried),
            &balancer.turn,
        )?;
        self.tried.push(index);
        Some(ActiveRequest::begin(&balancer.states, index))
    }

    /// Whether another attempt is allowed after a failed one.
    pub(crate) fn may_continue(&self) -> bool {
        let Balancer {
            retries,
            try_duration,
            ..
        } = self.balancer;
        // As in Caddy: if both limits are set, both apply.
        let in_time = try_duration.is_zero() || self.start.elapsed() < *try_duration;
        let in_number = *retries == 0 || self.count < *retries;
        let any = *retries > 0 || !try_duration.is_zero();
        any && in_time && in_number
    }

    /// Whether to wait when no upstream is healthy: only time changes that.
    pub(crate) fn may_wait(&self) -> bool {
        !self.balancer.try_interval.is_zero() && self.may_continue()
    }

    /// Waits before the next attempt.
    pub(crate) async fn pause(&mut self) {
        self.count = self.count.saturating_add(1);
        if !self.balancer.try_interval.is_zero() {
            tokio::time::sleep(self.balancer.try_interval).await;
        }
    }
}

/// What a front thread knows of an upstream.
#[derive(Debug)]
struct State {
    /// As configured.
    name: String,
    /// Identifies it in the sticky cookie of a client.
    cookie: String,
    /// Requests under way.
    active: Cell<usize>,
    /// The last active check failed.
    is_ill: Cell<bool>,
    /// When each failure expires, on the coarse clock.
    failures: RefCell<VecDeque<u64>>,
    /// For observers.
    counters: Arc<UpstreamCounters>,
}

impl State {
    fn new(upstream: &Upstream, handler: &'static str) -> Self {
        let name = upstream.to_string();
        Self {
            counters: UpstreamCounters::listed(&name, handler),
            cookie: format!("{:016x}", hash(name.as_str())),
            name,
            active: Cell::new(0),
            is_ill: Cell::new(false),
            failures: RefCell::default(),
        }
    }

    /// Records a failure until `until`; keeps at most `matter` of them.
    fn fail(&self, until: u64, matter: u32) {
        let mut failures = self.failures.borrow_mut();
        failures.push_back(until);
        while failures.len() > matter as usize {
            failures.pop_front();
        }
        if failures.len() == matter as usize {
            let until = failures.front().copied().unwrap_or(0);
            self.counters.down_until.store(until, Relaxed);
        }
    }

    fn count_active(&self, more: isize) {
        let active = self.active.get().saturating_add_signed(more);
        self.active.set(active);
        self.counters.in_flight.store(active, Relaxed);
    }

    fn is_available(&self, limits: Limits) -> bool {
        if self.is_ill.get()
            || limits
                .max_requests
                .is_some_and(|most| self.active.get() >= most)
        {
            return false;
        }
        let now = clock::now();
        let mut failures = self.failures.borrow_mut();
        while failures.front().is_some_and(|until| *until <= now) {
            failures.pop_front();
        }
        failures.len() < limits.max_fails as usize
    }
}

/// When an upstream gets no requests.
#[derive(Debug, Clone, Copy)]
struct Limits {
    max_fails: u32,
    max_requests: Option<usize>,
}

/// Counts a request as long as it is in flight.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    states: Rc<[State]>,
    index: usize,
}

impl ActiveRequest {
    fn begin(states: &Rc<[State]>, index: usize) -> Self {
        states[index].count_active(1);
        Self {
            states: Rc::clone(states),
            index,
        }
    }

    /// The number of its upstream.
    pub(crate) fn index(&self) -> usize {
        self.index
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.states[self.index].count_active(-1);
    }
}

/// Chooses among the healthy upstreams, and prefers those that were not `tried`. `turn` counts the choices.
fn choose(
    states: &[State],
    policy: &Policy,
    limits: Limits,
    (hint, tried): (&Hint, &[usize]),
    turn: &Cell<u64>,
) -> Option<usize> {
    let mut available: Vec<usize> = (0..states.len())
        .filter(|index| states[*index].is_available(limits))
        .collect();
    if available.iter().any(|index| !tried.contains(index)) {
        available.retain(|index| !tried.contains(index));
    }
    if available.len() < 2 {
        return available.first().copied();
    }
    turn.set(turn.get().wrapping_add(1));
    let pick = |number: u64| {
        let index = number % available.len() as u64;
        available.get(usize::try_from(index).unwrap_or(0)).copied()
    };
    // Rendezvous hashing: if an upstream fails, only its clients change to another.
    let stable = |key: u64| {
        available
            .iter()
            .copied()
            .max_by_key(|index| hash(&(key, states[*index].name.as_str())))
    };
    let random = || pick(hash(&(turn.get(), clock::now(), states.as_ptr() as usize)));
    match (policy, hint) {
        (Policy::First, _) => pick(0),
        (Policy::RoundRobin, _) => pick(turn.get().wrapping_sub(1)),
        (Policy::LeastConnections, _) => {
            let fewest = available
                .iter()
                .map(|index| states[*index].active.get())
                .min()?;
            let equal: Vec<usize> = available
                .iter()
                .copied()
                .filter(|index| states[*index].active.get() == fewest)
                .collect();
            let index = turn.get() % equal.len() as u64;
            equal.get(usize::try_from(index).unwrap_or(0)).copied()
        }
        (Policy::Cookie(_), Hint::Cookie(cookie)) => available
            .iter()
            .copied()
            .find(|index| states[*index].cookie == *cookie)
            .or_else(random),
        (
            Policy::IpHash | Policy::ClientIpHash | Policy::UriHash | Policy::Header(_),
            Hint::Hash(key),
        ) => stable(*key),
        _ => random(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(count: u16) -> Rc<[State]> {
        (0..count)
            .map(|port| {
                let host = "a".into();
                State::new(&Upstream::Tcp { host, port }, "reverse_proxy")
            })
            .collect()
    }

    const LIMITS: Limits = Limits {
        max_fails: 2,
        max_requests: Some(3),
    };

    #[test]
    fn policies() {
        let states = states(3);
        let turn = Cell::new(0);
        let next = |policy: &Policy, hint: &Hint| {
            choose(&states, policy, LIMITS, (hint, &[]), &turn).unwrap()
        };
        let turns: Vec<_> = (0..6)
            .map(|_| next(&Policy::RoundRobin, &Hint::None))
            .collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        assert_eq!(next(&Policy::First, &Hint::None), 0);
        let busy = [
            ActiveRequest::begin(&states, 0),
            ActiveRequest::begin(&states, 2),
        ];
        assert_eq!(next(&Policy::LeastConnections, &Hint::None), 1);
        drop(busy);
        let seen: std::collections::BTreeSet<_> = (0..200)
            .map(|_| next(&Policy::Random, &Hint::None))
            .collect();
        assert_eq!(seen.len(), 3);
        let cookie = Hint::Cookie(states[1].cookie.clone());
        assert_eq!(next(&Policy::Cookie("lb".into()), &cookie), 1);
        for client in 0..20 {
            let hint = Hint::of(&client);
            assert_eq!(next(&Policy::IpHash, &hint), next(&Policy::IpHash, &hint));
        }
        let spread: std::collections::BTreeSet<_> = (0..50)
            .map(|client| next(&Policy::IpHash, &Hint::of(&client)))
            .collect();
        assert_eq!(spread.len(), 3);
    }

    #[test]
    fn unhealthy_upstreams_get_no_requests() {
        let states = states(2);
        let turn = Cell::new(0);
        let first = || choose(&states, &Policy::First, LIMITS, (&Hint::None, &[]), &turn);
        states[0].fail(u64::MAX, 2);
        assert_eq!(first(), Some(0));
        states[0].fail(u64::MAX, 2);
        assert_eq!(first(), Some(1));
        let busy: Vec<_> = (0..3).map(|_| ActiveRequest::begin(&states, 1)).collect();
        assert_eq!(first(), None);
        drop(busy);
        states[1].is_ill.set(true);
        assert_eq!(first(), None);
        states[1].is_ill.set(false);
        // Expired failures are removed.
        states[1].fail(0, 2);
        states[1].fail(0, 2);
        assert_eq!(first(), Some(1));
    }

    fn balancer(balance: &Balance) -> Balancer {
        let upstream = |port| Upstream::Tcp {
            host: "a".into(),
            port,
        };
        let upstreams = [upstream(1), upstream(2), upstream(3)];
        Balancer::new(&upstreams, balance, "reverse_proxy")
    }

    /// The upstreams that one request tries when all attempts fail.
    async fn failing(balance: &Balance, hint: &Hint) -> Vec<usize> {
        let balancer = balancer(balance);
        let mut attempts = balancer.attempts(hint);
        let mut seen = Vec::new();
        loop {
            match attempts.begin() {
                None => return seen,
                Some(active) => seen.push(active.index()),
            }
            if !attempts.may_continue() {
                return seen;
            }
            attempts.pause().await;
        }
    }

    #[tokio::test]
    async fn attempts_go_to_others_first() {
        let balance = |policy, retries| Balance {
            policy,
            retries,
            try_interval: Duration::ZERO,
            ..Balance::default()
        };
        let none = Hint::None;
        assert_eq!(failing(&balance(Policy::First, 0), &none).await, [0]);
        assert_eq!(
            failing(&balance(Policy::First, 3), &none).await,
            [0, 1, 2, 0]
        );
        let mut spread = failing(&balance(Policy::IpHash, 2), &Hint::of(&7)).await;
        spread.sort_unstable();
        assert_eq!(spread, [0, 1, 2]);
        // The attempt at the end of the time counts too.
        let timed = Balance {
            try_duration: Duration::from_nanos(1),
            ..balance(Policy::First, 3)
        };
        assert_eq!(failing(&timed, &none).await, [0]);
        let counted = Balance {
            try_duration: Duration::from_secs(3600),
            ..balance(Policy::First, 2)
        };
        assert_eq!(failing(&counted, &none).await, [0, 1, 2]);
    }

    #[test]
    fn answers_may_be_failures() {
        let balancer = balancer(&Balance {
            policy: Policy::First,
            fail_duration: Duration::from_secs(3600),
            unhealthy_status: vec![(500, 599)],
            unhealthy_latency: Some(Duration::from_secs(2)),
            ..Balance::default()
        });
        let first = || {
            balancer
                .attempts(&Hint::None)
                .begin()
                .map(|own| own.index())
        };
        let soon = Duration::from_secs(1);
        balancer.record_response(0, StatusCode::NOT_FOUND, soon);
        assert_eq!(first(), Some(0));
        balancer.record_response(0, StatusCode::BAD_GATEWAY, soon);
        assert_eq!(first(), Some(1));
        balancer.record_response(1, StatusCode::OK, soon * 2);
        assert_eq!(first(), Some(2));
        assert!(balancer.note_health(2, true));
        assert!(!balancer.note_health(2, true));
        assert_eq!(first(), None);
    }
}
