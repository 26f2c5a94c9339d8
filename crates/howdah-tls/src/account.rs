//! The account at an ACME authority, as the storage has it: its key and its registration, in the same places as in
//! Caddy (see `layout`).
//!
//! The key is what matters: of several servers that create an account at the same time, the first one to store its key
//! determines the account of all, and without a registration the authority finds the account by its key.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use der::asn1::OctetStringRef;
use der::{Encode, Header, Tag};
use instant_acme::Key;
use rcgen::KeyPair;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::certificate::private_key;
use crate::layout::{self, AccountPlace};
use crate::storage::Storage;

/// The start of a key on P-256 in PKCS#8: the version, and the two identifiers of its type.
const P256: [u8; 24] = [
    0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
    0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// The place of the account with an email address at an authority.
#[derive(Debug)]
pub(crate) struct StoredAccount<'a> {
    storage: &'a Storage,
    /// URL of the authority's directory.
    authority: &'a str,
    email: Option<&'a str>,
    place: AccountPlace,
}

/// An account that can be used.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// The private key, on P-256.
    pub(crate) key: PrivatePkcs8KeyDer<'static>,
    /// Its URL. `None`: only the authority knows it.
    pub(crate) url: Option<String>,
}

impl<'a> StoredAccount<'a> {
    /// Finds the account. `None` if none is stored; [`store`](Self::store) stores a new one. A key of another type than
    /// P-256, which Caddy may have, stays as it is, and the account is stored next to it.
    pub(crate) fn find(
        storage: &'a Storage,
        authority: &'a str,
        email: Option<&'a str>,
    ) -> io::Result<(Self, Option<Credentials>)> {
        let mut account = Self {
            storage,
            authority,
            email,
            place: AccountPlace::new(authority, email),
        };
        if let Some(pem) = storage.read(&account.place.key)? {
            if let Some(key) = pkcs8(&pem) {
                let url = account.url()?;
                return Ok((account, Some(Credentials { key, url })));
            }
            let unusable = storage.path(&account.place.key);
            account.place = AccountPlace::alternative(authority, email);
            if let Some(pem) = storage.read(&account.place.key)? {
                let file = storage.path(&account.place.key);
                let key = pkcs8(&pem).ok_or_else(|| unusable_key(&file))?;
                let url = account.url()?;
                return Ok((account, Some(Credentials { key, url })));
            }
            tracing::warn!(
                target: "howdah::tls",
                file = %unusable.display(),
                "the account's key is not a P-256 key, the only supported kind; creating a second account",
            );
        }
        let old = account.take_old()?;
        Ok((account, old))
    }

    /// Stores a new account, unless another server has stored one meanwhile.
    pub(crate) fn store(&self, key: &PrivatePkcs8KeyDer<'_>, url: &str) -> io::Result<()> {
        let pem = KeyPair::try_from(key).map_err(io::Error::other)?;
        let pem = pem.serialize_pem();
        if self.storage.create(&self.place.key, pem.as_bytes())? {
            self.register(url)?;
        }
        Ok(())
    }

    /// Stores the account's URL at the authority.
    pub(crate) fn register(&self, url: &str) -> io::Result<()> {
        // Caddy treats an account without a status as one that has to be created.
        let mut facts = json!({
            "status": "valid", "termsOfServiceAgreed": true, "location": url,
        });
        if let Some(email) = self.email {
            facts["contact"] = json!([format!("mailto:{email}")]);
        }
        let text = format!("{facts:#}\n");
        self.storage
            .write(&self.place.registration, text.as_bytes())
    }

    /// Removes it: the authority does not know it.
    pub(crate) fn forget(&self) -> io::Result<()> {
        self.storage.remove(&self.place.registration)?;
        self.storage.remove(&self.place.key)
    }

    fn url(&self) -> io::Result<Option<String>> {
        let Some(text) = self.storage.read(&self.place.registration)? else {
            return Ok(None);
        };
        let facts: Option<Value> = serde_json::from_slice(&text).ok();
        let url = facts.as_ref().and_then(|facts| facts["location"].as_str());
        Ok(url.filter(|url| !url.is_empty()).map(str::to_owned))
    }

    /// Moves one that an earlier version has left.
    fn take_old(&self) -> io::Result<Option<Credentials>> {
        let old = layout::old_account(self.authority, self.email);
        let Some(text) = self.storage.read(&old)? else {
            return Ok(None);
        };
        let Some(credentials) = old_credentials(&text) else {
            let file = self.storage.path(&old);
            tracing::warn!(target: "howdah::tls", file = %file.display(), "a stored account is unusable; creating a \
                new one");
            return Ok(None);
        };
        if let Some(url) = &credentials.url {
            self.store(&credentials.key, url)?;
        }
        self.storage.remove(&old)?;
        Ok(Some(credentials))
    }
}

fn unusable_key(file: &std::path::Path) -> io::Error {
    let file = file.display();
    io::Error::other(format!(
        "{file}: the file contains no P-256 private key; remove it, and a new account is created"
    ))
}

/// A key in PEM in the form of the ACME library; `None` if the library does not support it.
fn pkcs8(pem: &[u8]) -> Option<PrivatePkcs8KeyDer<'static>> {
    let key = match private_key(pem)? {
        PrivateKeyDer::Pkcs8(key) => key,
        PrivateKeyDer::Sec1(key) => wrap(key.secret_sec1_der()).ok()?.into(),
        _ => return None,
    };
    Key::from_pkcs8_der(key.clone_key()).is_ok().then_some(key)
}

