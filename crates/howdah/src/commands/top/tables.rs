//! The table of each tab.

use std::collections::HashMap;

use ratatui::style::Color;

use super::details;
use super::server;
use super::snapshot::{Line, Memory, Pool, Request, RequestGroup, Snapshot};
use super::tab::Tab;
use super::table::{Cell, Column, ColumnKind, Row, Sort, Table, column};
use crate::commands::report::{micros, printable, size, time};
use crate::commands::requests::ClientState;

use ColumnKind::{Long, Number, Text};

/// The table of a tab. `lines`: the known lines of the log.
pub(super) fn table(tab: Tab, snapshot: &Snapshot, lines: &[Line]) -> Table {
    match tab {
        Tab::Overview => pools(snapshot),
        Tab::Workers => workers(snapshot),
        Tab::Requests => requests(snapshot),
        Tab::Routes => routes(snapshot),
        Tab::Hosts => hosts(snapshot),
        Tab::Slow => slow(snapshot),
        Tab::Leaks => leaks(snapshot),
        Tab::Log => log(snapshot, lines),
        Tab::Server => server::table(snapshot),
        Tab::Config => config(snapshot),
    }
}

/// Default order; `None`: as received.
pub(super) fn usual_sort(tab: Tab) -> Option<Sort> {
    let total = |name: &[Column]| {
        let total = GROUP.iter().position(|column| column.title == "TOTAL")?;
        Some(name.len() + total)
    };
    let column = match tab {
        Tab::Overview | Tab::Slow | Tab::Leaks | Tab::Log | Tab::Server | Tab::Config => {
            return None;
        }
        Tab::Workers => WORKERS.iter().position(|column| column.title == "FOR"),
        Tab::Requests => Some(0),
        Tab::Routes => total(ROUTE),
        Tab::Hosts => total(HOST),
    };
    column.map(|column| Sort { column, down: true })
}

const POOLS: &[Column] = &[
    column("POOL", Text, 0),
    column("MODE", Text, 3),
    column("WORKERS", Number, 1),
    column("BUSY", Number, 0),
    column("QUEUE", Number, 0),
    column("503", Number, 1),
    column("CRASHED", Number, 2),
    column("FATAL", Number, 2),
    column("KILLED", Number, 2),
    column("RECYCLED", Number, 4),
    column("MEMORY", Number, 1),
    column("STATE", Text, 0),
];

fn pools(snapshot: &Snapshot) -> Table {
    let rows = snapshot.status.pools.iter().map(|pool| {
        let bad = |name| {
            let count = pool.counter(name);
            Cell::count(count).colored((count > 0).then_some(Color::Red))
        };
        let queue = (pool.queue > 0).then_some(Color::Yellow);
        Row {
            cells: vec![
                Cell::text(printable(&pool.name)),
                Cell::text(&*pool.mode),
                Cell::count(pool.workers.len() as u64),
                Cell::count(pool.busy as u64),
                Cell::count(pool.queue as u64).colored(queue),
                Cell::count(pool.refusals()),
                bad("crashed"),
                bad("fatal"),
                bad("killed"),
                Cell::count(pool.counter("recycled")),
                Cell::number(pool.memory(), size(pool.memory())),
                state(pool),
            ],
            details: details::pool(pool),
        }
    });
    Table::new(POOLS, rows, "No PHP pools.")
}

fn state(pool: &Pool) -> Cell {
    if pool.failure.is_some() {
        Cell::text("not booted").colored(Some(Color::Red))
    } else if pool.reloading {
        Cell::text("reloading").colored(Some(Color::Yellow))
    } else {
        Cell::text(format!("gen {}, {} ready", pool.generation, pool.ready))
    }
}

const WORKERS: &[Column] = &[
    column("POOL", Text, 1),
    column("PLACE", Number, 0),
    column("PID", Number, 4),
    column("STATE", Text, 0),
    column("HAND", Number, 5),
    column("REQUESTS", Number, 3),
    column("MEMORY", Number, 0),
    column("AGE", Number, 3),
    column("LAG", Number, 6),
    column("FOR", Number, 0),
    column("REQUEST", Long, 0),
];

