//! The server: everything that is bound before the first thread starts.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use howdah_config::model::{Config, FRONT_THREADS_MAX};
use tokio::runtime::{Builder, LocalOptions};

use crate::application::Application;
use crate::listener::{self, BindError};
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
    /// Address and sites of each listener.
    listeners: Vec<(SocketAddr, Vec<usize>)>,
    /// Of each front thread, until it runs.
    sockets: Vec<Mutex<Option<Vec<TcpListener>>>>,
    stats: Arc<Stats>,
    spool: SpoolDir,
    first_id: u64,
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
    pub fn bind(config: &Config) -> Result<Self, BindError> {
        let threads = front_threads(config);
        let mut listeners = Vec::new();
        let mut sockets: Vec<Vec<TcpListener>> = (0..threads).map(|_| Vec::new()).collect();
        for listener in listener::bind(config, threads)? {
            for (own, socket) in sockets.iter_mut().zip(listener.sockets) {
                own.push(socket);
            }
            listeners.push((listener.address, listener.sites));
        }
        let server = Self {
            config: config.clone(),
            listeners,
            sockets: sockets
                .into_iter()
                .map(|own| Mutex::new(Some(own)))
                .collect(),
            stats: Arc::new(Stats::new(threads)),
            spool: SpoolDir::create()?,
            first_id: RandomState::new().hash_one(std::process::id()),
        };
        // Compiled routes stay on their thread, so this proves that each thread can make its own.
        server.core(0)?;
        Ok(server)
    }

    /// Front threads to start: [`Server::run_thread`] with every index below.
    pub fn threads(&self) -> usize {
        self.sockets.len()
    }

    /// The addresses that are listened on, with the ports that the system chose for port 0.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(address, _)| *address).collect()
    }

    /// Counters of all threads.
    pub fn stats(&self) -> Arc<Stats> {
        Arc::clone(&self.stats)
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
        let core = Rc::new(self.core(index)?);
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
                thread::run(thread, sockets, order).await
            })
            .map_err(failed)
    }

    fn core(&self, index: usize) -> Result<Core, crate::route::RouteError> {
        Core::new(Plan {
            config: &self.config,
            listeners: &self.listeners,
            stats: Arc::clone(&self.stats),
            spool: self.spool.clone(),
            index,
            threads: self.threads(),
            first_id: self.first_id,
        })
    }
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
