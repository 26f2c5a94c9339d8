//! Connections of the admin API.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

use super::connection_limit::{ConnectionLimit, ConnectionPermit};
use super::guard::Guard;
use super::listen::{Listener, adopt, listen};
use super::routes::respond;
use super::{AdminAddress, BindError, Control};

/// Maximum connections; a further one replaces one that waits.
const MAX_CONNECTIONS: usize = 64;
/// Timeout for the header of a request, and between two requests of a connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a system error while accepting, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The listening admin API.
#[derive(Debug)]
pub struct Admin {
    address: AdminAddress,
    listeners: Vec<Listener>,
}

impl Admin {
    /// Listens; clients wait until [`serve`](Self::serve). Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, does not belong to this machine, or is not permitted.
    pub fn bind(address: &AdminAddress) -> Result<Self, BindError> {
        let listeners = listen(address).map_err(|error| BindError::new(address, error))?;
        let mut address = address.clone();
        if let (AdminAddress::Tcp { port, .. }, Some(Listener::Tcp(first))) =
            (&mut address, listeners.first())
        {
            match first.local_addr() {
                Ok(bound) => *port = bound.port(),
                Err(error) => return Err(BindError::new(&address, error)),
            }
        }
        Ok(Self { address, listeners })
    }

    /// The same on a Unix socket that already listens at this address; its file is not changed.
    ///
    /// # Errors
    /// The socket cannot be used.
    pub fn adopt(
        address: &AdminAddress,
        socket: std::os::unix::net::UnixListener,
    ) -> Result<Self, BindError> {
        let listener = adopt(socket).map_err(|error| BindError::new(address, error))?;
        Ok(Self {
            address: address.clone(),
            listeners: vec![listener],
        })
    }

    /// Its address, with the real port if 0 was configured.
    pub fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// Whether only programs on this machine can reach it.
    pub fn is_local(&self) -> bool {
        self.listeners.iter().all(Listener::is_local)
    }

    /// Serves until the future is dropped, which ends all connections.
    pub async fn serve<C: Control>(self, control: Arc<C>) {
        let guard = Arc::new(Guard::new(&self.address));
        let limit = ConnectionLimit::new(MAX_CONNECTIONS);
        let mut acceptors = JoinSet::new();
        for listener in self.listeners {
            acceptors.spawn(accept(
                listener,
                control.clone(),
                guard.clone(),
                limit.clone(),
            ));
        }
        while acceptors.join_next().await.is_some() {}
    }
}

async fn accept<C: Control>(
    listener: Listener,
    control: Arc<C>,
    guard: Arc<Guard>,
    limit: ConnectionLimit,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = match &listener {
            Listener::Tcp(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(socket) => {
                let accepted = socket.listener.accept().await;
                accepted.map(|(stream, _)| Stream::Unix(stream))
            }
        };
        match accepted {
            Ok(stream) => {
                let (control, guard) = (control.clone(), guard.clone());
                let permit = limit.take().await;
                let id = permit.id();
                let task = connections.spawn(async move {
                    match stream {
                        Stream::Tcp(stream) => connection(stream, control, guard, permit).await,
                        Stream::Unix(stream) => {
                            let peer = stream.peer_cred().ok();
                            let guard = Arc::new(guard.of_peer(peer.map(|peer| peer.uid())));
                            connection(stream, control, guard, permit).await;
                        }
                    }
                });
                limit.occupy(id, task);
            }
            Err(error) => {
                tracing::warn!(target: "howdah::admin", "a connection was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

async fn connection<C: Control>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    control: Arc<C>,
    guard: Arc<Guard>,
    permit: ConnectionPermit,
) {
    let permit = Arc::new(permit);
    let service = service_fn(|request| {
        let (control, guard, permit) = (control.clone(), guard.clone(), permit.clone());
        async move {
            let response = respond(&*control, &guard, request, || permit.begin()).await;
            permit.end();
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(target: "howdah::admin", "connection ended: {error}");
    }
}
