//! Sockets to listen on: which ones the sites ask for, and one of each for every front thread.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use howdah_config::model::{Config, ListenerAddress, UnixSocket};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::unix;

/// Connections that the kernel may hold until they are accepted; `net.core.somaxconn` caps it.
pub(crate) const BACKLOG: i32 = 4096;

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another program has it.
    #[error("port {} is in use ({address}): stop the other program or choose another port", address.port())]
    InUse {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The server itself has the port, on an address that includes this one or is included in it.
    #[error("{address} cannot be listened on as long as {own} is: this needs a restart")]
    Overlap {
        /// What was asked for.
        address: SocketAddr,
        /// What is listened on.
        own: SocketAddr,
    },
    /// A port below 1024 without the right to it.
    #[error(
        "no permission to listen on {address}: use a port above 1023, or grant CAP_NET_BIND_SERVICE"
    )]
    Permission {
        /// What was asked for.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// Another program listens on a Unix socket.
    #[error("unix/{} is in use: stop the other program or choose another path", path.display())]
    UnixInUse {
        /// What was asked for.
        path: PathBuf,
    },
    /// A Unix socket cannot be made.
    #[error("cannot listen on unix/{}: {source}", path.display())]
    Unix {
        /// What was asked for.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// HTTP/3 cannot be served there.
    #[error(
        "cannot serve HTTP/3 on {address}/udp: {reason}; free the port, or turn HTTP/3 off with `servers {{ protocols h1 h2 }}`"
    )]
    Http3 {
        /// What was asked for.
        address: SocketAddr,
        /// Why.
        reason: String,
    },
    /// The caller has no certificates for it.
    #[error("{address} has HTTPS, and no certificates were set up for it")]
    Certificates {
        /// What was asked for.
        address: SocketAddr,
    },
    /// No site names an address.
    #[error("no site has an address to listen on: add one such as `:8080 {{ … }}`")]
    NoAddress,
    /// A route cannot be executed.
    #[error("{0}")]
    Route(#[from] crate::route::RouteError),
    /// An access log cannot be written.
    #[error(transparent)]
    AccessLog(#[from] howdah_observe::access::OpenError),
    /// A variable about traces cannot be honoured.
    #[error(transparent)]
    TraceSettings(#[from] howdah_observe::trace::SettingsError),
    /// Traces cannot be exported.
    #[error(transparent)]
    Trace(#[from] howdah_observe::trace::StartError),
    /// The directory for large request bodies cannot be made.
    #[error("cannot create the directory for request bodies: {0}")]
    Spool(#[from] crate::spool::SpoolError),
}

/// An address of a site: the numbers of both in the configuration.
pub(crate) type SiteAddress = (usize, usize);

/// Where a listener is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// No IP means all of them.
    Ip(Option<IpAddr>),
    Unix(UnixSocket),
}

impl Place {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            // The file stays, whatever its mode is to be.
            (Self::Unix(own), Self::Unix(other)) => own.path == other.path,
            _ => self == other,
        }
    }
}

/// An address as the sites ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) place: Place,
    /// That of plain HTTP on a Unix socket.
    pub(crate) port: u16,
    /// Tells listeners on port 0 apart; elsewhere the sites agree.
    pub(crate) tls: bool,
}

impl Wanted {
    /// As configurations name it.
    pub(crate) fn listener(&self) -> ListenerAddress {
        match &self.place {
            Place::Ip(ip) => ListenerAddress::Tcp {
                ip: *ip,
                port: self.port,
            },
            Place::Unix(socket) => ListenerAddress::Unix(socket.path.clone()),
        }
    }

    /// Whether a socket for one is a socket for the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.place.is_same(&other.place)
            && self.port == other.port
            && (self.port != 0 || self.tls == other.tls)
    }
}

/// Everything the sites ask to listen on, with the addresses that are served there.
pub(crate) fn wanted(config: &Config) -> Result<Vec<(Wanted, Vec<SiteAddress>)>, BindError> {
    let mut wanted: Vec<(Wanted, Vec<SiteAddress>)> = Vec::new();
    for (index, site) in config.sites.iter().enumerate() {
        let ips = site.bind.iter().map(|ip| Place::Ip(Some(*ip)));
        let sockets = site.unix_sockets.iter().cloned().map(Place::Unix);
        let mut places: Vec<Place> = ips.chain(sockets).collect();
        if places.is_empty() {
            places.push(Place::Ip(None));
        }
        for (number, address) in site.addresses.iter().enumerate() {
            for place in &places {
                let port = match place {
                    Place::Ip(_) => address.port,
                    Place::Unix(_) => unix::ADDRESS.port(),
                };
                let key = Wanted {
                    place: place.clone(),
                    port,
                    tls: address.tls,
                };
                match wanted.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, hosts)) => hosts.push((index, number)),
                    None => wanted.push((key, vec![(index, number)])),
                }
            }
        }
    }
    if wanted.is_empty() {
        return Err(BindError::NoAddress);
    }
    Ok(wanted)
}

/// Listens with a socket for each front thread, on all addresses without an `ip`.
pub(crate) fn listen(
    (ip, port): (Option<IpAddr>, u16),
    threads: usize,
) -> Result<(SocketAddr, Vec<TcpListener>), BindError> {
    let Some(ip) = ip else {
        let v6 = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        return match sockets(v6, threads) {
            // A kernel without IPv6.
            Err(error) if no_such_family(&error) => {
                let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
                named(v4, sockets(v4, threads))
            }
            result => named(v6, result),
        };
    };
    let address = SocketAddr::new(ip, port);
    named(address, sockets(address, threads))
}

/// The same with a socket that listens already: all front threads accept from its one queue.
pub(crate) fn adopt(
    first: TcpListener,
    threads: usize,
) -> Result<(SocketAddr, Vec<TcpListener>), BindError> {
    let unspecified = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let address = first.local_addr().unwrap_or(unspecified);
    let prepare = || {
        first.set_nonblocking(true)?;
        SockRef::from(&first).set_tcp_nodelay(true)?;
        (1..threads).map(|_| first.try_clone()).collect()
    };
    let clones: io::Result<Vec<_>> = prepare();
    let mut sockets = clones.map_err(|source| BindError::Listen { address, source })?;
    sockets.push(first);
    Ok((address, sockets))
}

fn no_such_family(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

fn named(
    address: SocketAddr,
    sockets: io::Result<(SocketAddr, Vec<TcpListener>)>,
) -> Result<(SocketAddr, Vec<TcpListener>), BindError> {
    sockets.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { address },
        io::ErrorKind::PermissionDenied => BindError::Permission { address },
        _ => BindError::Listen { address, source },
    })
}

fn sockets(address: SocketAddr, threads: usize) -> io::Result<(SocketAddr, Vec<TcpListener>)> {
    let shared = threads > 1;
    if shared && address.port() != 0 {
        // SO_REUSEPORT lets a second server of the same user take half of the connections
        // unnoticed, so a socket without it asks first whether the port is free.
        drop(socket(address, false)?);
    }
    let first = socket(address, shared)?;
    first.listen(BACKLOG)?;
    let address = first
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("not an IP socket"))?;
    let mut sockets = vec![TcpListener::from(first)];
    for _ in 1..threads {
        let socket = socket(address, shared)?;
        socket.listen(BACKLOG)?;
        sockets.push(socket.into());
    }
    Ok((address, sockets))
}

fn socket(address: SocketAddr, reuse_port: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    if reuse_port {
        socket.set_reuse_port(true)?;
    }
    // Linux hands this down to the accepted sockets: one system call less for each connection.
    socket.set_tcp_nodelay(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}
