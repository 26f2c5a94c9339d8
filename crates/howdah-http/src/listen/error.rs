//! Why a configuration cannot be served on this machine.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use howdah_observe::access::OpenError;
use howdah_observe::trace::{SettingsError, StartError};

use crate::message::route_error::RouteError;
use crate::message::spool::SpoolError;

/// Why the server cannot listen on an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum BindError {
    /// Another program uses it.
    #[error("port {} is in use ({address}): stop the other program or choose another port", address.port())]
    InUse { address: SocketAddr },
    /// The server itself has the port, on an address that includes this one or is included in it.
    #[error("cannot listen on {address} while the server listens on {own}: restart the server")]
    Overlap {
        address: SocketAddr,
        /// The address that is listened on.
        own: SocketAddr,
    },
    /// A port below 1024 without the right to it.
    #[error(
        "no permission to listen on {address}: use a port above 1023, or grant CAP_NET_BIND_SERVICE"
    )]
    Permission { address: SocketAddr },
    /// Any other error.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// Another program listens on a Unix socket.
    #[error("unix/{} is in use: stop the other program or choose another path", path.display())]
    UnixInUse { path: PathBuf },
    /// A Unix socket cannot be created.
    #[error("cannot listen on unix/{}: {source}", path.display())]
    Unix { path: PathBuf, source: io::Error },
    /// HTTP/3 cannot be served on the address.
    #[error(
        "cannot serve HTTP/3 on {address}/udp: {reason}; free the port, or turn HTTP/3 off with `servers {{ protocols h1 h2 }}`"
    )]
    Http3 { address: SocketAddr, reason: String },
    /// The caller has no certificates for it.
    #[error("{address} uses HTTPS, but has no certificates")]
    Certificates { address: SocketAddr },
    /// No site names an address.
    #[error("no site has an address to listen on: add one such as `:8080 {{ … }}`")]
    NoAddress,
    /// A route cannot be executed.
    #[error("{0}")]
    Route(#[from] RouteError),
    /// An access log cannot be written.
    #[error(transparent)]
    AccessLog(#[from] OpenError),
    /// An environment variable for traces has an invalid value.
    #[error(transparent)]
    TraceSettings(#[from] SettingsError),
    /// Traces cannot be exported.
    #[error(transparent)]
    Trace(#[from] StartError),
    /// The directory for large request bodies cannot be created.
    #[error("cannot create the directory for request bodies: {0}")]
    Spool(#[from] SpoolError),
}
