//! Orders to the server from the admin API, signals and watched files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use howdah_observe::admin::{
    CertificateAuthority, ConfigFile, Configuration, Control, CrashesError, LogSink, ProfileError,
    ProfileReply, ProfileRequest, ReloadError, ReloadReport, ReloadedPool, SequentialPool, Thread,
    UnhealthyError,
};
use howdah_pool::{PoolStatus, Status, WorkerStatus};
use howdah_tls::AuthorityCertificates;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::configuration::CurrentConfiguration;
use super::log_sinks::LogSinks;
use super::notify;
use super::profile::Profiler;
use super::signals::SignalStream;
use super::state::ServerState;
use crate::php::preload::{self, PreloadSchedule};
use crate::php::trees::{ReloadKind, TreeError, Trees};
use crate::rights::users;
use crate::watch::{ChangeReceiver, Page};

/// The running server; clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct ServerControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server_state: ServerState,
    current: CurrentConfiguration,
    log_sinks: LogSinks,
    /// The server was ordered to stop.
    stop: watch::Sender<bool>,
    profiler: Profiler,
}

impl ServerControl {
    pub(crate) fn new(server_state: ServerState, current: CurrentConfiguration) -> Self {
        Self(Arc::new(Inner {
            server_state,
            current,
            log_sinks: LogSinks::default(),
            stop: watch::Sender::new(false),
            profiler: Profiler::default(),
        }))
    }

    /// The current configuration.
    pub(crate) fn current(&self) -> &CurrentConfiguration {
        &self.0.current
    }

    /// Completes when the server was ordered to stop.
    pub(crate) async fn stop_ordered(&self) {
        // An error would mean that the sender is dropped, which this value owns.
        let _ = self.0.stop.subscribe().wait_for(|stop| *stop).await;
    }

    /// Disables reloads from now on.
    pub(crate) fn set_stopping(&self) {
        self.0.server_state.readiness.set_stopping();
    }

    fn is_stopping(&self) -> bool {
        self.0.server_state.readiness.is_stopping()
    }

    async fn reload_now(
        &self,
        pool: Option<String>,
        requested: Instant,
    ) -> Result<ReloadReport, ReloadError> {
        let known = self.trees().pools();
        if let Some(name) = &pool
            && !known.contains(name)
        {
            return Err(ReloadError::UnknownPool {
                name: name.clone(),
                known,
            });
        }
        if self.is_stopping() {
            return Err(ReloadError::Stopping);
        }
        let configuration = self.0.current.file();
        if let Some(file) = configuration.as_ref().filter(|file| file.changed) {
            tracing::info!(target: "howdah", file = file.file, "PHP alone is reloaded; `howdah reload` without a pool applies the changed configuration");
        }
        let shown = pool.as_deref().unwrap_or("all");
        tracing::info!(target: "howdah", pool = shown, "reloading");
        let before = self.generations().await;
        let began = Instant::now();
        let roadrunner = self.trees().roadrunner();
        let reloaded = roadrunner.reload(pool.as_deref()).await;
        reloaded.map_err(|error| not_reloaded(error.pool, error.text))?;
        if pool
            .as_ref()
            .is_some_and(|pool| roadrunner.names().contains(pool))
        {
            let is_selected = |name: &String, _| Some(name) == pool.as_ref();
            return Ok(self.report_reload(configuration, began, is_selected).await);
        }
        let fresh = match self.required_reload().await {
            ReloadKind::Tree(reason) => {
                tracing::info!(target: "howdah", "starting a second PHP next to the current one: {reason}");
                self.renew(requested).await?;
                Some(reason)
            }
            ReloadKind::Processes { stale } => {
                self.new_processes(pool.as_deref(), stale).await?;
                None
            }
        };
        let is_selected = |name: &String, generation| match &pool {
            Some(pool) if fresh.is_none() => pool == name,
            _ => before.get(name) != Some(&generation),
        };
        let done = self.report_reload(configuration, began, is_selected).await;
        Ok(ReloadReport { fresh, ..done })
    }

