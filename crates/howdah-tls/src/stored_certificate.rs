//! An ACME certificate in the storage: its key, its chain, and its metadata, in the same places as
//! in Caddy (see `layout`).
//!
//! Each file is replaced completely, the key first. A concurrent reader may see a key that does not
//! match the certificate, so a mismatch is checked again before it counts as invalid.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use serde_json::json;

use crate::certificate::{Certificate, CertificateError, PemText};
use crate::layout::{self, CertificatePlace};
use crate::remote::is_unavailable;
use crate::storage::Storage;

/// How often a mismatch is checked: another server may be writing its files.
const LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// What an authority issued, and its key; both in PEM.
pub(crate) struct IssuedCertificate {
    pub(crate) key: String,
    pub(crate) chain: String,
    /// URLs of the certificate and of the account that ordered it, if known.
    pub(crate) url: Option<String>,
    pub(crate) account: Option<String>,
}

/// The certificate of a host by an authority, in a storage.
#[derive(Debug)]
pub(crate) struct StoredCertificate<'a> {
    storage: &'a Storage,
    /// URL of the authority's directory.
    authority: &'a str,
    host: &'a str,
    place: CertificatePlace,
    provider: &'a CryptoProvider,
}

/// Why the stored files cannot be used.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error("{0}")]
    Storage(#[from] io::Error),
    #[error("{} is missing", file.display())]
    Missing { file: PathBuf },
    #[error("{0}")]
    Certificate(#[from] CertificateError),
}

impl LoadError {
    /// Whether a concurrent writer may be the cause.
    fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Missing { .. } | Self::Certificate(CertificateError::Mismatch { .. })
        )
    }

    fn is_unavailable(&self) -> bool {
        matches!(self, Self::Storage(error) if is_unavailable(error))
    }
}

impl<'a> StoredCertificate<'a> {
    pub(crate) fn new(
        storage: &'a Storage,
        authority: &'a str,
        host: &'a str,
        provider: &'a CryptoProvider,
    ) -> Self {
        Self {
            storage,
            authority,
            host,
            place: CertificatePlace::new(authority, host),
            provider,
        }
    }

    /// The certificate, if it is complete; otherwise the log reports the problem. One of an earlier version is moved to
    /// its place.
    pub(crate) fn load(&self) -> Option<Certificate> {
        let fault = match self.read() {
            Ok(Some(certificate)) => return Some(certificate),
            Ok(None) => None,
            Err(fault) => Some(fault),
        };
        if fault.as_ref().is_some_and(LoadError::is_unavailable) {
            // It is requested again later. This machine may have a copy from before an upgrade.
            return self.take_old().ok().flatten();
        }
        let fault = match self.take_old() {
            Ok(Some(certificate)) => return Some(certificate),
            Ok(None) => fault?,
            Err(old) if old.is_unavailable() => return None,
            Err(old) => fault.unwrap_or(old),
        };
        tracing::warn!(
            target: "howdah::tls",
            host = self.host,
            error = %fault,
            "a stored certificate is unusable; requesting a new one",
        );
        None
    }

    /// Reads a new certificate.
    pub(crate) fn check(
        &self,
        issued: &IssuedCertificate,
    ) -> Result<Certificate, CertificateError> {
        self.parse(issued.key.as_bytes(), issued.chain.as_bytes())
    }

    pub(crate) fn store(&self, issued: &IssuedCertificate) -> io::Result<()> {
        self.write(issued)?;
        // One of an earlier version would come back if this one were lost.
        self.forget_old();
        Ok(())
    }

    fn write(&self, issued: &IssuedCertificate) -> io::Result<()> {
        let facts = facts(self.host, self.authority, issued);
        let mut away = Ok(());
        for (file, bytes) in [
            (&self.place.key, issued.key.as_bytes()),
            (&self.place.certificate, issued.chain.as_bytes()),
            (&self.place.facts, facts.as_bytes()),
        ] {
            match self.storage.write(file, bytes) {
                // The copies on this machine must be complete.
                Err(error) if is_unavailable(&error) => away = away.and(Err(error)),
                result => result?,
            }
        }
        away
    }

