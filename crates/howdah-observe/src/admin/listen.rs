//! The sockets of the admin API.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use super::AdminAddress;
use super::address::resolve;
use crate::unix_socket;

/// Clients that may wait to be accepted.
const BACKLOG: i32 = 64;

/// Why the admin API cannot listen.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum BindError {
    /// Another program listens there.
    #[error("admin {0}: the address is in use, perhaps by another server")]
    InUse(AdminAddress),
    /// Any other error.
    #[error("admin {address}: {source}")]
    Io {
        address: AdminAddress,
        #[source]
        source: io::Error,
    },
}

impl BindError {
    pub(super) fn new(address: &AdminAddress, source: io::Error) -> Self {
        let address = address.clone();
        if source.kind() == ErrorKind::AddrInUse {
            Self::InUse(address)
        } else {
            Self::Io { address, source }
        }
    }
}

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

impl Listener {
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(listener) => listener
                .local_addr()
                .is_ok_and(|address| address.ip().is_loopback()),
            Self::Unix(_) => true,
        }
    }
}

/// A Unix socket. If the server created its file, the file is removed with it.
#[derive(Debug)]
pub(super) struct UnixSocket {
    pub(super) listener: UnixListener,
    path: Option<PathBuf>,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It may already have been removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Listens on all addresses. Must be called within a tokio runtime.
pub(super) fn listen(address: &AdminAddress) -> io::Result<Vec<Listener>> {
    match address {
        AdminAddress::Unix(path) => Ok(vec![Listener::Unix(unix(path)?)]),
        AdminAddress::Tcp { host, port } => {
            let mut listeners: Vec<Listener> = Vec::new();
            let mut port = *port;
            let mut missing = None;
            for found in resolve(host, port, IpAddr::from(std::net::Ipv6Addr::UNSPECIFIED))? {
                match tcp(SocketAddr::new(found.ip(), port)) {
                    Ok(listener) => {
                        // All addresses of a name share the port that the system chose for the first.
                        port = listener.local_addr()?.port();
                        listeners.push(Listener::Tcp(listener));
                    }
                    // `localhost` on a machine without IPv6.
                    Err(error) if is_absent(&error) => missing = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if listeners.is_empty() && host.is_empty() {
                listeners.push(Listener::Tcp(tcp(([0, 0, 0, 0], port).into())?));
            }
            if listeners.is_empty() {
                return Err(missing.unwrap_or_else(|| ErrorKind::AddrNotAvailable.into()));
            }
            Ok(listeners)
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.cloexec(), None)?;
    // A restarted server must not wait for connections that its predecessor closed.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` stands for IPv4 too, `[::1]` for itself.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

fn unix(path: &Path) -> io::Result<UnixSocket> {
    let listener = unix_socket::listen(path, 0o600, BACKLOG)?;
    Ok(UnixSocket {
        listener: UnixListener::from_std(listener)?,
        path: Some(path.to_owned()),
    })
}

/// A Unix socket that listens already; its creator manages its file.
pub(super) fn adopt(socket: StdUnixListener) -> io::Result<Listener> {
    socket.set_nonblocking(true)?;
    Ok(Listener::Unix(UnixSocket {
        listener: UnixListener::from_std(socket)?,
        path: None,
    }))
}
