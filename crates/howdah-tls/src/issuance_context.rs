//! What is needed to issue certificates: their storage, the internal authority, and the proofs of names.

use std::sync::Arc;

use howdah_config::model::Acme;
use rustls::crypto::CryptoProvider;

use crate::acme::{Proof, Subject};
use crate::authority::Authority;
use crate::challenge::Challenges;
use crate::storage::Storage;

/// Storage, authority and proofs for new certificates. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct IssuanceContext {
    pub(crate) storage: Storage,
    pub(crate) authority: Authority,
    pub(crate) challenges: Challenges,
    proofs: Vec<Proof>,
    provider: Arc<CryptoProvider>,
}

impl IssuanceContext {
    /// `proofs`: the challenges that this server can answer.
    pub(crate) fn new(storage: Storage, proofs: Vec<Proof>, provider: Arc<CryptoProvider>) -> Self {
        Self {
            authority: Authority::new(storage.clone(), Arc::clone(&provider)),
            challenges: Challenges::new(storage.clone(), Arc::clone(&provider)),
            storage,
            proofs,
            provider,
        }
    }

    /// A name at its authority.
    pub(crate) fn subject(&self, host: &str, acme: &Acme) -> Subject {
        let mut proofs = self.proofs.clone();
        proofs.retain(|proof| match proof {
            Proof::Http => !acme.no_http,
            // For an address it uses a reverse DNS name, which few authorities request.
            Proof::TlsAlpn => !acme.no_tls_alpn && host.parse::<std::net::IpAddr>().is_err(),
        });
        Subject {
            host: host.to_owned(),
            acme: acme.clone(),
            storage: self.storage.clone(),
            challenges: self.challenges.clone(),
            provider: Arc::clone(&self.provider),
            proofs,
        }
    }
}
