//! All certificates of a configuration, and which listener has which of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use howdah_config::model::{Acme, CertificateFiles, Config, Https, Site, Source, source};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;

use crate::acceptor::{Acceptor, Entry};
use crate::acme::{Proof, Subject};
use crate::authority::{Authority, AuthorityError};
use crate::certificate::{Certificate, CertificateError, covers};
use crate::challenge::{Challenges, HttpProofs};
use crate::ocsp::Stapler;
use crate::remote::Remote;
use crate::server_config;
use crate::shared::Shared;
use crate::slot::{Expiries, Slot};
use crate::storage::{self, Storage};

/// Why a configuration cannot be served with TLS on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// `tls CERT KEY`.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// `tls internal`.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// `client_auth`.
    #[error("{}: {reason}; `client_auth` needs PEM files with certificates of authorities", file.display())]
    ClientRoots {
        /// Which one.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// `tls_trust_pool` of a `reverse_proxy`.
    #[error("{}: {reason}; `tls_trust_pool` needs PEM files with certificates of authorities", file.display())]
    UpstreamRoots {
        /// Which one.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An upstream with HTTPS, and nobody to say who it is.
    #[error(
        "the system trusts no authority, so no upstream with `https://` can be trusted: {reason}; install the package `ca-certificates`, or name the authority with `tls_trust_pool file FILE`"
    )]
    SystemRoots {
        /// Why there are none.
        reason: String,
    },
    /// Options that exclude each other.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    /// Options that exclude each other, with `client_auth`.
    #[error("`client_auth` cannot be set up: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    /// Neither `HOME` nor `XDG_DATA_HOME` is known.
    #[error(
        "there is no directory for certificates: set `storage file_system PATH` in the global options"
    )]
    NoStorage,
    /// `storage redis`.
    #[error(
        "`storage redis` cannot be used: {0}; `tls_server_certs_path` is a PEM file with certificates of authorities"
    )]
    Redis(#[source] std::io::Error),
    /// `default_sni` or `fallback_sni`.
    #[error("`{option} {name}`: no site with HTTPS has this host")]
    Sni {
        /// Which option.
        option: &'static str,
        /// What it names.
        name: String,
    },
    /// `acme_ca_root` and the like.
    #[error("{}: {source}; `acme_ca_root` is a PEM file with a certificate", file.display())]
    AcmeRoot {
        /// Which one.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// A certificate that somebody looks after.
#[derive(Debug)]
pub(crate) struct Managed {
    pub(crate) kind: Kind,
    pub(crate) slot: Arc<Slot>,
    /// What is in the slot.
    pub(crate) current: Option<Certificate>,
}

/// Where it comes from.
#[derive(Debug)]
pub(crate) enum Kind {
    Files(CertificateFiles),
    Internal { host: String, lifetime: Duration },
    Acme(Subject),
}

/// See the module.
#[derive(Debug)]
pub struct Tls {
    /// By site and address.
    entries: HashMap<(usize, usize), Entry>,
    expiries: Expiries,
    refusal: Arc<ServerConfig>,
    names: (Option<String>, Option<String>),
    challenges: Option<Challenges>,
    pub(crate) authority: Option<Authority>,
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) managed: std::sync::Mutex<Vec<Managed>>,
    /// `None`: `ocsp_stapling off`.
    pub(crate) stapler: Option<Arc<Stapler>>,
}

impl Tls {
    /// Reads all certificates that are files or in the storage, and makes those of the internal
    /// authority. A storage in Redis may be away: what it has is fetched later. `None` if no address
    /// has HTTPS.
    pub fn new(config: &Config) -> Result<Option<Self>, TlsError> {
        let encrypted = |site: &Site| site.addresses.iter().any(|address| address.tls);
        if !config.sites.iter().any(encrypted) {
            return Ok(None);
        }
        check_names(config)?;
        let provider = server_config::provider();
        // For libraries that take the process's own; a second call changes nothing.
        let _ = (*provider).clone().install_default();
        let mut builder = Builder {
            https: &config.global.https,
            storage: None,
            authority: None,
            challenges: None,
            proofs: proofs(config),
            managed: Vec::new(),
            provider,
        };
        let entries = builder.entries(&config.sites)?;
        let https = &config.global.https;
        let stapler = https.ocsp_stapling.then(|| builder.stapler());
        Ok(Some(Self {
            expiries: Expiries::of(entries.iter().map(|((site, address), entry)| {
                let host = &config.sites[*site].addresses[*address].host;
                let host = host.clone().unwrap_or_else(|| "*".to_owned());
                (host, Arc::clone(&entry.slot))
            })),
            entries,
            refusal: Arc::new(server_config::refusal(&builder.provider)?),
            names: (https.default_sni.clone(), https.fallback_sni.clone()),
            challenges: builder.challenges,
            authority: builder.authority,
            provider: builder.provider,
            managed: builder.managed.into(),
            stapler,
        }))
    }

    /// The hosts of a listener. `addresses`: of the sites and their addresses that it serves, the
    /// numbers and the host.
    pub fn acceptor<'a>(
        &self,
        addresses: impl IntoIterator<Item = (usize, usize, Option<&'a str>)>,
    ) -> Acceptor {
        let hosts = addresses.into_iter().filter_map(|(site, address, host)| {
            let entry = self.entries.get(&(site, address))?.clone();
            Some((host.map(str::to_owned), entry))
        });
        Acceptor::new(
            hosts,
            Arc::clone(&self.refusal),
            self.names.clone(),
            self.challenges.clone(),
        )
    }

    /// When its certificates end.
    pub fn expiries(&self) -> Expiries {
        self.expiries.clone()
    }

    /// What answers requests for `/.well-known/acme-challenge/TOKEN`; `None` if no authority will ask.
    pub fn http_proofs(&self) -> Option<HttpProofs> {
        self.challenges.as_ref().map(Challenges::http)
    }
}

/// The root of the internal authority, and its file; it is made if there is none.
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
            Ok(Storage::Shared(Arc::new(Shared::new(remote, root))))
        }
    }
}

