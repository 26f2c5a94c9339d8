//! All certificates of a configuration, and which listener has which of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use howdah_config::model::{
    Acme, AddressIndex, CertificateFiles, Config, Https, Issuer, Site, SiteTls, Source,
    acme_authority, on_demand_source, source,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use tokio::sync::mpsc;

use crate::acceptor::{Acceptor, CertificateSource, DefaultNames, Entry};
use crate::acme::{self, Proof, Subject};
use crate::active_certificates::ActiveCertificates;
use crate::ask::AskEndpoint;
use crate::authority::{Authority, InternalAuthority};
use crate::authority_client;
use crate::certificate::{Certificate, CertificateError, covers};
use crate::challenge::{Challenges, HttpProofs};
use crate::error::TlsError;
use crate::issuance_context::IssuanceContext;
use crate::ocsp::Stapler;
use crate::on_demand::{CertifiedName, OnDemandNames, PendingName};
use crate::redis_storage::RedisStorage;
use crate::remote::Remote;
use crate::server_config;
use crate::slot::{Expiries, Slot};
use crate::storage::{self, Storage};

/// A maintained certificate.
#[derive(Debug)]
pub(crate) struct ManagedCertificate {
    pub(crate) kind: Kind,
    pub(crate) slot: Arc<Slot>,
    /// The certificate in the slot.
    pub(crate) current: Option<Certificate>,
}

impl ManagedCertificate {
    /// A certificate that handshakes find, if there is one.
    pub(crate) fn new(kind: Kind, current: Option<Certificate>) -> Self {
        let slot = Slot::empty();
        if let Some(certificate) = &current {
            slot.set(certificate);
        }
        Self {
            kind,
            slot,
            current,
        }
    }
}

/// Where it comes from.
#[derive(Debug)]
pub(crate) enum Kind {
    Files(CertificateFiles),
    Internal { host: String, lifetime: Duration },
    Acme(Box<Subject>),
}

/// What is needed to obtain on-demand certificates.
#[derive(Debug)]
pub(crate) struct OnDemandIssuer {
    pub(crate) means: IssuanceContext,
    pub(crate) https: Https,
    /// The `ask` endpoint; `None`: every name is permitted.
    pub(crate) endpoint: Option<AskEndpoint>,
    /// The directories of the authorities by ACME.
    pub(crate) authorities: Vec<String>,
    /// Names that clients requested before this configuration was loaded.
    pub(crate) taken: Vec<InheritedName>,
    /// The `ask` endpoint is unchanged.
    pub(crate) same_endpoint: bool,
}

/// A name that is served as before this configuration was loaded.
#[derive(Debug)]
pub(crate) struct InheritedName {
    pub(crate) demand: Arc<OnDemandNames>,
    pub(crate) name: String,
    pub(crate) managed: ManagedCertificate,
    pub(crate) certified: Arc<CertifiedName>,
}

/// All certificates of a configuration.
#[derive(Debug)]
pub struct Tls {
    entries: HashMap<AddressIndex, Entry>,
    expiries: Expiries,
    refusal: Arc<ServerConfig>,
    names: DefaultNames,
    challenges: Option<Challenges>,
    pub(crate) authority: Option<Authority>,
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) managed: Mutex<Vec<ManagedCertificate>>,
    /// Queue of names for on-demand certificates; `None`: no site has `on_demand`.
    pub(crate) on_demand: Mutex<Option<(OnDemandIssuer, mpsc::UnboundedReceiver<PendingName>)>>,
    /// `None`: `ocsp_stapling off`.
    pub(crate) stapler: Option<Arc<Stapler>>,
    in_use: ActiveCertificates,
}

impl Tls {
    /// Reads all certificates that are files or in the storage, and creates those of the internal authority. If a
    /// storage in Redis is unreachable, its certificates are read later. `None` if no address has HTTPS.
    pub fn new(config: &Config) -> Result<Option<Self>, TlsError> {
        Self::after(config, &ActiveCertificates::default())
    }

