//! The certificates that handshakes use now, for the next configuration: if the storage is unreachable, or an `ask`
//! endpoint does not respond, certificates in use stay in use.

use std::collections::HashMap;
use std::sync::Arc;

use howdah_config::model::{Https, SiteTls, Source, on_demand_source};

use crate::acme;
use crate::authority::InternalAuthority;
use crate::certificate::Certificate;
use crate::on_demand::OnDemandNames;
use crate::slot::Slot;
use crate::tls::{Kind, ManagedCertificate};

/// The certificates in use; empty by default.
#[derive(Debug, Clone, Default)]
pub struct ActiveCertificates(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    slots: HashMap<Origin, Arc<Slot>>,
    demands: Vec<Arc<OnDemandNames>>,
    /// `None`: no certificate comes from it.
    authority: Option<InternalAuthority>,
    https: Https,
}

/// Subject and issuer of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    host: String,
    /// The authority's directory; `None`: the internal authority.
    authority: Option<String>,
}

impl Origin {
    fn of(kind: &Kind) -> Option<Self> {
        match kind {
            // They are read again.
            Kind::Files(_) => None,
            Kind::Internal { host, .. } => Some(Self::new(host, None)),
            Kind::Acme(subject) => Some(Self::new(&subject.host, Some(subject.url()))),
        }
    }

    /// A name that a client has requested.
    fn on_demand(host: &str, tls: &SiteTls, https: &Https) -> Option<Self> {
        match on_demand_source(host, tls, https) {
            Ok(Source::Internal(_)) => Some(Self::new(host, None)),
            Ok(Source::Acme(acme)) => Some(Self::new(host, Some(acme::url(acme)))),
            Ok(Source::Files(_) | Source::OnDemand) | Err(_) => None,
        }
    }

    fn new(host: &str, authority: Option<&str>) -> Self {
        Self {
            host: host.to_owned(),
            authority: authority.map(str::to_owned),
        }
    }
}

/// A name that clients have requested, with its certificate.
pub(crate) struct ActiveName {
    pub(crate) name: String,
    pub(crate) certificate: Certificate,
    /// Time of the last handshake, in seconds.
    pub(crate) used: u64,
}

impl ActiveCertificates {
    pub(crate) fn new(
        managed: &[ManagedCertificate],
        demands: Vec<Arc<OnDemandNames>>,
        authority: Option<InternalAuthority>,
        https: &Https,
    ) -> Self {
        let slots = managed.iter().filter_map(|managed| {
            let origin = Origin::of(&managed.kind)?;
            Some((origin, Arc::clone(&managed.slot)))
        });
        Self(Arc::new(Inner {
            slots: slots.collect(),
            demands,
            authority,
            https: https.clone(),
        }))
    }

    /// The internal authority; `None` if no site has a certificate of it.
    pub fn authority(&self) -> Option<InternalAuthority> {
        self.0.authority.clone()
    }

    /// The `ask` endpoint.
    pub(crate) fn ask(&self) -> Option<&str> {
        self.0.https.ask.as_deref()
    }

    /// The certificate for the same name by the same authority, with its OCSP response.
    pub(crate) fn certificate(&self, kind: &Kind) -> Option<Certificate> {
        let slot = self.0.slots.get(&Origin::of(kind)?)?;
        Certificate::of_key(slot.get()?)
    }

    /// The ACME certificate to serve: the stored one, unless the one in use expires later. That happens if the storage
    /// could not be written, or has only an old copy while it is unreachable.
    pub(crate) fn or_stored(
        &self,
        kind: &Kind,
        stored: Option<Certificate>,
    ) -> Option<Certificate> {
        let used = self.certificate(kind);
        match (stored, used) {
            (Some(stored), Some(used)) if used.not_after > stored.not_after => Some(used),
            (Some(stored), _) => Some(stored),
            (None, Some(used)) => {
                if let Kind::Acme(subject) = kind {
                    tracing::warn!(
                        target: "howdah::tls",
                        host = subject.host,
                        until = crate::certificate::date(used.not_after),
                        "the storage has no certificate for this host; the current one stays in use until it is due \
                        for renewal or the server restarts",
                    );
                }
                Some(used)
            }
            (None, None) => None,
        }
    }

