//! The address of the admin API.

use std::path::PathBuf;

/// `admin`: where the server accepts orders (reload, stop) and reports its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Admin {
    /// Not given. `howdah run` uses [`AdminAddress::default`], if it is free.
    #[default]
    Default,
    /// `admin off`.
    Off,
    /// `admin ADDRESS`.
    On(AdminAddress),
}

/// Where the admin API listens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum AdminAddress {
    /// `HOST:PORT`, `[::1]:PORT` or `:PORT` (all addresses).
    Tcp {
        /// A name or an IP address without brackets; empty means all addresses of the machine.
        host: String,
        port: u16,
    },
    /// `unix//PATH`.
    Unix(PathBuf),
}

impl Default for AdminAddress {
    /// `localhost:2019`, as in Caddy.
    fn default() -> Self {
        Self::Tcp {
            host: "localhost".into(),
            port: 2019,
        }
    }
}

impl std::fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}
