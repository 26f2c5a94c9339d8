//! A server from its configuration to its end: starts the parts in order, waits for signals, stops them
//! in the reverse order.

use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_config::model::{Config, LogFormat, LogLevel};
use howdah_http::{Hooks, Server, Shutdown};
use howdah_observe::log::{self, Format};
use howdah_pool::{StartError, Supervisor, WORKERS_LEAVE};
use howdah_tls::Tls;
use tokio::task::JoinSet;

use crate::activation::Activation;
use crate::application::PhpApplication;
use crate::commands::{Failure, Outcome};
use crate::configuration::{self, InForce};
use crate::control::{self, ServerControl};
use crate::hubs;
use crate::observed::Observed;
use crate::signals::Signals;
use crate::source::Source;
use crate::trees::{Order, Parts, Trees};
use crate::watch::{CONFIGURATION, Changed, Watch, Watcher};
use crate::{notify, php, pools, privileges};

pub(crate) const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// Serves until it is told to stop. `source` is where the configuration was read from.
pub(crate) fn serve(config: &Config, source: Option<Source>) -> Outcome {
    let activation = Activation::take()?;
    privileges::become_user(config)?;
    check_roots(config)?;
    pools::check_scripts(config)?;
    let watch = watched(config, source.as_ref())?;
    log::init(log_settings(config)?);
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Runtime(format!("cannot start: {error}")))?;
    runtime.block_on(run(config, source, watch, activation))
}

