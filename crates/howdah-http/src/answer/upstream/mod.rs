//! Connections to upstreams, over TCP or a Unix socket, with or without TLS.

pub(crate) mod address;
pub(crate) mod balance;
pub(crate) mod board;
pub(crate) mod health;
pub(crate) mod pooled;
pub(crate) mod socket;
pub(crate) mod state;
pub(crate) mod tls;

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use howdah_config::model::{ProxyHeaderVersion, Upstream};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use self::pooled::PooledConnection;
use self::tls::Encryption;

/// An open connection.
pub(crate) type Stream = Either<TcpStream, UnixStream>;

/// Connects, from an address of the machine if one is named; an error of the kind `TimedOut` after `limit`.
pub(crate) async fn connect(
    upstream: &Upstream,
    local: Option<IpAddr>,
    limit: Duration,
) -> io::Result<Stream> {
    let connecting = async {
        match upstream {
            Upstream::Tcp { host, port } => {
                let stream = match local {
                    None => TcpStream::connect((host.as_str(), *port)).await?,
                    Some(local) => socket::connect_from(local, host, *port).await?,
                };
                stream.set_nodelay(true)?;
                Ok(Either::Left(stream))
            }
            Upstream::Unix(path) => UnixStream::connect(path).await.map(Either::Right),
            // Its address is in the request.
            Upstream::Template { .. } => Err(io::ErrorKind::InvalidInput.into()),
        }
    };
    match tokio::time::timeout(limit, connecting).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "connecting timed out",
        )),
    }
}

/// A connection of a `reverse_proxy`.
pub(crate) type MaybeTls = Either<Stream, Box<TlsStream<Stream>>>;

/// What the number of an upstream follows in the host of a URI.
pub(crate) const CHOSEN: char = 'u';

/// The same for connections of health checks, which may have a port of their own.
pub(crate) const PROBED: char = 'h';

/// What precedes the number and the address of an upstream with placeholders.
pub(crate) const RESOLVED: char = 'r';

/// Opens the connections of a client.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) upstreams: Arc<[Upstream]>,
    /// Where health checks connect to.
    pub(crate) probed: Arc<[Upstream]>,
    /// `dial_timeout`.
    pub(crate) limit: Duration,
    pub(crate) write_timeout: Option<Duration>,
    /// `local_address`.
    pub(crate) local: Option<IpAddr>,
    /// `proxy_protocol`.
    pub(crate) proxy_header: Option<ProxyHeaderVersion>,
    pub(crate) encryption: Option<Encryption>,
}

impl Connector {
    /// The number and the address of the upstream that the host of a URI names.
    fn find(&self, host: &str) -> Option<(usize, Upstream)> {
        if let Some(resolved) = host.strip_prefix(RESOLVED) {
            return address::decode(resolved);
        }
        let (upstreams, number) = match host.strip_prefix(CHOSEN) {
            Some(number) => (&self.upstreams, number),
            None => (&self.probed, host.strip_prefix(PROBED)?),
        };
        let index = number.parse().ok()?;
        Some((index, upstreams.get(index)?.clone()))
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<PooledConnection>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<PooledConnection>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (host, client) = socket::split_client(uri.host().unwrap_or_default());
        let found = self.find(host);
        let header = self
            .proxy_header
            .map(|version| socket::proxy_header(version, client));
        let (local, limit, write_timeout) = (self.local, self.limit, self.write_timeout);
        let encryption = self.encryption.clone();
        Box::pin(async move {
            let Some((index, upstream)) = found else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let mut stream = connect(&upstream, local, limit).await?;
            if let Some(header) = header {
                // The socket's buffer is empty and has room for it.
                stream.write_all(&header?).await?;
            }
            let stream = match encryption {
                None => Either::Left(stream),
                Some(encryption) => Either::Right(Box::new(
                    encryption.begin((index, &upstream), stream).await?,
                )),
            };
            Ok(TokioIo::new(PooledConnection::new(stream, write_timeout)))
        })
    }
}
