//! HTTP/3, with a client that also uses quinn and h3.

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::support::{Harness, PATIENCE};
use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use howdah_config::model::Config;
use howdah_config::{NoFiles, parse};
use howdah_tls::{Tls, authority_root};
use http::{Method, Request, Response, StatusCode};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// An authority for client certificates.
const CLIENTS: &str = include_str!("../support/authority.pem");

/// A server of `a.test` with its certificates in a separate directory.
struct Fixture {
    harness: Option<Harness>,
    root: String,
    directory: TempDir,
}

fn configuration(directory: &Path, servers: &str, tls: &str) -> Config {
    let storage = directory.join("storage");
    let www = directory.join("www");
    fs::create_dir_all(&www).unwrap();
    fs::write(www.join("index.php"), "<?php // source").unwrap();
    let text = format!(
        "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {}\n\
         frankenphp {{\nfront_threads 1\n}}\nservers {{\n{servers}\n}}\n}}\n\
         https://a.test:0 {{\nbind 127.0.0.1\ntls internal {tls}\nroot * {}\nphp_server\n}}\n",
        storage.display(),
        www.display(),
    );
    parse(&text, "Caddyfile", &|_| None, &NoFiles)
        .unwrap()
        .config
}

impl Fixture {
    fn start(servers: &str) -> Self {
        Self::start_with(servers, "")
    }

    fn start_with(servers: &str, tls: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tls = tls.replace(
            "ROOT",
            &directory.path().join("root.pem").display().to_string(),
        );
        fs::write(directory.path().join("root.pem"), CLIENTS).unwrap();
        let config = configuration(directory.path(), servers, &tls);
        let certificates = Tls::new(&config).unwrap();
        let harness = Harness::start_with(&config, certificates.as_ref());
        let (_, root) = authority_root(&config.global.https).unwrap();
        Self {
            harness: Some(harness),
            root,
            directory,
        }
    }

    fn harness(&self) -> &Harness {
        self.harness.as_ref().unwrap()
    }

    fn www(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join("www").join(name)
    }

    async fn connect(&self) -> Client {
        Client::connect(self.harness().address(), &self.root)
            .await
            .unwrap()
    }
}

struct Client {
    quic: quinn::Connection,
    send: SendRequest<h3_quinn::OpenStreams, Bytes>,
    driver: JoinHandle<()>,
    endpoint: quinn::Endpoint,
}

type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

impl Client {
    async fn connect(
        address: SocketAddr,
        root: &str,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
        let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse()?)?;
        let quic = within(endpoint.connect_with(config, address, "a.test")?).await?;
        let http = h3_quinn::Connection::new(quic.clone());
        let (mut driver, send) = h3::client::new(http).await?;
        let driver = tokio::spawn(async move {
            // This task ends with the connection, whatever the reason.
            let _ = std::future::poll_fn(|cx| driver.poll_close(cx)).await;
        });
        Ok(Self {
            quic,
            send,
            driver,
            endpoint,
        })
    }

    async fn begin(&mut self, request: Request<()>) -> Stream {
        within(self.send.send_request(request)).await.unwrap()
    }

    async fn send(&mut self, request: Request<()>, body: &[u8]) -> (Response<()>, Vec<u8>) {
        let mut stream = self.begin(request).await;
        for part in body.chunks(64 << 10) {
            let part = Bytes::copy_from_slice(part);
            within(stream.send_data(part)).await.unwrap();
        }
        within(stream.finish()).await.unwrap();
        let response = within(stream.recv_response()).await.unwrap();
        let body = rest(&mut stream).await.unwrap();
        (response, body)
    }

    async fn get(&mut self, path: &str) -> (Response<()>, Vec<u8>) {
        self.send(request(Method::GET, path), b"").await
    }

    async fn end(self) {
        drop(self.send);
        self.quic.close(0x100_u32.into(), b"");
        within(self.driver).await.unwrap();
        within(self.endpoint.wait_idle()).await;
    }
}

async fn rest(stream: &mut Stream) -> Result<Vec<u8>, h3::error::StreamError> {
    let mut body = Vec::new();
    while let Some(mut data) = within(stream.recv_data()).await? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(body)
}

fn request(method: Method, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(format!("https://a.test{path}"))
        .body(())
        .unwrap()
}

async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("waited in vain")
}

