//! Which upstream a request goes to, and what is known of each.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use howdah_config::model::{Policy, Upstream};

use crate::clock;

/// What the choice of an upstream depends on, besides the upstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    Hash(u64),
    /// The value of the cookie that the client was given.
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

/// What a front thread knows of an upstream.
#[derive(Debug)]
pub(super) struct State {
    /// As it is written.
    pub(super) name: String,
    /// Names it in the cookie of a client.
    pub(super) cookie: String,
    /// Requests under way.
    active: Cell<usize>,
    /// The last active check failed.
    pub(super) is_ill: Cell<bool>,
    /// When failures are forgotten, on the coarse clock.
    failures: RefCell<VecDeque<u64>>,
}

impl State {
    pub(super) fn new(upstream: &Upstream) -> Self {
        let name = upstream.to_string();
        Self {
            cookie: format!("{:016x}", hash(name.as_str())),
            name,
            active: Cell::new(0),
            is_ill: Cell::new(false),
            failures: RefCell::default(),
        }
    }

    /// Remembers a failure until `until`; never more of them than matter.
    pub(super) fn fail(&self, until: u64, matter: u32) {
        let mut failures = self.failures.borrow_mut();
        failures.push_back(until);
        while failures.len() > matter as usize {
            failures.pop_front();
        }
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

/// When an upstream is left alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_fails: u32,
    pub(super) max_requests: Option<usize>,
}

/// Counts a request for as long as it is under way.
#[derive(Debug)]
pub(super) struct Active {
    states: Rc<[State]>,
    index: usize,
}

impl Active {
    pub(super) fn begin(states: &Rc<[State]>, index: usize) -> Self {
        let active = &states[index].active;
        active.set(active.get() + 1);
        Self {
            states: Rc::clone(states),
            index,
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let active = &self.states[self.index].active;
        active.set(active.get() - 1);
    }
}

/// Chooses among the upstreams that are well. `turn` counts the requests.
pub(super) fn choose(
    states: &[State],
    policy: &Policy,
    limits: Limits,
    hint: &Hint,
    turn: &Cell<u64>,
) -> Option<usize> {
    let available: Vec<usize> = (0..states.len())
        .filter(|index| states[*index].is_available(limits))
        .collect();
    if available.len() < 2 {
        return available.first().copied();
    }
    turn.set(turn.get().wrapping_add(1));
    let pick = |number: u64| {
        let index = number % available.len() as u64;
        available.get(usize::try_from(index).unwrap_or(0)).copied()
    };
    // Rendezvous hashing: who loses its upstream gets another one, all others keep theirs.
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
                State::new(&Upstream::Tcp {
                    host: "a".into(),
                    port,
                })
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
        let next =
            |policy: &Policy, hint: &Hint| choose(&states, policy, LIMITS, hint, &turn).unwrap();
        let turns: Vec<_> = (0..6)
            .map(|_| next(&Policy::RoundRobin, &Hint::None))
            .collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        assert_eq!(next(&Policy::First, &Hint::None), 0);
        let busy = [Active::begin(&states, 0), Active::begin(&states, 2)];
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
    fn who_is_not_well_is_left_alone() {
        let states = states(2);
        let turn = Cell::new(0);
        let first = || choose(&states, &Policy::First, LIMITS, &Hint::None, &turn);
        states[0].fail(u64::MAX, 2);
        assert_eq!(first(), Some(0));
        states[0].fail(u64::MAX, 2);
        assert_eq!(first(), Some(1));
        let busy: Vec<_> = (0..3).map(|_| Active::begin(&states, 1)).collect();
        assert_eq!(first(), None);
        drop(busy);
        states[1].is_ill.set(true);
        assert_eq!(first(), None);
        states[1].is_ill.set(false);
        // Failures that are over are forgotten.
        states[1].fail(0, 2);
        states[1].fail(0, 2);
        assert_eq!(first(), Some(1));
    }
}
