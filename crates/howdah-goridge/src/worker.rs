//! A worker: its process and its pipes. It has one owner at a time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::mpsc;

use crate::launch::{self, OsProcess};
use crate::link::Link;

/// A worker that can be given a request.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) process: std::sync::Arc<Process>,
    pub(crate) link: Link,
}

/// Data about a worker's process, in every state of the worker.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its place in the pool.
    pub(crate) place: u16,
    pub(crate) pid: i32,
    pub(crate) generation: u32,
    pub(crate) started: Instant,
    pidfd: OwnedFd,
    /// Requests that it has handled.
    requests: AtomicU64,
    /// Resident bytes at the last check.
    pub(crate) memory: AtomicU64,
    /// It accepts requests, or did.
    is_ready: AtomicBool,
    /// A successor is starting.
    is_due: AtomicBool,
    /// It gets no more requests.
    is_retired: AtomicBool,
    /// It was killed, for a reason that is logged elsewhere.
    is_killed: AtomicBool,
    /// The current request, and its start.
    pub(crate) request: Mutex<Option<(u64, Instant)>>,
    /// Passes the worker to its task, which stops it.
    stop: mpsc::UnboundedSender<Worker>,
}

impl Process {
    pub(crate) fn new(
        place: u16,
        generation: u32,
        os: &OsProcess,
        stop: mpsc::UnboundedSender<Worker>,
    ) -> io::Result<Self> {
        Ok(Self {
            place,
            pid: os.pid,
            generation,
            started: Instant::now(),
            pidfd: os.pidfd.try_clone()?,
            requests: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            is_killed: AtomicBool::new(false),
            request: Mutex::new(None),
            stop,
        })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// A request has been handled; returns their number.
    pub(crate) fn count(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Marks it as due for replacement; false: it was marked before.
    pub(crate) fn set_due(&self) -> bool {
        !self.is_due.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    pub(crate) fn set_retired(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }

    pub(crate) fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        launch::kill(self.pidfd.as_fd());
    }

    /// Kills a process that has closed its pipes, if it has not exited. The reason is known when it is reaped.
    pub(crate) fn end(&self) {
        launch::kill(self.pidfd.as_fd());
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// Has its task stop it.
    pub(crate) fn stop(worker: Worker) {
        let stop = worker.process.stop.clone();
        // A worker without its task has exited.
        let _ = stop.send(worker);
    }
}
