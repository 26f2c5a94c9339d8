//! The server: everything that is bound before the first thread starts.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use howdah_config::model::{Admin, Config, FRONT_THREADS_MAX};
use howdah_observe::access::{Logs, Losses};
use howdah_observe::metrics::Measures;
use howdah_observe::trace::{Settings, SpanLosses, Tracer};
use howdah_tls::{Acceptor, Tls};
use http::HeaderValue;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;

use crate::application::Application;
use crate::endpoint::Endpoints;
use crate::http3;
use crate::listener::{self, BindError, SiteAddress};
use crate::record::{LiveRequests, Observing, Question};
use crate::shutdown::Shutdown;
use crate::spool::SpoolDir;
use crate::stats::Stats;
use crate::thread::{self, Core, Plan, Thread};

/// Threads of a front thread's own that read files from disk when the page cache does not have them.
const DISK_THREADS: usize = 8;

/// A bound server: its sockets listen, nothing is accepted yet.
#[derive(Debug)]
pub struct Server {
    config: Config,
    listeners: Vec<Bound>,
    challenges: Option<PathBuf>,
    /// Of each front thread, until it runs.
    sockets: Vec<Mutex<Option<Vec<TcpListener>>>>,
    /// Of HTTP/3, of each front thread, until it runs.
    quic: Vec<Mutex<Vec<http3::Bound>>>,
    stats: Arc<Stats>,
    spool: SpoolDir,
    first_id: u64,
    logs: Logs,
    tracer: Option<Arc<Tracer>>,
    /// If the configuration asks for metrics of requests.
    measures: Option<Arc<Measures>>,
    /// Of each front thread, until it runs; none if nobody can ask.
    questions: Vec<Mutex<Option<mpsc::UnboundedReceiver<Question>>>>,
    live: LiveRequests,
    endpoints: OnceLock<Endpoints>,
}

/// A listener without its sockets, which the front threads have.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) address: SocketAddr,
    pub(crate) hosts: Vec<SiteAddress>,
    pub(crate) acceptor: Option<Arc<Acceptor>>,
    /// What responses say of HTTP/3, if it has that.
    pub(crate) alt_svc: Option<HeaderValue>,
}

