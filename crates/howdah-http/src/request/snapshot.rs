//! A configuration as one front thread serves it.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use howdah_config::model::MAX_CONNECTIONS;
use howdah_tls::Acceptor;
use http::HeaderValue;
use tokio::net::TcpStream;

use crate::answer::challenge::Challenges;
use crate::answer::files::FileCache;
use crate::answer::files::stat::{Root, Roots, StatCache};
use crate::answer::hints::Hints;
use crate::answer::upstream::state::StateCursor;
use crate::encode::CompressedFiles;
use crate::listen::limits::Limits;
use crate::listen::setup::{BoundListener, Setup};
use crate::message::endpoint::Endpoints;
use crate::message::route_error::RouteError;
use crate::message::spool::SpoolDir;
use crate::observe::record::Observer;
use crate::observe::thread::ThreadState;
use crate::route::pools::ScriptPools;
use crate::route::site::{Hosts, Site};

/// A configuration as one front thread serves it: data that its requests share.
pub(crate) struct Snapshot {
    pub(crate) life: Rc<ThreadState>,
    pub(crate) spool: SpoolDir,
    pub(crate) lookup: StatCache,
    pub(crate) roots: Roots,
    pub(crate) files: FileCache,
    pub(crate) hints: Hints,
    pub(crate) compressed: Rc<CompressedFiles>,
    /// The working directory, for sites without `root`.
    pub(crate) default_root: Rc<Root>,
    pub(crate) observer: Option<Rc<Observer>>,
    pub(crate) endpoints: Endpoints,
    /// Responds to authorities that verify a name over plain HTTP.
    pub(crate) challenges: Option<Challenges>,
    listeners: Vec<ListenerSnapshot>,
    pub(crate) max_connections: usize,
}

/// A listener in a configuration.
struct ListenerSnapshot {
    address: SocketAddr,
    limits: Rc<Limits>,
    hosts: Hosts,
    acceptor: Option<Arc<Acceptor>>,
    /// The `Alt-Svc` header, if HTTP/3 is served.
    alt_svc: Option<HeaderValue>,
}

/// A configuration and its application, on one front thread.
pub(crate) struct Service<A> {
    pub(crate) app: Rc<A>,
    pub(crate) snapshot: Rc<Snapshot>,
}

/// What a thread needs to serve a configuration, besides the configuration.
pub(crate) struct Plan {
    pub(crate) life: Rc<ThreadState>,
    pub(crate) spool: SpoolDir,
    pub(crate) threads: usize,
    pub(crate) observer: Option<Rc<Observer>>,
}

impl Snapshot {
    pub(crate) fn new(setup: &Setup, plan: Plan) -> Result<Self, RouteError> {
        let Plan {
            life,
            spool,
            threads,
            observer,
        } = plan;
        let config = &setup.config;
        let clients = Arc::clone(&setup.tls_clients);
        let states = StateCursor::new(&setup.upstream_states);
        let pools = ScriptPools::new(config, &setup.pools, (clients, states));
        let sites: Vec<Rc<Site>> = config
            .sites
            .iter()
            .enumerate()
            .map(|(index, site)| Site::compile(site, &pools, setup.logs.site(index)).map(Rc::new))
            .collect::<Result<_, _>>()?;
        let listening = |bound: &BoundListener| {
            Ok(ListenerSnapshot {
                address: bound.address,
                limits: Limits::compile(bound.limits(config))?,
                hosts: Hosts::new(config, &bound.hosts, &sites),
                acceptor: bound.acceptor.clone(),
                alt_svc: bound.alt_svc.clone(),
            })
        };
        let listeners = setup.listeners.iter().map(listening);
        let max_connections = config.global.max_connections.unwrap_or(MAX_CONNECTIONS);
        Ok(Self {
            listeners: listeners.collect::<Result<_, RouteError>>()?,
            life,
            spool,
            lookup: StatCache::default(),
            roots: Roots::default(),
            files: FileCache::default(),
            hints: Hints::default(),
            compressed: Rc::default(),
            default_root: Rc::new(Root::new("")),
            observer,
            endpoints: setup.endpoints.get().cloned().unwrap_or_default(),
            challenges: setup.challenges.as_ref().map(Challenges::new),
            max_connections: max_connections.div_ceil(threads).max(1),
        })
    }

    /// Number of its listeners.
    pub(crate) fn listeners(&self) -> usize {
        self.listeners.len()
    }

    pub(crate) fn limits(&self, listener: usize) -> &Rc<Limits> {
        &self.listeners[listener].limits
    }

    pub(crate) fn hosts(&self, listener: usize) -> &Hosts {
        &self.listeners[listener].hosts
    }

    /// Acceptor of an encrypted listener.
    pub(crate) fn acceptor(&self, listener: usize) -> Option<&Arc<Acceptor>> {
        self.listeners[listener].acceptor.as_ref()
    }

    /// The `Alt-Svc` header for a listener with HTTP/3.
    pub(crate) fn alt_svc(&self, listener: usize) -> Option<&HeaderValue> {
        self.listeners[listener].alt_svc.as_ref()
    }

    /// Queries the socket only if the listener has no fixed address.
    pub(crate) fn local_address(
        &self,
        listener: usize,
        stream: &TcpStream,
    ) -> io::Result<SocketAddr> {
        let address = self.listeners[listener].address;
        if !address.ip().is_unspecified() {
            return Ok(address);
        }
        let address = stream.local_addr()?;
        Ok(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}
