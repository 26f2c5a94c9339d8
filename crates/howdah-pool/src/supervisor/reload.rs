//! Reloads: a new generation is booted while the old one serves, and takes over when all its workers are ready; the old
//! one finishes its requests.

use std::time::{Duration, Instant};

use super::Supervisor;
use crate::messages::ReloadError;
use crate::messages::{Event, Reply};
use crate::pool::Pool;
use crate::pool::generation::Phase;

/// Minimum time between reloads that PHP code requests.
const BETWEEN_REQUESTED: Duration = Duration::from_secs(1);
/// Minimum time for the last requests of an old generation, whatever comes after it.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(30);
/// Minimum time for which a boot may delay another reload: after that it may hang, and the other reload may fix it.
pub(super) const BOOT_TIME: Duration = Duration::from_secs(5);
/// Each boot that is aborted for a later reload doubles the time of the next one, up to so often: a boot that has
/// become slow completes although files change all the time.
const DOUBLED_MOST: u32 = 5;
/// Time for a zygote to report the exit of its last worker.
const LET_GO_TIME: Duration = Duration::from_millis(200);

impl Supervisor {
    /// Handles a reload from a [`crate::Handle`]. Each of its pools replies once.
    pub(super) async fn reload(&mut self, name: Option<&str>, reply: &Reply) {
        let mut found = false;
        for index in 0..self.pools.len() {
            if name.is_none_or(|name| *self.pools[index].name == *name) {
                found = true;
                self.begin_reload(index, vec![reply.clone()]).await;
            }
        }
        if let (Some(name), false) = (name, found) {
            let names: Vec<_> = self.pools.iter().map(|pool| &*pool.name).collect();
            let error = ReloadError {
                pool: name.to_owned(),
                text: format!("no such pool; the pools are {}", names.join(", ")),
            };
            let _ = reply.send(Err(error));
        }
    }

    /// PHP code called `opcache_reset()`. `waited`: the last reload is long enough ago.
    pub(super) async fn reload_requested(&mut self, index: usize, waited: bool) {
        let now = Instant::now();
        let reload = &mut self.pools[index].reload;
        if let Some(requested_at) = reload.requested_at.filter(|_| !waited) {
            if requested_at > now {
                return; // a reload is scheduled, and will read the current files
            }
            let next = requested_at + BETWEEN_REQUESTED;
            if next > now {
                reload.requested_at = Some(next);
                self.schedule(next - now, Event::ReloadRequested(index));
                return;
            }
        }
        reload.requested_at = Some(now);
        tracing::info!(target: "howdah::pool", pool = &*self.pools[index].name, "reloading: PHP code called opcache_reset()");
        self.begin_reload(index, Vec::new()).await;
    }

    /// Starts the reload that was requested while another one ran.
    pub(super) async fn reload_next(&mut self, index: usize) {
        let reload = &mut self.pools[index].reload;
        if std::mem::take(&mut reload.again) {
            let replies = std::mem::take(&mut reload.queued);
            self.begin_reload(index, replies).await;
        }
    }

    /// A boot has reached the time for which it may delay others: a reload that was requested meanwhile starts.
    pub(super) async fn reload_long(&mut self, index: usize) {
        if std::mem::take(&mut self.pools[index].reload.again) {
            self.begin_reload(index, Vec::new()).await;
        }
    }

    async fn begin_reload(&mut self, index: usize, mut replies: Vec<Reply>) {
        let no_root = self.root.is_none();
        if let Some(rest) = self.rest_of_boot(index) {
            let reload = &mut self.pools[index].reload;
            reload.queued.extend(replies);
            if !std::mem::replace(&mut reload.again, true) {
                self.schedule(rest, Event::ReloadLong(index));
            }
            return;
        }
        replies.extend(self.supersede(index));
        let pool = &mut self.pools[index];
        pool.reload.running = Some((pool.last_generation + 1, replies));
        if self.stopping || no_root {
            let text = if self.stopping {
                "the server is stopping"
            } else {
                "PHP is restarting, which does the same"
            };
            self.finish_reload(index, Err(text.into()));
            return;
        }
        // A reload also repairs corruption that no request has met yet.
        pool.check_segment();
        // The files may now work with a fork, and the next attempt need not wait.
        pool.boot_each = pool.options.boot_each();
        pool.back_off.reset();
        // A boot in progress has read files that are outdated now.
        self.kill_booting(index);
        self.start_generation(index).await;
    }

