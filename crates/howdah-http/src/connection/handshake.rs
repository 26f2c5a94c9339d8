//! The TLS handshake of a connection, with its deadline and its limit on concurrent handshakes.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use howdah_observe::metrics::Handshake;
use howdah_tls::{Acceptor, Choice, ClientCertificate};
use http::StatusCode;
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::close::refuse;
use super::driver::Driver;
use crate::clock;
use crate::message::connection::{Tls, TlsClient};
use crate::socket::handshakes::Place;
use crate::socket::stream::Stream;
use crate::socket::tcp::Socket;

/// Milliseconds that a client waits at most for an on-demand certificate: no browser waits longer.
const CERTIFICATE_MAX: u64 = 90_000;

/// Response to a client that speaks HTTP where HTTPS is expected.
const PLAIN_HTTP: &str = "This port speaks HTTPS: use https:// in the address.";

/// How a handshake ended.
enum HandshakeOutcome {
    Done(Box<TlsStream<Socket>>),
    /// The client speaks HTTP without TLS.
    PlainHttp(Socket),
    Failed,
}

/// A connection that is ready for requests.
pub(super) struct OpenConnection {
    pub(super) stream: Stream,
    /// `None` without encryption.
    pub(super) tls: Option<Tls>,
    /// Negotiated by the handshake: then anything but HTTP/2 is an error.
    pub(super) is_http2: bool,
}

/// The request in the first message of a client.
enum ClientHello {
    Tls(Box<StartHandshake<Socket>>, Choice),
    PlainHttp(Socket),
}

impl Driver<'_, '_> {
    /// Encrypts the connection, if its listener has an acceptor.
    pub(super) async fn open(
        &mut self,
        acceptor: Option<Arc<Acceptor>>,
        stream: Socket,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Option<OpenConnection> {
        let Some(acceptor) = acceptor else {
            return Some(OpenConnection {
                stream: Stream::Plain(stream),
                tls: None,
                is_http2: false,
            });
        };
        // Boxed, so that its memory is freed after the handshake.
        let handshake = Box::pin(self.handshake(&acceptor, stream, local, remote));
        match handshake.await {
            HandshakeOutcome::Done(stream) => {
                let session = stream.get_ref().1;
                Some(OpenConnection {
                    is_http2: session.alpn_protocol() == Some(b"h2"),
                    tls: Some(describe(session, &acceptor, local)),
                    stream: Stream::Tls(stream),
                })
            }
            HandshakeOutcome::PlainHttp(stream) => {
                let stream = Stream::Plain(stream);
                refuse(stream, StatusCode::BAD_REQUEST, PLAIN_HTTP).await;
                None
            }
            HandshakeOutcome::Failed => None,
        }
    }

    /// The client has as much time as for the header of a request. The time to obtain a certificate does not count.
    async fn handshake(
        &mut self,
        acceptor: &Acceptor,
        stream: Socket,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> HandshakeOutcome {
        let mut place = self.life.handshakes.place();
        match self.negotiate(&mut place, acceptor, stream, local).await {
            Some(Ok(outcome)) => {
                if let HandshakeOutcome::Done(stream) = &outcome {
                    let version = stream.get_ref().1.protocol_version();
                    self.life.count_handshake(match version {
                        Some(ProtocolVersion::TLSv1_2) => Handshake::Tls12,
                        _ => Handshake::Tls13,
                    });
                }
                outcome
            }
            Some(Err(error)) => {
                self.life.count_handshake(Handshake::Failed);
                // Scanners, and clients that trust other authorities, cause this all the time.
                tracing::debug!(%remote, %error, "a TLS handshake failed");
                HandshakeOutcome::Failed
            }
            None => {
                // Not an error while the server shuts down.
                if !self.drain.is_ordered() {
                    self.life.count_handshake(Handshake::Failed);
                }
                tracing::debug!(%remote, "a TLS handshake was aborted");
                HandshakeOutcome::Failed
            }
        }
    }

    /// `None`: the handshake was abandoned.
    async fn negotiate(
        &mut self,
        place: &mut Place<'_>,
        acceptor: &Acceptor,
        stream: Socket,
        local: SocketAddr,
    ) -> Option<io::Result<HandshakeOutcome>> {
        let mut deadline = clock::now().saturating_add(self.limits.read_header);
        let hello = client_hello(acceptor, stream, local);
        let (start, choice) = match self.run_with_place(place, deadline, hello).await? {
            Ok(ClientHello::Tls(start, choice)) => (start, choice),
            Ok(ClientHello::PlainHttp(stream)) => {
                return Some(Ok(HandshakeOutcome::PlainHttp(stream)));
            }
            Err(error) => return Some(Err(error)),
        };
        let config = match choice {
            Choice::Config(config) => config,
            Choice::Challenge(name) => {
                let config = acceptor.challenge(name);
                self.run_with_place(place, deadline, config).await?
            }
            Choice::OnDemand(pending) => {
                let since = clock::now();
                let latest = since.saturating_add(CERTIFICATE_MAX);
                let config = self.run_with_place(place, latest, pending.config()).await?;
                deadline = deadline.saturating_add(clock::now().saturating_sub(since));
                config
            }
        };
        let stream = start.into_stream(config);
        let done = self.run_with_place(place, deadline, stream).await?;
        Some(done.map(|stream| HandshakeOutcome::Done(Box::new(stream))))
    }

    /// `None`: a newer handshake took its place, the time is over, or the server shuts down.
    async fn run_with_place<T>(
        &mut self,
        place: &mut Place<'_>,
        deadline: u64,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let work = poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Pending if place.is_evicted(cx) => Poll::Ready(None),
            result => result.map(Some),
        });
        self.before_deadline(deadline, work).await.flatten()
    }
}

async fn client_hello(
    acceptor: &Acceptor,
    stream: Socket,
    local: SocketAddr,
) -> io::Result<ClientHello> {
    let mut first = [0];
    if stream.tcp().peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        return Ok(ClientHello::PlainHttp(stream));
    }
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
    let choice = acceptor.choose(&start.client_hello(), local.ip());
    Ok(ClientHello::Tls(Box::new(start), choice))
}

/// Properties of a connection for its requests.
fn describe(connection: &ServerConnection, acceptor: &Acceptor, local: SocketAddr) -> Tls {
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
    if !acceptor.requests_client_certificate(connection.server_name(), local.ip()) {
        return TlsClient::NotRequested;
    }
    let chain = connection.peer_certificates().unwrap_or_default();
    match ClientCertificate::of(chain) {
        Some(certificate) => TlsClient::Verified(Rc::new(certificate)),
        None => TlsClient::NoCertificate,
    }
}

/// The IANA name; rustls has different names for those of TLS 1.3.
fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_their_iana_names() {
        for suite in rustls::crypto::ring::ALL_CIPHER_SUITES {
            let name = cipher(suite.suite());
            assert!(name.starts_with("TLS_"), "{name} of {suite:?}");
        }
    }
}
