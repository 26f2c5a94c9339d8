//! Crash reports of the running server: written and listed.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use howdah_config::model::Config;
use howdah_observe::admin::CrashesError;
use howdah_pool::{CrashReceiver, CrashReport, CrashSink};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::crash_folder::CrashFolder;

/// Reports that are kept in memory while the folder cannot be written; the oldest ones are dropped.
const UNWRITTEN_MAX: usize = 16;
/// Time between two attempts to write them.
const RETRY: Duration = Duration::from_secs(5);

/// Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrashReports(Option<Destination>);

#[derive(Debug, Clone)]
struct Destination {
    folder: CrashFolder,
    /// The server's name in reports.
    server: String,
    sink: CrashSink,
}

impl CrashReports {
    /// Creates the folder. Without a folder nothing is written, and the log reports that. `file`: the Caddyfile, if
    /// there is one.
    pub(crate) fn start(config: &Config, file: Option<&Path>) -> (Self, Option<CrashReceiver>) {
        if !config.global.crash_reports.on {
            return (Self(None), None);
        }
        let Some(folder) = CrashFolder::of(config) else {
            tracing::info!(target: "howdah", "no crash reports are written: neither HOME nor STATE_DIRECTORY is known; name a folder with `crash_reports`");
            return (Self(None), None);
        };
        match prepare(&folder) {
            Ok(next) => {
                let (sink, receiver) = CrashSink::new(next);
                let destination = Destination {
                    folder,
                    server: server_name(config, file),
                    sink,
                };
                (Self(Some(destination)), Some(receiver))
            }
            Err(error) => {
                let path = folder.path().display();
                // A folder that was configured was meant to be used.
                if config.global.crash_reports.folder.is_some() {
                    tracing::warn!(target: "howdah", folder = %path, "no crash reports are written: {error}");
                } else {
                    tracing::info!(target: "howdah", folder = %path, "no crash reports are written: {error}; name a folder with `crash_reports`");
                }
                (Self(None), None)
            }
        }
    }

    /// The sink for PHP's supervisor.
    pub(crate) fn sink(&self) -> Option<CrashSink> {
        self.0.as_ref().map(|on| on.sink.clone())
    }

    /// Writes reports until all senders are dropped.
    pub(crate) async fn write(self, mut receiver: CrashReceiver) {
        let Some(Destination {
            folder,
            server,
            sink,
        }) = self.0
        else {
            return;
        };
        let mut unwritten = Unwritten::new(folder, sink);
        loop {
            let next = if unwritten.reports.is_empty() {
                Ok(receiver.recv().await)
            } else {
                timeout(RETRY, receiver.recv()).await
            };
            match next {
                Ok(Some(mut report)) => {
                    report.server.clone_from(&server);
                    // Earlier ones first, so that reports are in order.
                    unwritten.retry().await;
                    unwritten.write(report).await;
                }
                Ok(None) => break,
                Err(_) => unwritten.retry().await,
            }
            let dropped = receiver.take_dropped();
            if dropped > 0 {
                tracing::warn!(target: "howdah::pool", dropped, "crash reports were dropped: processes crash faster than reports are written");
            }
        }
        unwritten.retry().await;
    }

    /// All reports, without their details.
    pub(crate) async fn list(&self) -> Result<Value, CrashesError> {
        let folder = self.folder()?;
        let path = folder.path().display().to_string();
        let reports = run_blocking(move || folder.list()).await?;
        let crashes: Vec<Value> = reports.iter().map(summary).collect();
        Ok(json!({"folder": path, "crashes": crashes}))
    }

    pub(crate) async fn read(&self, number: u64) -> Result<Value, CrashesError> {
        let folder = self.folder()?;
        let report = run_blocking(move || folder.read(number)).await?;
        let report = report.ok_or(CrashesError::Unknown(number))?;
        serde_json::to_value(report).map_err(|error| CrashesError::Folder(error.to_string()))
    }

    /// Removes all reports.
    pub(crate) async fn clear(&self) -> Result<Value, CrashesError> {
        let folder = self.folder()?;
        let removed = run_blocking(move || folder.clear()).await?;
        Ok(json!({"removed": removed}))
    }

    fn folder(&self) -> Result<CrashFolder, CrashesError> {
        let on = self.0.as_ref().ok_or(CrashesError::Off)?;
        Ok(on.folder.clone())
    }
}