    /// The same while another configuration is served. Its certificates stay in use until there are
    /// newer ones: those that the storage cannot provide, and those of requested names.
    pub fn after(config: &Config, before: &ActiveCertificates) -> Result<Option<Self>, TlsError> {
        let encrypted = |site: &Site| site.addresses.iter().any(|address| address.tls);
        if !config.sites.iter().any(encrypted) {
            return Ok(None);
        }
        check_names(config)?;
        let provider = server_config::provider();
        // For libraries that use the process's default; a second call changes nothing.
        let _ = (*provider).clone().install_default();
        let mut builder = Builder {
            https: &config.global.https,
            means: None,
            challenges: None,
            proofs: proofs(config),
            managed: Vec::new(),
            demands: Vec::new(),
            taken: Vec::new(),
            before,
            queue: mpsc::unbounded_channel(),
            provider,
        };
        let entries = builder.entries(&config.sites)?;
        let https = &config.global.https;
        let stapler = https.ocsp_stapling.then(|| builder.stapler());
        let expiries = entries.iter().filter_map(|(at, entry)| {
            let host = config.address(*at).host.clone();
            let host = host.unwrap_or_else(|| "*".to_owned());
            match &entry.supply {
                CertificateSource::Slot(slot) => Some((host, Arc::clone(slot))),
                CertificateSource::OnDemand(_) => None,
            }
        });
        let demands = builder.demands.iter();
        let demands = demands.map(|(_, demand)| Arc::clone(demand)).collect();
        let authority = builder.internal_authority();
        let in_use = ActiveCertificates::new(&builder.managed, demands, authority, https);
        Ok(Some(Self {
            in_use,
            expiries: Expiries::of(expiries),
            entries,
            refusal: Arc::new(server_config::refusal(&builder.provider)?),
            names: DefaultNames {
                default_sni: https.default_sni.clone(),
                fallback_sni: https.fallback_sni.clone(),
            },
            challenges: builder.challenges.clone(),
            authority: builder.means.as_ref().map(|means| means.authority.clone()),
            provider: Arc::clone(&builder.provider),
            managed: Mutex::new(std::mem::take(&mut builder.managed)),
            on_demand: Mutex::new(builder.request_queue()?),
            stapler,
        }))
    }

    /// The hosts of a listener that serves these addresses of the configuration.
    pub fn acceptor(&self, config: &Config, addresses: &[AddressIndex]) -> Acceptor {
        let hosts = addresses.iter().filter_map(|at| {
            let entry = self.entries.get(at)?.clone();
            Some((config.address(*at).host.clone(), entry))
        });
        Acceptor::new(
            hosts,
            Arc::clone(&self.refusal),
            self.names.clone(),
            self.challenges.clone(),
        )
    }

    /// When its certificates expire.
    pub fn expiries(&self) -> Expiries {
        self.expiries.clone()
    }

    /// The certificates that handshakes find, for the configuration that replaces this one. Follows
    /// renewals.
    pub fn active_certificates(&self) -> ActiveCertificates {
        self.in_use.clone()
    }

    /// Responds to requests for `/.well-known/acme-challenge/TOKEN`; `None` if no authority will send any.
    pub fn http_proofs(&self) -> Option<HttpProofs> {
        self.challenges.as_ref().map(Challenges::http)
    }
}

/// The root of the internal authority, and its file; created if missing.
pub fn authority_root(https: &Https) -> Result<(PathBuf, String), TlsError> {
    let authority = Authority::new(open(https)?, server_config::provider());
    Ok(authority.root_pem()?)
}

fn open(https: &Https) -> Result<Storage, TlsError> {
    let root = https.storage.clone().or_else(storage::default_root);
    match &https.redis {
        None => Ok(Storage::new(root.ok_or(TlsError::NoStorage)?)),
        Some(redis) => {
            let remote = Remote::new(redis).map_err(TlsError::Redis)?;
            Ok(Storage::Shared(Arc::new(RedisStorage::new(remote, root))))
        }
    }
}

