//! The internal authority: a root that clients trust, an intermediate signed by the root, and
//! certificates signed by the intermediate.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;

use crate::certificate::{Certificate, CertificateError, PemText};
use crate::directory::reason;
use crate::remote::is_unavailable;
use crate::schedule;
use crate::storage::Storage;

const ROOT: &str = "authority/root.pem";
const ROOT_CERTIFICATE: &str = "authority/root.crt";
const INTERMEDIATE: &str = "authority/intermediate.pem";
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const DAY: Duration = Duration::from_secs(86_400);
const ROOT_LIFETIME: Duration = Duration::from_secs(3600 * 86_400);
const INTERMEDIATE_LIFETIME: Duration = Duration::from_secs(7 * 86_400);
/// Clocks of clients may be slightly behind.
const BACKDATED: Duration = Duration::from_secs(60);

/// Why the internal authority does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum AuthorityError {
    /// Its files cannot be read or written.
    #[error("{}: {}; the internal authority keeps its keys there: set `storage file_system PATH`", file.display(), reason(source))]
    Storage { file: PathBuf, source: io::Error },
    /// One of its files is invalid.
    #[error("{}: {reason}; remove the file, and a new authority is created, which clients must trust again", file.display())]
    Broken { file: PathBuf, reason: String },
    /// A certificate cannot be issued.
    #[error("the internal authority cannot make a certificate for {name}: {reason}")]
    Issue {
        /// Name that the certificate is for.
        name: String,
        reason: String,
    },
}

impl AuthorityError {
    /// Whether its keys may become available later.
    pub(crate) fn is_storage_away(&self) -> bool {
        matches!(self, Self::Storage { source, .. } if is_unavailable(source))
    }
}

/// The internal authority.
#[derive(Debug, Clone)]
pub(crate) struct Authority {
    storage: Storage,
    provider: Arc<CryptoProvider>,
}

/// The internal authority of a configuration, for those who show it.
#[derive(Debug, Clone)]
pub struct InternalAuthority(pub(crate) Authority);

impl InternalAuthority {
    /// Reads its certificates from the storage, which may block.
    pub fn certificates(&self) -> Result<AuthorityCertificates, AuthorityError> {
        self.0.certificates()
    }
}

/// The certificates that the internal authority signs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityCertificates {
    /// The one that clients trust.
    pub root: NamedCertificate,
    /// The one that signs those of the sites.
    pub intermediate: NamedCertificate,
}

/// A PEM certificate of the internal authority, with its subject's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCertificate {
    /// The common name of its subject.
    pub common_name: String,
    /// The certificate in PEM.
    pub pem: String,
}

/// A certificate that may sign, and its key.
struct Signer {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    pem: String,
    not_before: SystemTime,
    not_after: SystemTime,
}

impl Authority {
    pub(crate) fn new(storage: Storage, provider: Arc<CryptoProvider>) -> Self {
        Self { storage, provider }
    }

    /// The root's certificate in PEM; creates the authority if it is missing.
    pub(crate) fn root_pem(&self) -> Result<(PathBuf, String), AuthorityError> {
        let root = self.root()?;
        Ok((self.storage.path(ROOT_CERTIFICATE), root.pem))
    }

    /// The certificates that clients see, read again; creates nothing.
    pub(crate) fn certificates(&self) -> Result<AuthorityCertificates, AuthorityError> {
        let read = |file| {
            let signer = self.load(file)?;
            let signer = signer.ok_or_else(|| self.broken(file, "it was removed".into()))?;
            self.caption(file, &signer)
        };
        Ok(AuthorityCertificates {
            root: read(ROOT)?,
            intermediate: read(INTERMEDIATE)?,
        })
    }

    fn caption(&self, file: &str, signer: &Signer) -> Result<NamedCertificate, AuthorityError> {
        let parsed = x509_parser::parse_x509_certificate(&signer.certificate);
        let (_, parsed) = parsed.map_err(|error| self.broken(file, error.to_string()))?;
        let name = parsed.subject().iter_common_name().next();
        Ok(NamedCertificate {
            common_name: name
                .and_then(|name| name.as_str().ok())
                .unwrap_or_default()
                .to_owned(),
            pem: signer.pem.clone(),
        })
    }

