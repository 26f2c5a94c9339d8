//! Connections to upstreams, over TCP or a Unix socket, encrypted if they are to be.

pub(crate) mod tls;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use howdah_config::model::Upstream;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

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
            "connecting took too long",
        )),
    }
}

/// A connection of a `reverse_proxy`.
pub(crate) enum MaybeTls {
    Plain(Stream),
    Encrypted(Box<TlsStream<Stream>>),
}

impl AsyncRead for MaybeTls {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for MaybeTls {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Encrypted(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Encrypted(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Encrypted(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl Connection for MaybeTls {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Opens the connections of a client: the host of a URI is `u` and the number of the upstream.
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
    type Response = TokioIo<MaybeTls>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<MaybeTls>>> + Send>>;

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
                None => MaybeTls::Plain(stream),
                Some(encryption) => {
                    let stream = encryption.begin(index, stream).await?;
                    MaybeTls::Encrypted(Box::new(stream))
                }
            };
            Ok(TokioIo::new(stream))
        })
    }
}
