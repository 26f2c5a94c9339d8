//! The server: everything that is bound before the first thread starts.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use howdah_config::model::{Admin, Config, FRONT_THREADS_MAX};
use howdah_observe::access::{Logs, Losses};
use howdah_observe::metrics::Measures;
use howdah_observe::trace::{Settings, Tracer};
use howdah_tls::{Acceptor, Tls};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{mpsc, oneshot};

use crate::front::thread;
use crate::listen::error::BindError;
use crate::listen::inherited::InheritedSockets;
use crate::listen::limits::Limits;
use crate::listen::listener;
use crate::listen::setup::{self, Change, Order, Origin, Setup, Sockets};
use crate::message::application::Application;
use crate::message::endpoint::Endpoints;
use crate::message::running_pools::RunningPools;
use crate::message::spool::SpoolDir;
use crate::observe::finished_request::FinishedRequests;
use crate::observe::record::{
    self, CountedHosts, LiveList, LiveQuery, LiveRequests, Observer, ObserverOptions,
};
use crate::observe::stats::Stats;
use crate::observe::thread::ThreadState;
use crate::request::snapshot::{Plan, Service, Snapshot};
use crate::shutdown::Shutdown;

/// Threads per front thread that read files from disk when the page cache does not have them.
const DISK_THREADS: usize = 8;

/// Numbers of pools that all configurations together may use, unless the first has more: requests are counted per
/// number as long as the server runs.
pub const POOLS_MAX: usize = 128;

/// A bound server: its sockets listen, nothing is accepted yet.
#[derive(Debug)]
pub struct Server {
    /// The current configuration.
    current: Mutex<Arc<Setup>>,
    /// State for each front thread, until it runs.
    starts: Vec<Mutex<Option<ThreadStart>>>,
    /// Senders to each front thread.
    orders: Vec<mpsc::UnboundedSender<Order>>,
    stats: Arc<Stats>,
    spool: SpoolDir,
    first_id: u64,
    tracer: Arc<OnceLock<Arc<Tracer>>>,
    measures: RequestCounters,
    live: LiveRequests,
    finished: FinishedRequests,
}

/// The data that a front thread starts with.
#[derive(Debug)]
struct ThreadStart {
    setup: Arc<Setup>,
    sockets: Sockets,
    orders: mpsc::UnboundedReceiver<Order>,
    /// None without an admin API.
    questions: Option<mpsc::UnboundedReceiver<LiveQuery>>,
}

/// Request counters of the front threads. They exist from the first configuration on that needs
/// them.
#[derive(Debug, Clone, Default)]
pub struct RequestCounters(Arc<OnceLock<Arc<Measures>>>);

impl RequestCounters {
    /// `None` if no configuration has needed it yet.
    pub fn measures(&self) -> Option<&Arc<Measures>> {
        self.0.get()
    }
}

/// Counts spans that were dropped, from the first configuration on that has traces.
#[derive(Debug, Clone, Default)]
pub struct LostSpans(Arc<OnceLock<Arc<Tracer>>>);

impl LostSpans {
    /// Since the start.
    pub fn spans(&self) -> u64 {
        let tracer = self.0.get();
        tracer.map_or(0, |tracer| tracer.losses().spans())
    }
}

/// A new configuration, whose sockets listen: [`Server::switch`] serves it. Dropping it changes nothing.
#[derive(Debug)]
pub struct PreparedConfiguration {
    setup: Arc<Setup>,
    origins: Arc<[Origin]>,
    /// Sockets of each front thread.
    sockets: Vec<Sockets>,
}

/// Why a configuration is not served. The previous one is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum SwitchError {
    /// A thread cannot serve it.
    #[error("front thread {index} cannot serve it: {source}")]
    Service { index: usize, source: io::Error },
    /// A thread has ended: the server is about to stop.
    #[error("the server is stopping")]
    Stopping,
}

