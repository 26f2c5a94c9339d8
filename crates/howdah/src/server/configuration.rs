//! The current configuration, and how a new one replaces it while the server serves
//! (docs/adr/0007-reload-of-the-configuration.md).
//!
//! All errors of a configuration are found before any of it is served: its text, settings that cannot change,
//! certificates, addresses, routes. Then the front threads switch to it, and the resources of the old one are released.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use howdah_config::model::{Config, ReverseProxy};
use howdah_goridge::Pool;
use howdah_http::endpoint::Endpoints;
use howdah_http::{RunningPools, Server};
use howdah_mercure::Hub;
use howdah_observe::admin::{ConfigFile, Configuration};
use howdah_observe::log;
use howdah_pool::start_time;
use howdah_tls::{ActiveCertificates, InternalAuthority, Tls};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::certificates::CertificateThread;
use super::hubs::{self, HubEndpoint};
use super::readiness_page::ReadinessPage;
use super::roadrunner;
use super::state::{MetricsPage, ServerState};
use crate::config::document_roots::warn_of_roots;
use crate::config::server_log::log_settings;
use crate::config::source::{LoadedConfig, Source};
use crate::config::{changes, unchangeable};
use crate::failure::Failure;
use crate::php::pools;
use crate::php::renewal::Places;
use crate::php::root_options::tree_options;
use crate::php::trees::{StandbyTrees, TreeError};
use crate::php_executable::check_executables;
use crate::rights::privileges;
use crate::watch::{ChangeReceiver, Page, WatchList, Watcher, start_watch, watched};

/// How long a server that stops waits for a reload in progress.
const RELOAD_ENDS: Duration = Duration::from_secs(2);

/// How long requests may continue when a server stops or a listener closes, by default.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// A configuration and its resources.
struct State {
    config: Config,
    source: Option<Source>,
    keeper: Option<CertificateThread>,
    in_use: ActiveCertificates,
    watcher: Option<Watcher>,
    starts: StartHistory,
}

/// The starts of PHP for reloads.
#[derive(Default)]
struct StartHistory {
    /// Duration of the last successful start.
    took: Duration,
    /// Starts that were aborted for a later reload since.
    overtaken: u32,
    /// When the last one that was not aborted began, and its result.
    last: Option<(Instant, Result<(), TreeError>)>,
}

impl StartHistory {
    /// The result of a start that began after this moment, and so with the current files.
    fn since(&self, requested: Instant) -> Option<Result<(), TreeError>> {
        let last = self.last.as_ref().filter(|(began, _)| *began >= requested);
        last.map(|(_, result)| result.clone())
    }

    fn note(&mut self, began: Instant, result: Result<(), TreeError>) {
        if matches!(result, Err(TreeError::Overtaken)) {
            self.overtaken += 1;
            return;
        }
        if result.is_ok() {
            (self.took, self.overtaken) = (began.elapsed(), 0);
        }
        self.last = Some((began, result));
    }
}

/// Its public view, for callers that cannot wait.
struct ConfigurationView {
    whole: Value,
    frankenphp: Value,
    servers: Value,
    source: Option<Source>,
}

impl ConfigurationView {
    fn of(config: &Config, source: Option<&Source>) -> Self {
        let (servers, frankenphp) = (servers(config), frankenphp_config(config));
        Self {
            whole: config_json(source, &servers, &frankenphp),
            frankenphp,
            servers,
            source: source.cloned(),
        }
    }
}

/// The hubs of a new configuration, and those that are no longer in it.
struct HubChange {
    all: Vec<Arc<Hub>>,
    removed: Vec<Arc<Hub>>,
}

/// The sockets that the server listens on.
struct ListenedSockets {
    addresses: Vec<SocketAddr>,
    unix: Vec<PathBuf>,
}

impl ListenedSockets {
    fn of(server: &Server) -> Self {
        Self {
            addresses: server.local_addrs(),
            unix: server.unix_sockets(),
        }
    }

    fn log_changes(&self, after: &Self) {
        for address in missing_from(&after.addresses, &self.addresses) {
            tracing::info!(target: "howdah", %address, "listening");
        }
        for address in missing_from(&self.addresses, &after.addresses) {
            tracing::info!(target: "howdah", %address, "no longer listening");
        }
        for path in missing_from(&after.unix, &self.unix) {
            tracing::info!(target: "howdah", socket = %path.display(), "listening on a Unix socket");
        }
        for path in missing_from(&self.unix, &after.unix) {
            tracing::info!(target: "howdah", socket = %path.display(), "no longer listening on a Unix socket");
        }
    }
}

