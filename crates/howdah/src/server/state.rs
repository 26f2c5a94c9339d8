//! The state of all parts of the running server: the page of metrics and the list of requests in flight.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use howdah_http::endpoint::{Endpoint, EndpointBody, EndpointFuture, EndpointRequest};
use howdah_http::{LiveRequest, LiveRequests, LostSpans, RequestCounters, Stats};
use howdah_mercure::Hub;
use howdah_observe::access::Losses;
use howdah_observe::log;
use howdah_observe::metrics::{
    CertificateTimes, ConfigReloads, HubCounts, OpcacheCounts, Page, Pool, Preload, Process,
    Worker, WorkerState, for_client,
};
use howdah_pool::{Opcache, PoolStatus, PreloadStatus, RequestLook, Target, Verdict, WorkerStatus};
use howdah_tls::Expiries;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use super::activity::Activity;
use super::crash_reports::CrashReports;
use super::readiness::Readiness;
use crate::php::opcache;
use crate::php::trees::Trees;

/// The parts of the running server. Clones are the same server.
#[derive(Debug, Clone)]
pub(crate) struct ServerState {
    pub(crate) trees: Trees,
    pub(crate) readiness: Readiness,
    pub(crate) stats: Arc<Stats>,
    pub(crate) counted: RequestCounters,
    pub(crate) live: LiveRequests,
    pub(crate) activity: Activity,
    pub(crate) log_losses: Losses,
    pub(crate) span_losses: LostSpans,
    pub(crate) crashes: CrashReports,
    /// What a reload of the configuration changes.
    pub(crate) of_configuration: Arc<RwLock<ConfigurationState>>,
}

/// What a reload of the configuration changes.
#[derive(Debug, Default)]
pub(crate) struct ConfigurationState {
    hubs: Vec<Arc<Hub>>,
    expiries: Expiries,
    reloads: ConfigReloads,
    /// OPcache at the last check.
    opcache: Option<Opcache>,
}

impl ServerState {
    /// The hubs of the current configuration, in order.
    pub(crate) fn hubs(&self) -> Vec<Arc<Hub>> {
        self.read().hubs.clone()
    }

    pub(crate) fn set_hubs(&self, hubs: Vec<Arc<Hub>>) {
        self.write().hubs = hubs;
    }

    pub(crate) fn set_expiries(&self, expiries: Expiries) {
        self.write().expiries = expiries;
    }

    pub(crate) fn set_opcache(&self, opcache: Option<Opcache>) {
        self.write().opcache = opcache;
    }

    /// Current OPcache of all PHPs, with advice; `null`: it is off, or unknown.
    pub(crate) async fn opcache_json(&self) -> Value {
        let opcaches = self.trees.opcaches().await;
        let Some(all) = opcache::merged(&opcaches) else {
            return Value::Null;
        };
        let mut shown = serde_json::to_value(all).unwrap_or_default();
        let mut advice = Vec::new();
        for (php, own) in &opcaches {
            let prefix = opcache::prefix(php, opcaches.len());
            let own = opcache::advice(own).into_iter();
            advice.extend(own.map(|text| format!("{prefix}{text}")));
        }
        shown["advice"] = advice.into();
        shown
    }

