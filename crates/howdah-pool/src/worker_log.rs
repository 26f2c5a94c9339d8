//! Reads one process's log pipe: passes its messages to the server's log and its states to the supervisor.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use howdah_shm::{Segment, WorkerId};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::log_pipe::{Level, LogParser, Message, Output, StateRecord};
use crate::tail::Tail;

/// Whose pipe it is.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) pool: Arc<str>,
    /// `None`: a zygote's.
    pub(crate) worker: Option<(WorkerId, Arc<Segment>)>,
    /// What records of the process's state carry; `None`: it has none to tell.
    pub(crate) state_key: Option<u64>,
    /// 0 until the zygote, or the root, has said it; nothing is read before.
    pub(crate) pid: watch::Receiver<i32>,
    /// What it writes before it is ready.
    pub(crate) tail: Tail,
}

/// Bytes that are read at a time.
const BUFFER_SIZE: usize = 16 << 10;

/// Reads until the pipe is closed by the process and all of its children.
pub(crate) async fn forward(
    pipe: OwnedFd,
    mut source: Source,
    mut report: impl FnMut(StateRecord),
) {
    let Ok(mut pipe) = Receiver::from_owned_fd(pipe) else {
        return;
    };
    // An error: it never came to be known, and what the process wrote may say why.
    let pid = source
        .pid
        .wait_for(|pid| *pid != 0)
        .await
        .ok()
        .map(|pid| *pid);
    let mut parser = LogParser::new(source.state_key);
    let mut buffer = Vec::with_capacity(BUFFER_SIZE);
    let mut sink = |output: Output| match output {
        Output::Message(message) => log(&source, pid, &message),
        Output::State(state) => report(state),
    };
    loop {
        // Asked before the read: what the read finds was written under this request or a later one, and
        // a worker says so itself when it moves on with bytes unread.
        if pipe.readable().await.is_err() {
            break;
        }
        let current = current_request(&source);
        buffer.clear();
        match pipe.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => parser.feed(&buffer, current, &mut sink),
        }
    }
    parser.finish(None, &mut sink);
}

fn current_request(source: &Source) -> Option<u64> {
    let (worker, segment) = source.worker.as_ref()?;
    segment.worker(*worker)?.request_id.map(u64::from)
}

fn log(source: &Source, pid: Option<i32>, message: &Message) {
    source.tail.push(&message.text);
    let (pool, text) = (&*source.pool, &*message.text);
    let worker = source.worker.as_ref().map(|(worker, _)| worker.0);
    let request_id = message.request_id.map(|id| format!("{id:016x}"));
    let request_id = request_id.as_deref();
    macro_rules! at {
        ($level:ident) => {
            tracing::$level!(target: "howdah::php", pool, worker, pid, request_id, "{text}")
        };
    }
    match message.level {
        Level::Error => at!(error),
        Level::Warning => at!(warn),
        Level::Notice | Level::Info => at!(info),
        Level::Debug => at!(debug),
    }
}
