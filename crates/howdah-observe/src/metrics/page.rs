//! A scrape: all values at one moment, as text.
//!
//! Names that begin with `howdah_` are ours, those with `frankenphp_` are FrankenPHP's with its meaning, so
//! that dashboards made for it work; for those with `caddy_` see there. FrankenPHP's counters have no `_total`
//! at the end, which the format demands of counters; they are written as gauges, and `rate()` does not mind.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::caddy;
use super::frankenphp;
use super::front::{BOUNDS, HistogramSum, METHODS, Measures, PHASES, PROTOCOLS, STATUSES};
use super::opcache::{self, OpcacheCounts, Preload};
use super::process::Process;

/// Label of what the front answers without PHP.
pub const FRONT: &str = "(front)";

/// Everything that a scrape shows.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Version of Howdah.
    pub version: String,
    /// Version of PHP.
    pub php: String,
    /// In the order of the configuration.
    pub pools: Vec<Pool>,
    /// Names of the pools in the order of the front's counters; pools of earlier configurations stay.
    pub counted: Vec<String>,
    /// Client connections.
    pub connections: Connections,
    /// TLS handshakes since the start, in the order of [`Handshake`](super::Handshake).
    pub handshakes: [u64; 3],
    /// Hosts with HTTPS that have a certificate, and when it ends in seconds since 1970.
    pub certificates: Vec<(String, u64)>,
    /// Upstreams, and whether they get requests.
    pub upstreams: Vec<(String, bool)>,
    /// Requests whose response is not over.
    pub in_flight: u64,
    /// What the front threads counted; `None`: metrics of requests are not on.
    pub measures: Option<Arc<Measures>>,
    /// Lines of access logs that were lost.
    pub log_lines_lost: u64,
    /// Spans that were lost.
    pub spans_lost: u64,
    /// Times that the root process of PHP was restarted.
    pub root_restarts: u64,
    /// The Mercure hubs, in the order of the configuration.
    pub hubs: Vec<HubCounts>,
    /// Reloads of the configuration.
    pub config: ConfigReloads,
    /// OPcache of the processes that serve; `None`: it is off, or has not been looked at.
    pub opcache: Option<OpcacheCounts>,
    /// Of the front.
    pub process: Process,
}

/// How the configuration came to be in force.
#[derive(Debug, Clone, Copy)]
pub struct ConfigReloads {
    /// The last attempt to load one succeeded; the start is one.
    pub last_successful: bool,
    /// Seconds since 1970 of the last that did.
    pub last_success: u64,
}

impl Default for ConfigReloads {
    fn default() -> Self {
        Self {
            last_successful: true,
            last_success: 0,
        }
    }
}

/// What a Mercure hub has done.
#[derive(Debug, Clone, Copy, Default)]
pub struct HubCounts {
    /// Subscribers at the moment.
    pub subscribers: u64,
    /// Subscribers since the start.
    pub accepted: u64,
    /// Updates since the start.
    pub updates: u64,
    /// Subscribers that were dropped because they did not keep up.
    pub dropped: u64,
}

/// Client connections by protocol, in the order HTTP/1.1, HTTP/2, HTTP/3.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connections {
    /// That are open.
    pub open: [u64; 3],
    /// Since the start.
    pub accepted: [u64; 3],
}

/// One pool.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// It runs a worker script.
    pub worker_script: bool,
    /// Its processes.
    pub workers: Vec<Worker>,
    /// Processes that there should be.
    pub wanted: u64,
    /// Processes that run one request at a time although the pool has `concurrency`.
    pub sequential: u64,
    /// Why they do.
    pub sequential_cause: Option<String>,
    /// Crashes by the route of the request that ran; the number of routes is limited.
    pub crashes: Vec<(String, u64)>,
    /// Routes in quarantine.
    pub quarantined: u64,
    /// Requests that wait for a worker.
    pub queue: u64,
    /// Those of them that have no slot yet.
    pub waiters: u64,
    /// Requests that wait or run.
    pub in_flight: u64,
    /// Slots of shared memory.
    pub slots: u64,
    /// Processes that were started.
    pub started: u64,
    /// Ends of processes by reason.
    pub ended: Vec<(&'static str, u64)>,
    /// Boots that failed.
    pub boots_failed: u64,
    /// Reloads that were done, and those that failed.
    pub reloads: (u64, u64),
    /// Replacements of the pool's shared memory after a process had corrupted it.
    pub segments_replaced: u64,
    /// Requests answered 503, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Requests whose clients left before a worker took them, by what became of them.
    pub abandoned: Vec<(&'static str, u64)>,
    /// Responses that a file took for slow clients.
    pub spooled: u64,
    /// Places where requests left state behind.
    pub leaks: u64,
    /// Requests whose code was unwound, by what became of the worker and why.
    pub exits: Vec<((&'static str, &'static str), u64)>,
    /// What is preloaded for its requests; `None`: nothing is to be.
    pub preload: Option<Preload>,
}

/// One PHP process.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    /// Its place in the pool.
    pub place: u16,
    /// What it does.
    pub state: WorkerState,
    /// Bytes of PHP's allocator after its last request.
    pub memory: u64,
    /// The longest that one of several requests has kept the others waiting, of late. None where it has one
    /// request at a time.
    pub longest_hold: Option<Duration>,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// On its way up.
    Booting,
    /// It waits for a request.
    Ready,
    /// It runs one.
    Busy,
    /// On its way out.
    Stopping,
}

