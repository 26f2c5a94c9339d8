//! One HTTP/3 connection, from its handshake to its close.

use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use howdah_observe::metrics::{Handshake, Protocol};
use tokio::time::{Instant, sleep};

use super::bounded::Quic;
use super::stream::{self, QuicScope};
use crate::clock;
use crate::connection::listener::{Drain, Listener};
use crate::listen::limits::Limits;
use crate::message::application::Application;
use crate::message::connection::{Connection, Tls, TlsClient};
use crate::observe::thread::ThreadState;
use crate::socket::executor::LocalExecutor;
use crate::socket::state::{ConnectionState, Phase};

/// After GOAWAY a connection without requests is closed when nothing was sent for so long. Data that the client has not
/// acknowledged by then is lost.
const QUIET: Duration = Duration::from_millis(500);

/// Requests that a client may have sent before it receives GOAWAY.
const IN_FLIGHT: usize = 128;
/// Time for a handshake to finish during a shutdown.
const FRESH: Duration = Duration::from_secs(1);

/// Serves a connection until it ends. `local`: the listener's address. `handshake` is dropped at the end of the
/// handshake.
pub(super) async fn serve<A: Application>(
    listener: Rc<Listener<A>>,
    connecting: quinn::Connecting,
    local: SocketAddr,
    handshake: Rc<()>,
) {
    let (limits, life) = {
        let (service, number) = listener.current();
        let snapshot = &service.snapshot;
        (
            Rc::clone(snapshot.limits(number)),
            Rc::clone(&snapshot.life),
        )
    };
    let remote = connecting.remote_address();
    let Some(quic) = shake_hands(&listener.drain, &limits, &life, connecting).await else {
        return;
    };
    drop(handshake);
    let info = connection_info(&quic, remote, local);
    let state = Rc::new(ConnectionState::new(limits.max_header_size));
    state.set_multiplexed();
    let _spoken = life.count_protocol(Protocol::Http3);
    let mut builder = h3::server::builder();
    builder.max_field_section_size(limits.max_header_size as u64);
    let Ok(http) = builder
        .build(Quic::new(quic.clone(), limits.max_header_size))
        .await
    else {
        return;
    };
    let scope = Rc::new(QuicScope {
        listener,
        info: Rc::new(info),
        state,
        quic,
    });
    drive(&limits, &scope, http).await;
    // The close is sent by quinn's task, which has been woken and runs before this continues.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
}

/// Completes the handshake. `None`: it failed, took too long, or the server shuts down.
async fn shake_hands(
    drain: &Drain,
    limits: &Limits,
    life: &ThreadState,
    connecting: quinn::Connecting,
) -> Option<quinn::Connection> {
    let remote = connecting.remote_address();
    let limit = Duration::from_millis(limits.read_header);
    let shutdown = async {
        let ordered = drain.ordered();
        if !drain.is_ordered() {
            ordered.await;
        }
        sleep(FRESH).await;
    };
    let handshake = tokio::select! {
        handshake = tokio::time::timeout(limit, connecting) => handshake,
        () = shutdown => return None,
    };
    match handshake {
        Ok(Ok(quic)) => {
            life.count_handshake(Handshake::Tls13);
            return Some(quic);
        }
        Ok(Err(error)) => tracing::debug!(%remote, %error, "a QUIC handshake failed"),
        Err(_) => tracing::debug!(%remote, "a QUIC handshake was aborted"),
    }
    life.count_handshake(Handshake::Failed);
    None
}

fn connection_info(quic: &quinn::Connection, remote: SocketAddr, local: SocketAddr) -> Connection {
    let ip = quic.local_ip().unwrap_or(local.ip()).to_canonical();
    Connection {
        remote: SocketAddr::new(remote.ip().to_canonical(), remote.port()),
        local: SocketAddr::new(ip, local.port()),
        tls: Some(Tls {
            protocol: "TLSv1.3",
            // quinn does not report which one was negotiated.
            cipher: "",
            host: None,
            // Sites that request client certificates are not served over HTTP/3.
            client: TlsClient::NotRequested,
        }),
    }
}

type Http = h3::server::Connection<Quic, Bytes>;

async fn drive<A: Application>(limits: &Limits, scope: &Rc<QuicScope<A>>, mut http: Http) {
    let drain = &scope.listener.drain;
    let executor = LocalExecutor {
        write_limit: Duration::from_millis(limits.write),
    };
    let mut drained = pin!(drain.ordered());
    drained.as_mut().enable();
    // Whether the connection has to close: by the order to drain, or because it is idle.
    let mut goaway_sent = false;
    let mut sent = 0;
    let mut wake = pin!(sleep(remaining_idle_time(limits, &scope.state)));
    loop {
        if drain.is_ordered() && !goaway_sent {
            goaway_sent = true;
            if http.shutdown(IN_FLIGHT).await.is_err() {
                return;
            }
            sleep_reset(&mut wake, QUIET);
        }
        tokio::select! {
            accepted = http.accept() => match accepted {
                Ok(Some(resolver)) => executor.run(stream::serve(Rc::clone(scope), resolver)),
                Ok(None) | Err(_) => return,
            },
            () = &mut drained, if !goaway_sent => {}
            () = wake.as_mut() => {
                let idle = scope.state.phase() == Phase::Idle;
                if goaway_sent {
                    let now = scope.quic.stats().udp_tx.datagrams;
                    if clock::now() >= drain.cut_at() || (idle && now == sent) {
                        return;
                    }
                    sent = now;
                    sleep_reset(&mut wake, QUIET);
                } else {
                    let left = remaining_idle_time(limits, &scope.state);
                    if idle && left.is_zero() {
                        goaway_sent = true;
                        if http.shutdown(IN_FLIGHT).await.is_err() {
                            return;
                        }
                        sleep_reset(&mut wake, QUIET);
                    } else {
                        sleep_reset(&mut wake, left.max(QUIET));
                    }
                }
            }
        }
    }
}

fn sleep_reset(wake: &mut std::pin::Pin<&mut tokio::time::Sleep>, wait: Duration) {
    wake.as_mut().reset(Instant::now() + wait);
}

/// How long the connection may still be without a request; the full idle timeout while there is
/// one.
fn remaining_idle_time(limits: &Limits, state: &ConnectionState) -> Duration {
    let limit = limits.idle;
    Duration::from_millis(match state.phase() {
        Phase::Idle => limit.saturating_sub(clock::now().saturating_sub(state.phase_start())),
        Phase::Header | Phase::Busy => limit,
    })
}
