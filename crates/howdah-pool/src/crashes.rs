//! Crashes of a pool's processes by the route of the request that ran, and routes in quarantine.
//!
//! A route is a method and a normalised path without its query, with identifiers replaced. The number of routes is
//! limited: crashes of further routes are counted together.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use http::uri::PathAndQuery;

use howdah_config::model::PoolLimits;

use crate::status::RouteCrashes;

/// Maximum number of separate routes.
const ROUTES_MAX: usize = 100;
/// Crashes of all further routes.
const OTHER: &str = "(other)";
/// Method and path of a request, as the client has sent them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Target {
    pub method: Method,
    /// Its path; the query is not used.
    pub path: PathAndQuery,
}

impl Target {
    /// The route in logs and metrics: `GET /users/:id`.
    pub fn route(&self) -> String {
        howdah_cgi::route(self.method.as_str(), self.path.path())
    }
}

/// The crashes of one pool. Front threads share them; a request does not access them while no route is in quarantine.
#[derive(Debug, Default)]
pub(crate) struct Crashes {
    /// Routes in quarantine.
    quarantined: AtomicUsize,
    routes: Mutex<BTreeMap<String, Route>>,
}

#[derive(Debug, Default)]
struct Route {
    count: u64,
    /// Times of the last crashes, as many as a quarantine needs.
    recent: VecDeque<Instant>,
    /// End of its quarantine.
    until: Option<Instant>,
}

/// A counted crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crash {
    pub(crate) route: String,
    /// Crashes of the route since the server started.
    pub(crate) count: u64,
    /// Set if this crash starts the quarantine of the route: its end.
    pub(crate) quarantine: Option<Instant>,
}

impl Crashes {
    /// Counts a crash while a request of this target ran.
    pub(crate) fn count(&self, target: &Target, limits: &PoolLimits, now: Instant) -> Crash {
        let mut routes = self.routes();
        let mut route = target.route();
        if routes.len() >= ROUTES_MAX && !routes.contains_key(&route) {
            OTHER.clone_into(&mut route);
        }
        let own = routes.entry(route.clone()).or_default();
        own.count += 1;
        let mut quarantine = None;
        if let Some(limit) = limits.max_route_crashes.filter(|_| route != OTHER) {
            let begun = now.checked_sub(limits.route_crash_window);
            own.recent
                .retain(|crash| begun.is_none_or(|begun| *crash >= begun));
            own.recent.push_back(now);
            if own.until.is_none() && own.recent.len() >= limit as usize {
                own.recent.clear();
                own.until = Some(now + limits.quarantine_time);
                quarantine = own.until;
                self.quarantined.fetch_add(1, Ordering::Relaxed);
            }
        }
        let count = own.count;
        Crash {
            route,
            count,
            quarantine,
        }
    }

    /// Whether any route is in quarantine: without it, requests need not look for theirs.
    pub(crate) fn has_quarantine(&self) -> bool {
        self.quarantined.load(Ordering::Relaxed) > 0
    }

