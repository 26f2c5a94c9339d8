//! Addresses of listeners.

use std::fmt;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A Unix socket that a site listens on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnixSocket {
    /// Absolute.
    pub path: PathBuf,
    /// Permissions of its file: whoever can write to it can connect. Default 0200.
    pub mode: u32,
}

/// The address of a listener as configurations name it: `:443`, `127.0.0.1:80`, `unix//PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum ListenerAddress {
    /// A port.
    Tcp {
        /// `None`: all addresses of the machine.
        ip: Option<IpAddr>,
        port: u16,
    },
    /// A Unix socket, by its absolute path.
    Unix(PathBuf),
}

impl fmt::Display for ListenerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { ip: None, port } => write!(f, ":{port}"),
            Self::Tcp { ip: Some(ip), port } => SocketAddr::new(*ip, *port).fmt(f),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}