/// The elements of `all` that `others` lacks.
fn missing_from<'a, T: PartialEq>(all: &'a [T], others: &[T]) -> impl Iterator<Item = &'a T> {
    all.iter().filter(|one| !others.contains(one))
}

/// Settings of the server's process.
struct ProcessSettings {
    watch: WatchList,
    log: log::Settings,
}

/// Changes the process's own log and rights to those of the configuration.
fn apply_to_process(config: &Config, log: log::Settings) {
    let old_log = log::change(log);
    warn_of_roots(config);
    privileges::set_dumpable(config);
    // Dropping it waits until old files are processed.
    tokio::task::spawn_blocking(move || drop(old_log));
}

/// Checks a new configuration, before anything starts for it.
fn check(old: &Config, new: &Config, source: &Source) -> Result<ProcessSettings, String> {
    let differences = unchangeable::differences(old, new);
    if !differences.is_empty() {
        return Err(differences.join("\n"));
    }
    let check = || {
        pools::check_scripts(new)?;
        check_executables(new)?;
        Ok(ProcessSettings {
            watch: watched(new, Some(source))?,
            log: log_settings(new)?,
        })
    };
    check().map_err(|error: Failure| error.to_string())
}

/// The configuration in use. Reloads replace it.
pub(crate) struct CurrentConfiguration {
    server: Arc<Server>,
    server_state: ServerState,
    state: Mutex<State>,
    /// When a reload was last requested.
    requested: watch::Sender<Instant>,
    shown: RwLock<ConfigurationView>,
    /// PHP has or had fewer rights than the server: processes of replaced configurations continue
    /// for a while.
    is_php_restricted: AtomicBool,
}

impl std::fmt::Debug for CurrentConfiguration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CurrentConfiguration")
            .finish_non_exhaustive()
    }
}

/// What is new in a loaded configuration.
pub(crate) struct LoadResult {
    /// Receives changes of watched files, if any are watched.
    pub(crate) changed: Option<ChangeReceiver>,
    /// Browsers that are notified of them.
    pub(crate) pages: Vec<Page>,
    /// PHP was started for it, so that there is nothing to reload.
    pub(crate) booted: bool,
}

impl CurrentConfiguration {
    /// The first configuration; `took`: duration of PHP's start.
    pub(crate) fn new(
        server: Arc<Server>,
        server_state: ServerState,
        config: &Config,
        source: Option<Source>,
        watcher: Option<Watcher>,
        took: Duration,
    ) -> Self {
        let shown = RwLock::new(ConfigurationView::of(config, source.as_ref()));
        server_state.note_configuration(true);
        let state = State {
            config: config.clone(),
            source,
            keeper: None,
            in_use: ActiveCertificates::default(),
            watcher,
            starts: StartHistory {
                took,
                ..StartHistory::default()
            },
        };
        Self {
            server,
            server_state,
            state: Mutex::new(state),
            requested: watch::Sender::new(Instant::now()),
            shown,
            is_php_restricted: AtomicBool::new(privileges::is_php_restricted(config)),
        }
    }

    /// Starts to maintain certificates, once the server listens: authorities connect to it.
    pub(crate) async fn keep(&self, tls: Option<Tls>) -> std::io::Result<()> {
        let mut state = self.state.lock().await;
        state.in_use = tls
            .as_ref()
            .map(Tls::active_certificates)
            .unwrap_or_default();
        state.keeper = tls.map(CertificateThread::start).transpose()?;
        Ok(())
    }