/// Called by a front thread's runtime; the pools' wake-up protocol hangs on them.
#[derive(Default)]
pub struct Hooks {
    /// Before the thread waits for events; it may wake tasks, and then the thread does not wait.
    pub on_thread_park: Option<Box<dyn Fn() + Send + Sync>>,
    /// When it has waited.
    pub on_thread_unpark: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// Why a front thread ended other than by the order to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no such thread, or it was started before.
    #[error("front thread {index} does not exist or was started before")]
    Index {
        /// What was asked for.
        index: usize,
    },
    /// The runtime or a listener failed.
    #[error("front thread {index} cannot run: {source}")]
    Runtime {
        /// The thread.
        index: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// A route cannot be executed; [`Server::bind`] would have said so.
    #[error(transparent)]
    Route(#[from] crate::route::RouteError),
}

/// Front threads for a configuration: `front_threads`, or [`default_threads`] of this machine.
pub fn front_threads(config: &Config) -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    let asked = config.global.php.front_threads;
    asked
        .unwrap_or_else(|| default_threads(cores))
        .clamp(1, FRONT_THREADS_MAX)
}

/// Front threads when nobody said a number: half the cores, 1 to 16. One thread keeps up with several
/// PHP processes, and an idle core is better used by PHP.
fn default_threads(cores: usize) -> usize {
    (cores / 2).clamp(1, FRONT_THREADS_MAX)
}

impl Server {
    /// Compiles the routes, makes the spool directory and listens on every address, once for each
    /// front thread. Everything that can be wrong with a configuration on this machine is said here.
    /// `tls` has the certificates of addresses with HTTPS.
    pub fn bind(config: &Config, tls: Option<&Tls>) -> Result<Self, BindError> {
        let threads = front_threads(config);
        let mut listeners = Vec::new();
        let mut sockets: Vec<Vec<TcpListener>> = (0..threads).map(|_| Vec::new()).collect();
        let mut quic: Vec<Vec<http3::Bound>> = (0..threads).map(|_| Vec::new()).collect();
        for listener in listener::bind(config, threads)? {
            for (own, socket) in sockets.iter_mut().zip(listener.sockets) {
                own.push(socket);
            }
            let acceptor = match (listener.tls, tls) {
                (false, _) => None,
                (true, Some(tls)) => Some(Arc::new(acceptor(config, &listener.hosts, tls))),
                (true, None) => {
                    let address = listener.address;
                    return Err(BindError::Certificates { address });
                }
            };
            let alt_svc = match &acceptor {
                Some(acceptor) if config.global.limits.http3 && !acceptor.is_strict() => {
                    let (number, address) = (listeners.len(), listener.address);
                    let bound = http3::bind(number, address, acceptor, &config.global.limits)
                        .map_err(|error| BindError::Http3 {
                            address,
                            reason: error.to_string(),
                        })?;
                    quic[number % threads].push(bound);
                    http3::alt_svc(address.port())
                }
                _ => None,
            };
            listeners.push(Bound {
                address: listener.address,
                hosts: listener.hosts,
                acceptor,
                alt_svc,
            });
        }
        let (mut live, mut questions) = (LiveRequests::default(), Vec::new());
        if config.global.admin != Admin::Off {
            for _ in 0..threads {
                let (ask, receiver) = mpsc::unbounded_channel();
                live.0.push(ask);
                questions.push(Mutex::new(Some(receiver)));
            }
        }
        let tracer = if config.global.tracing {
            let settings = Settings::from_env(|name| std::env::var(name).ok())?;
            Some(Arc::new(Tracer::start(settings)?))
        } else {
            None
        };
        let measures = config
            .global
            .metrics
            .then(|| Arc::new(Measures::new(threads, config.workers.len() + 1)));
        let server = Self {
            logs: Logs::start(&config.sites, config.global.limits.log_credentials)?,
            tracer,
            measures,
            questions,
            live,
            endpoints: OnceLock::new(),
            config: config.clone(),
            listeners,
            challenges: tls.and_then(Tls::challenge_directory),
            sockets: sockets
                .into_iter()
                .map(|own| Mutex::new(Some(own)))
                .collect(),
            quic: quic.into_iter().map(Mutex::new).collect(),
            stats: Arc::new(Stats::new(threads)),
            spool: SpoolDir::create()?,
            first_id: RandomState::new().hash_one(std::process::id()),
        };
        // Compiled routes stay on their thread, so this proves that each thread can make its own.
        server.core(0, None)?;
        Ok(server)
    }

    /// Front threads to start: [`Server::run_thread`] with every index below.
    pub fn threads(&self) -> usize {
        self.sockets.len()
    }

    /// The addresses that are listened on, with the ports that the system chose for port 0.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|bound| bound.address).collect()
    }

    /// Of the addresses with HTTPS, in the order of [`local_addrs`](Self::local_addrs), what chooses
    /// their certificates.
    pub fn acceptors(&self) -> impl Iterator<Item = (SocketAddr, &Arc<Acceptor>)> {
        let listeners = self.listeners.iter();
        listeners.filter_map(|bound| Some((bound.address, bound.acceptor.as_ref()?)))
    }

    /// Counters of all threads.
    pub fn stats(&self) -> Arc<Stats> {
        Arc::clone(&self.stats)
    }

    /// Counts lines of access logs that were lost.
    pub fn log_losses(&self) -> Losses {
        self.logs.losses()
    }

    /// Counts spans that were lost.
    pub fn span_losses(&self) -> SpanLosses {
        let tracer = self.tracer.as_ref();
        tracer.map(|tracer| tracer.losses()).unwrap_or_default()
    }

