//! Access logs: a line for each request, in the words of Caddy.
//!
//! ```text
//! front thread ─ Entry ─> Log (level, host) ─> queue with limits ─> writer thread: fields ─ filters ─ line
//!                                               full: lost, counted                      └─> file, stdout, stderr
//! ```
//!
//! A front thread makes an entry and puts it into a queue; all else is the work of a thread for each
//! output. Whatever an output does (a full disk, a pipe that nobody reads), requests go on.

mod encode;
mod entry;
mod fields;
mod filter;
mod output;
mod queue;
mod roll;
#[cfg(test)]
mod tests;
mod time;
mod writer;

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use howdah_config::model::{AccessLog, LogFormat, LogOutput, Site};

pub use entry::{Entry, TlsInfo};

use self::encode::LineEncoder;
use self::output::Output;
use self::queue::Queue;

/// How long the server waits at its end for lines that are still to be written.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Why an access log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("access log {}: {source}", path.display())]
pub struct OpenError {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

/// An access log of a site. Front threads share it.
#[derive(Debug)]
pub struct Log {
    errors_only: bool,
    hostnames: Vec<String>,
    target: Target,
}

#[derive(Debug, Clone)]
struct Target {
    queue: Arc<Queue>,
    encoder: Arc<LineEncoder>,
}

/// All access logs of a server, with their writer threads. When it is dropped, what is in the queues is
/// written; that takes at most 2 s.
#[derive(Debug, Default)]
pub struct Logs {
    sites: Vec<Arc<[Log]>>,
    queues: Vec<Arc<Queue>>,
}

impl Logs {
    /// Opens the outputs and starts a writer for each.
    pub fn start(sites: &[Site], credentials: bool) -> Result<Self, OpenError> {
        let mut logs = Self::default();
        let mut outputs: HashMap<LogOutput, Arc<Queue>> = HashMap::new();
        for site in sites {
            let mut own = Vec::new();
            for log in &site.access_logs {
                if log.output == LogOutput::Discard {
                    continue;
                }
                let queue = if let Some(queue) = outputs.get(&log.output) {
                    Arc::clone(queue)
                } else {
                    let queue = logs.open(&log.output)?;
                    outputs.insert(log.output.clone(), Arc::clone(&queue));
                    queue
                };
                own.push(Log::new(log, queue, credentials));
            }
            logs.sites.push(own.into());
        }
        Ok(logs)
    }

    fn open(&mut self, output: &LogOutput) -> Result<Arc<Queue>, OpenError> {
        let sink = Output::open(output)?;
        let queue = Queue::start(sink).map_err(|source| OpenError {
            path: PathBuf::from("writer thread"),
            source,
        })?;
        self.queues.push(Arc::clone(&queue));
        Ok(queue)
    }

    /// The logs of a site, by its index in the configuration.
    pub fn site(&self, index: usize) -> Arc<[Log]> {
        self.sites.get(index).cloned().unwrap_or_default()
    }

    /// Counts what was lost; outlives the logs.
    pub fn losses(&self) -> Losses {
        Losses(self.queues.clone())
    }
}

/// How many lines were lost.
#[derive(Debug, Clone, Default)]
pub struct Losses(Vec<Arc<Queue>>);

impl Losses {
    /// Since the start.
    pub fn lines(&self) -> u64 {
        self.0.iter().map(|queue| queue.lost()).sum()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let end = std::time::Instant::now() + FLUSH_LIMIT;
        for queue in &self.queues {
            queue.close();
        }
        for queue in &self.queues {
            let unwritten = queue.wait_end(end);
            if unwritten > 0 {
                tracing::warn!(target: "howdah", lines = unwritten, "an access log was not written to its end");
            }
        }
    }
}

impl Log {
    fn new(log: &AccessLog, queue: Arc<Queue>, credentials: bool) -> Self {
        let terminal = match log.output {
            LogOutput::Stderr => io::stderr().is_terminal(),
            LogOutput::Stdout => io::stdout().is_terminal(),
            LogOutput::Discard | LogOutput::File(_) => false,
        };
        let default = if terminal {
            LogFormat::Console
        } else {
            LogFormat::Json
        };
        let encoder = LineEncoder::new(log, default, credentials);
        Self {
            errors_only: log.errors_only,
            hostnames: log.hostnames.clone(),
            target: Target {
                queue,
                encoder: Arc::new(encoder),
            },
        }
    }

    /// Whether a request for this host (without port) that was answered with this status is to be logged.
    pub fn wants(&self, host: &str, status: u16) -> bool {
        let known = |name: &String| name.eq_ignore_ascii_case(host);
        (!self.errors_only || status >= 500)
            && (self.hostnames.is_empty() || self.hostnames.iter().any(known))
    }

    /// Logs a request. Never waits: an entry for which there is no room is lost and counted.
    pub fn write(&self, entry: Arc<Entry>) {
        self.target
            .queue
            .push(entry, Arc::clone(&self.target.encoder));
    }
}