fn workers(snapshot: &Snapshot) -> Table {
    let targets: HashMap<&str, &Request> = (snapshot.requests.iter())
        .map(|request| (&*request.id, request))
        .collect();
    let workers = snapshot.status.pools.iter().flat_map(|pool| {
        let workers = pool.workers.iter();
        workers.map(move |worker| (pool, worker))
    });
    let rows = workers.map(|(pool, worker)| {
        let own = worker.request.as_ref();
        let request = own.map(|own| match targets.get(&*own.id) {
            Some(request) => target(request),
            None => printable(&own.id),
        });
        let color = match &*worker.state {
            "busy" => Some(Color::Cyan),
            "starting" | "retiring" => Some(Color::Yellow),
            "stopping" => Some(Color::Red),
            _ => None,
        };
        let lag = if pool.concurrency > 1 {
            Cell::number(worker.longest_hold_ms, time(worker.longest_hold_ms))
        } else {
            Cell::number(0, "-")
        };
        Row {
            cells: vec![
                Cell::text(printable(&pool.name)),
                Cell::count(worker.place.into()),
                Cell::number(
                    u64::try_from(worker.pid).unwrap_or(0),
                    worker.pid.to_string(),
                ),
                Cell::text(&*worker.state).colored(color),
                Cell::number(
                    worker.in_flight as u64,
                    format!("{}/{}", worker.in_flight, pool.concurrency.max(1)),
                ),
                Cell::count(worker.requests),
                Cell::number(worker.memory, size(worker.memory)),
                Cell::number(worker.age_ms, time(worker.age_ms)),
                lag,
                own.map_or(Cell::number(0, ""), |own| {
                    Cell::number(own.since_ms.max(1), time(own.since_ms))
                }),
                Cell::text(request.clone().unwrap_or_default()),
            ],
            details: details::worker(pool, worker, request.as_deref()),
        }
    });
    Table::new(WORKERS, rows, "No workers.")
}

const REQUESTS: &[Column] = &[
    column("AGE", Number, 0),
    column("PHASE", Text, 0),
    column("POOL", Text, 4),
    column("WORKER", Number, 4),
    column("CLIENT", Text, 5),
    column("HOST", Text, 6),
    column("MEMORY", Number, 2),
    column("REQUEST", Long, 0),
    column("ROUTE", Long, 3),
    column("DOES", Long, 1),
];

fn requests(snapshot: &Snapshot) -> Table {
    let rows = snapshot.requests.iter().map(|request| {
        let worker = request.worker;
        let is_odd = request.phase == "queue" || request.client != ClientState::Waiting;
        let color = is_odd.then_some(Color::Yellow);
        Row {
            cells: vec![
                Cell::number(request.age_ms, time(request.age_ms)),
                Cell::text(request.phase()).colored(color),
                Cell::text(request.pool.as_deref().map_or_else(dash, printable)),
                worker.map_or(Cell::number(0, "-"), |worker| Cell::count(worker.into())),
                Cell::text(printable(&request.remote)),
                Cell::text(printable(&request.host)),
                (request.memory).map_or(Cell::number(0, "-"), |own| Cell::number(own, size(own))),
                Cell::text(target(request)),
                Cell::text(request.route.as_deref().map_or_else(dash, printable)),
                Cell::text(details::doing(request).join(": ")),
            ],
            details: details::request(request),
        }
    });
    Table::new(REQUESTS, rows, "No request is in flight.")
}

fn target(request: &Request) -> String {
    printable(&format!("{} {}", request.method, request.uri))
}

fn dash() -> String {
    "-".into()
}

/// The columns of a route or a host after its name.
const GROUP: &[Column] = &[
    column("REQUESTS", Number, 5),
    column("/S", Number, 0),
    column("P50", Number, 3),
    column("P95", Number, 0),
    column("P99", Number, 4),
    column("LONGEST", Number, 6),
    column("TOTAL", Number, 1),
    column("QUEUE", Number, 7),
    column("PHP", Number, 7),
    column("4XX", Number, 0),
    column("5XX", Number, 0),
    column("MEMORY", Number, 2),
    column("PEAK", Number, 5),
];
const ROUTE: &[Column] = &[column("ROUTE", Long, 0), column("POOL", Text, 6)];
const HOST: &[Column] = &[column("HOST", Long, 0)];

fn routes(snapshot: &Snapshot) -> Table {
    let rows = snapshot.activity.routes.iter().map(|route| {
        let mut row = group(route);
        let pool = route.pool.as_deref().map_or_else(dash, printable);
        row.cells.insert(1, Cell::text(pool));
        row
    });
    Table::new(&[ROUTE, GROUP].concat(), rows, NO_REQUEST)
}

fn hosts(snapshot: &Snapshot) -> Table {
    let rows = snapshot.activity.hosts.iter().map(group);
    Table::new(&[HOST, GROUP].concat(), rows, NO_REQUEST)
}

const NO_REQUEST: &str = "No request has ended since `howdah top` started.";

