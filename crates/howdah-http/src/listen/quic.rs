//! The UDP socket of an address with HTTP/3, and the limits of QUIC connections.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use howdah_config::model::Limits;
use howdah_tls::Acceptor;
use http::HeaderValue;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{IdleTimeout, ServerConfig, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};

/// Concurrent requests of a connection, as on HTTP/2.
const STREAMS_MAX: u32 = 128;
/// A client needs three, and may have some of unknown types.
const UNI_STREAMS_MAX: u32 = 8;
/// Bytes that a client may send before they are read: of a request, of a connection.
const WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of responses that wait to be acknowledged by a client.
const SEND_WINDOW: u64 = 1 << 20;
/// Connections that wait to be accepted, and bytes buffered for them.
const INCOMING_MAX: usize = 1024;
const INCOMING_BYTES: u64 = 4 << 20;
/// A bound UDP socket, with the settings of its connections.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    pub(crate) listener: usize,
    pub(crate) address: SocketAddr,
    pub(crate) socket: UdpSocket,
    pub(crate) config: ServerConfig,
}

/// Why HTTP/3 is not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetUpError {
    #[error(transparent)]
    Tls(#[from] howdah_tls::TlsError),
    #[error(transparent)]
    Cipher(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
}

/// The `Alt-Svc` header for responses over HTTP/1 and HTTP/2.
pub(crate) fn alt_svc(port: u16) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("h3=\":{port}\"; ma=2592000")).ok()
}

/// The settings with which connections are accepted.
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

/// Binds the UDP port of an address whose TCP socket exists, unless the UDP socket exists too.
pub(crate) fn bind(
    listener: usize,
    address: SocketAddr,
    inherited: Option<UdpSocket>,
    config: ServerConfig,
) -> io::Result<BoundSocket> {
    let socket = match inherited {
        Some(socket) => socket,
        None => self::socket(address)?,
    };
    socket.set_nonblocking(true)?;
    Ok(BoundSocket {
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
    // Longer than the idle timeout, which counts requests: this detects clients that are gone, and the server's packets
    // keep a connection alive whose request takes long.
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
