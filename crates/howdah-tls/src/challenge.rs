//! Proofs of control of a name, while an authority verifies it. They are in the storage, so that each server that
//! shares it can respond.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use howdah_config::model::SiteTls;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;

use crate::certificate::{Certificate, PemText};
use crate::server_config::{self, ACME_TLS};
use crate::slot::Slot;
use crate::storage::{Storage, file_name};

const HTTP: &str = "challenges/http";
const TLS: &str = "challenges/tls";

/// Challenges that authorities may verify now.
#[derive(Debug, Clone)]
pub(crate) struct Challenges {
    storage: Storage,
    provider: Arc<CryptoProvider>,
}

/// A proof that is published until this is dropped.
#[derive(Debug)]
pub(crate) struct PublishedProof {
    storage: Storage,
    file: PathBuf,
}

impl Drop for PublishedProof {
    fn drop(&mut self) {
        if let Err(error) = self.storage.remove(&self.file) {
            let file = self.storage.path(&self.file);
            tracing::warn!(file = %file.display(), error = %crate::directory::reason(&error), "an old proof cannot be removed");
        }
    }
}

/// Responds to requests for `/.well-known/acme-challenge/TOKEN`.
#[derive(Debug, Clone)]
pub enum HttpProofs {
    /// The files of this directory, named by token.
    Directory(PathBuf),
    /// Proofs that need a lookup: values that several machines share, or files that this process cannot open itself.
    Shared(SharedProofs),
}

/// See [`HttpProofs`].
#[derive(Debug, Clone)]
pub struct SharedProofs(Storage);

impl SharedProofs {
    /// The response for a token of letters, digits, `-` and `_`; `None` if no pending order has it,
    /// or the storage does not respond. Must be called within a runtime; it does not block its
    /// threads.
    pub async fn find(&self, token: &str) -> Option<Vec<u8>> {
        read_challenge(&self.0, Path::new(HTTP).join(token)).await
    }
}

async fn read_challenge(storage: &Storage, file: PathBuf) -> Option<Vec<u8>> {
    match storage {
        Storage::Shared(shared) => shared.read_for_client(file).await,
        Storage::Directory(directory) => {
            let directory = directory.clone();
            // It may belong to another machine.
            let read = tokio::task::spawn_blocking(move || directory.read(&file)).await;
            read.ok()?.ok().flatten()
        }
    }
}

impl Challenges {
    pub(crate) fn new(storage: Storage, provider: Arc<CryptoProvider>) -> Self {
        Self { storage, provider }
    }

    /// The proofs for plain HTTP.
    pub(crate) fn http(&self) -> HttpProofs {
        match &self.storage {
            Storage::Directory(directory) if !howdah_monitor::is_connected() => {
                HttpProofs::Directory(directory.path(HTTP))
            }
            storage => HttpProofs::Shared(SharedProofs(storage.clone())),
        }
    }

    /// Publishes the response for this token.
    pub(crate) fn show_http(&self, token: &str, authorization: &str) -> io::Result<PublishedProof> {
        // The authority's text becomes the name of a file.
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if token.is_empty() || token.len() > 200 || !token.bytes().all(valid) {
            return Err(io::Error::other("the authority's token is malformed"));
        }
        self.show(Path::new(HTTP).join(token), authorization.as_bytes())
    }

    /// Publishes the response to handshakes that verify this name; `digest` is that of the key
    /// authorization.
    pub(crate) fn show_tls(&self, host: &str, digest: &[u8]) -> io::Result<PublishedProof> {
        let pem = proof(host, digest).map_err(io::Error::other)?;
        self.show(tls_file(host), pem.as_bytes())
    }

    fn show(&self, file: PathBuf, bytes: &[u8]) -> io::Result<PublishedProof> {
        self.storage.show(&file, bytes)?;
        Ok(PublishedProof {
            storage: self.storage.clone(),
            file,
        })
    }

    /// The certificate for a handshake that verifies this name.
    pub(crate) async fn tls_alpn(&self, host: String) -> Option<Arc<ServerConfig>> {
        let file = tls_file(&host);
        let pem = read_challenge(&self.storage, file.clone()).await?;
        self.answer(&pem, &file)
    }

    fn answer(&self, pem: &[u8], file: &Path) -> Option<Arc<ServerConfig>> {
        let pem = PemText::new(pem, file);
        let certificate = Certificate::from_pem(pem, pem, &self.provider).ok()?;
        let slot = Slot::empty();
        slot.set(&certificate);
        let mut config = server_config::build(&SiteTls::default(), &self.provider, slot).ok()?;
        config.alpn_protocols = vec![ACME_TLS.to_vec()];
        Some(Arc::new(config))
    }
}

fn tls_file(host: &str) -> PathBuf {
    Path::new(TLS).join(format!("{}.pem", file_name(host)))
}

/// The certificate of RFC 8737 with its key.
fn proof(host: &str, digest: &[u8]) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([host.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let certificate = params.self_signed(&key)?;
    Ok(format!("{}{}", key.serialize_pem(), certificate.pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenges() -> (tempfile::TempDir, Challenges) {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Storage::new(directory.path().to_owned());
        let challenges = Challenges::new(storage, server_config::provider());
        (directory, challenges)
    }

    #[tokio::test]
    async fn proofs_are_seen_while_they_are_shown() {
        let (_directory, challenges) = challenges();
        assert!(challenges.tls_alpn("a.test".into()).await.is_none());
        let shown = challenges.show_tls("a.test", &[7; 32]).expect("shown");
        let config = challenges
            .tls_alpn("a.test".into())
            .await
            .expect("an answer");
        assert_eq!(config.alpn_protocols, [ACME_TLS]);
        assert!(challenges.tls_alpn("b.test".into()).await.is_none());
        drop(shown);
        assert!(challenges.tls_alpn("a.test".into()).await.is_none());

        let HttpProofs::Directory(directory) = challenges.http() else {
            panic!("it is a directory")
        };
        let file = directory.join("token-1_x");
        let shown = challenges
            .show_http("token-1_x", "token.thumb")
            .expect("shown");
        assert_eq!(std::fs::read(&file).expect("readable"), b"token.thumb");
        drop(shown);
        assert!(!file.exists());
    }

    #[test]
    fn tokens_stay_in_their_directory() {
        let (_directory, challenges) = challenges();
        for token in ["", "../x", "a/b", ".well", "a b"] {
            assert!(challenges.show_http(token, "x").is_err(), "{token}");
        }
    }
}
