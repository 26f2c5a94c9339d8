//! Protects the admin API against web pages.
//!
//! A page in a browser on this machine can send requests to loopback addresses. It can be recognised in two ways: a
//! request to another site has `Origin` or `Sec-Fetch-Site`, and a page whose own name was made to resolve to a
//! loopback address (DNS rebinding) sends that name in `Host`. The dashboard is a page of the admin API itself: its
//! `Origin` is the address of the request.

use std::net::IpAddr;

use http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{Method, Version};

use super::AdminAddress;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Which requests are allowed.
#[derive(Debug, Clone)]
pub(super) enum Guard {
    /// A browser cannot reach a Unix socket.
    Any,
    /// Like `Any`, but the peer runs as the server's user, as PHP may.
    OwnUser,
    /// `Host` must be this name, `localhost`, or an address: a rebound name is never an address.
    Name(String),
}

impl Guard {
    pub(super) fn new(address: &AdminAddress) -> Self {
        match address {
            AdminAddress::Unix(_) => Self::Any,
            AdminAddress::Tcp { host, .. } => Self::Name(host.clone()),
        }
    }

    /// The guard of a connection to a Unix socket, by its peer.
    pub(super) fn of_peer(&self, uid: Option<u32>) -> Self {
        let own = rustix::process::geteuid();
        if !own.is_root() && uid == Some(own.as_raw()) {
            Self::OwnUser
        } else {
            self.clone()
        }
    }

    /// Whether the peer cannot be PHP: the system only lets the server's user and root connect. `is_php_restricted`:
    /// PHP of a pool has a different user than the server, which then has more rights.
    pub(super) fn keeps_php_out(&self, is_php_restricted: bool) -> bool {
        match self {
            Self::Any => true,
            Self::OwnUser => !is_php_restricted,
            Self::Name(_) => false,
        }
    }

    /// Whether a page of this address sends the request. As for any request, it is checked that the address is this
    /// server's.
    fn is_dashboard(&self, request: &Parts, origin: &HeaderValue) -> bool {
        let Some(authority) = origin.as_bytes().strip_prefix(b"http://") else {
            return false;
        };
        let site = request.headers.get(FETCH_SITE);
        matches!(self, Self::Name(_))
            && site.is_none_or(|site| site == "same-origin")
            && (request.headers.get(HOST))
                .is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(authority))
    }

    /// Returns what is wrong with the request.
    pub(super) fn check(&self, request: &Parts) -> Result<(), String> {
        if let Some(origin) = request.headers.get(ORIGIN)
            && !self.is_dashboard(request, origin)
        {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            return Err(format!(
                "requests of web pages are refused (Origin: {origin})"
            ));
        }
        // Browsers set it, pages cannot; `none` means that the user entered the address.
        let site = request.headers.get(FETCH_SITE);
        if site.is_some_and(|site| site != "none" && site != "same-origin") {
            return Err("requests of web pages are refused (Sec-Fetch-Site)".into());
        }
        let Self::Name(name) = self else {
            return Ok(());
        };
        let mut hosts = request.headers.get_all(HOST).iter();
        let host = match (request.uri.host(), hosts.next(), hosts.next()) {
            (Some(host), _, None) => host.to_owned(),
            // Health checks of load balancers; every browser sends a Host.
            (None, None, None) if is_http10_read(request) => return Ok(()),
            (None, Some(host), None) => without_port(&String::from_utf8_lossy(host.as_bytes())),
            _ => return Err("exactly one Host header is required".into()),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let known = bare.eq_ignore_ascii_case("localhost")
            || (!name.is_empty() && bare.eq_ignore_ascii_case(name))
            || bare.parse::<IpAddr>().is_ok();
        if known {
            Ok(())
        } else {
            Err(format!("host not allowed: {host}; use localhost"))
        }
    }
}

/// Whether it is HTTP/1.0, which has no Host, and without side effects.
fn is_http10_read(request: &Parts) -> bool {
    request.version == Version::HTTP_10 && matches!(request.method, Method::GET | Method::HEAD)
}

fn without_port(host: &str) -> String {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name.to_owned(),
        _ => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, uri: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("valid").into_parts();
        Guard::new(&address.parse().expect("valid"))
            .check(&parts)
            .is_ok()
    }

    #[test]
    fn health_checks_without_a_host() {
        let guard = Guard::new(&"localhost:2019".parse().expect("valid"));
        for (method, version, known) in [
            ("GET", Version::HTTP_10, true),
            ("HEAD", Version::HTTP_10, true),
            ("POST", Version::HTTP_10, false),
            ("GET", Version::HTTP_11, false),
        ] {
            let request = http::Request::builder().method(method).version(version);
            let request = request.uri("/readyz").body(());
            let (parts, ()) = request.expect("valid").into_parts();
            assert_eq!(guard.check(&parts).is_ok(), known, "{method} {version:?}");
        }
    }

    #[test]
    fn hosts() {
        let table = [
            ("localhost:2019", "localhost:2019", true),
            ("localhost:2019", "LOCALHOST", true),
            ("localhost:2019", "127.0.0.1:2019", true),
            ("localhost:2019", "[::1]:2019", true),
            ("localhost:2019", "evil.example:2019", false),
            ("localhost:2019", "localhost.evil.example", false),
            ("localhost:2019", "127.0.0.1.evil.example", false),
            ("localhost:2019", "localhost:x", false),
            ("localhost:2019", "", false),
            (":2019", "10.1.2.3:2019", true),
            (":2019", "evil.example:2019", false),
            ("box.local:2019", "box.local:2019", true),
            ("box.local:2019", "other.local:2019", false),
            ("unix//run/a.sock", "anything", true),
        ];
        for (address, host, expected) in table {
            assert_eq!(
                check(address, "/", &[("host", host)]),
                expected,
                "{address} {host}"
            );
        }
    }

    #[test]
    fn the_target_counts_before_the_header() {
        let evil = "http://evil.example/stop";
        assert!(!check("localhost:2019", evil, &[("host", "localhost")]));
        assert!(check("localhost:2019", "http://localhost/stop", &[]));
        assert!(!check("localhost:2019", "/stop", &[]));
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert!(!check("localhost:2019", "/stop", &two));
    }

    #[test]
    fn web_pages() {
        let host = ("host", "localhost:2019");
        for (name, value, expected) in [
            ("origin", "http://localhost:2019", true),
            ("origin", "http://localhost:2020", false),
            ("origin", "http://localhost", false),
            ("origin", "https://localhost:2019", false),
            ("origin", "http://127.0.0.1:2019", false),
            ("origin", "http://evil.example", false),
            ("origin", "null", false),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "same-origin", true),
        ] {
            let headers = [host, (name, value)];
            assert_eq!(
                check("localhost:2019", "/", &headers),
                expected,
                "{name}: {value}"
            );
        }
        assert!(!check("unix//run/a.sock", "/", &[("origin", "null")]));
        let own = [("host", "a"), ("origin", "http://a")];
        assert!(!check("unix//run/a.sock", "/", &own));
        assert!(!check("localhost:2019", "/", &own), "a rebound name");
        let site = ("sec-fetch-site", "same-site");
        let foreign = [host, ("origin", "http://localhost:2019"), site];
        assert!(!check("localhost:2019", "/", &foreign));
    }
}
