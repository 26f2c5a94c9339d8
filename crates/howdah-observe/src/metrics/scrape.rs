//! Renders a scrape as text.
//!
//! Names that start with `howdah_` are ours, those with `frankenphp_` are FrankenPHP's with its meaning, so that
//! dashboards made for it work; for those with `caddy_` see that module. FrankenPHP's counters lack the suffix
//! `_total`, which the format requires for counters; they are written as gauges, which `rate()` accepts.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::front::{METHODS, Measures, PHASES, PROTOCOLS, STATUSES};
use super::page::{CertificateTimes, FRONT, HubCounts, Page};
use super::process::Process;
use super::writer::{Writer, histogram};
use super::{caddy, frankenphp, opcache, workers};

impl Page {
    /// Renders the page in the text format of `OpenMetrics`.
    pub fn render(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(PageCollector(Mutex::new(self))));
        let mut text = String::with_capacity(16 << 10);
        // Writing to a `String` cannot fail.
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
        workers::encode(&mut writer, &page)?;
        opcache::encode(&mut writer, &page)?;
        frankenphp::encode(&mut writer, &page)?;
        caddy::encode(&mut writer, &page)?;
        hubs(&mut writer, &page)?;
        server(&mut writer, &page)?;
        process(&mut writer, &page.process)
    }
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
    let certificates = |time: fn(&CertificateTimes) -> u64| {
        let hosts = page.certificates.iter();
        hosts.map(move |(host, own)| (vec![("host", host.as_str())], time(own)))
    };
    writer.gauges(
        "howdah_tls_certificate_expiry_timestamp_seconds",
        "Expiry of the certificate that is served for a host, in seconds since 1970.",
        certificates(|own| own.until),
    )?;
    writer.gauges(
        "howdah_tls_certificate_renewal_deadline_timestamp_seconds",
        "Time by which the certificate that is served for a host should have been renewed, in seconds since 1970.",
        certificates(|own| own.renewal_deadline),
    )
}

/// Activity of the front threads.
fn requests(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    connections(writer, page)?;
    writer.gauge(
        "howdah_http_requests_in_flight",
        "Requests in flight.",
        page.in_flight,
    )?;
    let Some(measures) = &page.measures else {
        return Ok(());
    };
    request_counts(writer, page, measures)?;
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
    durations(writer, page, measures)
}

/// Client connections by protocol.
fn connections(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
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
    )
}

/// The pool of a row of measures, or the front itself.
fn row_name(page: &Page, row: usize) -> &str {
    page.counted.get(row).map_or(FRONT, String::as_str)
}

/// Requests by pool, method and status. Rows without a request are left out, which keeps the page of an idle server
/// short.
fn request_counts(writer: &mut Writer<'_>, page: &Page, measures: &Measures) -> fmt::Result {
    let counts = (0..=measures.pools()).flat_map(|index| {
        let counts = measures.requests(index);
        counts
            .filter(|(_, _, count)| *count > 0)
            .map(move |(method, status, count)| {
                let labels = vec![
                    ("pool", row_name(page, index)),
                    ("method", METHODS[method]),
                    ("status", STATUSES[status]),
                ];
                (labels, count)
            })
    });
    writer.counters(
        "howdah_http_requests",
        "Requests that have ended, by pool (or the front itself), method and class of status.",
        counts,
    )
}

/// Histograms of whole requests, of routes, and of the phases of PHP requests.
fn durations(writer: &mut Writer<'_>, page: &Page, measures: &Measures) -> fmt::Result {
    writer.family(
        "howdah_http_request_duration_seconds",
        "From the end of a request's header to the end of its response, by class of status.",
        MetricType::Histogram,
        |family| {
            for index in 0..=measures.pools() {
                for (class, status) in STATUSES.iter().enumerate() {
                    let labels = [("pool", row_name(page, index)), ("status", *status)];
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
                    let labels = [("pool", row_name(page, index)), ("phase", phase.name())];
                    histogram(family, &measures.phase(index, phase), &labels)?;
                }
            }
            Ok(())
        },
    )
}

/// The Mercure hubs, by their position in the configuration. The first three names are those of the original Mercure
/// hub.
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

/// What the server dropped, its configuration, and this build.
fn server(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
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
        "1 if the last configuration was loaded, 0 if it was rejected.",
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
    )
}

/// The front's process.
fn process(writer: &mut Writer<'_>, process: &Process) -> fmt::Result {
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
        (
            "process_max_fds",
            "Limit of open descriptors.",
            process.max_fds,
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            writer.gauge(name, help, value)?;
        }
    }
    Ok(())
}
