//! A server from its start to its exit: starts the parts in order, waits for signals, stops the parts in reverse order.

mod activation;
mod banner;
mod bound_server;
mod php;
mod stop;
mod threads;

use std::process::ExitCode;
use std::sync::Arc;

use howdah_config::model::Config;
use howdah_http::{Server, Shutdown};
use howdah_mercure::Hub;
use howdah_observe::admin::Admin;
use howdah_observe::log;
use howdah_tls::Tls;
use tokio::task::JoinSet;

use self::activation::Activation;
use self::banner::Banner;
use self::bound_server::BoundServer;
use self::php::{RunningPhp, StartedPhp};
use self::stop::Stop;
use self::threads::start_threads;
use crate::config::document_roots::warn_of_roots;
use crate::config::server_log::log_settings;
use crate::config::source::Source;
use crate::failure::{Failure, Outcome};
use crate::php::pools;
use crate::php_executable::check_executables;
use crate::rights::monitor::Monitor;
use crate::rights::privileges;
use crate::server::activity::Activity;
use crate::server::configuration::{self, CurrentConfiguration};
use crate::server::control::{self, ServerControl};
use crate::server::readiness::Readiness;
use crate::server::signals::{self, SignalStream, Signals};
use crate::server::state::ServerState;
use crate::server::{hubs, notify, opcache_watch};
use crate::watch::{WatchList, start_watch, watched};

/// Serves until a stop is requested. `source` is where the configuration was read from.
pub(crate) fn serve(config: &Config, source: Option<Source>) -> Outcome {
    serve_with(config, source, None)
}

/// Like [`serve`]; the banner also shows the next step.
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
    let startup = Startup {
        config,
        source,
        watch,
        activation,
        monitor: monitor.as_ref(),
        next,
    };
    runtime.block_on(startup.run())
}

/// What a server starts with.
struct Startup<'a> {
    config: &'a Config,
    source: Option<Source>,
    watch: WatchList,
    activation: Activation,
    monitor: Option<&'a Monitor>,
    /// The next step, which the banner names.
    next: Option<&'static str>,
}

impl Startup<'_> {
    async fn run(self) -> Outcome {
        let Self { config, .. } = self;
        // First, so that a signal during the start stops the server as well.
        let mut signals = Signals::new().map_err(|error| Failure::Runtime(error.to_string()))?;
        let bound = BoundServer::bind(config, self.activation)?;
        // Before scripts are read, so that no later change is missed.
        let (watcher, changes) = start_watch(self.watch).unzip();
        let BoundServer { server, spool, .. } = &bound;
        let file = self.source.as_ref().map(Source::path);
        let start = StartedPhp::start(config, file.as_deref(), server, spool, &mut signals.stop);
        let Some(started) = start.await? else {
            return Ok(ExitCode::SUCCESS);
        };
        bound.log_addresses();
        let BoundServer {
            server,
            tls,
            hubs,
            spool,
            admin,
        } = bound;
        let php = started.activate(config, spool).await?;

        let shutdown = Shutdown::new();
        let state = server_state(&server, &php, &shutdown);
        state.set_expiries(tls.as_ref().map(Tls::expiries).unwrap_or_default());
        set_hubs(&server, &php, &state, &hubs);
        let current = CurrentConfiguration::new(
            Arc::clone(&server),
            state.clone(),
            config,
            self.source,
            watcher,
            php.took,
        );
        let control = ServerControl::new(state, current);
        let admin_address = admin.as_ref().map(|admin| admin.address().to_string());
        let mut tasks = JoinSet::new();
        tasks.spawn(signals::log_ignored(signals.others));
        spawn_orders(&mut tasks, &control, admin, signals.reload);
        if let Some(changes) = changes {
            tasks.spawn(changes.reload(Arc::new(control.clone()), hubs::pages(config, &hubs)));
        }
        php.log_ready(server.threads());
        Banner {
            config,
            bound: &server.local_addrs(),
            sockets: &server.unix_sockets(),
            php: &php.info,
            pools: &php.pools,
            admin: admin_address.as_deref(),
            next: self.next,
        }
        .show();

        let trees = php.trees;
        let threads = start_threads(&server, &trees.parts(), &shutdown)?;
        notify::ready(notify::SERVING);
        tasks.spawn(notify::watchdog());
        // After the front threads listen: certificate authorities connect to them.
        let certificates = control.current().keep(tls).await;
        certificates.map_err(|error| Failure::Runtime(error.to_string()))?;
        let code = wait_for_stop(&mut signals.stop, &control, self.monitor).await;
        let stop = Stop {
            control: &control,
            server: &server,
            shutdown: &shutdown,
            trees: &trees,
        };
        stop.run(threads, &mut signals.stop).await;
        Ok(code)
    }
}

fn server_state(server: &Server, php: &RunningPhp, shutdown: &Shutdown) -> ServerState {
    let trees = &php.trees;
    ServerState {
        trees: trees.clone(),
        readiness: Readiness::new(shutdown.clone()),
        stats: server.stats(),
        counted: server.counted(),
        live: server.live_requests(),
        activity: Activity::new(server.finished_requests(), server.stats(), trees.clone()),
        log_losses: server.log_losses(),
        span_losses: server.span_losses(),
        crashes: php.crashes.clone(),
        of_configuration: Arc::default(),
    }
}

/// Connects the sites to the hubs, and to what the server reports about itself.
fn set_hubs(server: &Server, php: &RunningPhp, state: &ServerState, hubs: &[Arc<Hub>]) {
    state.set_hubs(hubs.to_vec());
    // Not stored: a reload stops pools that nothing holds.
    let roadrunner = php.trees.roadrunner().all();
    server.set_endpoints(configuration::endpoints(state, hubs, &roadrunner));
}

/// The tasks that change the running server: orders of the admin API, signals, and the state of OPcache.
fn spawn_orders(
    tasks: &mut JoinSet<()>,
    control: &ServerControl,
    admin: Option<Admin>,
    reload: SignalStream,
) {
    if let Some(admin) = admin {
        tracing::info!(target: "howdah", address = %admin.address(), "admin API");
        tasks.spawn(admin.serve(Arc::new(control.clone())));
    }
    tasks.spawn(control::reload_on_signals(reload, control.clone()));
    tasks.spawn(opcache_watch::supervise(control.clone()));
    tasks.spawn(control::preload_used_files(control.clone()));
}

/// Waits until the server has to stop.
async fn wait_for_stop(
    signals: &mut SignalStream,
    control: &ServerControl,
    monitor: Option<&Monitor>,
) -> ExitCode {
    tokio::select! {
        signal = signals.next() => tracing::info!(target: "howdah", signal, "stopping: a stop was requested"),
        () = control.stop_ordered() => {}
        () = monitor_exited(monitor) => {
            tracing::error!(target: "howdah", "the monitor exited, so keys and logs can no longer be opened: \
                stopping");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Waits until the monitor has exited, if there is one.
async fn monitor_exited(monitor: Option<&Monitor>) {
    match monitor {
        // If its exit cannot be observed, there is nothing to wait for.
        Some(monitor) if monitor.exited().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}
