//! `top` as text: for scripts, and where there is no terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use howdah_observe::admin::Client;

use super::snapshot::{Request, Snapshot, Status};
use super::table::cut;
use crate::commands::report::{printable, size, time};
use crate::failure::{Failure, Outcome};

/// Width of a host and of a URI: a long one must not push the columns of all requests apart.
const HOST_MAX: usize = 40;
const URI_MAX: usize = 80;

/// Prints a page once, or one after each interval.
pub(super) fn print(client: &Client, interval: Option<Duration>) -> Outcome {
    let mut before: Option<(Instant, u64)> = None;
    loop {
        let at = Instant::now();
        let Snapshot {
            status, requests, ..
        } = Snapshot::brief(client)?;
        let rate = before.map(|(then, count)| {
            let new = status.front.requests.saturating_sub(count);
            per_second(new, at.duration_since(then))
        });
        before = Some((at, status.front.requests));
        let text = page(&status, &requests, rate);
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            // The reader has closed the pipe, as `| head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Err(Failure::Runtime(error.to_string())),
        }
        drop(out);
        let Some(interval) = interval else {
            return Ok(ExitCode::SUCCESS);
        };
        std::thread::sleep(interval);
    }
}

fn per_second(count: u64, time: Duration) -> u64 {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1000).div_ceil(millis)
}

// Writing to a `String` cannot fail.
fn page(status: &Status, requests: &[Request], rate: Option<u64>) -> String {
    let front = &status.front;
    let mut text = format!(
        "howdah {}, process {}, PHP {}{}\n{} requests",
        status.version,
        status.pid,
        status.php,
        if status.stopping { ", stopping" } else { "" },
        front.requests,
    );
    if let Some(rate) = rate {
        let _ = write!(text, ", {rate}/s");
    }
    let _ = writeln!(
        text,
        "; {} in flight, {} connections\n",
        front.in_flight, front.connections
    );
    let mut rows = vec![row([
        "POOL", "MODE", "GEN", "WORKERS", "READY", "BUSY", "WAITING", "503", "REQUESTS", "MEMORY",
    ])];
    for pool in &status.pools {
        let served: u64 = pool.workers.iter().map(|worker| worker.requests).sum();
        rows.push(vec![
            printable(&pool.name),
            pool.mode.clone(),
            pool.generation.to_string(),
            pool.workers.len().to_string(),
            pool.ready.to_string(),
            pool.busy.to_string(),
            pool.queue.to_string(),
            pool.refusals().to_string(),
            served.to_string(),
            size(pool.memory()),
        ]);
    }
    aligned(&mut text, &rows);
    for pool in &status.pools {
        let name = printable(&pool.name);
        if pool.reloading {
            let _ = writeln!(text, "{name}: reloading");
        }
        if let Some(line) = pool.failure.as_deref().and_then(|why| why.lines().next()) {
            let _ = writeln!(text, "{name}: ! {}", printable(line));
        }
    }
    text.push('\n');
    let mut rows = vec![row([
        "AGE", "PHASE", "POOL", "WORKER", "CLIENT", "METHOD", "HOST", "URI",
    ])];
    for request in requests {
        rows.push(vec![
            time(request.age_ms),
            request.phase(),
            request.pool.as_deref().map_or_else(dash, printable),
            request
                .worker
                .map_or_else(dash, |worker| worker.to_string()),
            request.remote.clone(),
            printable(&request.method),
            cut(&printable(&request.host), HOST_MAX).into_owned(),
            cut(&printable(&request.uri), URI_MAX).into_owned(),
        ]);
    }
    aligned(&mut text, &rows);
    text
}

fn dash() -> String {
    "-".into()
}

fn row<const N: usize>(titles: [&str; N]) -> Vec<String> {
    titles.map(str::to_owned).into()
}

fn aligned(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        serde_json::from_value(serde_json::json!({
            "version": "1.2.3", "pid": 7, "stopping": false, "php": "8.2.35",
            "front": {"requests": 120, "in_flight": 2, "connections": 5},
            "pools": [{
                "name": "app", "mode": "worker", "generation": 2, "reloading": true,
                "failure": "Parse error\u{1b}[31m\nmore", "ready": 2, "busy": 1, "queue": 3,
                "workers": [{"memory": 1024, "requests": 4}, {"memory": 1024, "requests": 5}],
                "refused": {"queue_full": 1, "wait_timeout": 2, "not_booted": 0},
            }],
        }))
        .expect("it fits")
    }

    fn requests() -> Vec<Request> {
        let shown = serde_json::json!({"requests": [
            {"method": "GET", "host": "a", "uri": "/slow?x", "remote": "[::1]:9", "client": "disconnected", "age_ms": 1500,
             "phase": "php", "pool": "app", "worker": 1},
            {"method": "GET", "host": "a", "uri": "/b", "remote": "[::1]:10", "age_ms": 3,
             "phase": "front", "pool": null, "worker": null},
        ]});
        serde_json::from_value(shown["requests"].clone()).expect("it fits")
    }

    #[test]
    fn a_page() {
        let expected = "\
howdah 1.2.3, process 7, PHP 8.2.35
120 requests, 40/s; 2 in flight, 5 connections

POOL  MODE    GEN  WORKERS  READY  BUSY  WAITING  503  REQUESTS  MEMORY
app   worker  2    2        2      1     3        3    9         2.0 KiB
app: reloading
app: ! Parse error\u{fffd}[31m

AGE   PHASE              POOL  WORKER  CLIENT    METHOD  HOST  URI
1.5s  php, disconnected  app   1       [::1]:9   GET     a     /slow?x
3ms   front              -     -       [::1]:10  GET     a     /b
";
        assert_eq!(page(&status(), &requests(), Some(40)), expected);
    }

    #[test]
    fn long_texts_are_cut() {
        let mut requests = requests();
        requests[0].host = "h".repeat(300);
        requests[0].uri = format!("/{}", "é".repeat(3000));
        let page = page(&status(), &requests, None);
        let (host, uri) = ("h".repeat(HOST_MAX - 1), "é".repeat(URI_MAX - 2));
        assert!(
            page.contains(&format!("  GET     {host}…  /{uri}…\n")),
            "{page}"
        );
    }

    #[test]
    fn rates() {
        assert_eq!(per_second(40, Duration::from_secs(1)), 40);
        assert_eq!(per_second(1, Duration::from_secs(2)), 1);
        assert_eq!(per_second(5, Duration::ZERO), 5000);
    }
}
