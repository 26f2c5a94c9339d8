//! HTTP/3: QUIC by quinn, its frames by h3, requests by the service that HTTP/1 and HTTP/2 have.
//!
//! Each address with HTTPS has one UDP socket, served by one front thread, the addresses in turn: a QUIC
//! connection can change its address, so the kernel cannot spread packets over the sockets of several
//! threads by it. The connections of an address stay on its thread.
//!
//! Listeners with hosts that ask for client certificates have none: a connection is for all hosts.

mod body;
mod bounded;
mod connection;
mod stream;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use howdah_config::model::Limits;
use howdah_tls::Acceptor;
use http::HeaderValue;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};

pub(crate) use self::body::Upload;
use crate::application::Application;
use crate::life::{ConnectionGuard, Life};
use crate::serving::Socket as Listening;

/// Requests of a connection at a time, as on HTTP/2.
const STREAMS_MAX: u32 = 128;
/// A client needs three, and may have some of kinds that nobody knows.
const UNI_STREAMS_MAX: u32 = 8;
/// Bytes that a client may send unread: of a request, of a connection.
const WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of responses that wait to be confirmed by a client.
const SEND_WINDOW: u64 = 1 << 20;
/// Connections that wait to be accepted, and bytes kept for them.
const INCOMING_MAX: usize = 1024;
const INCOMING_BYTES: u64 = 4 << 20;
/// With more handshakes under way, clients have to prove their address first.
const RETRY_FROM: usize = 128;
/// And with more, no new ones are taken.
const HANDSHAKES_MAX: usize = 1024;

/// A UDP socket that is bound, with what its connections are made from.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listener: usize,
    address: SocketAddr,
    socket: UdpSocket,
    config: ServerConfig,
}

/// Why there is no HTTP/3.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetUpError {
    #[error(transparent)]
    Tls(#[from] howdah_tls::TlsError),
    #[error(transparent)]
    Cipher(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
}

/// What HTTP/1 and HTTP/2 say of it.
pub(crate) fn alt_svc(port: u16) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("h3=\":{port}\"; ma=2592000")).ok()
}

/// How connections are accepted.
pub(crate) fn set_up(
    acceptor: &Arc<Acceptor>,
    limits: &Limits,
) -> Result<ServerConfig, SetUpError> {
    let crypto = QuicServerConfig::try_from(acceptor.quic()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(Arc::new(transport(limits)))
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES);
    Ok(config)
}

/// Binds the address, whose TCP socket is there already, unless the UDP one is there too.
pub(crate) fn bind(
    listener: usize,
    (address, inherited): (SocketAddr, Option<UdpSocket>),
    config: ServerConfig,
) -> io::Result<Bound> {
    let socket = match inherited {
        Some(socket) => socket,
        None => self::socket(address)?,
    };
    socket.set_nonblocking(true)?;
    Ok(Bound {
        listener,
        address,
        socket,
        config,
    })
}

fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

fn transport(limits: &Limits) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // Longer than the client may be idle, which is measured by requests: this finds clients that are
    // gone, and the server's own packets keep a connection whose request takes long.
    let idle = limits.idle.max(Duration::from_secs(10));
    transport
        .max_concurrent_bidi_streams(STREAMS_MAX.into())
        .max_concurrent_uni_streams(UNI_STREAMS_MAX.into())
        .stream_receive_window(WINDOW.into())
        .receive_window(CONNECTION_WINDOW.into())
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(idle / 3))
        .max_idle_timeout(Some(
            IdleTimeout::try_from(idle).unwrap_or_else(|_| VarInt::MAX.into()),
        ));
    transport
}

/// Accepts connections until nothing more is to be accepted there.
pub(crate) async fn accept<A: Application>(
    listener: Rc<Listening<A>>,
    life: Rc<Life>,
    bound: Bound,
) -> io::Result<()> {
    let endpoint = quinn::Endpoint::new(
        EndpointConfig::default(),
        Some(bound.config),
        bound.socket,
        Arc::new(quinn::TokioRuntime),
    )?;
    listener.set_http3(endpoint.clone());
    let handshakes = Rc::new(());
    loop {
        let changed = listener.changed();
        if listener.is_closed() {
            break;
        }
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            () = changed => continue,
        };
        let Some(incoming) = incoming else {
            break;
        };
        let under_way = Rc::strong_count(&handshakes) - 1;
        if listener.is_http3_off() || life.is_full() || under_way >= HANDSHAKES_MAX {
            incoming.refuse();
            continue;
        }
        if under_way >= RETRY_FROM && incoming.may_retry() && !incoming.remote_address_validated() {
            // Fails only for what was not asked above.
            if let Err(error) = incoming.retry() {
                error.into_incoming().refuse();
            }
            continue;
        }
        // Packets that are none of a handshake are refused by this.
        let Ok(connecting) = incoming.accept() else {
            continue;
        };
        let guard = ConnectionGuard::new(&life);
        let serving = connection::serve(
            listener.http3_listener(),
            connecting,
            bound.address,
            Rc::clone(&handshakes),
        );
        tokio::task::spawn_local(async move {
            serving.await;
            drop(guard);
        });
    }
    // Whoever comes now is told at once, as long as the others are served.
    tokio::task::spawn_local(async move {
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => incoming.refuse(),
                    None => return,
                },
                () = endpoint.wait_idle() => return,
            }
        }
    });
    Ok(())
}
