//! Selection of a listener's site by the client's first message.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::challenge::Challenges;
use crate::on_demand::OnDemandNames;
use crate::server_config::ACME_TLS;
use crate::slot::Slot;

/// A host of a listener.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) supply: CertificateSource,
    /// Clients must or may send certificates.
    pub(crate) client_auth: bool,
}

/// The source of certificates for handshakes.
#[derive(Debug, Clone)]
pub(crate) enum CertificateSource {
    /// A fixed certificate.
    Slot(Arc<Slot>),
    /// Each name has a separate one, obtained on demand.
    OnDemand(Arc<OnDemandNames>),
}

impl CertificateSource {
    pub(crate) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        match self {
            Self::Slot(slot) => Arc::clone(slot) as _,
            Self::OnDemand(demand) => Arc::clone(demand) as _,
        }
    }
}

/// The hosts of one listener.
#[derive(Debug)]
pub struct Acceptor {
    hosts: Hosts,
    refusal: Arc<ServerConfig>,
    strict: bool,
    challenges: Option<Challenges>,
}

#[derive(Debug, Default)]
struct Hosts {
    exact: HashMap<String, Entry>,
    /// By the part after the `*`: `.example.com`.
    below: HashMap<String, Entry>,
    any: Option<Entry>,
    names: DefaultNames,
}

/// Names whose certificates are used for clients that name no host, or an unknown one.
#[derive(Debug, Clone, Default)]
pub(crate) struct DefaultNames {
    /// `default_sni`: for clients that name none.
    pub(crate) default_sni: Option<String>,
    /// `fallback_sni`: for clients that name an unknown one.
    pub(crate) fallback_sni: Option<String>,
}

/// How a handshake continues.
#[derive(Debug)]
pub enum Choice {
    /// Continue with this configuration; one without a certificate ends the handshake with a fatal alert.
    Config(Arc<ServerConfig>),
    /// An authority verifies this name: call [`Acceptor::challenge`].
    Challenge(String),
    /// The certificate must be obtained first.
    OnDemand(PendingCertificate),
}

/// A name that a client is the first to request.
#[derive(Debug)]
pub struct PendingCertificate {
    demand: Arc<OnDemandNames>,
    name: String,
    config: Arc<ServerConfig>,
}

impl PendingCertificate {
    /// Waits until there is a certificate for the name, or there will be none for now: then the configuration ends the
    /// handshake. Dropping the wait does not stop the request.
    pub async fn config(self) -> Arc<ServerConfig> {
        self.demand.obtain(&self.name).await;
        self.config
    }
}

impl Acceptor {
    pub(crate) fn new(
        hosts: impl IntoIterator<Item = (Option<String>, Entry)>,
        refusal: Arc<ServerConfig>,
        names: DefaultNames,
        challenges: Option<Challenges>,
    ) -> Self {
        let mut all = Hosts {
            names,
            ..Hosts::default()
        };
        let mut strict = false;
        for (host, entry) in hosts {
            strict |= entry.client_auth;
            match host {
                None => all.any = Some(entry),
                Some(host) => match host.strip_prefix('*') {
                    Some(below) => drop(all.below.insert(below.to_owned(), entry)),
                    None => drop(all.exact.insert(host, entry)),
                },
            }
        }
        Self {
            hosts: all,
            refusal,
            strict,
            challenges,
        }
    }

    /// Takes no lock, except one for reading for a host with `on_demand`. `local` is the address that the client
    /// connected to, which selects the site if the client names no host.
    pub fn choose(&self, hello: &ClientHello<'_>, local: IpAddr) -> Choice {
        let name = hello.server_name();
        if self.challenges.is_some()
            && let Some(name) = name
            && hello
                .alpn()
                .is_some_and(|mut offered| offered.any(|protocol| protocol == ACME_TLS))
        {
            return Choice::Challenge(name.to_ascii_lowercase());
        }
        let Some(entry) = self.hosts.find(name, Some(local)) else {
            return Choice::Config(Arc::clone(&self.refusal));
        };
        let config = Arc::clone(&entry.config);
        if let (CertificateSource::OnDemand(demand), Some(name)) = (&entry.supply, name) {
            let name = name.to_ascii_lowercase();
            if !demand.has(&name) {
                let demand = Arc::clone(demand);
                return Choice::OnDemand(PendingCertificate {
                    demand,
                    name,
                    config,
                });
            }
        }
        Choice::Config(config)
    }

    /// The response to an authority that validates `name`; a refusal without a pending order.
    pub async fn challenge(&self, name: String) -> Arc<ServerConfig> {
        let answer = match &self.challenges {
            Some(challenges) => challenges.tls_alpn(name).await,
            None => None,
        };
        answer.unwrap_or_else(|| Arc::clone(&self.refusal))
    }

    /// Whether certificates are requested from clients of this name at this address.
    pub fn requests_client_certificate(&self, name: Option<&str>, local: IpAddr) -> bool {
        self.strict
            && self
                .hosts
                .find(name, Some(local))
                .is_some_and(|entry| entry.client_auth)
    }