/// The client continues meanwhile.
async fn until(mut condition: impl FnMut() -> bool) {
    within(async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn requests_reach_php_and_files() {
    let fixture = Fixture::start("");
    fs::write(fixture.www("file.txt"), "a file\n").unwrap();
    let mut client = fixture.connect().await;

    let (response, body) = client.get("/index.php/info?a=1").await;
    let text = String::from_utf8(body).unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["server"], "Howdah");
    assert!(response.headers().contains_key("date"));
    assert!(response.headers().get("alt-svc").is_none());
    for line in [
        "version=HTTP/3.0",
        "path_info=/info",
        "query=a=1",
        "host=a.test",
        "body=empty",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }

    let (response, body) = client.get("/file.txt").await;
    assert_eq!(
        (response.status(), &body[..]),
        (StatusCode::OK, &b"a file\n"[..])
    );
    assert_eq!(response.headers()["content-length"], "7");

    let (response, body) = client.send(request(Method::HEAD, "/file.txt"), b"").await;
    assert_eq!((response.status(), body.len()), (StatusCode::OK, 0));
    assert_eq!(response.headers()["content-length"], "7");

    let (response, _) = client.get("/index.php/%00").await;
    assert_eq!(response.status(), 400);
    let mut other = request(Method::GET, "/");
    *other.uri_mut() = "https://other.test/".parse().unwrap();
    let (response, _) = client.send(other, b"").await;
    assert_eq!(response.status(), 404);

    let (response, _) = client.get("/?mode=304").await;
    assert_eq!(response.status(), 304);
    client.end().await;
}

#[tokio::test]
async fn bodies_go_both_ways() {
    let fixture = Fixture::start("max_body_size 2MiB");
    let large: Vec<u8> = (0..5_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    fs::write(fixture.www("large.bin"), &large).unwrap();
    let mut client = fixture.connect().await;

    let sent = &large[..1 << 20];
    let sum: u64 = sent.iter().map(|byte| u64::from(*byte)).sum();
    let (response, body) = client.send(request(Method::POST, "/"), sent).await;
    let text = String::from_utf8(body).unwrap();
    assert_eq!(response.status(), 200, "{text}");
    for line in [
        "body=spooled".into(),
        "length=1048576".into(),
        format!("sum={sum}"),
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }

    let (_, body) = client.send(request(Method::POST, "/"), b"small").await;
    assert!(
        String::from_utf8(body)
            .unwrap()
            .contains("body=memory\nlength=5\n")
    );

    let (response, body) = client.get("/large.bin").await;
    assert_eq!(response.status(), 200);
    assert!(body == large, "{} bytes, others than were sent", body.len());

    // A wrong length.
    let mut short = request(Method::POST, "/");
    short
        .headers_mut()
        .insert("content-length", "9".parse().unwrap());
    let (response, _) = client.send(short, b"short").await;
    assert_eq!(response.status(), 400);
    let mut huge = request(Method::POST, "/");
    huge.headers_mut()
        .insert("content-length", "3000000".parse().unwrap());
    let mut stream = client.begin(huge).await;
    let response = within(stream.recv_response()).await.unwrap();
    assert_eq!(response.status(), 413);
    client.end().await;
}

#[tokio::test]
async fn headers_have_limits() {
    let fixture = Fixture::start("max_header_size 4KiB");
    let mut client = fixture.connect().await;
    // The client knows the limit from the server's settings, so it accepts a response that arrives
    // late.
    let mut large = request(Method::GET, "/");
    let value = "x".repeat(5000).parse().unwrap();
    large.headers_mut().insert("x-large", value);
    let refused = match within(client.send.send_request(large)).await {
        Err(error) => matches!(error, h3::error::StreamError::HeaderTooBig { .. }),
        Ok(mut stream) => {
            within(stream.finish()).await.unwrap();
            within(stream.recv_response()).await.unwrap().status() == 431
        }
    };
    assert!(refused);
    assert_eq!(fixture.harness().seen.calls.load(SeqCst), 0);
    // Header fields of HTTP/1 are malformed here.
    let mut wrong = request(Method::GET, "/");
    wrong
        .headers_mut()
        .insert("connection", "close".parse().unwrap());
    let mut stream = client.begin(wrong).await;
    within(stream.finish()).await.unwrap();
    assert!(within(stream.recv_response()).await.is_err());
    // The connection stays open.
    assert_eq!(client.get("/").await.0.status(), 200);
    client.end().await;
}

#[tokio::test]
async fn a_torn_response_is_reset() {
    let fixture = Fixture::start("");
    let mut client = fixture.connect().await;
    let mut stream = client.begin(request(Method::GET, "/?mode=fail")).await;
    within(stream.finish()).await.unwrap();
    // The reset may overtake the response head.
    if let Ok(response) = within(stream.recv_response()).await {
        assert_eq!(response.status(), 200);
        assert!(rest(&mut stream).await.is_err(), "it looks complete");
    }
    client.end().await;
}

#[tokio::test]
async fn a_client_that_disconnects_ends_its_requests() {
    let fixture = Fixture::start("");
    let seen = &fixture.harness().seen;
    let mut client = fixture.connect().await;
    let mut stream = client.begin(request(Method::GET, "/?mode=hang")).await;
    within(stream.finish()).await.unwrap();
    let mut endless = client.begin(request(Method::GET, "/?mode=endless")).await;
    within(endless.finish()).await.unwrap();
    within(endless.recv_response()).await.unwrap();
    until(|| seen.calls.load(SeqCst) == 2).await;
    client.end().await;
    until(|| seen.dropped.load(SeqCst) == 2).await;
    let stats = fixture.harness().server.stats();
    until(|| stats.connections() == 0).await;
}

#[tokio::test]
async fn stopping_drains() {
    let mut fixture = Fixture::start("");
    let harness = fixture.harness.take().unwrap();
    let mut client = Client::connect(harness.address(), &fixture.root)
        .await
        .unwrap();
    let mut stream = client.begin(request(Method::GET, "/?mode=gate")).await;
    within(stream.finish()).await.unwrap();
    assert_eq!(within(stream.recv_response()).await.unwrap().status(), 200);
    let first = within(stream.recv_data()).await.unwrap().unwrap();
    assert_eq!(first.chunk(), b"first");
    drop(first);
    harness.shutdown.drain(Duration::from_secs(20));
    // The shutdown has started when new connections are refused.
    while Client::connect(harness.address(), &fixture.root)
        .await
        .is_ok()
    {}
    harness.seen.open_gate();
    assert_eq!(rest(&mut stream).await.unwrap(), b"second");
    within(client.driver).await.unwrap();
    let reason = client.quic.close_reason();
    let by_server = matches!(reason, Some(quinn::ConnectionError::ApplicationClosed(_)));
    assert!(by_server, "{reason:?}");
    tokio::task::spawn_blocking(|| harness.join())
        .await
        .unwrap();
}

#[tokio::test]
async fn it_can_be_turned_off() {
    for (servers, tls) in [
        ("protocols h1 h2", ""),
        // A connection is for all hosts, and some of them require certificates.
        ("", "{\nclient_auth {\ntrusted_ca_cert_file ROOT\n}\n}"),
    ] {
        let fixture = Fixture::start_with(servers, tls);
        let socket = std::net::UdpSocket::bind(fixture.harness().address());
        assert!(socket.is_ok(), "the port is taken: {socket:?}");
    }
    let fixture = Fixture::start("");
    let socket = std::net::UdpSocket::bind(fixture.harness().address());
    assert!(socket.is_err(), "the port is free");
}

#[tokio::test]
async fn a_header_without_end_is_stopped() {
    let fixture = Fixture::start("max_header_size 4KiB");
    let mut client = fixture.connect().await;
    let (mut send, _receive) = within(client.quic.open_bi()).await.unwrap();
    // A header frame that declares 1 GiB.
    within(send.write_all(&[0x01, 0xc0, 0, 0, 0, 0x40, 0, 0, 0]))
        .await
        .unwrap();
    let part = vec![0; 16 << 10];
    let mut written = 0;
    let error = loop {
        match within(send.write_all(&part)).await {
            Ok(()) => written += part.len(),
            Err(error) => break error,
        }
        assert!(written < 4 << 20, "it takes all");
    };
    let stopped = quinn::WriteError::Stopped(0x107_u32.into());
    assert_eq!(error, stopped);
    assert_eq!(client.get("/").await.0.status(), 200);
    client.end().await;
}

#[test]
fn other_protocols_tell_of_it() {
    for (servers, is_announced) in [("", true), ("protocols h1 h2", false)] {
        let fixture = Fixture::start(servers);
        let address = fixture.harness().address();
        let mut roots = rustls::RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(fixture.root.as_bytes()).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "a.test".try_into().unwrap();
        let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = fixture.harness().connect().stream;
        let mut stream = rustls::StreamOwned::new(connection, stream);
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let field = format!("\r\nalt-svc: h3=\":{}\"; ma=2592000\r\n", address.port());
        assert_eq!(response.contains(&field), is_announced, "{response}");
    }
}
