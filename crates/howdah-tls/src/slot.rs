//! The current certificate of a name. Handshakes read it without a lock; a renewal replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use arc_swap::ArcSwapOption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

use crate::certificate::Certificate;

/// The current certificate of a name.
pub(crate) struct Slot {
    current: ArcSwapOption<CertifiedKey>,
    /// Seconds since 1970; 0: not set.
    until: AtomicU64,
    /// Notifies the stapling task.
    changed: Notify,
    /// Its authority has revoked it, and the renewal has not started.
    revoked: AtomicBool,
}

impl Slot {
    /// A slot without a certificate: handshakes fail until it has one.
    pub(crate) fn empty() -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwapOption::empty(),
            until: AtomicU64::new(0),
            changed: Notify::new(),
            revoked: AtomicBool::new(false),
        })
    }

    pub(crate) fn set(&self, certificate: &Certificate) {
        self.current.store(Some(Arc::clone(&certificate.key)));
        let until = certificate.not_after.duration_since(UNIX_EPOCH);
        self.until
            .store(until.unwrap_or_default().as_secs(), Relaxed);
        self.revoked.store(false, Relaxed);
        self.changed.notify_one();
    }

    /// Waits until the certificate changes; a change before the call counts too.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Sets or removes the OCSP response of the certificate, unless it has changed from that of `key`.
    pub(crate) fn staple(&self, key: &CertifiedKey, response: Option<&[u8]>) {
        let current = self.current.load();
        let Some(now) = &*current else { return };
        if now.cert == key.cert && now.ocsp.as_deref() != response {
            let mut stapled = (**now).clone();
            stapled.ocsp = response.map(<[u8]>::to_vec);
            self.current
                .compare_and_swap(&current, Some(Arc::new(stapled)));
        }
    }

    /// Marks the certificate as revoked.
    pub(crate) fn revoke(&self) {
        self.revoked.store(true, Relaxed);
    }

    /// Whether it is revoked; true only once.
    pub(crate) fn take_revocation(&self) -> bool {
        self.revoked.swap(false, Relaxed)
    }

    pub(crate) fn get(&self) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filled = self.current.load().is_some();
        f.debug_struct("Slot")
            .field("filled", &filled)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.get()
    }
}

/// When the certificates of a configuration's hosts expire. Follows their renewal.
#[derive(Debug, Clone, Default)]
pub struct Expiries(Arc<[(String, Arc<Slot>)]>);

impl Expiries {
    pub(crate) fn of(slots: impl IntoIterator<Item = (String, Arc<Slot>)>) -> Self {
        Self(slots.into_iter().collect())
    }

    /// Hosts, `*` for all that are not named, each with the time in seconds since 1970 when its certificate expires: of
    /// several the first one. Hosts without a certificate are left out.
    pub fn all(&self) -> Vec<(String, u64)> {
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for (host, slot) in &*self.0 {
            let until = slot.until.load(Relaxed);
            if until > 0 {
                let known = all.entry(host).or_insert(until);
                *known = until.min(*known);
            }
        }
        let all = all.into_iter();
        all.map(|(host, until)| (host.to_owned(), until)).collect()
    }
}
