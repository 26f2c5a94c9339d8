//! A configuration as it is served: what all front threads need of it, and the orders by which they switch to the next.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use howdah_config::model::{AddressIndex, Config, Limits, UnixSocket};
use howdah_observe::access::Logs;
use howdah_tls::{Acceptor, HttpProofs, Tls};
use http::HeaderValue;
use tokio::sync::oneshot;

use super::quic;
use crate::answer::upstream::state::UpstreamStates;
use crate::answer::upstream::tls::TlsClients;
use crate::listen::error::BindError;
use crate::listen::inherited::InheritedSockets;
use crate::listen::listener::{self, ListenerSpec, Place, RequiredListener};
use crate::listen::unix::{self, SocketFile};
use crate::message::endpoint::Endpoints;
use crate::message::running_pools::RunningPools;

/// A configuration with everything that it needs except sockets.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) listeners: Vec<BoundListener>,
    /// Responses to HTTP challenges of certificate authorities.
    pub(crate) challenges: Option<HttpProofs>,
    pub(crate) pools: RunningPools,
    pub(crate) logs: Logs,
    /// TLS configurations for upstreams.
    pub(crate) tls_clients: Arc<TlsClients>,
    /// State of upstreams, for all front threads.
    pub(crate) upstream_states: Arc<UpstreamStates>,
    pub(crate) endpoints: OnceLock<Endpoints>,
}

/// A listener without its sockets, which are in the front threads.
#[derive(Debug)]
pub(crate) struct BoundListener {
    required: ListenerSpec,
    pub(crate) address: SocketAddr,
    /// File of a Unix socket.
    pub(crate) file: Option<Arc<SocketFile>>,
    pub(crate) hosts: Vec<AddressIndex>,
    pub(crate) acceptor: Option<Arc<Acceptor>>,
    /// The `Alt-Svc` header of responses, if it serves HTTP/3.
    pub(crate) alt_svc: Option<HeaderValue>,
    /// The settings with which HTTP/3 connections are accepted.
    pub(crate) http3: Option<quinn::ServerConfig>,
    /// It has a UDP socket, which stays open when HTTP/3 is turned off.
    udp: bool,
}

impl BoundListener {
    /// Its limits in its configuration.
    pub(crate) fn limits<'c>(&self, config: &'c Config) -> &'c Limits {
        config.global.limits_of(&self.required.listener())
    }
}

/// Where a listener comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was bound for this configuration.
    New,
    /// It was in the previous configuration.
    Kept {
        /// Its number there.
        number: usize,
        /// Existing connections are closed, because new ones would differ from them.
        leaves: bool,
    },
}

/// New sockets of one front thread, by the numbers of their listeners.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    pub(crate) tcp: Vec<(usize, TcpListener)>,
    pub(crate) unix: Vec<(usize, UnixListener)>,
    /// Numbers of the listeners that a service manager listens on too.
    pub(crate) shared: Vec<usize>,
    pub(crate) http3: Vec<quic::BoundSocket>,
}

/// The action of a front thread when the configuration changes. Every thread is ready before one changes.
#[derive(Debug)]
pub(crate) enum Order {
    /// Create everything that is needed.
    Prepare(Box<Change>, oneshot::Sender<io::Result<()>>),
    /// Serve the configuration that was prepared.
    Switch(oneshot::Sender<()>),
    /// Drop the configuration that was prepared.
    Abandon,
}

/// A new configuration.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) setup: Arc<Setup>,
    pub(crate) origins: Arc<[Origin]>,
    pub(crate) sockets: Sockets,
    /// Time for connections that have to close.
    pub(crate) grace: Duration,
}

/// The listeners of a configuration, with the sockets that it needs beyond those of the one before.
#[derive(Debug)]
pub(crate) struct BoundListeners {
    pub(crate) listeners: Vec<BoundListener>,
    /// Where each comes from.
    pub(crate) origins: Vec<Origin>,
    /// The new sockets of each front thread.
    pub(crate) sockets: Vec<Sockets>,
}