    /// Issues a certificate for `host`, valid from now on for about `lifetime`.
    pub(crate) fn issue(
        &self,
        host: &str,
        lifetime: Duration,
    ) -> Result<Certificate, AuthorityError> {
        let wrong = |reason: String| AuthorityError::Issue {
            name: host.to_owned(),
            reason,
        };
        let signer = self.intermediate(lifetime)?;
        let issue = || {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new([host.to_owned()])?;
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let now = SystemTime::now();
            let until = (now + lifetime).min(signer.not_after);
            set_dates(&mut params, now, until);
            let issuer = Issuer::from_ca_cert_der(&signer.certificate, &signer.key)?;
            let certificate = params.signed_by(&key, &issuer)?;
            Ok((certificate.pem(), key.serialize_pem()))
        };
        let (leaf, key) = issue().map_err(|error: rcgen::Error| wrong(error.to_string()))?;
        let chain = format!("{leaf}{}", signer.pem);
        let file = self.storage.path(INTERMEDIATE);
        let named = |text| PemText::new(text, &file);
        Certificate::from_pem(
            named(chain.as_bytes()),
            named(key.as_bytes()),
            &self.provider,
        )
        .map_err(|error: CertificateError| wrong(error.to_string()))
    }

    fn root(&self) -> Result<Signer, AuthorityError> {
        if let Some(root) = self.load(ROOT)? {
            return Ok(root);
        }
        let year = OffsetDateTime::now_utc().year();
        let name = format!("Howdah Local Authority {year} {}", crate::storage::unique());
        let made = make(&name, ROOT_LIFETIME, 1, None);
        let text = made.map_err(|error| self.broken(ROOT, error.to_string()))?;
        // Of several servers that start at the same time, one creates it.
        self.storage
            .create(ROOT, text.as_bytes())
            .map_err(|source| self.failed(ROOT, source))?;
        let root = self
            .load(ROOT)?
            .ok_or_else(|| self.broken(ROOT, "it was removed".into()))?;
        self.storage
            .write_public(ROOT_CERTIFICATE, root.pem.as_bytes())
            .map_err(|source| self.failed(ROOT_CERTIFICATE, source))?;
        Ok(root)
    }

    /// An intermediate that is valid longer than the certificates that it has to sign.
    fn intermediate(&self, lifetime: Duration) -> Result<Signer, AuthorityError> {
        let root = self.root()?;
        let now = SystemTime::now();
        if let Some(signer) = self.load(INTERMEDIATE)? {
            let enough = signer.not_after > now + lifetime;
            let young = schedule::renew_at(signer.not_before, signer.not_after) > now;
            if enough && young && is_issued_by(&signer, &root) {
                return Ok(signer);
            }
        }
        let lifetime = INTERMEDIATE_LIFETIME.max(lifetime + DAY);
        let made = make(
            "Howdah Local Authority - Intermediate",
            lifetime,
            0,
            Some(&root),
        );
        let text = made.map_err(|error| self.broken(INTERMEDIATE, error.to_string()))?;
        self.storage
            .write(INTERMEDIATE, text.as_bytes())
            .map_err(|source| self.failed(INTERMEDIATE, source))?;
        self.load(INTERMEDIATE)?
            .ok_or_else(|| self.broken(INTERMEDIATE, "it was removed".into()))
    }

    fn load(&self, file: &str) -> Result<Option<Signer>, AuthorityError> {
        let read = self.storage.read(file);
        let Some(text) = read.map_err(|source| self.failed(file, source))? else {
            return Ok(None);
        };
        let path = self.storage.path(file);
        let pem = PemText::new(&text, &path);
        let checked = Certificate::from_pem(pem, pem, &self.provider)
            .map_err(|error| self.broken(file, error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| self.broken(file, error.to_string()))?;
        let key = KeyPair::from_pem(&text).map_err(|error| self.broken(file, error.to_string()))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|error| self.broken(file, error.to_string()))?;
        // The key precedes it.
        let begin = text.find(BEGIN).unwrap_or_default();
        Ok(Some(Signer {
            certificate,
            key,
            pem: text[begin..].to_owned(),
            not_before: checked.not_before,
            not_after: checked.not_after,
        }))
    }

    fn failed(&self, file: &str, source: io::Error) -> AuthorityError {
        AuthorityError::Storage {
            file: self.storage.path(file),
            source,
        }
    }

    fn broken(&self, file: &str, reason: String) -> AuthorityError {
        let file = self.storage.path(file);
        // Errors of a certificate include its file.
        let twice = format!("{}: ", file.display());
        let reason = match reason.strip_prefix(&twice) {
            Some(rest) => rest.to_owned(),
            None => reason,
        };
        AuthorityError::Broken { file, reason }
    }
}