    /// Records an attempt to load a configuration.
    pub(crate) fn note_configuration(&self, successful: bool) {
        let reloads = &mut self.write().reloads;
        reloads.last_successful = successful;
        if successful {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            reloads.last_success = now.unwrap_or_default().as_secs();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, ConfigurationState> {
        let own = self.of_configuration.read();
        own.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ConfigurationState> {
        let own = self.of_configuration.write();
        own.unwrap_or_else(PoisonError::into_inner)
    }

    /// The current page of metrics.
    pub(crate) async fn metrics(&self) -> String {
        let mut page = Page {
            version: env!("CARGO_PKG_VERSION").into(),
            connections: self.stats.protocols(),
            handshakes: self.stats.handshakes(),
            certificates: self.certificate_times(),
            in_flight: self.stats.in_flight() as u64,
            upstreams: upstreams_of_proxies(),
            measures: self.counted.measures().cloned(),
            log_lines_lost: self.log_losses.lines(),
            spans_lost: self.span_losses.spans(),
            hubs: self.hubs().iter().map(|hub| counts(hub)).collect(),
            config: self.read().reloads,
            opcache: self.read().opcache.as_ref().map(opcache_counts),
            process: Process::read(),
            ..Page::default()
        };
        // Without a supervisor the server is stopping, and the page has what is left.
        if let Ok(status) = self.trees.status().await {
            page.pools = (status.pools.iter())
                .map(|own| Pool {
                    preload: preload_of(&status.preloads, &own.name),
                    ..pool(own)
                })
                .collect();
            page.counted = self.trees.names();
            page.root_restarts = status.root_restarts;
            page.php = status.php;
        }
        page.render()
    }

    fn certificate_times(&self) -> Vec<(String, CertificateTimes)> {
        let all = self.read().expiries.all().into_iter();
        let times = all.map(|(host, own)| {
            let times = CertificateTimes {
                until: own.until,
                renewal_deadline: own.renewal_deadline,
            };
            (host, times)
        });
        times.collect()
    }

    /// Whether requests are counted and timed.
    pub(crate) fn counts_requests(&self) -> bool {
        self.counted.measures().is_some()
    }

    /// What the front threads do.
    pub(crate) fn front(&self) -> Value {
        json!({
            "requests": self.stats.requests(),
            "in_flight": self.stats.in_flight(),
            "connections": self.stats.connections(),
        })
    }

    /// Activity of the last minutes; `log`: the lines of the log that are already known; `None` withholds the log and
    /// slow requests.
    pub(crate) async fn activity(&self, log: Option<u64>) -> Value {
        let mut shown = self.activity.to_json();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        shown["now_ms"] = (now.unwrap_or_default().as_millis() as u64).into();
        let certificates = self.read().expiries.all().into_iter();
        shown["certificates"] = certificates
            .map(|(host, own)| {
                json!({
                    "host": host, "from": own.from, "until": own.until, "renewal_deadline": own.renewal_deadline,
                })
            })
            .collect();
        let upstreams = howdah_http::upstreams().into_iter();
        shown["upstreams"] = upstreams
            .map(|own| {
                json!({
                    "address": own.address, "handler": own.handler, "healthy": own.is_healthy,
                    "in_flight": own.in_flight, "failures": own.failures,
                })
            })
            .collect();
        let reloads = self.read().reloads;
        shown["configuration"] = json!({
            "last_successful": reloads.last_successful,
            "last_success": reloads.last_success,
        });
        let Some(known) = log else {
            return shown;
        };
        shown["log"] = serde_json::to_value(log::tail(known)).unwrap_or_default();
        let (status, leaving) = tokio::join!(self.trees.status(), self.trees.retiring());
        let pools = status.map(|status| status.pools).unwrap_or_default();
        let pools = pools.iter().chain(&leaving);
        let slow = pools.flat_map(|pool| {
            pool.slow.iter().map(|request| {
                let mut request = serde_json::to_value(request).unwrap_or_default();
                request["pool"] = (&*pool.name).into();
                request
            })
        });
        shown["slow"] = slow.collect();
        shown
    }

    /// The requests in flight, the oldest first.
    pub(crate) async fn requests(&self, detail: bool) -> Value {
        // Before the front threads report: requests that end meanwhile are not in their list.
        let looks = if detail {
            self.trees.request_looks().await
        } else {
            HashMap::new()
        };
        let (live, status, leaving) =
            tokio::join!(self.live.list(), self.trees.status(), self.trees.retiring());
        let mut pools = leaving;
        pools.extend(status.map(|status| status.pools).unwrap_or_default());
        let (workers, names) = (request_holders(&pools), self.trees.names());
        let requests = live
            .iter()
            .map(|own| request(own, workers.get(&own.id), looks.get(&own.id), &names));
        json!({"requests": requests.collect::<Vec<_>>()})
    }

    /// Method and URI of the requests in flight by their ids, for the status of workers.
    pub(crate) async fn targets(&self) -> HashMap<String, (String, String)> {
        let live = self.live.list().await.into_iter();
        live.map(|request| {
            let target = (request.method, request.uri);
            (format!("{:016x}", request.id), target)
        })
        .collect()
    }
}

fn request(
    request: &LiveRequest,
    worker: Option<&RequestHolder>,
    look: Option<&RequestLook>,
    names: &[String],
) -> Value {
    // The front knows a worker from its first output on; the shared memory from the start.
    let phase = match (request.phase, worker, look) {
        ("queue", Some(_), _) | ("queue", _, Some(_)) => "php",
        (phase, ..) => phase,
    };
    let mut shown = json!({
        "id": format!("{:016x}", request.id),
        "method": request.method,
        "host": request.host,
        "uri": request.uri,
        "remote": request.remote.to_string(),
        "client": request.client.name(),
        "age_ms": u64::try_from(request.age.as_millis()).unwrap_or(u64::MAX),
        "phase": phase,
        "pool": request.pool.and_then(|pool| names.get(pool)),
        "worker": worker.map(|worker| worker.place).or(look.map(|look| look.worker)).or(request.worker),
        "pid": worker.map(|worker| worker.pid).or(look.map(|look| look.pid)),
        "route": route(request),
    });
    // A process whose response is complete is already doing something else, or nothing.
    if let Some(look) = look.filter(|_| phase == "php") {
        shown["memory"] = look.memory.into();
        shown["wait"] = serde_json::to_value(&look.wait).unwrap_or_default();
        shown["top"] = look.top.clone().into();
        shown["frames"] = look.frames.clone().into();
    }
    shown
}

/// The route by which crashes are counted.
fn route(request: &LiveRequest) -> Option<String> {
    let method = request.method.parse().ok()?;
    let path = request.uri.parse().ok()?;
    Some(Target { method, path }.route())
}

/// Upstreams of `reverse_proxy`, and whether they get requests.
fn upstreams_of_proxies() -> Vec<(String, bool)> {
    let upstreams = howdah_http::upstreams().into_iter();
    let proxies = upstreams.filter(|own| own.handler == "reverse_proxy");
    proxies.map(|own| (own.address, own.is_healthy)).collect()
}

fn counts(hub: &Hub) -> HubCounts {
    let counts = hub.counts();
    HubCounts {
        subscribers: counts.subscribers,
        accepted: counts.accepted,
        updates: counts.updates,
        dropped: counts.dropped,
    }
}

fn opcache_counts(opcache: &Opcache) -> OpcacheCounts {
    OpcacheCounts {
        memory: [opcache.used, opcache.free, opcache.wasted],
        strings: (opcache.strings_used, opcache.strings_size),
        scripts: opcache.scripts,
        keys: (opcache.keys, opcache.keys_max),
        full: opcache.full != 0,
        hits: opcache.hits,
        misses: opcache.misses,
        restarts: [
            opcache.oom_restarts,
            opcache.hash_restarts,
            opcache.manual_restarts,
        ],
    }
}

/// A request that a worker has claimed.
#[derive(Debug, Clone, Copy)]
struct RequestHolder {
    place: u16,
    pid: i32,
}

fn request_holders(pools: &[PoolStatus]) -> HashMap<u64, RequestHolder> {
    let workers = pools.iter().flat_map(|pool| &pool.workers);
    workers
        .filter_map(|worker| {
            let id = u64::from_str_radix(&worker.request.as_ref()?.id, 16).ok()?;
            let (place, pid) = (worker.place, worker.pid);
            Some((id, RequestHolder { place, pid }))
        })
        .collect()
}

fn pool(status: &PoolStatus) -> Pool {
    let counters = &status.counters;
    Pool {
        name: status.name.clone(),
        worker_script: status.script.is_some(),
        workers: status
            .workers
            .iter()
            .map(|one| worker(one, status.concurrency > 1))
            .collect(),
        wanted: status.workers_wanted as u64,
        queue: status.queue as u64,
        sequential: status.sequential as u64,
        sequential_cause: status.sequential_cause.clone(),
        crashes: (status.crashes.iter())
            .map(|own| (own.route.clone(), own.count))
            .collect(),
        quarantined: (status.crashes.iter())
            .filter(|own| own.quarantine_ms.is_some())
            .count() as u64,
        waiters: status.waiters as u64,
        in_flight: status.in_flight as u64,
        slots: status.slots as u64,
        started: counters.spawned,
        ended: vec![
            ("crashed", counters.crashed),
            ("fatal", counters.fatal),
            ("killed", counters.killed),
            ("recycled", counters.recycled),
            ("scaled_down", counters.scaled_down),
        ],
        boots_failed: counters.boots_failed,
        reloads: (counters.reloads, counters.reloads_failed),
        segments_replaced: counters.segments_replaced,
        refused: vec![
            ("queue_full", status.refused.queue_full),
            ("wait_timeout", status.refused.wait_timeout),
            ("not_booted", status.refused.not_booted),
            ("quarantined", status.refused.quarantined),
        ],
        abandoned: vec![
            ("kept", status.abandoned.kept),
            ("dropped", status.abandoned.dropped),
        ],
        exits: vec![
            (("kept", "exit"), status.exits.kept),
            (("replaced", "restart"), status.exits.restarted),
            (("replaced", "skipped"), status.exits.skipped),
            (("replaced", "lost"), status.exits.lost),
            (("replaced", "suspended"), status.exits.suspended),
        ],
        spooled: status.spooled,
        leaks: status.leaks.found,
        preload: None,
    }
}

/// The preloaded files of the pool.
fn preload_of(preloads: &[PreloadStatus], pool: &String) -> Option<Preload> {
    let own = preloads.iter().find(|own| own.pools.contains(pool))?;
    let preloaded = &own.preloaded;
    let mut left_out: BTreeMap<&'static str, u64> = BTreeMap::new();
    for file in &preloaded.files {
        if file.verdict != Verdict::Preloaded {
            *left_out.entry(file.verdict.name()).or_default() += 1;
        }
    }
    Some(Preload {
        files: preloaded.count() as u64,
        classes: preloaded.classes.into(),
        memory: preloaded.memory,
        left_out: left_out.into_iter().collect(),
    })
}

fn worker(status: &WorkerStatus, concurrent: bool) -> Worker {
    let state = match status.state {
        "starting" => WorkerState::Booting,
        "stopping" => WorkerState::Stopping,
        _ if status.in_flight > 0 => WorkerState::Busy,
        _ => WorkerState::Ready,
    };
    Worker {
        place: status.place,
        state,
        memory: status.memory,
        longest_hold: concurrent.then(|| Duration::from_millis(status.longest_hold_ms)),
    }
}

/// `metrics` in a site.
pub(crate) struct MetricsPage(pub(crate) ServerState);

impl Endpoint for MetricsPage {
    fn call(self: Arc<Self>, request: EndpointRequest) -> EndpointFuture {
        Box::pin(async move {
            if let Some(refused) = refused(&request) {
                return refused;
            }
            let accept = request.parts.headers.get(ACCEPT);
            let accept = accept.and_then(|accept| accept.to_str().ok());
            let (kind, text) = for_client(accept, self.0.metrics().await);
            page(kind, text)
        })
    }
}

/// The response to other methods than GET and HEAD.
pub(crate) fn refused(request: &EndpointRequest) -> Option<Response<EndpointBody>> {
    if matches!(request.parts.method, Method::GET | Method::HEAD) {
        return None;
    }
    let mut refused = Response::new(body("only GET\n".into()));
    *refused.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let headers = refused.headers_mut();
    headers.insert(http::header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    Some(refused)
}

/// A page of this type that must not be cached.
pub(crate) fn page(kind: &'static str, text: String) -> Response<EndpointBody> {
    let mut response = Response::new(body(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn body(text: String) -> EndpointBody {
    let full = Full::new(Bytes::from(text));
    Box::pin(full.map_err(|never| -> io::Error { match never {} }))
}