/// The row of a route or host, without the pool.
fn group(own: &RequestGroup) -> Row {
    let time = |us| Cell::number(us, micros(us));
    let memory = |of: fn(&Memory) -> u64| {
        let own = own.memory.as_ref().map(of);
        own.map_or(Cell::number(0, "-"), |own| Cell::number(own, size(own)))
    };
    let errors = |count: u64, color| Cell::count(count).colored((count > 0).then_some(color));
    Row {
        cells: vec![
            Cell::text(printable(&own.name)),
            Cell::count(own.requests),
            Cell::rate(own.per_second),
            time(own.p50_us),
            time(own.p95_us),
            time(own.p99_us),
            time(own.largest_us),
            time(own.total_us),
            time(own.queue_mean_us),
            time(own.php_mean_us),
            errors(own.client_errors, Color::Yellow),
            errors(own.server_errors, Color::Red),
            memory(|memory| memory.mean),
            memory(|memory| memory.largest),
        ],
        details: details::group(own),
    }
}

const SLOW: &[Column] = &[
    column("AGE", Number, 0),
    column("STATE", Text, 1),
    column("POOL", Text, 2),
    column("SEEN", Number, 3),
    column("REQUEST", Long, 0),
    column("LAST PLACE", Long, 1),
];

fn slow(snapshot: &Snapshot) -> Table {
    let rows = snapshot.activity.slow.iter().map(|slow| {
        let (state, color) = match slow.ended_ms {
            Some(_) if slow.ended_well() => ("ended".to_owned(), None),
            Some(_) => (printable(&slow.ending()), Some(Color::Red)),
            None => ("runs".to_owned(), Some(Color::Yellow)),
        };
        let samples: usize = slow.places.iter().map(|place| place.samples).sum();
        let last = slow.places.last();
        Row {
            cells: vec![
                Cell::number(slow.age_ms, time(slow.age_ms)),
                Cell::text(state).colored(color),
                Cell::text(printable(&slow.pool)),
                Cell::count(samples as u64),
                Cell::text(printable(&slow.title)),
                Cell::text(last.map_or_else(String::new, |last| printable(&last.frames))),
            ],
            details: details::slow(slow),
        }
    });
    Table::new(
        SLOW,
        rows,
        if snapshot.activity.log.is_some() {
            "No request was slow; `slow_log` in the Caddyfile samples slow requests."
        } else {
            WITHHELD
        },
    )
}

/// Why log and timeline are missing.
const WITHHELD: &str = "Not shown over TCP, since PHP runs as a different user: use a Unix socket.";

const LEAKS: &[Column] = &[
    column("POOL", Text, 3),
    column("KIND", Text, 1),
    column("WHY", Text, 1),
    column("SIZE", Number, 3),
    column("WHERE", Long, 0),
    column("REQUEST", Long, 2),
];

fn leaks(snapshot: &Snapshot) -> Table {
    let leaks = snapshot.status.pools.iter().flat_map(|pool| {
        let leaks = pool.leaks.findings.iter();
        leaks.map(move |leak| (pool, leak))
    });
    let rows = leaks.map(|(pool, leak)| Row {
        cells: vec![
            Cell::text(printable(&pool.name)),
            Cell::text(printable(&leak.kind)),
            Cell::text(printable(&leak.why)),
            leak.count.map_or(Cell::number(0, ""), Cell::count),
            Cell::text(printable(&leak.path)),
            Cell::text(printable(&format!("{} {}", leak.method, leak.uri))),
        ],
        details: details::leak(leak),
    });
    Table::new(
        LEAKS,
        rows,
        "No leak was found; `detect_leaks` in a worker block looks for them.",
    )
}

const LOG: &[Column] = &[
    column("TIME", Text, 1),
    column("LEVEL", Text, 0),
    column("LOGGER", Text, 2),
    column("MESSAGE", Long, 0),
];

/// The log, the newest line first.
fn log(snapshot: &Snapshot, lines: &[Line]) -> Table {
    let rows = lines.iter().rev().map(|line| {
        let color = match &*line.level {
            "error" => Some(Color::Red),
            "warn" => Some(Color::Yellow),
            "debug" => Some(Color::DarkGray),
            _ => Some(Color::Green),
        };
        let first = line.msg.lines().next().unwrap_or_default();
        Row {
            cells: vec![
                Cell::text(details::clock(line.ts)),
                Cell::text(&*line.level).colored(color),
                Cell::text(&*line.logger),
                Cell::text(printable(first)),
            ],
            details: details::line(line),
        }
    });
    Table::new(
        LOG,
        rows,
        if snapshot.activity.log.is_some() {
            "No line."
        } else {
            WITHHELD
        },
    )
}

const CONFIG: &[Column] = &[column("CONFIGURATION IN FORCE", Long, 0)];

fn config(snapshot: &Snapshot) -> Table {
    let (lines, empty) = match &snapshot.configuration {
        Some(Ok(lines)) => (lines.as_slice(), ""),
        Some(Err(reason)) => (&[][..], reason.as_str()),
        None => (&[][..], "Asking the server."),
    };
    let rows = lines.iter().map(|line| Row {
        cells: vec![Cell::text(printable(line))],
        details: vec![printable(line.trim())],
    });
    Table::new(CONFIG, rows, empty)
}