    /// Serves a new configuration; `None`: there is no file that could be read again.
    pub(crate) async fn load(&self, from: Configuration) -> Result<Option<LoadResult>, String> {
        let mut state = self.state.lock().await;
        let read = {
            let Some(source) = &state.source else {
                return match from {
                    Configuration::Same => Ok(None),
                    _ => Err("the server was started without a configuration file: \
                              use `howdah run`"
                        .into()),
                };
            };
            match &from {
                Configuration::Same => source.reread().map_err(|error| error.to_string()),
                Configuration::File(file) => {
                    source.read_other(file).map_err(|error| error.to_string())
                }
                Configuration::Text(text) => source.with(text),
            }
        };
        let result = match read {
            Ok(read) => self.take(&mut state, read).await,
            Err(text) => Err(text),
        };
        self.server_state.note_configuration(result.is_ok());
        if let Err(text) = &result {
            tracing::error!(target: "howdah", "the configuration was not reloaded, the previous one stays: {text}");
        }
        result.map(Some)
    }

    async fn take(&self, state: &mut State, read: LoadedConfig) -> Result<LoadResult, String> {
        let LoadedConfig {
            config,
            source,
            warnings,
        } = read;
        let failed = |error: Failure| error.to_string();
        let ProcessSettings { watch, log } = check(&state.config, &config, &source)?;
        let hubs = self.hubs(&state.config, &config)?;
        let tls = renewed_tls(&config, &state.in_use).await?;
        // Before its PHP runs.
        if privileges::is_php_restricted(&config) {
            self.is_php_restricted.store(true, Ordering::Relaxed);
        }
        let began = Instant::now();
        let standby = self.start_standby(state, &config).await?;
        let trees = &self.server_state.trees;
        let roadrunner = trees.roadrunner().next(&config).await.map_err(failed)?;
        let prepared = self.server.prepare(
            &config,
            tls.as_ref(),
            self.running_pools(&config, standby.as_ref()),
            endpoints(&self.server_state, &hubs.all, &roadrunner),
        );
        let prepared = prepared.map_err(|error| error_chain(&error))?;
        let before = ListenedSockets::of(&self.server);
        let grace = state.config.global.grace_period.unwrap_or(DEFAULT_GRACE);
        self.server
            .switch(prepared, grace)
            .await
            .map_err(|error| error.to_string())?;
        trees.roadrunner().set(roadrunner);
        let booted = standby.is_some();
        if let Some(standby) = standby {
            standby.take_over();
            state.starts.note(began, Ok(()));
        }
        for warning in warnings {
            tracing::warn!(target: "howdah", "{warning}");
        }
        apply_to_process(&config, log);
        for hub in hubs.removed {
            // Its subscribers reconnect, to the current hub.
            hub.close();
        }
        let pages = hubs::pages(&config, &hubs.all);
        self.server_state.set_hubs(hubs.all);
        before.log_changes(&ListenedSockets::of(&self.server));
        self.replace_maintenance(state, tls).await;
        // Waits for the old watcher's thread.
        drop(state.watcher.take());
        let (watcher, changed) = start_watch(watch).unzip();
        state.watcher = watcher;
        self.show(state, config, source);
        Ok(LoadResult {
            changed,
            pages,
            booted,
        })
    }

    /// Makes a configuration that is in force the current one.
    fn show(&self, state: &mut State, config: Config, source: Source) {
        let view = ConfigurationView::of(&config, Some(&source));
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = view;
        state.config = config;
        state.source = Some(source);
        tracing::info!(target: "howdah", "configuration loaded");
    }

    /// The hubs of a configuration: unchanged ones stay, with their subscribers and history. And the removed ones.
    fn hubs(&self, old: &Config, new: &Config) -> Result<HubChange, String> {
        let mut left: Vec<_> = old.hubs.iter().zip(self.server_state.hubs()).collect();
        let mut hubs = Vec::with_capacity(new.hubs.len());
        for own in &new.hubs {
            let same = left.iter().position(|(known, _)| *known == own);
            hubs.push(match same {
                Some(same) => left.remove(same).1,
                None => hubs::hub(own).map_err(|error| error.to_string())?,
            });
        }
        Ok(HubChange {
            all: hubs,
            removed: left.into_iter().map(|(_, hub)| hub).collect(),
        })
    }

    /// The pools of a configuration: those of `standby` if PHP was started for it.
    fn running_pools(&self, config: &Config, standby: Option<&StandbyTrees>) -> RunningPools {
        let trees = &self.server_state.trees;
        let mut numbers = match standby {
            // The number of the classic pool of all sites never changes.
            Some(standby) => standby.pools()[1..].to_vec(),
            None => trees.numbers(config),
        };
        numbers.extend(trees.roadrunner_numbers(config));
        RunningPools {
            numbers,
            users: privileges::restricted_users(config),
        }
    }

