//! The regular check of all workers, once a second: which ones are too old or too large, hang in their boot, or are
//! idle.

use std::time::{Duration, Instant};

use howdah_shm::WorkerId;

use super::{Supervisor, TICK};
use crate::messages::Event;
use crate::pool::Pool;
use crate::pool::place::Occupant;
use crate::pool::recycle::{Reason, WorkerUsage, evaluate};

impl Pool {
    /// Whether its workers need regular checks.
    pub(super) fn is_sampled(&self) -> bool {
        let options = &self.options;
        let recycles = options.limits.max_age.is_some()
            || options.limits.max_memory.is_some()
            || options.limits.max_memory_growth.is_some();
        options.worker().is_some() || self.scales() || recycles
    }

    /// Marks the workers that are due for replacement, so that successors are forked.
    fn recycle(&mut self, now: Instant) {
        let one_request = self.options.one_request();
        let (segment, options) = (self.segment.clone(), self.options.clone());
        let name = self.name.clone();
        for (worker, occupant) in self.occupants_mut() {
            let Some(status) = segment.worker(worker).filter(|_| occupant.ready) else {
                continue;
            };
            occupant.longest_hold.note(segment.take_hog_ns(worker), now);
            if status.is_busy() || status.requests != occupant.active.0 {
                occupant.active = (status.requests, now);
            }
            if one_request || !occupant.counts() {
                continue;
            }
            let expired = occupant.expires.is_some_and(|expires| expires <= now);
            let usage = WorkerUsage {
                requests: status.requests,
                memory: status.memory,
            };
            let Some(reason) = evaluate(&options, expired, usage, &mut occupant.memory_base) else {
                continue;
            };
            occupant.retiring = true;
            log_retirement(&name, worker, occupant, status.requests, reason);
        }
    }

    /// A worker has reported that it exceeds its memory limit.
    pub(super) fn on_memory_exceeded(&mut self, worker: WorkerId, serial: u64) {
        let (segment, options) = (self.segment.clone(), self.options.clone());
        let name = self.name.clone();
        let Some(status) = segment.worker(worker) else {
            return;
        };
        let Some(occupant) = self.occupant(worker, serial) else {
            return;
        };
        occupant.retiring = true;
        let above = options
            .limits
            .max_memory
            .is_some_and(|limit| status.memory > limit);
        let reason = if above {
            Reason::Memory(status.memory)
        } else {
            Reason::Growth(
                status
                    .memory
                    .saturating_sub(occupant.memory_base.unwrap_or(0)),
            )
        };
        log_retirement(&name, worker, occupant, status.requests, reason);
    }

    /// Kills workers whose boot hangs.
    fn end_hung_boots(&mut self, limit: Duration) {
        let name = self.name.clone();
        let mut killed = 0;
        for (worker, occupant) in self.occupants_mut() {
            let hangs = !occupant.ready && !occupant.killed && occupant.since.elapsed() > limit;
            if hangs && occupant.pidfd.is_some() {
                occupant.kill();
                killed += 1;
                let (pool, worker, pid) = (&*name, worker.0, occupant.pid());
                tracing::error!(target: "howdah::pool", pool, worker, pid, "worker killed: it was not ready within {} seconds", limit.as_secs());
            }
        }
        self.counters.killed += killed;
    }
}

fn log_retirement(
    pool: &str,
    worker: WorkerId,
    occupant: &Occupant,
    requests: u64,
    reason: Reason,
) {
    let (worker, pid) = (worker.0, occupant.pid());
    match reason {
        Reason::Age => {
            tracing::debug!(target: "howdah::pool", pool, worker, pid, requests, "worker is replaced: it is older than max_age");
        }
        Reason::Memory(bytes) => {
            tracing::info!(target: "howdah::pool", pool, worker, pid, requests, bytes, "worker is replaced: it holds more than max_memory");
        }
        Reason::Growth(bytes) => {
            tracing::info!(target: "howdah::pool", pool, worker, pid, requests, bytes, "worker is replaced: it has grown by more than max_memory_growth");
        }
    }
}

impl Supervisor {
    pub(super) fn tick(&mut self) {
        if self.stopping {
            return;
        }
        let now = Instant::now();
        let cpu_percent = if self.pools.iter().any(Pool::scales) {
            self.cpu.percent(now)
        } else {
            0
        };
        for index in 0..self.pools.len() {
            let pool = &mut self.pools[index];
            if !pool.is_sampled() {
                continue;
            }
            pool.recycle(now);
            pool.end_hung_boots(self.options.start_timeout);
            if pool.scales() {
                self.scale_down(index, cpu_percent, now);
            }
            self.fill(index);
        }
        self.schedule(TICK, Event::Tick);
    }
}
