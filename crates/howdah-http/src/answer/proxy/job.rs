//! A request for an upstream, as routes pass it on.

use std::net::IpAddr;
use std::rc::Rc;

use http::{HeaderMap, HeaderValue, Method};

use super::Upstreams;
use crate::answer::upstream::balance::Hint;
use crate::message::header_change::PendingChange;

/// A request that goes to an upstream; its body is not read yet.
pub(crate) struct ProxyJob {
    pub(crate) upstreams: Rc<Upstreams>,
    pub(crate) method: Method,
    /// Address of the client.
    pub(crate) client: IpAddr,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    /// Addresses of upstreams with placeholders, by number; empty without placeholders.
    pub(crate) addresses: Box<[Option<String>]>,
    /// The protocol that the client upgrades the connection to.
    pub(crate) upgrade: Option<HeaderValue>,
    /// False: the body of the request is left out.
    pub(crate) has_body: bool,
    /// Changes of the header that are applied once the upstream is known.
    pub(crate) header_up: Vec<PendingChange>,
    /// It may be sent again although an upstream may have begun it.
    pub(crate) is_repeatable: bool,
    /// What the choice of an upstream depends on.
    pub(crate) hint: Hint,
}

impl ProxyJob {
    /// The address of an upstream with placeholders.
    pub(super) fn address(&self, index: usize) -> Option<&str> {
        self.addresses.get(index)?.as_deref()
    }

    /// Name of the upstream of this number: its address as configured, or of this request.
    pub(super) fn name(&self, index: usize) -> &str {
        let configured = || self.upstreams.balancer.name(index);
        self.address(index).unwrap_or_else(configured)
    }
}
