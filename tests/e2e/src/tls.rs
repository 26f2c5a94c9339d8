//! A client that speaks HTTP/1.1 inside of TLS, and certificates for tests.

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

/// How a client connects.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
}

/// A whole answer, and what was agreed on before it.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Status line and header fields.
    pub head: String,
    /// What follows.
    pub body: String,
    /// Version of TLS.
    pub version: ProtocolVersion,
    /// The session is that of a connection before.
    pub resumed: bool,
    /// The server's certificate.
    pub certificate: Vec<u8>,
}

impl Answer {
    /// Checks status and body.
    ///
    /// # Panics
    /// If they differ.
    #[track_caller]
    pub fn assert(&self, status: u16, body: &str) {
        assert_eq!(
            (self.status, self.body.as_str()),
            (status, body),
            "{}",
            self.head
        );
    }

    /// A header field.
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
    /// If they are invalid.
    pub fn trusting(pem: &str) -> Self {
        Self::with(pem, rustls::ALL_VERSIONS, None)
    }

    /// The same, of a certain version of TLS.
    ///
    /// # Panics
    /// If they are invalid.
    pub fn of_version(pem: &str, version: &'static SupportedProtocolVersion) -> Self {
        Self::with(pem, &[version], None)
    }

    /// The same, with a certificate of its own.
    ///
    /// # Panics
    /// If one of them is invalid.
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

    /// The answer to a `GET` of a host on a new connection, which the server has to end properly.
    pub fn get(&self, address: SocketAddr, host: &str, target: &str) -> io::Result<Answer> {
        self.send(address, host, host, target, &[])
    }

    /// The same with a `Host` of its own, and a body by `POST`.
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
        // An error if the server goes without a word: the end could be somebody else's doing.
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(answer(&stream.conn, &bytes))
    }

    /// A connection after its handshake.
    pub fn connect(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        self.connect_behind(address, name, b"")
    }

    /// The same by a load balancer, which sends its header first.
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
    /// Never: the versions are those of the provider.
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

    /// The certificate that a server shows to an authority that checks a name, whatever its issuer.
    pub fn certificate_for_acme(address: SocketAddr, name: &str) -> Option<Vec<u8>> {
        let client = Self::trusting_anyone().speaking(b"acme-tls/1");
        let stream = client.connect(address, name).ok()?;
        let leaf = stream.conn.peer_certificates()?.first()?;
        (stream.conn.alpn_protocol()? == b"acme-tls/1").then(|| leaf.to_vec())
    }

    /// The same that speaks another protocol.
    #[must_use]
    pub fn speaking(&self, protocol: &[u8]) -> Self {
        Self {
            config: self.offering(protocol),
        }
    }

    /// What it is made of, for other protocols.
    ///
    /// # Panics
    /// Never: the protocols are replaced as a whole.
    pub fn offering(&self, protocol: &[u8]) -> Arc<ClientConfig> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }
}

/// Takes every certificate: what is in it is looked at later.
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

/// Two PEM files.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// An authority for tests.
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
    /// An unknown one.
    ///
    /// # Panics
    /// If there are no random numbers.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Not the name that all certificates have: OpenSSL would take theirs for self-signed.
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority of a test");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        Self { issuer }
    }

    /// Its certificate.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Its key.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate of these names, in files of this name.
    ///
    /// # Panics
    /// If they cannot be written.
    #[track_caller]
    pub fn issue(&self, directory: &Path, file: &str, names: &[&str]) -> Pair {
        self.issue_with(directory, file, names, |_| {})
    }

    /// The same, with other properties.
    ///
    /// # Panics
    /// If they cannot be written.
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

    /// Signs a request for a certificate, as an ACME authority does.
    ///
    /// # Panics
    /// If it is invalid.
    pub fn sign(&self, request: &[u8]) -> String {
        let request = rcgen::CertificateSigningRequestParams::from_der(&request.into());
        let request = request.expect("a request");
        request.signed_by(&self.issuer).expect("signed").pem()
    }
}

impl std::fmt::Display for Pair {
    /// As arguments of `tls`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.certificate.display(), self.key.display())
    }
}
