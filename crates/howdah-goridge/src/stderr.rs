//! A worker's standard error goes to the server's log, line by line.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

/// Bytes of a line; a longer one is cut.
const LINE_MAX: u64 = 8 << 10;

/// How long the rest of a line may take: output of `echo` does not end in a line break.
const REST: Duration = Duration::from_millis(200);

/// The last line that a worker wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastLine(Arc<Mutex<String>>);

impl LastLine {
    pub(crate) fn get(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, line: &str) {
        line.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Reads until the pipe is closed by the worker and all of its children.
pub(crate) async fn forward(pipe: OwnedFd, pool: String, pid: i32, last: LastLine) {
    let Ok(pipe) = Receiver::from_owned_fd(pipe) else {
        return;
    };
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        // What was read before a timeout is in the line.
        let is_open = loop {
            let room = LINE_MAX.saturating_sub(line.len() as u64);
            let mut rest = (&mut reader).take(room);
            let read = rest.read_until(b'\n', &mut line);
            match tokio::time::timeout(REST, read).await {
                Ok(read) => break matches!(read, Ok(1..)),
                Err(_) if line.is_empty() => {}
                Err(_) => break true,
            }
        };
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if !text.is_empty() {
            last.set(&text);
            tracing::info!(target: "howdah::php", pool, pid, "{text}");
        }
        if !is_open {
            return;
        }
    }
}
