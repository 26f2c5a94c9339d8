//! A server from its configuration to its end: starts the parts in order, waits for signals, stops them
//! in the reverse order.

use std::num::NonZero;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_config::model::{Config, LogFormat, LogLevel};
use howdah_http::{Hooks, Server, Shutdown};
use howdah_observe::log::Format;
use howdah_pool::{FrontSeeds, PoolFront, PoolOptions, RootOptions, Supervisor};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::application::PhpApplication;
use crate::commands::{Failure, Outcome};
use crate::php;

const DEFAULT_GRACE: Duration = Duration::from_secs(30);
/// PHP's modules and a preload script may take a while on a cold machine.
const PHP_START_TIMEOUT: Duration = Duration::from_secs(120);
/// Once no request is left, workers only have to notice.
const WORKERS_LEAVE: Duration = Duration::from_secs(5);

/// Serves until it is told to stop.
pub(crate) fn serve(config: &Config) -> Outcome {
    check_roots(config)?;
    start_log(config);
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Runtime(format!("cannot start: {error}")))?;
    runtime.block_on(run(config))
}

async fn run(config: &Config) -> Outcome {
    // First of all, so that a signal during start-up stops the server as well.
    let mut signals = Signals::new().map_err(|error| Failure::Runtime(error.to_string()))?;
    let server = Server::bind(config).map_err(|error| Failure::Setup(error.to_string()))?;
    let server = Arc::new(server);
    let fronts = server.threads();
    let spool = server
        .spool()
        .fd()
        .try_clone_to_owned()
        .map_err(|error| Failure::Runtime(error.to_string()))?;

    let pool = pool_options(config);
    let workers = pool.workers;
    let start = Supervisor::start(root_options(config, fronts), vec![pool], spool);
    let (mut supervisor, seeds) = tokio::select! {
        started = start => started.map_err(|error| Failure::Setup(error.to_string()))?,
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    for address in server.local_addrs() {
        tracing::info!(target: "howdah", address = %address, "listening");
    }
    let php = supervisor.php();
    tracing::info!(target: "howdah", php = php.php, opcache = php.opcache, workers, fronts, "ready");
    if !php.opcache {
        tracing::info!(target: "howdah", "OPcache is off; the phpX.Y-opcache package makes PHP several times faster");
    }

    let shutdown = Shutdown::new();
    let threads = start_threads(&server, seeds, &shutdown)?;
    tokio::select! {
        () = supervisor.run() => {}
        () = signals.next() => {}
    }
    let grace = config.global.grace_period.unwrap_or(DEFAULT_GRACE);
    tracing::info!(target: "howdah", grace_seconds = grace.as_secs(), "stopping");
    shutdown.drain(grace);
    let drained = async {
        let joined = tokio::task::spawn_blocking(move || join(threads));
        let mut joined = std::pin::pin!(joined);
        // Requests in flight still need their workers, and dead workers their successors.
        loop {
            tokio::select! {
                () = supervisor.run() => {}
                _ = &mut joined => break,
            }
        }
        supervisor.stop(Instant::now() + WORKERS_LEAVE).await;
    };
    let orderly = tokio::select! {
        () = drained => true,
        () = signals.next() => false,
    };
    if orderly {
        tracing::info!(target: "howdah", "stopped");
    } else {
        tracing::warn!(target: "howdah", "stopped at once by a second signal");
        shutdown.drain(Duration::ZERO);
        supervisor.kill().await;
    }
    Ok(ExitCode::SUCCESS)
}

/// A document root that does not exist is a mistake of the one who starts the server, not a 404.
fn check_roots(config: &Config) -> Result<(), Failure> {
    for root in config.constant_roots() {
        let wrong = match std::fs::metadata(root) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => "it is not a directory".to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(Failure::Setup(format!("document root {root}: {wrong}")));
    }
    Ok(())
}

fn start_threads(
    server: &Arc<Server>,
    seeds: Vec<FrontSeeds>,
    shutdown: &Shutdown,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let mut threads = Vec::new();
    for (index, seeds) in seeds.into_iter().enumerate() {
        let (server, shutdown) = (server.clone(), shutdown.clone());
        let hooks = Hooks {
            on_thread_park: Some(Box::new(howdah_pool::before_park)),
            on_thread_unpark: Some(Box::new(howdah_pool::after_unpark)),
        };
        let run = move || {
            let application = move || {
                let seed = seeds
                    .into_iter()
                    .next()
                    .ok_or(std::io::ErrorKind::NotFound)?;
                Ok(Rc::new(PhpApplication::new(PoolFront::join(seed)?)))
            };
            if let Err(error) = server.run_thread(index, hooks, &shutdown, application) {
                tracing::error!(target: "howdah", "{error}");
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("front-{index}"))
            .spawn(run);
        threads.push(thread.map_err(|error| Failure::Runtime(error.to_string()))?);
    }
    Ok(threads)
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A panic there was reported by the panic hook.
        let _ = thread.join();
    }
}

fn root_options(config: &Config, fronts: usize) -> RootOptions {
    let settings = &config.global.php;
    RootOptions {
        executable: php::executable(settings.executable.as_deref()),
        ini: settings.ini.clone(),
        fronts,
        start_timeout: PHP_START_TIMEOUT,
    }
}

fn pool_options(config: &Config) -> PoolOptions {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let settings = &config.global.php;
    let limits = &config.global.limits;
    let workers = settings
        .workers
        .unwrap_or_else(|| howdah_pool::default_workers(cores));
    let mut options = PoolOptions::new("php", workers);
    options.max_requests = settings.max_requests;
    options.queue_length = settings.queue_length;
    options.max_wait = settings.max_wait_time;
    options.request_timeout = settings.request_timeout;
    options.response_buffer = settings.response_buffer;
    // The path of a request stands in up to seven variables, and each field gets a record.
    let largest = 8 * limits.max_header_size + limits.memory_body_size + 16_384;
    options.request_size = options.request_size.max(largest.next_multiple_of(4096));
    options
}

fn start_log(config: &Config) {
    let options = config.global.log;
    let format = match options.format {
        Some(LogFormat::Console) => Format::Console,
        Some(LogFormat::Json) => Format::Json,
        None => Format::for_stderr(),
    };
    let level = match options.level {
        Some(LogLevel::Warn) => tracing::Level::WARN,
        Some(LogLevel::Error) => tracing::Level::ERROR,
        Some(LogLevel::Debug) => tracing::Level::DEBUG,
        None if config.global.debug => tracing::Level::DEBUG,
        Some(LogLevel::Info) | None => tracing::Level::INFO,
    };
    howdah_observe::log::init(format, level);
}

/// Each connection is a descriptor; the usual soft limit of 1,024 is for programs that use `select`.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(target: "howdah", "cannot raise the limit of open files: {error}");
    }
}

/// SIGTERM, SIGINT (Ctrl-C) and SIGHUP (the terminal is gone) all mean: stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
