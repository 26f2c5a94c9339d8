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
    /// What is done with a request, in order, sorted as Caddy sorts directives.
    pub routes: Vec<Route>,
    /// `log`: the access logs; none without it.
    pub access_logs: Vec<AccessLog>,
    /// `bind`: the IP addresses to listen on. Neither these nor Unix sockets: all.
    pub bind: Vec<IpAddr>,
    /// `bind unix//PATH`: the Unix sockets to listen on, without encryption.
    pub unix_sockets: Vec<UnixSocket>,
    /// `tls`: how its addresses with HTTPS are encrypted.
    pub tls: SiteTls,
    /// `handle_errors`: what is done when the server itself has to answer with an error.
    pub errors: Vec<ErrorRoutes>,
    /// The first `mercure` of the block, by its index in [`Config::hubs`](super::Config::hubs): what PHP publishes to.
    pub hub: Option<usize>,
}

impl Site {
    /// Its routes, and those of its errors.
    pub(crate) fn all_routes(&self) -> impl Iterator<Item = &[Route]> {
        let errors = self.errors.iter().map(|errors| errors.routes.as_slice());
        std::iter::once(self.routes.as_slice()).chain(errors)
    }
}

/// Where an address is in a configuration: its site's number, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SiteAddress {
    /// Number of the site.
    pub site: usize,
    /// Number of the address in the site.
    pub address: usize,
}

/// A site address: `[SCHEME://]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    /// Host to match; `None` matches all. May start with `*.`. Lower case; an IPv6 address stands
    /// without its brackets.
    pub host: Option<String>,
    /// The port to listen on.
    pub port: u16,
    /// HTTPS. Of all addresses that share a listener, all or none.
    pub tls: bool,
}
