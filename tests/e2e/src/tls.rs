//! An HTTP/1.1 client over TLS, and certificates for tests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use howdah_testkit::PATIENCE;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, ProtocolVersion,
    RootCertStore, SignatureScheme, StreamOwned, SupportedProtocolVersion,
};

/// Settings of a client's connections.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
}

/// A complete response, and the parameters of its TLS connection.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Status line and header fields.
    pub head: String,
    /// Response body.
    pub body: String,
    /// TLS version.
    pub version: ProtocolVersion,
    /// Whether the session was resumed.
    pub resumed: bool,
    /// Certificate of the server.
    pub certificate: Vec<u8>,
}

impl Answer {
    /// Checks status and body.
    ///
    /// # Panics
    /// Panics if they differ.
    #[track_caller]
    pub fn assert(&self, status: u16, body: &str) {
        assert_eq!(
            (self.status, self.body.as_str()),
            (status, body),
            "{}",
            self.head
        );
    }

    /// Value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(pem: &str) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    roots
}

impl Client {
    /// Trusts these authorities.
    ///
    /// # Panics
    /// Panics if they are invalid.
    pub fn trusting(pem: &str) -> Self {
        Self::with(pem, rustls::ALL_VERSIONS, None)
    }

    /// Like `trusting`, with a certain TLS version.
    ///
    /// # Panics
    /// Panics if they are invalid.
    pub fn of_version(pem: &str, version: &'static SupportedProtocolVersion) -> Self {
        Self::with(pem, &[version], None)
    }

    /// Like `trusting`, with a client certificate.
    ///
    /// # Panics
    /// Panics if a certificate is invalid.
    pub fn with_certificate(pem: &str, own: &Pair) -> Self {
        Self::with(pem, rustls::ALL_VERSIONS, Some(own))
    }

    fn with(pem: &str, versions: &[&'static SupportedProtocolVersion], own: Option<&Pair>) -> Self {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .expect("versions of this provider")
            .with_root_certificates(roots(pem));
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let chain = vec![CertificateDer::from_pem_file(&own.certificate).expect("PEM")];
                let key = PrivateKeyDer::from_pem_file(&own.key).expect("PEM");
                builder.with_client_auth_cert(chain, key).expect("a pair")
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(16);
        Self {
            config: Arc::new(config),
        }
    }

    /// Sends a `GET` request for a host on a new connection. The server must close the connection
    /// properly.
    pub fn get(&self, address: SocketAddr, host: &str, target: &str) -> io::Result<Answer> {
        self.send(address, host, host, target, &[])
    }

    /// Like `get`, with a different `Host`, and with a body by `POST`.
    pub fn send(
        &self,
        address: SocketAddr,
        name: &str,
        host: &str,
        target: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let mut stream = self.connect(address, name)?;
        let method = if body.is_empty() { "GET" } else { "POST" };
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        // An end without `close_notify` is an error, because an attacker could have caused it.
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(answer(&stream.conn, &bytes))
    }

    /// Opens a connection and performs the handshake.
    pub fn connect(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        self.connect_behind(address, name, b"")
    }

    /// Like `connect`, from a load balancer that sends a PROXY protocol header first.
    pub fn connect_behind(
        &self,
        address: SocketAddr,
        name: &str,
        header: &[u8],
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        let mut connection =
            ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.write_all(header)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(StreamOwned::new(connection, socket))
    }

    /// Trusts every server.
    ///
    /// # Panics
    /// Never panics: the versions are those of the provider.
    pub fn trusting_anyone() -> Self {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .expect("versions of this provider")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self {
            config: Arc::new(config),
        }
    }

    /// Returns the certificate that a server sends to an authority that validates a name, whatever
    /// its issuer.
    pub fn certificate_for_acme(address: SocketAddr, name: &str) -> Option<Vec<u8>> {
        let client = Self::trusting_anyone().speaking(b"acme-tls/1");
        let stream = client.connect(address, name).ok()?;
        let leaf = stream.conn.peer_certificates()?.first()?;
        (stream.conn.alpn_protocol()? == b"acme-tls/1").then(|| leaf.to_vec())
    }

    /// Like this client, with another ALPN protocol.
    #[must_use]
    pub fn speaking(&self, protocol: &[u8]) -> Self {
        Self {
            config: self.offering(protocol),
        }
    }

    /// The TLS configuration, for other protocols.
    ///
    /// # Panics
    /// Never panics: the protocols are replaced as a whole.
    pub fn offering(&self, protocol: &[u8]) -> Arc<ClientConfig> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }
}

/// Accepts every certificate. Tests check its content later.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn answer(connection: &ClientConnection, bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if chunked {
        unchunked(body)
    } else {
        body.to_owned()
    };
    Answer {
        status: head[9..12].parse().expect("a status"),
        head: head.to_owned(),
        body,
        version: connection.protocol_version().expect("agreed on"),
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        certificate: connection
            .peer_certificates()
            .and_then(|chain| chain.first())
            .map(|leaf| leaf.to_vec())
            .unwrap_or_default(),
    }
}

fn unchunked(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        body.push_str(&rest[..size]);
        text = rest[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    body
}

/// Paths of two PEM files.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Certificate.
    pub certificate: PathBuf,
    /// Key of the certificate.
    pub key: PathBuf,
}

/// A certificate authority for tests.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Creates an authority that nothing trusts.
    ///
    /// # Panics
    /// Panics if no random numbers are available.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Not the common name of all certificates, because OpenSSL would take theirs for
        // self-signed.
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority of a test");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        Self { issuer }
    }

    /// Certificate of the authority.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Key of the authority.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Issues a certificate for these names and writes it to files with this name.
    ///
    /// # Panics
    /// Panics if the files cannot be written.
    #[track_caller]
    pub fn issue(&self, directory: &Path, file: &str, names: &[&str]) -> Pair {
        self.issue_with(directory, file, names, |_| {})
    }

    /// Like `issue`, with other properties.
    ///
    /// # Panics
    /// Panics if the files cannot be written.
    #[track_caller]
    pub fn issue_with(
        &self,
        directory: &Path,
        file: &str,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Pair {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let pair = Pair {
            certificate: directory.join(format!("{file}.crt")),
            key: directory.join(format!("{file}.key")),
        };
        std::fs::write(&pair.certificate, certificate.pem()).expect("written");
        std::fs::write(&pair.key, key.serialize_pem()).expect("written");
        pair
    }

    /// Signs a certificate request, as an ACME authority does.
    ///
    /// # Panics
    /// Panics if the request is invalid.
    pub fn sign(&self, request: &[u8]) -> String {
        let request = rcgen::CertificateSigningRequestParams::from_der(&request.into());
        let request = request.expect("a request");
        request.signed_by(&self.issuer).expect("signed").pem()
    }
}

impl std::fmt::Display for Pair {
    /// The paths as arguments of `tls`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.certificate.display(), self.key.display())
    }
}