    /// If OPcache does not report, the reload continues.
    async fn required_reload(&self) -> ReloadKind {
        let places = self.0.current.places().await;
        self.trees()
            .required_reload(&places)
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(target: "howdah", "{error}; OPcache may continue to use old files");
                ReloadKind::Processes { stale: 0 }
            })
    }

    /// Starts a fresh tree, which replaces the current one.
    async fn renew(&self, requested: Instant) -> Result<(), ReloadError> {
        let Err(error) = self.0.current.renew(requested).await else {
            return Ok(());
        };
        Err(match error {
            _ if self.is_stopping() => ReloadError::Stopping,
            TreeError::Boot { pool, text } => not_reloaded(pool, text),
            other => not_reloaded("all".into(), other.to_string()),
        })
    }

    /// Reloads because of files that requests have used.
    async fn preload(&self) {
        tracing::info!(target: "howdah", "starting a second PHP next to the current one: to preload what requests \
            have used");
        let began = Instant::now();
        // A failure has been logged.
        if self.renew(began).await.is_ok() {
            self.report_reload(None, began, |_, _| true).await;
        }
    }

    /// A new generation below the current root.
    async fn new_processes(&self, pool: Option<&str>, stale: u64) -> Result<(), ReloadError> {
        if stale > 0 {
            tracing::info!(target: "howdah", scripts = stale, "OPcache recompiles changed scripts");
            if let Err(error) = self.trees().invalidate().await {
                tracing::warn!(target: "howdah", "OPcache may continue to use old files: {error}");
            }
        }
        let Err(error) = self.trees().reload(pool).await else {
            return Ok(());
        };
        Err(if self.is_stopping() {
            ReloadError::Stopping
        } else {
            not_reloaded(error.pool, error.text)
        })
    }

    /// The selected pools as they serve now.
    async fn report_reload(
        &self,
        configuration: Option<ConfigFile>,
        began: Instant,
        is_selected: impl Fn(&String, u64) -> bool,
    ) -> ReloadReport {
        let took_ms = millis(began.elapsed());
        let after = self.generations().await;
        let mut pools = Vec::new();
        for name in self.trees().pools() {
            let Some(generation) = after.get(&name).copied() else {
                continue;
            };
            if is_selected(&name, generation) {
                tracing::info!(target: "howdah", pool = &*name, generation, took_ms, "reloaded");
                pools.push(ReloadedPool {
                    pool: name,
                    generation,
                    took_ms,
                });
            }
        }
        ReloadReport {
            pools,
            configuration,
            fresh: None,
        }
    }

    /// Starts PHP again while the old processes serve, for a reason that the server itself has
    /// found.
    pub(crate) async fn renew_because(&self, reason: String) -> Result<ReloadReport, ReloadError> {
        let control = self.clone();
        self.spawn_reload(async move {
            if control.is_stopping() {
                return Err(ReloadError::Stopping);
            }
            tracing::info!(target: "howdah", "starting a second PHP next to the current one: {reason}");
            let (before, began) = (control.generations().await, Instant::now());
            control.renew(began).await?;
            let is_selected = |name: &String, generation| before.get(name) != Some(&generation);
            let configuration = control.0.current.file();
            let done = control.report_reload(configuration, began, is_selected).await;
            let fresh = Some(reason);
            Ok(ReloadReport { fresh, ..done })
        })
        .await
    }

    pub(crate) fn server_state(&self) -> &ServerState {
        &self.0.server_state
    }

    pub(crate) fn trees(&self) -> &Trees {
        &self.0.server_state.trees
    }

    /// The serving generation of each pool. Empty when the server is stopping.
    async fn generations(&self) -> HashMap<String, u64> {
        let Ok(status) = self.trees().status().await else {
            return HashMap::new();
        };
        let pools = status.pools.into_iter();
        pools
            .map(|pool| (pool.name, u64::from(pool.generation)))
            .collect()
    }
}

impl ServerControl {
    /// The configuration first, so that its errors are reported before PHP is restarted.
    async fn configure_now(&self, from: Configuration) -> Result<ReloadReport, ReloadError> {
        if self.is_stopping() {
            return Err(ReloadError::Stopping);
        }
        let began = self.0.current.note_request();
        let loaded = self.0.current.load(from).await;
        let Some(loaded) = loaded.map_err(ReloadError::Configuration)? else {
            return self.reload_now(None, began).await;
        };
        if let Some(changed) = loaded.changed {
            self.watch(changed, loaded.pages);
        }
        if loaded.booted {
            let configuration = self.0.current.file();
            return Ok(self.report_reload(configuration, began, |_, _| true).await);
        }
        self.reload_now(None, began).await
    }

