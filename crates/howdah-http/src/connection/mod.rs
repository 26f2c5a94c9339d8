//! One client connection from accept to close.
//!
//! ```text
//! waiting ──first bytes──> HTTP/1 ──idle for a while──> waiting
//!    │                     HTTP/2      (its buffers are given back)
//!    └──timeout, drain──> closed <── lingering <── refused, or an unread body
//! ```
//!
//! A connection with TLS starts with its handshake. The timeouts are here (`driver.rs`) and not in hyper: one timer for
//! all of them, which is rarely armed.

mod close;
mod connection_scope;
mod driver;
mod first_bytes;
pub(crate) mod handshake;
mod http1;
pub(crate) mod http2;
pub(crate) mod http3;
pub(crate) mod listener;
mod multiplexed;
mod proxy_protocol;

use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use howdah_observe::metrics::Protocol;
use http::StatusCode;
use tokio::net::TcpStream;

use self::close::refuse;
use self::connection_scope::ConnectionScope;
use self::driver::Driver;
use self::first_bytes::FirstBytes;
use self::listener::Listener;
use crate::message::application::Application;
use crate::message::connection::Connection;
use crate::socket::io::Io;
use crate::socket::state::ConnectionState;
use crate::socket::tcp::Socket;

/// Serves a connection until it ends.
pub(crate) async fn serve<A: Application>(
    listener: Rc<Listener<A>>,
    mut stream: TcpStream,
    remote: SocketAddr,
) {
    // What a connection uses of the configuration in which it was accepted; everything else depends on the request.
    let (service, number) = listener.current();
    let snapshot = &service.snapshot;
    let Ok(local) = snapshot.local_address(number, &stream) else {
        return; // already closed
    };
    let acceptor = snapshot.acceptor(number).cloned();
    let (life, limits) = (
        Rc::clone(&snapshot.life),
        Rc::clone(snapshot.limits(number)),
    );
    drop(service);

    let state = Rc::new(ConnectionState::new(limits.max_header_size));
    let drained = pin!(listener.drain.ordered());
    let mut driver = Driver::new(&life, &limits, &listener.drain, &state, drained);
    let Some(remote) = driver.client(&mut stream, remote).await else {
        return;
    };
    let stream = Socket::new(stream);
    let Some(opened) = driver.open(acceptor, stream, local, remote).await else {
        return;
    };
    state.connected();
    let is_http2 = opened.is_http2;
    let speaks_http2 = if opened.tls.is_some() {
        limits.h2
    } else {
        limits.h2c
    };
    let scope = ConnectionScope {
        listener: Rc::clone(&listener),
        info: Rc::new(Connection {
            remote: canonical(remote),
            local,
            tls: opened.tls,
        }),
        state: Rc::clone(&state),
    };
    let mut io = Io {
        stream: opened.stream,
        prefix: Bytes::new(),
        state: Rc::clone(&state),
    };
    let service = http1::service(scope.clone());
    let mut counted = None;
    loop {
        let first = if is_http2 {
            FirstBytes::Http2
        } else {
            driver.first_bytes(&mut io).await
        };
        match first {
            // After it was idle.
            FirstBytes::Http1 => {
                driver.set_used();
                io.stream.report_failed_writes();
                counted.get_or_insert_with(|| life.count_protocol(Protocol::Http1));
            }
            FirstBytes::Http2 if !speaks_http2 => {
                return refuse(io.stream, StatusCode::HTTP_VERSION_NOT_SUPPORTED, "").await;
            }
            FirstBytes::Http2 => return driver.http2(io, scope).await,
            FirstBytes::Closed => return io.stream.close_notify(),
            FirstBytes::TimedOut => {
                return refuse(io.stream, StatusCode::REQUEST_TIMEOUT, "").await;
            }
        }
        let Some(idle) = driver.http1(io, service.clone()).await else {
            return;
        };
        io = idle;
    }
}

/// An IPv4 client of a listener for both families is shown as IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