/// Called by a front thread's runtime; the wake-up protocol of the pools depends on them.
#[derive(Default)]
pub struct Hooks {
    /// Before the thread waits for events; it may wake tasks, and then the thread does not wait.
    pub on_thread_park: Option<Box<dyn Fn() + Send + Sync>>,
    /// Called when the thread continues after it has waited.
    pub on_thread_unpark: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// Why a front thread ended without an order to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum RunError {
    /// There is no such thread, or it was already started.
    #[error("front thread {index} does not exist, or has already started")]
    Index { index: usize },
    /// The runtime or a listener failed.
    #[error("front thread {index} cannot run: {source}")]
    Runtime { index: usize, source: io::Error },
    /// A route cannot be executed; [`Server::bind`] would have reported it.
    #[error(transparent)]
    Route(#[from] crate::message::route_error::RouteError),
}

/// Number of front threads for a configuration: `front_threads`, or [`default_threads`] of this
/// machine.
pub fn front_threads(config: &Config) -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    let configured = config.global.php.front_threads;
    configured
        .unwrap_or_else(|| default_threads(cores))
        .clamp(1, FRONT_THREADS_MAX)
}

/// Default number of front threads: one for each core, 1 to 16. Half as many are enough for PHP, but encryption,
/// compression and files may need every core, and an idle thread costs nothing.
fn default_threads(cores: usize) -> usize {
    cores.clamp(1, FRONT_THREADS_MAX)
}

/// All pools except the classic pool of all sites.
fn pools_of(config: &Config) -> usize {
    config.pools.len() + config.workers.len() + config.roadrunner.len()
}

/// Reports the errors that [`Server::bind`] would report, as far as that needs no addresses and no logs.
///
/// # Errors
/// The first error.
pub fn check(config: &Config) -> Result<(), BindError> {
    for wanted in listener::required_listeners(config)? {
        Limits::compile(config.global.limits_of(&wanted.spec.listener()))?;
    }
    if config.global.tracing {
        Settings::from_env(|name| std::env::var(name).ok())?;
    }
    let setup = Setup {
        logs: Logs::default(),
        endpoints: OnceLock::new(),
        config: config.clone(),
        tls_clients: Arc::default(),
        upstream_states: Arc::default(),
        listeners: Vec::new(),
        challenges: None,
        pools: RunningPools {
            numbers: (1..=config.workers.len()).collect(),
            users: Arc::default(),
        },
    };
    let plan = Plan {
        life: ThreadState::new(0, Arc::new(Stats::new(1)), 0, Shutdown::new()),
        spool: SpoolDir::create()?,
        threads: 1,
        observer: None,
    };
    Snapshot::new(&setup, plan)?;
    Ok(())
}

impl Server {
    /// Compiles the routes, creates the spool directory and listens on every address, once for each
    /// front thread. This reports all errors that a configuration has on this machine. `tls` has
    /// the certificates of addresses with HTTPS.
    pub fn bind(config: &Config, tls: Option<&Tls>) -> Result<Self, BindError> {
        Self::bind_with(
            config,
            tls,
            Arc::default(),
            &mut InheritedSockets::default(),
        )
    }

