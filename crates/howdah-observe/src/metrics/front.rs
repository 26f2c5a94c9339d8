//! Counters of front threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Method;

use super::routes::Routes;
use crate::access::CLIENT_DISCONNECTED;

/// Upper bounds of the histograms' buckets in microseconds; the last bucket has everything above.
pub const BOUNDS: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
/// The label of all further hosts.
pub const OTHER_HOST: &str = "_other";
/// Hosts that one front thread counts separately.
const HOSTS_MAX: usize = 1000;
pub(super) const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "other",
];
pub(super) const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The first status code, and how many there are.
const FIRST_CODE: u16 = 100;
const CODES: usize = 500;
pub(super) const PHASES: [Phase; 3] = [Phase::Queue, Phase::Php, Phase::Send];
pub(super) const PROTOCOLS: [Protocol; 3] = [Protocol::Http1, Protocol::Http2, Protocol::Http3];

/// A phase of a request that PHP handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The time from the call of PHP until a worker claimed the request.
    Queue,
    /// The time from there until the worker was done.
    Php,
    /// The time from there until the last byte was handed to the connection.
    Send,
}

impl Phase {
    /// The label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Php => "php",
            Self::Send => "send",
        }
    }
}

/// Result of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// With TLS 1.2.
    Tls12,
    /// With TLS 1.3.
    Tls13,
    /// Failed, because of an error or a timeout.
    Failed,
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 and HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

impl Protocol {
    /// The label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
            Self::Http3 => "h3",
        }
    }
}

/// Counters of all front threads.
#[derive(Debug)]
pub struct Measures {
    /// Pools, and one more row for responses of the front itself.
    rows: usize,
    shards: Box<[Shard]>,
    routes: Routes,
}

/// Counters of one front thread, which alone writes them. In separate memory, so that writes of
/// other threads do not share a cache line with them.
#[derive(Debug)]
#[repr(align(128))] // two lines: x86 prefetches lines in pairs
pub struct Shard {
    rows: usize,
    /// Indexed by row, method and status.
    requests: Box<[Counter]>,
    /// Total times, by row and status.
    totals: Box<[Histogram]>,
    /// Indexed by row and phase.
    phases: Box<[Histogram]>,
    /// Requests of all rows, by method and status code.
    codes: Box<[Counter]>,
    sent: Counter,
    received: Counter,
    /// Requests by host and method, if `per_host` is on. Only readers of metrics wait for it.
    hosts: Mutex<BTreeMap<String, [u64; METHODS.len()]>>,
}

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    /// One writer, so that a load and a store are enough.
    fn add(&self, number: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(number), Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [Counter; BOUNDS.len() + 1],
    /// Nanoseconds: 584 years.
    sum: Counter,
}

impl Histogram {
    fn zeroed(count: usize) -> Box<[Self]> {
        (0..count).map(|_| Self::default()).collect()
    }

    fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let micros = nanos.div_ceil(1000);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].add(1);
        self.sum.add(nanos);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HistogramSum {
    pub(super) buckets: [u64; BOUNDS.len() + 1],
    pub(super) sum_ns: u64,
}