    /// What front threads count of requests, if the configuration asks for it.
    pub fn measures(&self) -> Option<Arc<Measures>> {
        self.measures.clone()
    }

    /// Asks for the requests that are under way. Knows none if the admin API is off.
    pub fn live_requests(&self) -> LiveRequests {
        self.live.clone()
    }

    /// Sets what answers `metrics` and `mercure`, before the first thread runs; later calls change nothing.
    /// Requests for what is missing are answered 503.
    pub fn set_endpoints(&self, endpoints: Endpoints) {
        // A second call is a mistake that harms nobody.
        let _ = self.endpoints.set(endpoints);
    }

    /// The directory of large request bodies.
    pub fn spool(&self) -> &SpoolDir {
        &self.spool
    }

    /// Serves on the calling thread until `shutdown` has been carried out. `start` makes the
    /// thread's application, inside the runtime: it may spawn tasks and register descriptors.
    /// If every clone of `shutdown` is dropped, the thread stops at once.
    pub fn run_thread<A: Application>(
        &self,
        index: usize,
        hooks: Hooks,
        shutdown: &Shutdown,
        start: impl FnOnce() -> io::Result<Rc<A>>,
    ) -> Result<(), RunError> {
        let sockets = self
            .sockets
            .get(index)
            .and_then(|own| own.lock().unwrap_or_else(PoisonError::into_inner).take())
            .ok_or(RunError::Index { index })?;
        let quic = self.quic.get(index).map_or_else(Vec::new, |own| {
            std::mem::take(&mut *own.lock().unwrap_or_else(PoisonError::into_inner))
        });
        let questions = self
            .questions
            .get(index)
            .and_then(|own| own.lock().unwrap_or_else(PoisonError::into_inner).take());
        let observing = Observing::new(
            self.measures.clone(),
            index,
            questions.is_some(),
            self.tracer.clone(),
        );
        let core = Rc::new(self.core(index, observing.clone())?);
        let order = shutdown.subscribe();
        let mut builder = Builder::new_current_thread();
        builder.enable_all().max_blocking_threads(DISK_THREADS);
        if let Some(park) = hooks.on_thread_park {
            builder.on_thread_park(park);
        }
        if let Some(unpark) = hooks.on_thread_unpark {
            builder.on_thread_unpark(unpark);
        }
        let failed = |source| RunError::Runtime { index, source };
        let runtime = builder
            .build_local(LocalOptions::default())
            .map_err(failed)?;
        runtime
            .block_on(async {
                let thread = Rc::new(Thread {
                    app: start()?,
                    core,
                });
                if let (Some(observing), Some(questions)) = (observing, questions) {
                    tokio::task::spawn_local(observing.answer(questions));
                }
                thread::run(thread, (sockets, quic), order).await
            })
            .map_err(failed)
    }

    fn core(
        &self,
        index: usize,
        observing: Option<Rc<Observing>>,
    ) -> Result<Core, crate::route::RouteError> {
        Core::new(Plan {
            config: &self.config,
            listeners: &self.listeners,
            challenges: self.challenges.as_deref(),
            stats: Arc::clone(&self.stats),
            spool: self.spool.clone(),
            index,
            threads: self.threads(),
            first_id: self.first_id,
            logs: &self.logs,
            observing,
            endpoints: self.endpoints.get().cloned().unwrap_or_default(),
        })
    }
}

fn acceptor(config: &Config, hosts: &[SiteAddress], tls: &Tls) -> Acceptor {
    tls.acceptor(hosts.iter().map(|(site, address)| {
        let host = config.sites[*site].addresses[*address].host.as_deref();
        (*site, *address, host)
    }))
}

#[cfg(test)]
mod tests {
    use super::default_threads;

    #[test]
    fn the_default_follows_the_cores() {
        for (cores, threads) in [(1, 1), (2, 1), (4, 2), (8, 4), (64, 16), (512, 16)] {
            assert_eq!(default_threads(cores), threads, "{cores}");
        }
    }
}
