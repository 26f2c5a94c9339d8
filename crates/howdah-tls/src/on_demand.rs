//! On-demand certificates from the side of handshakes. A handshake for a name without a certificate
//! waits until the certificate thread has obtained one or failed.
//!
//! ```text
//! handshake ── OnDemandNames::obtain ──PendingName──> queue, read by maintain::on_demand: permission, certificate, renewal
//!     └───────────── Names <── PendingName::complete, or dropped: no certificate for now
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use howdah_config::model::SiteTls;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::{mpsc, watch};

use crate::slot::Slot;

/// Maximum number of names with a certificate. Beyond it, the least recently used one is dropped, and read from the
/// storage when a client requests it again.
const NAMES_MAX: usize = 10_000;
/// Maximum number of names that clients wait for; clients of further names are refused immediately.
const PENDING_MAX: usize = 1_000;
/// Maximum number of names without a certificate that are cached; beyond it, the cache is emptied.
const REFUSED_MAX: usize = 10_000;
/// How long it is cached that a name has no certificate.
const REFUSED: Duration = Duration::from_secs(10);

/// The names of one or more sites with the same issuer.
#[derive(Debug)]
pub(crate) struct OnDemandNames {
    /// Determines who issues the certificates.
    pub(crate) tls: SiteTls,
    names: RwLock<Names>,
    queue: mpsc::UnboundedSender<PendingName>,
}

#[derive(Debug, Default)]
struct Names {
    got: HashMap<String, Arc<CertifiedName>>,
    /// Waiting handshakes are woken when the sender is dropped.
    pending: HashMap<String, watch::Receiver<()>>,
    refused: HashMap<String, Instant>,
}

/// A name that has a certificate.
#[derive(Debug)]
pub(crate) struct CertifiedName {
    slot: Arc<Slot>,
    /// Time of the last handshake, in seconds since 1970.
    used: AtomicU64,
}

/// A requested name for which this task obtains the certificate. Dropping it means that there is no
/// certificate for now.
#[derive(Debug)]
pub(crate) struct PendingName {
    pub(crate) demand: Arc<OnDemandNames>,
    pub(crate) name: String,
    _waiting: watch::Sender<()>,
}

/// A name that clients have requested.
#[derive(Debug)]
pub(crate) struct ServedName {
    pub(crate) name: String,
    pub(crate) slot: Arc<Slot>,
    /// Time of the last handshake, in seconds.
    pub(crate) used: u64,
}

impl OnDemandNames {
    pub(crate) fn new(tls: SiteTls, queue: mpsc::UnboundedSender<PendingName>) -> Self {
        Self {
            tls,
            names: RwLock::default(),
            queue,
        }
    }