    /// Whether requests must be for the host that the connection was opened for, because some hosts
    /// request client certificates and others do not.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// For HTTP/3: a configuration of TLS 1.3 with ALPN `h3`, which always uses the current
    /// certificates of this listener's hosts. Hosts that request client certificates are not
    /// included.
    pub fn quic(self: &Arc<Self>) -> Result<ServerConfig, crate::TlsError> {
        let provider = Arc::clone(self.refusal.crypto_provider());
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(self) as _;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h3".to_vec()];
        config.ticketer = rustls::crypto::ring::Ticketer::new()?;
        Ok(config)
    }
}

impl ResolvesServerCert for Acceptor {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let entry = self.hosts.find(hello.server_name(), None)?;
        if entry.client_auth {
            return None;
        }
        match &entry.supply {
            CertificateSource::Slot(slot) => slot.get(),
            CertificateSource::OnDemand(demand) => demand.resolve(hello),
        }
    }
}

impl Hosts {
    fn find(&self, name: Option<&str>, local: Option<IpAddr>) -> Option<&Entry> {
        let found = match name {
            Some(name) => self.named(name),
            None => local
                .and_then(|ip| self.named(&ip.to_canonical().to_string()))
                .or_else(|| self.named(self.names.default_sni.as_deref()?)),
        };
        found
            .or(self.any.as_ref())
            .or_else(|| self.named(self.names.fallback_sni.as_deref()?))
    }

    fn named(&self, name: &str) -> Option<&Entry> {
        let lower;
        let name = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower = name.to_ascii_lowercase();
            &lower
        } else {
            name
        };
        self.exact.get(name).or_else(|| {
            let dot = name.find('.')?;
            self.below.get(&name[dot..])
        })
    }
}

#[cfg(test)]
mod tests {
    use howdah_config::model::SiteTls;

    use super::*;
    use crate::server_config;

    fn hosts(names: &[&str], default: Option<&str>, fallback: Option<&str>) -> Acceptor {
        let provider = server_config::provider();
        let entry = |name: &&str| {
            let slot = Slot::empty();
            let config = server_config::build(&SiteTls::default(), &provider, slot.clone());
            let entry = Entry {
                config: Arc::new(config.expect("valid")),
                supply: CertificateSource::Slot(slot),
                client_auth: *name == "auth.test",
            };
            ((!name.is_empty()).then(|| (*name).to_owned()), entry)
        };
        let refusal = Arc::new(server_config::refusal(&provider).expect("valid"));
        let defaults = DefaultNames {
            default_sni: default.map(str::to_owned),
            fallback_sni: fallback.map(str::to_owned),
        };
        Acceptor::new(names.iter().map(entry), refusal, defaults, None)
    }

    fn finds(acceptor: &Acceptor, name: Option<&str>, local: &str, host: Option<&str>) {
        let found = acceptor.hosts.find(name, local.parse().ok());
        let expected = host.map(|host| match host {
            "" => acceptor.hosts.any.as_ref().expect("there is one"),
            _ => acceptor.hosts.named(host).expect("it is known"),
        });
        let config = |entry: Option<&Entry>| entry.map(|entry| Arc::as_ptr(&entry.config));
        assert_eq!(config(found), config(expected), "{name:?} at {local}");
    }

    #[test]
    fn hosts_by_name() {
        let acceptor = hosts(&["a.test", "*.b.test", "127.0.0.1"], Some("a.test"), None);
        finds(&acceptor, Some("a.test"), "::1", Some("a.test"));
        finds(&acceptor, Some("A.TEST"), "::1", Some("a.test"));
        finds(&acceptor, Some("x.b.test"), "::1", Some("x.b.test"));
        finds(&acceptor, Some("x.y.b.test"), "::1", None);
        finds(&acceptor, Some("b.test"), "::1", None);
        finds(&acceptor, None, "127.0.0.1", Some("127.0.0.1"));
        finds(&acceptor, None, "::ffff:127.0.0.1", Some("127.0.0.1"));
        finds(&acceptor, None, "127.0.0.2", Some("a.test"));
        assert!(!acceptor.is_strict());
    }

    #[test]
    fn hosts_for_all_others() {
        let any = hosts(&["a.test", ""], None, None);
        finds(&any, Some("other.test"), "::1", Some(""));
        finds(&any, None, "::1", Some(""));
        let fallback = hosts(&["a.test", "auth.test"], None, Some("a.test"));
        finds(&fallback, Some("other.test"), "::1", Some("a.test"));
        finds(&hosts(&["a.test"], None, None), None, "::1", None);
        assert!(fallback.is_strict());
        let local = IpAddr::from([127, 0, 0, 1]);
        assert!(fallback.requests_client_certificate(Some("Auth.test"), local));
        assert!(!fallback.requests_client_certificate(Some("a.test"), local));
        assert!(!fallback.requests_client_certificate(None, local));
    }

    #[test]
    fn http3_has_a_configuration_of_its_own() {
        let acceptor = Arc::new(hosts(&["a.test", "auth.test"], None, None));
        let config = acceptor.quic().expect("valid");
        assert_eq!(config.alpn_protocols, [b"h3"]);
        assert_eq!(config.max_early_data_size, 0);
    }
}
