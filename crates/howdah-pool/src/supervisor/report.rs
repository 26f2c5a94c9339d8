//! The status of all pools, and looks at requests.

use std::sync::Arc;
use std::time::Instant;

use howdah_shm::WorkerId;

use super::Supervisor;
use crate::looks::RequestLooks;
use crate::options::Mode;
use crate::pool::Pool;
use crate::pool::generation::Phase;
use crate::pool::place::Occupant;
use crate::profile::ProfiledPool;
use crate::status::{
    GenerationStatus, PoolStatus, PreloadStatus, RequestStatus, Status, WorkerStatus,
};
use crate::system::clock::monotonic_ns;

impl Supervisor {
    pub(super) fn profiled_pools(&self) -> Vec<ProfiledPool> {
        let pools = self.pools.iter().map(|pool| ProfiledPool {
            name: pool.name.to_string(),
            segment: Arc::clone(&pool.segment),
        });
        pools.collect()
    }

    pub(super) fn status(&self) -> Status {
        let now_ns = monotonic_ns();
        Status {
            php: self.info.php.clone(),
            root_restarts: u64::from(self.root_generation.saturating_sub(1)),
            pools: (self.pools.iter())
                .map(|pool| report(pool, &self.info.php, now_ns))
                .collect(),
            preloads: (self.preloaded.iter())
                .map(|preloaded| PreloadStatus {
                    pools: self
                        .pools
                        .iter()
                        .map(|pool| pool.name.to_string())
                        .collect(),
                    preloaded: Arc::clone(preloaded),
                })
                .collect(),
        }
    }
}

impl Supervisor {
    /// Requests reports from the workers with requests. Returns where they arrive.
    pub(super) fn request_looks(&self) -> Vec<RequestLooks> {
        let pools = self.pools.iter().filter(|pool| {
            let options = &pool.options;
            !options.one_request() || options.limits.slow_log.is_some()
        });
        pools
            .map(|pool| {
                let busy: Vec<WorkerId> = pool
                    .occupants()
                    .filter(|(worker, occupant)| {
                        let words = pool.segment.worker(*worker);
                        let has_requests = words
                            .is_some_and(|words| words.request_id.is_some() || words.in_flight > 0);
                        occupant.ready && !occupant.killed && has_requests
                    })
                    .map(|(worker, _)| worker)
                    .collect();
                pool.looks.begin(busy.iter().copied());
                for worker in busy {
                    pool.segment.look(worker);
                }
                pool.looks.clone()
            })
            .collect()
    }
}

fn report(pool: &Pool, php: &str, now_ns: u64) -> PoolStatus {
    let workers: Vec<_> = pool
        .occupants()
        .map(|(worker, occupant)| worker_status(pool, worker, occupant, now_ns))
        .collect();
    let busy = workers.iter().filter(|worker| worker.in_flight > 0).count();
    let in_hand: usize = workers.iter().map(|worker| worker.in_flight).sum();
    let in_flight = pool.load.in_flight();
    let (mode, script) = match &pool.options.mode {
        Mode::Classic => ("classic", None),
        Mode::Worker(worker) => ("worker", Some(worker.script.display().to_string())),
    };
    PoolStatus {
        name: pool.name.to_string(),
        php: php.to_owned(),
        mode,
        script,
        generation: pool
            .serving()
            .next_back()
            .map_or(0, |generation| generation.id),
        generations: pool
            .generations
            .iter()
            .map(|generation| GenerationStatus {
                generation: generation.id,
                state: match generation.phase {
                    Phase::Booting => "booting",
                    Phase::Serving => "serving",
                    Phase::Draining => "draining",
                },
                pid: *generation.pid.borrow(),
                boot_each: generation.boot_each,
                workers: pool.count(generation.id, |_| true),
            })
            .collect(),
        failure: pool.failure.clone(),
        reloading: pool.reload.running.is_some(),
        workers_min: pool.options.serving_min(),
        workers_max: pool.options.serving_max(),
        workers_wanted: pool.desired,
        ready: pool.ready(),
        concurrency: pool.options.requests_per_worker(),
        sequential: workers.iter().filter(|worker| worker.sequential).count(),
        sequential_cause: pool
            .occupants()
            .filter(|(_, occupant)| !occupant.stopping)
            .find_map(|(_, occupant)| occupant.sequential_cause.clone()),
        busy,
        queue: in_flight.saturating_sub(in_hand),
        in_flight,
        waiters: pool.load.waiting(),
        slots: (pool.segment.geometry().slots() * pool.segment.geometry().fronts()) as usize,
        refused: pool.load.refusals(),
        abandoned: pool.load.abandonments(),
        exits: pool.load.exits(),
        crashes: pool.load.crashes.report(Instant::now()),
        spooled: pool.load.spooled(),
        leaks: pool.leaks.leaks(),
        slow: (pool.slow_log.as_ref()).map_or_else(Vec::new, |log| log.list(Instant::now())),
        workers,
        counters: pool.counters,
    }
}

fn worker_status(pool: &Pool, worker: WorkerId, occupant: &Occupant, now_ns: u64) -> WorkerStatus {
    let words = pool.segment.worker(worker);
    let request = words.and_then(|words| {
        let id = words.request_id?;
        Some(RequestStatus {
            id: format!("{id:016x}"),
            since_ms: now_ns.saturating_sub(words.started_ns) / 1_000_000,
        })
    });
    // The state of a broken worker can be anything.
    let in_flight = words.map_or(0, |words| {
        let in_flight = (words.in_flight as usize).max(usize::from(words.request_id.is_some()));
        in_flight.min(pool.options.requests_per_worker())
    });
    let state = if occupant.stopping {
        "stopping"
    } else if !occupant.ready {
        "starting"
    } else if occupant.retiring {
        "retiring"
    } else if in_flight > 0 {
        "busy"
    } else {
        "idle"
    };
    WorkerStatus {
        place: worker.0,
        pid: occupant.pid(),
        generation: occupant.generation,
        state,
        requests: words.map_or(0, |words| words.requests),
        memory: words.map_or(0, |words| words.memory),
        age_ms: occupant.since.elapsed().as_millis() as u64,
        in_flight,
        sequential: words.is_some_and(|words| words.sequential),
        longest_hold_ms: occupant.longest_hold.largest() / 1_000_000,
        waiting_ms: words
            .filter(|words| state == "idle" && words.looked_ns != 0)
            .map_or(0, |words| {
                now_ns.saturating_sub(words.looked_ns) / 1_000_000
            }),
        request,
    }
}
