//! Chooses an upstream for a request: for `reverse_proxy` and `php_fastcgi`.

use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_config::model::{Balance, Policy, StatusRange};
use http::{HeaderValue, StatusCode};

use super::state::{ActiveRequest, DirectiveState, Progress, UpstreamState, hash};
use crate::clock::{self, milliseconds};

/// What the choice of an upstream depends on, besides the upstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    Hash(u64),
    /// For a sticky cookie.
    Cookie {
        /// The value that the client has sent.
        known: Option<String>,
        /// The client uses HTTPS.
        is_secure: bool,
        /// What applies without its upstream.
        fallback: Box<Hint>,
    },
    /// The request lacks what the policy needs: what the fallback needs.
    Fallback(Box<Hint>),
}

impl Hint {
    pub(crate) fn of<T: Hash + ?Sized>(value: &T) -> Self {
        Self::Hash(hash(value))
    }
}

/// Chooses among the upstreams of a directive. Their state is shared by all front threads.
pub(crate) struct Balancer {
    state: Arc<DirectiveState>,
    policy: Policy,
    retries: u32,
    try_duration: Duration,
    try_interval: Duration,
    /// Milliseconds; 0: failures are not counted.
    fail_duration: u64,
    unhealthy_status: Box<[StatusRange]>,
    unhealthy_latency: Option<Duration>,
}

impl std::fmt::Debug for Balancer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Balancer").field(&self.state).finish()
    }
}

impl Balancer {
    pub(crate) fn new(state: Arc<DirectiveState>, balance: &Balance) -> Self {
        Self {
            state,
            policy: balance.policy.clone(),
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
        self.state.upstreams().len()
    }

    /// An upstream as configured.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.state.upstreams()[index].name()
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
        let remembers = self.fail_duration > 0;
        let until = remembers.then(|| clock::now().saturating_add(self.fail_duration));
        self.state.upstreams()[index].fail(until);
    }

    /// Records a response and its time, which may count as a failure.
    pub(crate) fn record_response(&self, index: usize, status: StatusCode, latency: Duration) {
        let code = status.as_u16();
        let bad = |range: &StatusRange| range.contains(code);
        let is_late = self.unhealthy_latency.is_some_and(|limit| latency >= limit);
        if is_late || self.unhealthy_status.iter().any(bad) {
            self.fail(index);
        }
    }

    /// Records the result of an active check; returns whether it has changed.
    /// `in_row`: how many equal results change it.
    pub(crate) fn note_health(&self, index: usize, is_unhealthy: bool, in_row: u32) -> bool {
        self.state.upstreams()[index].note_check(is_unhealthy, in_row)
    }

    /// Whether the caller has to run the active checks: one front thread does.
    pub(crate) fn claim_checks(&self) -> bool {
        self.state.claim_checks()
    }

