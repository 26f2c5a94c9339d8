//! TLS connections to upstreams, and explanations of their errors.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use howdah_config::model::{ReverseProxy, Upstream, UpstreamTls};
use howdah_tls::{TlsError, upstream_config};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Stream;

/// Sessions of upstreams that a front thread can resume, for each `reverse_proxy`.
const SESSIONS: usize = 64;

/// The name of HTTP/2 in a handshake.
const HTTP2: &[u8] = b"h2";

const HTTP2_MISSING: &str = "it does not offer HTTP/2 with TLS: write `versions 1.1`";

/// TLS configurations for upstreams, by settings. Shared by all front threads, since files are read
/// for them.
#[derive(Debug, Default)]
pub(crate) struct TlsClients(Mutex<Vec<(UpstreamTls, ClientConfig)>>);

impl TlsClients {
    /// Returns the configuration for one proxy of one front thread, with private sessions to resume.
    fn client(&self, tls: &UpstreamTls) -> Result<ClientConfig, TlsError> {
        let key = UpstreamTls {
            server_name: None,
            timeout: None,
            ..tls.clone()
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(other, _)| *other == key);
        let mut client = if let Some((_, client)) = found {
            client.clone()
        } else {
            let client = upstream_config(&key)?;
            known.push((key, client.clone()));
            client
        };
        client.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(client)
    }
}

/// Why connections cannot be encrypted as configured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncryptionError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(
        "`{name}` cannot be the name of a certificate: write `tls_server_name NAME` in `transport http`"
    )]
    Name { name: String },
}

/// How the connections of a `reverse_proxy` are encrypted.
#[derive(Clone)]
pub(crate) struct Encryption {
    connector: TlsConnector,
    /// Expected server name per upstream.
    /// `None`: the host of its address, which is known with a request.
    names: Arc<[Option<ServerName<'static>>]>,
    limit: Duration,
    /// The upstreams must have HTTP/2.
    is_http2: bool,
}

impl Encryption {
    /// `None`: they are not encrypted.
    pub(crate) fn of(
        proxy: &ReverseProxy,
        clients: &TlsClients,
    ) -> Result<Option<Self>, EncryptionError> {
        let Some(tls) = &proxy.tls else {
            return Ok(None);
        };
        let name = |upstream: &Upstream| {
            let name = match (&tls.server_name, upstream) {
                (Some(name), _) => name.clone(),
                (None, Upstream::Tcp { host, .. }) => host.clone(),
                (None, Upstream::Unix(path)) => path.display().to_string(),
                (None, Upstream::Template { .. }) => return Ok(None),
            };
            let known = ServerName::try_from(name.clone()).map(Some);
            known.map_err(|_| EncryptionError::Name { name })
        };
        let mut client = clients.client(tls)?;
        let is_http2 = proxy.uses_http2();
        if is_http2 {
            client.alpn_protocols = vec![HTTP2.to_vec()];
        }
        Ok(Some(Self {
            names: proxy.upstreams.iter().map(name).collect::<Result<_, _>>()?,
            connector: Arc::new(client).into(),
            is_http2,
            limit: tls.timeout.unwrap_or(proxy.dial_timeout),
        }))
    }

    /// Starts the handshake with the upstream of this number.
    pub(super) async fn begin(
        &self,
        (index, upstream): (usize, &Upstream),
        stream: Stream,
    ) -> io::Result<TlsStream<Stream>> {
        let name = match (self.names.get(index), upstream) {
            (Some(Some(name)), _) => name.clone(),
            (Some(None), Upstream::Tcp { host, .. }) => {
                ServerName::try_from(host.clone()).map_err(io::Error::other)?
            }
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let handshake = self.connector.connect(name, stream);
        match tokio::time::timeout(self.limit, handshake).await {
            Ok(result) => {
                let stream = result?;
                if self.is_http2 && stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
                    return Err(io::Error::other(HTTP2_MISSING));
                }
                Ok(stream)
            }
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the TLS handshake timed out",
            )),
        }
    }
}

/// How to fix a TLS error; `None` if it is not one, or if its own text is enough.
pub(crate) fn explain(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::InvalidMessage(_) => {
            "it does not speak TLS there: check its port, or write `http://`".into()
        }
        Error::AlertReceived(alert) => match alert {
            AlertDescription::NoApplicationProtocol => HTTP2_MISSING.into(),
            AlertDescription::CertificateRequired => {
                "it requires a client certificate: add `tls_client_auth CERT KEY`".into()
            }
            AlertDescription::UnrecognisedName => {
                "it does not serve the requested server name: set it with `tls_server_name NAME`"
                    .into()
            }
            AlertDescription::ProtocolVersion => {
                "it supports only insecure versions of TLS: update it to TLS 1.2 or later"
                    .into()
            }
            AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate => format!(
                "it rejects this server's client certificate ({alert:?}): check `tls_client_auth`"
            ),
            AlertDescription::HandshakeFailure => {
                "it rejects the handshake: it has no cipher suite in common with this server, or requires a client \
                certificate (`tls_client_auth CERT KEY`)"
                    .into()
            }
            _ => return None,
        },
        _ => return None,
    })
}

fn certificate(error: &CertificateError) -> String {
    match error {
        // The latter if a different certificate has the name of a trusted one.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the issuer of its certificate is not trusted: add the authority, or the certificate itself if it is \
            self-signed, with `tls_trust_pool file FILE`"
                .into()
        }
        CertificateError::NotValidForName => {
            "its certificate is for a different name: set that with `tls_server_name NAME`".into()
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => format!(
            "its certificate is not for `{}` but for {}: set the right name with `tls_server_name NAME`",
            expected.to_str(),
            if presented.is_empty() {
                "no name at all".to_owned()
            } else {
                presented.join(", ")
            }
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: check the clocks of both machines".into()
        }
        // Only its text is public. OpenSSL creates such certificates by default.
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is a CA certificate, which servers must not use: have the CA issue one, or recreate \
            the self-signed one with `basicConstraints=CA:FALSE`"
                .into()
        }
        other => format!("its certificate is rejected: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let context = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("a.test").unwrap(),
            presented: vec!["DnsName(\"b.test\")".into()],
        };
        for (error, expected) in [
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                Some("`tls_trust_pool file FILE`"),
            ),
            (
                Error::InvalidCertificate(context),
                Some("not for `a.test` but for"),
            ),
            (
                Error::InvalidCertificate(CertificateError::Expired),
                Some("renew it"),
            ),
            (
                Error::InvalidCertificate(CertificateError::BadSignature),
                Some("`tls_trust_pool file FILE`"),
            ),
            (
                Error::InvalidCertificate(CertificateError::Revoked),
                Some("is rejected"),
            ),
            (
                Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
                Some("`http://`"),
            ),
            (
                Error::AlertReceived(AlertDescription::CertificateRequired),
                Some("`tls_client_auth CERT KEY`"),
            ),
            (
                Error::AlertReceived(AlertDescription::UnknownCA),
                Some("(UnknownCA)"),
            ),
            (Error::AlertReceived(AlertDescription::InternalError), None),
            (Error::HandshakeNotComplete, None),
        ] {
            let explanation = explain(&io::Error::new(io::ErrorKind::InvalidData, error.clone()));
            match expected {
                None => assert_eq!(explanation, None, "{error:?}"),
                Some(expected) => {
                    let explanation = explanation.unwrap_or_else(|| panic!("{error:?}"));
                    assert!(explanation.contains(expected), "{explanation}");
                }
            }
        }
        assert_eq!(explain(&io::ErrorKind::ConnectionReset.into()), None);
    }
}