    fn parse(&self, key: &[u8], chain: &[u8]) -> Result<Certificate, CertificateError> {
        let [key_path, path] =
            [&self.place.key, &self.place.certificate].map(|file| self.storage.path(file));
        let (chain, key) = (PemText::new(chain, &path), PemText::new(key, &key_path));
        Certificate::from_pem(chain, key, self.provider)
    }

    fn read(&self) -> Result<Option<Certificate>, LoadError> {
        let mut look = 1;
        loop {
            match self.read_once() {
                Err(fault) if fault.is_transient() && look < LOOKS => {
                    look += 1;
                    std::thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    fn read_once(&self) -> Result<Option<Certificate>, LoadError> {
        let key = self.storage.read(&self.place.key)?;
        let chain = self.storage.read(&self.place.certificate)?;
        let missing = match (key, chain) {
            (Some(key), Some(chain)) => return Ok(Some(self.parse(&key, &chain)?)),
            (None, None) => return Ok(None),
            (None, Some(_)) => &self.place.key,
            (Some(_), None) => &self.place.certificate,
        };
        let file = self.storage.path(missing);
        Err(LoadError::Missing { file })
    }

    /// A certificate that an earlier version has left.
    fn take_old(&self) -> Result<Option<Certificate>, LoadError> {
        let old = layout::old_certificate(self.authority, self.host);
        let Some(pem) = self.storage.read(&old)? else {
            return Ok(None);
        };
        let path = self.storage.path(&old);
        let text = PemText::new(&pem, &path);
        let certificate = Certificate::from_pem(text, text, self.provider)?;
        match self.put_old(&pem) {
            Ok(true) => {
                tracing::info!(
                    target: "howdah::tls",
                    host = self.host,
                    from = %path.display(),
                    to = %self.storage.path(&self.place.certificate).display(),
                    "a stored certificate was moved to Caddy's layout",
                );
                self.forget_old();
            }
            // Another server was faster, and may have renewed it by now.
            Ok(false) => {
                if let Ok(Some(newer)) = self.read() {
                    return Ok(Some(newer));
                }
            }
            // Reported elsewhere.
            Err(error) if is_unavailable(&error) => {}
            Err(error) => tracing::warn!(
                target: "howdah::tls",
                host = self.host,
                file = %path.display(),
                %error,
                "a stored certificate cannot be moved; it is used in its old place",
            ),
        }
        Ok(Some(certificate))
    }

    /// Moves the parts of the old file to their places; returns false if others exist.
    fn put_old(&self, pem: &[u8]) -> io::Result<bool> {
        let PemParts { key, chain } = PemParts::split(pem);
        if !self.storage.create(&self.place.key, &key)?
            && self.storage.read(&self.place.key)?.as_ref() != Some(&key)
        {
            return Ok(false);
        }
        let text = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
        self.write(&IssuedCertificate {
            key: text(key)?,
            chain: text(chain)?,
            url: None,
            account: None,
        })?;
        Ok(true)
    }

    fn forget_old(&self) {
        let old = layout::old_certificate(self.authority, self.host);
        if let Err(error) = self.storage.remove(&old)
            && !is_unavailable(&error)
        {
            let file = self.storage.path(&old);
            tracing::warn!(target: "howdah::tls", file = %file.display(), error = %crate::directory::reason(&error), "an old certificate cannot be removed");
        }
    }
}

/// Caddy's metadata of a certificate: without this file Caddy ignores it.
fn facts(host: &str, authority: &str, issued: &IssuedCertificate) -> String {
    let mut data = json!({"url": issued.url.as_deref().unwrap_or_default(), "ca": authority});
    if let Some(account) = &issued.account {
        data["account"] = account.as_str().into();
    }
    format!("{:#}\n", json!({"sans": [host], "issuer_data": data}))
}

/// The parts of a PEM file with a certificate and its key.
struct PemParts {
    /// Private keys.
    key: Vec<u8>,
    /// Everything else.
    chain: Vec<u8>,
}

impl PemParts {
    fn split(pem: &[u8]) -> Self {
        let (mut key, mut chain) = (Vec::new(), Vec::new());
        let mut in_key = false;
        for line in pem.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii_end();
            if text.starts_with(b"-----BEGIN ") {
                in_key = text.ends_with(b"PRIVATE KEY-----");
            }
            let part = if in_key { &mut key } else { &mut chain };
            part.extend_from_slice(line);
        }
        Self { key, chain }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::caddy_files::{PemPair, pair};
    use crate::redis_storage::RedisStorage;
    use crate::remote::{Remote, config_of};
    use crate::server_config::provider;

    const AUTHORITY: &str = "https://acme-v02.api.letsencrypt.org/directory";
    const HOST: &str = "shop.example.com";
    const PLACE: &str =
        "certificates/acme-v02.api.letsencrypt.org-directory/shop.example.com/shop.example.com";
    const OLD: &str = "acme/acme-v02.api.letsencrypt.org_directory/shop.example.com.pem";

    /// In the format of Caddy 2.10.
    const FACTS: &str = "{\n\t\"sans\": [\n\t\t\"shop.example.com\"\n\t],\n\t\"issuer_data\": {\n\
        \t\t\"url\": \"https://acme-v02.api.letsencrypt.org/acme/cert/05ab\",\n\
        \t\t\"ca\": \"https://acme-v02.api.letsencrypt.org/directory\",\n\
        \t\t\"account\": \"https://acme-v02.api.letsencrypt.org/acme/acct/17\",\n\
        \t\t\"renewal_info\": {\n\t\t\t\"suggestedWindow\": {\n\
        \t\t\t\t\"start\": \"2026-12-20T00:00:00Z\",\n\t\t\t\t\"end\": \"2026-12-22T00:00:00Z\"\n\
        \t\t\t},\n\t\t\t\"_uniqueIdentifier\": \"abc.def\",\n\
        \t\t\t\"_selectedTime\": \"2026-12-21T00:00:00Z\"\n\t\t}\n\t}\n}";

    fn storage() -> (tempfile::TempDir, Storage) {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Storage::new(directory.path().to_owned());
        (directory, storage)
    }

    fn load(storage: &Storage) -> Option<Certificate> {
        StoredCertificate::new(storage, AUTHORITY, HOST, &provider()).load()
    }

    fn put(storage: &Storage, end: &str, text: &str) {
        let file = format!("{PLACE}.{end}");
        storage.write(file, text.as_bytes()).expect("written");
    }

    fn read(storage: &Storage, end: &str) -> Option<String> {
        let bytes = storage.read(format!("{PLACE}.{end}")).expect("readable")?;
        Some(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn files_of_caddy_are_used_and_left_unchanged() {
        for (kind, label) in [
            ("p256", "BEGIN EC PRIVATE KEY"),
            ("rsa:2048", "BEGIN RSA PRIVATE KEY"),
            ("ed25519", "BEGIN ED25519 PRIVATE KEY"),
        ] {
            let (_directory, storage) = storage();
            let PemPair { key, chain } = pair(kind, HOST);
            assert!(key.contains(label), "{kind}");
            let files = [("key", key), ("crt", chain), ("json", FACTS.to_owned())];
            for (end, text) in &files {
                put(&storage, end, text);
            }
            let certificate = load(&storage).expect(kind);
            assert_eq!(certificate.names, [HOST]);
            for (end, text) in files {
                assert_eq!(read(&storage, end), Some(text), "{kind}");
            }
        }
    }

    #[test]
    fn stored_files_have_caddys_names() {
        let (directory, storage) = storage();
        assert!(load(&storage).is_none());
        let PemPair { key, chain } = pair("p256", HOST);
        let issued = IssuedCertificate {
            key,
            chain,
            url: Some("https://ca.test/cert/1".into()),
            account: Some("https://ca.test/account/1".into()),
        };
        let provider = provider();
        let kept = StoredCertificate::new(&storage, AUTHORITY, HOST, &provider);
        kept.check(&issued).expect("a pair");
        kept.store(&issued).expect("written");
        assert_eq!(read(&storage, "key").as_ref(), Some(&issued.key));
        assert_eq!(read(&storage, "crt").as_ref(), Some(&issued.chain));
        let facts = read(&storage, "json").expect("it is there");
        let facts: serde_json::Value = serde_json::from_str(&facts).expect("JSON");
        let expected = json!({
            "sans": [HOST],
            "issuer_data": {
                "ca": AUTHORITY,
                "url": "https://ca.test/cert/1",
                "account": "https://ca.test/account/1",
            },
        });
        assert_eq!(facts, expected);
        let mode = |path: &str| {
            let metadata = fs::metadata(directory.path().join(path)).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(mode(&format!("{PLACE}.key")), 0o600);
        let mut folder = Path::new(PLACE).parent();
        while let Some(path) = folder.filter(|path| !path.as_os_str().is_empty()) {
            assert_eq!(mode(&path.to_string_lossy()), 0o700, "{}", path.display());
            folder = path.parent();
        }
        assert!(load(&storage).is_some());
    }

    #[test]
    fn a_certificate_of_other_names_is_checked_again_and_not_used() {
        let (_directory, storage) = storage();
        let PemPair { key, chain } = pair("p256", HOST);
        put(&storage, "key", &key);
        let provider = provider();
        let kept = StoredCertificate::new(&storage, AUTHORITY, HOST, &provider);
        let fault = kept.read_once().expect_err("half of it");
        assert!(fault.is_transient() && fault.to_string().contains(".crt is missing"));
        assert!(kept.load().is_none());
        put(&storage, "crt", &chain);
        assert!(
            kept.load().is_some(),
            "what Caddy alone needs may be missing"
        );
        // A writer that has not written all its files, or never did.
        let other = pair("p256", HOST);
        put(&storage, "key", &other.key);
        let fault = kept.read_once().expect_err("not its key");
        assert!(fault.is_transient(), "{fault}");
        assert!(kept.load().is_none());
        put(&storage, "key", "nothing");
        assert!(!kept.read_once().expect_err("no key").is_transient());
    }

    /// `storage` has a certificate of an earlier version.
    fn moves(storage: &Storage) {
        let PemPair { key, chain } = pair("p256", HOST);
        let old = || storage.read(OLD).expect("readable");
        let leave = || {
            let pem = format!("{key}{chain}");
            storage.write(OLD, pem.as_bytes()).expect("written");
        };
        leave();
        let moved = load(storage).expect("it is whole");
        assert_eq!(moved.names, [HOST]);
        assert_eq!(old(), None);
        assert_eq!(read(storage, "key").as_ref(), Some(&key));
        assert_eq!(read(storage, "crt").as_ref(), Some(&chain));
        assert!(read(storage, "json").is_some_and(|facts| facts.contains(AUTHORITY)));
        let again = load(storage).expect("it is there");
        assert_eq!(again.key.cert, moved.key.cert);

        // A server that crashed in between left only the key.
        leave();
        for end in ["crt", "json"] {
            let file = format!("{PLACE}.{end}");
            storage.remove(file).expect("removed");
        }
        assert!(load(storage).is_some());
        assert!(old().is_none() && read(storage, "json").is_some());

        // The files in the new place count.
        leave();
        let new = pair("p256", HOST);
        put(storage, "key", &new.key);
        put(storage, "crt", &new.chain);
        let newer = load(storage).expect("it is there");
        assert_ne!(newer.key.cert, moved.key.cert);
        assert!(old().is_some());
        // The next one leaves nothing that could come back.
        let provider = provider();
        let issued = IssuedCertificate {
            key: new.key,
            chain: new.chain,
            url: None,
            account: None,
        };
        let kept = StoredCertificate::new(storage, AUTHORITY, HOST, &provider);
        kept.store(&issued).expect("written");
        assert_eq!(old(), None);
    }

    #[test]
    fn certificates_of_earlier_versions_are_moved() {
        let (_directory, storage) = storage();
        moves(&storage);
    }

    #[test]
    fn certificates_of_earlier_versions_are_moved_in_redis() {
        let Some(mut server) = howdah_testkit::Redis::start() else {
            return;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let config = config_of(&server);
        let storage = || {
            let remote = Remote::new(&config).expect("valid");
            let copies = Some(directory.path().to_owned());
            Storage::Shared(Arc::new(RedisStorage::new(remote, copies)))
        };
        moves(&storage());
        assert!(directory.path().join(format!("{PLACE}.key")).exists());
        assert!(!directory.path().join(OLD).exists());
        server.stop();
        assert!(load(&storage()).is_some(), "the copies");
        // So do those of an earlier version, until they can be moved.
        fs::remove_dir_all(directory.path().join("certificates")).expect("removed");
        let PemPair { key, chain } = pair("p256", HOST);
        let copies = Storage::new(directory.path().to_owned());
        let pem = format!("{key}{chain}");
        copies.write(OLD, pem.as_bytes()).expect("written");
        assert!(load(&storage()).is_some());
    }
}
