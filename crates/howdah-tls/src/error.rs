//! Errors of TLS in a configuration.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::authority::AuthorityError;
use crate::certificate::CertificateError;

/// Why a configuration cannot be served with TLS on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum TlsError {
    /// `tls CERT KEY`.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// `tls internal`.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// `client_auth`.
    #[error("{}: {reason}; `client_auth` needs PEM files with certificates of authorities", file.display())]
    ClientRoots { file: PathBuf, reason: String },
    /// `tls_trust_pool` of a `reverse_proxy`.
    #[error("{}: {reason}; `tls_trust_pool` needs PEM files with certificates of authorities", file.display())]
    UpstreamRoots { file: PathBuf, reason: String },
    /// An upstream with HTTPS, without any trusted authority.
    #[error(
        "the system trusts no authority, so no upstream with `https://` can be trusted: {reason}; install the package `ca-certificates`, or name the authority with `tls_trust_pool file FILE`"
    )]
    SystemRoots { reason: String },
    /// `on_demand_tls { ask }`.
    #[error("`on_demand_tls {{ ask {url} }}`: {reason}")]
    Ask { url: String, reason: String },
    /// Options that exclude each other.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    /// Options that exclude each other, with `client_auth`.
    #[error("`client_auth` cannot be set up: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    /// Neither `HOME` nor `XDG_DATA_HOME` is set.
    #[error(
        "the directory for certificates is not set: write `storage file_system PATH` in the global options"
    )]
    NoStorage,
    /// `storage redis`.
    #[error(
        "`storage redis` cannot be used: {0}; `tls_server_certs_path` is a PEM file with certificates of authorities"
    )]
    Redis(#[source] std::io::Error),
    /// `default_sni` or `fallback_sni`.
    #[error("`{option} {name}`: no site with HTTPS has this host")]
    Sni { option: &'static str, name: String },
    /// `acme_ca_root` and similar options.
    #[error("{}: {reason}; `acme_ca_root` is a PEM file with a certificate", file.display())]
    AcmeRoot { file: PathBuf, reason: String },
}

impl TlsError {
    /// Whether this user only lacks access to a file, which the server's user may have.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(
            self,
            Self::Certificate(CertificateError::Read { source, .. })
                if source.kind() == ErrorKind::PermissionDenied
        )
    }
}
