//! Access logs: a line for each request, in Caddy's format.
//!
//! ```text
//! front thread ─ Entry ─> Log (level, host) ─> queue with limits ─> writer thread: fields ─ filters ─ line
//!                                               full: lost, counted                      └─> file, stdout, stderr
//! ```
//!
//! A front thread creates an entry and puts it into a queue; each output has a thread that does everything else.
//! Whatever happens to an output (a full disk, a pipe without a reader), requests continue.

mod encode;
mod entry;
mod fields;
mod filter;
mod layout;
pub(crate) mod output;
mod queue;
pub(crate) mod roll;
#[cfg(test)]
mod tests;
mod time;
mod writer;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use howdah_config::model::{AccessLog, LogFormat, LogOutput, Site};

pub use entry::{CLIENT_DISCONNECTED, Entry, TlsInfo};
pub use time::rfc3339;

use self::encode::LineEncoder;
use self::output::Output;
use self::queue::Queue;

/// How long a server that stops waits for lines that are still to be written.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Why an access log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("access log {}: {source}", path.display())]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub struct OpenError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Checks whether a log could be written to `output`. Neither opens nor creates anything.
///
/// # Errors
/// Those of opening it.
pub fn check(output: &LogOutput) -> Result<(), OpenError> {
    Output::check(output)
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
    writer: Arc<Writer>,
    encoder: Arc<LineEncoder>,
}

/// An output that stays open as long as this value exists.
#[derive(Debug)]
struct Writer(Arc<Queue>);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// All access logs of a configuration, with their writer threads. When it is dropped and nothing else holds its logs,
/// the queues are written, which takes at most 2 s.
#[derive(Debug, Default)]
pub struct Logs {
    sites: Vec<Arc<[Log]>>,
    writers: HashMap<LogOutput, Arc<Writer>>,
    dropped: Arc<AtomicU64>,
}

impl Logs {
    /// Opens the outputs and starts a writer for each.
    pub fn start(sites: &[Site]) -> Result<Self, OpenError> {
        Self::default().next(sites)
    }

    /// The logs of a new configuration. Outputs in both configurations have one writer, so that lines are not mixed and
    /// only one thread rotates a file. It opens its file again, which another program may have moved.
    pub fn next(&self, sites: &[Site]) -> Result<Self, OpenError> {
        let mut logs = Self::default();
        logs.dropped = Arc::clone(&self.dropped);
        for site in sites {
            let mut own = Vec::new();
            for log in &site.access_logs {
                if log.output == LogOutput::Discard {
                    continue;
                }
                let known = logs.writers.get(&log.output);
                let writer = match (known, self.writers.get(&log.output)) {
                    (Some(writer), _) => Arc::clone(writer),
                    (None, Some(writer)) => {
                        writer.0.reopen();
                        Arc::clone(writer)
                    }
                    (None, None) => Arc::new(logs.open(&log.output)?),
                };
                logs.writers.insert(log.output.clone(), Arc::clone(&writer));
                own.push(Log::new(log, writer));
            }
            logs.sites.push(own.into());
        }
        Ok(logs)
    }

    fn open(&self, output: &LogOutput) -> Result<Writer, OpenError> {
        let sink = Output::open(output, report_error)?;
        let queue = Queue::start(sink, Arc::clone(&self.dropped)).map_err(|source| OpenError {
            path: PathBuf::from("writer thread"),
            source,
        })?;
        Ok(Writer(queue))
    }

    /// The logs of a site, by its index in the configuration.
    pub fn site(&self, index: usize) -> Arc<[Log]> {
        self.sites.get(index).cloned().unwrap_or_default()
    }

    /// Counts dropped lines; outlives the logs.
    pub fn losses(&self) -> Losses {
        Losses(Arc::clone(&self.dropped))
    }
}

fn report_error(file: &str, error: &io::Error) {
    tracing::warn!(target: "howdah", file, "old access logs cannot be removed: {error}");
}

/// Number of dropped lines.
#[derive(Debug, Clone, Default)]
pub struct Losses(Arc<AtomicU64>);

impl Losses {
    /// Since the start.
    pub fn lines(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let end = std::time::Instant::now() + FLUSH_LIMIT;
        self.sites.clear();
        let writers = self.writers.drain();
        // The other outputs stay in use; this closes the rest.
        let closed: Vec<_> = writers
            .filter_map(|(_, writer)| Arc::into_inner(writer))
            .map(|writer| Arc::clone(&writer.0))
            .collect();
        for queue in closed {
            let unwritten = queue.wait_end(end);
            if unwritten > 0 {
                tracing::warn!(target: "howdah", lines = unwritten, "an access log was not written completely");
            }
        }
    }
}

impl Log {
    fn new(log: &AccessLog, writer: Arc<Writer>) -> Self {
        let default = if output::is_terminal(&log.output) {
            LogFormat::Console
        } else {
            LogFormat::Json
        };
        let encoder = LineEncoder::new(log, default);
        Self {
            errors_only: log.errors_only,
            hostnames: log.hostnames.clone(),
            target: Target {
                writer,
                encoder: Arc::new(encoder),
            },
        }
    }

    /// Whether a request for this host (without port) with this response status is logged.
    pub fn includes(&self, host: &str, status: u16) -> bool {
        let known = |name: &String| name.eq_ignore_ascii_case(host);
        (!self.errors_only || status >= 500)
            && (self.hostnames.is_empty() || self.hostnames.iter().any(known))
    }

    /// Logs a request. Never waits: an entry is dropped and counted if there is no room.
    pub fn write(&self, entry: Arc<Entry>) {
        self.target
            .writer
            .0
            .push(entry, Arc::clone(&self.target.encoder));
    }
}