/// Binds the listeners of a configuration: those that `old` has are kept.
pub(crate) fn bind(
    config: &Config,
    tls: Option<&Tls>,
    threads: usize,
    old: &[BoundListener],
    inherited: &mut InheritedSockets,
) -> Result<BoundListeners, BindError> {
    let mut binder = Binder {
        old,
        inherited,
        sockets: (0..threads).map(|_| Sockets::default()).collect(),
    };
    let (mut listeners, mut origins) = (Vec::new(), Vec::new());
    for (number, required) in listener::required_listeners(config)?
        .into_iter()
        .enumerate()
    {
        let RequiredListener { spec, hosts } = required;
        let kept = old.iter().position(|bound| bound.required.is_same(&spec));
        let (address, file) = match (kept, &spec.place) {
            (Some(kept), _) => (old[kept].address, old[kept].file.clone()),
            (None, Place::Ip(ip)) => (binder.bind_tcp(number, *ip, spec.port)?, None),
            (None, Place::Unix(socket)) => (unix::ADDRESS, binder.bind_unix(number, socket)?),
        };
        let acceptor = match (spec.tls, tls) {
            (false, _) => None,
            (true, Some(tls)) => Some(Arc::new(tls.acceptor(config, &hosts))),
            (true, None) => return Err(BindError::Certificates { address }),
        };
        let limits = config.global.limits_of(&spec.listener());
        let mut udp = kept.is_some_and(|kept| old[kept].udp);
        let http3 = match &acceptor {
            Some(acceptor) if limits.http3 && !acceptor.is_strict() => {
                let failed = |reason: String| BindError::Http3 { address, reason };
                let set_up = quic::set_up(acceptor, limits);
                let set_up = set_up.map_err(|error| failed(error.to_string()))?;
                if !std::mem::replace(&mut udp, true) {
                    let bound = binder.bind_udp(number, address, set_up.clone());
                    bound.map_err(|error| failed(error.to_string()))?;
                }
                Some(set_up)
            }
            _ => None,
        };
        let bound = BoundListener {
            required: spec,
            address,
            file,
            hosts,
            alt_svc: http3.as_ref().and_then(|_| quic::alt_svc(address.port())),
            acceptor,
            http3,
            udp,
        };
        origins.push(match kept {
            None => Origin::New,
            Some(number) => Origin::Kept {
                number,
                leaves: leaves(&old[number], &bound),
            },
        });
        listeners.push(bound);
    }
    Ok(BoundListeners {
        listeners,
        origins,
        sockets: binder.sockets,
    })
}

/// Binds addresses, and gives their sockets to the front threads.
struct Binder<'a> {
    old: &'a [BoundListener],
    inherited: &'a mut InheritedSockets,
    /// New sockets by front thread.
    sockets: Vec<Sockets>,
}

impl Binder<'_> {
    fn bind_tcp(
        &mut self,
        number: usize,
        ip: Option<IpAddr>,
        port: u16,
    ) -> Result<SocketAddr, BindError> {
        let threads = self.sockets.len();
        let given = self.inherited.take_tcp(ip, port);
        let shared = given.is_some();
        let bound = match given {
            Some(socket) => listener::adopt(socket, threads),
            None => listener::listen(ip, port, threads),
        };
        let (address, own) = bound.map_err(|error| overlap(error, self.old))?;
        for (thread, socket) in self.sockets.iter_mut().zip(own) {
            thread.tcp.push((number, socket));
            thread.shared.extend(shared.then_some(number));
        }
        Ok(address)
    }

    /// The file of the socket, unless a service manager has made it.
    fn bind_unix(
        &mut self,
        number: usize,
        socket: &UnixSocket,
    ) -> Result<Option<Arc<SocketFile>>, BindError> {
        let threads = self.sockets.len();
        let (file, own) = if let Some(given) = self.inherited.take_unix(&socket.path) {
            (None, unix::adopt(given, socket, threads)?)
        } else {
            let (file, own) = unix::listen(socket, threads)?;
            (Some(Arc::new(file)), own)
        };
        for (thread, socket) in self.sockets.iter_mut().zip(own) {
            thread.unix.push((number, socket));
            thread.shared.extend(file.is_none().then_some(number));
        }
        Ok(file)
    }

    /// All HTTP/3 connections of an address are on one thread.
    fn bind_udp(
        &mut self,
        number: usize,
        address: SocketAddr,
        config: quinn::ServerConfig,
    ) -> io::Result<()> {
        let inherited = self.inherited.take_udp(address);
        let bound = quic::bind(number, address, inherited, config)?;
        let thread = number % self.sockets.len();
        self.sockets[thread].http3.push(bound);
        Ok(())
    }
}

/// Updates the files of Unix sockets when a new configuration is served.
pub(crate) fn update_socket_files(old: &[BoundListener], new: &[BoundListener]) {
    for bound in new {
        if let (Some(file), Place::Unix(socket)) = (&bound.file, &bound.required.place) {
            file.permit(socket.mode);
        }
    }
    for file in old.iter().filter_map(|bound| bound.file.as_ref()) {
        let stays = new.iter().filter_map(|bound| bound.file.as_ref());
        if !stays.into_iter().any(|other| Arc::ptr_eq(file, other)) {
            file.remove();
        }
    }
}

/// Whether older connections must close: they had no TLS, or their clients were not requested to send a certificate.
fn leaves(old: &BoundListener, new: &BoundListener) -> bool {
    match (&old.acceptor, &new.acceptor) {
        (None, None) => false,
        (Some(old), Some(new)) => old.is_strict() || new.is_strict(),
        _ => true,
    }
}

/// Changes the error if the server itself uses the port, on a different address.
fn overlap(error: BindError, old: &[BoundListener]) -> BindError {
    let BindError::InUse { address } = error else {
        return error;
    };
    let mut own = old
        .iter()
        .filter(|bound| bound.file.is_none())
        .map(|bound| bound.address);
    match own.find(|own| own.port() == address.port()) {
        Some(own) => BindError::Overlap { address, own },
        None => error,
    }
}