struct Builder<'c> {
    https: &'c Https,
    /// Set as soon as a certificate has to be issued.
    means: Option<IssuanceContext>,
    /// Set as soon as one comes by ACME.
    challenges: Option<Challenges>,
    proofs: Vec<Proof>,
    managed: Vec<ManagedCertificate>,
    /// On-demand names by the issuer of their certificates.
    demands: Vec<(Option<Issuer>, Arc<OnDemandNames>)>,
    taken: Vec<InheritedName>,
    /// The certificates that were served until now.
    before: &'c ActiveCertificates,
    queue: (
        mpsc::UnboundedSender<PendingName>,
        mpsc::UnboundedReceiver<PendingName>,
    ),
    provider: Arc<CryptoProvider>,
}

impl Builder<'_> {
    fn entries(&mut self, sites: &[Site]) -> Result<HashMap<AddressIndex, Entry>, TlsError> {
        // Configured files first: names that they cover need no other certificates.
        for site in sites {
            if site.addresses.iter().any(|address| address.tls)
                && let Some(files) = &site.tls.files
            {
                self.files(files)?;
            }
        }
        let mut entries = HashMap::new();
        for (number, site) in sites.iter().enumerate() {
            for (index, address) in site.addresses.iter().enumerate() {
                if !address.tls {
                    continue;
                }
                let Some(supply) = self.supply(address.host.as_deref(), site)? else {
                    continue;
                };
                let config = server_config::build(&site.tls, &self.provider, supply.resolver())?;
                let entry = Entry {
                    config: Arc::new(config),
                    supply,
                    client_auth: site.tls.client_auth.is_some(),
                };
                let at = AddressIndex {
                    site: number,
                    address: index,
                };
                entries.insert(at, entry);
            }
        }
        Ok(entries)
    }

    /// Where a host finds its certificate; `None` if it has no separate one.
    fn supply(
        &mut self,
        host: Option<&str>,
        site: &Site,
    ) -> Result<Option<CertificateSource>, TlsError> {
        if let (None, None, Some(host)) = (&site.tls.files, &site.tls.issuer, host) {
            let covering = self.managed.iter().find(|managed| {
                matches!(managed.kind, Kind::Files(_))
                    && managed.current.as_ref().is_some_and(|own| own.covers(host))
            });
            if let Some(managed) = covering {
                return Ok(Some(CertificateSource::Slot(Arc::clone(&managed.slot))));
            }
        }
        match (source(host, &site.tls, self.https), host) {
            (Ok(Source::Files(files)), _) => {
                let (slot, certificate) = self.files(files)?;
                if let Some(host) = host
                    && !certificate.covers(host)
                {
                    tracing::warn!(
                        file = %files.certificate.display(),
                        host,
                        "the certificate is not for this host: clients will refuse it",
                    );
                }
                Ok(Some(CertificateSource::Slot(slot)))
            }
            (Ok(Source::OnDemand), _) => {
                Ok(Some(CertificateSource::OnDemand(self.demand(&site.tls)?)))
            }
            (Ok(Source::Internal(lifetime)), Some(host)) => Ok(Some(CertificateSource::Slot(
                self.internal(host, lifetime)?,
            ))),
            (Ok(Source::Acme(acme)), Some(host)) => {
                Ok(Some(CertificateSource::Slot(self.acme(host, acme)?)))
            }
            // A site for all hosts among others that have certificates.
            (Ok(_), None) | (Err(_), _) => Ok(None),
        }
    }

    fn files(&mut self, files: &CertificateFiles) -> Result<(Arc<Slot>, Certificate), TlsError> {
        let known = self.managed.iter().find_map(|managed| match &managed.kind {
            Kind::Files(known) if known == files => {
                Some((Arc::clone(&managed.slot), managed.current.clone()?))
            }
            _ => None,
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let certificate = load_files(files, &self.provider)?;
        let slot = self.add(Kind::Files(files.clone()), Some(certificate.clone()));
        Ok((slot, certificate))
    }

    fn internal(&mut self, host: &str, lifetime: Duration) -> Result<Arc<Slot>, TlsError> {
        let same = |kind: &Kind| matches!(kind, Kind::Internal { host: known, lifetime: other } if known == host && *other == lifetime);
        if let Some(slot) = self.find_slot(same) {
            return Ok(slot);
        }
        let issued = self.means()?.authority.issue(host, lifetime);
        let host = host.to_owned();
        let kind = Kind::Internal { host, lifetime };
        let issued = match issued {
            // It is issued when the storage responds.
            Err(error) if error.is_storage_away() => self.before.certificate(&kind),
            result => Some(result?),
        };
        Ok(self.add(kind, issued))
    }

    /// The internal authority, if certificates come from it.
    fn internal_authority(&self) -> Option<InternalAuthority> {
        let issues = |managed: &ManagedCertificate| matches!(managed.kind, Kind::Internal { .. });
        let on_demand = |issuer: &Option<Issuer>| matches!(issuer, Some(Issuer::Internal { .. }));
        let is_used = self.managed.iter().any(issues)
            || self.demands.iter().any(|(issuer, _)| on_demand(issuer));
        let means = self.means.as_ref().filter(|_| is_used)?;
        Some(InternalAuthority(means.authority.clone()))
    }

    fn acme(&mut self, host: &str, acme: &Acme) -> Result<Arc<Slot>, TlsError> {
        let same = |kind: &Kind| matches!(kind, Kind::Acme(subject) if subject.host == host && subject.acme == *acme);
        if let Some(slot) = self.find_slot(same) {
            return Ok(slot);
        }
        self.use_acme(acme)?;
        let subject = self.means()?.subject(host, acme);
        let stored = subject.stored();
        let kind = Kind::Acme(Box::new(subject));
        let current = self.before.or_stored(&kind, stored);
        Ok(self.add(kind, current))
    }

    /// Makes handshakes check for this authority's challenges from now on.
    fn use_acme(&mut self, acme: &Acme) -> Result<(), TlsError> {
        if let Some(root) = &acme.root {
            authority_client::roots(Some(root))?;
        }
        self.challenges = Some(self.means()?.challenges.clone());
        Ok(())
    }

    fn demand(&mut self, tls: &SiteTls) -> Result<Arc<OnDemandNames>, TlsError> {
        let known = self
            .demands
            .iter()
            .find(|(issuer, _)| *issuer == tls.issuer);
        if let Some((_, demand)) = known {
            return Ok(Arc::clone(demand));
        }
        if let Some(acme) = acme_authority(tls, self.https) {
            self.use_acme(acme)?;
        }
        let demand = Arc::new(OnDemandNames::new(tls.clone(), self.queue.0.clone()));
        self.demands.push((tls.issuer.clone(), Arc::clone(&demand)));
        for active in self.before.names(tls, self.https) {
            let name = active.name;
            let kind = match on_demand_source(&name, tls, self.https) {
                Ok(Source::Internal(lifetime)) => Kind::Internal {
                    host: name.clone(),
                    lifetime,
                },
                Ok(Source::Acme(acme)) => Kind::Acme(Box::new(self.means()?.subject(&name, acme))),
                Ok(Source::Files(_) | Source::OnDemand) | Err(_) => continue,
            };
            let managed = ManagedCertificate::new(kind, Some(active.certificate));
            let certified = demand.take_over(&name, Arc::clone(&managed.slot), active.used);
            self.taken.push(InheritedName {
                demand: Arc::clone(&demand),
                name,
                managed,
                certified,
            });
        }
        Ok(demand)
    }

    /// See [`Tls`].
    fn request_queue(
        mut self,
    ) -> Result<Option<(OnDemandIssuer, mpsc::UnboundedReceiver<PendingName>)>, TlsError> {
        if self.demands.is_empty() {
            return Ok(None);
        }
        let acme = self.demands.iter();
        let acme = acme.filter_map(|(_, demand)| acme_authority(&demand.tls, self.https));
        let authorities = acme.map(|acme| acme::url(acme).to_owned()).collect();
        let on_demand = OnDemandIssuer {
            authorities,
            taken: std::mem::take(&mut self.taken),
            same_endpoint: self.before.ask() == self.https.ask.as_deref(),
            means: self.means()?.clone(),
            https: self.https.clone(),
            endpoint: self
                .https
                .ask
                .as_deref()
                .map(AskEndpoint::new)
                .transpose()?,
        };
        Ok(Some((on_demand, self.queue.1)))
    }

    fn find_slot(&self, same: impl Fn(&Kind) -> bool) -> Option<Arc<Slot>> {
        let known = self.managed.iter().find(|managed| same(&managed.kind));
        known.map(|managed| Arc::clone(&managed.slot))
    }

    fn add(&mut self, kind: Kind, current: Option<Certificate>) -> Arc<Slot> {
        let managed = ManagedCertificate::new(kind, current);
        let slot = Arc::clone(&managed.slot);
        self.managed.push(managed);
        slot
    }

    /// Staples stored responses before the first handshake.
    fn stapler(&mut self) -> Arc<Stapler> {
        // Without a storage, certificates from files can be served nevertheless.
        let storage = self.means().ok().map(|means| means.storage.clone());
        let stapler = Stapler::new(storage, Arc::clone(&self.provider));
        for managed in &self.managed {
            stapler.restore(&managed.slot);
        }
        Arc::new(stapler)
    }

    fn means(&mut self) -> Result<&IssuanceContext, TlsError> {
        let means = match self.means.take() {
            Some(means) => means,
            None => IssuanceContext::new(
                open(self.https)?,
                self.proofs.clone(),
                Arc::clone(&self.provider),
            ),
        };
        Ok(self.means.insert(means))
    }
}

/// Checks that a host in an option exists; a site for all hosts has them all.
pub(crate) fn check_names(config: &Config) -> Result<(), TlsError> {
    let https = &config.global.https;
    let addresses = || config.sites.iter().flat_map(|site| &site.addresses);
    let hosts: Vec<String> = addresses()
        .filter(|address| address.tls)
        .map(|address| address.host.clone().unwrap_or_default())
        .collect();
    for (option, name) in [
        ("default_sni", &https.default_sni),
        ("fallback_sni", &https.fallback_sni),
    ] {
        if let Some(name) = name
            && !covers(&hosts, name)
            && !hosts.iter().any(String::is_empty)
        {
            let name = name.clone();
            return Err(TlsError::Sni { option, name });
        }
    }
    Ok(())
}

/// The challenges that can be answered: an authority connects to the HTTP port and the HTTPS port.
fn proofs(config: &Config) -> Vec<Proof> {
    let plain = config.global.http_port.unwrap_or(80);
    let secure = config.global.https.port;
    let addresses = || config.sites.iter().flat_map(|site| &site.addresses);
    let mut proofs = Vec::new();
    if addresses().any(|address| !address.tls && address.port == plain) {
        proofs.push(Proof::Http);
    }
    if addresses().any(|address| address.tls && address.port == secure) {
        proofs.push(Proof::TlsAlpn);
    }
    proofs
}

/// Reads a configured pair of files; it must be valid now.
pub(crate) fn load_files(
    files: &CertificateFiles,
    provider: &CryptoProvider,
) -> Result<Certificate, CertificateError> {
    let file: &Path = &files.certificate;
    let certificate = Certificate::load(file, &files.key, provider)?;
    certificate.check_time(file, SystemTime::now())?;
    Ok(certificate)
}