const STATES: [(WorkerState, &str); 4] = [
    (WorkerState::Booting, "booting"),
    (WorkerState::Ready, "ready"),
    (WorkerState::Busy, "busy"),
    (WorkerState::Stopping, "stopping"),
];

impl Pool {
    pub(super) fn count(&self, state: WorkerState) -> u64 {
        let workers = self.workers.iter();
        workers.filter(|worker| worker.state == state).count() as u64
    }

    pub(super) fn ended(&self, reason: &str) -> u64 {
        let ended = self.ended.iter();
        ended
            .filter(|(known, _)| *known == reason)
            .map(|(_, count)| count)
            .sum()
    }
}

impl Page {
    /// The page.
    pub fn render(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(PageCollector(Mutex::new(self))));
        let mut text = String::with_capacity(16 << 10);
        // A `String` takes all that is written to it.
        match prometheus_client::encoding::text::encode(&mut text, &registry) {
            Ok(()) | Err(fmt::Error) => text,
        }
    }
}

/// The crate requires `Sync`; it is never contended.
#[derive(Debug)]
struct PageCollector(Mutex<Page>);

impl Collector for PageCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = Writer(encoder);
        tls(&mut writer, &page)?;
        requests(&mut writer, &page)?;
        workers(&mut writer, &page)?;
        opcache::encode(&mut writer, &page)?;
        frankenphp::encode(&mut writer, &page)?;
        caddy::encode(&mut writer, &page)?;
        hubs(&mut writer, &page)?;
        process(&mut writer, &page)
    }
}

/// Labels and a value.
pub(super) type Sample<'l> = (Vec<(&'static str, &'l str)>, u64);

pub(super) struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, None, kind)?)
    }

    /// `name` without `_total`.
    pub(super) fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |family| {
            for (labels, value) in values {
                let mut own = family.encode_family(&labels)?;
                own.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
            }
            Ok(())
        })
    }

    pub(super) fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |family| {
            for (labels, value) in values {
                family.encode_family(&labels)?.encode_gauge(&value)?;
            }
            Ok(())
        })
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |own| {
            own.encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |own| {
            own.encode_gauge(&value)
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "fractions of seconds")]
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Handshakes and certificates, if there is HTTPS.
fn tls(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    if page.certificates.is_empty() && page.handshakes == [0; 3] {
        return Ok(());
    }
    let labels = [("1.2", "done"), ("1.3", "done"), ("unknown", "failed")];
    let handshakes = labels.into_iter().zip(page.handshakes);
    writer.counters(
        "howdah_tls_handshakes",
        "TLS handshakes, those of HTTP/3 included, by version and result.",
        handshakes.map(|((version, result), count)| {
            (vec![("version", version), ("result", result)], count)
        }),
    )?;
    let certificates = page.certificates.iter();
    writer.gauges(
        "howdah_tls_certificate_expiry_timestamp_seconds",
        "Expiry of the certificate that is served for a host, in seconds since 1970.",
        certificates.map(|(host, until)| (vec![("host", host.as_str())], *until)),
    )
}

