//! Sockets to listen on: which ones the sites ask for, and one of each for every front thread.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use howdah_config::model::Config;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel may hold until they are accepted; `net.core.somaxconn` caps it.
const BACKLOG: i32 = 4096;

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
    /// A port below 1024 without the right to it.
    #[error(
        "no permission to listen on {address}: use a port above 1023, or grant CAP_NET_BIND_SERVICE"
    )]
    Permission {
        /// What was asked for.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("cannot listen on {address}")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// No site names an address.
    #[error("no site has an address to listen on: add one such as `:8080 {{ … }}`")]
    NoAddress,
    /// A route cannot be executed.
    #[error("{0}")]
    Route(#[from] crate::route::RouteError),
    /// The directory for large request bodies cannot be made.
    #[error("cannot create the directory for request bodies: {0}")]
    Spool(#[from] crate::spool::SpoolError),
}

/// One address with a socket for every front thread.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    /// Indices of the sites that are served here.
    pub(crate) sites: Vec<usize>,
    pub(crate) sockets: Vec<TcpListener>,
}

/// An address as the sites ask for it; no IP means all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    ip: Option<IpAddr>,
    port: u16,
}

/// Listens on everything the sites ask for.
pub(crate) fn bind(config: &Config, threads: usize) -> Result<Vec<Listener>, BindError> {
    let mut wanted: Vec<(Wanted, Vec<usize>)> = Vec::new();
    for (index, site) in config.sites.iter().enumerate() {
        let all = [None];
        let ips: Vec<Option<IpAddr>> = site.bind.iter().copied().map(Some).collect();
        let ips = if ips.is_empty() { &all[..] } else { &ips[..] };
        for address in &site.addresses {
            for ip in ips {
                let key = Wanted {
                    ip: *ip,
                    port: address.port,
                };
                match wanted.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, sites)) if sites.contains(&index) => {}
                    Some((_, sites)) => sites.push(index),
                    None => wanted.push((key, vec![index])),
                }
            }
        }
    }
    if wanted.is_empty() {
        return Err(BindError::NoAddress);
    }
    wanted
        .into_iter()
        .map(|(key, sites)| listen(key, sites, threads))
        .collect()
}

fn listen(wanted: Wanted, sites: Vec<usize>, threads: usize) -> Result<Listener, BindError> {
    let Some(ip) = wanted.ip else {
        let v6 = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), wanted.port);
        return match sockets(v6, threads) {
            // A kernel without IPv6.
            Err(error) if no_such_family(&error) => {
                let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), wanted.port);
                named(v4, sites, sockets(v4, threads))
            }
            result => named(v6, sites, result),
        };
    };
    let address = SocketAddr::new(ip, wanted.port);
    named(address, sites, sockets(address, threads))
}

fn no_such_family(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

fn named(
    address: SocketAddr,
    sites: Vec<usize>,
    sockets: io::Result<(SocketAddr, Vec<TcpListener>)>,
) -> Result<Listener, BindError> {
    match sockets {
        Ok((address, sockets)) => Ok(Listener {
            address,
            sites,
            sockets,
        }),
        Err(source) => Err(match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            io::ErrorKind::PermissionDenied => BindError::Permission { address },
            _ => BindError::Listen { address, source },
        }),
    }
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
