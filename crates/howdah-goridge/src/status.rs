//! The status of a pool at a moment, with the terms of PHP's pools.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use howdah_pool::{
    AbandonmentCounts, Counters, Exits, GenerationStatus, Leaks, PoolStatus, RefusalCounts,
    RequestStatus, WorkerStatus,
};

use crate::pool::{Counts, PoolInner};
use crate::worker::Process;

pub(crate) fn status(shared: &PoolInner) -> PoolStatus {
    let current = shared.generation.load(Ordering::Relaxed);
    let counts = &shared.counts;
    let state = shared.lock();
    let workers: Vec<WorkerStatus> = state.processes.values().map(|own| worker(own)).collect();
    let count = |name: &str| workers.iter().filter(|worker| worker.state == name).count();
    let busy = workers.iter().filter(|worker| worker.in_flight > 0).count();
    let wanted = shared.options.workers;
    PoolStatus {
        name: shared.options.name.clone(),
        mode: "roadrunner",
        script: Some(shared.options.command.join(" ")),
        generation: current,
        generations: generations(&workers, current),
        php: String::new(),
        failure: state.failure.clone(),
        reloading: state.reloading,
        workers_min: wanted,
        workers_max: wanted,
        workers_wanted: wanted,
        ready: workers.len() - count("starting") - count("stopping"),
        concurrency: 1,
        sequential: 0,
        sequential_cause: None,
        busy,
        queue: state.waiting(),
        in_flight: shared.in_flight.load(Ordering::Relaxed),
        waiters: 0,
        slots: wanted,
        refused: RefusalCounts {
            queue_full: get(&counts.queue_full),
            wait_timeout: get(&counts.wait_timeout),
            not_booted: get(&counts.not_booted),
            quarantined: 0,
        },
        abandoned: AbandonmentCounts::default(),
        exits: Exits::default(),
        crashes: Vec::new(),
        spooled: 0,
        leaks: Leaks::default(),
        slow: Vec::new(),
        counters: counters(counts),
        workers,
    }
}

/// The generations that have workers, and the current one.
fn generations(workers: &[WorkerStatus], current: u32) -> Vec<GenerationStatus> {
    let mut numbers: Vec<u32> = workers.iter().map(|worker| worker.generation).collect();
    numbers.push(current);
    numbers.sort_unstable();
    numbers.dedup();
    let status = |number: u32| GenerationStatus {
        generation: number,
        state: match number.cmp(&current) {
            std::cmp::Ordering::Less => "draining",
            std::cmp::Ordering::Equal => "serving",
            std::cmp::Ordering::Greater => "booting",
        },
        pid: 0,
        boot_each: true,
        workers: workers
            .iter()
            .filter(|worker| worker.generation == number)
            .count(),
    };
    numbers.into_iter().map(status).collect()
}

fn counters(counts: &Counts) -> Counters {
    Counters {
        spawned: get(&counts.started),
        ready: get(&counts.ready),
        crashed: get(&counts.crashed),
        recycled: get(&counts.recycled),
        killed: get(&counts.killed),
        boots_failed: get(&counts.boots_failed),
        reloads: get(&counts.reloads),
        reloads_failed: get(&counts.reloads_failed),
        ..Counters::default()
    }
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn worker(process: &Process) -> WorkerStatus {
    let request = *process
        .request
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    WorkerStatus {
        place: process.place,
        pid: process.pid,
        generation: process.generation,
        state: if !process.is_ready() {
            "starting"
        } else if request.is_some() {
            "busy"
        } else if process.is_retired() {
            "stopping"
        } else if process.is_due() {
            "retiring"
        } else {
            "idle"
        },
        requests: process.requests(),
        memory: process.memory.load(Ordering::Relaxed),
        age_ms: millis(process.started.elapsed()),
        in_flight: usize::from(request.is_some()),
        sequential: false,
        longest_hold_ms: 0,
        waiting_ms: 0,
        request: request.map(|(id, since)| RequestStatus {
            id: format!("{id:016x}"),
            since_ms: millis(since.elapsed()),
        }),
    }
}
