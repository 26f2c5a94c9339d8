//! Requests by route over the last minutes: their number, times and failures.

use std::collections::{HashMap, VecDeque};

use howdah_http::FinishedRequest;
use howdah_pool::Target;
use http::uri::PathAndQuery;
use serde_json::{Value, json};

use super::histogram::Histogram;

/// Routes that are counted separately; further ones are counted together.
const ROUTES_MAX: usize = 200;
/// The name for those.
const OTHER: &str = "(other)";
/// Seconds of one part of the period.
const PART: u64 = 60;
/// Parts of the period.
const PARTS: usize = 5;

/// The routes of the requests of the last five minutes.
#[derive(Debug, Default)]
pub(crate) struct Routes(HashMap<RouteName, Route>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RouteName {
    route: String,
    /// `None`: handled without PHP.
    pool: Option<usize>,
}

/// The newest part is the last.
#[derive(Debug, Default)]
struct Route(VecDeque<Part>);

#[derive(Debug, Default, Clone)]
struct Part {
    /// Its number since 1970.
    number: u64,
    times: Histogram,
    php_us: u64,
    queue_us: u64,
    client_errors: u64,
    server_errors: u64,
    sent: u64,
    memory: MemoryPeaks,
}

/// Largest use of PHP's allocator by requests, in bytes.
#[derive(Debug, Default, Clone, Copy)]
struct MemoryPeaks {
    count: u64,
    sum: u64,
    largest: u64,
}

impl Routes {
    /// Adds a request that ended in this second.
    pub(crate) fn add(&mut self, request: &FinishedRequest, second: u64) {
        let mut name = RouteName {
            route: route(request),
            pool: request.pool,
        };
        if self.0.len() >= ROUTES_MAX && !self.0.contains_key(&name) {
            OTHER.clone_into(&mut name.route);
            name.pool = None;
        }
        let part = self.0.entry(name).or_default().part(second / PART);
        part.times.add(request.duration);
        part.php_us += request.php.as_micros() as u64;
        part.queue_us += request.queue.as_micros() as u64;
        part.sent += request.sent;
        match request.status {
            500.. => part.server_errors += 1,
            // 0: the client disconnected, which logs show as 499.
            400.. | 0 => part.client_errors += 1,
            _ => {}
        }
        if let Some(bytes) = request.memory_peak {
            part.memory.add(bytes);
        }
    }

    /// Removes parts older than five minutes.
    pub(crate) fn forget(&mut self, second: u64) {
        let oldest = (second / PART).saturating_sub(PARTS as u64 - 1);
        self.0.retain(|_, route| {
            while route.0.front().is_some_and(|part| part.number < oldest) {
                route.0.pop_front();
            }
            !route.0.is_empty()
        });
    }

    /// Routes that took the most time first. `seconds`: length of the period.
    pub(crate) fn to_json(&self, names: &[String], now: u64, seconds: u64) -> Value {
        let covered = seconds.clamp(1, (PARTS as u64 - 1) * PART + now % PART + 1);
        let mut shown: Vec<(u64, Value)> = (self.0.iter())
            .map(|(name, route)| {
                let all = route.sum();
                let pool = name.pool.and_then(|pool| names.get(pool));
                (all.times.sum_us(), all.to_json(&name.route, pool, covered))
            })
            .collect();
        shown.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        shown.into_iter().map(|(_, route)| route).collect()
    }
}

impl Route {
    fn part(&mut self, number: u64) -> &mut Part {
        // A clock that was set back does not create a second one.
        if self.0.back().is_none_or(|part| part.number < number) {
            if self.0.len() == PARTS {
                self.0.pop_front();
            }
            self.0.push_back(Part {
                number,
                ..Part::default()
            });
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    fn sum(&self) -> Part {
        let mut all = Part::default();
        for part in &self.0 {
            all.times.merge(&part.times);
            all.php_us += part.php_us;
            all.queue_us += part.queue_us;
            all.client_errors += part.client_errors;
            all.server_errors += part.server_errors;
            all.sent += part.sent;
            all.memory.count += part.memory.count;
            all.memory.sum += part.memory.sum;
            all.memory.largest = all.memory.largest.max(part.memory.largest);
        }
        all
    }
}

impl Part {
    #[expect(clippy::cast_precision_loss, reason = "a rate that people read")]
    fn to_json(&self, route: &str, pool: Option<&String>, covered: u64) -> Value {
        let count = self.times.count();
        let mean = |sum: u64| sum.checked_div(count).unwrap_or(0);
        let memory = (self.memory.count > 0).then(|| {
            json!({
                "mean": self.memory.sum / self.memory.count,
                "largest": self.memory.largest,
            })
        });
        json!({
            "route": route,
            "pool": pool,
            "requests": count,
            "per_second": count as f64 / covered as f64,
            "client_errors": self.client_errors,
            "server_errors": self.server_errors,
            "mean_us": self.times.mean_us(),
            "p50_us": self.times.quantile_us(500),
            "p95_us": self.times.quantile_us(950),
            "p99_us": self.times.quantile_us(990),
            "largest_us": self.times.largest_us(),
            "total_us": self.times.sum_us(),
            "php_mean_us": mean(self.php_us),
            "queue_mean_us": mean(self.queue_us),
            "sent_mean": mean(self.sent),
            "memory": memory,
        })
    }
}

impl MemoryPeaks {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
    }
}

/// Method and path without identifiers, by which crashes are counted too.
fn route(request: &FinishedRequest) -> String {
    let path = request.uri.path_and_query().cloned();
    let target = Target {
        method: request.method.clone(),
        path: path.unwrap_or_else(|| PathAndQuery::from_static("/")),
    };
    target.route()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Method;

    use super::*;

    fn request(uri: &str, status: u16, ms: u64) -> FinishedRequest {
        FinishedRequest {
            id: 1,
            method: Method::GET,
            uri: uri.parse().expect("valid"),
            host: None,
            remote: ([127, 0, 0, 1], 9).into(),
            pool: Some(0),
            status,
            duration: Duration::from_millis(ms),
            queue: Duration::from_millis(1),
            php: Duration::from_millis(ms - 1),
            sent: 10,
            memory_peak: Some(ms << 20),
        }
    }

    #[test]
    fn requests_are_counted_by_route_and_the_slowest_come_first() {
        let mut routes = Routes::default();
        for id in 0..10 {
            routes.add(&request(&format!("/users/{id}?x"), 200, 2), 1000);
        }
        for status in [200, 404, 500, 0] {
            routes.add(&request("/report", status, 100), 1000);
        }
        let shown = routes.to_json(&["app".into()], 1000, 10);
        assert_eq!(shown.as_array().map(Vec::len), Some(2));
        assert_eq!(shown[0]["route"], "GET /report");
        assert_eq!(
            (&shown[0]["client_errors"], &shown[0]["server_errors"]),
            (&json!(2), &json!(1))
        );
        assert_eq!(shown[0]["memory"]["largest"], 100 << 20);
        assert_eq!(shown[1]["route"], "GET /users/:id");
        assert_eq!(shown[1]["pool"], "app");
        assert_eq!(
            (&shown[1]["requests"], &shown[1]["per_second"]),
            (&json!(10), &json!(1.0))
        );
        assert_eq!(shown[1]["php_mean_us"], 1000);
    }

    #[test]
    fn the_number_of_routes_is_bounded() {
        let mut routes = Routes::default();
        for number in 0..ROUTES_MAX + 50 {
            let name: String = (number.to_string().bytes())
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect();
            routes.add(&request(&format!("/{name}"), 200, 1), 0);
        }
        assert_eq!(routes.0.len(), ROUTES_MAX + 1);
        let shown = routes.to_json(&[], 0, 1);
        let other = shown.as_array().expect("routes").iter();
        let other: Vec<_> = other.filter(|route| route["route"] == OTHER).collect();
        assert_eq!(other.len(), 1);
        assert_eq!(other[0]["requests"], 50);
    }

    #[test]
    fn old_requests_are_forgotten() {
        let mut routes = Routes::default();
        let start = 6000;
        for minute in 0..7 {
            routes.add(&request("/a", 200, 1), start + minute * PART);
        }
        let shown = routes.to_json(&[], start + 6 * PART, 600);
        assert_eq!(shown[0]["requests"], PARTS);
        routes.forget(start + 10 * PART);
        assert_eq!(routes.to_json(&[], 0, 1)[0]["requests"], 1);
        routes.forget(start + 11 * PART);
        assert_eq!(routes.to_json(&[], 0, 1), json!([]));
    }
}