    /// Starts PHP for a configuration with different settings of PHP while the old one serves.
    async fn start_standby(
        &self,
        state: &mut State,
        new: &Config,
    ) -> Result<Option<StandbyTrees>, String> {
        let failed = |error: Failure| error.to_string();
        let changes = changes::of_php(&state.config, new).map_err(failed)?;
        if changes.is_empty() {
            return Ok(None);
        }
        tracing::info!(target: "howdah", "starting a second PHP next to the current one: {}", changes.join("; "));
        let started = self.start_tree(&mut state.starts, new).await;
        started.map(Some).map_err(|error| error.to_string())
    }

    /// Records a requested reload, which may fix what is starting now. Returns the time.
    pub(crate) fn note_request(&self) -> Instant {
        let now = Instant::now();
        self.requested.send_replace(now);
        now
    }

    /// Starts PHP for a configuration while the old one serves. A start that takes longer than it may delay others is
    /// aborted for a reload that is requested meanwhile: it may hang.
    async fn start_tree(
        &self,
        starts: &mut StartHistory,
        config: &Config,
    ) -> Result<StandbyTrees, TreeError> {
        let pools = pools::options(config).map_err(TreeError::other)?;
        privileges::prepare(&pools, self.server.spool()).map_err(TreeError::other)?;
        let mut options = tree_options(config, pools, self.server.threads());
        for tree in &mut options {
            tree.root.crashes = self.server_state.crashes.sink();
        }
        let began = Instant::now();
        let time = start_time(starts.took, starts.overtaken);
        let mut requested = self.requested.subscribe();
        let overtaken = async move {
            tokio::time::sleep(time).await;
            // An error would mean that the sender is dropped, which this value owns.
            let _ = requested.wait_for(|requested| *requested > began).await;
        };
        let started = self.server_state.trees.start(options, config, overtaken);
        let started = started.await;
        if let Err(error) = &started {
            starts.note(began, Err(error.clone()));
        }
        if matches!(started, Err(TreeError::Overtaken)) {
            let seconds = began.elapsed().as_secs();
            tracing::warn!(target: "howdah", "the start of PHP was aborted after {seconds} seconds: another reload \
                was requested");
        }
        started
    }

    /// The current targets of links in it.
    pub(crate) async fn places(&self) -> Places {
        Places::of(&self.state.lock().await.config)
    }

    /// Starts PHP again for the current configuration while the old processes serve, and lets it take over. If that has
    /// happened since the time `requested`, nothing is started.
    pub(crate) async fn renew(&self, requested: Instant) -> Result<(), TreeError> {
        loop {
            let mut state = self.state.lock().await;
            if let Some(result) = state.starts.since(requested) {
                return result;
            }
            match self.start_and_switch(&mut state).await {
                // The later reload continues; it may not need a start.
                Err(TreeError::Overtaken) => {}
                result => return result,
            }
        }
    }

    async fn start_and_switch(&self, state: &mut State) -> Result<(), TreeError> {
        let config = state.config.clone();
        let began = Instant::now();
        let standby = self.start_tree(&mut state.starts, &config).await?;
        let tls = renewed_tls(&config, &state.in_use).await;
        let tls = tls.map_err(TreeError::other)?;
        let hubs = self.server_state.hubs();
        let roadrunner = self.server_state.trees.roadrunner().all();
        let endpoints = endpoints(&self.server_state, &hubs, &roadrunner);
        let pools = self.running_pools(&config, Some(&standby));
        let prepared = self.server.prepare(&config, tls.as_ref(), pools, endpoints);
        let prepared = prepared.map_err(|error| TreeError::Other(error_chain(&error)))?;
        let grace = config.global.grace_period.unwrap_or(DEFAULT_GRACE);
        let switched = self.server.switch(prepared, grace).await;
        switched.map_err(TreeError::other)?;
        standby.take_over();
        state.starts.note(began, Ok(()));
        self.replace_maintenance(state, tls).await;
        Ok(())
    }

