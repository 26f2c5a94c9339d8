//! The status of a server as text.

use std::fmt::Write as _;

use serde::Deserialize;

/// The parts of the admin API's `/status` that are shown.
#[derive(Debug, Deserialize)]
pub(crate) struct Status {
    version: String,
    pub(crate) pid: u32,
    stopping: bool,
    /// Addresses and, as `unix/PATH`, Unix sockets.
    #[serde(default)]
    pub(crate) listeners: Vec<String>,
    /// The reason, and what to do.
    #[serde(default)]
    served_as_root: Option<String>,
    #[serde(default)]
    php: String,
    pools: Vec<Pool>,
    #[serde(default)]
    pub(crate) opcache: Option<Opcache>,
    /// Pools of previous configurations.
    #[serde(default)]
    leaving: Vec<PreviousConfiguration>,
}

/// OPcache. Sizes are bytes.
#[derive(Debug, Deserialize)]
pub(crate) struct Opcache {
    used: u64,
    free: u64,
    wasted: u64,
    scripts: u64,
    keys: u64,
    keys_max: u64,
    hits: u64,
    misses: u64,
    /// The parts that are full, and what to set.
    pub(crate) advice: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct PreviousConfiguration {
    #[serde(default)]
    in_flight: usize,
}

#[derive(Debug, Deserialize)]
struct Pool {
    name: String,
    #[serde(default)]
    php: String,
    mode: String,
    script: Option<String>,
    generation: u32,
    failure: Option<String>,
    reloading: bool,
    ready: usize,
    #[serde(default)]
    concurrency: usize,
    #[serde(default)]
    sequential: usize,
    #[serde(default)]
    sequential_cause: Option<String>,
    #[serde(default)]
    crashes: Vec<RouteCrashes>,
    busy: usize,
    queue: usize,
    workers: Vec<Worker>,
    counters: Counters,
}

/// Crashes of processes by the route of the request that ran.
#[derive(Debug, Deserialize)]
struct RouteCrashes {
    route: String,
    count: u64,
    quarantine_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Worker {
    place: u16,
    pid: i32,
    generation: u32,
    state: String,
    requests: u64,
    memory: u64,
    age_ms: u64,
    #[serde(default)]
    in_flight: usize,
    request: Option<Request>,
}

#[derive(Debug, Deserialize)]
struct Request {
    id: String,
    since_ms: u64,
}

#[derive(Debug, Deserialize)]
struct Counters {
    crashed: u64,
    fatal: u64,
    killed: u64,
    reloads: u64,
}

/// Routes with crashes that are shown.
const CRASHES_SHOWN: usize = 5;

/// A table for each pool.
pub(crate) fn table(status: &Status) -> String {
    let mut text = format!("howdah {}, process {}", status.version, status.pid);
    if !status.php.is_empty() {
        let _ = write!(text, ", PHP {}", status.php);
    }
    if status.stopping {
        text.push_str(", stopping");
    }
    text.push('\n');
    if let Some(reason) = &status.served_as_root {
        let _ = writeln!(text, "! clients are served as root: {}", printable(reason));
    }
    if let Some(opcache) = &status.opcache {
        memory(&mut text, opcache);
    }
    let several = status.pools.iter().any(|pool| pool.php != status.php);
    for pool in &status.pools {
        text.push('\n');
        let php = (several && !pool.php.is_empty()).then_some(pool.php.as_str());
        head(&mut text, pool, php);
        if let Some(failure) = &pool.failure {
            for line in failure.lines() {
                let _ = writeln!(text, "  ! {}", printable(line));
            }
        }
        if pool.sequential > 0 {
            let cause = pool.sequential_cause.as_deref();
            let _ = writeln!(
                text,
                "  ! {} of its workers run one request at a time, because this PHP cannot run several: {}",
                pool.sequential,
                printable(cause.unwrap_or("see the log for the cause"))
            );
        }
        crashes(&mut text, &pool.crashes);
        rows(&mut text, pool);
    }
    let requests: usize = status.leaving.iter().map(|pool| pool.in_flight).sum();
    if requests > 0 {
        let plural = if requests == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "\n{requests} request{plural} of previous configurations"
        );
    }
    text
}

/// Routes with the most crashes, and all routes in quarantine.
fn crashes(text: &mut String, crashes: &[RouteCrashes]) {
    let mut routes: Vec<&RouteCrashes> = crashes.iter().collect();
    routes.sort_by_key(|own| (own.quarantine_ms.is_none(), std::cmp::Reverse(own.count)));
    let quarantined = routes.iter().filter(|own| own.quarantine_ms.is_some());
    let shown = quarantined.count().max(CRASHES_SHOWN);
    for own in routes.iter().take(shown) {
        let plural = if own.count == 1 { "" } else { "es" };
        let route = printable(&own.route);
        let _ = write!(text, "  ! {} crash{plural} in {route}", own.count);
        if let Some(left) = own.quarantine_ms {
            let _ = write!(text, ", in quarantine for {}", time(left));
        }
        text.push('\n');
    }
    if routes.len() > shown {
        let _ = writeln!(text, "  ! and in more routes: {}", routes.len() - shown);
    }
}

/// OPcache in one line.
fn memory(text: &mut String, opcache: &Opcache) {
    const MIB: u64 = 1 << 20;
    let lookups = opcache.hits.saturating_add(opcache.misses).max(1);
    let rate = u128::from(opcache.hits) * 100 / u128::from(lookups);
    let _ = writeln!(
        text,
        "OPcache: {} MiB used, {} free, {} wasted; {} scripts, {} of {} keys; {rate} % hits",
        opcache.used / MIB,
        opcache.free / MIB,
        opcache.wasted / MIB,
        opcache.scripts,
        opcache.keys,
        opcache.keys_max
    );
    for line in &opcache.advice {
        let _ = writeln!(text, "  ! {}", printable(line));
    }
}

// Writing to a `String` cannot fail.
fn head(text: &mut String, pool: &Pool, php: Option<&str>) {
    let _ = write!(text, "{}: {}", printable(&pool.name), pool.mode);
    if let Some(script) = &pool.script {
        let _ = write!(text, " {}", printable(script));
    }
    if let Some(php) = php {
        let _ = write!(text, ", PHP {php}");
    }
    let _ = write!(text, ", generation {}", pool.generation);
    if pool.reloading {
        text.push_str(" (reloading)");
    }
    let counters = &pool.counters;
    let _ = writeln!(
        text,
        "; {} ready, {} busy, {} waiting; {} reloads, {} crashed, {} fatal, {} killed",
        pool.ready,
        pool.busy,
        pool.queue,
        counters.reloads,
        counters.crashed,
        counters.fatal,
        counters.killed
    );
}

const TITLES: [&str; 8] = [
    "PLACE", "PID", "GEN", "STATE", "REQUESTS", "MEMORY", "AGE", "REQUEST",
];

fn rows(text: &mut String, pool: &Pool) {
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(pool.workers.iter().map(|worker| {
        let request = worker.request.as_ref().map_or_else(String::new, |request| {
            format!("{} for {}", printable(&request.id), time(request.since_ms))
        });
        [
            worker.place.to_string(),
            worker.pid.to_string(),
            worker.generation.to_string(),
            if pool.concurrency > 1 {
                format!("{} {}/{}", worker.state, worker.in_flight, pool.concurrency)
            } else {
                worker.state.clone()
            },
            worker.requests.to_string(),
            size(worker.memory),
            time(worker.age_ms),
            request,
        ]
    }));
    let mut widths = [0; TITLES.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    for row in &rows {
        let mut line = String::from(" ");
        for (column, (width, cell)) in widths.iter().zip(row).enumerate() {
            // Words are aligned left, numbers right.
            let _ = if matches!(TITLES[column], "STATE" | "REQUEST") {
                write!(line, " {cell:<width$}")
            } else {
                write!(line, " {cell:>width$}")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Removes control characters: text from PHP code must not control the terminal.
pub(crate) fn printable(text: &str) -> String {
    let shown = |char: char| if char.is_control() { '\u{fffd}' } else { char };
    text.chars().map(shown).collect()
}

/// Bytes, in the largest unit of which there is at least one.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    let mut tenths = bytes.saturating_mul(10);
    let mut unit = "B";
    for larger in UNITS {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = larger;
    }
    if unit == "B" {
        return format!("{bytes} B");
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

pub(crate) fn time(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis}ms"),
        1..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Formats microseconds.
pub(crate) fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us}µs"),
        1_000..100_000 => format!("{}.{}ms", us / 1000, us % 1000 / 100),
        _ => time(us / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned() {
        let counters = serde_json::json!({"crashed": 1, "fatal": 2, "killed": 3, "reloads": 4});
        let worker = |place: u16, state: &str, request: serde_json::Value| {
            serde_json::json!({
                "place": place, "pid": 1000 + i32::from(place) * 9000, "generation": 3, "state": state,
                "requests": 12, "memory": 3_500_000, "age_ms": 61_000, "request": request,
            })
        };
        let status = serde_json::json!({
            "version": "1.2.3", "pid": 99, "stopping": false, "php": "8.2.35",
            "pools": [{
                "name": "app", "mode": "worker", "script": "/srv/w.php", "generation": 3,
                "failure": "Parse error\n\u{1b}[31mred", "reloading": true, "ready": 2, "busy": 1, "queue": 5,
                "workers": [
                    worker(0, "idle", serde_json::Value::Null),
                    worker(10, "busy", serde_json::json!({"id": "ab", "since_ms": 1234})),
                ],
                "counters": counters,
            }],
        });
        let status: Status = serde_json::from_value(status).expect("it fits");
        let expected = "\
howdah 1.2.3, process 99, PHP 8.2.35

app: worker /srv/w.php, generation 3 (reloading); 2 ready, 1 busy, 5 waiting; 4 reloads, 1 crashed, 2 fatal, 3 killed
  ! Parse error
  ! \u{fffd}[31mred
  PLACE   PID GEN STATE REQUESTS  MEMORY   AGE REQUEST
      0  1000   3 idle        12 3.3 MiB 1m01s
     10 91000   3 busy        12 3.3 MiB 1m01s ab for 1.2s
";
        assert_eq!(table(&status), expected);
    }

    #[test]
    fn several_versions_of_php_are_shown() {
        let pool = |name: &str, php: &str| {
            serde_json::json!({
                "name": name, "php": php, "mode": "classic", "script": null, "generation": 1, "failure": null,
                "reloading": false, "ready": 1, "busy": 0, "queue": 0, "workers": [],
                "counters": {"crashed": 0, "fatal": 0, "killed": 0, "reloads": 0},
            })
        };
        let heads = |pools: [serde_json::Value; 2]| -> Vec<String> {
            let status = serde_json::json!({
                "version": "1", "pid": 1, "stopping": false, "php": "8.2.35", "pools": pools,
            });
            let status: Status = serde_json::from_value(status).expect("it fits");
            let table = table(&status);
            let heads = table.lines().filter(|line| line.contains("generation"));
            let heads = heads.filter_map(|line| line.split_once(", generation"));
            heads.map(|(head, _)| head.to_owned()).collect()
        };
        let two = heads([pool("php", "8.2.35"), pool("new", "8.4.1")]);
        assert_eq!(two, ["php: classic, PHP 8.2.35", "new: classic, PHP 8.4.1"]);
        let one = heads([pool("php", "8.2.35"), pool("new", "8.2.35")]);
        assert_eq!(one, ["php: classic", "new: classic"]);
    }

    #[test]
    fn of_a_concurrent_worker_the_requests_are_counted() {
        let status = serde_json::json!({
            "version": "1.2.3", "pid": 99, "stopping": false,
            "pools": [{
                "name": "app", "mode": "worker", "script": null, "generation": 1, "failure": null,
                "reloading": false, "ready": 1, "concurrency": 100, "sequential": 1,
                "sequential_cause": "a \u{7} cause",
                "crashes": [
                    {"route": "GET /a", "count": 1, "quarantine_ms": null},
                    {"route": "GET /b", "count": 1, "quarantine_ms": null},
                    {"route": "GET /bad", "count": 3, "quarantine_ms": 41_500},
                    {"route": "GET /c", "count": 1, "quarantine_ms": null},
                    {"route": "GET /d", "count": 1, "quarantine_ms": null},
                    {"route": "GET /worse", "count": 9, "quarantine_ms": null},
                ],
                "busy": 1, "queue": 0,
                "workers": [{
                    "place": 0, "pid": 7, "generation": 1, "state": "busy", "requests": 12, "memory": 0,
                    "age_ms": 10, "in_flight": 42, "request": null,
                }],
                "counters": {"crashed": 0, "fatal": 0, "killed": 0, "reloads": 0},
            }],
        });
        let status: Status = serde_json::from_value(status).expect("it fits");
        let table = table(&status);
        assert!(table.contains("busy 42/100       12"), "{table}");
        assert!(
            table.contains("! 1 of its workers run one request at a time, because this PHP cannot run several: a \u{fffd} cause\n"),
            "{table}"
        );
        let shown: Vec<&str> = table
            .lines()
            .filter(|line| line.contains("crash") && line.contains('!'))
            .collect();
        let expected = [
            "  ! 3 crashes in GET /bad, in quarantine for 41.5s",
            "  ! 9 crashes in GET /worse",
            "  ! 1 crash in GET /a",
            "  ! 1 crash in GET /b",
            "  ! 1 crash in GET /c",
        ];
        assert_eq!(shown, expected);
        assert!(table.contains("  ! and in more routes: 1\n"), "{table}");
    }

    #[test]
    fn requests_of_earlier_configurations_are_counted() {
        let display = |leaving: serde_json::Value| {
            let status = serde_json::json!({
                "version": "1.2.3", "pid": 99, "stopping": false, "pools": [], "leaving": leaving,
            });
            table(&serde_json::from_value(status).expect("it fits"))
        };
        let text = display(serde_json::json!([{"in_flight": 2}, {"in_flight": 1}]));
        assert!(text.ends_with("\n3 requests of previous configurations\n"));
        let text = display(serde_json::json!([{"in_flight": 0}]));
        assert_eq!(text, "howdah 1.2.3, process 99\n");
    }

    #[test]
    fn sizes_and_times() {
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_572_864, "1.5 MiB"),
            (5 << 40, "5120.0 GiB"),
        ];
        for (bytes, expected) in sizes {
            assert_eq!(size(bytes), expected);
        }
        let times = [
            (0, "0ms"),
            (999, "999ms"),
            (1999, "1.9s"),
            (60_000, "1m00s"),
            (3_660_000, "1h01m"),
            (90_000_000, "1d01h"),
        ];
        for (millis, expected) in times {
            assert_eq!(time(millis), expected);
        }
        for (us, expected) in [(0, "0µs"), (1234, "1.2ms"), (250_999, "250ms")] {
            assert_eq!(micros(us), expected);
        }
    }
}