    /// The cookie that ties a client to an upstream, if the client lacks it.
    pub(crate) fn cookie(&self, index: usize, hint: &Hint) -> Option<HeaderValue> {
        let (name, max_age, known, is_secure) = sticky(&self.policy, hint)?;
        let value = &self.state.upstreams()[index].cookie;
        if known == Some(value) {
            return None;
        }
        // As in Caddy: an application in a frame of another site needs the cookie too, if it may have it.
        let same_site = if is_secure {
            "; Secure; SameSite=None"
        } else {
            "; SameSite=Lax"
        };
        let lifetime = max_age.map(|max_age| format!("; Max-Age={}", max_age.as_secs()));
        let lifetime = lifetime.unwrap_or_default();
        let cookie = format!("{name}={value}; Path=/; HttpOnly{same_site}{lifetime}");
        HeaderValue::try_from(cookie).ok()
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
        let Balancer { state, policy, .. } = self.balancer;
        loop {
            let index = choose(state, policy, (self.hint, &self.tried))?;
            if let Some(active) = ActiveRequest::begin(state, index) {
                self.tried.push(index);
                return Some(active);
            }
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress {
            begin: self.start,
            retries: self.count,
        }
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

/// The name and the lifetime of the cookie of the policy that applies, the value that the client has sent, and whether
/// it uses HTTPS.
fn sticky<'p>(
    policy: &'p Policy,
    hint: &'p Hint,
) -> Option<(&'p str, Option<Duration>, Option<&'p String>, bool)> {
    match (policy, hint) {
        (
            Policy::Cookie { name, max_age, .. },
            Hint::Cookie {
                known, is_secure, ..
            },
        ) => Some((name, *max_age, known.as_ref(), *is_secure)),
        (
            Policy::Header { fallback, .. } | Policy::Query { fallback, .. },
            Hint::Fallback(hint),
        ) => sticky(fallback, hint),
        _ => None,
    }
}

/// Chooses among the healthy upstreams, and prefers those that were not `tried`.
fn choose(
    state: &DirectiveState,
    policy: &Policy,
    (hint, tried): (&Hint, &[usize]),
) -> Option<usize> {
    let mut available: Vec<usize> = (0..state.upstreams().len())
        .filter(|index| state.is_available(*index))
        .collect();
    if available.iter().any(|index| !tried.contains(index)) {
        available.retain(|index| !tried.contains(index));
    }
    let choice = Choice {
        upstreams: state.upstreams(),
        available,
        turn: state.turn(),
    };
    choice.by(policy, hint)
}

/// A choice among available upstreams.
struct Choice<'s> {
    upstreams: &'s [UpstreamState],
    available: Vec<usize>,
    /// Number of the choice.
    turn: u64,
}

impl Choice<'_> {
    fn by(&self, policy: &Policy, hint: &Hint) -> Option<usize> {
        match (policy, hint) {
            (Policy::First, _) => self.at(0),
            (Policy::RoundRobin, _) => self.at(self.turn),
            (Policy::WeightedRoundRobin(weights), _) => self.weighted(weights),
            (Policy::LeastConnections, _) => self.idlest(self.available.clone()),
            (Policy::RandomChoose(count), _) => {
                let mut drawn = self.available.clone();
                drawn.sort_by_cached_key(|index| hash(&(self.random(), *index)));
                drawn.truncate(usize::try_from(*count).unwrap_or(usize::MAX));
                self.idlest(drawn)
            }
            (
                Policy::Cookie { fallback, .. },
                Hint::Cookie {
                    known,
                    fallback: hint,
                    ..
                },
            ) => self
                .available
                .iter()
                .copied()
                .find(|index| Some(&self.upstreams[*index].cookie) == known.as_ref())
                .or_else(|| self.by(fallback, hint)),
            (
                Policy::Header { fallback, .. } | Policy::Query { fallback, .. },
                Hint::Fallback(hint),
            ) => self.by(fallback, hint),
            (_, Hint::Hash(key)) => self.stable(*key),
            _ => self.at(self.random()),
        }
    }

    /// The available upstream with this number, modulo their count.
    fn at(&self, number: u64) -> Option<usize> {
        let index = number.checked_rem(self.available.len() as u64)?;
        let index = usize::try_from(index).unwrap_or(0);
        self.available.get(index).copied()
    }

    fn random(&self) -> u64 {
        let place = self.upstreams.as_ptr() as usize;
        hash(&(self.turn, clock::now(), place))
    }

    /// Rendezvous hashing: if an upstream fails, only its clients change to another.
    fn stable(&self, key: u64) -> Option<usize> {
        let available = self.available.iter().copied();
        available.max_by_key(|index| hash(&(key, self.upstreams[*index].name())))
    }

    /// The one with the fewest requests in flight; equal ones in turn.
    fn idlest(&self, candidates: Vec<usize>) -> Option<usize> {
        let counts: Vec<_> = candidates
            .into_iter()
            .map(|index| (self.upstreams[index].in_flight(), index))
            .collect();
        let fewest = counts.iter().map(|(count, _)| *count).min()?;
        let equal: Vec<usize> = counts
            .into_iter()
            .filter_map(|(count, index)| (count == fewest).then_some(index))
            .collect();
        let index = self.turn % equal.len() as u64;
        equal.get(usize::try_from(index).unwrap_or(0)).copied()
    }

