//! `dynamic`: upstreams at the addresses of a name, or those that its SRV records list. Each front thread resolves it.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::proto::rr::rdata::SRV;
use howdah_config::model::{DynamicRecords, DynamicUpstreams, ReverseProxy, Upstream};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout};

use super::Upstreams;
use crate::answer::upstream::state::UpstreamStates;
use crate::answer::upstream::tls::TlsClients;

/// When a name is resolved again that could not be resolved, unless `refresh` is shorter.
const RETRY: Duration = Duration::from_secs(1);

/// The upstreams of a `dynamic`, as one front thread knows them.
pub(super) struct DynamicSource {
    settings: DynamicUpstreams,
    /// The directive without `dynamic` and health checks.
    proxy: ReverseProxy,
    clients: Arc<TlsClients>,
    states: Arc<UpstreamStates>,
    known: RefCell<Known>,
    /// Held while the name is resolved.
    lookup: Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// In the order of preference.
    targets: Vec<Upstream>,
    /// `None`: there are no addresses.
    upstreams: Option<Rc<Upstreams>>,
    /// `None`: the name has not been resolved yet.
    until: Option<Instant>,
}

impl DynamicSource {
    /// `None` without `dynamic`.
    pub(super) fn of(
        proxy: &ReverseProxy,
        clients: &Arc<TlsClients>,
        states: Arc<UpstreamStates>,
    ) -> Option<Self> {
        let settings = proxy.dynamic.clone()?;
        let mut proxy = ReverseProxy {
            dynamic: None,
            health: None,
            ..proxy.clone()
        };
        if let Some(tls) = &mut proxy.tls
            && matches!(settings.records, DynamicRecords::Addresses { .. })
        {
            // Certificates are rarely for addresses.
            tls.server_name.get_or_insert_with(|| settings.name.clone());
        }
        Some(Self {
            settings,
            proxy,
            clients: Arc::clone(clients),
            states,
            known: RefCell::default(),
            lookup: Mutex::new(()),
        })
    }