/// Creates key and certificate of an authority, in PEM.
fn make(
    name: &str,
    lifetime: Duration,
    below: u8,
    by: Option<&Signer>,
) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let now = SystemTime::now();
    let mut until = now + lifetime;
    if let Some(signer) = by {
        until = until.min(signer.not_after);
    }
    set_dates(&mut params, now, until);
    let certificate = match by {
        None => params.self_signed(&key)?,
        Some(signer) => {
            params.use_authority_key_identifier_extension = true;
            let issuer = Issuer::from_ca_cert_der(&signer.certificate, &signer.key)?;
            params.signed_by(&key, &issuer)?
        }
    };
    Ok(format!("{}{}", key.serialize_pem(), certificate.pem()))
}

fn set_dates(params: &mut CertificateParams, now: SystemTime, until: SystemTime) {
    params.not_before = OffsetDateTime::from(now - BACKDATED);
    params.not_after = OffsetDateTime::from(until);
}

/// An intermediate of a removed root is useless.
fn is_issued_by(signer: &Signer, root: &Signer) -> bool {
    let parsed = (
        x509_parser::parse_x509_certificate(&signer.certificate),
        x509_parser::parse_x509_certificate(&root.certificate),
    );
    match parsed {
        (Ok((_, signer)), Ok((_, root))) => signer.issuer().as_raw() == root.subject().as_raw(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;
    use crate::server_config::provider;

    const HOUR: Duration = Duration::from_secs(3600);

    fn authority(directory: &tempfile::TempDir) -> Authority {
        Authority::new(Storage::new(directory.path().to_owned()), provider())
    }

    fn verify(root: &str, certificate: &Certificate, name: &str) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.as_bytes()).expect("PEM"))?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider());
        let verifier = verifier.build().expect("it has roots");
        let (leaf, chain) = certificate.key.cert.split_first().expect("not empty");
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        let result = verifier.verify_server_cert(leaf, chain, &name, &[], UnixTime::now());
        result.map(drop)
    }

    #[test]
    fn clients_that_trust_the_root_take_its_certificates() {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = authority(&directory);
        let (file, root) = authority.root_pem().expect("made");
        assert_eq!(std::fs::read_to_string(file).expect("readable"), root);
        for name in ["localhost", "127.0.0.1", "::1", "a.internal"] {
            let issued = authority.issue(name, HOUR).expect(name);
            assert_eq!(issued.names, [name]);
            assert!(issued.covers(name));
            verify(&root, &issued, name).expect(name);
            verify(&root, &issued, "other.test").expect_err("another name");
            let left = issued.not_after.duration_since(SystemTime::now());
            let left = left.expect("not over");
            assert!(left <= HOUR && left > HOUR / 2, "{left:?}");
        }
        let wildcard = authority.issue("*.a.localhost", HOUR).expect("issued");
        verify(&root, &wildcard, "x.a.localhost").expect("below it");
    }

    #[test]
    fn the_root_stays_and_a_lost_one_is_made_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let (_, root) = authority(&directory).root_pem().expect("made");
        let first = authority(&directory).issue("a.test", HOUR).expect("issued");
        let second = authority(&directory).issue("a.test", HOUR).expect("issued");
        assert_eq!(authority(&directory).root_pem().expect("kept").1, root);
        assert_eq!(
            first.key.cert[1], second.key.cert[1],
            "the intermediate is kept"
        );
        assert_ne!(first.key.cert[0], second.key.cert[0]);
        verify(&root, &second, "a.test").expect("valid");

        std::fs::remove_file(directory.path().join(ROOT)).expect("removed");
        let third = authority(&directory).issue("a.test", HOUR).expect("issued");
        let (_, other) = authority(&directory).root_pem().expect("made");
        assert_ne!(other, root);
        verify(&root, &third, "a.test").expect_err("of another root");
        verify(&other, &third, "a.test").expect("of this root");
    }

    #[test]
    fn an_intermediate_outlives_what_it_signs() {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = authority(&directory);
        let long = 5 * DAY;
        let issued = authority.issue("a.test", long).expect("issued");
        let signer = authority
            .load(INTERMEDIATE)
            .expect("readable")
            .expect("made");
        assert!(signer.not_after >= issued.not_after);
        let left = issued
            .not_after
            .duration_since(SystemTime::now())
            .expect("not over");
        assert!(left > 4 * DAY, "{left:?}");
    }

    #[test]
    fn a_broken_file_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = authority(&directory);
        authority.root_pem().expect("made");
        let file = directory.path().join(ROOT);
        std::fs::write(&file, "nonsense").expect("written");
        let error = authority.issue("a.test", HOUR).expect_err("broken");
        let message = error.to_string();
        let file = file.display().to_string();
        assert_eq!(message.matches(&file).count(), 1, "{message}");
    }
}