    fn weighted(&self, weights: &[u32]) -> Option<usize> {
        let weight = |index: usize| u64::from(weights.get(index).copied().unwrap_or(0));
        let total: u64 = self.available.iter().map(|index| weight(*index)).sum();
        let mut position = self.turn.checked_rem(total)?;
        for index in &self.available {
            match position.checked_sub(weight(*index)) {
                None => return Some(*index),
                Some(rest) => position = rest,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use howdah_config::model::Upstream;

    use super::*;
    use crate::answer::upstream::state::{StateCursor, UpstreamStates};

    fn upstreams(count: u16) -> Vec<Upstream> {
        (1..=count)
            .map(|port| Upstream::Tcp {
                host: "a".into(),
                port,
            })
            .collect()
    }

    fn state(count: u16, balance: &Balance) -> Arc<DirectiveState> {
        let cursor = StateCursor::new(&Arc::default());
        cursor.next(&upstreams(count), balance, "reverse_proxy")
    }

    #[test]
    fn policies() {
        let state = state(3, &Balance::default());
        let next = |policy: &Policy, hint: &Hint| choose(&state, policy, (hint, &[])).unwrap();
        let turns: Vec<_> = (0..6)
            .map(|_| next(&Policy::RoundRobin, &Hint::None))
            .collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        assert_eq!(next(&Policy::First, &Hint::None), 0);
        let busy = [
            ActiveRequest::begin(&state, 0),
            ActiveRequest::begin(&state, 2),
        ];
        assert_eq!(next(&Policy::LeastConnections, &Hint::None), 1);
        drop(busy);
        let seen: std::collections::BTreeSet<_> = (0..200)
            .map(|_| next(&Policy::Random, &Hint::None))
            .collect();
        assert_eq!(seen.len(), 3);
        let by_cookie = Policy::Cookie {
            name: "lb".into(),
            secret: String::new(),
            max_age: None,
            fallback: Box::new(Policy::First),
        };
        let cookie = |known: Option<&str>| Hint::Cookie {
            known: known.map(str::to_owned),
            is_secure: false,
            fallback: Box::new(Hint::None),
        };
        let second = cookie(Some(&state.upstreams()[1].cookie));
        assert_eq!(next(&by_cookie, &second), 1);
        assert_eq!(next(&by_cookie, &cookie(Some("unknown"))), 0);
        assert_eq!(next(&by_cookie, &cookie(None)), 0);
        let by_query = Policy::Query {
            key: "id".into(),
            fallback: Box::new(Policy::UriHash),
        };
        let (hash, fallback) = (Hint::of("a"), Hint::Fallback(Box::new(Hint::of("a"))));
        assert_eq!(next(&by_query, &hash), next(&by_query, &fallback));
        let busy = ActiveRequest::begin(&state, 2);
        let seen: std::collections::BTreeSet<_> = (0..200)
            .map(|_| next(&Policy::RandomChoose(2), &Hint::None))
            .collect();
        assert_eq!(Vec::from_iter(seen), [0, 1]);
        assert_eq!(next(&Policy::RandomChoose(9), &Hint::None) / 2, 0);
        drop(busy);
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
    fn cookies_have_the_values_of_caddy() {
        let value = |secret: &str| {
            let policy = Policy::Cookie {
                name: "lb".into(),
                secret: secret.into(),
                max_age: None,
                fallback: Box::default(),
            };
            // The policy that sets the cookie may be a fallback.
            let policy = Policy::Query {
                key: "id".into(),
                fallback: Box::new(policy),
            };
            let balance = Balance {
                policy,
                ..Balance::default()
            };
            state(1, &balance).upstreams()[0].cookie.clone()
        };
        let hashed = "2480ea79ac8c32522443d1fc2f11b7b9ffad85c962ec1b27b7263bf3e5a8038f";
        assert_eq!(value("secret"), hashed);
        let without = "9720804d2201a4008a740b8d2b628e7e477df5021ad5df75a6d94b71c937eb22";
        assert_eq!(value(""), without);
    }

    #[test]
    fn weights_are_shares_of_the_requests() {
        let state = state(3, &Balance::default());
        let policy = Policy::WeightedRoundRobin(vec![3, 0, 1]);
        let next = || choose(&state, &policy, (&Hint::None, &[]));
        let turns: Vec<_> = (0..8).filter_map(|_| next()).collect();
        assert_eq!(turns, [0, 0, 0, 2, 0, 0, 0, 2]);
        state.upstreams()[0].note_check(true, 1);
        assert_eq!((next(), next()), (Some(2), Some(2)));
        state.upstreams()[2].note_check(true, 1);
        assert_eq!(next(), None);
    }

    #[test]
    fn health_changes_after_results_in_a_row() {
        let balancer = balancer(&Balance::default());
        let check = |is_unhealthy, in_row| balancer.note_health(0, is_unhealthy, in_row);
        let changes = [(true, 2), (false, 1), (true, 2), (true, 2), (true, 2)]
            .map(|(is_unhealthy, in_row)| check(is_unhealthy, in_row));
        assert_eq!(changes, [false, false, false, true, false]);
        assert!(!balancer.state.is_healthy(0));
        let changes = [(false, 3), (false, 3), (true, 2), (false, 3)]
            .map(|(is_unhealthy, in_row)| check(is_unhealthy, in_row));
        assert_eq!(changes, [false; 4]);
        assert!([check(false, 3), check(false, 3)] == [false, true]);
        assert!(balancer.state.is_healthy(0));
    }

    #[test]
    fn unhealthy_upstreams_get_no_requests() {
        let state = state(
            2,
            &Balance {
                fail_duration: Duration::from_secs(3600),
                max_fails: 2,
                max_requests: Some(3),
                ..Balance::default()
            },
        );
        let upstreams = state.upstreams();
        let first = || choose(&state, &Policy::First, (&Hint::None, &[]));
        upstreams[0].fail(Some(u64::MAX));
        assert_eq!(first(), Some(0));
        upstreams[0].fail(Some(u64::MAX));
        assert_eq!(first(), Some(1));
        let busy: Vec<_> = (0..3)
            .map(|_| ActiveRequest::begin(&state, 1).unwrap())
            .collect();
        assert_eq!(first(), None);
        assert!(ActiveRequest::begin(&state, 1).is_none());
        drop(busy);
        upstreams[1].note_check(true, 1);
        assert_eq!(first(), None);
        upstreams[1].note_check(false, 1);
        // Expired failures are removed.
        upstreams[1].fail(Some(0));
        upstreams[1].fail(Some(0));
        assert_eq!(first(), Some(1));
    }

    #[test]
    fn front_threads_share_the_state_of_upstreams() {
        let balance = Balance {
            policy: Policy::LeastConnections,
            fail_duration: Duration::from_secs(3600),
            ..Balance::default()
        };
        let states = Arc::new(UpstreamStates::default());
        let thread = |states| {
            let cursor = StateCursor::new(states);
            let other = Balance::default();
            // A different directive comes first.
            cursor.next(&upstreams(1), &other, "reverse_proxy");
            Balancer::new(
                cursor.next(&upstreams(3), &balance, "reverse_proxy"),
                &balance,
            )
        };
        let threads = [thread(&states), thread(&states)];
        let begin = |thread: &Balancer| thread.attempts(&Hint::None).begin().unwrap();
        let active: Vec<_> = [0, 1, 0]
            .map(|number: usize| begin(&threads[number]))
            .into();
        let mut used: Vec<_> = active.iter().map(ActiveRequest::index).collect();
        used.sort_unstable();
        assert_eq!(used, [0, 1, 2]);
        drop(active);
        threads[0].fail(0);
        threads[0].note_health(1, true, 1);
        for _ in 0..4 {
            assert_eq!(begin(&threads[1]).index(), 2);
        }
        assert!(threads[0].claim_checks());
        assert!(!threads[1].claim_checks());
        // Failures outlast a reload; checks start again.
        let next = thread(&Arc::new(states.next()));
        assert!(!next.state.is_healthy(0));
        assert!(next.state.is_healthy(1));
        assert!(next.claim_checks());
    }

    fn balancer(balance: &Balance) -> Balancer {
        Balancer::new(state(3, balance), balance)
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
            unhealthy_status: vec![StatusRange::new(500, 599)],
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
        assert!(balancer.note_health(2, true, 1));
        assert!(!balancer.note_health(2, true, 1));
        assert_eq!(first(), None);
    }
}
