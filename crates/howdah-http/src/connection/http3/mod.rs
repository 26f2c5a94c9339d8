//! HTTP/3: QUIC by quinn, frames by h3, requests by the service that HTTP/1 and HTTP/2 use too.
//!
//! Each address with HTTPS has one UDP socket, and one front thread serves it; addresses are spread over the threads. A
//! QUIC connection can change its address, so the kernel cannot distribute packets over the sockets of several threads
//! by address. The connections of an address stay on its thread.
//!
//! Listeners with hosts that request client certificates have no HTTP/3: a connection is for all
//! hosts.

mod body;
mod bounded;
mod connection;
mod stream;

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use quinn::EndpointConfig;

use crate::connection::listener::Socket as Listening;
use crate::listen::quic::BoundSocket;
use crate::message::application::Application;
use crate::observe::thread::{ConnectionGuard, ThreadState};

/// From this number of handshakes in flight, clients must prove their address first.
const RETRY_FROM: usize = 128;
/// Beyond this number of handshakes in flight, new ones are refused.
const HANDSHAKES_MAX: usize = 1024;

/// Accepts connections until the endpoint is closed.
pub(crate) async fn accept<A: Application>(
    listener: Rc<Listening<A>>,
    life: Rc<ThreadState>,
    bound: BoundSocket,
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
            // Fails only if the address is validated already, which was checked above.
            if let Err(error) = incoming.retry() {
                error.into_incoming().refuse();
            }
            continue;
        }
        // Fails for packets that do not belong to a handshake.
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
    // New clients are refused immediately while the others are served.
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