    /// Maintains these certificates in place of the previous ones.
    async fn replace_maintenance(&self, state: &mut State, tls: Option<Tls>) {
        let expiries = tls.as_ref().map(Tls::expiries).unwrap_or_default();
        self.server_state.set_expiries(expiries);
        if let Some(old) = state.keeper.take() {
            // It releases its locks.
            let _ = tokio::task::spawn_blocking(|| old.stop()).await;
        }
        state.in_use = tls
            .as_ref()
            .map(Tls::active_certificates)
            .unwrap_or_default();
        match tls.map(CertificateThread::start).transpose() {
            Ok(keeper) => state.keeper = keeper,
            Err(error) => {
                tracing::error!(target: "howdah::tls", %error, "certificates are not renewed: restart the server");
            }
        }
    }

    /// What the server listens on: addresses and, as `unix/PATH`, Unix sockets.
    pub(crate) fn listeners(&self) -> Vec<String> {
        let addresses = self.server.local_addrs().into_iter();
        let sockets = self.server.unix_sockets().into_iter();
        addresses
            .map(|address| address.to_string())
            .chain(sockets.map(|path| format!("unix/{}", path.display())))
            .collect()
    }

    /// The file, and whether it still is the served configuration.
    pub(crate) fn file(&self) -> Option<ConfigFile> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.source.as_ref().map(Source::check)
    }

    /// The path alone, without a check.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.source.as_ref().map(Source::path)
    }

    /// Whether PHP has fewer rights than the server.
    pub(crate) fn is_php_restricted(&self) -> bool {
        self.is_php_restricted.load(Ordering::Relaxed)
    }

    /// The form that `/config` shows.
    pub(crate) fn config_json(&self) -> Value {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.whole.clone()
    }

    /// The configuration in the format of `FrankenPHP`.
    pub(crate) fn frankenphp(&self) -> Value {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.frankenphp.clone()
    }

    /// The servers in the format of Caddy.
    pub(crate) fn servers(&self) -> Value {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.servers.clone()
    }

    /// The internal authority; `None` if no site uses it.
    pub(crate) async fn authority(&self) -> Result<Option<InternalAuthority>, String> {
        let state = tokio::time::timeout(RELOAD_ENDS, self.state.lock()).await;
        let state = state.map_err(|_| "the configuration is being reloaded")?;
        Ok(state.in_use.authority())
    }

    /// How long to keep serving after a stop was requested; `None`: not configured.
    pub(crate) async fn shutdown_delay(&self) -> Option<Duration> {
        let state = tokio::time::timeout(RELOAD_ENDS, self.state.lock()).await;
        state.ok()?.config.global.shutdown_delay
    }

    /// Stops the resources of the configuration, and returns how long requests may continue.
    pub(crate) async fn stop(&self) -> Duration {
        let Ok(mut state) = tokio::time::timeout(RELOAD_ENDS, self.state.lock()).await else {
            return DEFAULT_GRACE;
        };
        if let Some(keeper) = state.keeper.take() {
            keeper.stop();
        }
        drop(state.watcher.take());
        // Subscribers never disconnect by themselves.
        for hub in self.server_state.hubs() {
            hub.close();
        }
        state.config.global.grace_period.unwrap_or(DEFAULT_GRACE)
    }
}

/// Certificates for a configuration, read again.
async fn renewed_tls(config: &Config, in_use: &ActiveCertificates) -> Result<Option<Tls>, String> {
    // The storage may be on another machine.
    let (own, in_use) = (config.clone(), in_use.clone());
    let tls = tokio::task::spawn_blocking(move || Tls::after(&own, &in_use)).await;
    let tls = tls.map_err(|error| error.to_string())?;
    tls.map_err(|error| error.to_string())
}

/// The endpoints of `metrics`, `readiness` and `mercure`.
pub(crate) fn endpoints(
    server_state: &ServerState,
    hubs: &[Arc<Hub>],
    roadrunner: &[Arc<Pool>],
) -> Endpoints {
    Endpoints {
        roadrunner: roadrunner::endpoints(roadrunner),
        metrics: Some(Arc::new(MetricsPage(server_state.clone()))),
        readiness: Some(Arc::new(ReadinessPage(server_state.clone()))),
        hubs: hubs
            .iter()
            .map(|hub| Arc::new(HubEndpoint(hub.clone())) as _)
            .collect(),
    }
}

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// The statements, and in `apps` what clients of Caddy look for.
fn config_json(source: Option<&Source>, servers: &Value, frankenphp: &Value) -> Value {
    let mut shown = source.map_or_else(
        || json!({"file": null, "statements": null}),
        Source::to_json,
    );
    shown["apps"] = json!({
        "http": {"servers": servers},
        "frankenphp": frankenphp,
    });
    shown
}

