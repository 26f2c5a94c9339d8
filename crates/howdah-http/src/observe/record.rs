//! Data of a request in flight, if it is observed: for metrics,
//! traces and the list of live requests.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_cgi::Host;
use howdah_config::model::{Config, HostMetrics};
use howdah_observe::metrics::{Measures, OTHER_HOST, Phase, RouteObservation};
use howdah_observe::trace::{Attribute, Kind, Sampler, Span, TraceContext, Tracer};
use howdah_observe::usage::{PhpUsage, ScriptUsage, UsageSoFar};
use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderValue, Method, Uri, Version};
use tokio::sync::{mpsc, oneshot};

use crate::message::connection::Connection;
use crate::message::progress::ProgressSink;
use crate::observe::finished_request::{FinishedRequest, FinishedRequests};
use crate::observe::trace::{Trace, method_name, protocol_version};

/// The observers of a front thread.
pub(crate) struct Observer {
    /// The measures, and the number of this thread.
    measures: Option<(Arc<Measures>, usize)>,
    /// The hosts by which requests are counted.
    hosts: Option<CountedHosts>,
    /// Requests in flight, of all configurations.
    live: Option<LiveList>,
    tracer: Option<Arc<Tracer>>,
    /// Times are counted by route too.
    per_route: bool,
    /// With the number of this thread. `None`: no observer is possible.
    finished: Option<(FinishedRequests, usize)>,
}

/// The observations that a front thread has to make.
#[derive(Default)]
pub(crate) struct ObserverOptions {
    pub(crate) measures: Option<Arc<Measures>>,
    pub(crate) hosts: Option<CountedHosts>,
    /// The number of this thread.
    pub(crate) thread: usize,
    pub(crate) live: Option<LiveList>,
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// `None`: no observer is possible.
    pub(crate) finished: Option<FinishedRequests>,
    /// Access logs contain the costs of a request.
    pub(crate) logs: bool,
    pub(crate) per_route: bool,
}

/// The hosts by which requests are counted.
#[derive(Debug)]
pub(crate) struct CountedHosts {
    /// In lower case; a name may start with `*.`.
    names: HashSet<String>,
    /// Every host that a request names is counted separately.
    all: bool,
}

impl CountedHosts {
    /// The hosts that the configuration counts.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let all = match config.global.host_metrics {
            HostMetrics::Off => return None,
            HostMetrics::Named => false,
            HostMetrics::All => true,
        };
        let addresses = config.sites.iter().flat_map(|site| &site.addresses);
        let names = addresses.filter_map(|address| address.host.clone());
        Some(Self {
            names: names.collect(),
            all,
        })
    }

    /// The label of requests with this `Host`.
    fn label(&self, host: &str) -> String {
        let Some(host) = Host::parse(host) else {
            return OTHER_HOST.to_owned();
        };
        let name = host.name.trim_start_matches('[').trim_end_matches(']');
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let below = || {
            let parent = &name[name.find('.')?..];
            self.names.contains(&format!("*{parent}")).then_some(())
        };
        if self.all || self.names.contains(&name) || below().is_some() {
            name
        } else {
            OTHER_HOST.to_owned()
        }
    }
}

/// The requests in flight on a front thread; free entries are listed in `free`.
pub(crate) type LiveList = Rc<RefCell<LiveTable>>;

#[derive(Default)]
pub(crate) struct LiveTable {
    places: Vec<Weak<Record>>,
    free: Vec<usize>,
}

/// Answers queries until all senders are dropped.
pub(crate) async fn answer(live: LiveList, mut questions: mpsc::UnboundedReceiver<LiveQuery>) {
    while let Some(question) = questions.recv().await {
        let now = now_ns();
        let requests = {
            let live = live.borrow();
            let records = live.places.iter().filter_map(Weak::upgrade);
            let records = records.filter(|record| record.is_in_flight());
            records.map(|record| record.live(now)).collect()
        };
        // The caller may have stopped waiting.
        let _ = question.send(requests);
    }
}

/// Observers query each front thread.
pub(crate) type LiveQuery = oneshot::Sender<Vec<LiveRequest>>;

