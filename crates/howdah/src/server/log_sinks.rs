//! Logs that the server sends to clients of the admin API over TCP, as dashboards made for Caddy require.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_http::FinishedRequest;
use howdah_observe::admin::{LogSink, LogSource};
use howdah_observe::log;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use super::activity::Activity;

/// Maximum number of sinks.
const SINKS_MAX: usize = 8;
/// Pause between two attempts to connect, and between two checks of the server's log.
const PAUSE: Duration = Duration::from_millis(500);
/// Consecutive failed attempts after which the sink is removed.
const ATTEMPTS_MAX: u32 = 60;
/// A client that reads nothing for so long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The current sinks. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogSinks(Arc<Mutex<HashMap<String, SinkTask>>>);

#[derive(Debug)]
struct SinkTask {
    shown: Value,
    task: AbortHandle,
}

impl Drop for SinkTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LogSinks {
    /// Sends a log to a sink from now on; replaces a sink of this name. `Err`: there are too many.
    pub(crate) fn set(&self, name: &str, sink: LogSink, activity: &Activity) -> Result<(), String> {
        let mut sinks = self.lock();
        if !sinks.contains_key(name) && sinks.len() >= SINKS_MAX {
            return Err(format!("there are {SINKS_MAX} already: DELETE one"));
        }
        let shown = sink.shown.clone();
        let (own, activity, named) = (self.clone(), activity.clone(), name.to_owned());
        let task = tokio::spawn(async move {
            send(&sink, &activity).await;
            own.remove(&named);
        });
        let task = task.abort_handle();
        sinks.insert(name.to_owned(), SinkTask { shown, task });
        Ok(())
    }

    /// The sink as it was requested.
    pub(crate) fn to_json(&self, name: &str) -> Option<Value> {
        self.lock().get(name).map(|running| running.shown.clone())
    }

    /// Removes a sink. Whether it existed.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = self.lock().remove(name);
        removed.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SinkTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends lines until the listener has been unreachable for a long time.
async fn send(sink: &LogSink, activity: &Activity) {
    let mut failures = 0;
    while failures < ATTEMPTS_MAX {
        if let Ok(stream) = TcpStream::connect(sink.address).await {
            failures = 0;
            let ended = match sink.source {
                LogSource::Requests => send_requests(stream, activity).await,
                LogSource::Server => send_log(stream).await,
            };
            if let Err(error) = ended {
                tracing::debug!(target: "howdah::admin", address = %sink.address, "a log's connection ended: {error}");
            }
        }
        failures += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn send_requests(mut stream: TcpStream, activity: &Activity) -> io::Result<()> {
    let mut batches = activity.batches();
    loop {
        activity.watch();
        // Some were missed, or none has ended.
        let Ok(Ok(batch)) = tokio::time::timeout(PAUSE, batches.recv()).await else {
            continue;
        };
        let mut lines = String::new();
        for request in &batch.requests {
            lines.push_str(&line_of(request).to_string());
            lines.push('\n');
        }
        write(&mut stream, &lines).await?;
    }
}

async fn send_log(mut stream: TcpStream) -> io::Result<()> {
    // Earlier lines of the log are sent too.
    let mut known = 0;
    loop {
        let page = log::tail(known);
        known = page.last;
        let mut lines = String::new();
        for line in page.lines {
            let mut shown = line.fields;
            shown.insert("level".into(), line.level.into());
            shown.insert("ts".into(), line.ts.into());
            shown.insert("logger".into(), line.logger.into());
            shown.insert("msg".into(), line.msg.into());
            lines.push_str(&Value::Object(shown).to_string());
            lines.push('\n');
        }
        write(&mut stream, &lines).await?;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn write(stream: &mut TcpStream, lines: &str) -> io::Result<()> {
    let written = tokio::time::timeout(WRITE_TIMEOUT, stream.write_all(lines.as_bytes())).await;
    written.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
}

/// A line in the format of Caddy's access log, without header fields.
fn line_of(request: &FinishedRequest) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let status = match request.status {
        0 => 499,
        status => status,
    };
    let host = request.host.as_ref().map(http::HeaderValue::as_bytes);
    let uri = request.uri.path_and_query();
    json!({
        "level": if status >= 500 { "error" } else { "info" },
        "ts": now.unwrap_or_default().as_secs_f64(),
        "logger": "http.log.access",
        "msg": "handled request",
        "request": {
            "remote_ip": request.remote.ip().to_string(),
            "remote_port": request.remote.port().to_string(),
            "method": request.method.as_str(),
            "host": String::from_utf8_lossy(host.unwrap_or_default()),
            "uri": uri.map_or_else(|| request.uri.to_string(), ToString::to_string),
        },
        "duration": request.duration.as_secs_f64(),
        "size": request.sent,
        "status": status,
        "request_id": format!("{:016x}", request.id),
    })
}
