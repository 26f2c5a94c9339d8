//! rustls configurations of sites.

use std::path::PathBuf;
use std::sync::Arc;

use howdah_config::model::{Alpn, CipherSuite as Suite, Curve, SiteTls, TlsVersion};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::{CipherSuite, RootCertStore, ServerConfig, SupportedCipherSuite};

use crate::TlsError;

/// Protocol of the challenge with which an authority verifies a name, RFC 8737.
pub(crate) const ACME_TLS: &[u8] = b"acme-tls/1";

/// The cryptography provider for all configurations.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The configuration of a site, with the certificate of `resolver`.
pub(crate) fn build(
    tls: &SiteTls,
    provider: &Arc<CryptoProvider>,
    resolver: Arc<dyn ResolvesServerCert>,
) -> Result<ServerConfig, TlsError> {
    let mut provider = Arc::clone(provider);
    if !tls.ciphers.is_empty() {
        let chosen = suites(&tls.ciphers, &provider.cipher_suites);
        Arc::make_mut(&mut provider).cipher_suites = chosen;
    }
    if !tls.curves.is_empty() {
        let chosen = tls.curves.iter().copied().map(group).collect();
        Arc::make_mut(&mut provider).kx_groups = chosen;
    }
    let versions: &[&rustls::SupportedProtocolVersion] = match (tls.min_version, tls.no_tls13) {
        (TlsVersion::Tls13, _) => &[&rustls::version::TLS13],
        (TlsVersion::Tls12, true) => &[&rustls::version::TLS12],
        (TlsVersion::Tls12, false) => &[&rustls::version::TLS13, &rustls::version::TLS12],
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?;
    let builder = match &tls.client_auth {
        None => builder.with_no_client_auth(),
        Some(auth) => {
            let roots = authorities(&auth.roots, |file, reason| TlsError::ClientRoots {
                file,
                reason,
            });
            let roots = Arc::new(roots?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            let verifier = if auth.optional {
                verifier.allow_unauthenticated()
            } else {
                verifier
            };
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = builder.with_cert_resolver(resolver);
    let alpn = tls.alpn.as_deref().unwrap_or(&[Alpn::Http2, Alpn::Http1]);
    let name = |alpn: &Alpn| match alpn {
        Alpn::Http2 => b"h2".to_vec(),
        Alpn::Http1 => b"http/1.1".to_vec(),
    };
    config.alpn_protocols = alpn.iter().map(name).collect();
    // Sessions are resumed by tickets. Each configuration has separate keys, so that a ticket of
    // another site cannot be used to evade this site's requirements for clients.
    config.ticketer = ring::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// A configuration whose handshakes end with a fatal alert.
pub(crate) fn refusal(provider: &Arc<CryptoProvider>) -> Result<ServerConfig, TlsError> {
    #[derive(Debug)]
    struct EmptyResolver;
    impl ResolvesServerCert for EmptyResolver {
        fn resolve(
            &self,
            _: rustls::server::ClientHello<'_>,
        ) -> Option<Arc<rustls::sign::CertifiedKey>> {
            None
        }
    }
    build(&SiteTls::default(), provider, Arc::new(EmptyResolver))
}

/// The authorities in PEM files. `wrong` creates the error for a file from the problem.
pub(crate) fn authorities(
    files: &[PathBuf],
    wrong: impl Fn(PathBuf, String) -> TlsError,
) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for file in files {
        let wrong = |reason: String| wrong(file.clone(), reason);
        let pem = howdah_monitor::fs::read(file).map_err(|error| wrong(error.to_string()))?;
        let mut found = false;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            store
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
            found = true;
        }
        if !found {
            return Err(wrong("there is no certificate in it".into()));
        }
    }
    Ok(store)
}

fn group(curve: Curve) -> &'static dyn SupportedKxGroup {
    match curve {
        Curve::X25519 => ring::kx_group::X25519,
        Curve::Secp256r1 => ring::kx_group::SECP256R1,
        Curve::Secp384r1 => ring::kx_group::SECP384R1,
    }
}

/// The suites of TLS 1.3, and the configured ones of TLS 1.2.
fn suites(configured: &[Suite], known: &[SupportedCipherSuite]) -> Vec<SupportedCipherSuite> {
    let tls13 = known.iter().filter(|suite| suite.tls13().is_some());
    let configured = configured.iter().filter_map(|configured| {
        let policy = match configured {
            Suite::EcdheEcdsaAes256 => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            Suite::EcdheEcdsaAes128 => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            Suite::EcdheEcdsaChacha20 => CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            Suite::EcdheRsaAes256 => CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            Suite::EcdheRsaAes128 => CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            Suite::EcdheRsaChacha20 => CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        };
        known.iter().find(|suite| suite.suite() == policy)
    });
    tls13.chain(configured).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_the_configuration_is_known() {
        let all = [
            Suite::EcdheEcdsaAes256,
            Suite::EcdheEcdsaAes128,
            Suite::EcdheEcdsaChacha20,
            Suite::EcdheRsaAes256,
            Suite::EcdheRsaAes128,
            Suite::EcdheRsaChacha20,
        ];
        let known = provider().cipher_suites.clone();
        let chosen = suites(&all, &known);
        assert_eq!(chosen.len(), 3 + all.len());
        assert_eq!(suites(&all[..1], &known).len(), 4);
    }
}
