//! Requests by the host that they name.

use howdah_http::FinishedRequest;
use serde_json::Value;

use super::groups::{Groups, OTHER};

/// A request without a host.
const NONE: &str = "(none)";

/// The hosts of the requests of the last five minutes.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Groups<String>);

impl Hosts {
    /// Adds a request that ended in this second.
    pub(crate) fn add(&mut self, request: &FinishedRequest, second: u64) {
        let host = request.host.as_ref().and_then(|host| host.to_str().ok());
        let name = host.map_or_else(|| NONE.to_owned(), name);
        self.0.add(name, OTHER.to_owned(), request, second);
    }

    /// Removes those older than five minutes.
    pub(crate) fn forget(&mut self, second: u64) {
        self.0.forget(second);
    }

    /// Hosts that took the most time first. `seconds`: length of the period.
    pub(crate) fn to_json(&self, now: u64, seconds: u64) -> Value {
        self.0.to_json(now, seconds, |name, value| {
            value["host"] = name.as_str().into();
        })
    }
}

/// The host as sites have it: without a port, in lower case.
fn name(host: &str) -> String {
    let bare = match host.rsplit_once(':') {
        // Not inside an IPv6 address.
        Some((bare, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !bare.ends_with(':') =>
        {
            bare
        }
        _ => host,
    };
    bare.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_name() {
        for (host, expected) in [
            ("Shop.Example.com:8080", "shop.example.com"),
            ("shop.example.com", "shop.example.com"),
            ("[::1]:8080", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:80", "127.0.0.1"),
        ] {
            assert_eq!(name(host), expected);
        }
    }
}
