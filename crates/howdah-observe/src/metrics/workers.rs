//! The pools of PHP: their processes, their queues, and their failures.

use std::fmt;

use prometheus_client::metrics::MetricType;

use super::opcache;
use super::page::{Page, Pool, Worker, WorkerState};
use super::writer::{Sample, Writer};

const STATES: [(WorkerState, &str); 4] = [
    (WorkerState::Booting, "booting"),
    (WorkerState::Ready, "ready"),
    (WorkerState::Busy, "busy"),
    (WorkerState::Stopping, "stopping"),
];

pub(super) fn encode(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    processes(writer, page)?;
    places(writer, page)?;
    concurrency(writer, page)?;
    queue(writer, page)?;
    starts_and_exits(writer, page)?;
    unserved_requests(writer, page)?;
    request_ends(writer, page)?;
    opcache::preloads(writer, page)?;
    boots_and_reloads(writer, page)?;
    crashes(writer, page)?;
    replacements(writer, page)
}

fn by_pool(page: &Page, value: fn(&Pool) -> u64) -> impl Iterator<Item = Sample<'_>> {
    let pools = page.pools.iter();
    pools.map(move |pool| (vec![("pool", pool.name.as_str())], value(pool)))
}

/// Counts of each pool, by the values of `label`.
fn by_label<'p, K: AsRef<str> + 'p>(
    page: &'p Page,
    label: &'static str,
    counts: impl Fn(&'p Pool) -> &'p [(K, u64)],
) -> impl Iterator<Item = Sample<'p>> {
    page.pools.iter().flat_map(move |pool| {
        counts(pool).iter().map(move |(key, count)| {
            let labels = vec![("pool", pool.name.as_str()), (label, key.as_ref())];
            (labels, *count)
        })
    })
}

fn processes(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
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
        "Target number of PHP processes.",
        by_pool(page, |pool| pool.wanted),
    )
}

/// One value for each place in a pool.
fn places(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let workers: Vec<(&Pool, &Worker, String)> = page
        .pools
        .iter()
        .flat_map(|pool| {
            let workers = pool.workers.iter();
            workers.map(move |worker| (pool, worker, worker.place.to_string()))
        })
        .collect();
    let memory = workers.iter().map(|(pool, worker, place)| {
        let labels = vec![("pool", pool.name.as_str()), ("place", place.as_str())];
        (labels, worker.memory)
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
            for (pool, worker, place) in &workers {
                let Some(hold) = worker.longest_hold else {
                    continue;
                };
                let labels = [("pool", pool.name.as_str()), ("place", place.as_str())];
                let mut gauge = family.encode_family(&labels)?;
                gauge.encode_gauge(&hold.as_secs_f64())?;
            }
            Ok(())
        },
    )
}

/// Why a pool with `concurrency` runs one request at a time.
fn concurrency(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.gauges(
        "howdah_php_sequential_workers",
        "PHP processes that run one request at a time although their pool has `concurrency`, because PHP cannot run \
        several.",
        by_pool(page, |pool| pool.sequential),
    )?;
    let causes = page.pools.iter().filter_map(|pool| {
        let cause = pool.sequential_cause.as_deref()?;
        Some((vec![("pool", pool.name.as_str()), ("cause", cause)], 1))
    });
    writer.gauges(
        "howdah_php_concurrency_fallback_info",
        "1 for a pool with `concurrency` whose workers run one request at a time, with the cause.",
        causes,
    )
}

fn queue(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.gauges(
        "howdah_php_queue_length",
        "Requests that wait for a worker.",
        by_pool(page, |pool| pool.queue),
    )?;
    writer.gauges(
        "howdah_php_queue_waiters",
        "Requests that wait and have no slot of shared memory yet.",
        by_pool(page, |pool| pool.waiters),
    )?;
    writer.gauges(
        "howdah_php_requests_in_flight",
        "Requests that wait for a worker or run.",
        by_pool(page, |pool| pool.in_flight),
    )?;
    writer.gauges(
        "howdah_php_slots",
        "Slots of shared memory.",
        by_pool(page, |pool| pool.slots),
    )
}

fn starts_and_exits(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counters(
        "howdah_php_workers_started",
        "PHP processes that were started.",
        by_pool(page, |pool| pool.started),
    )?;
    writer.counters(
        "howdah_php_workers_ended",
        "PHP processes that exited, by reason.",
        by_label(page, "reason", |pool| &pool.ended),
    )
}

/// Requests that no worker claimed.
fn unserved_requests(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counters(
        "howdah_php_requests_refused",
        "Requests refused with 503 because no worker took them, by reason.",
        by_label(page, "reason", |pool| &pool.refused),
    )?;
    writer.counters(
        "howdah_php_requests_abandoned",
        "Requests whose clients disconnected before a worker took them: still queued, or dropped.",
        by_label(page, "outcome", |pool| &pool.abandoned),
    )
}

/// How requests ended, and what they left behind.
fn request_ends(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let exits = page.pools.iter().flat_map(|pool| {
        pool.exits.iter().map(|((outcome, reason), count)| {
            let pool = ("pool", pool.name.as_str());
            let labels = vec![pool, ("outcome", *outcome), ("reason", *reason)];
            (labels, *count)
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
        by_pool(page, |pool| pool.spooled),
    )?;
    writer.counters(
        "howdah_php_leaks_found",
        "Places where requests left state behind, found by detect_leaks.",
        by_pool(page, |pool| pool.leaks),
    )
}

fn boots_and_reloads(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counters(
        "howdah_php_boots_failed",
        "Boots of applications that failed.",
        by_pool(page, |pool| pool.boots_failed),
    )?;
    let reloads = page.pools.iter().flat_map(|pool| {
        let labels = |result| vec![("pool", pool.name.as_str()), ("result", result)];
        let (done, failed) = pool.reloads;
        [(labels("done"), done), (labels("failed"), failed)]
    });
    writer.counters("howdah_php_reloads", "Reloads, by result.", reloads)
}

fn crashes(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counters(
        "howdah_php_crashes",
        "Crashes of PHP processes by the route of the request that ran: method and path; (other) beyond a number.",
        by_label(page, "route", |pool| &pool.crashes),
    )?;
    writer.gauges(
        "howdah_php_quarantined_routes",
        "Routes whose requests are refused after crashes.",
        by_pool(page, |pool| pool.quarantined),
    )
}

/// Replacements after a fault: of shared memory, and of the root process.
fn replacements(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    writer.counters(
        "howdah_php_segments_replaced",
        "Replacements of shared memory after a PHP process had corrupted it.",
        by_pool(page, |pool| pool.segments_replaced),
    )?;
    writer.counter(
        "howdah_php_root_restarts",
        "Times that the root process of PHP was restarted.",
        page.root_restarts,
    )
}
