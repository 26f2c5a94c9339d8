//! The PROXY protocol: a load balancer that forwards bytes first sends the client's address, before TLS and HTTP.
//!
//! Source: <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>, versions 1 and 2. Which load balancers are
//! trusted is configured as in Caddy's `proxy_protocol`.

mod header;

use std::io;
use std::net::SocketAddr;

use howdah_config::model::{ProxyPolicy, ProxyProtocol};
use rustix::net::RecvFlags;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

use self::header::{FirstBytes, LENGTH_MAX, detect};
use super::driver::Driver;
use crate::clock;
use crate::listen::unix;

impl Driver<'_, '_> {
    /// The client of a connection: the one in the PROXY header, if the listener accepts such a header. `None`: the
    /// connection is refused.
    pub(super) async fn client(
        &mut self,
        stream: &mut TcpStream,
        remote: SocketAddr,
    ) -> Option<SocketAddr> {
        let limits = self.limits;
        match &limits.proxy_protocol {
            None => Some(remote),
            // Boxed, like the handshake.
            Some(protocol) => Box::pin(self.client_behind(protocol, stream, remote)).await,
        }
    }

    /// Removes the header from the connection, and returns the client's address. `None`: the connection must not be
    /// served.
    async fn client_behind(
        &mut self,
        protocol: &ProxyProtocol,
        stream: &mut TcpStream,
        remote: SocketAddr,
    ) -> Option<SocketAddr> {
        let policy = if remote == unix::CLIENT {
            // The socket's permissions limit who may connect.
            ProxyPolicy::Use
        } else {
            protocol.policy(remote.ip())
        };
        if policy == ProxyPolicy::Skip {
            return Some(remote);
        }
        let limit = clock::milliseconds(protocol.timeout).min(self.limits.idle);
        let deadline = clock::now().saturating_add(limit);
        let first = self.before_deadline(deadline, first(stream)).await;
        let first = first.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()));
        match (first, policy) {
            (Ok(FirstBytes::Other), ProxyPolicy::Require) => {
                tracing::debug!(%remote, "a connection without a PROXY header was refused");
                None
            }
            (Ok(FirstBytes::Other), _) | (Ok(FirstBytes::Header { .. }), ProxyPolicy::Ignore) => {
                Some(remote)
            }
            (Ok(FirstBytes::Header { .. }), ProxyPolicy::Reject) => {
                tracing::debug!(%remote, "a connection with a PROXY header was refused");
                None
            }
            (Ok(FirstBytes::Header { client, .. }), _) => Some(client.unwrap_or(remote)),
            (Err(error), _) => {
                tracing::debug!(%remote, %error, "a PROXY header cannot be read");
                None
            }
        }
    }
}

/// Waits for the first bytes of the connection. Only a header is removed.
async fn first(stream: &mut TcpStream) -> io::Result<FirstBytes> {
    let mut bytes = vec![0; LENGTH_MAX];
    let first = loop {
        let ready = stream.ready(Interest::READABLE).await?;
        let looked = stream.try_io(Interest::READABLE, || {
            let (_, length) = rustix::net::recv(&*stream, &mut bytes[..], RecvFlags::PEEK)?;
            match detect(&bytes[..length]).map_err(io::Error::other)? {
                Some(first) => Ok(first),
                None if ready.is_read_closed() => Err(io::ErrorKind::UnexpectedEof.into()),
                // Bytes that have arrived stay in the socket: it is only readable again after
                // further bytes.
                None => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other?,
        }
    };
    if let FirstBytes::Header { length, .. } = first {
        stream.read_exact(&mut bytes[..length]).await?;
    }
    Ok(first)
}
