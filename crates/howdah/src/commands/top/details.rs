//! Details of an opened row.

use super::snapshot::{Leak, Line, Pool, Request, RequestGroup, SlowRequest, Worker};
use crate::commands::report::{micros, printable, size, time};

pub(super) fn pool(pool: &Pool) -> Vec<String> {
    let counts = |counts: &std::collections::BTreeMap<String, u64>| {
        let counts = counts.iter().filter(|(_, count)| **count > 0);
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        if counts.is_empty() {
            "none".to_owned()
        } else {
            counts.join(", ")
        }
    };
    let mut lines = vec![
        format!("processes since the start: {}", counts(&pool.counters)),
        format!("refused with 503: {}", counts(&pool.refused)),
    ];
    let failure = pool.failure.iter().flat_map(|failure| failure.lines());
    lines.extend(failure.map(|line| format!("! {}", printable(line))));
    lines
}

pub(super) fn worker(pool: &Pool, worker: &Worker, request: Option<&str>) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} {}: process {}, {} for {}",
            printable(&pool.name),
            worker.place,
            worker.pid,
            worker.state,
            time(worker.age_ms)
        ),
        format!(
            "{} requests, {} after the last one",
            worker.requests,
            size(worker.memory)
        ),
    ];
    if let (Some(own), Some(request)) = (&worker.request, request) {
        let id = printable(&own.id);
        lines.push(format!("runs {request} for {} ({id})", time(own.since_ms)));
    }
    lines
}

/// What it waits for, and where PHP is, if known.
pub(super) fn doing(request: &Request) -> Vec<String> {
    let wait = request.wait.as_ref().map(|wait| &*wait.text);
    let top = request.top.as_deref().filter(|top| !top.is_empty());
    wait.into_iter().chain(top).map(printable).collect()
}

pub(super) fn request(request: &Request) -> Vec<String> {
    let mut lines = vec![
        printable(&format!("{} {}", request.method, request.uri)),
        format!("host {}", printable(&request.host)),
        format!(
            "id {}, client {}{}, {} since {}",
            printable(&request.id),
            printable(&request.remote),
            request.client.suffix(),
            printable(&request.phase),
            time(request.age_ms)
        ),
    ];
    let route = request.route.as_deref();
    let route = route.map(|route| format!("route {}", printable(route)));
    let memory = request.memory.map(|own| format!("memory {}", size(own)));
    let known: Vec<String> = route.into_iter().chain(memory).collect();
    if !known.is_empty() {
        lines.push(known.join(", "));
    }
    lines.extend(doing(request));
    lines
}

pub(super) fn group(group: &RequestGroup) -> Vec<String> {
    let mut lines = vec![
        printable(&group.name),
        format!(
            "{} requests, {} with 4xx, {} with 5xx",
            group.requests, group.client_errors, group.server_errors
        ),
        format!(
            "p50 {}, p95 {}, p99 {}, longest {}",
            micros(group.p50_us),
            micros(group.p95_us),
            micros(group.p99_us),
            micros(group.largest_us)
        ),
        format!(
            "means: {} in the queue, {} in PHP",
            micros(group.queue_mean_us),
            micros(group.php_mean_us)
        ),
    ];
    if let Some(memory) = &group.memory {
        let (mean, largest) = (size(memory.mean), size(memory.largest));
        lines.push(format!("memory: {mean} on average, {largest} at most"));
    }
    lines
}

pub(super) fn slow(slow: &SlowRequest) -> Vec<String> {
    let mut lines = vec![
        printable(&slow.title),
        format!(
            "{} in PHP, pool {}, id {}",
            time(slow.age_ms),
            printable(&slow.pool),
            printable(&slow.id)
        ),
    ];
    if !slow.outcome().is_empty() {
        lines.push(format!("ended: {}", printable(&slow.outcome())));
    }
    lines.extend(slow.places.iter().map(|place| {
        let when = if place.samples > 1 {
            let (from, to) = (time(place.from_ms), time(place.to_ms));
            format!("{from} to {to}, {} samples", place.samples)
        } else {
            format!("at {}", time(place.from_ms))
        };
        format!("  {when}: {}", printable(&place.frames))
    }));
    lines
}

pub(super) fn leak(leak: &Leak) -> Vec<String> {
    let mut lines = vec![
        format!("{}: {}", printable(&leak.kind), printable(&leak.path)),
        format!("{}: {}", printable(&leak.why), printable(&leak.value)),
    ];
    if let Some(count) = leak.count {
        let before = leak.count_before.unwrap_or(0);
        lines.push(format!("size {count}, {before} before the request"));
    }
    if let Some(member) = &leak.member {
        lines.push(format!("belongs to {}", printable(member)));
    }
    if let Some(file) = &leak.file {
        let line = leak
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        lines.push(format!("declared at {}{line}", printable(file)));
    }
    let id = leak.request.as_deref().unwrap_or("-");
    lines.push(printable(&format!(
        "left by {} {} ({id})",
        leak.method, leak.uri
    )));
    lines
}

pub(super) fn line(line: &Line) -> Vec<String> {
    let mut lines: Vec<String> = line.msg.lines().map(printable).collect();
    lines.push(format!("logger {}", line.logger));
    lines.extend(line.fields.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), printable);
        format!("{} {value}", printable(name))
    }));
    lines
}

/// Time of day, UTC, as in the log on a terminal.
#[expect(clippy::cast_sign_loss, reason = "seconds since 1970")]
pub(super) fn clock(ts: f64) -> String {
    let seconds = ts as u64 % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