/// What the front threads did. Rows without a request are left out, so that a page is as long as a
/// server is used.
fn requests(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let protocols = |numbers: [u64; 3]| {
        PROTOCOLS
            .iter()
            .zip(numbers)
            .map(|(protocol, number)| (vec![("protocol", protocol.name())], number))
    };
    writer.gauges(
        "howdah_http_connections",
        "Open client connections.",
        protocols(page.connections.open),
    )?;
    writer.counters(
        "howdah_http_connections_accepted",
        "Client connections since the start.",
        protocols(page.connections.accepted),
    )?;
    writer.gauge(
        "howdah_http_requests_in_flight",
        "Requests in flight.",
        page.in_flight,
    )?;
    let Some(measures) = &page.measures else {
        return Ok(());
    };
    let row = |row: usize| page.counted.get(row).map_or(FRONT, String::as_str);
    let rows = 0..=measures.pools();
    let counts = rows.clone().flat_map(|index| {
        let counts = measures.requests(index);
        counts
            .filter(|(_, _, count)| *count > 0)
            .map(move |(method, status, count)| {
                let labels = vec![
                    ("pool", row(index)),
                    ("method", METHODS[method]),
                    ("status", STATUSES[status]),
                ];
                (labels, count)
            })
    });
    writer.counters(
        "howdah_http_requests",
        "Requests that are over, by pool (or the front itself), method and class of status.",
        counts,
    )?;
    writer.counter(
        "howdah_http_response_body_bytes",
        "Bytes of response bodies handed to connections.",
        measures.sent(),
    )?;
    writer.counter(
        "howdah_http_request_body_bytes",
        "Bytes of request bodies that were read.",
        measures.received(),
    )?;
    writer.family(
        "howdah_http_request_duration_seconds",
        "From the end of a request's header to the end of its response, by class of status.",
        MetricType::Histogram,
        |family| {
            for index in rows.clone() {
                for (class, status) in STATUSES.iter().enumerate() {
                    let labels = [("pool", row(index)), ("status", *status)];
                    histogram(family, &measures.total(index, class), &labels)?;
                }
            }
            Ok(())
        },
    )?;
    if !measures.routes().is_empty() {
        writer.family(
            "howdah_http_route_duration_seconds",
            "From the end of a request's header to the end of its response, by route; exemplars are traces.",
            MetricType::Histogram,
            |family| measures.routes().encode(family),
        )?;
    }
    writer.family(
        "howdah_php_phase_duration_seconds",
        "Parts of a PHP request's time: waiting for a worker, in PHP, sending what PHP had made.",
        MetricType::Histogram,
        |family| {
            for index in 0..measures.pools() {
                for phase in PHASES {
                    let labels = [("pool", row(index)), ("phase", phase.name())];
                    histogram(family, &measures.phase(index, phase), &labels)?;
                }
            }
            Ok(())
        },
    )
}

#[expect(clippy::cast_precision_loss, reason = "bounds are small")]
pub(super) fn histogram(
    family: &mut MetricEncoder<'_>,
    summed: &HistogramSum,
    labels: &[(&str, &str)],
) -> fmt::Result {
    let count = summed.count();
    if count == 0 {
        return Ok(());
    }
    let bounds = BOUNDS
        .iter()
        .map(|micros| *micros as f64 / 1e6)
        .chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(summed.buckets).collect();
    family
        .encode_family(&labels)?
        .encode_histogram::<NoLabelSet>(seconds(summed.sum_ns), count, &buckets, None)
}