/// A request in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct LiveRequest {
    pub id: u64,
    pub method: String,
    /// The authority of the target (HTTP/2, HTTP/3, absolute form), or the `Host` header; empty if absent.
    pub host: String,
    /// Path and query as sent.
    pub uri: String,
    /// The client.
    pub remote: SocketAddr,
    /// The pool that runs it.
    pub pool: Option<usize>,
    /// The worker that runs it, if its output has begun.
    pub worker: Option<u16>,
    /// Time since the end of its header.
    pub age: Duration,
    /// `front`, `queue`, `php` or `send`. The worker is known from its first output on: until then a request that PHP
    /// runs has the phase `queue`.
    pub phase: &'static str,
    /// Whether a client waits for it.
    pub client: ClientState,
}

/// The client of a request that PHP runs, or will run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientState {
    /// Its response has not ended.
    #[default]
    Waiting,
    /// It has its response, and the script continues.
    Served,
    /// It disconnected before the end of the response.
    Disconnected,
}

impl ClientState {
    /// Its name in the admin API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Served => "served",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Queries the front threads for requests in flight. Clones query the same threads.
#[derive(Debug, Clone, Default)]
pub struct LiveRequests(pub(crate) Vec<mpsc::UnboundedSender<LiveQuery>>);

impl LiveRequests {
    /// All of them, the oldest first. Front threads that have ended are skipped.
    pub async fn list(&self) -> Vec<LiveRequest> {
        let mut answers = Vec::with_capacity(self.0.len());
        for thread in &self.0 {
            let (question, answer) = oneshot::channel();
            if thread.send(question).is_ok() {
                answers.push(answer);
            }
        }
        let mut requests = Vec::new();
        for answer in answers {
            requests.extend(answer.await.unwrap_or_default());
        }
        requests.sort_by_key(|request| std::cmp::Reverse(request.age));
        requests
    }
}

/// One request. Shared by its exchange and the pool until PHP has finished.
pub(crate) struct Record {
    observer: Rc<Observer>,
    place: Cell<Option<usize>>,
    id: u64,
    method: Method,
    uri: Uri,
    host: Option<HeaderValue>,
    version: Version,
    /// Only if spans are exported.
    user_agent: Option<HeaderValue>,
    remote: SocketAddr,
    encrypted: bool,
    pool: Cell<Option<usize>>,
    worker: Cell<Option<u16>>,
    received: Cell<u64>,
    /// `CLOCK_MONOTONIC` in nanoseconds; 0: not yet.
    began: u64,
    called: Cell<u64>,
    claimed: Cell<u64>,
    /// Workers that crashed with it: since when they had it, and until when.
    crashed: RefCell<Vec<(u64, u64)>>,
    done: Cell<u64>,
    usage: Cell<Option<ScriptUsage>>,
    ended: Cell<u64>,
    status: Cell<u16>,
    client: Cell<ClientState>,
    trace: RefCell<Option<Trace>>,
}

impl Observer {
    /// `None` if nothing is observed.
    pub(crate) fn new(options: ObserverOptions) -> Option<Rc<Self>> {
        let ObserverOptions {
            measures,
            hosts,
            thread,
            live,
            tracer,
            finished,
            logs,
            per_route,
        } = options;
        (live.is_some() || measures.is_some() || tracer.is_some() || logs).then(|| {
            Rc::new(Self {
                tracer,
                measures: measures.map(|measures| (measures, thread)),
                hosts,
                live,
                per_route,
                finished: finished.map(|finished| (finished, thread)),
            })
        })
    }

    /// The sampler of traces.
    pub(crate) fn sampler(&self) -> Option<&Sampler> {
        self.tracer.as_ref().map(|tracer| tracer.sampler())
    }