    /// Reloads after changes from now on. The task ends with the watcher, so it is not waited for.
    fn watch(&self, changed: ChangeReceiver, pages: Vec<Page>) {
        tokio::spawn(changed.reload(Arc::new(self.clone()), pages));
    }

    /// In a separate task, so that the result is reported even if the caller has disconnected.
    async fn spawn_reload(
        &self,
        reload: impl Future<Output = Result<ReloadReport, ReloadError>> + Send + 'static,
    ) -> Result<ReloadReport, ReloadError> {
        let control = self.clone();
        let reload = tokio::spawn(async move {
            notify::reloading();
            let result = reload.await;
            if !control.is_stopping() {
                notify::ready(if result.is_ok() {
                    notify::SERVING
                } else {
                    notify::NOT_RELOADED
                });
            }
            result
        });
        reload.await.unwrap_or_else(|error| {
            Err(ReloadError::Boot {
                pool: "all".into(),
                text: error.to_string(),
            })
        })
    }
}

impl Control for ServerControl {
    async fn reload(&self, pool: Option<String>) -> Result<ReloadReport, ReloadError> {
        let control = self.clone();
        let requested = self.0.current.note_request();
        self.spawn_reload(async move { control.reload_now(pool, requested).await })
            .await
    }

    async fn configure(&self, from: Configuration) -> Result<ReloadReport, ReloadError> {
        let control = self.clone();
        self.spawn_reload(async move { control.configure_now(from).await })
            .await
    }

    async fn status(&self) -> Value {
        let (status, leaving) = tokio::join!(self.trees().status(), self.trees().retiring());
        let mut shown = match status {
            Ok(status) => serde_json::to_value(&status).unwrap_or_default(),
            Err(_) => json!({"php": "", "pools": []}),
        };
        shown["opcache"] = self.0.server_state.opcache_json().await;
        shown["version"] = env!("CARGO_PKG_VERSION").into();
        shown["pid"] = std::process::id().into();
        shown["stopping"] = self.is_stopping().into();
        shown["listeners"] = self.0.current.listeners().into();
        shown["front"] = self.0.server_state.front();
        if let Some(access_problem) = users::reason_for_serving_as_root() {
            shown["served_as_root"] = access_problem.advice().into();
        }
        if !leaving.is_empty() {
            shown["leaving"] = serde_json::to_value(&leaving).unwrap_or_default();
        }
        shown
    }

    async fn threads(&self) -> Vec<Thread> {
        let (status, targets) = tokio::join!(self.trees().status(), self.0.server_state.targets());
        match status {
            Ok(status) => threads(&status, &targets, SystemTime::now()),
            Err(_) => Vec::new(),
        }
    }

    async fn preloads(&self) -> Value {
        let status = self.trees().status().await;
        let preloads = status.map(|status| status.preloads).unwrap_or_default();
        let mut shown = serde_json::to_value(preloads).unwrap_or_default();
        // A pool that was added since PHP was started.
        for (index, used) in self.trees().used().iter().enumerate() {
            if let Some(problem) = used.problem()
                && let Some(preload) = shown.get_mut(index)
            {
                preload["problem"] = problem.into();
            }
        }
        shown
    }

    async fn profile(&self, request: ProfileRequest) -> Result<ProfileReply, ProfileError> {
        tokio::select! {
            profile = self.0.profiler.take(self.trees(), request) => profile,
            () = self.0.server_state.readiness.stopping() => Err(ProfileError::Stopping),
        }
    }

    async fn metrics(&self) -> String {
        self.0.server_state.metrics().await
    }

    async fn requests(&self, detail: bool) -> Value {
        self.0.server_state.requests(detail).await
    }

    async fn crashes(&self) -> Result<Value, CrashesError> {
        self.0.server_state.crashes.list().await
    }

    async fn crash(&self, number: u64) -> Result<Value, CrashesError> {
        self.0.server_state.crashes.read(number).await
    }

    async fn clear_crashes(&self) -> Result<Value, CrashesError> {
        self.0.server_state.crashes.clear().await
    }

    async fn activity(&self, log: Option<u64>) -> Value {
        self.0.server_state.activity(log).await
    }

    fn config_json(&self) -> Value {
        self.0.current.config_json()
    }

    fn config(&self) -> Value {
        self.0.current.frankenphp()
    }

    fn log_sink(&self, name: &str) -> Option<Value> {
        self.0.log_sinks.to_json(name)
    }

