//! PROXY protocol of load balancers.

use std::net::IpAddr;
use std::time::Duration;

use super::expression::Network;

/// Load balancers that send the address of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// `timeout`: how long a client may take to send a header, or anything else. Default 5 s; 0 in the file is
    /// [`Duration::MAX`].
    pub timeout: Duration,
    /// `allow`: trusted load balancers.
    pub allow: Vec<Network>,
    /// `deny`: addresses whose connections with a header are refused, whatever `allow` contains.
    pub deny: Vec<Network>,
    /// `fallback_policy`: for all others. Default [`ProxyPolicy::Ignore`].
    pub fallback: ProxyPolicy,
}

/// `proxy_protocol` of an upstream: the form in which it gets the address of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeaderVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// How a header is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyPolicy {
    /// The header is read and ignored.
    Ignore,
    /// The header is used; it is optional.
    Use,
    /// A connection with a header is closed.
    Reject,
    /// The header is used; a connection without one is closed.
    Require,
    /// No header is expected.
    Skip,
}

impl Default for ProxyProtocol {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            allow: Vec::new(),
            deny: Vec::new(),
            fallback: ProxyPolicy::Ignore,
        }
    }
}

impl ProxyProtocol {
    /// The policy for connections from this address.
    #[must_use]
    pub fn policy(&self, address: IpAddr) -> ProxyPolicy {
        let is_in = |ranges: &[Network]| ranges.iter().any(|range| range.contains(address));
        if is_in(&self.deny) {
            ProxyPolicy::Reject
        } else if is_in(&self.allow) {
            ProxyPolicy::Use
        } else {
            self.fallback
        }
    }
}
