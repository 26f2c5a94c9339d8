//! Connections to upstreams, over TCP or a Unix socket, with or without TLS.

pub(crate) mod balance;
pub(crate) mod board;
pub(crate) mod health;
pub(crate) mod pooled;
pub(crate) mod state;
pub(crate) mod tls;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use howdah_config::model::Upstream;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use self::pooled::PooledConnection;
use self::tls::Encryption;

/// An open connection.
pub(crate) type Stream = Either<TcpStream, UnixStream>;

/// Connects; an error of the kind `TimedOut` after `limit`.
pub(crate) async fn connect(upstream: &Upstream, limit: Duration) -> io::Result<Stream> {
    let connecting = async {
        match upstream {
            Upstream::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Either::Left(stream))
            }
            Upstream::Unix(path) => UnixStream::connect(path).await.map(Either::Right),
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

/// Opens the connections of a client. The host of a URI is `u` and the number of the upstream.
#[derive(Clone)]
pub(crate) struct Connector {
    upstreams: Arc<[Upstream]>,
    limit: Duration,
    encryption: Option<Encryption>,
}

impl Connector {
    pub(crate) fn new(
        upstreams: Arc<[Upstream]>,
        limit: Duration,
        encryption: Option<Encryption>,
    ) -> Self {
        Self {
            upstreams,
            limit,
            encryption,
        }
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
        let (upstreams, limit) = (Arc::clone(&self.upstreams), self.limit);
        let encryption = self.encryption.clone();
        Box::pin(async move {
            let number = uri.host().and_then(|host| host.strip_prefix('u'));
            let index = number.and_then(|number| number.parse::<usize>().ok());
            let Some((index, upstream)) =
                index.and_then(|index| Some((index, upstreams.get(index)?)))
            else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let stream = connect(upstream, limit).await?;
            let stream = match encryption {
                None => Either::Left(stream),
                Some(encryption) => Either::Right(Box::new(encryption.begin(index, stream).await?)),
            };
            Ok(TokioIo::new(PooledConnection::new(stream)))
        })
    }
}
