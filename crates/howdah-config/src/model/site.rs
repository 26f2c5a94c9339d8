//! Sites and their addresses.

use std::net::IpAddr;

use super::https::SiteTls;
use super::listener::UnixSocket;
use super::log::AccessLog;
use super::route::{ErrorRoutes, Route};

/// One site block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Site {
    /// Its addresses; at least one.
    pub addresses: Vec<Address>,
    /// Its routes in order, sorted like Caddy's directives.
    pub routes: Vec<Route>,
    /// `log`: the access logs; none without it.
    pub access_logs: Vec<AccessLog>,
    /// `bind`: the IP addresses to listen on. Without these and Unix sockets: all.
    pub bind: Vec<IpAddr>,
    /// `bind unix//PATH`: the Unix sockets to listen on, without TLS.
    pub unix_sockets: Vec<UnixSocket>,
    /// `tls`: TLS of its addresses with HTTPS.
    pub tls: SiteTls,
    /// `handle_errors`: responses to errors of the server.
    pub errors: Vec<ErrorRoutes>,
    /// The first `mercure` of the block, by its index in [`Config::hubs`](super::Config::hubs): the hub to which PHP
    /// publishes.
    pub hub: Option<usize>,
}

impl Site {
    /// Its routes, and those of its errors.
    pub(crate) fn all_routes(&self) -> impl Iterator<Item = &[Route]> {
        let errors = self.errors.iter().map(|errors| errors.routes.as_slice());
        std::iter::once(self.routes.as_slice()).chain(errors)
    }
}

/// Reference to an address: the number of its site, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressIndex {
    /// Number of the site.
    pub site: usize,
    /// Number of the address in the site.
    pub address: usize,
}

/// A site address: `[SCHEME://]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    /// Host to match; `None` matches all. May start with `*.`. Lower case; an IPv6 address has no
    /// brackets.
    pub host: Option<String>,
    /// The port to listen on.
    pub port: u16,
    /// Whether it uses HTTPS. Addresses that share a listener must agree.
    pub tls: bool,
}