    /// Starts a record: a request's header was read.
    pub(crate) fn begin(
        self: &Rc<Self>,
        id: u64,
        connection: &Connection,
        parts: &Parts,
    ) -> Rc<Record> {
        let record = Rc::new(Record {
            observer: Rc::clone(self),
            place: Cell::new(None),
            id,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            host: host(parts),
            version: parts.version,
            user_agent: (self.tracer.as_ref())
                .filter(|tracer| tracer.exports())
                .and_then(|_| parts.headers.get(USER_AGENT).cloned()),
            remote: connection.remote,
            encrypted: connection.tls.is_some(),
            pool: Cell::new(None),
            worker: Cell::new(None),
            received: Cell::new(0),
            began: now_ns(),
            called: Cell::new(0),
            claimed: Cell::new(0),
            crashed: RefCell::default(),
            done: Cell::new(0),
            usage: Cell::new(None),
            ended: Cell::new(0),
            status: Cell::new(0),
            client: Cell::default(),
            trace: RefCell::new(None),
        });
        if let Some(live) = &self.live {
            let live = &mut *live.borrow_mut();
            let place = live.free.pop().unwrap_or_else(|| {
                live.places.push(Weak::new());
                live.places.len() - 1
            });
            live.places[place] = Rc::downgrade(&record);
            record.place.set(Some(place));
        }
        record
    }

    fn phase(&self, pool: Option<usize>, phase: Phase, time: Duration) {
        if let Some((measures, thread)) = &self.measures {
            measures.shard(*thread).phase(pool, phase, time);
        }
    }
}

impl Record {
    /// Records that the request is about to go to PHP; `received`: bytes of the body.
    pub(crate) fn record_call(&self, pool: usize, received: u64) {
        self.pool.set(Some(pool));
        self.received.set(received);
        self.called.set(now_ns());
    }

    /// Sets the bytes of the request's body, at its end.
    pub(crate) fn set_received(&self, received: u64) {
        self.received.set(received);
    }

    /// Whether its spans, which contain its costs, are exported.
    pub(crate) fn is_traced(&self) -> bool {
        let exports = self.observer.tracer.as_ref().is_some_and(|t| t.exports());
        let trace = self.trace.borrow();
        exports && trace.as_ref().is_some_and(|trace| trace.context.sampled)
    }

    /// The cost in PHP, as far as known. `None`: the request is not for PHP.
    pub(crate) fn usage(&self) -> Option<UsageSoFar> {
        if self.called.get() == 0 {
            return None;
        }
        let queue = self.queue();
        let usage = self.usage.get().map(|script| PhpUsage {
            queue,
            // The response may be complete before the report that the worker is done.
            time: between(self.claimed.get(), or(self.done.get(), now_ns())),
            script,
        });
        Some(UsageSoFar { queue, usage })
    }

    /// Until a worker took it, or until now. Time in workers that crashed is not part of it.
    fn queue(&self) -> Duration {
        let until = or(self.claimed.get(), or(self.ended.get(), now_ns()));
        let crashed = self.crashed.borrow();
        let crashed = crashed.iter().map(|(from, to)| between(*from, *to)).sum();
        between(self.called.get(), until).saturating_sub(crashed)
    }

    /// Sets its trace.
    pub(crate) fn trace(&self, trace: Trace) {
        self.trace.replace(Some(trace));
    }

    /// Records the end of the response; `finished`: the client has all of it.
    pub(crate) fn end(&self, status: u16, sent: u64, finished: bool) {
        self.ended.set(now_ns());
        self.status.set(status);
        self.client.set(if finished {
            ClientState::Served
        } else {
            ClientState::Disconnected
        });
        if let Some((finished, thread)) = &self.observer.finished
            && finished.is_watched(self.ended.get() / 1_000_000)
        {
            finished.push(*thread, self.finished(sent));
        }
        let Some((measures, thread)) = &self.observer.measures else {
            return;
        };
        let (pool, now) = (self.pool.get(), self.ended.get());
        let bytes = (self.received.get(), sent);
        let time = between(self.began, now);
        measures
            .shard(*thread)
            .request(pool, &self.method, status, bytes, time);
        if let Some(hosts) = &self.observer.hosts {
            let host = self.host.as_ref().and_then(|host| host.to_str().ok());
            let label = hosts.label(host.unwrap_or_default());
            measures.shard(*thread).request_of(&label, &self.method);
        }
        if self.done.get() > 0 {
            let time = between(self.done.get(), now);
            self.observer.phase(pool, Phase::Send, time);
        }
        if self.observer.per_route {
            let trace = self
                .is_traced()
                .then(|| self.trace.borrow().as_ref().map(|trace| trace.context));
            measures.routes().observe(&RouteObservation {
                route: &howdah_cgi::route(self.method.as_str(), self.uri.path()),
                status,
                time,
                trace: trace.flatten(),
            });
        }
    }

