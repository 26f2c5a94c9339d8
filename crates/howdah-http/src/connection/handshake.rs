//! The TLS handshake of a connection, in its time and its place.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use howdah_observe::metrics::Handshake;
use howdah_tls::{Acceptor, Choice};
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::Driver;
use crate::application::Tls;
use crate::clock;

/// Handshakes of a front thread at a time. Beyond it the oldest, which has had the most time, is given
/// up for a new one: slow clients cannot keep others out.
const UNDER_WAY_MAX: usize = 1024;

/// How a handshake ended.
pub(super) enum Shaken {
    Done(Box<TlsStream<TcpStream>>),
    /// The client speaks HTTP without TLS.
    PlainHttp(TcpStream),
    Failed,
}

impl Driver<'_, '_> {
    /// Takes no longer than a request's header may.
    pub(super) async fn handshake(
        &mut self,
        acceptor: &Acceptor,
        stream: TcpStream,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Shaken {
        let mut place = self.life.handshakes.place();
        let deadline = clock::now().saturating_add(self.limits.read_header);
        let mut shake = pin!(shake(acceptor, stream, local));
        let in_its_place = poll_fn(|cx| match shake.as_mut().poll(cx) {
            Poll::Pending if place.is_taken(cx) => Poll::Ready(None),
            result => result.map(Some),
        });
        match self.in_time(deadline, in_its_place).await.flatten() {
            Some(Ok(shaken)) => {
                if let Shaken::Done(stream) = &shaken {
                    let version = stream.get_ref().1.protocol_version();
                    self.life.shook(match version {
                        Some(ProtocolVersion::TLSv1_2) => Handshake::Tls12,
                        _ => Handshake::Tls13,
                    });
                }
                shaken
            }
            Some(Err(error)) => {
                self.life.shook(Handshake::Failed);
                // Scanners and clients that trust others do this all the time.
                tracing::debug!(%remote, %error, "a TLS handshake failed");
                Shaken::Failed
            }
            None => {
                // Not a fault of anybody's when the server leaves.
                if !self.drain.is_ordered() {
                    self.life.shook(Handshake::Failed);
                }
                tracing::debug!(%remote, "a TLS handshake was given up");
                Shaken::Failed
            }
        }
    }
}

async fn shake(acceptor: &Acceptor, stream: TcpStream, local: SocketAddr) -> io::Result<Shaken> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        return Ok(Shaken::PlainHttp(stream));
    }
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
    let config = match acceptor.choose(&start.client_hello(), local.ip()) {
        Choice::Config(config) => config,
        Choice::Challenge(name) => acceptor.challenge(name).await,
        Choice::Demand(demanded) => demanded.config().await,
    };
    let stream = start.into_stream(config).await?;
    Ok(Shaken::Done(Box::new(stream)))
}

/// What requests are told about their connection.
pub(super) fn describe(connection: &ServerConnection, acceptor: &Acceptor) -> Tls {
    let host = acceptor
        .is_strict()
        .then(|| connection.server_name().unwrap_or_default().into());
    let suite = connection.negotiated_cipher_suite();
    Tls {
        protocol: match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "",
        },
        cipher: suite.map_or("", |suite| cipher(suite.suite())),
        host,
    }
}

/// The IANA name; rustls has its own for those of TLS 1.3.
fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or_default(),
    }
}

/// The handshakes of a front thread that are under way, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    under_way: RefCell<VecDeque<(u64, oneshot::Sender<()>)>>,
    next: Cell<u64>,
}

/// The place of one of them.
struct Place<'c> {
    all: &'c Handshakes,
    id: u64,
    taken: oneshot::Receiver<()>,
}

impl Handshakes {
    fn place(&self) -> Place<'_> {
        let id = self.next.get();
        self.next.set(id + 1);
        let (keep, taken) = oneshot::channel();
        let mut under_way = self.under_way.borrow_mut();
        if under_way.len() >= UNDER_WAY_MAX {
            // Its receiver learns that nobody keeps its place.
            under_way.pop_front();
        }
        under_way.push_back((id, keep));
        Place {
            all: self,
            id,
            taken,
        }
    }
}

impl Place<'_> {
    fn is_taken(&mut self, cx: &mut Context<'_>) -> bool {
        Pin::new(&mut self.taken).poll(cx).is_ready()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut under_way = self.all.under_way.borrow_mut();
        if let Ok(index) = under_way.binary_search_by_key(&self.id, |(id, _)| *id) {
            under_way.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let all = Handshakes::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = all.place();
        let mut second = all.place();
        let rest: Vec<_> = (2..UNDER_WAY_MAX).map(|_| all.place()).collect();
        assert!(!first.is_taken(&mut cx));
        let newest = all.place();
        assert!(first.is_taken(&mut cx));
        assert!(!second.is_taken(&mut cx));
        drop(first);
        assert_eq!(all.under_way.borrow().len(), UNDER_WAY_MAX);
        // Whoever is done makes room.
        drop(rest);
        let third = all.place();
        assert!(!second.is_taken(&mut cx));
        drop((second, third, newest));
        assert!(all.under_way.borrow().is_empty());
    }

    #[test]
    fn suites_have_their_iana_names() {
        for suite in rustls::crypto::ring::ALL_CIPHER_SUITES {
            let name = cipher(suite.suite());
            assert!(name.starts_with("TLS_"), "{name} of {suite:?}");
        }
    }
}