    /// The requested names that have the same authority with `tls` and `https`.
    pub(crate) fn names(&self, tls: &SiteTls, https: &Https) -> Vec<ActiveName> {
        let demands = self.0.demands.iter();
        let all = demands.flat_map(|demand| {
            let before = |name: &str| Origin::on_demand(name, &demand.tls, &self.0.https);
            let same = |name: &str| {
                let origin = before(name);
                origin.is_some() && origin == Origin::on_demand(name, tls, https)
            };
            demand.names(same)
        });
        all.filter_map(|served| {
            Some(ActiveName {
                name: served.name,
                certificate: Certificate::of_key(served.slot.get()?)?,
                used: served.used,
            })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use howdah_config::model::{Acme, Address, Config, Issuer, Site};

    use super::*;
    use crate::Tls;
    use crate::layout::CertificatePlace;
    use crate::tls::OnDemandIssuer;

    const AUTHORITY: &str = "https://127.0.0.1:1/dir";
    const HOST: &str = "shop.example.com";

    fn config(storage: &Path, host: Option<&str>, issuer: Issuer) -> Config {
        let mut site = Site::default();
        site.addresses.push(Address {
            host: host.map(str::to_owned),
            port: 0,
            tls: true,
        });
        site.tls.issuer = Some(issuer);
        site.tls.on_demand = host.is_none();
        let mut config = Config::default();
        config.global.https.storage = Some(storage.to_owned());
        config.global.https.ask = Some("http://127.0.0.1:1/".to_owned());
        config.sites.push(site);
        config
    }

    fn by_acme(authority: &str) -> Issuer {
        Issuer::Acme(Acme {
            directory: Some(authority.to_owned()),
            ..Acme::default()
        })
    }

    /// Stores a certificate that is valid for so many days.
    fn keep(storage: &Path, days: u32) {
        let key = rcgen::KeyPair::generate().expect("made");
        let params = rcgen::CertificateParams::new([HOST.to_owned()]);
        let mut params = params.expect("a name");
        let now = std::time::SystemTime::now();
        params.not_before = (now - Duration::from_secs(60)).into();
        params.not_after = (now + days * Duration::from_secs(86_400)).into();
        let made = params.self_signed(&key).expect("made");
        let place = CertificatePlace::new(AUTHORITY, HOST);
        let file = |relative: &Path| storage.join(relative);
        let folder = file(&place.key);
        std::fs::create_dir_all(folder.parent().expect("a folder")).expect("made");
        std::fs::write(file(&place.key), key.serialize_pem()).expect("written");
        std::fs::write(file(&place.certificate), made.pem()).expect("written");
    }

    fn load(config: &Config, before: &ActiveCertificates) -> Tls {
        Tls::after(config, before).expect("valid").expect("HTTPS")
    }

    fn served(tls: &Tls) -> Option<Vec<u8>> {
        let managed = tls.managed.lock().expect("not poisoned");
        let key = managed[0].slot.get()?;
        Some(key.cert[0].to_vec())
    }

    #[test]
    fn a_certificate_stays_when_the_storage_is_gone() {
        let [storage, other] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        keep(storage.path(), 30);
        let here = config(storage.path(), Some(HOST), by_acme(AUTHORITY));
        let there = config(other.path(), Some(HOST), by_acme(AUTHORITY));
        let first = load(&here, &ActiveCertificates::default());
        let certificate = served(&first);
        assert!(certificate.is_some());
        let second = load(&there, &first.active_certificates());
        assert_eq!(served(&second), certificate);
        let managed = second.managed.lock().expect("not poisoned");
        let current = managed[0].current.as_ref().expect("maintained");
        assert_eq!(current.names, [HOST]);
        drop(managed);
        // Once more; then the stored one is newer.
        keep(other.path(), 60);
        let third = load(&there, &second.active_certificates());
        assert_ne!(served(&third), certificate);
        // An old copy is not.
        keep(other.path(), 10);
        assert_eq!(
            served(&load(&there, &third.active_certificates())),
            served(&third)
        );
        // Another authority did not issue it.
        let else_ = by_acme("https://127.0.0.1:2/dir");
        let another = config(other.path(), Some(HOST), else_);
        assert_eq!(served(&load(&another, &third.active_certificates())), None);
    }

    /// Names that handshakes find, and how many are maintained.
    fn names(tls: &Tls) -> (Vec<String>, usize) {
        let all = tls.active_certificates().0.demands[0].names(|_| true);
        let on_demand = tls.on_demand.lock().expect("not poisoned");
        let taken = on_demand
            .as_ref()
            .map(|(on_demand, _): &(OnDemandIssuer, _)| on_demand.taken.len());
        (
            all.into_iter().map(|served| served.name).collect(),
            taken.unwrap_or_default(),
        )
    }

    #[test]
    fn names_that_clients_came_for_stay() {
        let storage = tempfile::tempdir().expect("a directory");
        let internal = config(storage.path(), None, Issuer::internal());
        let first = load(&internal, &ActiveCertificates::default());
        let authority = first.authority.as_ref().expect("its own");
        let issued = authority.issue(HOST, Duration::from_secs(3600));
        let slot = Slot::empty();
        slot.set(&issued.expect("made"));
        let demand = &first.active_certificates().0.demands[0];
        demand.take_over(HOST, slot, 7);
        let second = load(&internal, &first.active_certificates());
        assert_eq!(names(&second), (vec![HOST.to_owned()], 1));
        let [served] = &second.active_certificates().0.demands[0].names(|_| true)[..] else {
            panic!("one name");
        };
        assert!(served.slot.get().is_some() && served.used == 7);
        let acme = config(storage.path(), None, by_acme(AUTHORITY));
        assert_eq!(
            names(&load(&acme, &second.active_certificates())),
            (vec![], 0)
        );
    }
}