    /// The same for pools with their own `users`, and with existing sockets for some of the addresses, which are taken
    /// from `inherited`.
    pub fn bind_with(
        config: &Config,
        tls: Option<&Tls>,
        users: Arc<[u32]>,
        inherited: &mut InheritedSockets,
    ) -> Result<Self, BindError> {
        let threads = front_threads(config);
        let bound = setup::bind(config, tls, threads, &[], inherited)?;
        let setup = Arc::new(Setup {
            logs: Logs::start(&config.sites)?,
            endpoints: OnceLock::new(),
            config: config.clone(),
            tls_clients: Arc::default(),
            upstream_states: Arc::default(),
            listeners: bound.listeners,
            challenges: tls.and_then(Tls::http_proofs),
            pools: RunningPools {
                numbers: (1..=pools_of(config)).collect(),
                users,
            },
        });
        let (mut live, mut orders, mut starts) = (LiveRequests::default(), Vec::new(), Vec::new());
        for own in bound.sockets {
            let questions = (config.global.admin != Admin::Off).then(|| {
                let (ask, receiver) = mpsc::unbounded_channel();
                live.0.push(ask);
                receiver
            });
            let (order, receiver) = mpsc::unbounded_channel();
            orders.push(order);
            starts.push(Mutex::new(Some(ThreadStart {
                setup: Arc::clone(&setup),
                sockets: own,
                orders: receiver,
                questions,
            })));
        }
        let server = Self {
            current: Mutex::new(Arc::clone(&setup)),
            starts,
            orders,
            stats: Arc::new(Stats::new(threads)),
            spool: SpoolDir::create()?,
            first_id: RandomState::new().hash_one(std::process::id()),
            tracer: Arc::default(),
            measures: RequestCounters::default(),
            live,
            finished: FinishedRequests::new(threads),
        };
        server.observe(config)?;
        server.check(&setup)?;
        Ok(server)
    }

    /// Prepares a new configuration as [`bind`](Self::bind) does the first, and changes nothing. Addresses that are
    /// already listened on are not bound again. The number of front threads, and whether there is an admin API, stay as
    /// in the first configuration.
    pub fn prepare(
        &self,
        config: &Config,
        tls: Option<&Tls>,
        pools: RunningPools,
        endpoints: Endpoints,
    ) -> Result<PreparedConfiguration, BindError> {
        let current = self.current();
        let threads = self.threads();
        // Inherited sockets were taken at the start.
        let none = &mut InheritedSockets::default();
        let bound = setup::bind(config, tls, threads, &current.listeners, none)?;
        let logs = current.logs.next(&config.sites)?;
        let setup = Arc::new(Setup {
            logs,
            endpoints: OnceLock::from(endpoints),
            config: config.clone(),
            tls_clients: Arc::default(),
            upstream_states: Arc::new(current.upstream_states.next()),
            listeners: bound.listeners,
            challenges: tls.and_then(Tls::http_proofs),
            pools,
        });
        self.observe(config)?;
        self.check(&setup)?;
        Ok(PreparedConfiguration {
            setup,
            origins: bound.origins.into(),
            sockets: bound.sockets,
        })
    }

    /// Switches to a new configuration for all requests that begin from now on. Requests in flight continue with the
    /// previous one. Connections of addresses that are gone, or whose encryption has changed, close as at a shutdown,
    /// with `grace` for their requests.
    ///
    /// Returns when every front thread has switched. Calls must not overlap.
    pub async fn switch(
        &self,
        prepared: PreparedConfiguration,
        grace: Duration,
    ) -> Result<(), SwitchError> {
        let PreparedConfiguration {
            setup,
            origins,
            sockets,
        } = prepared;
        let mut replies = Vec::new();
        for (order, own) in self.orders.iter().zip(sockets) {
            let change = Box::new(Change {
                setup: Arc::clone(&setup),
                origins: Arc::clone(&origins),
                sockets: own,
                grace,
            });
            let (reply, prepared) = oneshot::channel();
            // If the thread has ended, no reply comes.
            let _ = order.send(Order::Prepare(change, reply));
            replies.push(prepared);
        }
        for (index, reply) in replies.into_iter().enumerate() {
            let failed = match reply.await {
                Ok(Ok(())) => continue,
                Ok(Err(source)) => SwitchError::Service { index, source },
                Err(_) => SwitchError::Stopping,
            };
            for order in &self.orders {
                // A thread that has ended has dropped it.
                let _ = order.send(Order::Abandon);
            }
            return Err(failed);
        }
        let switched: Vec<_> = self
            .orders
            .iter()
            .map(|order| {
                let (reply, switched) = oneshot::channel();
                // As above.
                let _ = order.send(Order::Switch(reply));
                switched
            })
            .collect();
        for reply in switched {
            // A thread that ends meanwhile serves nothing.
            let _ = reply.await;
        }
        let old = self.replace(Arc::clone(&setup));
        setup::update_socket_files(&old.listeners, &setup.listeners);
        // Waits until removed access logs have written their queues.
        let _ = tokio::task::spawn_blocking(|| drop(old)).await;
        Ok(())
    }

