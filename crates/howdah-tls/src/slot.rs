//! The certificate of a name at this moment. Handshakes read it without a lock; whoever renews it puts
//! another in.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// See the module.
pub(crate) struct Slot {
    current: ArcSwapOption<CertifiedKey>,
}

impl Slot {
    /// Without a certificate: handshakes fail until there is one.
    pub(crate) fn empty() -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwapOption::empty(),
        })
    }

    pub(crate) fn set(&self, key: Arc<CertifiedKey>) {
        self.current.store(Some(key));
    }

    pub(crate) fn get(&self) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filled = self.current.load().is_some();
        f.debug_struct("Slot").field("filled", &filled).finish()
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.get()
    }
}
