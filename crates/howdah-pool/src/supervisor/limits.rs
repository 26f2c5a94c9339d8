//! Workers that are killed because of a limit, and workers that are added or removed with the load.

use std::time::{Duration, Instant};

use howdah_shm::WorkerId;

use super::Supervisor;
use crate::messages::{Event, HeldRequest, KillReason};
use crate::pool::Pool;
use crate::pool::place::Occupant;
use crate::pool::scaling::{Decision, LOOK_AGAIN, Sample, WAIT_BEFORE_ADDING, decide, is_busy};

/// How long a worker may take to log its backtrace before it is killed.
const TRACE_TIME: Duration = Duration::from_millis(200);

impl Supervisor {
    pub(super) fn kill_worker(
        &mut self,
        index: usize,
        worker: WorkerId,
        request: Option<HeldRequest>,
        reason: KillReason,
    ) {
        let pool = &mut self.pools[index];
        let now = request_in_hand(pool, worker);
        let over = request.is_some_and(|request| !is_still_held(pool, worker, request));
        let Some(occupant) = pool
            .places
            .get_mut(worker.index())
            .and_then(|place| place.occupant_mut())
        else {
            return;
        };
        // Front threads repeat the message until the worker has exited.
        let handled = occupant.killed || (request.is_some() && occupant.traced.is_some());
        if handled || over {
            return;
        }
        match reason {
            KillReason::RequestTimeout => {
                occupant.traced = request;
                // First: a worker that is ordered to stop starts nothing after the trace.
                pool.segment.stop(worker);
                let delay = if occupant.request_backtrace() {
                    TRACE_TIME
                } else {
                    Duration::ZERO
                };
                let event = Event::Kill {
                    pool: index,
                    worker,
                    serial: occupant.serial,
                };
                self.schedule(delay, event);
            }
            KillReason::ProtocolViolation(violation) => {
                occupant.kill();
                pool.counters.killed += 1;
                let pid = occupant.pid();
                let request_id = format!("{:016x}", now.unwrap_or(0));
                tracing::error!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, pid, request_id, "worker killed: {violation}");
            }
        }
    }

    /// The backtrace has been logged, or has taken too long. A worker that has finished the request meanwhile exits by
    /// itself.
    pub(super) fn kill_traced(&mut self, index: usize, worker: WorkerId, serial: u64) {
        let pool = &mut self.pools[index];
        let Some(occupant) = pool.occupant(worker, serial) else {
            return;
        };
        let Some(request) = occupant.traced.take() else {
            return;
        };
        let (pid, request_id) = (occupant.pid(), format!("{:016x}", request.id));
        if is_still_held(pool, worker, request) {
            pool.kill(worker);
            pool.counters.killed += 1;
            tracing::warn!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, pid, request_id, "worker killed: request timed out");
        } else {
            tracing::debug!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, pid, request_id, "the request ended before its worker was killed");
        }
    }

    /// Adds a worker to a pool in which requests wait.
    pub(super) fn scale_up(&self, index: usize) {
        self.schedule(WAIT_BEFORE_ADDING, Event::Scale(index));
    }

    pub(super) fn scale(&mut self, index: usize) {
        let now = Instant::now();
        let cpu_percent = self.cpu.percent(now);
        let pool = &mut self.pools[index];
        let mut at = sample(pool, cpu_percent, Duration::ZERO);
        if self.stopping || at.in_flight <= at.room {
            pool.load.reset_pressure();
            pool.blocked.forget();
            return;
        }
        if is_busy(cpu_percent) {
            at.blocked_percent = blocked_percent(pool, now);
        }
        let next = if decide(&at) == Decision::Add {
            pool.desired += 1;
            pool.counters.scaled_up += 1;
            let (name, workers, waiting) = (&*pool.name, pool.desired, at.in_flight - at.room);
            tracing::debug!(target: "howdah::pool", pool = name, workers, waiting, "worker added");
            WAIT_BEFORE_ADDING
        } else {
            LOOK_AGAIN
        };
        self.schedule(next, Event::Scale(index));
        self.fill(index);
    }

    /// Removes an idle worker.
    pub(super) fn scale_down(&mut self, index: usize, cpu_percent: u64, now: Instant) {
        let pool = &mut self.pools[index];
        let idle = pool
            .occupants()
            .filter(|(_, occupant)| occupant.serves() && occupant.counts())
            .min_by_key(|(_, occupant)| occupant.active.1)
            .map(|(worker, occupant)| (worker, occupant.active.1));
        let Some((worker, since)) = idle else { return };
        let at = sample(pool, cpu_percent, now.saturating_duration_since(since));
        if decide(&at) == Decision::Remove {
            pool.desired -= 1;
            pool.counters.scaled_down += 1;
            pool.stop(worker);
            pool.publish();
            tracing::debug!(target: "howdah::pool", pool = &*pool.name, workers = pool.desired, "worker removed");
        }
    }
}

/// Recent share of their time that the workers of the newest generation were blocked.
fn blocked_percent(pool: &mut Pool, now: Instant) -> u64 {
    let newest = pool.serving().next_back().map(|generation| generation.id);
    let serving: Vec<_> = pool
        .occupants()
        .filter(|(_, occupant)| Some(occupant.generation) == newest && occupant.serves())
        .map(|(worker, occupant)| (worker, occupant.serial, occupant.pid()))
        .collect();
    // Then something other than the workers is late; and an idle worker needs no processor.
    let any_idle = serving.iter().any(|(worker, ..)| {
        let status = pool.segment.worker(*worker);
        !status.is_some_and(|status| status.is_busy())
    });
    if any_idle {
        pool.blocked.forget();
        return 0;
    }
    let workers = serving.iter().map(|(_, serial, pid)| (*serial, *pid));
    pool.blocked.percent(now, workers)
}

fn sample(pool: &Pool, cpu_percent: u64, idle: Duration) -> Sample {
    let newest = pool.serving().next_back().map(|generation| generation.id);
    let ready = newest.map_or(0, |id| pool.count(id, Occupant::serves));
    Sample {
        in_flight: pool.load.in_flight(),
        ready,
        room: ready * pool.options.requests_per_worker(),
        desired: pool.desired,
        min: pool.options.serving_min(),
        max: pool.options.serving_max(),
        cpu_percent,
        blocked_percent: 0,
        idle,
        max_idle: pool.options.limits.max_idle_time,
    }
}

/// Whether the worker still has the request. In a concurrent pool the worker's state names the one that runs.
fn is_still_held(pool: &Pool, worker: WorkerId, request: HeldRequest) -> bool {
    let named = request_in_hand(pool, worker) == Some(request.id);
    pool.segment.is_held(request.hold) && (named || pool.options.is_concurrent())
}

fn request_in_hand(pool: &Pool, worker: WorkerId) -> Option<u64> {
    pool.segment
        .worker(worker)
        .and_then(|status| status.request_id)
        .map(u64::from)
}
