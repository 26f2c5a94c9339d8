//! A server from its configuration to its end: starts the parts in order, waits for signals, stops them
//! in the reverse order.

mod activation;
mod banner;
mod stop;

use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_config::model::Config;
use howdah_http::{Hooks, Server, Shutdown};
use howdah_observe::log;
use howdah_pool::StartError;
use howdah_tls::Tls;
use tokio::task::JoinSet;

use self::activation::Activation;
use self::banner::{Banner, PoolLine};
use crate::admin;
use crate::config::document_roots::warn_of_roots;
use crate::config::server_log::log_settings;
use crate::config::source::Source;
use crate::failure::{Failure, Outcome};
use crate::php::pools;
use crate::php::root_options::tree_options;
use crate::php::tree::{GrowError, NewTrees, Order, Parts};
use crate::php::trees::{self, TreeFiles, Trees};
use crate::php_executable::check_executables;
use crate::rights::monitor::Monitor;
use crate::rights::privileges;
use crate::server::activity::Activity;
use crate::server::application::PhpApplication;
use crate::server::configuration::{self, CurrentConfiguration};
use crate::server::control::{self, ServerControl};
use crate::server::crash_reports::CrashReports;
use crate::server::readiness::Readiness;
use crate::server::signals::{self, Signals};
use crate::server::state::ServerState;
use crate::server::{hubs, notify, opcache_watch};
use crate::watch::{WatchList, start_watch, watched};

/// Serves until a stop is requested. `source` is where the configuration was read from.
pub(crate) fn serve(config: &Config, source: Option<Source>) -> Outcome {
    serve_with(config, source, None)
}

/// The same; the start on a terminal also names the next step.
pub(crate) fn serve_with(
    config: &Config,
    source: Option<Source>,
    next: Option<&'static str>,
) -> Outcome {
    let activation = Activation::take()?;
    let monitor = privileges::become_user(config)?;
    privileges::set_dumpable(config);
    pools::check_scripts(config)?;
    check_executables(config)?;
    let watch = watched(config, source.as_ref())?;
    log::init(log_settings(config)?);
    warn_of_roots(config);
    privileges::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Runtime(format!("cannot start: {error}")))?;
    runtime.block_on(run(
        config,
        source,
        watch,
        activation,
        monitor.as_ref(),
        next,
    ))
}