struct Builder<'c> {
    https: &'c Https,
    storage: Option<Storage>,
    authority: Option<Authority>,
    challenges: Option<Challenges>,
    proofs: Vec<Proof>,
    managed: Vec<Managed>,
    provider: Arc<CryptoProvider>,
}

impl Builder<'_> {
    fn entries(&mut self, sites: &[Site]) -> Result<HashMap<(usize, usize), Entry>, TlsError> {
        // First of all those that are given: names that they cover need no others.
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
                let Some(slot) = self.slot(address.host.as_deref(), site)? else {
                    continue;
                };
                let config = server_config::build(&site.tls, &self.provider, slot.clone())?;
                let entry = Entry {
                    config: Arc::new(config),
                    slot,
                    client_auth: site.tls.client_auth.is_some(),
                };
                entries.insert((number, index), entry);
            }
        }
        Ok(entries)
    }

    /// The slot of a host; `None` if it has no certificate of its own.
    fn slot(&mut self, host: Option<&str>, site: &Site) -> Result<Option<Arc<Slot>>, TlsError> {
        if let (None, None, Some(host)) = (&site.tls.files, &site.tls.issuer, host) {
            let covering = self.managed.iter().find(|managed| {
                matches!(managed.kind, Kind::Files(_))
                    && managed.current.as_ref().is_some_and(|own| own.covers(host))
            });
            if let Some(managed) = covering {
                return Ok(Some(Arc::clone(&managed.slot)));
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
                Ok(Some(slot))
            }
            (Ok(Source::Internal(lifetime)), Some(host)) => self.internal(host, lifetime).map(Some),
            (Ok(Source::Acme(acme)), Some(host)) => self.acme(host, acme).map(Some),
            // A site for all hosts beside others that have certificates.
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
        if let Some(slot) = self.known(same) {
            return Ok(slot);
        }
        let storage = self.storage()?;
        let provider = Arc::clone(&self.provider);
        let authority = self
            .authority
            .get_or_insert_with(|| Authority::new(storage, provider));
        let issued = match authority.issue(host, lifetime) {
            // It is made when the storage answers.
            Err(error) if error.is_storage_away() => None,
            result => Some(result?),
        };
        let host = host.to_owned();
        Ok(self.add(Kind::Internal { host, lifetime }, issued))
    }

    fn acme(&mut self, host: &str, acme: &Acme) -> Result<Arc<Slot>, TlsError> {
        let same = |kind: &Kind| matches!(kind, Kind::Acme(subject) if subject.host == host && subject.acme == *acme);
        if let Some(slot) = self.known(same) {
            return Ok(slot);
        }
        if let Some(root) = &acme.root {
            std::fs::read(root).map_err(|source| TlsError::AcmeRoot {
                file: root.clone(),
                source,
            })?;
        }
        let storage = self.storage()?;
        let provider = Arc::clone(&self.provider);
        let challenges = self
            .challenges
            .get_or_insert_with(|| Challenges::new(storage.clone(), provider));
        let mut proofs = self.proofs.clone();
        proofs.retain(|proof| match proof {
            Proof::Http => !acme.no_http,
            // For an address it goes by a name of the reverse DNS, which few authorities ask for.
            Proof::TlsAlpn => !acme.no_tls_alpn && host.parse::<std::net::IpAddr>().is_err(),
        });
        let stored = crate::acme::stored(&storage, acme, host, &self.provider);
        let subject = Subject {
            host: host.to_owned(),
            acme: acme.clone(),
            storage,
            challenges: challenges.clone(),
            provider: Arc::clone(&self.provider),
            proofs,
        };
        Ok(self.add(Kind::Acme(subject), stored))
    }

    fn known(&self, same: impl Fn(&Kind) -> bool) -> Option<Arc<Slot>> {
        let known = self.managed.iter().find(|managed| same(&managed.kind));
        known.map(|managed| Arc::clone(&managed.slot))
    }

    fn add(&mut self, kind: Kind, current: Option<Certificate>) -> Arc<Slot> {
        let slot = Slot::empty();
        if let Some(certificate) = &current {
            slot.set(certificate);
        }
        self.managed.push(Managed {
            kind,
            slot: Arc::clone(&slot),
            current,
        });
        slot
    }

    /// What the storage has is stapled before the first handshake.
    fn stapler(&mut self) -> Arc<Stapler> {
        // Without a storage, given certificates can be served all the same.
        let storage = self.storage().ok();
        let stapler = Stapler::new(storage, Arc::clone(&self.provider));
        for managed in &self.managed {
            stapler.restore(&managed.slot);
        }
        Arc::new(stapler)
    }

    fn storage(&mut self) -> Result<Storage, TlsError> {
        if self.storage.is_none() {
            self.storage = Some(open(self.https)?);
        }
        self.storage.clone().ok_or(TlsError::NoStorage)
    }
}

/// An option that names a host names one that there is; a site for all hosts has them all.
fn check_names(config: &Config) -> Result<(), TlsError> {
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

/// The challenges that can be answered: an authority comes to the HTTP port and the HTTPS port.
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

/// Reads a given pair of files; it must be valid now.
pub(crate) fn load_files(
    files: &CertificateFiles,
    provider: &CryptoProvider,
) -> Result<Certificate, CertificateError> {
    let file: &Path = &files.certificate;
    let certificate = Certificate::load(file, &files.key, provider)?;
    certificate.check_time(file, SystemTime::now())?;
    Ok(certificate)
}
