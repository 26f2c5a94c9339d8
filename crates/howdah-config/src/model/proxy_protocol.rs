//! PROXY protocol of load balancers.

use std::net::IpAddr;
use std::time::Duration;

use super::expression::Network;

/// Load balancers that say whose connections they pass on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// `timeout`: how long a client may take to send a header, or to show that it sends none. Default 5 s;
    /// 0 in the file is [`Duration::MAX`].
    pub timeout: Duration,
    /// `allow`: whose word is believed.
    pub allow: Vec<Network>,
    /// `deny`: who is not served with a header, whatever `allow` says.
    pub deny: Vec<Network>,
    /// `fallback_policy`: for all others. Default [`ProxyPolicy::Ignore`].
    pub fallback: ProxyPolicy,
}

/// What becomes of a connection by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyPolicy {
    /// The header is read and not believed.
    Ignore,
    /// The header is believed; there need be none.
    Use,
    /// A connection with a header is closed.
    Reject,
    /// The header is believed; a connection without one is closed.
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
    /// What holds for connections from this address.
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
