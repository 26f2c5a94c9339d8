//! Proxies in front of this server, and the data about the client that they report.

use std::net::IpAddr;

use howdah_config::model::{self, Network};
use http::HeaderMap;
use http::header::HeaderName;

use crate::message::route_error::{RouteError, header_name};

/// Compiled [`model::TrustedProxies`].
#[derive(Debug, Default)]
pub(crate) struct TrustedProxies {
    ranges: Box<[Network]>,
    headers: Box<[HeaderName]>,
    strict: bool,
}

impl TrustedProxies {
    pub(crate) fn compile(proxies: &model::TrustedProxies) -> Result<Self, RouteError> {
        let headers = proxies.headers.iter().map(|text| header_name(text));
        Ok(Self {
            ranges: proxies.ranges.clone().into(),
            headers: headers.collect::<Result<_, _>>()?,
            strict: proxies.strict,
        })
    }

    pub(crate) fn trust(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
    }

    /// The client's address: that of the connection, or the one that a trusted proxy forwards.
    pub(crate) fn client_ip(&self, remote: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trust(remote) {
            return remote;
        }
        for name in &self.headers {
            let addresses: Vec<IpAddr> = headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(','))
                .filter_map(address)
                .collect();
            let found = if self.strict {
                // Only addresses that trusted proxies have added are reliable.
                let last = addresses.iter().rev().find(|ip| !self.trust(**ip));
                last.or(addresses.first())
            } else {
                addresses.first()
            };
            if let Some(found) = found {
                return *found;
            }
        }
        remote
    }
}

/// `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Ok(address) = text.parse::<std::net::SocketAddr>() {
        return Some(address.ip().to_canonical());
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let address: std::net::Ipv6Addr = inner.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_client_address_comes_from_trusted_proxies() {
        let client = |strict, remote: &str, field: &'static str| {
            let proxies = model::TrustedProxies {
                ranges: vec!["10.0.0.0/8".parse().unwrap()],
                headers: vec!["X-Real-IP".into(), "X-Forwarded-For".into()],
                strict,
            };
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", HeaderValue::from_static(field));
            TrustedProxies::compile(&proxies)
                .unwrap()
                .client_ip(remote.parse().unwrap(), &headers)
                .to_string()
        };
        for (strict, remote, field, expected) in [
            (false, "1.1.1.1", "2.2.2.2", "1.1.1.1"),
            (false, "10.0.0.1", "2.2.2.2, 10.0.0.2", "2.2.2.2"),
            (false, "10.0.0.1", "unknown, 2.2.2.2:80", "2.2.2.2"),
            (false, "10.0.0.1", "", "10.0.0.1"),
            (false, "10.0.0.1", "[::1]:80", "::1"),
            (false, "10.0.0.1", "[::ffff:2.2.2.2]", "2.2.2.2"),
            (true, "10.0.0.1", "6.6.6.6, 2.2.2.2, 10.0.0.2", "2.2.2.2"),
            (true, "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
            (true, "1.1.1.1", "2.2.2.2", "1.1.1.1"),
        ] {
            assert_eq!(client(strict, remote, field), expected, "{remote} {field}");
        }
    }
}