    /// Whether a handshake for this name, in lower case, can continue without waiting.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.read().got.contains_key(name)
    }

    /// Waits until there is a certificate for this name, in lower case, or there will be none for
    /// now.
    pub(crate) async fn obtain(self: &Arc<Self>, name: &str) {
        if let Some(mut waiting) = self.request(name) {
            // An error: the request was dropped.
            let _ = waiting.changed().await;
        }
    }

    fn request(self: &Arc<Self>, name: &str) -> Option<watch::Receiver<()>> {
        if !is_host(name) {
            return None;
        }
        let (sender, receiver) = watch::channel(());
        {
            let mut names = self.write();
            if names.got.contains_key(name) || names.is_refused(name, Instant::now()) {
                return None;
            }
            if let Some(waiting) = names.pending.get(name) {
                return Some(waiting.clone());
            }
            if names.pending.len() >= PENDING_MAX {
                return None;
            }
            names.pending.insert(name.to_owned(), receiver.clone());
        }
        let pending = PendingName {
            demand: Arc::clone(self),
            name: name.to_owned(),
            _waiting: sender,
        };
        // A dropped sender means that there is no certificate.
        let _ = self.queue.send(pending);
        Some(receiver)
    }

    /// Whether handshakes still find `certified` under this name.
    pub(crate) fn is_current(&self, name: &str, certified: &Arc<CertifiedName>) -> bool {
        let names = self.read();
        names
            .got
            .get(name)
            .is_some_and(|own| Arc::ptr_eq(own, certified))
    }

    /// The served names for which `chosen` is true.
    pub(crate) fn names(&self, chosen: impl Fn(&str) -> bool) -> Vec<ServedName> {
        let names = self.read();
        let got = names.got.iter().filter(|(name, _)| chosen(name));
        got.map(|(name, certified)| ServedName {
            name: name.clone(),
            slot: Arc::clone(&certified.slot),
            used: certified.used.load(Relaxed),
        })
        .collect()
    }

    /// Handshakes find the certificate of `slot` from the first one on; `used` is the time of the last one before.
    pub(crate) fn take_over(&self, name: &str, slot: Arc<Slot>, used: u64) -> Arc<CertifiedName> {
        let certified = Arc::new(CertifiedName {
            slot,
            used: AtomicU64::new(used),
        });
        let mut names = self.write();
        names.make_room();
        names.got.insert(name.to_owned(), Arc::clone(&certified));
        certified
    }

    /// The next client that requests this name has to wait again.
    pub(crate) fn forget(&self, name: &str) {
        self.write().got.remove(name);
    }

    fn read(&self) -> RwLockReadGuard<'_, Names> {
        self.names.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Names> {
        self.names.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    fn is_refused(&self, name: &str, now: Instant) -> bool {
        self.refused
            .get(name)
            .is_some_and(|since| now.duration_since(*since) < REFUSED)
    }

    fn refuse(&mut self, name: &str, now: Instant) {
        if self.refused.len() >= REFUSED_MAX {
            self.refused
                .retain(|_, since| now.duration_since(*since) < REFUSED);
            if self.refused.len() >= REFUSED_MAX {
                self.refused.clear();
            }
        }
        self.refused.insert(name.to_owned(), now);
    }

    fn make_room(&mut self) {
        if self.got.len() < NAMES_MAX {
            return;
        }
        let oldest = self
            .got
            .iter()
            .min_by_key(|(_, certified)| certified.used.load(Relaxed));
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            self.got.remove(&oldest);
        }
    }
}

impl CertifiedName {
    fn new(slot: Arc<Slot>, used: SystemTime) -> Self {
        Self {
            slot,
            used: AtomicU64::new(seconds(used)),
        }
    }

    /// Records a handshake at `now`.
    pub(crate) fn set_used(&self, now: SystemTime) {
        self.used.store(seconds(now), Relaxed);
    }

    /// Whether there was a handshake within the time before `now`.
    pub(crate) fn is_used_within(&self, time: Duration, now: SystemTime) -> bool {
        seconds(now).saturating_sub(self.used.load(Relaxed)) <= time.as_secs()
    }
}

impl PendingName {
    /// Handshakes find the certificate of `slot` from now on.
    pub(crate) fn complete(self, slot: Arc<Slot>) -> Arc<CertifiedName> {
        let certified = Arc::new(CertifiedName::new(slot, SystemTime::now()));
        let mut names = self.demand.write();
        names.make_room();
        names.got.insert(self.name.clone(), Arc::clone(&certified));
        drop(names);
        certified
    }
}

impl Drop for PendingName {
    fn drop(&mut self) {
        let mut names = self.demand.write();
        names.pending.remove(&self.name);
        if !names.got.contains_key(&self.name) {
            names.refuse(&self.name, Instant::now());
        }
    }
}

