//! `dynamic a`: upstreams at the addresses of a name, which each front thread resolves.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use howdah_config::model::{DynamicUpstreams, ReverseProxy, Upstream};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout};

use super::Upstreams;
use crate::answer::upstream::state::UpstreamStates;
use crate::answer::upstream::tls::TlsClients;

/// When a name is resolved again that could not be resolved, unless `refresh` is shorter.
const RETRY: Duration = Duration::from_secs(1);

/// The upstreams of a `dynamic a`, as one front thread knows them.
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
    addresses: BTreeSet<SocketAddr>,
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
        if let Some(tls) = &mut proxy.tls {
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

    async fn resolve(&self) -> io::Result<BTreeSet<SocketAddr>> {
        let host = (self.settings.name.as_str(), self.settings.port);
        let found = match timeout(self.proxy.dial_timeout, tokio::net::lookup_host(host)).await {
            Ok(found) => found?,
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        };
        let is_used = |address: &SocketAddr| match address {
            SocketAddr::V4(_) => self.settings.ipv4,
            SocketAddr::V6(_) => self.settings.ipv6,
        };
        let addresses: BTreeSet<_> = found.filter(is_used).collect();
        if addresses.is_empty() {
            return Err(io::Error::other("it has no address of the right version"));
        }
        Ok(addresses)
    }

    /// Addresses that were known stay in use if the name cannot be resolved.
    fn update(&self, resolved: io::Result<BTreeSet<SocketAddr>>) {
        let name = &self.settings.name;
        let mut known = self.known.borrow_mut();
        let lifetime = match resolved {
            Ok(addresses) => {
                if known.upstreams.is_none() || known.addresses != addresses {
                    known.upstreams = self.connect_to(&addresses);
                    known.addresses = addresses;
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

    fn connect_to(&self, addresses: &BTreeSet<SocketAddr>) -> Option<Rc<Upstreams>> {
        let upstream = |address: &SocketAddr| Upstream::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let proxy = ReverseProxy {
            upstreams: addresses.iter().map(upstream).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> DynamicSource {
        let proxy = ReverseProxy {
            dynamic: Some(DynamicUpstreams {
                name: "app.test".into(),
                port: 80,
                refresh: Duration::from_secs(60),
                ipv4: true,
                ipv6: true,
            }),
            ..ReverseProxy::new(Vec::new())
        };
        DynamicSource::of(&proxy, &Arc::default(), Arc::default()).unwrap()
    }

    fn addresses(texts: &[&str]) -> BTreeSet<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
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
        source.update(Ok(addresses(&["10.0.0.2:80", "10.0.0.1:80"])));
        assert_eq!(names(&source), ["10.0.0.1:80", "10.0.0.2:80"]);
        let before = source.known().unwrap();
        // The same addresses in another order keep connections, and a failure does too.
        source.update(Ok(addresses(&["10.0.0.1:80", "10.0.0.2:80"])));
        source.update(failure());
        assert!(Rc::ptr_eq(&before, &source.known().unwrap()));
        source.update(Ok(addresses(&["[fd00::1]:80"])));
        assert_eq!(names(&source), ["[fd00::1]:80"]);
    }
}