/// Prepares the folder; returns the number of the next report. A disk that is full now may have room at the next crash.
fn prepare(folder: &CrashFolder) -> io::Result<u64> {
    match folder.prepare() {
        Err(error) if is_full(&error) => {
            let path = folder.path().display();
            tracing::warn!(target: "howdah", folder = %path, "crash reports cannot be written now: {error}; the server tries again at each crash");
            // The first free one is looked up when a report is written.
            Ok(1)
        }
        prepared => prepared,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Reports that could not be written yet, the oldest first.
struct Unwritten {
    folder: CrashFolder,
    sink: CrashSink,
    reports: VecDeque<CrashReport>,
}

impl Unwritten {
    fn new(folder: CrashFolder, sink: CrashSink) -> Self {
        Self {
            folder,
            sink,
            reports: VecDeque::new(),
        }
    }

    /// Writes a report, or keeps it for the next attempt.
    async fn write(&mut self, report: CrashReport) {
        let Some((report, written)) = self.attempt(report).await else {
            return;
        };
        let is_kept = written.as_ref().is_err_and(may_succeed_later);
        log(&report, &written, &self.folder, is_kept);
        if !is_kept {
            return;
        }
        if self.reports.len() == UNWRITTEN_MAX {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
    }

    /// Writes those that can be written now.
    async fn retry(&mut self) {
        while let Some(report) = self.reports.pop_front() {
            let Some((report, written)) = self.attempt(report).await else {
                continue;
            };
            if written.is_err() {
                self.reports.push_front(report);
                return;
            }
            log(&report, &written, &self.folder, false);
        }
    }

    /// `None` if the attempt panicked.
    async fn attempt(&self, mut report: CrashReport) -> Option<(CrashReport, io::Result<()>)> {
        let (folder, sink) = (self.folder.clone(), self.sink.clone());
        let attempt = spawn_blocking(move || {
            let numbered = folder.renumber(&mut report, sink.next());
            let written = numbered.and_then(|()| folder.write(&mut report));
            if written.is_ok() {
                sink.continue_after(report.number);
            }
            (report, written)
        });
        attempt.await.ok()
    }
}

/// Whether the cause may end without a restart. A report above `max_size` stays too large.
fn may_succeed_later(error: &io::Error) -> bool {
    error.kind() != ErrorKind::Other
}

/// Distinguishes servers that share a folder: the Caddyfile, else the addresses.
fn server_name(config: &Config, file: Option<&Path>) -> String {
    if let Some(file) = file {
        return file.display().to_string();
    }
    let mut names: Vec<String> = (config.sites.iter())
        .flat_map(|site| &site.addresses)
        .map(|address| {
            let host = address.host.as_deref().unwrap_or_default();
            format!("{host}:{}", address.port)
        })
        .collect();
    names.dedup();
    names.join(", ")
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CrashesError> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(|error| CrashesError::Folder(error.to_string()))
}

/// The entry of a report in a list.
pub(crate) fn summary(report: &CrashReport) -> Value {
    let ran = report.requests.iter().find(|request| request.ran);
    json!({
        "number": report.number,
        "time": report.time,
        "server": report.server,
        "cause": report.cause,
        "pool": report.process.pool,
        "role": report.process.role,
        "worker": report.process.worker,
        "pid": report.process.pid,
        "method": ran.map(|request| &request.method),
        "uri": ran.map(|request| &request.uri),
        "request": ran.map(|request| &request.id),
    })
}

fn log(report: &CrashReport, written: &io::Result<()>, folder: &CrashFolder, is_kept: bool) {
    let (pool, worker, pid) = (
        &*report.process.pool,
        report.process.worker,
        report.process.pid,
    );
    let (number, cause) = (report.number, &*report.cause);
    match written {
        Ok(()) => {
            tracing::info!(target: "howdah::pool", pool, worker, pid, report = number, "{cause}; `howdah crashes show {number}` has the report");
        }
        Err(error) => {
            let folder = folder.path().display();
            let later = if is_kept {
                "; it stays in memory until the folder can be written"
            } else {
                ""
            };
            tracing::warn!(target: "howdah::pool", pool, worker, pid, folder = %folder, "{cause}; its report was not written: {error}{later}");
        }
    }
}