impl ResolvesServerCert for OnDemandNames {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?.to_ascii_lowercase();
        let names = self.read();
        let certified = names.got.get(&name)?;
        certified.set_used(SystemTime::now());
        certified.slot.get()
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Whether a name is valid for a file and a certificate: labels of letters, digits and hyphens, in lower case.
fn is_host(name: &str) -> bool {
    let label = |label: &str| {
        let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(valid)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label) && name.parse::<std::net::IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand() -> (Arc<OnDemandNames>, mpsc::UnboundedReceiver<PendingName>) {
        let (queue, pending) = mpsc::unbounded_channel();
        let demand = OnDemandNames::new(SiteTls::default(), queue);
        (Arc::new(demand), pending)
    }

    /// Requests `name` from the certificate thread.
    fn next(
        demand: &Arc<OnDemandNames>,
        queue: &mut mpsc::UnboundedReceiver<PendingName>,
        name: &str,
    ) -> (Option<watch::Receiver<()>>, Option<PendingName>) {
        (demand.request(name), queue.try_recv().ok())
    }

    #[test]
    fn names_of_hosts() {
        for good in ["a", "a.example", "xn--bcher-kva.example", "1.a-b.example"] {
            assert!(is_host(good), "{good}");
        }
        let long = "a.".repeat(126) + "ab";
        assert_eq!(long.len(), 254);
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "A.b",
            "a_b",
            "-a.b",
            "a-.b",
            "*.a",
            "a/b",
            "127.0.0.1",
            "::1",
            &"a".repeat(64),
            &long,
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }

    #[test]
    fn a_name_is_got_once() {
        let (demand, mut queue) = demand();
        let (first, pending) = next(&demand, &mut queue, "a.test");
        let (second, no) = next(&demand, &mut queue, "a.test");
        let (first, second, pending) = (
            first.expect("it waits"),
            second.expect("it waits"),
            pending.expect("one"),
        );
        assert!(no.is_none());
        assert!(first.has_changed().is_ok() && second.has_changed().is_ok());
        let certified = pending.complete(Slot::empty());
        assert!(
            first.has_changed().is_err() && second.has_changed().is_err(),
            "woken"
        );
        assert!(demand.has("a.test") && demand.is_current("a.test", &certified));
        assert!(demand.request("a.test").is_none());
        demand.forget("a.test");
        assert!(!demand.is_current("a.test", &certified));
        assert!(demand.request("a.test").is_some());
    }

    #[test]
    fn a_refusal_is_remembered_for_a_while() {
        let (demand, mut queue) = demand();
        let (waiting, pending) = next(&demand, &mut queue, "a.test");
        drop(pending);
        assert!(waiting.expect("it waited").has_changed().is_err(), "woken");
        assert!(!demand.has("a.test"));
        assert!(demand.request("a.test").is_none());
        let later = Instant::now() + REFUSED;
        assert!(!demand.read().is_refused("a.test", later));
        for number in 0..=REFUSED_MAX {
            let mut names = demand.write();
            names.refuse(&format!("{number}.test"), later);
            assert!(names.refused.len() <= REFUSED_MAX);
        }
    }

    #[test]
    fn a_dropped_queue_delays_no_handshake() {
        let (demand, queue) = demand();
        drop(queue);
        let waiting = demand.request("a.test").expect("it asked");
        assert!(waiting.has_changed().is_err());
        assert!(demand.read().pending.is_empty());
    }

    #[test]
    fn few_names_wait_and_few_are_kept() {
        let (demand, mut queue) = demand();
        let mut all = Vec::new();
        for number in 0..PENDING_MAX {
            let (_, pending) = next(&demand, &mut queue, &format!("{number}.test"));
            all.push(pending.expect("there is room"));
        }
        assert!(demand.request("more.test").is_none());
        drop(all);
        for number in 0..=NAMES_MAX {
            let name = format!("{number}.kept.test");
            let (_, pending) = next(&demand, &mut queue, &name);
            let certified = pending.expect("there is room").complete(Slot::empty());
            // The second one was used longest ago.
            let used = if number == 1 { 5 } else { 10 };
            certified.used.store(used, Relaxed);
        }
        assert_eq!(demand.read().got.len(), NAMES_MAX);
        assert!(demand.has("0.kept.test") && !demand.has("1.kept.test"));
    }

    #[test]
    fn use_is_known_by_the_second() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let certified = CertifiedName::new(Slot::empty(), at(100));
        let day = Duration::from_secs(86_400);
        assert!(certified.is_used_within(day, at(86_500)));
        assert!(!certified.is_used_within(day, at(86_501)));
        assert!(
            certified.is_used_within(day, at(5)),
            "a clock that was ahead"
        );
    }
}
