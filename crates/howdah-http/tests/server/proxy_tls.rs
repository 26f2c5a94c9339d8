//! `reverse_proxy` with upstreams that speak HTTPS.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use crate::support::front::front;
use crate::support::wait_until;
use howdah_config::{NoFiles, parse};
use howdah_http::Server;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// An authority and a directory for its certificates.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority of a test");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `tls_trust_pool` with the authority's certificate.
    pub(crate) fn pool(&self) -> String {
        format!("tls_trust_pool file {}", self.file("ca.pem").display())
    }

    fn issue(&self, name: &str) -> (Certificate, KeyPair) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A server configuration with this name. It requests certificates of `clients`.
    pub(crate) fn server(&self, name: &str, clients: Option<&Self>) -> Arc<ServerConfig> {
        serving(&self.issue(name), clients)
    }
}

/// A server configuration with this certificate.
fn serving(
    (certificate, key): &(Certificate, KeyPair),
    clients: Option<&Authority>,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let chain = vec![certificate.der().clone()];
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// An HTTPS server that returns the received request.
pub(crate) struct Upstream {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    pub(crate) fn start(config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            for socket in listener.incoming() {
                count.fetch_add(1, SeqCst);
                let (config, socket) = (Arc::clone(&config), socket.unwrap());
                // A client that disconnects without `close_notify` is not a failure.
                thread::spawn(move || drop(answer(config, socket)));
            }
        });
        Self { port, connections }
    }

    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }
}

fn answer(config: Arc<ServerConfig>, socket: impl Read + Write) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte)? == 0 {
                return Ok(());
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.contains("\r\nupgrade: websocket\r\n") {
            let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
            stream.write_all(switch.as_bytes())?;
            loop {
                if stream.read(&mut byte)? == 0 {
                    return Ok(());
                }
                stream.write_all(&byte)?;
                stream.flush()?;
            }
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let alpn = stream.conn.alpn_protocol().unwrap_or_default();
        let text = format!(
            "sni={}\nalpn={}\nclient={}\nbody={}\n{head}",
            stream.conn.server_name().unwrap_or("-"),
            String::from_utf8_lossy(alpn),
            stream.conn.peer_certificates().is_some(),
            String::from_utf8_lossy(&body),
        );
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        )?;
        stream.flush()?;
    }
}

pub(crate) fn transport(options: &str) -> String {
    format!("reverse_proxy UP {{\ntransport http {{\n{options}\n}}\n}}")
}

const ASK: &str =
    "POST /a?b HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";

#[test]
fn requests_pass_encrypted() {
    let authority = Authority::new();
    let upstream = Upstream::start(authority.server("localhost", None));
    let url = upstream.url("localhost");
    let front_end = front(&url, "", &transport(&authority.pool()));
    for _ in 0..3 {
        let reply = front_end.send(ASK);
        assert_eq!(reply.status, 200);
        for (name, value) in [
            ("sni", "localhost"),
            ("alpn", "http/1.1"),
            ("client", "false"),
            ("body", "abc"),
        ] {
            assert_eq!(reply.value(name), value);
        }
        let text = reply.text();
        assert!(text.contains("POST /a?b HTTP/1.1\r\n"), "{text}");
        let host = format!("\r\nhost: localhost:{}\r\n", upstream.port);
        assert!(text.contains(&host), "{text}");
        assert!(
            text.contains("\r\nx-forwarded-host: shop.example\r\n"),
            "{text}"
        );
    }
    assert_eq!(upstream.connections.load(SeqCst), 1);
    // The client's `Host` is sent only if configured.
    let site = format!(
        "reverse_proxy UP {{\nheader_up Host {{hostport}}\ntransport http {{\n{}\n}}\n}}",
        authority.pool()
    );
    let reply = front(&url, "", &site).send(ASK);
    let text = reply.text();
    assert!(text.contains("\r\nhost: shop.example\r\n"), "{text}");
}

