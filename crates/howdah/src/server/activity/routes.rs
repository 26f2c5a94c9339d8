//! Requests by route.

use howdah_http::FinishedRequest;
use howdah_pool::Target;
use http::uri::PathAndQuery;
use serde_json::Value;

use super::groups::{Groups, OTHER};

/// The routes of the requests of the last five minutes.
#[derive(Debug, Default)]
pub(crate) struct Routes(Groups<RouteName>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct RouteName {
    route: String,
    /// `None`: handled without PHP.
    pool: Option<usize>,
}

impl Routes {
    /// Adds a request that ended in this second.
    pub(crate) fn add(&mut self, request: &FinishedRequest, second: u64) {
        let name = RouteName {
            route: route(request),
            pool: request.pool,
        };
        let other = RouteName {
            route: OTHER.to_owned(),
            pool: None,
        };
        self.0.add(name, other, request, second);
    }

    /// Removes those older than five minutes.
    pub(crate) fn forget(&mut self, second: u64) {
        self.0.forget(second);
    }

    /// Routes that took the most time first. `seconds`: length of the period.
    pub(crate) fn to_json(&self, names: &[String], now: u64, seconds: u64) -> Value {
        self.0.to_json(now, seconds, |name, value| {
            value["route"] = name.route.as_str().into();
            value["pool"] = name.pool.and_then(|pool| names.get(pool)).cloned().into();
        })
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
    use serde_json::json;

    use super::super::groups::{GROUPS_MAX, PART, PARTS};
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
        for number in 0..GROUPS_MAX + 50 {
            let name: String = (number.to_string().bytes())
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect();
            routes.add(&request(&format!("/{name}"), 200, 1), 0);
        }
        let shown = routes.to_json(&[], 0, 1);
        assert_eq!(shown.as_array().map(Vec::len), Some(GROUPS_MAX + 1));
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