    /// The upstreams at present; `None` if the name has no address. While it is resolved again, requests go to the
    /// addresses that are known.
    pub(super) async fn upstreams(&self) -> Option<Rc<Upstreams>> {
        if self.is_valid() {
            return self.known();
        }
        let _lookup: MutexGuard<'_, ()> = if let Ok(guard) = self.lookup.try_lock() {
            guard
        } else {
            let known = self.known();
            if known.is_some() {
                return known;
            }
            let guard = self.lookup.lock().await;
            if self.is_valid() {
                return self.known();
            }
            guard
        };
        let resolved = self.resolve().await;
        self.update(resolved);
        self.known()
    }

    /// The name was resolved, or not found, a short time ago.
    fn is_valid(&self) -> bool {
        let until = self.known.borrow().until;
        until.is_some_and(|until| Instant::now() < until)
    }

    fn known(&self) -> Option<Rc<Upstreams>> {
        self.known.borrow().upstreams.clone()
    }

    async fn resolve(&self) -> io::Result<Vec<Upstream>> {
        let lookup = async {
            match self.settings.records {
                DynamicRecords::Addresses { port, ipv4, ipv6 } => {
                    self.addresses(port, ipv4, ipv6).await
                }
                DynamicRecords::Services => self.services().await,
            }
        };
        match timeout(self.proxy.dial_timeout, lookup).await {
            Ok(found) => found,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn addresses(&self, port: u16, ipv4: bool, ipv6: bool) -> io::Result<Vec<Upstream>> {
        let name = self.settings.name.as_str();
        let found: Vec<SocketAddr> = if self.settings.resolvers.is_empty() {
            tokio::net::lookup_host((name, port)).await?.collect()
        } else {
            let found = self.resolver()?.lookup_ip(name).await;
            let found = found.map_err(io::Error::other)?;
            found.iter().map(|ip| SocketAddr::new(ip, port)).collect()
        };
        let is_used = |address: &&SocketAddr| match address {
            SocketAddr::V4(_) => ipv4,
            SocketAddr::V6(_) => ipv6,
        };
        let mut used: Vec<_> = found.iter().filter(is_used).collect();
        used.sort_unstable();
        used.dedup();
        if used.is_empty() {
            return Err(io::Error::other("it has no address of the right version"));
        }
        let target = |address: &SocketAddr| tcp(address.ip().to_string(), address.port());
        Ok(used.into_iter().map(target).collect())
    }

    async fn services(&self) -> io::Result<Vec<Upstream>> {
        let found = self.resolver()?.srv_lookup(&*self.settings.name).await;
        let found = found.map_err(io::Error::other)?;
        let records = found
            .answers()
            .iter()
            .filter_map(|record| match &record.data {
                RData::SRV(record) => Some(record.clone()),
                _ => None,
            });
        let targets: Vec<_> = by_preference(records.collect())
            .iter()
            .filter_map(target)
            .collect();
        if targets.is_empty() {
            return Err(io::Error::other("it has no SRV record with a server"));
        }
        Ok(targets)
    }

    /// The resolver reads the settings of the system for each lookup: they may have changed.
    fn resolver(&self) -> io::Result<TokioResolver> {
        let provider = TokioRuntimeProvider::default();
        let mut builder = if self.settings.resolvers.is_empty() {
            TokioResolver::builder(provider).map_err(io::Error::other)?
        } else {
            let servers = self.settings.resolvers.iter().map(name_server).collect();
            TokioResolver::builder_with_config(ResolverConfig::from_name_servers(servers), provider)
        };
        if let Some(limit) = self.settings.resolver_timeout {
            builder.options_mut().timeout = limit;
        }
        builder.build().map_err(io::Error::other)
    }

    /// Upstreams that were known stay in use if the name cannot be resolved.
    fn update(&self, resolved: io::Result<Vec<Upstream>>) {
        let name = &self.settings.name;
        let mut known = self.known.borrow_mut();
        let lifetime = match resolved {
            Ok(targets) => {
                if known.upstreams.is_none() || known.targets != targets {
                    known.upstreams = self.connect_to(&targets);
                    known.targets = targets;
                }
                self.settings.refresh
            }
            Err(error) => {
                tracing::warn!(target: "howdah::proxy", name, "the name of the upstreams was not resolved: {error}");
                self.settings.refresh.min(RETRY)
            }
        };
        known.until = Some(Instant::now() + lifetime);
    }

    fn connect_to(&self, targets: &[Upstream]) -> Option<Rc<Upstreams>> {
        let proxy = ReverseProxy {
            upstreams: targets.to_vec(),
            ..self.proxy.clone()
        };
        let state = self
            .states
            .of(&proxy.upstreams, &proxy.balance, "reverse_proxy");
        match Upstreams::with_state(&proxy, &self.clients, state, None) {
            Ok(upstreams) => Some(Rc::new(upstreams)),
            Err(error) => {
                tracing::warn!(target: "howdah::proxy", name = self.settings.name, "upstreams cannot be used: {error}");
                None
            }
        }
    }
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut connections {
        connection.port = address.port();
    }
    NameServerConfig::new(address.ip(), true, connections)
}

/// `None`: the record says that there is no such service (RFC 2782).
fn target(record: &SRV) -> Option<Upstream> {
    let mut host = record.target.clone();
    host.set_fqdn(false);
    (!record.target.is_root()).then(|| tcp(host.to_ascii(), record.port))
}

fn tcp(host: String, port: u16) -> Upstream {
    Upstream::Tcp { host, port }
}

/// Records in the order in which clients use them (RFC 2782): by priority, and of those with the same one by chance,
/// those with more weight rather before others. While the records do not change, their order does not: it depends on
/// the front thread.
fn by_preference(mut records: Vec<SRV>) -> Vec<SRV> {
    records.sort_by_key(|record| (record.priority, record.target.to_ascii(), record.port));
    let mut sorted = Vec::with_capacity(records.len());
    while let Some(first) = records.first() {
        let priority = first.priority;
        let same = records.partition_point(|record| record.priority == priority);
        let total: u64 = records[..same]
            .iter()
            .map(|record| u64::from(record.weight))
            .sum();
        let mut chosen = THREAD_CHANCE.with(|chance| *chance) % (total + 1);
        let index = records[..same].iter().position(|record| {
            let weight = u64::from(record.weight);
            let is_chosen = chosen <= weight;
            chosen = chosen.saturating_sub(weight);
            is_chosen
        });
        sorted.push(records.remove(index.unwrap_or(0)));
    }
    sorted
}

thread_local! {
    /// A random number for the front thread.
    static THREAD_CHANCE: u64 = {
        let mut bytes = [0; 8];
        let filled = SystemRandom::new().fill(&mut bytes);
        if filled.is_ok() { u64::from_ne_bytes(bytes) } else { 0 }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> DynamicSource {
        let proxy = ReverseProxy {
            dynamic: Some(DynamicUpstreams {
                name: "app.test".into(),
                records: DynamicRecords::Addresses {
                    port: 80,
                    ipv4: true,
                    ipv6: true,
                },
                refresh: Duration::from_secs(60),
                resolvers: Vec::new(),
                resolver_timeout: None,
            }),
            ..ReverseProxy::new(Vec::new())
        };
        DynamicSource::of(&proxy, &Arc::default(), Arc::default()).unwrap()
    }

    fn targets(hosts: &[&str]) -> Vec<Upstream> {
        hosts
            .iter()
            .map(|host| tcp((*host).to_owned(), 80))
            .collect()
    }

    fn names(source: &DynamicSource) -> Vec<String> {
        let upstreams = source.known();
        let upstreams = upstreams.iter();
        upstreams
            .flat_map(|own| (0..own.balancer.len()).map(|index| own.balancer.name(index)))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn upstreams_follow_the_addresses_of_the_name() {
        let source = source();
        assert!(!source.is_valid());
        let failure = || Err(io::ErrorKind::NotFound.into());
        source.update(failure());
        assert!(source.is_valid());
        assert_eq!(names(&source), <[&str; 0]>::default());
        source.update(Ok(targets(&["10.0.0.1", "10.0.0.2"])));
        assert_eq!(names(&source), ["10.0.0.1:80", "10.0.0.2:80"]);
        let before = source.known().unwrap();
        // The same addresses keep connections, and a failure does too.
        source.update(Ok(targets(&["10.0.0.1", "10.0.0.2"])));
        source.update(failure());
        assert!(Rc::ptr_eq(&before, &source.known().unwrap()));
        source.update(Ok(targets(&["fd00::1"])));
        assert_eq!(names(&source), ["[fd00::1]:80"]);
    }

    #[test]
    fn services_are_ordered_by_priority() {
        let record = |priority, weight, target: &str| {
            SRV::new(priority, weight, 80, target.parse().unwrap())
        };
        let records = vec![
            record(2, 0, "last.test."),
            record(1, 7, "b.test."),
            record(0, 0, "first.test."),
            record(1, 0, "a.test."),
            record(3, 0, "."),
        ];
        let sorted = by_preference(records.clone());
        let names: Vec<_> = sorted.iter().filter_map(target).collect();
        assert_eq!(names.len(), 4);
        assert_eq!(
            [&names[0], &names[3]],
            [&targets(&["first.test"])[0], &targets(&["last.test"])[0]]
        );
        for target in targets(&["a.test", "b.test"]) {
            assert!(names.contains(&target), "{names:?}");
        }
        assert_eq!(by_preference(records), sorted);
    }
}