    fn finished(&self, sent: u64) -> FinishedRequest {
        let (claimed, ended) = (self.claimed.get(), self.ended.get());
        // A script may continue after the end of its response.
        let done = or(self.done.get(), ended).min(ended);
        FinishedRequest {
            id: self.id,
            method: self.method.clone(),
            uri: self.uri.clone(),
            host: self.host.clone(),
            remote: self.remote,
            pool: self.pool.get(),
            status: self.status.get(),
            duration: between(self.began, ended),
            queue: self.queue(),
            php: between(claimed, done),
            sent,
            memory_peak: self
                .usage
                .get()
                .map(|usage| usage.memory_peak)
                .filter(|bytes| *bytes > 0),
        }
    }

    /// A client waits for it, or PHP has it.
    fn is_in_flight(&self) -> bool {
        self.ended.get() == 0 || (self.called.get() > 0 && self.done.get() == 0)
    }

    fn live(&self, now: u64) -> LiveRequest {
        let phase = if self.done.get() > 0 {
            "send"
        } else if self.claimed.get() > 0 {
            "php"
        } else if self.called.get() > 0 {
            "queue"
        } else {
            "front"
        };
        let host = self.host.as_ref().map(HeaderValue::as_bytes);
        LiveRequest {
            id: self.id,
            method: self.method.to_string(),
            host: String::from_utf8_lossy(host.unwrap_or_default()).into_owned(),
            uri: self
                .uri
                .path_and_query()
                .map_or_else(|| self.uri.to_string(), ToString::to_string),
            remote: self.remote,
            pool: self.pool.get(),
            worker: self.worker.get(),
            age: between(self.began, now),
            phase,
            client: self.client.get(),
        }
    }
}

/// The record is complete: response and script have ended.
impl Drop for Record {
    fn drop(&mut self) {
        if let (Some(place), Some(live)) = (self.place.take(), &self.observer.live) {
            let live = &mut *live.borrow_mut();
            live.places[place] = Weak::new();
            live.free.push(place);
        }
        let Some(trace) = self.trace.take() else {
            return;
        };
        if let Some(tracer) = &self.observer.tracer
            && trace.context.sampled
            && tracer.exports()
        {
            tracer.push(self.spans(trace));
        }
    }
}

impl Record {
    fn spans(&self, trace: Trace) -> Vec<Span> {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let wall = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        let now = now_ns();
        let unix = |at: u64| wall.saturating_sub(now.saturating_sub(at));
        let ended = match self.ended.get() {
            0 => now,
            ended => ended,
        };
        let context = trace.context;
        let mut spans = Vec::with_capacity(4);
        let name = match (trace.name.is_empty(), method_name(&self.method)) {
            (false, _) => trace.name,
            (true, Some(method)) => method.to_owned(),
            (true, None) => "HTTP".to_owned(),
        };
        spans.push(Span {
            trace: context.trace,
            id: context.span,
            parent: context.parent,
            name,
            kind: Kind::Server,
            start: unix(self.began),
            end: unix(ended),
            attributes: self.attributes(),
            failed: self.status.get() >= 500,
        });
        let mut part = |name: &str, from: u64, to: u64, failed: bool| {
            if from > 0 && to > 0 {
                spans.push(Span {
                    trace: context.trace,
                    id: TraceContext::new_span(),
                    parent: Some(context.span),
                    name: name.into(),
                    kind: Kind::Internal,
                    start: unix(from),
                    end: unix(to.max(from)),
                    attributes: Vec::new(),
                    failed,
                });
            }
        };
        let (claimed, done) = (self.claimed.get(), self.done.get());
        let mut queued = self.called.get();
        for (from, to) in self.crashed.take() {
            part("queue", queued, from, false);
            part("php", from, to, true);
            queued = to;
        }
        part("queue", queued, claimed, false);
        part("php", claimed, done, false);
        // A script may continue after the end of its response.
        if ended > done {
            part("send", done, ended, false);
        }
        spans
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let text = |text: &str| Attribute::Text(text.to_owned());
        let (scheme, usual_port) = if self.encrypted {
            ("https", 443)
        } else {
            ("http", 80)
        };
        let mut attributes = vec![
            (
                "http.request.method",
                text(method_name(&self.method).unwrap_or("_OTHER")),
            ),
            ("url.scheme", text(scheme)),
            ("url.path", text(self.uri.path())),
            (
                "client.address",
                Attribute::Text(self.remote.ip().to_string()),
            ),
            (
                "howdah.request_id",
                Attribute::Text(format!("{:016x}", self.id)),
            ),
        ];
        if method_name(&self.method).is_none() {
            let method = text(self.method.as_str());
            attributes.push(("http.request.method_original", method));
        }
        if let Some(version) = protocol_version(self.version) {
            attributes.push(("network.protocol.version", text(version)));
        }
        if let Some(agent) = &self.user_agent {
            let agent = String::from_utf8_lossy(agent.as_bytes());
            attributes.push(("user_agent.original", Attribute::Text(agent.into_owned())));
        }
        if let Some(query) = self.uri.query() {
            attributes.push(("url.query", text(query)));
        }
        let host = self.host.as_ref().and_then(|host| host.to_str().ok());
        if let Some(host) = host.and_then(Host::parse) {
            let name = host.name.trim_start_matches('[').trim_end_matches(']');
            let port = host.port.unwrap_or(usual_port);
            attributes.push(("server.address", text(name)));
            attributes.push(("server.port", Attribute::Number(port.into())));
        }
        if self.status.get() > 0 {
            let status = Attribute::Number(self.status.get().into());
            attributes.push(("http.response.status_code", status));
        }
        if self.status.get() >= 500 {
            attributes.push(("error.type", text(&self.status.get().to_string())));
        }
        if let Some(usage) = self.usage() {
            attributes.push(("howdah.queue_us", micros(usage.queue)));
            let received = self.received.get();
            if let Some(usage) = &usage.usage {
                usage_attributes(usage, received, &mut attributes);
            }
        }
        attributes
    }
}

/// Span attributes: what a request cost in PHP, and the size of its body.
fn usage_attributes(
    usage: &PhpUsage,
    received: u64,
    attributes: &mut Vec<(&'static str, Attribute)>,
) {
    let number = |number: u64| Attribute::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let script = &usage.script;
    attributes.extend([
        ("http.request.body.size", number(received)),
        ("howdah.php_us", micros(usage.time)),
        ("howdah.cpu_us", micros(script.cpu)),
        ("howdah.database_us", micros(script.database)),
        ("howdah.database_queries", number(script.queries.into())),
        ("howdah.memory_peak", number(script.memory_peak)),
    ]);
}

fn micros(time: Duration) -> Attribute {
    Attribute::Number(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

impl ProgressSink for Record {
    fn on_claim(&self, claimed_ns: u64, worker: u16) {
        // The worker's time is accepted as far as it is plausible.
        let claimed = claimed_ns.clamp(self.called.get(), now_ns().max(self.called.get()));
        self.claimed.set(claimed);
        self.worker.set(Some(worker));
    }

    fn on_crash(&self) {
        let claimed = self.claimed.take();
        if claimed > 0 {
            self.crashed.borrow_mut().push((claimed, now_ns()));
        }
        self.worker.set(None);
    }

    fn on_usage(&self, usage: ScriptUsage) {
        self.usage.set(Some(usage));
    }

    fn on_done(&self) {
        let (pool, now) = (self.pool.get(), now_ns());
        self.done.set(now);
        if self.claimed.get() == 0 {
            return;
        }
        let observer = &self.observer;
        observer.phase(pool, Phase::Queue, self.queue());
        observer.phase(pool, Phase::Php, between(self.claimed.get(), now));
    }
}

/// The host that a request names, before it is validated.
fn host(parts: &Parts) -> Option<HeaderValue> {
    match parts.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => parts.headers.get(http::header::HOST).cloned(),
    }
}

/// Nothing if it has not begun.
fn between(from: u64, to: u64) -> Duration {
    match from {
        0 => Duration::ZERO,
        from => Duration::from_nanos(to.saturating_sub(from)),
    }
}

/// A time, or another if it is not known.
fn or(time: u64, other: u64) -> u64 {
    if time == 0 { other } else { time }
}

/// The clock of the PHP processes.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
