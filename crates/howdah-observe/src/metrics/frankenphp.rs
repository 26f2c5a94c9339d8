//! `FrankenPHP`'s metrics. Its threads are our processes; regular ones are those without a worker script.

use std::fmt;

use prometheus_client::metrics::MetricType;

use super::front::Phase;
use super::page::{Page, Pool, WorkerState};
use super::writer::{Writer, seconds};

pub(super) fn encode(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    threads(writer, page)?;
    workers(writer, page)?;
    request_times(writer, page)
}

/// The pools that run a worker script.
fn script_pools(page: &Page) -> impl Iterator<Item = &Pool> {
    page.pools.iter().filter(|pool| pool.worker_script)
}

fn threads(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let all = |count: fn(&Pool) -> u64| page.pools.iter().map(count).sum();
    let regular = page.pools.iter().filter(|pool| !pool.worker_script);
    writer.gauge(
        "frankenphp_total_threads",
        "Total number of PHP threads (here: processes).",
        all(|pool| pool.workers.len() as u64),
    )?;
    writer.gauge(
        "frankenphp_busy_threads",
        "Number of busy PHP threads (here: processes).",
        all(|pool| pool.count(WorkerState::Busy)),
    )?;
    writer.gauge(
        "frankenphp_queue_depth",
        "Number of regular queued requests.",
        regular.map(|pool| pool.queue).sum(),
    )
}

fn workers(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let each = |value: fn(&Pool) -> u64| {
        script_pools(page).map(move |pool| (vec![("worker", pool.name.as_str())], value(pool)))
    };
    writer.gauges(
        "frankenphp_total_workers",
        "Total number of PHP workers for this worker.",
        each(|pool| pool.workers.len() as u64),
    )?;
    writer.gauges(
        "frankenphp_busy_workers",
        "Number of busy PHP workers for this worker.",
        each(|pool| pool.count(WorkerState::Busy)),
    )?;
    writer.gauges(
        "frankenphp_ready_workers",
        "Running workers that have successfully called frankenphp_handle_request at least once.",
        each(|pool| pool.count(WorkerState::Ready) + pool.count(WorkerState::Busy)),
    )?;
    writer.gauges(
        "frankenphp_worker_crashes",
        "Number of PHP worker crashes for this worker.",
        each(|pool| pool.ended("crashed") + pool.ended("fatal") + pool.ended("killed")),
    )?;
    writer.gauges(
        "frankenphp_worker_restarts",
        "Number of PHP worker restarts for this worker.",
        each(|pool| pool.ended("recycled")),
    )?;
    writer.gauges(
        "frankenphp_worker_queue_depth",
        "Number of queued requests for this worker.",
        each(|pool| pool.queue),
    )
}

fn request_times(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let Some(measures) = &page.measures else {
        return Ok(());
    };
    let php = || {
        script_pools(page).filter_map(|pool| {
            let row = page.counted.iter().position(|name| *name == pool.name)?;
            let summed = measures.phase(row, Phase::Php);
            Some(([("worker", pool.name.as_str())], summed))
        })
    };
    writer.family(
        "frankenphp_worker_request_time",
        "Total time spent processing requests by this worker, in seconds.",
        MetricType::Gauge,
        |family| {
            for (labels, summed) in php() {
                let mut own = family.encode_family(&labels)?;
                own.encode_gauge(&seconds(summed.sum_ns))?;
            }
            Ok(())
        },
    )?;
    writer.family(
        "frankenphp_worker_request_count",
        "Total number of requests processed by this worker.",
        MetricType::Gauge,
        |family| {
            for (labels, summed) in php() {
                family
                    .encode_family(&labels)?
                    .encode_gauge(&summed.count())?;
            }
            Ok(())
        },
    )
}
