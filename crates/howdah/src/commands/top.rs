//! `howdah top`: what a server does, drawn again every second. Lines and two escape sequences are all that
//! is needed, so there is no terminal library.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use howdah_observe::admin::Client;
use serde::Deserialize;

use super::remote::{LIMIT, client, success, unexpected};
use super::report::{printable, size, time};
use crate::cli;
use crate::failure::{Failure, Outcome};

/// Of a terminal that does not tell its size.
const SIZE: (usize, usize) = (24, 80);
/// Cursor to the top left corner, and everything behind it erased.
const HOME: &str = "\x1b[H";
const ERASE_BELOW: &str = "\x1b[J";
const ERASE_LINE: &str = "\x1b[K";

/// What `/status` says, as far as it is shown.
#[derive(Debug, Clone, Deserialize)]
struct Status {
    version: String,
    pid: u32,
    stopping: bool,
    php: String,
    front: Front,
    pools: Vec<Pool>,
}

#[derive(Debug, Clone, Deserialize)]
struct Front {
    requests: u64,
    in_flight: usize,
    connections: usize,
}

#[derive(Debug, Clone, Deserialize)]
struct Pool {
    name: String,
    mode: String,
    generation: u32,
    reloading: bool,
    failure: Option<String>,
    ready: usize,
    busy: usize,
    queue: usize,
    workers: Vec<Worker>,
    refused: HashMap<String, u64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Worker {
    memory: u64,
    requests: u64,
}

/// What `/requests` says.
#[derive(Debug, Clone, Deserialize)]
struct Requests {
    requests: Vec<Request>,
}

#[derive(Debug, Clone, Deserialize)]
struct Request {
    method: String,
    host: String,
    uri: String,
    remote: String,
    age_ms: u64,
    phase: String,
    pool: Option<String>,
    worker: Option<u16>,
}

/// Draws until it is interrupted, or once.
pub(crate) fn top(options: &cli::Top) -> Outcome {
    let client = client(&options.server)?;
    let interval = Duration::from_secs(options.interval.into());
    let drawn = io::stdout().is_terminal() && !options.once;
    let mut before: Option<(Instant, u64)> = None;
    loop {
        let at = Instant::now();
        let status: Status = ask(&client, "/status")?;
        let requests: Requests = ask(&client, "/requests")?;
        let rate = before.map(|(then, count)| {
            let new = status.front.requests.saturating_sub(count);
            per_second(new, at.duration_since(then))
        });
        before = Some((at, status.front.requests));
        let text = page(&status, &requests.requests, rate);
        let shown = if drawn {
            frame(&text, size_of_terminal())
        } else {
            text
        };
        let mut out = io::stdout().lock();
        match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            // Whoever read has seen enough, as with `| head`.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Err(Failure::Runtime(error.to_string())),
        }
        drop(out);
        if options.once {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(interval);
    }
}

fn ask<T: for<'de> Deserialize<'de>>(client: &Client, target: &str) -> Result<T, Failure> {
    let reply = success(client.request("GET", target, Some(LIMIT)))?;
    serde_json::from_slice(&reply.body).map_err(unexpected)
}

fn per_second(count: u64, time: Duration) -> u64 {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1000).div_ceil(millis)
}

fn size_of_terminal() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
        _ => SIZE,
    }
}

/// The page cut to the terminal, and drawn over the last one: erasing first would flicker.
fn frame(text: &str, (rows, columns): (usize, usize)) -> String {
    let mut frame = String::from(HOME);
    for (index, line) in text.lines().take(rows.saturating_sub(1)).enumerate() {
        if index > 0 {
            frame.push('\n');
        }
        frame.extend(line.chars().take(columns));
        frame.push_str(ERASE_LINE);
    }
    frame.push('\n');
    frame.push_str(ERASE_BELOW);
    frame
}

// Writing to a string does not fail.
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
        "; {} under way, {} connections\n",
        front.in_flight, front.connections
    );
    let mut rows = vec![row([
        "POOL", "MODE", "GEN", "WORKERS", "READY", "BUSY", "WAITING", "503", "REQUESTS", "MEMORY",
    ])];
    for pool in &status.pools {
        let refused: u64 = pool.refused.values().sum();
        let served: u64 = pool.workers.iter().map(|worker| worker.requests).sum();
        let memory: u64 = pool.workers.iter().map(|worker| worker.memory).sum();
        rows.push(vec![
            printable(&pool.name),
            pool.mode.clone(),
            pool.generation.to_string(),
            pool.workers.len().to_string(),
            pool.ready.to_string(),
            pool.busy.to_string(),
            pool.queue.to_string(),
            refused.to_string(),
            served.to_string(),
            size(memory),
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
            request.phase.clone(),
            request.pool.as_deref().map_or_else(dash, printable),
            request
                .worker
                .map_or_else(dash, |worker| worker.to_string()),
            request.remote.clone(),
            printable(&request.method),
            printable(&request.host),
            printable(&request.uri),
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
            {"method": "GET", "host": "a", "uri": "/slow?x", "remote": "[::1]:9", "age_ms": 1500,
             "phase": "php", "pool": "app", "worker": 1},
            {"method": "GET", "host": "a", "uri": "/b", "remote": "[::1]:10", "age_ms": 3,
             "phase": "front", "pool": null, "worker": null},
        ]});
        let requests: Requests = serde_json::from_value(shown).expect("it fits");
        requests.requests
    }

    #[test]
    fn a_page() {
        let expected = "\
howdah 1.2.3, process 7, PHP 8.2.35
120 requests, 40/s; 2 under way, 5 connections

POOL  MODE    GEN  WORKERS  READY  BUSY  WAITING  503  REQUESTS  MEMORY
app   worker  2    2        2      1     3        3    9         2.0 KiB
app: reloading
app: ! Parse error\u{fffd}[31m

AGE   PHASE  POOL  WORKER  CLIENT    METHOD  HOST  URI
1.5s  php    app   1       [::1]:9   GET     a     /slow?x
3ms   front  -     -       [::1]:10  GET     a     /b
";
        assert_eq!(page(&status(), &requests(), Some(40)), expected);
    }

    #[test]
    fn a_frame_fits_the_terminal() {
        let shown = frame("abc\ndef\nghi\n", (3, 2));
        assert_eq!(shown, "\x1b[Hab\x1b[K\nde\x1b[K\n\x1b[J");
    }

    #[test]
    fn rates() {
        assert_eq!(per_second(40, Duration::from_secs(1)), 40);
        assert_eq!(per_second(1, Duration::from_secs(2)), 1);
        assert_eq!(per_second(5, Duration::ZERO), 5000);
    }
}
