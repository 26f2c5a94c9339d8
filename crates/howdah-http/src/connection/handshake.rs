//! The TLS handshake of a connection, in its time and its place.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use howdah_observe::metrics::Handshake;
use howdah_tls::{Acceptor, Choice, ClientCertificate};
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::Driver;
use crate::application::{Tls, TlsClient};
use crate::clock;

/// Handshakes of a front thread at a time. Beyond it the oldest, which has had the most time, is given
/// up for a new one: slow clients cannot keep others out.
const UNDER_WAY_MAX: usize = 1024;

/// How long a client waits at most for a certificate that is got for it, in milliseconds: an authority that
/// has not finished by then is slower than any browser is patient.
const CERTIFICATE_MAX: u64 = 90_000;

/// How a handshake ended.
pub(super) enum Shaken {
    Done(Box<TlsStream<TcpStream>>),
    /// The client speaks HTTP without TLS.
    PlainHttp(TcpStream),
    Failed,
}

/// What a client wants, by its first words.
enum Greeted {
    Tls(Box<StartHandshake<TcpStream>>, Choice),
    PlainHttp(TcpStream),
}

impl Driver<'_, '_> {
    /// What the client does takes no longer than a request's header may; a certificate that is to be got
    /// first is not its fault.
    pub(super) async fn handshake(
        &mut self,
        acceptor: &Acceptor,
        stream: TcpStream,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Shaken {
        let mut place = self.life.handshakes.place();
        match self.shake(&mut place, acceptor, stream, local).await {
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

    /// `None`: it was given up.
    async fn shake(
        &mut self,
        place: &mut Place<'_>,
        acceptor: &Acceptor,
        stream: TcpStream,
        local: SocketAddr,
    ) -> Option<io::Result<Shaken>> {
        let mut deadline = clock::now().saturating_add(self.limits.read_header);
        let greeted = greet(acceptor, stream, local);
        let (start, choice) = match self.in_its_place(place, deadline, greeted).await? {
            Ok(Greeted::Tls(start, choice)) => (start, choice),
            Ok(Greeted::PlainHttp(stream)) => return Some(Ok(Shaken::PlainHttp(stream))),
            Err(error) => return Some(Err(error)),
        };
        let config = match choice {
            Choice::Config(config) => config,
            Choice::Challenge(name) => {
                let config = acceptor.challenge(name);
                self.in_its_place(place, deadline, config).await?
            }
            Choice::Demand(demanded) => {
                let since = clock::now();
                let latest = since.saturating_add(CERTIFICATE_MAX);
                let config = self.in_its_place(place, latest, demanded.config()).await?;
                deadline = deadline.saturating_add(clock::now().saturating_sub(since));
                config
            }
        };
        let stream = start.into_stream(config);
        let done = self.in_its_place(place, deadline, stream).await?;
        Some(done.map(|stream| Shaken::Done(Box::new(stream))))
    }

    /// `None`: its place is another's, its time is over, or the server leaves.
    async fn in_its_place<T>(
        &mut self,
        place: &mut Place<'_>,
        deadline: u64,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let work = poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Pending if place.is_taken(cx) => Poll::Ready(None),
            result => result.map(Some),
        });
        self.in_time(deadline, work).await.flatten()
    }
}

async fn greet(acceptor: &Acceptor, stream: TcpStream, local: SocketAddr) -> io::Result<Greeted> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        return Ok(Greeted::PlainHttp(stream));
    }
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
    let choice = acceptor.choose(&start.client_hello(), local.ip());
    Ok(Greeted::Tls(Box::new(start), choice))
}

/// What requests are told about their connection.
pub(super) fn describe(
    connection: &ServerConnection,
    acceptor: &Acceptor,
    local: SocketAddr,
) -> Tls {
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
        client: client(connection, acceptor, local),
    }
}

fn client(connection: &ServerConnection, acceptor: &Acceptor, local: SocketAddr) -> TlsClient {
    if !acceptor.asks_clients(connection.server_name(), local.ip()) {
        return TlsClient::Unasked;
    }
    let chain = connection.peer_certificates().unwrap_or_default();
    match ClientCertificate::of(chain) {
        Some(certificate) => TlsClient::Verified(Rc::new(certificate)),
        None => TlsClient::Nobody,
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