/// In the format of Caddy's configuration: the one server that metrics name, with a route for the hosts and the reverse
/// proxies of each site. Dashboards look for them.
fn servers(config: &Config) -> Value {
    let routes: Vec<_> = config
        .sites
        .iter()
        .map(|site| {
            let hosts = site.addresses.iter();
            let hosts: Vec<_> = hosts
                .filter_map(|address| address.host.as_deref())
                .collect();
            let mut route = json!({});
            if !hosts.is_empty() {
                route["match"] = json!([{"host": hosts}]);
            }
            let proxies: Vec<_> = site
                .reverse_proxies()
                .into_iter()
                .map(reverse_proxy)
                .collect();
            if !proxies.is_empty() {
                route["handle"] = proxies.into();
            }
            route
        })
        .collect();
    let addresses = config.sites.iter().flat_map(|site| &site.addresses);
    let ports: BTreeSet<u16> = addresses.map(|address| address.port).collect();
    let listen: Vec<String> = ports.iter().map(|port| format!(":{port}")).collect();
    json!({"howdah": {"listen": listen, "routes": routes}})
}

fn reverse_proxy(proxy: &ReverseProxy) -> Value {
    let upstreams = proxy.upstreams.iter();
    let upstreams = upstreams.map(|upstream| json!({"dial": upstream.to_string()}));
    let mut shown = json!({
        "handler": "reverse_proxy",
        "upstreams": upstreams.collect::<Vec<_>>(),
        "load_balancing": {"selection_policy": {"policy": proxy.balance.policy.name()}},
    });
    if let Some(check) = &proxy.health {
        let interval = u64::try_from(check.interval.as_nanos()).unwrap_or(u64::MAX);
        shown["health_checks"] = json!({"active": {"uri": check.uri, "interval": interval}});
    }
    shown
}

/// Renders a configuration in the format of `FrankenPHP`.
fn frankenphp_config(config: &Config) -> Value {
    let workers: Vec<_> = config
        .workers
        .iter()
        .map(|pool| {
            json!({
                "name": pool.name,
                "file_name": pool.file,
                "num": pool.settings.workers.unwrap_or_default(),
                "watch": pool.options.watch,
            })
        })
        .collect();
    json!({
        "num_threads": config.global.php.workers.unwrap_or_default(),
        "workers": workers,
    })
}

#[cfg(test)]
mod tests {
    use howdah_config::model::WorkerPool;

    use super::*;

    #[test]
    fn requests_of_frankenphps_clients() {
        let config = Config {
            workers: vec![WorkerPool::new("app", "/srv/w.php")],
            ..Config::default()
        };
        let shown = frankenphp_config(&config);
        assert_eq!(shown["workers"][0]["name"], "app");
        assert_eq!(shown["workers"][0]["file_name"], "/srv/w.php");
        let text = "http://a.test, http://b.test:8080 {\n}\n:8081 {\nhandle /api/* {\n\
                    reverse_proxy 127.0.0.1:9 localhost:10 {\nlb_policy round_robin\nhealth_uri /h\nhealth_interval 5s\n}\n\
                    }\n}\n";
        let none = |_: &str| None;
        let parsed = howdah_config::parse(text, "Caddyfile", &none, &howdah_config::NoFiles);
        let config = parsed.expect("valid").config;
        let proxy = json!({
            "handler": "reverse_proxy",
            "upstreams": [{"dial": "127.0.0.1:9"}, {"dial": "localhost:10"}],
            "load_balancing": {"selection_policy": {"policy": "round_robin"}},
            "health_checks": {"active": {"uri": "/h", "interval": 5_000_000_000_u64}},
        });
        let expected = json!([{"match": [{"host": ["a.test", "b.test"]}]}, {"handle": [proxy]}]);
        assert_eq!(servers(&config)["howdah"]["routes"], expected);
        let whole = ConfigurationView::of(&config, None).whole;
        assert_eq!(whole["apps"]["http"]["servers"], servers(&config));
    }
}