    /// How long the running reload, if any, may still delay others.
    fn rest_of_boot(&self, index: usize) -> Option<Duration> {
        let pool = &self.pools[index];
        let (id, _) = pool.reload.running.as_ref()?;
        let (last, before) = (pool.reload.last_boot, pool.reload.superseded);
        let time = boot_time(self.boot_least, last, before);
        let Some(generation) = pool.generation(*id) else {
            return Some(time); // its failure is about to be reported
        };
        let rest = time.saturating_sub(generation.since.elapsed());
        (!rest.is_zero()).then_some(rest)
    }

    /// Aborts the boot of the running reload. Returns its callers, which now wait for the next.
    fn supersede(&mut self, index: usize) -> Vec<Reply> {
        let reload = &mut self.pools[index].reload;
        let Some((id, mut replies)) = reload.running.take() else {
            return Vec::new();
        };
        replies.append(&mut reload.queued);
        reload.again = false;
        reload.superseded += 1;
        if let Some(generation) = self.end_boot(index, id) {
            let pool = &self.pools[index];
            let seconds = generation.since.elapsed().as_secs();
            tracing::warn!(
                target: "howdah::pool", pool = &*pool.name, generation = id,
                "the boot was aborted after {seconds} seconds: another reload was requested"
            );
            pool.publish();
        }
        replies
    }

    /// Replies to the callers that wait.
    pub(super) fn finish_reload(&mut self, index: usize, result: Result<(), String>) {
        let pool = &mut self.pools[index];
        let Some((_, replies)) = pool.reload.running.take() else {
            return;
        };
        let result = result.map_err(|text| ReloadError {
            pool: pool.name.to_string(),
            text,
        });
        if result.is_ok() {
            pool.counters.reloads += 1;
        } else {
            pool.counters.reloads_failed += 1;
        }
        for reply in replies {
            // The caller may have stopped waiting.
            let _ = reply.send(result.clone());
        }
        if pool.reload.again {
            self.schedule(Duration::ZERO, Event::ReloadNext(index));
        }
    }

    /// The server stops: waiting reloads are abandoned.
    pub(super) fn abandon_reloads(&mut self, index: usize) {
        let reload = &mut self.pools[index].reload;
        let queued = std::mem::take(&mut reload.queued);
        reload.again = false;
        if let Some((_, replies)) = &mut reload.running {
            replies.extend(queued);
        }
        self.finish_reload(index, Err("the server is stopping".into()));
    }

    /// All workers of the newest generation are ready.
    pub(super) fn completed(&mut self, index: usize, id: u32) {
        let pool = &mut self.pools[index];
        let Some(generation) = pool.generation_mut(id) else {
            return;
        };
        generation.complete = true;
        generation.tail.close();
        let took = generation.since.elapsed();
        let millis = took.as_millis() as u64;
        pool.reload.last_boot = took;
        pool.reload.superseded = 0;
        let workers = pool.desired;
        pool.up = true;
        pool.failure = None;
        pool.back_off.reset();
        let older: Vec<_> = pool
            .serving()
            .map(|generation| generation.id)
            .filter(|older| *older != id)
            .collect();
        let is_first = older.is_empty();
        for older in older {
            self.drain(index, older);
        }
        // Only now do no further requests go to the old code.
        let name = &*self.pools[index].name;
        if is_first {
            tracing::debug!(target: "howdah::pool", pool = name, generation = id, workers, millis, "pool ready");
        } else {
            tracing::info!(target: "howdah::pool", pool = name, generation = id, workers, millis, "pool reloaded");
        }
        if self.pools[index]
            .reload
            .running
            .as_ref()
            .is_some_and(|(running, _)| *running == id)
        {
            self.finish_reload(index, Ok(()));
        }
    }

    fn drain(&mut self, index: usize, id: u32) {
        let pool = &mut self.pools[index];
        if let Some(generation) = pool.generation_mut(id) {
            generation.phase = Phase::Draining;
            generation.replaced = Some(Instant::now());
        }
        pool.stop_workers(Some(id));
        self.check_drain(index, id);
        self.check_drained(index, id);
    }

    fn check_drain(&self, index: usize, id: u32) {
        let limit = self.drain_time(&self.pools[index]);
        let event = Event::DrainOver {
            pool: index,
            generation: id,
        };
        self.schedule(limit, event);
    }