async fn run(
    config: &Config,
    source: Option<Source>,
    watch: WatchList,
    mut activation: Activation,
    monitor: Option<&Monitor>,
    next: Option<&'static str>,
) -> Outcome {
    // First of all, so that a signal during start-up stops the server as well.
    let signals = Signals::new().map_err(|error| Failure::Runtime(error.to_string()))?;
    let (reload_signals, other_signals) = (signals.reload, signals.others);
    let mut signals = signals.stop;
    let tls = Tls::new(config).map_err(|error| Failure::Setup(error.to_string()))?;
    let users = privileges::restricted_users(config);
    let server = Server::bind_with(config, tls.as_ref(), users, &mut activation.sockets)
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
        None => admin::bind_admin(&config.global.admin, privileges::is_php_restricted(config))?,
    };
    if admin.is_some() {
        log::enable();
    }
    activation.check_used()?;
    // Before scripts are read, so that no change after that is missed.
    let watching = start_watch(watch);

    let pools = pools::options(config)?;
    privileges::prepare(&pools, server.spool())?;
    let pool_lines: Vec<_> = pools.iter().map(PoolLine::of).collect();
    let workers: usize = pools.iter().map(|pool| pool.workers).sum();
    let mut options = tree_options(config, pools, fronts);
    let names = trees::names(&options);
    let (crashes, reports) = CrashReports::start(config);
    for tree in &mut options {
        tree.root.crashes = crashes.sink();
    }
    // From the start on: PHP may crash while it boots.
    if let Some(reports) = reports {
        tokio::spawn(crashes.clone().write(reports));
    }
    let seen = TreeFiles::now(config);
    let options = trees::prepare_first(config, options);
    let options = options.map_err(|error| Failure::Runtime(error.to_string()))?;
    let began = Instant::now();
    let start = NewTrees::start(options, &spool, None, std::future::pending());
    let new = tokio::select! {
        started = start => started.map_err(|error| not_started(config, &error))?,
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    let took = began.elapsed();
    for address in server.local_addrs() {
        tracing::info!(target: "howdah", address = %address, "listening");
    }
    for path in server.unix_sockets() {
        tracing::info!(target: "howdah", socket = %path.display(), "listening on a Unix socket");
    }
    let php = new.php();
    php.iter().for_each(crate::php::vulnerabilities::warn);
    let trees = Trees::new(new, names, spool, seen);
    let roadrunner = match trees.roadrunner().next(config).await {
        Ok(pools) => pools,
        Err(failure) => {
            trees.end(Order::Kill).await;
            return Err(failure);
        }
    };
    trees.roadrunner().set(roadrunner.clone());
    // They follow those of PHP, as the server counts them.
    trees.roadrunner_numbers(config);
    let shutdown = Shutdown::new();
    let server_state = ServerState {
        trees: trees.clone(),
        readiness: Readiness::new(shutdown.clone()),
        stats: server.stats(),
        counted: server.counted(),
        live: server.live_requests(),
        activity: Activity::new(server.finished_requests(), server.stats(), trees.clone()),
        log_losses: server.log_losses(),
        span_losses: server.span_losses(),
        crashes,
        of_configuration: Arc::default(),
    };
    server_state.set_hubs(hubs.clone());
    server_state.set_expiries(tls.as_ref().map(Tls::expiries).unwrap_or_default());
    server.set_endpoints(configuration::endpoints(&server_state, &hubs, &roadrunner));
    drop(roadrunner);
    let (watcher, changed) = watching.unzip();
    let in_force = CurrentConfiguration::new(
        server.clone(),
        server_state.clone(),
        config,
        source,
        watcher,
        took,
    );
    let control = ServerControl::new(server_state, in_force);
    let admin_address = admin.as_ref().map(|admin| admin.address().to_string());
    let mut tasks = JoinSet::new();
    tasks.spawn(signals::log_ignored(other_signals));
    if let Some(admin) = admin {
        tracing::info!(target: "howdah", address = %admin.address(), "admin API");
        tasks.spawn(admin.serve(Arc::new(control.clone())));
    }
    tasks.spawn(control::reload_on_signals(reload_signals, control.clone()));
    tasks.spawn(opcache_watch::supervise(control.clone()));
    tasks.spawn(control::preload_used_files(control.clone()));
    if let Some(changed) = changed {
        tasks.spawn(changed.reload(Arc::new(control.clone()), hubs::pages(config, &hubs)));
    }
    let mut versions: Vec<&str> = php.iter().map(|php| php.php.as_str()).collect();
    versions.dedup();
    let opcache = php.iter().all(|php| php.opcache);
    tracing::info!(target: "howdah", php = versions.join(", "), opcache, workers, fronts, "ready");
    if let Some(php) = php.iter().find(|php| !php.opcache) {
        tracing::info!(target: "howdah", php = php.php, "OPcache is off; the phpX.Y-opcache package makes PHP several \
            times faster");
    }

    Banner {
        config,
        bound: &server.local_addrs(),
        sockets: &server.unix_sockets(),
        php: &php,
        pools: &pool_lines,
        admin: admin_address.as_deref(),
        next,
    }
    .show();
    let threads = start_threads(&server, &trees.parts(), &shutdown)?;
    notify::ready(notify::SERVING);
    tasks.spawn(notify::watchdog());
    // Once it is listened on: authorities ask back.
    let kept = control.in_force().keep(tls).await;
    kept.map_err(|error| Failure::Runtime(error.to_string()))?;
    let mut code = ExitCode::SUCCESS;
    tokio::select! {
        signal = signals.next() => tracing::info!(target: "howdah", signal, "ordered to stop"),
        () = control.stop_ordered() => {}
        () = monitor_exited(monitor) => {
            tracing::error!(target: "howdah", "the monitor exited, so keys and logs cannot be opened any more: \
                stopping");
            code = ExitCode::FAILURE;
        }
    }
    // The runtime waits for it in any case: what the threads hold is given back.
    let threads = tokio::task::spawn_blocking(move || stop::join(threads));
    let orderly = tokio::select! {
        () = stop::stop(&control, &server, &shutdown, threads, &trees) => true,
        _ = signals.next() => false,
    };
    if orderly {
        tracing::info!(target: "howdah", "stopped");
    } else {
        tracing::warn!(target: "howdah", "stopped at once by a second signal");
        shutdown.drain(Duration::ZERO);
        trees.end(Order::Kill).await;
    }
    Ok(code)
}

/// Waits until the monitor has ended, if there is one.
async fn monitor_exited(monitor: Option<&Monitor>) {
    match monitor {
        // Without a word of its end there is nothing to wait for.
        Some(monitor) if monitor.gone().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}

/// Names the worker script: the pool may be called otherwise.
fn not_started(config: &Config, error: &GrowError) -> Failure {
    let pool = match error {
        GrowError::Start {
            error: StartError::Boot { pool, .. },
            ..
        } => config.workers.iter().find(|own| own.name == *pool),
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