    fn replace(&self, setup: Arc<Setup>) -> Arc<Setup> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut current, setup)
    }

    /// Starts the observation of requests, if the configuration needs it. It is never stopped.
    fn observe(&self, config: &Config) -> Result<(), BindError> {
        if config.global.tracing && self.tracer.get().is_none() {
            let settings = Settings::from_env(|name| std::env::var(name).ok())?;
            let tracer = Arc::new(Tracer::start(settings)?);
            self.tracer.get_or_init(|| tracer);
        }
        if config.global.metrics {
            let pools = POOLS_MAX.max(pools_of(config) + 1);
            let new = || Arc::new(Measures::new(self.threads(), pools));
            self.measures.0.get_or_init(new);
        }
        Ok(())
    }

    /// Compiled routes stay on their thread; this proves that each thread can compile them.
    fn check(&self, setup: &Setup) -> Result<(), crate::message::route_error::RouteError> {
        let life = ThreadState::new(0, self.stats(), self.first_id, Shutdown::new());
        Snapshot::new(setup, self.plan(life, None)).map(drop)
    }

    fn plan(&self, life: Rc<ThreadState>, observer: Option<Rc<Observer>>) -> Plan {
        Plan {
            life,
            spool: self.spool.clone(),
            threads: self.threads(),
            observer,
        }
    }

    fn current(&self) -> Arc<Setup> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Number of front threads to start: call [`Server::run_thread`] with every index below it.
    pub fn threads(&self) -> usize {
        self.orders.len()
    }

    /// The addresses that are listened on, with the ports that the system has chosen for port 0.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        let current = self.current();
        let ports = current
            .listeners
            .iter()
            .filter(|bound| bound.file.is_none());
        ports.map(|bound| bound.address).collect()
    }

    /// The Unix sockets that are listened on.
    pub fn unix_sockets(&self) -> Vec<PathBuf> {
        let current = self.current();
        let files = current
            .listeners
            .iter()
            .filter_map(|bound| bound.file.as_ref());
        files.map(|file| file.path().clone()).collect()
    }

    /// Removes the files of the Unix sockets that the server has created: new clients fail immediately, and connected
    /// clients are still served.
    pub fn remove_unix_sockets(&self) {
        for file in self
            .current()
            .listeners
            .iter()
            .filter_map(|bound| bound.file.as_ref())
        {
            file.remove();
        }
    }

    /// The certificate acceptors of the addresses with HTTPS, in the order of [`local_addrs`](Self::local_addrs).
    pub fn acceptors(&self) -> Vec<(SocketAddr, Arc<Acceptor>)> {
        let current = self.current();
        let listeners = current.listeners.iter();
        listeners
            .filter_map(|bound| Some((bound.address, Arc::clone(bound.acceptor.as_ref()?))))
            .collect()
    }

    /// Counters of all threads.
    pub fn stats(&self) -> Arc<Stats> {
        Arc::clone(&self.stats)
    }

    /// Counts lines of access logs that were dropped.
    pub fn log_losses(&self) -> Losses {
        self.current().logs.losses()
    }

    /// Counts spans that were dropped.
    pub fn span_losses(&self) -> LostSpans {
        LostSpans(Arc::clone(&self.tracer))
    }

    /// The request counters of the front threads.
    pub fn counted(&self) -> RequestCounters {
        self.measures.clone()
    }

    /// Queries the requests in flight. Empty if the admin API is off.
    pub fn live_requests(&self) -> LiveRequests {
        self.live.clone()
    }

    /// Finished requests, for observers; empty if the admin API is off.
    pub fn finished_requests(&self) -> FinishedRequests {
        self.finished.clone()
    }

    /// Sets the endpoints of `metrics` and `mercure`, before the first thread runs; later calls change nothing.
    /// Requests for a missing endpoint get a 503.
    pub fn set_endpoints(&self, endpoints: Endpoints) {
        // A second call is a harmless mistake.
        let _ = self.current().endpoints.set(endpoints);
    }

    /// The directory of large request bodies.
    pub fn spool(&self) -> &SpoolDir {
        &self.spool
    }

    /// Serves on the calling thread until `shutdown` has been carried out. `start` creates the
    /// thread's application, inside the runtime: it may spawn tasks and register descriptors. If
    /// every clone of `shutdown` is dropped, the thread stops immediately.
    pub fn run_thread<A: Application>(
        &self,
        index: usize,
        hooks: Hooks,
        shutdown: &Shutdown,
        start: impl FnOnce() -> io::Result<Rc<A>>,
    ) -> Result<(), RunError> {
        let ThreadStart {
            setup,
            sockets,
            orders,
            questions,
        } = self
            .starts
            .get(index)
            .and_then(|own| own.lock().unwrap_or_else(PoisonError::into_inner).take())
            .ok_or(RunError::Index { index })?;
        let life = ThreadState::new(index, self.stats(), self.first_id, shutdown.clone());
        let question_list = questions.map(|questions| (LiveList::default(), questions));
        let live_requests = question_list.as_ref().map(|(list, _)| Rc::clone(list));
        let plan = |setup: &Setup| {
            let observer = self.observer(&setup.config, index, live_requests.clone());
            self.plan(Rc::clone(&life), observer)
        };
        let snapshot = Rc::new(Snapshot::new(&setup, plan(&setup))?);
        drop(setup);
        let order = shutdown.subscribe();
        let failed = |source| RunError::Runtime { index, source };
        let runtime = runtime(hooks).map_err(failed)?;
        runtime
            .block_on(async {
                let service = Rc::new(Service {
                    app: start()?,
                    snapshot,
                });
                if let Some((list, questions)) = question_list {
                    tokio::task::spawn_local(record::answer(list, questions));
                }
                thread::run(service, sockets, plan, (orders, order)).await
            })
            .map_err(failed)
    }

    /// What a thread records of its requests with this configuration.
    fn observer(
        &self,
        config: &Config,
        thread: usize,
        live: Option<LiveList>,
    ) -> Option<Rc<Observer>> {
        let global = &config.global;
        Observer::new(ObserverOptions {
            measures: self.measures.measures().filter(|_| global.metrics).cloned(),
            hosts: CountedHosts::of(config),
            thread,
            finished: live.is_some().then(|| self.finished.clone()),
            live,
            tracer: self.tracer.get().filter(|_| global.tracing).cloned(),
            logs: config.sites.iter().any(|site| !site.access_logs.is_empty()),
            per_route: global.metrics_per_route,
        })
    }
}

/// The runtime of a front thread.
fn runtime(hooks: Hooks) -> io::Result<LocalRuntime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(DISK_THREADS);
    if let Some(park) = hooks.on_thread_park {
        builder.on_thread_park(park);
    }
    if let Some(unpark) = hooks.on_thread_unpark {
        builder.on_thread_unpark(unpark);
    }
    builder.build_local(LocalOptions::default())
}

#[cfg(test)]
mod tests {
    use super::default_threads;

    #[test]
    fn the_default_follows_the_cores() {
        for (cores, threads) in [(1, 1), (2, 2), (8, 8), (16, 16), (512, 16)] {
            assert_eq!(default_threads(cores), threads, "{cores}");
        }
    }
}
