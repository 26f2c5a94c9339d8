//! State that the front threads and the supervisor of a pool share: the workers that wait for a request, and the
//! requests that wait for a worker.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::call_error::CallError;
use crate::options::PoolOptions;
use crate::upload::UploadFolder;
use crate::worker::{Process, Worker};

/// State that the front threads and the supervisor of a pool share.
#[derive(Debug)]
pub(crate) struct PoolInner {
    pub(crate) options: PoolOptions,
    pub(crate) state: Mutex<State>,
    /// Wakes the supervisor: workers are missing, or have to be replaced.
    pub(crate) wake: Notify,
    /// The supervisor's runtime, which outlives the front threads.
    pub(crate) runtime: Handle,
    pub(crate) counts: Counts,
    pub(crate) generation: AtomicU32,
    /// Failed starts since a worker has handled a request.
    pub(crate) failures: AtomicU32,
    /// Requests that wait or run.
    pub(crate) in_flight: AtomicUsize,
    /// Folder for a pool with a separate user.
    pub(crate) uploads: Option<Arc<UploadFolder>>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last one was used last.
    idle: Vec<Worker>,
    waiters: VecDeque<oneshot::Sender<Worker>>,
    /// All running processes by their places.
    pub(crate) processes: BTreeMap<u16, Arc<Process>>,
    /// Why no worker starts.
    pub(crate) failure: Option<String>,
    pub(crate) reloading: bool,
    is_closed: bool,
}

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) started: AtomicU64,
    pub(crate) ready: AtomicU64,
    pub(crate) crashed: AtomicU64,
    pub(crate) recycled: AtomicU64,
    pub(crate) killed: AtomicU64,
    pub(crate) boots_failed: AtomicU64,
    pub(crate) reloads: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
    pub(crate) queue_full: AtomicU64,
    pub(crate) wait_timeout: AtomicU64,
    pub(crate) not_booted: AtomicU64,
}

pub(crate) fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl PoolInner {
    pub(crate) fn new(options: PoolOptions, runtime: Handle) -> io::Result<Self> {
        let uploads = options
            .user
            .as_ref()
            .map(UploadFolder::create)
            .transpose()?;
        Ok(Self {
            uploads: uploads.map(Arc::new),
            options,
            state: Mutex::default(),
            wake: Notify::new(),
            runtime,
            counts: Counts::default(),
            generation: AtomicU32::new(1),
            failures: AtomicU32::new(0),
            in_flight: AtomicUsize::new(0),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// A worker for a request. If this is dropped, the request no longer waits.
    pub(crate) async fn acquire(&self) -> Result<Worker, CallError> {
        let worker = {
            let mut state = self.lock();
            if state.is_closed {
                return Err(CallError::Stopping);
            }
            match state.take_idle() {
                Some(worker) => return Ok(worker),
                None => self.enqueue(&mut state)?,
            }
        };
        let limit = self.options.limits.max_wait_time;
        if let Ok(worker) = tokio::time::timeout(limit, worker).await {
            return worker.map_err(|_| CallError::Stopping);
        }
        add(&self.counts.wait_timeout);
        Err(CallError::WaitTimeout(limit))
    }

    fn enqueue(&self, state: &mut State) -> Result<oneshot::Receiver<Worker>, CallError> {
        if state.processes.is_empty()
            && let Some(failure) = &state.failure
        {
            add(&self.counts.not_booted);
            return Err(CallError::NotBooted(failure.clone()));
        }
        if state.waiters.len() >= self.options.limits.queue_length {
            // Requests whose clients have disconnected are still queued.
            state.waiters.retain(|waiter| !waiter.is_closed());
            if state.waiters.len() >= self.options.limits.queue_length {
                add(&self.counts.queue_full);
                return Err(CallError::QueueFull);
            }
        }
        let (waiter, worker) = oneshot::channel();
        state.waiters.push_back(waiter);
        Ok(worker)
    }

    /// Takes back a worker that has handled a request.
    pub(crate) fn finish(&self, worker: Worker) {
        let most = u64::from(self.options.limits.max_requests);
        if worker.process.count() >= most && most > 0 && worker.process.set_due() {
            self.wake.notify_one();
        }
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
        self.release(worker);
    }

    /// Takes back a worker that waits for a request.
    pub(crate) fn release(&self, worker: Worker) {
        *worker
            .process
            .request
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
        let mut state = self.lock();
        if worker.process.is_retired() || state.is_closed {
            drop(state);
            Process::stop(worker);
            return;
        }
        let mut worker = worker;
        while let Some(waiter) = state.waiters.pop_front() {
            match waiter.send(worker) {
                Ok(()) => return,
                // Its client has disconnected.
                Err(same) => worker = same,
            }
        }
        state.idle.push(worker);
    }

    /// A worker that has no request gets no more of them, and another one takes its place.
    pub(crate) fn replace(&self, worker: Worker) {
        worker.process.set_retired();
        self.release(worker);
        self.wake.notify_one();
    }

    /// A process gets no more requests. If it has one in flight, it is stopped afterwards.
    pub(crate) fn retire(&self, process: &Process) {
        process.set_retired();
        let mut state = self.lock();
        let place = state
            .idle
            .iter()
            .position(|worker| worker.process.place == process.place);
        let idle = place.map(|place| state.idle.remove(place));
        drop(state);
        if let Some(worker) = idle {
            Process::stop(worker);
        }
    }

    /// A process has exited.
    pub(crate) fn forget(&self, process: &Process) {
        let mut state = self.lock();
        state.processes.remove(&process.place);
        state
            .idle
            .retain(|worker| worker.process.place != process.place);
    }

    /// The lowest free place.
    pub(crate) fn free_place(taken: &BTreeMap<u16, Arc<Process>>) -> u16 {
        let is_free = |place: &u16| !taken.contains_key(place);
        (0..u16::MAX).find(is_free).unwrap_or(u16::MAX)
    }

    /// Requests get no more workers, and all workers are stopped.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiters.clear();
        let idle = std::mem::take(&mut state.idle);
        for process in state.processes.values() {
            process.set_retired();
        }
        drop(state);
        for worker in idle {
            Process::stop(worker);
        }
        self.wake.notify_one();
    }
}

impl State {
    /// One that was used on this thread needs no registration.
    fn take_idle(&mut self) -> Option<Worker> {
        let here = self.idle.iter().rposition(|worker| worker.link.is_here());
        match here {
            Some(place) => Some(self.idle.remove(place)),
            None => self.idle.pop(),
        }
    }

    /// Requests that wait for a worker.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters
            .iter()
            .filter(|waiter| !waiter.is_closed())
            .count()
    }
}