impl HistogramSum {
    pub(super) fn add(&mut self, other: &Self) {
        for (total, bucket) in self.buckets.iter_mut().zip(&other.buckets) {
            *total += bucket;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl Measures {
    /// Creates the measures for this number of front threads and pools.
    pub fn new(threads: usize, pools: usize) -> Self {
        let rows = pools + 1;
        Self {
            rows,
            shards: (0..threads).map(|_| Shard::new(rows)).collect(),
            routes: Routes::default(),
        }
    }

    /// The counters of a front thread. An unknown number gets the first.
    pub fn shard(&self, thread: usize) -> &Shard {
        self.shards.get(thread).unwrap_or(&self.shards[0])
    }

    /// Times by route; empty unless they are counted.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Pools, without the row of the front.
    pub fn pools(&self) -> usize {
        self.rows - 1
    }

    fn sum(&self, counter: impl Fn(&Shard) -> u64) -> u64 {
        self.shards.iter().map(counter).sum()
    }

    /// Requests of a row, by method and status, in the order of [`METHODS`] and [`STATUSES`].
    pub(super) fn requests(&self, row: usize) -> impl Iterator<Item = (usize, usize, u64)> {
        (0..METHODS.len() * STATUSES.len()).map(move |cell| {
            let count = self.sum(|shard| shard.requests[row * CELLS + cell].get());
            (cell / STATUSES.len(), cell % STATUSES.len(), count)
        })
    }

    /// Requests of all rows by method, in the order of [`METHODS`], and by status code; without
    /// counts of 0.
    pub(super) fn codes(&self) -> impl Iterator<Item = (usize, u16, u64)> {
        let codes = (FIRST_CODE..).take(CODES);
        let cells = (0..METHODS.len())
            .flat_map(move |method| codes.clone().map(move |code| (method, code)));
        let counts = cells.enumerate().map(|(cell, (method, code))| {
            (method, code, self.sum(|shard| shard.codes[cell].get()))
        });
        counts.filter(|(.., count)| *count > 0)
    }

    /// Times from the end of the requests' headers to the end of the responses, by class of status in the
    /// order of [`STATUSES`].
    pub(super) fn total(&self, row: usize, class: usize) -> HistogramSum {
        self.histogram(|shard| &shard.totals[row * STATUSES.len() + class])
    }

    pub(super) fn phase(&self, row: usize, phase: Phase) -> HistogramSum {
        self.histogram(|shard| &shard.phases[row * PHASES.len() + phase as usize])
    }

    fn histogram(&self, of: impl Fn(&Shard) -> &Histogram) -> HistogramSum {
        let mut summed = HistogramSum::default();
        for shard in &self.shards {
            let histogram = of(shard);
            for (total, bucket) in summed.buckets.iter_mut().zip(&histogram.buckets) {
                *total += bucket.get();
            }
            summed.sum_ns = summed.sum_ns.wrapping_add(histogram.sum.get());
        }
        summed
    }

    /// Requests by host and method, in the order of [`METHODS`]; empty if they are not counted by
    /// host.
    pub(super) fn hosts(&self) -> BTreeMap<String, [u64; METHODS.len()]> {
        let mut summed: BTreeMap<String, [u64; METHODS.len()]> = BTreeMap::new();
        for shard in &self.shards {
            let hosts = shard.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            for (host, counts) in &*hosts {
                let total = summed.entry(host.clone()).or_default();
                for (total, count) in total.iter_mut().zip(counts) {
                    *total += count;
                }
            }
        }
        summed
    }

    pub(super) fn sent(&self) -> u64 {
        self.sum(|shard| shard.sent.get())
    }

    pub(super) fn received(&self) -> u64 {
        self.sum(|shard| shard.received.get())
    }
}

const CELLS: usize = METHODS.len() * STATUSES.len();

impl Shard {
    fn new(rows: usize) -> Self {
        Self {
            rows,
            requests: (0..rows * CELLS).map(|_| Counter::default()).collect(),
            totals: Histogram::zeroed(rows * STATUSES.len()),
            phases: Histogram::zeroed(rows * PHASES.len()),
            codes: (0..METHODS.len() * CODES)
                .map(|_| Counter::default())
                .collect(),
            sent: Counter::default(),
            received: Counter::default(),
            hosts: Mutex::default(),
        }
    }

    /// The front's own row is the last.
    fn row(&self, pool: Option<usize>) -> usize {
        pool.map_or(self.rows - 1, |pool| pool.min(self.rows - 1))
    }

    /// Counts a finished request. `pool` is `None` without PHP, `status` is 0 if the client disconnected before there
    /// was one, which counts as 4xx like nginx's 499. Bytes are those of the bodies; the time is from the end of the
    /// request's header to the end of the response.
    pub fn request(
        &self,
        pool: Option<usize>,
        method: &Method,
        status: u16,
        (received, sent): (u64, u64),
        time: Duration,
    ) {
        let status = if status == 0 {
            CLIENT_DISCONNECTED
        } else {
            status
        };
        let class = usize::from(status / 100).clamp(1, STATUSES.len()) - 1;
        let row = self.row(pool);
        let method = method_index(method);
        self.requests[row * CELLS + method * STATUSES.len() + class].add(1);
        let code = usize::from(status.saturating_sub(FIRST_CODE)).min(CODES - 1);
        self.codes[method * CODES + code].add(1);
        self.totals[row * STATUSES.len() + class].add(time);
        if received > 0 {
            self.received.add(received);
        }
        if sent > 0 {
            self.sent.add(sent);
        }
    }

    /// Counts a request by its host; beyond [`HOSTS_MAX`] hosts it counts as [`OTHER_HOST`].
    pub fn request_of(&self, host: &str, method: &Method) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let host = if hosts.len() < HOSTS_MAX || hosts.contains_key(host) {
            host
        } else {
            OTHER_HOST
        };
        if let Some(counts) = hosts.get_mut(host) {
            counts[method_index(method)] += 1;
            return;
        }
        let mut counts = [0; METHODS.len()];
        counts[method_index(method)] = 1;
        hosts.insert(host.to_owned(), counts);
    }

    /// Counts the time of a phase.
    pub fn phase(&self, pool: Option<usize>, phase: Phase, time: Duration) {
        self.phases[self.row(pool) * PHASES.len() + phase as usize].add(time);
    }
}

fn method_index(method: &Method) -> usize {
    let name = method.as_str();
    METHODS
        .iter()
        .position(|known| *known == name)
        .unwrap_or(METHODS.len() - 1)
}