async fn run(
    config: &Config,
    source: Option<Source>,
    watch: Watch,
    mut activation: Activation,
) -> Outcome {
    // First of all, so that a signal during start-up stops the server as well.
    let signals = Signals::new().map_err(|error| Failure::Runtime(error.to_string()))?;
    let (mut signals, reload_signals) = (signals.stop, signals.reload);
    let tls = Tls::new(config).map_err(|error| Failure::Setup(error.to_string()))?;
    let server = Server::bind_with(config, tls.as_ref(), &mut activation.sockets)
        .map_err(|error| Failure::Setup(error.to_string()))?;
    let server = Arc::new(server);
    let hubs = hubs::hubs(config)?;
    let fronts = server.threads();
    let spool = server
        .spool()
        .fd()
        .try_clone_to_owned()
        .map_err(|error| Failure::Runtime(error.to_string()))?;

    let admin = match activation.admin(&config.global.admin)? {
        Some(admin) => Some(admin),
        None => control::bind_admin(&config.global.admin, privileges::confined(config))?,
    };
    activation.check_used()?;
    // Before scripts are read, so that no change after that is missed.
    let watching = start_watch(watch);

    let pools = pools::options(config)?;
    privileges::prepare(&pools, server.spool())?;
    let names: Vec<_> = pools.iter().map(|pool| pool.name.clone()).collect();
    let spool_of_trees = spool.try_clone();
    let spool_of_trees = spool_of_trees.map_err(|error| Failure::Runtime(error.to_string()))?;
    let workers: usize = pools.iter().map(|pool| pool.workers).sum();
    let start = Supervisor::start(php::root_options(config, fronts), pools, spool);
    let (supervisor, seeds) = tokio::select! {
        started = start => started.map_err(|error| not_started(config, &error))?,
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    for address in server.local_addrs() {
        tracing::info!(target: "howdah", address = %address, "listening");
    }
    for path in server.unix_sockets() {
        tracing::info!(target: "howdah", socket = %path.display(), "listening on a Unix socket");
    }
    let php = supervisor.php().clone();
    let trees = Trees::new(supervisor, seeds, names, spool_of_trees);
    let observed = Observed {
        trees: trees.clone(),
        stats: server.stats(),
        counted: server.counted(),
        live: server.live_requests(),
        log_losses: server.log_losses(),
        span_losses: server.span_losses(),
        of_configuration: Arc::default(),
    };
    observed.set_hubs(hubs.clone());
    observed.set_expiries(tls.as_ref().map(Tls::expiries).unwrap_or_default());
    server.set_endpoints(configuration::endpoints(&observed, &hubs));
    let (watcher, changed) = watching.unzip();
    let in_force = InForce::new(server.clone(), observed.clone(), config, source, watcher);
    let control = ServerControl::new(observed, in_force);
    let mut tasks = JoinSet::new();
    if let Some(admin) = admin {
        tracing::info!(target: "howdah", address = %admin.address(), "admin API");
        tasks.spawn(admin.serve(Arc::new(control.clone())));
    }
    tasks.spawn(control::reload_on_signals(reload_signals, control.clone()));
    if let Some(changed) = changed {
        tasks.spawn(changed.reload(Arc::new(control.clone()), hubs::pages(config, &hubs)));
    }
    tracing::info!(target: "howdah", php = php.php, opcache = php.opcache, workers, fronts, "ready");
    if !php.opcache {
        tracing::info!(target: "howdah", "OPcache is off; the phpX.Y-opcache package makes PHP several times faster");
    }

    let shutdown = Shutdown::new();
    let threads = start_threads(&server, &trees.parts(), &shutdown)?;
    notify::ready(notify::SERVING);
    tasks.spawn(notify::watchdog());
    // Once it is listened on: authorities ask back.
    let kept = control.in_force().keep(tls).await;
    kept.map_err(|error| Failure::Runtime(error.to_string()))?;
    tokio::select! {
        () = signals.next() => {}
        () = control.stop_ordered() => {}
    }
    control.set_stopping();
    notify::stopping();
    let grace = control.in_force().stop().await;
    if grace == Duration::MAX {
        tracing::info!(target: "howdah", "stopping as soon as all requests are done");
    } else {
        tracing::info!(target: "howdah", grace_seconds = grace.as_secs(), "stopping");
    }
    shutdown.drain(grace);
    let drained = async {
        // Requests in flight still need their workers, and dead workers their successors. A panic of the
        // thread that waits was reported by the panic hook.
        let _ = tokio::task::spawn_blocking(move || join(threads)).await;
        trees.end(Order::Stop(Instant::now() + WORKERS_LEAVE)).await;
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
        trees.end(Order::Kill).await;
    }
    Ok(ExitCode::SUCCESS)
}

/// A document root that does not exist is a mistake of the one who starts the server, not a 404.
pub(crate) fn check_roots(config: &Config) -> Result<(), Failure> {
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

/// The files whose changes reload pools, or the configuration. A wrong pattern is a mistake of the one who
/// starts the server.
pub(crate) fn watched(config: &Config, source: Option<&Source>) -> Result<Watch, Failure> {
    let files = source.map(Source::watched).unwrap_or_default();
    let pools = config.workers.iter();
    let patterns = pools
        .map(|pool| (pool.name.as_str(), pool.watch.as_slice()))
        .chain([(CONFIGURATION, files.as_slice())]);
    let cwd = std::env::current_dir().map_err(|error| Failure::Setup(error.to_string()))?;
    let pages = config.hot_reloads.iter().map(|page| page.watch.as_slice());
    let watch = Watch::new(patterns, pages, &cwd);
    let watch = watch.map_err(|error| Failure::Setup(error.to_string()))?;
    Ok(watch.since(source))
}

/// A server whose files cannot be watched still serves.
pub(crate) fn start_watch(watch: Watch) -> Option<(Watcher, Changed)> {
    if watch.is_empty() {
        return None;
    }
    match watch.start() {
        Ok(watching) => Some(watching),
        Err(error) => {
            tracing::warn!(target: "howdah::watch", "files are not watched: {error}");
            None
        }
    }
}

/// Names the worker script: the pool may be called otherwise.
fn not_started(config: &Config, error: &StartError) -> Failure {
    let pool = match error {
        StartError::Boot { pool, .. } => config.workers.iter().find(|own| own.name == *pool),
        _ => None,
    };
    Failure::Setup(match pool {
        Some(pool) => format!("worker script {}: {error}", pool.file),
        None => error.to_string(),
    })
}

fn start_threads(
    server: &Arc<Server>,
    parts: &Arc<Parts>,
    shutdown: &Shutdown,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let mut threads = Vec::new();
    for index in 0..server.threads() {
        let (server, parts, shutdown) = (server.clone(), parts.clone(), shutdown.clone());
        let hooks = Hooks {
            on_thread_park: Some(Box::new(howdah_pool::before_park)),
            on_thread_unpark: Some(Box::new(howdah_pool::after_unpark)),
        };
        let run = move || {
            let application = move || {
                let application = PhpApplication::join(parts, index)?;
                application
                    .map(Rc::new)
                    .ok_or(io::ErrorKind::NotFound.into())
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

/// The server's own log, as the configuration has it.
pub(crate) fn log_settings(config: &Config) -> Result<log::Settings, Failure> {
    let options = &config.global.log;
    let format = options.format.map(|format| match format {
        LogFormat::Console => Format::Console,
        LogFormat::Json => Format::Json,
    });
    let level = match options.level {
        Some(LogLevel::Warn) => tracing::Level::WARN,
        Some(LogLevel::Error) => tracing::Level::ERROR,
        Some(LogLevel::Debug) => tracing::Level::DEBUG,
        None if config.global.debug => tracing::Level::DEBUG,
        Some(LogLevel::Info) | None => tracing::Level::INFO,
    };
    log::Settings::new(level, format, &options.output)
        .map_err(|error| Failure::Setup(error.to_string()))
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
