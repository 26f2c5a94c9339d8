//! rustls configurations for connections to other servers: their required identity, and this server's.

use std::sync::Arc;

use howdah_config::model::UpstreamTls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::TlsError;
use crate::certificate::Certificate;
use crate::server_config::{authorities, provider};

/// TLS of connections to the upstreams of a proxy; the caller handles `server_name` and `timeout`. Reads the configured
/// files, or the authorities of the system. The protocol inside is HTTP/1.1.
pub fn upstream_config(tls: &UpstreamTls) -> Result<ClientConfig, TlsError> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = if tls.insecure {
        let verifier = Arc::new(NoVerification(Arc::clone(&provider)));
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    } else {
        builder.with_root_certificates(roots(tls)?)
    };
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some(files) => {
            let own = Certificate::load(&files.certificate, &files.key, &provider)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(own.key)))
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The configured authorities, or those of the system.
pub(crate) fn roots(tls: &UpstreamTls) -> Result<RootCertStore, TlsError> {
    if !tls.roots.is_empty() {
        return authorities(&tls.roots, |file, reason| TlsError::UpstreamRoots {
            file,
            reason,
        });
    }
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    // Some of a system's authorities may be too old or unusual; the others are used.
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        let reason = found
            .errors
            .first()
            .map_or_else(|| "no certificates found".to_owned(), ToString::to_string);
        return Err(TlsError::SystemRoots { reason });
    }
    Ok(store)
}

/// `tls_insecure_skip_verify`: only checks that the peer has the key of the certificate that it sends.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use howdah_config::model::CertificateFiles;

    use super::*;

    #[test]
    fn files_that_are_no_use_are_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let empty = file("empty.pem", "");
        let gone = directory.path().join("gone.pem");
        let roots = |path: &PathBuf| UpstreamTls {
            roots: vec![path.clone()],
            ..UpstreamTls::default()
        };
        let client = |path: &PathBuf| UpstreamTls {
            insecure: true,
            client: Some(CertificateFiles {
                certificate: path.clone(),
                key: path.clone(),
            }),
            ..UpstreamTls::default()
        };
        for (tls, path, expected) in [
            (
                roots(&empty),
                &empty,
                "there is no certificate in it; `tls_trust_pool` needs PEM files with certificates of authorities",
            ),
            (roots(&gone), &gone, "No such file"),
            (
                client(&empty),
                &empty,
                "the file contains no certificate; expected PEM",
            ),
            (client(&gone), &gone, "cannot read"),
        ] {
            let error = upstream_config(&tls).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
}
