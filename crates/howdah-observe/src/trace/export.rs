//! The queue of spans and the thread that exports them.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::post::Collector;
use super::settings::{Sampler, Settings};
use super::span::Span;

/// How long a server that stops waits for spans that are still to be exported.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// Minimum time between two messages about dropped spans.
const COMPLAIN: Duration = Duration::from_secs(60);

/// The exporter cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A thread or a runtime cannot be created.
    #[error("traces cannot be exported: {0}")]
    Io(#[from] io::Error),
    /// The certificates of HTTPS.
    #[error("traces cannot be exported over HTTPS: {0}")]
    Tls(#[from] howdah_tls::TlsError),
}

/// Queues spans and exports them. When it is dropped, queued spans are exported, which takes at most 2 s.
#[derive(Debug)]
pub struct Tracer {
    queue: Arc<Queue>,
    sampler: Sampler,
    exports: bool,
}

/// Counts dropped spans; outlives the tracer.
#[derive(Debug, Clone, Default)]
pub struct SpanLosses(Option<Arc<Queue>>);

impl SpanLosses {
    /// Since the start.
    pub fn spans(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |queue| queue.dropped.load(Relaxed))
    }
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    dropped: AtomicU64,
    capacity: usize,
    batch: usize,
}

#[derive(Debug, Default)]
struct State {
    spans: VecDeque<Span>,
    closed: bool,
    ended: bool,
}

impl Tracer {
    /// Starts the exporter, if spans are exported.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
            dropped: AtomicU64::new(0),
            capacity: settings.queue,
            batch: settings.batch.min(settings.queue),
        });
        let tracer = Self {
            queue: Arc::clone(&queue),
            sampler: settings.sampler,
            exports: settings.exports,
        };
        if settings.exports {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let collector = Collector::new(settings)?;
            std::thread::Builder::new()
                .name("trace-export".into())
                .spawn(move || run(&queue, &collector, &runtime))?;
        }
        Ok(tracer)
    }

    /// Which traces are exported.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Whether spans are exported.
    pub fn exports(&self) -> bool {
        self.exports
    }

    /// Counts dropped spans.
    pub fn losses(&self) -> SpanLosses {
        SpanLosses(Some(Arc::clone(&self.queue)))
    }

    /// Queues the spans of a request; all are dropped if there is no room for all. Never waits.
    pub fn push(&self, spans: impl IntoIterator<Item = Span, IntoIter: ExactSizeIterator>) {
        let spans = spans.into_iter();
        let count = spans.len();
        let mut state = self.queue.lock();
        if state.closed || state.spans.len() + count > self.queue.capacity {
            drop(state);
            self.queue.dropped.fetch_add(count as u64, Relaxed);
            return;
        }
        let before = state.spans.len();
        state.spans.extend(spans);
        // The exporter wakes by itself after its delay; sooner only for a full batch.
        let full = before < self.queue.batch && state.spans.len() >= self.queue.batch;
        drop(state);
        if full {
            self.queue.changed.notify_all();
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if !self.exports {
            return;
        }
        let until = Instant::now() + FLUSH_LIMIT;
        let mut state = self.queue.lock();
        state.closed = true;
        self.queue.changed.notify_all();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(target: "howdah::trace", "the last spans were not exported in time");
                return;
            }
            let waited = self.queue.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A batch, after the delay or when it is full; `None`: no more will come.
    fn take(&self, delay: Duration) -> Option<(Vec<Span>, bool)> {
        let due = Instant::now() + delay;
        let mut state = self.lock();
        while state.spans.len() < self.batch && !state.closed {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed && state.spans.is_empty() {
            return None;
        }
        let count = state.spans.len().min(self.batch);
        let spans = state.spans.drain(..count).collect();
        Some((spans, state.closed))
    }
}

fn run(queue: &Queue, collector: &Collector, runtime: &tokio::runtime::Runtime) {
    let endpoint = &collector.settings().endpoint;
    let mut warned_at: Option<Instant> = None;
    while let Some((spans, closed)) = queue.take(collector.settings().delay) {
        if spans.is_empty() {
            continue;
        }
        let (dropped, reason) = match runtime.block_on(collector.export(&spans, closed)) {
            Ok(0) => continue,
            Ok(rejected) => (rejected, "the collector rejected a part of them".to_owned()),
            Err(error) => (spans.len() as u64, error.to_string()),
        };
        queue.dropped.fetch_add(dropped, Relaxed);
        if warned_at.is_none_or(|at| at.elapsed() >= COMPLAIN) {
            warned_at = Some(Instant::now());
            let dropped = queue.dropped.load(Relaxed);
            tracing::warn!(target: "howdah::trace", %endpoint, lost = dropped, "spans were not exported: {reason}");
        }
    }
    queue.lock().ended = true;
    queue.changed.notify_all();
}
