//! Sockets to listen on: which ones the sites need, and one of each for every front thread.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use howdah_config::model::{AddressIndex, Config, ListenerAddress, UnixSocket};
use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};

use super::error::BindError;
use super::unix::{self, BACKLOG};

/// Where a listener is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// `None`: all addresses.
    Ip(Option<IpAddr>),
    Unix(UnixSocket),
}

impl Place {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            // The file is the same, whatever its mode.
            (Self::Unix(own), Self::Unix(other)) => own.path == other.path,
            _ => self == other,
        }
    }
}

/// An address as the sites need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenerSpec {
    pub(crate) place: Place,
    /// Port; on a Unix socket that of plain HTTP.
    pub(crate) port: u16,
    /// Distinguishes listeners on port 0; on other ports the sites agree.
    pub(crate) tls: bool,
}

impl ListenerSpec {
    /// The address as named in configurations.
    pub(crate) fn listener(&self) -> ListenerAddress {
        match &self.place {
            Place::Ip(ip) => ListenerAddress::Tcp {
                ip: *ip,
                port: self.port,
            },
            Place::Unix(socket) => ListenerAddress::Unix(socket.path.clone()),
        }
    }

    /// Whether a socket for one can serve the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.place.is_same(&other.place)
            && self.port == other.port
            && (self.port != 0 || self.tls == other.tls)
    }
}

/// A listener that the sites ask for.
#[derive(Debug)]
pub(crate) struct RequiredListener {
    pub(crate) spec: ListenerSpec,
    /// The addresses that are served there.
    pub(crate) hosts: Vec<AddressIndex>,
}

/// Everything the sites ask to listen on.
pub(crate) fn required_listeners(config: &Config) -> Result<Vec<RequiredListener>, BindError> {
    let mut required: Vec<RequiredListener> = Vec::new();
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
                let spec = ListenerSpec {
                    place: place.clone(),
                    port,
                    tls: address.tls,
                };
                let at = AddressIndex {
                    site: index,
                    address: number,
                };
                match required.iter_mut().find(|known| known.spec == spec) {
                    Some(known) => known.hosts.push(at),
                    None => required.push(RequiredListener {
                        spec,
                        hosts: vec![at],
                    }),
                }
            }
        }
    }
    if required.is_empty() {
        return Err(BindError::NoAddress);
    }
    Ok(required)
}

/// Listens with a socket for each front thread, on all addresses without an `ip`.
pub(crate) fn listen(
    ip: Option<IpAddr>,
    port: u16,
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

/// Uses a socket that already listens: all front threads accept from its one queue.
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

/// Makes the kernel drop packets that open a connection, and continue with connections that it has accepted. Such a
/// client retries after a second, and is refused once the socket is closed: no client is connected and then reset. For
/// a socket that is about to be closed, and that no other process listens on.
pub(crate) fn refuse_connections(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    // Classic BPF on the TCP header: loads the byte with the flags, and drops SYN without ACK.
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    SockRef::from(socket).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
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
        // With SO_REUSEPORT, a second server of the same user would take half of the connections
        // unnoticed. So a socket without it first checks whether the port is free.
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
    // Linux passes this on to the accepted sockets, which saves one system call for each
    // connection.
    socket.set_tcp_nodelay(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}