/// Converts a key on P-256 from SEC1, which Caddy writes, to PKCS#8.
fn wrap(sec1: &[u8]) -> der::Result<Vec<u8>> {
    let key = OctetStringRef::new(sec1)?.to_der()?;
    let mut pkcs8 = Header::new(Tag::Sequence, P256.len() + key.len())?.to_der()?;
    pkcs8.extend_from_slice(&P256);
    pkcs8.extend_from_slice(&key);
    Ok(pkcs8)
}

/// The account in the file of earlier versions.
fn old_credentials(text: &[u8]) -> Option<Credentials> {
    let facts: Value = serde_json::from_slice(text).ok()?;
    let key = BASE64_URL_SAFE_NO_PAD
        .decode(facts["key_pkcs8"].as_str()?)
        .ok()?;
    let key = PrivatePkcs8KeyDer::from(key);
    Key::from_pkcs8_der(key.clone_key()).ok()?;
    let url = Some(facts["id"].as_str()?.to_owned());
    Some(Credentials { key, url })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy_files::pair;

    const AUTHORITY: &str = "https://acme-v02.api.letsencrypt.org/directory";
    const EMAIL: Option<&str> = Some("admin@example.com");
    const PLACE: &str = "acme/acme-v02.api.letsencrypt.org-directory/users/admin@example.com";
    const URL: &str = "https://acme-v02.api.letsencrypt.org/acme/acct/17";
    const OLD: &str = "acme/acme-v02.api.letsencrypt.org_directory/account-admin_example.com.json";

    /// A registration in Caddy's format.
    const REGISTRATION: &str = "{\n\t\"status\": \"valid\",\n\t\"contact\": [\n\
        \t\t\"mailto:admin@example.com\"\n\t],\n\t\"termsOfServiceAgreed\": true,\n\
        \t\"location\": \"https://acme-v02.api.letsencrypt.org/acme/acct/17\"\n}";

    fn storage() -> (tempfile::TempDir, Storage) {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Storage::new(directory.path().to_owned());
        (directory, storage)
    }

    fn find(storage: &Storage) -> (StoredAccount<'_>, Option<Credentials>) {
        StoredAccount::find(storage, AUTHORITY, EMAIL).expect("readable")
    }

    fn put(storage: &Storage, file: &str, text: &str) {
        let file = format!("{PLACE}/{file}");
        storage.write(file, text.as_bytes()).expect("written");
    }

    fn read(storage: &Storage, file: &str) -> Option<String> {
        let bytes = storage.read(format!("{PLACE}/{file}")).expect("readable")?;
        Some(String::from_utf8(bytes).expect("text"))
    }

    fn new_key() -> PrivatePkcs8KeyDer<'static> {
        KeyPair::generate().expect("a key").serialize_der().into()
    }

    #[test]
    fn that_of_caddy_is_taken() {
        let (_directory, storage) = storage();
        assert!(find(&storage).1.is_none());
        let key = pair("p256", "unused.test").key;
        assert!(key.contains("BEGIN EC PRIVATE KEY"));
        put(&storage, "admin.key", &key);
        let found = find(&storage).1.expect("its key will do");
        assert_eq!(found.url, None, "the authority is to be asked");
        put(&storage, "admin.json", REGISTRATION);
        let (account, found) = find(&storage);
        let found = found.expect("its key will do");
        assert_eq!(found.url.as_deref(), Some(URL));
        account.store(&new_key(), "another").expect("nothing to do");
        assert_eq!(read(&storage, "admin.key"), Some(key));
        assert_eq!(read(&storage, "admin.json").as_deref(), Some(REGISTRATION));
        account.forget().expect("removed");
        assert!(find(&storage).1.is_none());
    }

    #[test]
    fn a_new_one_is_where_caddy_looks_for_it() {
        let (_directory, storage) = storage();
        let key = new_key();
        find(&storage).0.store(&key, URL).expect("kept");
        let facts = read(&storage, "admin.json").expect("it is there");
        let facts: Value = serde_json::from_str(&facts).expect("JSON");
        let caddys: Value = serde_json::from_str(REGISTRATION).expect("JSON");
        assert_eq!(facts, caddys);
        let found = find(&storage).1.expect("it is there");
        assert_eq!(found.key, key);
        assert_eq!(found.url.as_deref(), Some(URL));
    }

    #[test]
    fn a_key_of_another_kind_stays_and_gets_a_neighbour() {
        for kind in ["rsa:2048", "ed25519"] {
            let (_directory, storage) = storage();
            let key = pair(kind, "unused.test").key;
            put(&storage, "admin.key", &key);
            put(&storage, "admin.json", REGISTRATION);
            let (account, found) = find(&storage);
            assert!(found.is_none(), "{kind}");
            let own = new_key();
            account.store(&own, URL).expect("kept");
            assert_eq!(read(&storage, "admin.key"), Some(key));
            assert_eq!(find(&storage).1.expect("beside").key, own);
            put(&storage, "howdah-account.key", "nothing");
            let error = StoredAccount::find(&storage, AUTHORITY, EMAIL);
            let error = error.expect_err("neither will do").to_string();
            assert!(error.contains("howdah-account.key"), "{error}");
        }
    }

    #[test]
    fn that_of_an_earlier_version_is_moved() {
        let (_directory, storage) = storage();
        let key = new_key();
        let leave = |text: &str| storage.write(OLD, text.as_bytes()).expect("written");
        let encoded = BASE64_URL_SAFE_NO_PAD.encode(key.secret_pkcs8_der());
        leave(&json!({"id": URL, "key_pkcs8": encoded, "directory": AUTHORITY}).to_string());
        for _ in 0..2 {
            let found = find(&storage).1.expect("it is whole");
            assert_eq!((&found.key, found.url.as_deref()), (&key, Some(URL)));
            assert_eq!(storage.read(OLD).expect("readable"), None);
        }
        find(&storage).0.forget().expect("removed");
        leave("broken");
        assert!(find(&storage).1.is_none());
    }
}