    fn set_log_sink(&self, name: &str, sink: LogSink) -> Result<(), String> {
        let activity = &self.0.server_state.activity;
        self.0.log_sinks.set(name, sink, activity)
    }

    fn remove_log_sink(&self, name: &str) -> bool {
        self.0.log_sinks.remove(name)
    }

    fn config_file(&self) -> Option<PathBuf> {
        self.0.current.path()
    }

    fn is_php_restricted(&self) -> bool {
        self.0.current.is_php_restricted()
    }

    fn crashes_are_private(&self) -> bool {
        self.is_php_restricted() || howdah_monitor::is_connected()
    }

    fn servers(&self) -> Value {
        self.0.current.servers()
    }

    async fn authority(&self) -> Result<Option<CertificateAuthority>, String> {
        let Some(authority) = self.0.current.authority().await? else {
            return Ok(None);
        };
        // The storage may be on another machine.
        let read = tokio::task::spawn_blocking(move || authority.certificates()).await;
        let read = read.map_err(|error| error.to_string())?;
        let AuthorityCertificates { root, intermediate } =
            read.map_err(|error| error.to_string())?;
        Ok(Some(CertificateAuthority {
            id: "local".into(),
            name: "Howdah Local Authority".into(),
            root_common_name: root.common_name,
            intermediate_common_name: intermediate.common_name,
            root_certificate: root.pem,
            intermediate_certificate: intermediate.pem,
        }))
    }

    fn counts_requests(&self) -> bool {
        self.0.server_state.counts_requests()
    }

    async fn health(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        self.0.server_state.ready().await
    }

    fn stop(&self) {
        self.0.stop.send_replace(true);
    }
}

/// Logs the failure; the boot's whole output has already been logged.
fn not_reloaded(pool: String, text: String) -> ReloadError {
    let why = text.lines().next().unwrap_or_default();
    tracing::error!(target: "howdah", pool, "not reloaded: {why}");
    ReloadError::Boot { pool, text }
}

/// Starts PHP again when enough files are in use that it was not started with.
pub(crate) async fn preload_used_files(control: ServerControl) {
    let mut pace = PreloadSchedule::new(Instant::now());
    loop {
        tokio::time::sleep(preload::LOOK).await;
        if pace.observe(&control.trees().used(), Instant::now()) && !control.is_stopping() {
            control.preload().await;
        }
    }
}

/// Reloads the configuration and all pools at each signal.
pub(crate) async fn reload_on_signals(mut signals: SignalStream, control: ServerControl) {
    loop {
        let signal = signals.next().await;
        if control.is_stopping() {
            tracing::info!(target: "howdah", signal, "not reloaded: the server is stopping");
            continue;
        }
        // The result has been logged. The next reload does not wait for this one, which may hang.
        let control = control.clone();
        tokio::spawn(async move { control.configure(Configuration::Same).await });
    }
}

/// Method and URI of requests by their ids.
type Targets = HashMap<String, (String, String)>;

fn threads(status: &Status, targets: &Targets, now: SystemTime) -> Vec<Thread> {
    let workers = status
        .pools
        .iter()
        .flat_map(|pool| pool.workers.iter().map(move |worker| (pool, worker)));
    workers
        .enumerate()
        .map(|(index, (pool, worker))| thread(index, pool, worker, targets, now))
        .collect()
}

