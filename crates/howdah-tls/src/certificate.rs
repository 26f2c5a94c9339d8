//! A certificate with its key: read from PEM, checked, with its contents.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum CertificateError {
    /// The file is missing, or this user has no access to it.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    /// It is not PEM, or contains something else.
    #[error("{}: the file contains no certificate; expected PEM with `-----BEGIN CERTIFICATE-----`", file.display())]
    NoCertificate { file: PathBuf },
    /// It has no key, or one with a password.
    #[error("{}: the file contains no private key; expected PEM with `-----BEGIN PRIVATE KEY-----`, without a password", file.display())]
    NoKey { file: PathBuf },
    /// The key has an unknown type.
    #[error("{}: the private key cannot be used: {reason}; use RSA with 2048 bits or more, ECDSA on P-256 or P-384, or Ed25519", file.display())]
    BadKey {
        file: PathBuf,
        reason: rustls::Error,
    },
    /// The two do not belong together.
    #[error("the key {} does not belong to the certificate {}: give the two files that were made together", key.display(), certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf },
    /// The certificate is invalid.
    #[error("{}: the certificate is malformed: {reason}", file.display())]
    Malformed { file: PathBuf, reason: String },
    #[error("{}: the certificate has expired on {on}: renew it", file.display())]
    Expired { file: PathBuf, on: String },
    /// It is not valid yet.
    #[error("{}: the certificate is not valid before {from}: check this machine's clock", file.display())]
    NotYet { file: PathBuf, from: String },
}

/// A certificate, its chain and its key, and its contents.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
    /// Lower case; may start with `*.`.
    pub(crate) names: Vec<String>,
}

/// Text of a PEM file.
#[derive(Clone, Copy)]
pub(crate) struct PemText<'p> {
    text: &'p [u8],
    /// For messages.
    file: &'p Path,
}

impl<'p> PemText<'p> {
    pub(crate) const fn new(text: &'p [u8], file: &'p Path) -> Self {
        Self { text, file }
    }
}

impl Certificate {
    /// Reads two PEM files; they may be the same one.
    pub(crate) fn load(
        certificate: &Path,
        key: &Path,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let read = |file: &Path| {
            howdah_monitor::fs::read(file).map_err(|source| CertificateError::Read {
                file: file.to_owned(),
                source,
            })
        };
        Self::from_pem(
            PemText::new(&read(certificate)?, certificate),
            PemText::new(&read(key)?, key),
            provider,
        )
    }

    /// Loads a certificate from memory, with names for messages.
    pub(crate) fn from_pem(
        certificate: PemText<'_>,
        key: PemText<'_>,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let (certificate_file, key_file) = (certificate.file, key.file);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.text).collect();
        let chain = chain
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or_else(|| CertificateError::NoCertificate {
                file: certificate_file.to_owned(),
            })?;
        let key = private_key(key.text).ok_or_else(|| CertificateError::NoKey {
            file: key_file.to_owned(),
        })?;
        let facts = Facts::of(&chain[0]).map_err(|reason| CertificateError::Malformed {
            file: certificate_file.to_owned(),
            reason,
        })?;
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|reason| CertificateError::BadKey {
                file: key_file.to_owned(),
                reason,
            })?;
        let key = CertifiedKey::new(chain, key);
        // Other errors prove nothing: a proof for an authority, for example, has a critical
        // extension that only authorities know.
        let match_error = key.keys_match().err();
        if let Some(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) = match_error {
            return Err(CertificateError::Mismatch {
                certificate: certificate_file.to_owned(),
                key: key_file.to_owned(),
            });
        }
        Ok(Self {
            key: Arc::new(key),
            not_before: facts.not_before,
            not_after: facts.not_after,
            names: facts.names,
        })
    }

    /// A certificate that is already in use.
    pub(crate) fn of_key(key: Arc<CertifiedKey>) -> Option<Self> {
        let facts = Facts::of(key.cert.first()?).ok()?;
        Some(Self {
            key,
            not_before: facts.not_before,
            not_after: facts.not_after,
            names: facts.names,
        })
    }

    /// Checks that it is valid now.
    pub(crate) fn check_time(&self, file: &Path, now: SystemTime) -> Result<(), CertificateError> {
        if now > self.not_after {
            return Err(CertificateError::Expired {
                file: file.to_owned(),
                on: date(self.not_after),
            });
        }
        if now < self.not_before {
            return Err(CertificateError::NotYet {
                file: file.to_owned(),
                from: date(self.not_before),
            });
        }
        Ok(())
    }

    /// Whether a client that requests `host` accepts it. A `*.` stands for one label.
    pub(crate) fn covers(&self, host: &str) -> bool {
        covers(&self.names, host)
    }
}

/// The private key of a PEM file: PKCS#8, SEC1, PKCS#1, and PKCS#8 as Caddy labels it for Ed25519.
pub(crate) fn private_key(pem: &[u8]) -> Option<PrivateKeyDer<'static>> {
    let key = PrivateKeyDer::from_pem_slice(pem).ok();
    key.or_else(|| {
        let text = std::str::from_utf8(pem).ok()?;
        let text = text.replace("ED25519 PRIVATE KEY", "PRIVATE KEY");
        PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()
    })
}

/// Whether `host` is one of the names; a `*.` stands for one label.
pub(crate) fn covers(names: &[String], host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    names.iter().any(|name| {
        *name == host
            || name.strip_prefix('*').is_some_and(|below| {
                host.strip_suffix(below)
                    .is_some_and(|label| !label.is_empty() && !label.contains('.'))
            })
    })
}

struct Facts {
    not_before: SystemTime,
    not_after: SystemTime,
    names: Vec<String>,
}

impl Facts {
    fn of(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, parsed) =
            x509_parser::parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
        let validity = parsed.validity();
        let names = parsed
            .subject_alternative_name()
            .map_err(|error| error.to_string())?;
        let names = names.map_or(&[][..], |names| &names.value.general_names);
        let name = |name: &GeneralName<'_>| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            GeneralName::IPAddress(bytes) => ip(bytes).map(|ip| ip.to_string()),
            _ => None,
        };
        Ok(Self {
            not_before: from_unix(validity.not_before.timestamp()),
            not_after: from_unix(validity.not_after.timestamp()),
            names: names.iter().filter_map(name).collect(),
        })
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(v4.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

fn from_unix(seconds: i64) -> SystemTime {
    let since = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(since).unwrap_or(UNIX_EPOCH)
    } else {
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }
}

/// `2026-11-21 10:13:09 UTC`.
pub(crate) fn date(at: SystemTime) -> String {
    let at = time::OffsetDateTime::from(at);
    let (hour, minute, second) = at.to_hms();
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", at.date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_one_label() {
        let names = ["a.test".to_owned(), "*.b.test".to_owned()];
        for covered in ["a.test", "A.test", "x.b.test"] {
            assert!(covers(&names, covered), "{covered}");
        }
        for not in ["b.test", "x.a.test", "x.y.b.test", ".b.test", ""] {
            assert!(!covers(&names, not), "{not}");
        }
    }

    #[test]
    fn dates_are_written_plainly() {
        let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(date(at), "2023-11-14 22:13:20 UTC");
        assert_eq!(from_unix(-1), UNIX_EPOCH - Duration::from_secs(1));
    }
}