#[test]
fn upstream_certificates_are_verified() {
    let (authority, other) = (Authority::new(), Authority::new());
    let upstream = Upstream::start(authority.server("app.test", None));
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut socket in plain.incoming().flatten() {
            // The peer may have closed the connection.
            let _ = socket.read(&mut [0; 64]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let (url, plain_url) = (
        upstream.url("127.0.0.1"),
        format!("https://127.0.0.1:{plain_port}"),
    );
    let (pool, foreign) = (authority.pool(), other.pool());
    let anybody = "tls_insecure_skip_verify".to_owned();
    for (url, options, status) in [
        (&url, format!("{pool}\ntls_server_name app.test"), 200),
        (&url, anybody.clone(), 200),
        (&url, pool.clone(), 502),
        (&url, format!("{pool}\ntls_server_name other.test"), 502),
        (&url, format!("{foreign}\ntls_server_name app.test"), 502),
        (&plain_url, anybody, 502),
    ] {
        let reply = front(url, "", &transport(&options)).send(ASK);
        assert_eq!(reply.status, status, "{url} {options}");
        if options.contains("tls_server_name") && status == 200 {
            assert_eq!(reply.value("sni"), "app.test");
        }
    }
    // The kernel accepts connections, and no process responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let options = format!("{pool}\ntls_timeout 50ms");
    assert_eq!(front(&url, "", &transport(&options)).send(ASK).status, 504);
}

#[test]
fn a_self_signed_certificate_is_its_own_authority() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("own.pem");
    for (is_ca, status) in [
        (IsCa::NoCa, 200),
        (IsCa::ExplicitNoCa, 200),
        // A certificate of an authority is not valid for a server.
        (IsCa::Ca(BasicConstraints::Unconstrained), 502),
    ] {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(&file, certificate.pem()).unwrap();
        let upstream = Upstream::start(serving(&(certificate, key), None));
        let options = format!("tls_trust_pool file {}", file.display());
        let front = front(&upstream.url("localhost"), "", &transport(&options));
        assert_eq!(front.send(ASK).status, status);
    }
}

#[test]
fn upstreams_may_request_a_client_certificate() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let upstream = Upstream::start(authority.server("localhost", Some(&clients)));
    let url = upstream.url("localhost");
    let (certificate, key) = clients.issue("front.test");
    fs::write(clients.file("own.pem"), certificate.pem()).unwrap();
    fs::write(clients.file("own.key"), key.serialize_pem()).unwrap();
    let anonymous = front(&url, "", &transport(&authority.pool()));
    assert_eq!(anonymous.send(ASK).status, 502);
    let known = format!(
        "{}\ntls_client_auth {} {}",
        authority.pool(),
        clients.file("own.pem").display(),
        clients.file("own.key").display()
    );
    let reply = front(&url, "", &transport(&known)).send(ASK);
    assert_eq!((reply.status, reply.value("client")), (200, "true"));
}

#[test]
fn upstreams_are_health_checked_over_https() {
    let (authority, other) = (Authority::new(), Authority::new());
    let stranger = Upstream::start(other.server("localhost", None));
    let known = Upstream::start(authority.server("localhost", None));
    let both = format!("{} {}", stranger.url("localhost"), known.url("localhost"));
    let site = format!(
        "reverse_proxy UP {{\nlb_policy first\nhealth_uri /up\nhealth_interval 20ms\n\
         transport http {{\n{}\n}}\n}}",
        authority.pool()
    );
    let front = front(&both, "", &site);
    wait_until("the stranger gets no requests", || {
        front.send(ASK).status == 200
    });
    assert_eq!(front.send(ASK).status, 200);
}

#[test]
fn websockets_pass_encrypted() {
    let authority = Authority::new();
    let upstream = Upstream::start(authority.server("localhost", None));
    let front = front(
        &upstream.url("localhost"),
        "",
        &transport(&authority.pool()),
    );
    let mut client = front.connect();
    client
        .write(b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    let head = client.read_until(b"\r\n\r\n");
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{head:?}");
    client.write(b"ping");
    assert_eq!(client.read_exact(4), b"ping");
}

#[test]
fn sockets_may_be_encrypted_too() {
    let authority = Authority::new();
    let config = authority.server("app.test", None);
    let path = authority.file("up.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (config, socket) = (Arc::clone(&config), socket.unwrap());
            // As above.
            thread::spawn(move || drop(answer(config, socket)));
        }
    });
    let options = format!("{}\ntls_server_name app.test", authority.pool());
    let front = front(
        &format!("unix/{}", path.display()),
        "",
        &transport(&options),
    );
    let reply = front.send(ASK);
    assert_eq!((reply.status, reply.value("sni")), (200, "app.test"));
    let text = reply.text();
    assert!(text.contains("\r\nhost: shop.example\r\n"), "{text}");
}

#[test]
fn unusable_files_are_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let gone = directory.path().join("gone.pem");
    for (upstream, options, expected) in [
        (
            "https://a",
            format!("tls_trust_pool file {}", gone.display()),
            "gone.pem: No such file",
        ),
        (
            "https://a",
            format!(
                "tls_insecure_skip_verify\ntls_client_auth {0} {0}",
                gone.display()
            ),
            "gone.pem",
        ),
        (
            "https://a..b",
            "tls_insecure_skip_verify".to_owned(),
            "`a..b` cannot be the name of a certificate: write `tls_server_name NAME`",
        ),
    ] {
        let text = format!(
            ":0 {{\nbind 127.0.0.1\nreverse_proxy {upstream} {{\ntransport http {{\n{options}\n}}\n}}\n}}\n"
        );
        let config = parse(&text, "Caddyfile", &|_| None, &NoFiles)
            .unwrap()
            .config;
        let error = Server::bind(&config, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
