//! From the start of a worker process to its exit.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use howdah_pool::register;
use serde::Deserialize;
use tokio::io::Interest;
use tokio::sync::mpsc;

use crate::frame::{self, Kind, Part};
use crate::launch::{OsProcess, WorkerProcess};
use crate::link::{Link, LinkError};
use crate::pool::{PoolInner, add};
use crate::stderr::{LastLine, forward};
use crate::worker::{Process, Worker};

/// How long a worker may take to exit when it was ordered to.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// A worker that exits sooner, without a request, failed to start.
const EARLY: Duration = Duration::from_secs(1);
/// Wait for the exit of a worker that fails to start, to read its last line.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Bytes of the reply with the process id.
const REPLY_MAX: u32 = 1024;

/// Why a worker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    #[error("the process cannot be started: {0}")]
    Launch(#[from] std::io::Error),
    #[error("it was not ready within {0:?} (`boot_timeout`)")]
    Timeout(Duration),
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("it did not reply to the handshake with its process id")]
    Handshake,
    #[error("{error}; its last line was: {line}")]
    WithLine { error: Box<Self>, line: String },
}

/// Starts a worker, which takes requests when it is released.
pub(crate) async fn boot(
    shared: &Arc<PoolInner>,
    rpc: &str,
    generation: u32,
) -> Result<Worker, BootError> {
    let options = &shared.options;
    add(&shared.counts.started);
    let WorkerProcess {
        process: os,
        stdin,
        stdout,
        stderr,
    } = options.launch(rpc)?;
    let (stop, stopped) = mpsc::unbounded_channel();
    let process = {
        let mut state = shared.lock();
        let place = PoolInner::free_place(&state.processes);
        let process = Arc::new(Process::new(place, generation, &os, stop)?);
        state.processes.insert(place, Arc::clone(&process));
        process
    };
    let last = LastLine::default();
    tokio::spawn(forward(stderr, options.name.clone(), os.pid, last.clone()));
    let exited = tokio::spawn(look_after(
        Arc::clone(shared),
        Arc::clone(&process),
        os,
        stopped,
    ));
    let result = match Link::new(stdin, stdout) {
        Ok(link) => tokio::time::timeout(options.boot_timeout, handshake(link)).await,
        Err(error) => Ok(Err(error.into())),
    };
    let error = match result {
        Ok(Ok(link)) => {
            process.set_ready();
            add(&shared.counts.ready);
            return Ok(Worker { process, link });
        }
        Ok(Err(error)) => error,
        Err(_) => BootError::Timeout(options.boot_timeout),
    };
    if !matches!(error, BootError::Link(LinkError::Closed)) {
        process.end();
    }
    // A worker may hang with its output closed.
    if tokio::time::timeout(LAST_WORDS, exited).await.is_err() {
        process.end();
    }
    let line = last.get();
    Err(if line.is_empty() {
        error
    } else {
        let error = Box::new(error);
        BootError::WithLine { error, line }
    })
}

/// The server's process id for the worker's.
async fn handshake(mut link: Link) -> Result<Link, BootError> {
    #[derive(Deserialize)]
    struct Reply {
        pid: i64,
    }
    let order = frame::control(&format!("{{\"pid\":{}}}", std::process::id()));
    // A worker that does not read it prints the reason.
    let _ = link.write(&mut [IoSlice::new(&order)]).await;
    let mut reply = Vec::new();
    loop {
        match link.next().await? {
            Part::Start {
                kind: Kind::Control,
                body: 1..=REPLY_MAX,
                ..
            } => {}
            Part::Start { .. } => return Err(BootError::Handshake),
            Part::Body(piece) => reply.extend_from_slice(&piece),
            Part::End(_) => break,
        }
    }
    let reply: Reply = serde_json::from_slice(&reply).map_err(|_| BootError::Handshake)?;
    if reply.pid <= 0 || !link.is_between() {
        return Err(BootError::Handshake);
    }
    Ok(link)
}

/// Waits for the exit of a process, and stops its worker when that is passed to it.
async fn look_after(
    shared: Arc<PoolInner>,
    process: Arc<Process>,
    mut os: OsProcess,
    mut stopped: mpsc::UnboundedReceiver<Worker>,
) {
    let pidfd = os.pidfd.try_clone();
    let Ok(pidfd) = pidfd.and_then(|fd| register(fd, Interest::READABLE)) else {
        tracing::error!(target: "howdah::php", pid = os.pid, "the exit of a worker cannot be watched: it is killed");
        process.end();
        let _ = tokio::task::spawn_blocking(move || os.reap()).await;
        return shared.forget(&process);
    };
    let exit = async { pidfd.readable().await.map(|mut ready| ready.retain_ready()) };
    tokio::pin!(exit);
    let is_stopped = tokio::select! {
        _ = &mut exit => false,
        Some(worker) = stopped.recv() => {
            stop(worker, &mut exit).await;
            true
        }
    };
    let status = os.reap();
    shared.forget(&process);
    let (pool, pid, requests) = (&*shared.options.name, process.pid, process.requests());
    let shown = status
        .as_ref()
        .map_or_else(ToString::to_string, ToString::to_string);
    if is_stopped {
        if process.is_due() {
            add(&shared.counts.recycled);
        }
        tracing::debug!(target: "howdah::php", pool, pid, requests, "worker stopped: {shown}");
    } else if !process.is_ready() || process.is_killed() {
        tracing::debug!(target: "howdah::php", pool, pid, requests, "worker exited: {shown}");
    } else if requests > 0 && status.is_ok_and(|status| status.success()) {
        add(&shared.counts.recycled);
        tracing::info!(target: "howdah::php", pool, pid, requests, "the worker ended its loop: {shown}");
    } else {
        add(&shared.counts.crashed);
        if requests == 0 && process.started.elapsed() < EARLY {
            shared.failures.fetch_add(1, Ordering::Relaxed);
        }
        tracing::warn!(target: "howdah::php", pool, pid, requests, "worker exited: {shown}");
    }
    shared.wake.notify_one();
}

/// Orders a worker to exit, and kills it if it does not.
async fn stop(worker: Worker, exit: impl Future<Output = std::io::Result<()>>) {
    let Worker { process, link } = worker;
    let order = frame::control("{\"stop\":true}");
    let end = async {
        // The pipe is empty, so this waits only if the worker does not read at all.
        let _ = link.write(&mut [IoSlice::new(&order)]).await;
        exit.await
    };
    tokio::pin!(end);
    if tokio::time::timeout(STOP_TIMEOUT, &mut end).await.is_err() {
        tracing::warn!(target: "howdah::php", pid = process.pid, "worker did not exit within {STOP_TIMEOUT:?}: it is killed");
        process.end();
        let _ = end.await;
    }
}
