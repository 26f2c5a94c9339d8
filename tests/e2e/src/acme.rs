//! An ACME authority for tests, RFC 8555. It validates names at the ports of a server under test,
//! but accepts every signature of a client unchecked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use howdah_testkit::PATIENCE;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::tls::{Authority, Client};

/// A running authority. Its threads end with the test.
#[derive(Debug)]
pub struct Acme {
    address: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    authority: Authority,
    base: String,
    state: Mutex<State>,
    /// Notified when the ports are set.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ports: Option<Ports>,
    orders: Vec<Order>,
    accounts: usize,
    /// Error type with which new orders are refused.
    refuses: Option<&'static str>,
}

/// Addresses of the server under test.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// For `http-01`.
    pub http: Option<SocketAddr>,
    /// For `tls-alpn-01`.
    pub https: Option<SocketAddr>,
}

#[derive(Debug, Clone)]
struct Order {
    host: String,
    status: &'static str,
    /// Type of the challenge that was validated.
    tried: Option<String>,
    certificate: Option<String>,
}

impl Acme {
    /// Starts an authority on a free port. `authority` issues its server certificate and the
    /// certificates for clients.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start(directory: &Path, authority: Authority) -> Self {
        let pair = authority.issue(directory, "acme", &["127.0.0.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .expect("versions of this provider")
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_file(&pair.certificate).expect("PEM")],
                PrivateKeyDer::from_pem_file(&pair.key).expect("PEM"),
            )
            .expect("a pair");
        let inner = Arc::new(Inner {
            authority,
            base: format!("https://{address}"),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (served, config) = (Arc::clone(&inner), Arc::new(config));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, config) = (Arc::clone(&served), Arc::clone(&config));
                // A client that disconnects is not a failure here. The test notices the missing
                // response.
                std::thread::spawn(move || served.serve(stream, config));
            }
        });
        Self { address, inner }
    }

    /// URL of the directory.
    pub fn directory(&self) -> String {
        format!("https://{}/dir", self.address)
    }

    /// Root certificate of the authority.
    pub fn root(&self) -> String {
        self.inner.authority.pem()
    }

    /// The authority that issues the certificates.
    pub fn authority(&self) -> &Authority {
        &self.inner.authority
    }

    /// Sets the addresses at which names are validated. Until then, validations wait.
    pub fn check_at(&self, ports: Ports) {
        self.inner.lock().ports = Some(ports);
        self.inner.changed.notify_all();
    }

    /// Refuses further orders with this type of problem.
    pub fn refuse(&self, problem: &'static str) {
        self.inner.lock().refuses = Some(problem);
    }

    /// Challenge types that were validated, in the order of the orders.
    pub fn tried(&self) -> Vec<Option<String>> {
        let state = self.inner.lock();
        state
            .orders
            .iter()
            .map(|order| order.tried.clone())
            .collect()
    }

    /// Number of accounts that were created.
    pub fn accounts(&self) -> usize {
        self.inner.lock().accounts
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one request on one connection.
    fn serve(&self, stream: TcpStream, config: Arc<ServerConfig>) -> Option<()> {
        let connection = ServerConnection::new(config).ok()?;
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_ascii_lowercase());
        }
        let length = head
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
        stream.read_exact(&mut body).ok()?;
        let target = head.first()?.split(' ').nth(1)?.to_owned();
        let payload = || {
            let jws: Value = serde_json::from_slice(&body).ok()?;
            let payload = BASE64_URL_SAFE_NO_PAD
                .decode(jws["payload"].as_str()?)
                .ok()?;
            serde_json::from_slice(&payload).ok()
        };
        let (status, location, text) = self.answer(&target, &payload().unwrap_or_default());
        let location =
            location.map_or_else(String::new, |at| format!("Location: {}{at}\r\n", self.base));
        let answer = format!(
            "HTTP/1.1 {status} x\r\nReplay-Nonce: nonce\r\n{location}Connection: close\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        let stream = stream.get_mut();
        stream.write_all(answer.as_bytes()).ok()?;
        if !head.first()?.starts_with("head") {
            stream.write_all(text.as_bytes()).ok()?;
        }
        stream.conn.send_close_notify();
        stream.flush().ok()
    }

    fn answer(&self, target: &str, payload: &Value) -> (u16, Option<String>, String) {
        let at = |path: &str| format!("{}{path}", self.base);
        let mut parts = target.trim_start_matches('/').split('/');
        let kind = parts.next().unwrap_or_default();
        let index = parts.next().and_then(|index| index.parse::<usize>().ok());
        let text = match (kind, index) {
            ("dir", _) => json!({
                "newNonce": at("/nonce"), "newAccount": at("/account"), "newOrder": at("/order"),
            }),
            ("nonce", _) => json!({}),
            ("account", _) => {
                self.lock().accounts += 1;
                return (
                    201,
                    Some("/account/1".into()),
                    json!({"status": "valid"}).to_string(),
                );
            }
            ("order", None) => {
                let mut state = self.lock();
                let host = payload["identifiers"][0]["value"]
                    .as_str()
                    .unwrap_or_default();
                state.orders.push(Order {
                    host: host.to_owned(),
                    status: "pending",
                    tried: None,
                    certificate: None,
                });
                if let Some(problem) = state.refuses {
                    let kind = format!("urn:ietf:params:acme:error:{problem}");
                    return (
                        429,
                        None,
                        json!({"type": kind, "detail": "not now"}).to_string(),
                    );
                }
                let index = state.orders.len() - 1;
                drop(state);
                let order = self.order(index).to_string();
                return (201, Some(format!("/order/{index}")), order);
            }
            ("order", Some(index)) => self.order(index),
            ("authz", Some(index)) => {
                let status = match self.lock().orders[index].status {
                    "pending" => "pending",
                    "invalid" => "invalid",
                    _ => "valid",
                };
                let host = self.lock().orders[index].host.clone();
                let challenge = |kind: &str| {
                    let url = at(&format!("/challenge/{index}/{kind}"));
                    json!({"type": kind, "url": url, "token": format!("token-{index}"), "status": status})
                };
                json!({
                    "status": status, "identifier": {"type": "dns", "value": host},
                    "challenges": [challenge("tls-alpn-01"), challenge("http-01")],
                })
            }
            ("challenge", Some(index)) => {
                let kind = parts.next().unwrap_or_default();
                let host = self.lock().orders[index].host.clone();
                let passed = self.check(kind, &host, &format!("token-{index}"));
                let order = &mut self.lock().orders[index];
                order.tried = Some(kind.to_owned());
                order.status = if passed { "ready" } else { "invalid" };
                json!({"type": kind, "url": at(target), "token": format!("token-{index}"), "status": "processing"})
            }
            ("finalize", Some(index)) => {
                let request = payload["csr"].as_str().unwrap_or_default();
                let request = BASE64_URL_SAFE_NO_PAD.decode(request).expect("base64url");
                let order = &mut self.lock().orders[index];
                order.certificate = Some(self.authority.sign(&request));
                order.status = "valid";
                json!({"status": "valid", "authorizations": [], "finalize": at(target)})
            }
            ("cert", Some(index)) => {
                let certificate = self.lock().orders[index].certificate.clone();
                return (200, None, certificate.unwrap_or_default());
            }
            _ => return (404, None, json!({"detail": target}).to_string()),
        };
        (200, None, text.to_string())
    }

    fn order(&self, index: usize) -> Value {
        let order = self.lock().orders[index].clone();
        let at = |kind: &str| format!("{}/{kind}/{index}", self.base);
        json!({
            "status": order.status, "authorizations": [at("authz")], "finalize": at("finalize"),
            "certificate": order.certificate.map(|_| at("cert")),
        })
    }

    /// Whether the server under test proves that it controls the name.
    fn check(&self, kind: &str, host: &str, token: &str) -> bool {
        let waiting = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| state.ports.is_none());
        let ports = waiting.ok().and_then(|(state, _)| state.ports);
        let Some(ports) = ports else { return false };
        match kind {
            "http-01" => ports
                .http
                .is_some_and(|address| http(address, host, token).is_some()),
            _ => ports.https.is_some_and(|address| tls(address, host)),
        }
    }
}

fn http(address: SocketAddr, host: &str, token: &str) -> Option<()> {
    let mut connection = howdah_testkit::Connection::open(address).ok()?;
    let target = format!("/.well-known/acme-challenge/{token}");
    let response = connection
        .exchange(&howdah_testkit::Request::get(&target).host(host))
        .ok()?;
    // The thumbprint of the account follows the token.
    let proof = response.text();
    let thumbprint = proof.strip_prefix(token)?.strip_prefix('.')?;
    (response.status() == 200 && thumbprint.len() == 43).then_some(())
}

/// Whether a handshake with `acme-tls/1` returns a certificate for the name with the extension of
/// RFC 8737.
fn tls(address: SocketAddr, host: &str) -> bool {
    /// `id-pe-acmeIdentifier` in DER.
    const EXTENSION: &[u8] = &[6, 8, 43, 6, 1, 5, 5, 7, 1, 31];
    let certificate = Client::certificate_for_acme(address, host);
    certificate.is_some_and(|certificate| {
        let has = |bytes: &[u8]| certificate.windows(bytes.len()).any(|part| part == bytes);
        has(EXTENSION) && has(host.as_bytes())
    })
}
