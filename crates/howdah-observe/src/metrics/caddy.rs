//! Metrics with Caddy's names, so that dashboards made for it show requests, times and traffic. The label `server` is
//! always the same.
//!
//! Left out are labels and metrics that would have to be invented: the label `handler`, `host` except for the number of
//! requests, `code` except for those without `host`, times to the first byte, sizes of requests with their headers, and
//! errors of handlers.

use std::fmt;

use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;

use super::front::{HistogramSum, METHODS, Measures, STATUSES};
use super::page::Page;
use super::writer::{Writer, histogram};

const SERVER: (&str, &str) = ("server", "howdah");

pub(super) fn encode(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.gauge(
        "caddy_config_last_reload_successful",
        "Whether the last configuration reload attempt was successful.",
        page.config.last_successful.into(),
    )?;
    writer.gauge(
        "caddy_config_last_reload_success_timestamp_seconds",
        "Timestamp of the last successful configuration reload.",
        page.config.last_success,
    )?;
    writer.gauges(
        "caddy_http_requests_in_flight",
        "Number of requests currently handled by this server.",
        [(vec![SERVER], page.in_flight)],
    )?;
    if !page.upstreams.is_empty() {
        let upstreams = page.upstreams.iter();
        writer.gauges(
            "caddy_reverse_proxy_upstreams_healthy",
            "Health status of reverse proxy upstreams.",
            upstreams.map(|(address, healthy)| {
                (vec![("upstream", address.as_str())], u64::from(*healthy))
            }),
        )?;
    }
    let Some(measures) = &page.measures else {
        return Ok(());
    };
    requests(writer, measures)?;
    times_and_sizes(writer, measures)
}

/// Requests by method, and by host if hosts are counted, else by status.
fn requests(writer: &mut Writer<'_>, measures: &Measures) -> fmt::Result {
    let (name, about) = ("caddy_http_requests", "Counter of HTTP(S) requests made.");
    let hosts = measures.hosts();
    if hosts.is_empty() {
        let counts: Vec<_> = measures.codes().collect();
        let codes: Vec<_> = counts.iter().map(|(_, code, _)| code.to_string()).collect();
        let counts = counts.iter().zip(&codes).map(|((method, _, count), code)| {
            let labels = vec![SERVER, ("method", METHODS[*method]), ("code", code)];
            (labels, *count)
        });
        return writer.counters(name, about, counts);
    }
    let counts = hosts.iter().flat_map(|(host, counts)| {
        let counts = METHODS.iter().zip(*counts).filter(|(_, count)| *count > 0);
        counts
            .map(move |(method, count)| (vec![SERVER, ("method", *method), ("host", host)], count))
    });
    writer.counters(name, about, counts)
}

/// The time of requests and the size of their responses.
fn times_and_sizes(writer: &mut Writer<'_>, measures: &Measures) -> fmt::Result {
    let mut times = HistogramSum::default();
    for row in 0..=measures.pools() {
        for class in 0..STATUSES.len() {
            times.add(&measures.total(row, class));
        }
    }
    writer.family(
        "caddy_http_request_duration_seconds",
        "Histogram of round-trip request durations.",
        MetricType::Histogram,
        |family| histogram(family, &times, &[SERVER]),
    )?;
    // Only the sum of sizes is known, so there is one bucket.
    let sizes = [(f64::INFINITY, times.count())];
    writer.family(
        "caddy_http_response_size_bytes",
        "Size of the returned response.",
        MetricType::Histogram,
        |family| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the format has no other numbers"
            )]
            let sent = measures.sent() as f64;
            family
                .encode_family(&[SERVER])?
                .encode_histogram::<NoLabelSet>(sent, times.count(), &sizes, None)
        },
    )
}
