//! An HTTP/3 client.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use http::{Method, Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use tokio::task::JoinHandle;

use crate::tls::Client;

/// A request and its response.
pub type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// A connection to a server, and the name of the server.
#[derive(Debug)]
pub struct Connection {
    quic: quinn::Connection,
    send: Send,
    name: String,
    driver: JoinHandle<()>,
}

struct Send(SendRequest<h3_quinn::OpenStreams, Bytes>);

impl std::fmt::Debug for Send {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Send")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Connects with the settings of `client` in a tokio runtime.
    ///
    /// # Errors
    /// Fails if the server refuses the connection.
    ///
    /// # Panics
    /// Panics if no socket can be created, or if `name` is invalid.
    pub async fn open(
        client: &Client,
        server: SocketAddr,
        name: &str,
    ) -> Result<Self, quinn::ConnectionError> {
        let tls = (*client.offering(b"h3")).clone();
        let crypto = QuicClientConfig::try_from(tls).expect("TLS 1.3");
        let config = quinn::ClientConfig::new(Arc::new(crypto));
        let address = "127.0.0.1:0".parse().expect("an address");
        let endpoint = quinn::Endpoint::client(address).expect("a socket");
        let connecting = endpoint.connect_with(config, server, name);
        let quic = connecting.expect("a name").await?;
        let own = h3_quinn::Connection::new(quic.clone());
        let (mut driver, send) = h3::client::new(own).await.expect("HTTP/3");
        let driver = tokio::spawn(async move {
            // This task ends with the connection, whatever the reason.
            let _ = std::future::poll_fn(|cx| driver.poll_close(cx)).await;
        });
        Ok(Self {
            quic,
            send: Send(send),
            name: name.to_owned(),
            driver,
        })
    }

    /// Starts a request that may have a body.
    ///
    /// # Errors
    /// Fails if the server accepts no more requests on this connection.
    ///
    /// # Panics
    /// Panics if `target` is invalid.
    pub async fn begin(&mut self, method: Method, target: &str) -> Result<Stream, StreamError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://{}{target}", self.name))
            .body(())
            .expect("a request");
        self.send.0.send_request(request).await
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn ask(&mut self, method: Method, target: &str) -> Result<Stream, StreamError> {
        let mut stream = self.begin(method, target).await?;
        stream.finish().await?;
        Ok(stream)
    }

    /// Sends a `GET` request and returns the whole response.
    ///
    /// # Errors
    /// Fails if the response is missing or incomplete.
    pub async fn get(&mut self, target: &str) -> Result<(Response<()>, String), StreamError> {
        let mut stream = self.ask(Method::GET, target).await?;
        let response = stream.recv_response().await?;
        Ok((response, rest(&mut stream).await?))
    }

    /// Waits until the connection has ended and returns the reason.
    pub async fn ended(&self) -> quinn::ConnectionError {
        self.quic.closed().await
    }

    /// Certificate of the server.
    ///
    /// # Panics
    /// Never panics: the certificate is known after the handshake.
    pub fn certificate(&self) -> Vec<u8> {
        let identity = self.quic.peer_identity().expect("it was checked");
        let chain = identity.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>();
        chain.expect("certificates of rustls")[0].to_vec()
    }
}

/// Receives the body, up to the end of the stream.
///
/// # Errors
/// Fails if the stream does not end properly.
///
/// # Panics
/// Panics if the body is not text.
pub async fn rest(stream: &mut Stream) -> Result<String, StreamError> {
    let mut text = Vec::new();
    while let Some(mut part) = stream.recv_data().await? {
        text.extend_from_slice(&part.copy_to_bytes(part.remaining()));
    }
    Ok(String::from_utf8(text).expect("text"))
}
