//! Reads one process's log pipe: passes its messages to the server's log and its states to the supervisor.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_shm::{Segment, WorkerId};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use super::log_budget::{LogBudget, LogLoss};
use super::log_pipe::{Level, LogParser, Message, Output, StateRecord};
use super::slow_log::{SlowLog, seconds};
use super::tail::Tail;
use crate::crash_report::CrashRecorder;
use crate::leaks::LeakBook;
use crate::looks::RequestLooks;

/// Owner of a pipe.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) pool: Arc<str>,
    /// `None`: a zygote's.
    pub(crate) worker: Option<(WorkerId, Arc<Segment>)>,
    /// The key of its records.
    pub(crate) log_key: u64,
    /// Set if the pool has `slow_log`.
    pub(crate) slow_log: Option<Arc<SlowLog>>,
    /// The limit on the size of its pool's logs.
    pub(crate) budget: LogBudget,
    /// The generation that it belongs to.
    pub(crate) generation: u32,
    /// Findings of its pool's workers.
    pub(crate) leaks: LeakBook,
    /// 0 until the zygote, or the root, has reported it; nothing is read before.
    pub(crate) pid: watch::Receiver<i32>,
    /// Reports of what its pool's requests do.
    pub(crate) looks: RequestLooks,
    /// Recording for a crash report.
    pub(crate) recorder: CrashRecorder,
    /// Its output before it is ready.
    pub(crate) tail: Tail,
}

/// Bytes that are read at a time: the whole content of a pipe of the usual size, so that lines are read together with
/// the record that claims them.
const BUFFER_SIZE: usize = 64 << 10;
/// Pause in reading a worker that exceeds the limit, so that it does not take the processor from others.
const REST: Duration = Duration::from_millis(5);
/// Dropped messages are counted in a warning when no more arrive.
const QUIET: Duration = Duration::from_secs(1);

/// The key for the records of a process, from the operating system's randomness: no request can guess it.
pub(crate) fn key(serial: u64) -> u64 {
    RandomState::new().hash_one(serial).max(1)
}

/// Reads until the pipe is closed by the process and all of its children.
pub(crate) async fn forward(
    pipe: OwnedFd,
    mut source: Source,
    mut report: impl FnMut(StateRecord),
) {
    let Ok(pipe) = Receiver::from_owned_fd(pipe) else {
        return;
    };
    // An error: the process was never reported, and its output may contain the reason.
    let pid = source
        .pid
        .wait_for(|pid| *pid != 0)
        .await
        .ok()
        .map(|pid| *pid);
    let mut parser = LogParser::new(source.log_key);
    let mut buffer = Vec::with_capacity(BUFFER_SIZE);
    let mut sink = |output: Output| match output {
        Output::Message(message) => log(&source, pid, &message),
        Output::State(state) => report(state),
        Output::Sample { request_id, text } => log_sample(&source, pid, request_id, &text),
        Output::Leak { request_id, json } => log_leak(&source, pid, request_id, &json),
        Output::Look { request_id, text } => {
            if let Some((worker, _)) = &source.worker {
                source
                    .looks
                    .add(*worker, pid.unwrap_or_default(), request_id, &text);
            }
        }
        Output::Fault { request_id, text } => source.recorder.note(request_id, text),
    };
    loop {
        // Queried before the read: the bytes read were written during this request or a later one, and a worker claims
        // unread bytes when it goes to another request.
        let readable = tokio::time::timeout(QUIET, pipe.readable());
        let readable = if source.budget.has_dropped_messages() {
            readable.await
        } else {
            Ok(pipe.readable().await)
        };
        report_dropped(&source);
        match readable {
            Err(_) => continue,
            Ok(Err(_)) => break,
            Ok(Ok(())) => {}
        }
        let current = current_request(&source);
        buffer.clear();
        match pipe.try_read_buf(&mut buffer) {
            Ok(0) => break,
            Ok(_) => parser.push_bytes(&buffer, current, &mut sink),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        if source.budget.has_dropped_messages() {
            tokio::time::sleep(REST).await;
        }
    }
    parser.finish(None, &mut sink);
    source.recorder.close();
    report_dropped(&source);
}

fn report_dropped(source: &Source) {
    if let Some(LogLoss { messages, bytes }) = source.budget.take_due(Instant::now()) {
        tracing::warn!(
            target: "howdah::pool", pool = &*source.pool, messages, bytes,
            "dropped log messages of PHP code: the pool writes more than 4 MiB a second"
        );
    }
}

fn current_request(source: &Source) -> Option<u64> {
    let (worker, segment) = source.worker.as_ref()?;
    segment.worker(*worker)?.request_id.map(u64::from)
}

/// Logs the first sample of a slow request; the others are logged as its timeline.
fn log_sample(source: &Source, pid: Option<i32>, request_id: u64, text: &str) {
    let log = source.slow_log.as_ref();
    let Some(first) = log.and_then(|log| log.add(request_id, text, Instant::now())) else {
        return;
    };
    let (pool, worker) = (
        &*source.pool,
        source.worker.as_ref().map(|(worker, _)| worker.0),
    );
    let (request_id, age, text) = (format!("{request_id:016x}"), seconds(first.age), first.text);
    tracing::warn!(target: "howdah::php", pool, worker, pid, request_id, "slow request, {age} in PHP so far: {text}");
}

fn log_leak(source: &Source, pid: Option<i32>, request_id: Option<u64>, json: &str) {
    if !source.budget.take(json.len(), Instant::now()) {
        return;
    }
    let request_id = request_id.map(|id| format!("{id:016x}"));
    let request_id = request_id.as_deref();
    let Some(leak) = source.leaks.enter(source.generation, request_id, json) else {
        return;
    };
    let worker = source.worker.as_ref().map(|(worker, _)| worker.0);
    tracing::warn!(
        target: "howdah::leaks", pool = &*source.pool, worker, pid, request_id,
        kind = leak.kind, why = leak.why, path = leak.path, member = leak.member, value = leak.value,
        count_before = leak.count_before, count = leak.count, file = leak.file, line = leak.line,
        method = leak.method, uri = leak.uri,
        "a request leaked state into the worker: reset it after the request, or allow it in `detect_leaks`"
    );
}

fn log(source: &Source, pid: Option<i32>, message: &Message) {
    source.tail.push(&message.text);
    source.recorder.push(&message.text);
    if !source.budget.take(message.text.len(), Instant::now()) {
        return;
    }
    let (pool, text) = (&*source.pool, &*message.text);
    let worker = source.worker.as_ref().map(|(worker, _)| worker.0);
    let request_id = message.request_id.map(|id| format!("{id:016x}"));
    let request_id = request_id.as_deref();
    // PHP's own messages lack this field, so that printed text of an application cannot pass for
    // one.
    let stream = (!message.logged).then_some("output");
    macro_rules! at {
        ($level:ident) => {
            tracing::$level!(target: "howdah::php", pool, worker, pid, request_id, stream, "{text}")
        };
    }
    match message.level {
        Level::Error => at!(error),
        Level::Warning => at!(warn),
        Level::Notice | Level::Info => at!(info),
        Level::Debug => at!(debug),
    }
}
