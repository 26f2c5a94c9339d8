//! The addresses that a site listens on.

use std::net::IpAddr;

use crate::error::Position;
use crate::model::{ListenerAddress, Site, UnixSocket};

/// IP addresses and Unix sockets; if both are empty, all IP addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Binding {
    pub(crate) ips: Vec<IpAddr>,
    pub(crate) sockets: Vec<UnixSocket>,
    /// `protocols` of these.
    pub(crate) protocols: Vec<BindProtocols>,
}

/// The versions of HTTP of one `bind`.
#[derive(Debug, Clone)]
pub(crate) struct BindProtocols {
    pub(crate) ips: Vec<IpAddr>,
    pub(crate) sockets: Vec<UnixSocket>,
    pub(crate) protocols: Protocols,
    pub(crate) position: Position,
}

/// Versions of HTTP besides HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protocols {
    pub(crate) http2: bool,
    pub(crate) h2c: bool,
    pub(crate) http3: bool,
}

/// The versions of HTTP of a listener, as a `bind` sets them.
#[derive(Debug)]
pub(crate) struct ListenerProtocols {
    pub(crate) listener: ListenerAddress,
    pub(crate) protocols: Protocols,
    pub(crate) position: Position,
}

impl BindProtocols {
    /// The listeners of an address with this port.
    pub(crate) fn listeners(&self, port: u16) -> impl Iterator<Item = ListenerAddress> {
        let ips = self.ips.iter().copied().map(Some);
        let ports = ips.map(move |ip| ListenerAddress::Tcp { ip, port });
        let sockets = self.sockets.iter();
        ports.chain(sockets.map(|socket| ListenerAddress::Unix(socket.path.clone())))
    }
}

impl Binding {
    pub(crate) fn of(site: &Site) -> Self {
        Self {
            ips: site.bind.clone(),
            sockets: site.unix_sockets.clone(),
            protocols: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ips.is_empty() && self.sockets.is_empty()
    }

    /// Adds what is missing.
    pub(crate) fn add(&mut self, other: Self) {
        self.protocols.extend(other.protocols);
        for ip in other.ips {
            if !self.ips.contains(&ip) {
                self.ips.push(ip);
            }
        }
        for socket in other.sockets {
            if !self.sockets.contains(&socket) {
                self.sockets.push(socket);
            }
        }
    }

    fn has_ports(&self) -> bool {
        !self.ips.is_empty() || self.sockets.is_empty()
    }

    /// Whether both listen on the ports of a common IP address.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.has_ports()
            && other.has_ports()
            && (self.ips.is_empty()
                || other.ips.is_empty()
                || self.ips.iter().any(|ip| other.ips.contains(ip)))
    }

    /// Whether both listen on the same addresses, in any order.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let sorted = |own: &Self| {
            let mut ips = own.ips.clone();
            ips.sort_unstable();
            let mut paths: Vec<_> = own.sockets.iter().map(|one| one.path.clone()).collect();
            paths.sort_unstable();
            (ips, paths)
        };
        sorted(self) == sorted(other)
    }

    /// A Unix socket in both, with the mode in each.
    pub(crate) fn shared(&self, other: &Self) -> Option<(&UnixSocket, u32)> {
        self.sockets.iter().find_map(|own| {
            let other = other.sockets.iter().find(|one| one.path == own.path)?;
            Some((own, other.mode))
        })
    }
}
