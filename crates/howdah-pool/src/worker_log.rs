//! Reads one worker's log pipe and passes its messages to the server's log.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use howdah_shm::{Segment, WorkerId};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::log_pipe::{Level, LogParser, Message};

/// Whose pipe it is.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) pool: Arc<str>,
    pub(crate) worker: WorkerId,
    pub(crate) segment: Arc<Segment>,
    /// 0 until the zygote has said it.
    pub(crate) pid: Arc<AtomicI32>,
}

/// Reads until the pipe is closed by the worker and all of its children.
pub(crate) async fn forward(pipe: OwnedFd, source: Source) {
    let Ok(mut pipe) = Receiver::from_owned_fd(pipe) else {
        return;
    };
    let mut parser = LogParser::default();
    let mut buffer = vec![0; 16 << 10];
    let mut sink = |message: Message| log(&source, &message);
    loop {
        // Asked before the read: what the read finds was written under this request or a later one, and
        // a worker says so itself when it moves on with bytes unread.
        if pipe.readable().await.is_err() {
            break;
        }
        let current = current_request(&source);
        match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(size) => parser.feed(&buffer[..size], current, &mut sink),
        }
    }
    parser.finish(None, &mut sink);
}

fn current_request(source: &Source) -> Option<u64> {
    source
        .segment
        .worker(source.worker)?
        .request_id
        .map(u64::from)
}

fn log(source: &Source, message: &Message) {
    let (pool, worker, text) = (&*source.pool, source.worker.0, &*message.text);
    let pid = source.pid.load(Ordering::Relaxed);
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
