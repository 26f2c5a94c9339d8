//! The connection that a request came on.

use std::net::SocketAddr;
use std::rc::Rc;

use howdah_tls::ClientCertificate;

/// The connection a request came on.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The client.
    pub remote: SocketAddr,
    /// The listener's side.
    pub local: SocketAddr,
    /// Properties of TLS, if it is encrypted.
    pub tls: Option<Tls>,
}

/// Properties of an encrypted connection.
#[derive(Debug, Clone)]
pub struct Tls {
    /// `TLSv1.3`.
    pub protocol: &'static str,
    /// Cipher suite by its IANA name.
    pub cipher: &'static str,
    /// The host that requests must name: the server name of the client's handshake, empty without
    /// one. `None`: any.
    pub host: Option<Box<str>>,
    /// The client's certificate, if the site requests one; it was verified.
    pub client: TlsClient,
}

/// How a client has authenticated itself.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum TlsClient {
    /// No certificate was requested.
    #[default]
    NotRequested,
    /// No certificate was sent, which the site allows.
    NoCertificate,
    Verified(Rc<ClientCertificate>),
}

impl TlsClient {
    /// The certificate, if there is one.
    #[must_use]
    pub fn certificate(&self) -> Option<&ClientCertificate> {
        match self {
            Self::Verified(certificate) => Some(certificate),
            Self::NotRequested | Self::NoCertificate => None,
        }
    }

    /// Its CGI variables, with the names that nginx and Apache use, before `others`.
    pub(crate) fn variables(&self, others: Vec<(String, String)>) -> Vec<(String, String)> {
        let known = match self {
            Self::NotRequested => return others,
            Self::NoCertificate => vec![("SSL_CLIENT_VERIFY", "NONE")],
            Self::Verified(certificate) => vec![
                ("SSL_CLIENT_VERIFY", "SUCCESS"),
                ("SSL_CLIENT_S_DN", certificate.subject.as_str()),
                ("SSL_CLIENT_I_DN", certificate.issuer.as_str()),
                ("SSL_CLIENT_M_SERIAL", certificate.serial.as_str()),
            ],
        };
        let known = known.into_iter();
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        known.chain(others).collect()
    }
}
