//! The current certificate of a name. Handshakes read it without a lock; a renewal replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

use crate::certificate::Certificate;
use crate::schedule;

/// The current certificate of a name.
pub(crate) struct Slot {
    current: ArcSwapOption<CertifiedKey>,
    validity: ArcSwapOption<Validity>,
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
            validity: ArcSwapOption::empty(),
            changed: Notify::new(),
            revoked: AtomicBool::new(false),
        })
    }

    pub(crate) fn set(&self, certificate: &Certificate) {
        self.current.store(Some(Arc::clone(&certificate.key)));
        self.validity
            .store(Some(Arc::new(Validity::of(certificate))));
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
            .field("validity", &self.validity.load())
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.get()
    }
}

/// The life of a certificate, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Its start.
    pub from: u64,
    /// Its end.
    pub until: u64,
    /// The time by which it should have been renewed.
    pub renewal_deadline: u64,
}

impl Validity {
    fn of(certificate: &Certificate) -> Self {
        let seconds = |time: SystemTime| {
            let time = time.duration_since(UNIX_EPOCH);
            time.unwrap_or_default().as_secs()
        };
        let (from, until) = (certificate.not_before, certificate.not_after);
        Self {
            from: seconds(from),
            until: seconds(until),
            renewal_deadline: seconds(schedule::renewal_deadline(from, until)),
        }
    }
}

/// When the certificates of a configuration's hosts expire. Follows their renewal.
#[derive(Debug, Clone, Default)]
pub struct Expiries(Arc<[(String, Arc<Slot>)]>);

impl Expiries {
    pub(crate) fn of(slots: impl IntoIterator<Item = (String, Arc<Slot>)>) -> Self {
        Self(slots.into_iter().collect())
    }

    /// Hosts, `*` for all that are not named, each with the validity of its certificate: of several the one that
    /// expires first. Hosts without a certificate are left out.
    pub fn all(&self) -> Vec<(String, Validity)> {
        let mut all: BTreeMap<&str, Validity> = BTreeMap::new();
        for (host, slot) in &*self.0 {
            if let Some(own) = slot.validity.load().as_deref() {
                let known = all.entry(host).or_insert(*own);
                if own.until < known.until {
                    *known = *own;
                }
            }
        }
        let all = all.into_iter();
        all.map(|(host, own)| (host.to_owned(), own)).collect()
    }
}