    /// How long requests of this target are refused; `None`: not in quarantine.
    pub(crate) fn quarantine(&self, target: &Target, now: Instant) -> Option<Duration> {
        let until = self.routes().get(&target.route())?.until?;
        Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    /// Ends a quarantine whose time is over.
    pub(crate) fn end_quarantine(&self, route: &str) {
        let mut routes = self.routes();
        if let Some(own) = routes.get_mut(route)
            && own.until.take().is_some()
        {
            // Crashes of requests that were already in PHP when the quarantine began.
            own.recent.clear();
            self.quarantined.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// All routes with a crash, sorted by name.
    pub(crate) fn report(&self, now: Instant) -> Vec<RouteCrashes> {
        let routes = self.routes();
        let reports = routes.iter().map(|(route, own)| RouteCrashes {
            route: route.clone(),
            count: own.count,
            quarantine_ms: own.until.map(|until| {
                let left = until.saturating_duration_since(now).as_millis();
                u64::try_from(left).unwrap_or(u64::MAX)
            }),
        });
        reports.collect()
    }

    /// Starts with the counts of the previous pool of this name. Its quarantines have ended: the processes are new.
    pub(crate) fn count_on(&self, before: &[RouteCrashes]) {
        let mut routes = self.routes();
        for report in before {
            routes.entry(report.route.clone()).or_default().count = report.count;
        }
    }

    fn routes(&self) -> MutexGuard<'_, BTreeMap<String, Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn target(method: &str, path: &str) -> Target {
        Target {
            method: method.parse().expect("a method"),
            path: path.parse().expect("a path"),
        }
    }

    fn limits(crashes: Option<u32>) -> PoolLimits {
        PoolLimits {
            max_route_crashes: crashes,
            route_crash_window: 10 * SECOND,
            quarantine_time: 60 * SECOND,
            ..PoolLimits::default()
        }
    }

    #[test]
    fn a_route_has_no_query_and_no_identifiers() {
        for (method, path, route) in [
            ("GET", "/", "GET /"),
            ("GET", "/a/b.php?secret=1", "GET /a/b.php"),
            ("POST", "/users/17/posts/0", "POST /users/:id/posts/:id"),
            ("GET", "/v2/users17", "GET /v2/users17"),
            (
                "GET",
                "/o/7b0f3c1e-90d2-4c57-8d3a-5f0c2f9f1a11",
                "GET /o/:id",
            ),
            ("GET", "/o/deadbeef", "GET /o/deadbeef"),
            ("GET", "/o/deadbeefdeadbeef/", "GET /o/:id/"),
            ("INVENTED", "*", "OTHER *"),
        ] {
            assert_eq!(target(method, path).route(), route);
        }
    }

    #[test]
    fn crashes_are_counted_by_a_bounded_number_of_routes() {
        let (crashes, now) = (Crashes::default(), Instant::now());
        for index in 0..2 * ROUTES_MAX {
            crashes.count(&target("GET", &format!("/r{index}")), &limits(Some(1)), now);
        }
        crashes.count(&target("GET", "/r0"), &limits(None), now);
        let report = crashes.report(now);
        assert_eq!(report.len(), ROUTES_MAX + 1);
        let count = |route: &str| {
            report
                .iter()
                .find(|own| own.route == route)
                .map(|own| own.count)
        };
        assert_eq!(count("GET /r0"), Some(2));
        assert_eq!(count(OTHER), Some(ROUTES_MAX as u64));
        let other = report.iter().find(|own| own.route == OTHER);
        assert!(other.is_some_and(|own| own.quarantine_ms.is_none()));
        let all: u64 = report.iter().map(|own| own.count).sum();
        assert_eq!(all, 2 * ROUTES_MAX as u64 + 1);
    }

    #[test]
    fn crashes_within_the_window_begin_a_quarantine() {
        let (crashes, start) = (Crashes::default(), Instant::now());
        let (bad, limits) = (target("GET", "/bad/1"), limits(Some(3)));
        for (after, begins) in [(0, false), (9, false), (12, false), (13, true), (14, false)] {
            let crash = crashes.count(&bad, &limits, start + after * SECOND);
            assert_eq!(crash.quarantine.is_some(), begins, "{after}");
        }
        let refused = |path: &str, after: u32| {
            crashes.quarantine(&target("GET", path), start + after * SECOND)
        };
        assert_eq!(refused("/bad/2", 14), Some(59 * SECOND));
        assert_eq!(refused("/good", 14), None);
        assert_eq!(refused("/bad/1", 73), None, "its time is over");
        crashes.end_quarantine("GET /bad/:id");
        assert_eq!(refused("/bad/1", 14), None);
        let report = crashes.report(start);
        assert_eq!((report[0].count, report[0].quarantine_ms), (5, None));
    }

    #[test]
    fn without_a_limit_no_route_is_in_quarantine() {
        let (crashes, now) = (Crashes::default(), Instant::now());
        for _ in 0..1000 {
            let crash = crashes.count(&target("GET", "/"), &limits(None), now);
            assert_eq!(crash.quarantine, None);
        }
        assert_eq!(crashes.quarantine(&target("GET", "/"), now), None);
    }

    #[test]
    fn counts_go_on_after_a_reload_and_quarantines_do_not() {
        let (before, now) = (Crashes::default(), Instant::now());
        before.count(&target("GET", "/"), &limits(Some(1)), now);
        let crashes = Crashes::default();
        crashes.count_on(&before.report(now));
        assert_eq!(crashes.quarantine(&target("GET", "/"), now), None);
        let crash = crashes.count(&target("GET", "/"), &limits(None), now);
        assert_eq!(crash.count, 2);
    }
}
