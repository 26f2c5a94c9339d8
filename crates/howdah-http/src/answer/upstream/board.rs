//! State of the upstreams of this process, for observers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::{self, SharedUpstream};

/// An upstream at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// The address as configured.
    pub address: String,
    /// The directive.
    pub handler: &'static str,
    /// All directives send requests to it.
    pub is_healthy: bool,
    /// Requests in flight.
    pub in_flight: usize,
    /// Requests that failed since the upstream was first used.
    pub failures: u64,
}

/// The upstreams of the current configuration, and of previous ones whose requests have not ended.
pub fn upstreams() -> Vec<UpstreamStatus> {
    let all = state::all();
    let mut found: BTreeMap<(&str, &'static str), UpstreamStatus> = BTreeMap::new();
    // Directives share the counters of an upstream.
    let mut counted: Vec<&Arc<SharedUpstream>> = Vec::new();
    for state in &all {
        for (index, upstream) in state.upstreams().iter().enumerate() {
            let shared = &upstream.shared;
            let key = (&*shared.address, shared.handler);
            let status = found.entry(key).or_insert_with(|| UpstreamStatus {
                address: shared.address.to_string(),
                handler: shared.handler,
                is_healthy: true,
                in_flight: 0,
                failures: 0,
            });
            status.is_healthy &= state.is_healthy(index);
            if !counted.iter().any(|other| Arc::ptr_eq(other, shared)) {
                counted.push(shared);
                status.in_flight += shared.in_flight();
                status.failures += shared.failures();
            }
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use howdah_config::model::{Balance, Upstream};

    use super::*;
    use crate::answer::upstream::state::{ActiveRequest, StateCursor, UpstreamStates};

    /// Other tests have upstreams too.
    fn statuses(host: &str) -> Vec<UpstreamStatus> {
        let address = format!("{host}:1");
        let all = upstreams().into_iter();
        all.filter(|own| *own.address == *address).collect()
    }

    #[test]
    fn directives_share_counters_and_unused_ones_are_not_listed() {
        let host = "board.test";
        let upstream = [Upstream::Tcp {
            host: host.into(),
            port: 1,
        }];
        let remembers = Balance {
            fail_duration: Duration::from_secs(3600),
            ..Balance::default()
        };
        let cursor = StateCursor::new(&Arc::new(UpstreamStates::default()));
        let states = [Balance::default(), remembers]
            .map(|balance| cursor.next(&upstream, &balance, "reverse_proxy"));
        let active = states
            .each_ref()
            .map(|state| ActiveRequest::begin(state, 0).unwrap());
        states[0].upstreams()[0].fail(None);
        states[1].upstreams()[0].fail(None);
        let own = statuses(host);
        assert_eq!(own.len(), 1);
        assert!(own[0].is_healthy);
        assert_eq!((own[0].in_flight, own[0].failures), (2, 2));
        states[1].upstreams()[0].note_check(true, 1);
        assert!(!statuses(host)[0].is_healthy);
        states[1].upstreams()[0].note_check(false, 1);
        assert!(statuses(host)[0].is_healthy);
        // The first directive remembers no failures.
        states[1].upstreams()[0].fail(Some(u64::MAX));
        assert!(states[0].is_healthy(0));
        assert!(!statuses(host)[0].is_healthy);
        drop((states, active, cursor));
        assert_eq!(statuses(host), []);
    }
}
