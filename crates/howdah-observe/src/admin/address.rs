//! Addresses of the admin API: TCP or a Unix socket, in Caddy's syntax.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// Caddy's default port.
const DEFAULT_PORT: u16 = 2019;

/// An address of the admin API. The default is `localhost:2019`, as in Caddy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddress {
    /// `HOST[:PORT]`; an empty host means all addresses of the machine, and the default port is 2019. An IPv6 address
    /// has no brackets.
    Tcp {
        /// Name or address, may be empty.
        host: String,
        /// Port; 0 lets the system choose.
        port: u16,
    },
    /// `unix//PATH`.
    Unix(PathBuf),
}

/// An invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: expected HOST:PORT such as localhost:2019, or unix//PATH with an absolute path")]
pub struct AddressError(String);

impl Default for AdminAddress {
    fn default() -> Self {
        Self::Tcp {
            host: "localhost".into(),
            port: DEFAULT_PORT,
        }
    }
}

impl FromStr for AdminAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix/") {
            let path = PathBuf::from(path);
            return if path.is_absolute() && path.file_name().is_some() {
                Ok(Self::Unix(path))
            } else {
                Err(wrong())
            };
        }
        let text = text.strip_prefix("tcp/").unwrap_or(text);
        // The last colon of `[::1]` belongs to the address.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !text.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong())?)
            }
            _ if text.is_empty() => return Err(wrong()),
            _ => (text, DEFAULT_PORT),
        };
        let bracketed = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let valid = match bracketed {
            Some(address) => address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()),
            None => host
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || ".-_".contains(char)),
        };
        if !valid {
            return Err(wrong());
        }
        Ok(Self::Tcp {
            host: bracketed.unwrap_or(host).to_ascii_lowercase(),
            port,
        })
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}

/// Resolves a TCP address: a server uses all results, a client one after the other.
///
/// `localhost` is 127.0.0.1 and `::1` whatever the resolver returns: that is what programs mean by it, and a container
/// often resolves it to only one of them.
pub(super) fn resolve(host: &str, port: u16, empty: IpAddr) -> std::io::Result<Vec<SocketAddr>> {
    let v4 = IpAddr::from([127, 0, 0, 1]);
    let v6 = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
    match host {
        "" => Ok(vec![(empty, port).into()]),
        "localhost" => Ok(vec![(v4, port).into(), (v6, port).into()]),
        _ => {
            let mut found: Vec<_> = (host, port).to_socket_addrs()?.collect();
            found.dedup();
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let tcp = |host: &str, port| AdminAddress::Tcp {
            host: host.into(),
            port,
        };
        let table = [
            ("localhost:2019", tcp("localhost", 2019)),
            ("LocalHost:2019", tcp("localhost", 2019)),
            (":2019", tcp("", 2019)),
            ("tcp/127.0.0.1:0", tcp("127.0.0.1", 0)),
            ("[::1]:2020", tcp("::1", 2020)),
            ("[::1]", tcp("::1", 2019)),
            ("localhost", tcp("localhost", 2019)),
            ("unix//run/a.sock", AdminAddress::Unix("/run/a.sock".into())),
        ];
        for (text, expected) in table {
            let address: AdminAddress = text.parse().expect(text);
            assert_eq!(address, expected);
            assert_eq!(address.to_string().parse(), Ok(expected));
        }
        for wrong in [
            "",
            ":",
            "localhost:",
            "a:b:1",
            "::1:2019",
            "[x]:1",
            "a b:1",
            "http://localhost:2019",
            "localhost:70000",
            "unix/relative",
            "unix//",
            "unix/",
        ] {
            assert!(wrong.parse::<AdminAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn localhost_is_both_loopback_addresses() {
        let found = resolve("localhost", 1, IpAddr::from([0, 0, 0, 0])).expect("no look-up");
        assert_eq!(
            found,
            ["127.0.0.1:1", "[::1]:1"].map(|text| text.parse().expect("valid"))
        );
    }
}
