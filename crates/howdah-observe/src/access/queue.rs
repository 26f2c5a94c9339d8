//! The queue between front threads and the writer of an output. Its limits bound the memory that a slow output costs;
//! beyond them lines are dropped.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::encode::LineEncoder;
use super::entry::Entry;
use super::output::Output;
use super::writer;

/// Entries that may wait.
pub(super) const ENTRIES_MAX: usize = 8_192;
/// Bytes of memory that they may take.
pub(super) const BYTES_MAX: usize = 16 << 20;
/// The writer checks no more often than this while requests arrive, so that it is not woken for
/// each.
const GATHER: Duration = Duration::from_millis(5);

/// An entry and its encoder.
pub(super) type Job = (Arc<Entry>, Arc<LineEncoder>);

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// The writer sleeps and must be woken.
    asleep: bool,
    /// The writer has to open the output again.
    reopen: bool,
    /// Entries that the writer has taken and not yet written.
    taken: usize,
    phase: Phase,
}

#[derive(Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Open,
    /// No more entries come.
    Closed,
    /// The writer has ended.
    Ended,
}

/// What the writer has to do.
#[derive(Debug)]
pub(super) struct Batch {
    /// Open the output again, first.
    pub(super) reopen: bool,
    pub(super) jobs: VecDeque<Job>,
}

/// A bounded queue of log lines.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    dropped: AtomicU64,
    /// Dropped lines of all queues of the server.
    total_lost: Arc<AtomicU64>,
}

impl Queue {
    /// Starts the writer. Dropped lines are counted in `total_lost` too.
    pub(super) fn start(output: Output, total_lost: Arc<AtomicU64>) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self {
            total_lost,
            ..Self::default()
        });
        let own = Arc::clone(&queue);
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || writer::run(&own, output))?;
        Ok(queue)
    }

    /// Queues an entry, or counts it as dropped.
    pub(super) fn push(&self, entry: Arc<Entry>, encoder: Arc<LineEncoder>) {
        let size = entry.size_in_memory();
        let mut state = self.lock();
        if state.phase != Phase::Open
            || state.jobs.len() >= ENTRIES_MAX
            || state.bytes + size > BYTES_MAX
        {
            drop(state);
            self.count_dropped(1);
            return;
        }
        state.bytes += size;
        state.jobs.push_back((entry, encoder));
        let wake = std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }

    pub(super) fn count_dropped(&self, lines: u64) {
        self.dropped.fetch_add(lines, Relaxed);
        self.total_lost.fetch_add(lines, Relaxed);
    }

    /// Number of dropped lines.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Has the writer open its output again: the file may have been moved, to rotate it.
    pub(super) fn reopen(&self) {
        self.lock().reopen = true;
        self.changed.notify_all();
    }

    /// Accepts no more entries; the writer ends when it has written the remaining ones.
    pub(super) fn close(&self) {
        self.lock().phase = Phase::Closed;
        self.changed.notify_all();
    }

    /// Waits until the writer has ended. Returns how many lines it has not written.
    pub(super) fn wait_end(&self, until: Instant) -> usize {
        let mut state = self.lock();
        while state.phase != Phase::Ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return state.jobs.len() + state.taken;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        0
    }

    /// Called by the writer: waits for entries and takes all of them; `None`: no more will come.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut state = self.lock();
        state.taken = 0;
        if state.jobs.is_empty() && state.phase == Phase::Open {
            // It was busy a moment ago: the next entries can wait for further ones.
            drop(state);
            std::thread::sleep(GATHER);
            state = self.lock();
        }
        while state.jobs.is_empty() && !state.reopen {
            if state.phase != Phase::Open {
                return None;
            }
            state.asleep = true;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes = 0;
        state.taken = state.jobs.len();
        Some(Batch {
            reopen: std::mem::take(&mut state.reopen),
            jobs: std::mem::take(&mut state.jobs),
        })
    }

    /// Called by the writer: records its end.
    pub(super) fn end(&self) {
        self.lock().phase = Phase::Ended;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