    /// A worker of the generation has exited: checks whether it was the last.
    pub(super) fn check_drained(&mut self, index: usize, id: u32) {
        let pool = &self.pools[index];
        let draining = pool
            .generation(id)
            .is_some_and(|generation| generation.phase == Phase::Draining);
        if draining && pool.count(id, |_| true) == 0 {
            let event = Event::LetGo {
                pool: index,
                generation: id,
            };
            self.schedule(LET_GO_TIME, event);
        }
    }

    /// The generation has had its time for its last requests. The previous generation may take longer; what is left of
    /// an earlier one is killed, so that processes do not pile up.
    pub(super) fn drain_over(&mut self, index: usize, id: u32) {
        let seconds = self.drain_time(&self.pools[index]).as_secs();
        let pool = &mut self.pools[index];
        if pool.generation(id).is_none() {
            return;
        }
        let all = pool.has_two_successors(id);
        let count = pool.kill_drained(id, all);
        if count > 0 {
            pool.counters.killed += count as u64;
            let which = if all {
                "another reload was requested"
            } else {
                "they had no request"
            };
            tracing::warn!(
                target: "howdah::pool", pool = &*pool.name, generation = id, count,
                "workers killed: still running {seconds} seconds after a reload, and {which}"
            );
        }
        // A request that ends late may hang then.
        self.check_drain(index, id);
    }

    /// Another generation needs places for its workers: earlier ones whose time is over make room.
    pub(super) fn end_overdue(&mut self, index: usize) {
        let pool = &self.pools[index];
        let limit = self.drain_time(pool);
        let overdue: Vec<_> = pool
            .generations
            .iter()
            .filter(|generation| {
                let had = generation.replaced.map(|replaced| replaced.elapsed());
                had.is_some_and(|had| had >= limit) && pool.has_two_successors(generation.id)
            })
            .map(|generation| generation.id)
            .collect();
        for id in overdue {
            self.drain_over(index, id);
        }
    }

    /// The time for its last requests: one that began just before the reload has all of its own
    /// time.
    pub(super) fn drain_time(&self, pool: &Pool) -> Duration {
        drain_time(self.drain_least, pool.options.limits.request_timeout)
    }
}

impl Pool {
    /// Whether at least two later generations serve.
    fn has_two_successors(&self, id: u32) -> bool {
        let later = self
            .generations
            .iter()
            .filter(|generation| generation.id > id && generation.phase != Phase::Booting);
        later.count() >= 2
    }

    /// Kills what is left of a draining generation: all of it, or the workers that are idle and were idle at the last
    /// check. Returns how many there were.
    fn kill_drained(&mut self, id: u32, all: bool) -> usize {
        let segment = self.segment.clone();
        let mut count = 0;
        for (worker, occupant) in self.occupants_mut() {
            if occupant.generation != id || occupant.killed || occupant.pidfd.is_none() {
                continue;
            }
            let status = segment.worker(worker);
            let busy = status.is_some_and(|status| status.is_busy());
            let lingered = std::mem::replace(&mut occupant.lingers, busy);
            if all || !(busy || lingered) {
                occupant.overdue = true;
                occupant.kill();
                count += 1;
            }
        }
        count
    }
}

fn drain_time(least: Duration, request_timeout: Option<Duration>) -> Duration {
    request_timeout.map_or(least, |limit| {
        least.max(limit.saturating_add(Duration::from_secs(1)))
    })
}

/// How long the start of PHP may delay another reload, if the last successful one took `last_good` and so many were
/// aborted for a later one since.
#[must_use]
pub fn start_time(last_good: Duration, superseded: u32) -> Duration {
    boot_time(BOOT_TIME, last_good, superseded)
}

/// How long a boot may delay another reload, if the last successful one took `last_good` and so many were aborted for a
/// later one since.
fn boot_time(least: Duration, last_good: Duration, superseded: u32) -> Duration {
    least.max(2 * last_good) * (1 << superseded.min(DOUBLED_MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draining_outlasts_the_longest_request() {
        let seconds =
            |limit: Option<u64>| drain_time(DRAIN_TIME, limit.map(Duration::from_secs)).as_secs();
        assert_eq!(seconds(None), 30);
        assert_eq!(seconds(Some(5)), 30);
        assert_eq!(seconds(Some(60)), 61);
    }

    #[test]
    fn a_boot_has_twice_the_time_of_the_last_and_more_each_time() {
        let seconds = |last, superseded| {
            boot_time(BOOT_TIME, Duration::from_secs(last), superseded).as_secs()
        };
        assert_eq!((seconds(0, 0), seconds(4, 0)), (5, 8));
        assert_eq!((seconds(4, 2), seconds(4, 100)), (32, 256));
    }
}
