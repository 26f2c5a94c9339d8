//! Requests in groups over the last minutes: their number, times and failures.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use howdah_http::FinishedRequest;
use serde_json::{Value, json};

use super::histogram::Histogram;

/// Groups that are counted separately; further ones are counted together.
pub(super) const GROUPS_MAX: usize = 200;
/// The name for those.
pub(super) const OTHER: &str = "(other)";
/// Seconds of one part of the period.
pub(super) const PART: u64 = 60;
/// Parts of the period.
pub(super) const PARTS: usize = 5;

/// Requests of the last five minutes, grouped by a name.
#[derive(Debug)]
pub(super) struct Groups<N>(HashMap<N, Group>);

/// The newest part is the last.
#[derive(Debug, Default)]
struct Group(VecDeque<Part>);

#[derive(Debug, Default, Clone)]
struct Part {
    /// Its number since 1970.
    number: u64,
    times: Histogram,
    php_us: u64,
    queue_us: u64,
    client_errors: u64,
    server_errors: u64,
    sent: u64,
    memory: MemoryPeaks,
}

/// Largest use of PHP's allocator by requests, in bytes.
#[derive(Debug, Default, Clone, Copy)]
struct MemoryPeaks {
    count: u64,
    sum: u64,
    largest: u64,
}

impl<N> Default for Groups<N> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<N: Eq + Hash> Groups<N> {
    /// Adds a request that ended in this second. `other`: the group of those that are too many.
    pub(super) fn add(&mut self, name: N, other: N, request: &FinishedRequest, second: u64) {
        let is_known = self.0.len() < GROUPS_MAX || self.0.contains_key(&name);
        let name = if is_known { name } else { other };
        let group = self.0.entry(name).or_default();
        group.part(second / PART).add(request);
    }

    /// Removes parts older than five minutes.
    pub(super) fn forget(&mut self, second: u64) {
        let oldest = (second / PART).saturating_sub(PARTS as u64 - 1);
        self.0.retain(|_, group| {
            while group.0.front().is_some_and(|part| part.number < oldest) {
                group.0.pop_front();
            }
            !group.0.is_empty()
        });
    }

    /// Groups that took the most time first. `seconds`: length of the period; `describe` adds what the name says.
    pub(super) fn to_json(
        &self,
        now: u64,
        seconds: u64,
        describe: impl Fn(&N, &mut Value),
    ) -> Value {
        let covered = seconds.clamp(1, (PARTS as u64 - 1) * PART + now % PART + 1);
        let mut shown: Vec<(u64, Value)> = (self.0.iter())
            .map(|(name, group)| {
                let all = group.sum();
                let mut value = all.to_json(covered);
                describe(name, &mut value);
                (all.times.sum_us(), value)
            })
            .collect();
        shown.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        shown.into_iter().map(|(_, group)| group).collect()
    }
}

impl Group {
    fn part(&mut self, number: u64) -> &mut Part {
        // A clock that was set back does not create a second one.
        if self.0.back().is_none_or(|part| part.number < number) {
            if self.0.len() == PARTS {
                self.0.pop_front();
            }
            self.0.push_back(Part {
                number,
                ..Part::default()
            });
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    fn sum(&self) -> Part {
        let mut all = Part::default();
        for part in &self.0 {
            all.times.merge(&part.times);
            all.php_us += part.php_us;
            all.queue_us += part.queue_us;
            all.client_errors += part.client_errors;
            all.server_errors += part.server_errors;
            all.sent += part.sent;
            all.memory.count += part.memory.count;
            all.memory.sum += part.memory.sum;
            all.memory.largest = all.memory.largest.max(part.memory.largest);
        }
        all
    }
}

impl Part {
    fn add(&mut self, request: &FinishedRequest) {
        self.times.add(request.duration);
        self.php_us += request.php.as_micros() as u64;
        self.queue_us += request.queue.as_micros() as u64;
        self.sent += request.sent;
        match request.status {
            500.. => self.server_errors += 1,
            // 0: the client disconnected, which logs show as 499.
            400.. | 0 => self.client_errors += 1,
            _ => {}
        }
        if let Some(bytes) = request.memory_peak {
            self.memory.add(bytes);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that people read")]
    fn to_json(&self, covered: u64) -> Value {
        let count = self.times.count();
        let mean = |sum: u64| sum.checked_div(count).unwrap_or(0);
        let memory = (self.memory.count > 0).then(|| {
            json!({
                "mean": self.memory.sum / self.memory.count,
                "largest": self.memory.largest,
            })
        });
        json!({
            "requests": count,
            "per_second": count as f64 / covered as f64,
            "client_errors": self.client_errors,
            "server_errors": self.server_errors,
            "mean_us": self.times.mean_us(),
            "p50_us": self.times.quantile_us(500),
            "p95_us": self.times.quantile_us(950),
            "p99_us": self.times.quantile_us(990),
            "largest_us": self.times.largest_us(),
            "total_us": self.times.sum_us(),
            "php_mean_us": mean(self.php_us),
            "queue_mean_us": mean(self.queue_us),
            "sent_mean": mean(self.sent),
            "memory": memory,
        })
    }
}

impl MemoryPeaks {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
    }
}