/// What the pools do.
fn workers(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let each = |value: fn(&Pool) -> u64| {
        page.pools
            .iter()
            .map(move |pool| (vec![("pool", pool.name.as_str())], value(pool)))
    };
    let states = page.pools.iter().flat_map(|pool| {
        STATES.iter().map(|(state, name)| {
            let labels = vec![("pool", pool.name.as_str()), ("state", *name)];
            (labels, pool.count(*state))
        })
    });
    writer.gauges(
        "howdah_php_workers",
        "PHP processes by what they do: booting, ready (waiting for a request), busy, stopping.",
        states,
    )?;
    writer.gauges(
        "howdah_php_workers_wanted",
        "PHP processes that there should be now.",
        each(|pool| pool.wanted),
    )?;
    let places: Vec<Vec<String>> = page
        .pools
        .iter()
        .map(|pool| {
            let places = pool.workers.iter();
            places.map(|worker| worker.place.to_string()).collect()
        })
        .collect();
    let memory = page.pools.iter().zip(&places).flat_map(|(pool, places)| {
        pool.workers.iter().zip(places).map(|(worker, place)| {
            let labels = vec![("pool", pool.name.as_str()), ("place", place.as_str())];
            (labels, worker.memory)
        })
    });
    writer.gauges(
        "howdah_php_worker_memory_bytes",
        "What PHP's allocator held after the last request, by the worker's place in its pool.",
        memory,
    )?;
    writer.family(
        "howdah_php_longest_hold_seconds",
        "Longest time that a request of a concurrent worker blocked the others, by the worker's place in its pool. \
        A value stays for 60 to 90 seconds: scrape at least once a minute.",
        MetricType::Gauge,
        |family| {
            for (pool, places) in page.pools.iter().zip(&places) {
                for (worker, place) in pool.workers.iter().zip(places) {
                    let Some(hold) = worker.longest_hold else {
                        continue;
                    };
                    let labels = [("pool", pool.name.as_str()), ("place", place.as_str())];
                    let mut own = family.encode_family(&labels)?;
                    own.encode_gauge(&hold.as_secs_f64())?;
                }
            }
            Ok(())
        },
    )?;
    writer.gauges(
        "howdah_php_sequential_workers",
        "PHP processes that run one request at a time although their pool has `concurrency`, because PHP cannot run \
        several.",
        each(|pool| pool.sequential),
    )?;
    let causes = page.pools.iter().filter_map(|pool| {
        let cause = pool.sequential_cause.as_deref()?;
        Some((vec![("pool", pool.name.as_str()), ("cause", cause)], 1))
    });
    writer.gauges(
        "howdah_php_concurrency_fallback_info",
        "1 for a pool with `concurrency` whose workers run one request at a time, with the cause.",
        causes,
    )?;
    writer.gauges(
        "howdah_php_queue_length",
        "Requests that wait for a worker.",
        each(|pool| pool.queue),
    )?;
    writer.gauges(
        "howdah_php_queue_waiters",
        "Requests that wait and have no slot of shared memory yet.",
        each(|pool| pool.waiters),
    )?;
    writer.gauges(
        "howdah_php_requests_in_flight",
        "Requests that wait for a worker or run.",
        each(|pool| pool.in_flight),
    )?;
    writer.gauges(
        "howdah_php_slots",
        "Slots of shared memory.",
        each(|pool| pool.slots),
    )?;
    writer.counters(
        "howdah_php_workers_started",
        "PHP processes that were started.",
        each(|pool| pool.started),
    )?;
    writer.counters(
        "howdah_php_workers_ended",
        "PHP processes that exited, by reason.",
        by_reason(page, |pool| &pool.ended),
    )?;
    writer.counters(
        "howdah_php_requests_refused",
        "Requests refused with 503 because no worker took them, by reason.",
        by_reason(page, |pool| &pool.refused),
    )?;
    let abandoned = page.pools.iter().flat_map(|pool| {
        let outcomes = pool.abandoned.iter();
        outcomes.map(|(outcome, count)| {
            let labels = vec![("pool", pool.name.as_str()), ("outcome", *outcome)];
            (labels, *count)
        })
    });
    writer.counters(
        "howdah_php_requests_abandoned",
        "Requests whose clients disconnected before a worker took them: still queued, or dropped.",
        abandoned,
    )?;
    let exits = page.pools.iter().flat_map(|pool| {
        pool.exits.iter().map(|((outcome, reason), count)| {
            let pool = ("pool", pool.name.as_str());
            (
                vec![pool, ("outcome", *outcome), ("reason", *reason)],
                *count,
            )
        })
    });
    writer.counters(
        "howdah_php_exits",
        "Requests of worker mode that were unwound, mostly by exit(), by outcome for the worker (kept, replaced) \
        and cause.",
        exits,
    )?;
    writer.counters(
        "howdah_php_responses_spooled",
        "Responses spooled to a file because their clients were slow.",
        each(|pool| pool.spooled),
    )?;
    writer.counters(
        "howdah_php_leaks_found",
        "Places where requests left state behind, found by detect_leaks.",
        each(|pool| pool.leaks),
    )?;
    opcache::preloads(writer, page)?;
    writer.counters(
        "howdah_php_boots_failed",
        "Boots of applications that failed.",
        each(|pool| pool.boots_failed),
    )?;
    let reloads = page.pools.iter().flat_map(|pool| {
        let of = |result| vec![("pool", pool.name.as_str()), ("result", result)];
        [(of("done"), pool.reloads.0), (of("failed"), pool.reloads.1)]
    });
    writer.counters("howdah_php_reloads", "Reloads, by result.", reloads)?;
    let crashes = page.pools.iter().flat_map(|pool| {
        let routes = pool.crashes.iter();
        routes.map(|(route, count)| {
            let labels = vec![("pool", pool.name.as_str()), ("route", route.as_str())];
            (labels, *count)
        })
    });
    writer.counters(
        "howdah_php_crashes",
        "Crashes of PHP processes by the route of the request that ran: method and path; (other) beyond a number.",
        crashes,
    )?;
    writer.gauges(
        "howdah_php_quarantined_routes",
        "Routes whose requests are refused after crashes.",
        each(|pool| pool.quarantined),
    )?;
    writer.counters(
        "howdah_php_segments_replaced",
        "Replacements of shared memory after a PHP process had corrupted it.",
        each(|pool| pool.segments_replaced),
    )?;
    writer.counter(
        "howdah_php_root_restarts",
        "Times that the root process of PHP was restarted.",
        page.root_restarts,
    )
}

