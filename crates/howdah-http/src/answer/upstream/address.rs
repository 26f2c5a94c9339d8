//! Addresses of upstreams with placeholders, which are known with a request.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use howdah_config::model::Upstream;
use tokio::time::Instant;

use super::RESOLVED;

/// Addresses of a `reverse_proxy` to which a front thread keeps connections open.
const KEPT_MAX: usize = 100;

/// The longest host name, and a port.
const LENGTH_MAX: usize = 253 + ":65535".len();

/// Reads `HOST:PORT`; `None` if it is not valid.
pub(crate) fn parse(text: &str) -> Option<Upstream> {
    if text.len() > LENGTH_MAX {
        return None;
    }
    let (host, port) = text.rsplit_once(':')?;
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_number && *port > 0)?;
    let host = match host.strip_prefix('[') {
        Some(host) => {
            let host = host.strip_suffix(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            host
        }
        None => host,
    };
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_ipv6 = text.starts_with('[');
    (!host.is_empty() && (is_ipv6 || host.bytes().all(is_valid))).then(|| Upstream::Tcp {
        host: host.to_ascii_lowercase(),
        port,
    })
}

/// The host of a URI from which the connector gets the number and the address of an upstream.
pub(crate) fn encode(index: usize, upstream: &Upstream) -> String {
    let mut host = format!("{RESOLVED}{index}-");
    for byte in upstream.to_string().bytes() {
        // Writing to memory cannot fail.
        let _ = write!(host, "{byte:02x}");
    }
    host
}

/// Number and address of [`encode`], after its first character.
pub(super) fn decode(host: &str) -> Option<(usize, Upstream)> {
    let (index, encoded) = host.split_once('-')?;
    let bytes = (0..encoded.len()).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(encoded.get(at..at + 2)?, 16).ok());
    let text = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    Some((index.parse().ok()?, parse(&text)?))
}

/// Bounds the number of addresses with idle connections, which clients may choose.
#[derive(Debug)]
pub(crate) struct KeptAddresses {
    /// How long a connection is kept.
    keepalive: Duration,
    used: RefCell<HashMap<String, Instant>>,
}

impl KeptAddresses {
    pub(crate) fn new(keepalive: Option<Duration>) -> Self {
        Self {
            keepalive: keepalive.unwrap_or_default(),
            used: RefCell::default(),
        }
    }

    /// Whether a connection to this host may be kept.
    pub(crate) fn admit(&self, host: &str, now: Instant) -> bool {
        let mut used = self.used.borrow_mut();
        if let Some(last) = used.get_mut(host) {
            *last = now;
            return true;
        }
        if used.len() >= KEPT_MAX {
            used.retain(|_, last| now.duration_since(*last) < self.keepalive);
        }
        let has_room = used.len() < KEPT_MAX;
        if has_room {
            used.insert(host.to_owned(), now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (text, expected) in [
            ("a.test:80", Some("a.test:80")),
            ("A_b-1:65535", Some("a_b-1:65535")),
            ("127.0.0.1:1", Some("127.0.0.1:1")),
            ("[::1]:80", Some("[::1]:80")),
            ("", None),
            (":80", None),
            ("a", None),
            ("a:", None),
            ("a:0", None),
            ("a:+80", None),
            ("a:65536", None),
            ("::1:80", None),
            ("[a]:80", None),
            ("a b:80", None),
            ("a/b:80", None),
            ("u@a:80", None),
            ("http://a:80", None),
            ("unix//run/a.sock", None),
            ("\u{e4}:80", None),
        ] {
            let upstream = parse(text);
            let shown = upstream.as_ref().map(ToString::to_string);
            assert_eq!(shown.as_deref(), expected, "{text}");
            if let Some(upstream) = upstream {
                let host = encode(7, &upstream);
                assert_eq!(decode(&host[1..]), Some((7, upstream)));
            }
        }
        assert_eq!(parse(&format!("{}:80", "a".repeat(300))), None);
    }

    #[test]
    fn few_addresses_keep_connections() {
        let kept = KeptAddresses::new(Some(Duration::from_secs(10)));
        let start = Instant::now();
        for number in 0..KEPT_MAX {
            assert!(kept.admit(&number.to_string(), start));
        }
        assert!(!kept.admit("more", start));
        let half = start + Duration::from_secs(5);
        assert!(kept.admit("1", half));
        assert!(!kept.admit("more", half));
        assert!(kept.admit("more", start + Duration::from_secs(10)));
        assert_eq!(kept.used.borrow().len(), 2);
    }
}