/// The names and states are `FrankenPHP`'s: dashboards look for them.
fn thread(
    index: usize,
    pool: &PoolStatus,
    worker: &WorkerStatus,
    targets: &Targets,
    now: SystemTime,
) -> Thread {
    let name = match &pool.script {
        Some(script) => format!("Worker PHP Thread - {script}"),
        None => "Regular PHP Thread".to_owned(),
    };
    let state = match worker.state {
        "starting" => "booting",
        "stopping" => "shutting down",
        _ => "ready",
    };
    let began = worker
        .request
        .as_ref()
        .and_then(|request| now.checked_sub(Duration::from_millis(request.since_ms)));
    let target = worker
        .request
        .as_ref()
        .and_then(|request| targets.get(&request.id).cloned());
    let (current_method, current_uri) = target.unwrap_or_default();
    Thread {
        index,
        name,
        current_method,
        current_uri,
        state: state.to_owned(),
        is_waiting: worker.state == "idle",
        is_busy: worker.request.is_some(),
        waiting_since_ms: worker.waiting_ms,
        request_started_at: began
            .and_then(|began| began.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0)),
        request_count: worker.requests,
        memory_usage: worker.memory,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use howdah_pool::{Counters, RequestStatus};

    use super::*;
    use crate::server::readiness::check;

    fn worker(state: &'static str, request: Option<u64>) -> WorkerStatus {
        WorkerStatus {
            place: 0,
            pid: 1,
            generation: 1,
            state,
            requests: 7,
            memory: 4096,
            age_ms: 10,
            in_flight: usize::from(request.is_some()),
            sequential: false,
            longest_hold_ms: 0,
            waiting_ms: if state == "idle" { 250 } else { 0 },
            request: request.map(|since_ms| RequestStatus {
                id: "00".into(),
                since_ms,
            }),
        }
    }

    fn status(pools: &[(&str, Option<&str>, Vec<WorkerStatus>)]) -> Status {
        let pools = pools.iter().map(|(name, script, workers)| PoolStatus {
            name: (*name).to_owned(),
            php: "8.2.30".into(),
            mode: "worker",
            script: script.map(str::to_owned),
            generation: 1,
            generations: Vec::new(),
            failure: None,
            reloading: false,
            workers_min: 1,
            workers_max: 1,
            workers_wanted: 1,
            ready: workers
                .iter()
                .filter(|worker| worker.state == "idle")
                .count(),
            concurrency: 1,
            sequential: 0,
            sequential_cause: None,
            busy: 0,
            queue: 0,
            in_flight: 0,
            waiters: 0,
            slots: 0,
            refused: howdah_pool::RefusalCounts::default(),
            abandoned: howdah_pool::AbandonmentCounts::default(),
            exits: howdah_pool::Exits::default(),
            crashes: Vec::new(),
            spooled: 0,
            leaks: howdah_pool::Leaks::default(),
            slow: Vec::new(),
            workers: workers.clone(),
            counters: Counters::default(),
        });
        Status {
            php: "8.2.0".into(),
            root_restarts: 0,
            pools: pools.collect(),
            preloads: Vec::new(),
        }
    }

    #[test]
    fn threads_in_the_words_of_frankenphp() {
        let status = status(&[
            ("php", None, vec![worker("idle", None)]),
            (
                "app",
                Some("/srv/w.php"),
                vec![worker("busy", Some(1500)), worker("starting", None)],
            ),
        ]);
        let now = UNIX_EPOCH + Duration::from_secs(100);
        let targets = HashMap::from([("00".into(), ("GET".into(), "/a?b".into()))]);
        let shown = threads(&status, &targets, now);
        assert_eq!(
            shown.iter().map(|thread| thread.index).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(shown[0].name, "Regular PHP Thread");
        assert!(shown[0].is_waiting && !shown[0].is_busy);
        assert_eq!(
            (shown[0].waiting_since_ms, shown[1].waiting_since_ms),
            (250, 0)
        );
        assert_eq!(shown[1].name, "Worker PHP Thread - /srv/w.php");
        assert!(shown[1].is_busy && !shown[1].is_waiting);
        assert_eq!(shown[1].request_started_at, 98_500);
        assert_eq!(shown[1].current_uri, "/a?b");
        assert_eq!(shown[1].current_method, "GET");
        assert_eq!(shown[0].current_uri, "");
        assert_eq!((shown[1].request_count, shown[1].memory_usage), (7, 4096));
        assert_eq!(shown[2].state, "booting");
    }

    #[test]
    fn a_pool_without_a_ready_worker_is_not_healthy() {
        let healthy = status(&[("php", None, vec![worker("idle", None)])]);
        assert_eq!(check(&healthy), Ok(Vec::new()));
        let mut fallen_back = healthy.clone();
        fallen_back.pools[0].sequential = 2;
        fallen_back.pools[0].sequential_cause = Some("of this".into());
        let shown = SequentialPool {
            pool: "php".into(),
            workers: 2,
            cause: "of this".into(),
        };
        assert_eq!(check(&fallen_back), Ok(vec![shown]));
        let unhealthy = status(&[
            ("php", None, vec![worker("idle", None)]),
            ("app", None, vec![worker("starting", None)]),
        ]);
        assert_eq!(
            check(&unhealthy),
            Err(UnhealthyError::NoWorker("app".into()))
        );
    }
}