fn by_reason<'p>(
    page: &'p Page,
    counts: impl Fn(&'p Pool) -> &'p [(&'static str, u64)],
) -> impl Iterator<Item = Sample<'p>> {
    page.pools.iter().flat_map(move |pool| {
        counts(pool).iter().map(|(reason, count)| {
            let labels = vec![("pool", pool.name.as_str()), ("reason", *reason)];
            (labels, *count)
        })
    })
}

/// The Mercure hubs, by their place in the configuration. The first three names are those of its hub.
fn hubs(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    if page.hubs.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = (0..page.hubs.len())
        .map(|index| index.to_string())
        .collect();
    let each = |value: fn(&HubCounts) -> u64| {
        let hubs = page.hubs.iter().zip(&names);
        hubs.map(move |(hub, name)| (vec![("hub", name.as_str())], value(hub)))
    };
    writer.gauges(
        "mercure_subscribers_connected",
        "Subscribers at the moment.",
        each(|hub| hub.subscribers),
    )?;
    writer.counters(
        "mercure_subscribers",
        "Subscribers since the start.",
        each(|hub| hub.accepted),
    )?;
    writer.counters(
        "mercure_updates",
        "Updates since the start.",
        each(|hub| hub.updates),
    )?;
    writer.counters(
        "howdah_mercure_subscribers_dropped",
        "Subscribers that were dropped because they did not keep up.",
        each(|hub| hub.dropped),
    )
}

/// The front's process and this build.
fn process(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counter(
        "howdah_log_lines_lost",
        "Lines of access logs that could not be written.",
        page.log_lines_lost,
    )?;
    writer.counter(
        "howdah_trace_spans_lost",
        "Spans that could not be exported.",
        page.spans_lost,
    )?;
    writer.gauge(
        "howdah_config_last_reload_successful",
        "1 if the last configuration that was to be loaded is in force, 0 if it was refused.",
        page.config.last_successful.into(),
    )?;
    writer.gauge(
        "howdah_config_last_reload_success_timestamp_seconds",
        "When the configuration in force was loaded, in seconds since 1970.",
        page.config.last_success,
    )?;
    let build = [("version", page.version.as_str()), ("php", &page.php)];
    writer.family(
        "howdah_build_info",
        "1, with the versions of Howdah and PHP.",
        MetricType::Gauge,
        |family| family.encode_family(&build)?.encode_gauge(&1_u64),
    )?;
    let process = &page.process;
    if let Some(cpu) = process.cpu {
        writer.family(
            "process_cpu_seconds",
            "User and system time of the front process.",
            MetricType::Counter,
            |own| own.encode_counter::<NoLabelSet, _, f64>(&cpu.as_secs_f64(), None),
        )?;
    }
    if let Some(start) = process.start_time {
        writer.family(
            "process_start_time_seconds",
            "When the front process was started, in seconds since 1970.",
            MetricType::Gauge,
            |own| own.encode_gauge(&start),
        )?;
    }
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Memory of the front process.",
            process.resident_memory,
        ),
        (
            "process_virtual_memory_bytes",
            "Address space of the front process.",
            process.virtual_memory,
        ),
        (
            "process_open_fds",
            "Open descriptors of the front process.",
            process.open_fds,
        ),
        ("process_max_fds", "The limit of them.", process.max_fds),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            writer.gauge(name, help, value)?;
        }
    }
    Ok(())
}
