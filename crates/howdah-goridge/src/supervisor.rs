//! Keeps the workers of a pool running: replaces those that exit, have handled enough requests or grow too large, and
//! starts new ones for a reload before the previous ones stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use howdah_monitor::process::ProcFile;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::boot::{BootError, boot};
use crate::pool::{PoolInner, add};
use crate::worker::{Process, Worker};

/// How often memory and age are checked.
const TICK: Duration = Duration::from_secs(1);
/// The wait after a start that failed; it doubles with each, up to the longest.
const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Starts all workers of a generation. They take no requests yet.
pub(crate) async fn start_all(
    shared: &Arc<PoolInner>,
    rpc: &str,
    generation: u32,
) -> Result<Vec<Worker>, BootError> {
    let mut boots = JoinSet::new();
    for _ in 0..shared.options.workers {
        let (shared, rpc) = (Arc::clone(shared), rpc.to_owned());
        boots.spawn(async move { boot(&shared, &rpc, generation).await });
    }
    let mut workers = Vec::new();
    let mut failure = None;
    while let Some(booted) = boots.join_next().await {
        match booted {
            Ok(Ok(worker)) => workers.push(worker),
            Ok(Err(error)) => failure = failure.or(Some(error)),
            Err(error) => failure = failure.or(Some(std::io::Error::other(error).into())),
        }
        if failure.is_some() {
            // The others would fail in the same way.
            for process in processes(shared) {
                if process.generation == generation && !process.is_ready() {
                    process.end();
                }
            }
        }
    }
    match failure {
        None => Ok(workers),
        Some(error) => {
            add(&shared.counts.boots_failed);
            for worker in workers {
                worker.process.set_retired();
                Process::stop(worker);
            }
            Err(error)
        }
    }
}

/// Assigns requests to the workers of a generation, and stops those of earlier ones.
pub(crate) fn take_over(shared: &Arc<PoolInner>, workers: Vec<Worker>, generation: u32) {
    shared.generation.store(generation, Ordering::Relaxed);
    shared.lock().failure = None;
    for worker in workers {
        shared.release(worker);
    }
    for process in processes(shared) {
        if process.generation != generation {
            shared.retire(&process);
        }
    }
    shared.wake.notify_one();
}

fn processes(shared: &PoolInner) -> Vec<Arc<Process>> {
    shared.lock().processes.values().cloned().collect()
}

/// Runs until the pool is closed and its last worker has exited.
pub(crate) async fn supervise(shared: Arc<PoolInner>, rpc: String) {
    let mut boots: JoinSet<Result<(), BootError>> = JoinSet::new();
    let mut earliest = Instant::now();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = Instant::now();
        let is_closed = shared.is_closed();
        if is_closed && boots.is_empty() && shared.lock().processes.is_empty() {
            return;
        }
        if !is_closed && now >= earliest {
            for _ in 0..missing(&shared) {
                let (shared, rpc) = (Arc::clone(&shared), rpc.clone());
                boots.spawn(async move { replace(&shared, &rpc).await });
                // Its place is assigned when it is polled.
                tokio::task::yield_now().await;
            }
        }
        tokio::select! {
            () = shared.wake.notified() => {
                let failures = shared.failures.load(Ordering::Relaxed);
                if failures > 0 {
                    earliest = earliest.max(now + backoff(failures));
                }
            }
            Some(booted) = boots.join_next() => if let Ok(Err(error)) = booted {
                add(&shared.counts.boots_failed);
                let failures = shared.failures.fetch_add(1, Ordering::Relaxed) + 1;
                let wait = backoff(failures);
                earliest = Instant::now() + wait;
                let pool = &*shared.options.name;
                tracing::error!(target: "howdah::php", pool, "a worker did not start, the next attempt is in {wait:?}: {error}");
                shared.lock().failure = Some(error.to_string());
            },
            () = tokio::time::sleep_until(earliest), if earliest > now => {}
            _ = tick.tick() => check(&shared),
        }
    }
}

fn backoff(failures: u32) -> Duration {
    BACKOFF
        .saturating_mul(1 << failures.saturating_sub(1).min(10))
        .min(BACKOFF_MAX)
}

/// Number of workers of the current generation that have to be started.
fn missing(shared: &PoolInner) -> usize {
    let generation = shared.generation.load(Ordering::Relaxed);
    let state = shared.lock();
    let current = state.processes.values();
    let current =
        current.filter(|process| process.generation == generation && !process.is_retired());
    let (mut count, mut due) = (0, 0);
    for process in current {
        count += 1;
        due += usize::from(process.is_due());
    }
    (shared.options.workers + due).saturating_sub(count)
}

/// Starts one worker, which replaces one that is due, if there is one.
async fn replace(shared: &Arc<PoolInner>, rpc: &str) -> Result<(), BootError> {
    let generation = shared.generation.load(Ordering::Relaxed);
    let worker = boot(shared, rpc, generation).await?;
    shared.lock().failure = None;
    if shared.generation.load(Ordering::Relaxed) != generation {
        // A reload has overtaken it.
        worker.process.set_retired();
    }
    shared.release(worker);
    let is_due = |process: &Arc<Process>| process.is_due() && !process.is_retired();
    if let Some(due) = processes(shared).into_iter().find(is_due) {
        shared.retire(&due);
    }
    Ok(())
}

/// Records the memory of workers, and which of them are due for replacement.
fn check(shared: &PoolInner) {
    let limits = &shared.options.limits;
    for process in processes(shared) {
        let memory = resident(process.pid).unwrap_or_default();
        process.memory.store(memory, Ordering::Relaxed);
        let is_old = limits
            .max_age
            .is_some_and(|age| process.started.elapsed() >= age);
        let is_large = limits.max_memory.is_some_and(|most| memory > most);
        if process.is_ready() && (is_old || is_large) && process.set_due() {
            let (pool, pid) = (&*shared.options.name, process.pid);
            tracing::debug!(target: "howdah::php", pool, pid, memory, is_old, "a worker is due for replacement");
            shared.wake.notify_one();
        }
    }
}

/// Resident bytes of a process.
fn resident(pid: i32) -> Option<u64> {
    let text = std::io::read_to_string(ProcFile::Status.of(pid).ok()?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        let waits: Vec<u128> = (1..=9)
            .map(|failures| backoff(failures).as_millis())
            .collect();
        assert_eq!(
            waits,
            [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
        );
        assert_eq!(backoff(u32::MAX), BACKOFF_MAX);
    }

    #[test]
    fn this_process_uses_memory() {
        let pid = std::process::id().cast_signed();
        assert!(resident(pid).is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(resident(0), None);
    }
}
