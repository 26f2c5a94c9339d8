//! The terminal interface on a screen in memory.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use serde_json::{Value, json};

use super::app::{App, Effect, Focus, pause_after};
use super::draw::draw;
use super::snapshot::Snapshot;
use super::source::SourceEvent;
use super::tab::{TABS, Tab};

fn worker(place: u16, state: &str, request: &Value) -> Value {
    json!({
        "place": place, "pid": 4000 + i32::from(place), "state": state, "requests": 12, "memory": 2_097_152,
        "age_ms": 61_000, "in_flight": u8::from(state == "busy"), "longest_hold_ms": 0, "request": request,
    })
}

fn snapshot() -> Value {
    let seconds: Vec<Value> = (0..120)
        .map(|at| json!({"requests": at % 60, "server_errors": u8::from(at == 119)}))
        .collect();
    let route = |route: &str, total: u64| {
        json!({
            "route": route, "pool": "app", "requests": 60, "per_second": 1.5, "client_errors": 0,
            "server_errors": 2, "p50_us": 900, "p95_us": 12_300, "p99_us": 450_000, "largest_us": 2_000_000,
            "total_us": total, "php_mean_us": 800, "queue_mean_us": 20,
            "memory": {"mean": 2_097_152, "largest": 4_194_304},
        })
    };
    json!({
        "configuration": {"Ok": ["{", "  \"name\": \"php_server\"", "}"]},
        "status": {
            "version": "1.2.3", "pid": 7, "stopping": false, "php": "8.2.35",
            "front": {"requests": 4711, "in_flight": 2, "connections": 5},
            "opcache": {"used": 10_485_760, "free": 123_731_968, "wasted": 0, "hits": 99, "misses": 1, "advice": []},
            "pools": [{
                "name": "app", "mode": "worker", "generation": 2, "reloading": false, "failure": null,
                "ready": 2, "busy": 1, "queue": 3, "concurrency": 1,
                "workers": [
                    worker(0, "idle", &Value::Null),
                    worker(1, "busy", &json!({"id": "2a", "since_ms": 1500})),
                ],
                "refused": {"queue_full": 1, "wait_timeout": 2},
                "counters": {"crashed": 1, "fatal": 0, "killed": 0, "recycled": 4},
                "crashes": [{"route": "GET /segv", "count": 3, "quarantine_ms": 19_000}],
                "leaks": {"found": 1, "findings": [{
                    "kind": "static property", "why": "grows", "path": "App\\Cache::$entries", "member": null,
                    "value": "array(7)", "count_before": 6, "count": 7, "file": "/srv/Cache.php", "line": 9,
                    "method": "GET", "uri": "/leak", "request": "2b",
                }]},
            }],
        },
        "requests": [
            {"id": "2a", "method": "GET", "host": "a", "uri": "/slow?<script>\u{1b}[31m", "remote": "[::1]:9", "client": "disconnected",
             "age_ms": 1500, "phase": "php", "pool": "app", "worker": 1, "top": "flock() in f() /a.php:3",
             "route": "GET /slow", "memory": 3_145_728,
             "wait": {"kind": "lock", "text": "waiting for a lock on descriptor 8: file /tmp/x"}},
            {"id": "2c", "method": "POST", "host": "b", "uri": "/b", "remote": "[::1]:10", "age_ms": 3,
             "phase": "front", "pool": null, "worker": null},
        ],
        "activity": {
            "seconds": seconds,
            "now_ms": 1_000_000_000_000_u64,
            "configuration": {"last_successful": true, "last_success": 1},
            "certificates": [
                {"host": "a.test", "until": 1_001_728_000, "renewal_deadline": 1_001_000_000},
                {"host": "b.test", "until": 1, "renewal_deadline": 1},
                // Of the internal authority: hours are enough.
                {"host": "c.test", "until": 1_000_014_400, "renewal_deadline": 1_000_007_200},
                {"host": "d.test", "until": 1_000_604_800, "renewal_deadline": 1_000_000_000},
            ],
            "upstreams": [{"address": "127.0.0.1:9000", "handler": "php_fastcgi", "healthy": false, "in_flight": 2, "failures": 7}],
            "latency": {"requests": 70, "p50_us": 900, "p95_us": 12_300, "p99_us": 450_000,
                        "bounds_us": [1000, 100_000], "counts": [50, 19, 1]},
            "routes": [route("GET /a", 5_000_000), route("GET /users/:id", 9_000_000)],
            "hosts": [{
                "host": "shop.test", "requests": 100, "per_second": 2.5, "client_errors": 0, "server_errors": 2,
                "p50_us": 900, "p95_us": 14_000, "p99_us": 450_000, "largest_us": 2_000_000, "total_us": 14_000_000,
                "php_mean_us": 800, "queue_mean_us": 20, "memory": null,
            }],
            "slow": [{"id": "2d", "pool": "app", "title": "GET /report", "age_ms": 5120, "ended_ms": 1,
             "outcome": "fatal_error", "client_disconnected": true, "places": [
                {"from_ms": 2000, "to_ms": 4000, "samples": 4, "place": "PDO::query() /srv/r.php:31"},
                {"from_ms": 4900, "to_ms": 4900, "samples": 1, "place": "json_encode() /srv/r.php:58"},
            ]}],
            "log": {"last": 2, "lines": [
                {"number": 1, "ts": 3661.5, "level": "info", "logger": "howdah", "msg": "ready", "fields": {}},
                {"number": 2, "ts": 3662.5, "level": "error", "logger": "howdah::php", "msg": "boom\nat x",
                 "fields": {"request_id": "2a"}},
            ]},
        },
    })
}

fn parsed(shown: Value) -> Snapshot {
    serde_json::from_value(shown).expect("it fits")
}

fn app() -> App {
    App::new(parsed(snapshot()))
}

fn press(app: &mut App, code: KeyCode) -> Effect {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn type_in(app: &mut App, text: &str) {
    for char in text.chars() {
        press(app, KeyCode::Char(char));
    }
}

/// The lines of the screen.
fn screen(app: &App, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, app)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let cells: Vec<&str> = buffer.content().iter().map(Cell::symbol).collect();
    let rows = cells.chunks(width.into());
    rows.map(|row| row.concat().trim_end().to_owned()).collect()
}

fn text(app: &App) -> String {
    screen(app, (80, 24)).join("\n")
}

#[track_caller]
fn assert_shows(app: &App, expected: &[&str]) {
    let text = text(app);
    for expected in expected {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn the_overview_fits_eighty_columns() {
    let app = app();
    let lines = screen(&app, (80, 24));
    assert_eq!(lines[0], "howdah 1.2.3, process 7, PHP 8.2.35 ● live");
    assert_eq!(
        lines[1],
        " Overview  Workers  Requests  Routes  Slow  Leaks  Log  Server  Hosts  Config"
    );
    assert_eq!(
        lines[2],
        "requests/s 59   in flight 2   connections 5   since the start 4711"
    );
    assert_eq!(
        lines[3],
        "p50 900µs   p95 12.3ms   p99 450ms   5xx in the last minute 1"
    );
    assert_eq!(lines[4], "busy 1 of 2   queue 3   memory 4.0 MiB");
    assert!(lines[5].starts_with("OPcache 10.0 MiB used, 118.0 MiB free"));
    assert_shows(
        &app,
        &[
            "70 responses, last minute",
            " ≤ 10 ms ██",
            "POOL",
            "gen 2, 2 ready",
        ],
    );
    assert!(lines[23].starts_with("q quit  ? help"), "{}", lines[23]);
}

#[test]
fn a_narrow_screen_shows_the_chosen_tab_and_the_whole_problem() {
    let mut app = app();
    type_in(&mut app, "8");
    app.problem =
        Some("no server answers at localhost:2019; is it running, and is `admin` on?".to_owned());
    let lines = screen(&app, (60, 15));
    assert_eq!(lines[1], " 1  2  3  4  5  6  7  8 Server  9  0");
    let text = lines.join(" ");
    assert!(text.contains("`admin` on?"), "{lines:?}");
}

#[test]
fn every_tab_shows_its_subject() {
    let mut app = app();
    let table: [(&str, &[&str]); 9] = [
        (
            "2",
            &[
                "PLACE",
                "MEMORY",
                "busy",
                "1.5s",
                "GET /slow?<script>\u{fffd}[31m",
            ],
        ),
        ("3", &["PHASE", "POST /b", "front", "waiting for a lock"]),
        ("4", &["GET /users/:id", "1.5", "12.3ms"]),
        (
            "5",
            &["5.1s", "fatal error", "GET /report", "json_encode()"],
        ),
        (
            "6",
            &[
                "static property",
                "grows",
                "App\\Cache::$entries",
                "GET /leak",
            ],
        ),
        ("7", &["01:01:02", "error", "boom"]),
        (
            "8",
            &[
                "configuration",
                "accepted",
                "GET /segv",
                "quarantine 19",
                "3 crashes",
                "127.0.0.1:9000",
                "unhealthy",
                "2 in flight, 7 failures",
                "a.test",
                "20d00h left",
                "expired",
            ],
        ),
        ("9", &["shop.test", "2.5", "14.0ms"]),
        ("0", &["CONFIGURATION IN FORCE", "\"name\": \"php_server\""]),
    ];
    for (key, expected) in table {
        type_in(&mut app, key);
        assert_shows(&app, expected);
    }
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.tab, Tab::Overview);
    press(&mut app, KeyCode::BackTab);
    assert_eq!(app.tab, Tab::Config);
}

#[test]
fn requests_show_memory_and_route_where_they_fit() {
    let mut shown = snapshot();
    shown["requests"][0]["client"] = "waiting".into();
    let mut app = App::new(parsed(shown));
    type_in(&mut app, "3");
    let columns = |width: u16| {
        let lines = screen(&app, (width, 24));
        let titles = lines[2].replace('↓', "");
        let titles: Vec<String> = titles.split_whitespace().map(str::to_owned).collect();
        (titles.join(" "), lines[3..5].join("\n"))
    };
    let (titles, rows) = columns(80);
    assert_eq!(titles, "AGE PHASE MEMORY REQUEST DOES");
    assert!(rows.contains("php     3.0 MiB  GET /slow?"), "{rows}");
    let (titles, rows) = columns(104);
    assert_eq!(titles, "AGE PHASE MEMORY REQUEST ROUTE DOES");
    assert!(rows.contains("  GET /slow  "), "{rows}");
    assert_eq!(columns(70).0, "AGE PHASE REQUEST DOES");
    assert_eq!(
        columns(160).0,
        "AGE PHASE POOL WORKER CLIENT HOST MEMORY REQUEST ROUTE DOES"
    );
}

#[test]
fn a_certificate_is_judged_by_its_deadline() {
    let mut app = app();
    type_in(&mut app, "8");
    let lines = screen(&app, (80, 24));
    let line = |host: &str| {
        let found = lines.iter().find(|line| line.contains(host));
        found.map(|line| {
            line.split_whitespace()
                .skip(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(line("a.test").as_deref(), Some("20d00h left"));
    assert_eq!(line("b.test").as_deref(), Some("expired renewal overdue"));
    assert_eq!(line("c.test").as_deref(), Some("4h00m left"));
    assert_eq!(
        line("d.test").as_deref(),
        Some("7d00h left renewal overdue")
    );
}

#[test]
fn a_row_has_details() {
    let mut app = app();
    let table: [(&str, &[&str]); 7] = [
        (
            "1",
            &[
                "processes since the start: crashed 1, recycled 4",
                "queue_full 1, wait_timeout 2",
            ],
        ),
        ("2", &["app 1: process 4001, busy", "runs GET /slow"]),
        ("3", &["client [::1]:9", "route GET /slow, memory 3.0 MiB"]),
        (
            "4",
            &[
                "p50 900µs, p95 12.3ms, p99 450ms, longest 2.0s",
                "4.0 MiB at most",
            ],
        ),
        (
            "5",
            &[
                "ended: fatal error, client disconnected",
                "2.0s to 4.0s, 4 samples: PDO::query()",
                "at 4.9s: json_encode()",
            ],
        ),
        ("6", &["size 7, 6 before", "declared at /srv/Cache.php:9"]),
        ("7", &["at x", "request_id 2a"]),
    ];
    for (key, expected) in table {
        type_in(&mut app, key);
        press(&mut app, KeyCode::Enter);
        assert_shows(&app, expected);
    }
    press(&mut app, KeyCode::Esc);
    assert!(!text(&app).contains("request_id 2a"));
}

#[test]
fn rows_are_sorted_and_filtered() {
    let mut app = app();
    type_in(&mut app, "4");
    let first = |app: &App| {
        screen(app, (80, 24))[3]
            .split("  ")
            .next()
            .map(str::to_owned)
    };
    assert_eq!(
        first(&app).as_deref(),
        Some("GET /users/:id"),
        "by total time"
    );
    type_in(&mut app, "o");
    assert_eq!(first(&app).as_deref(), Some("GET /a"));
    while app.sort().is_some() {
        type_in(&mut app, "s");
    }
    type_in(&mut app, "s");
    assert_shows(&app, &["ROUTE↑"]);
    type_in(&mut app, "/USERS");
    assert_eq!(app.focus, Focus::Filter);
    assert_shows(&app, &["/USERS▏", "GET /users/:id"]);
    assert!(!text(&app).contains("GET /a"));
    press(&mut app, KeyCode::Enter);
    assert_shows(&app, &["filter: USERS"]);
    type_in(&mut app, "/x");
    assert_shows(&app, &["Nothing matches the filter."]);
    press(&mut app, KeyCode::Esc);
    assert_shows(&app, &["GET /a"]);
}

#[test]
fn a_reload_is_confirmed() {
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('r')), Effect::None);
    assert_shows(&app, &["restart PHP?"]);
    assert_eq!(press(&mut app, KeyCode::Char('n')), Effect::None);
    assert_eq!(app.focus, Focus::Table);
    type_in(&mut app, "r");
    assert_eq!(press(&mut app, KeyCode::Char('y')), Effect::Reload);
    assert_shows(&app, &["● reloading"]);
    app.handle_event(SourceEvent::Reloaded(Err(
        "Parse error\u{1b}[31m\nline 3".into()
    )));
    assert_shows(&app, &["not reloaded: Parse error\u{fffd}[31m", "● live"]);
    press(&mut app, KeyCode::Esc);
    app.handle_event(SourceEvent::Reloaded(Ok(
        "reloaded app (generation 3)".into()
    )));
    assert_shows(&app, &["reloaded app (generation 3)"]);
}

#[test]
fn a_pause_keeps_what_is_shown() {
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('p')), Effect::Pause(true));
    let mut next = snapshot();
    next["status"]["front"]["requests"] = 9999.into();
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(next.clone()))));
    assert_shows(&app, &["since the start 4711", "● paused"]);
    assert_eq!(press(&mut app, KeyCode::Char('p')), Effect::Pause(false));
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(next))));
    assert_shows(&app, &["since the start 9999"]);
}

#[test]
fn a_server_that_does_not_answer_is_named_until_it_does() {
    let mut app = app();
    app.handle_event(SourceEvent::Problem("no server answers".into()));
    assert_shows(&app, &["no response: no server answers", "● not connected"]);
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(snapshot()))));
    assert!(!text(&app).contains("no response"));
    let second = Duration::from_secs(1);
    let waits: Vec<u64> = (0..6)
        .map(|failures| pause_after(failures, second).as_secs())
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 15, 15]);
    assert_eq!(pause_after(3, second * 60), second * 60);
}

#[test]
fn the_log_grows_and_starts_over_with_another_server() {
    let mut app = app();
    type_in(&mut app, "7");
    let mut next = snapshot();
    let lines = json!([{"number": 3, "ts": 1.0, "level": "warn", "logger": "a", "msg": "third", "fields": {}}]);
    next["activity"]["log"] = json!({"last": 3, "lines": lines});
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(next.clone()))));
    assert_shows(&app, &["third", "boom", "ready"]);
    next["activity"]["log"] = json!({"last": 1, "lines": []});
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(next.clone()))));
    assert_shows(&app, &["No line."]);
    next["activity"]["log"] = Value::Null;
    app.handle_event(SourceEvent::Snapshot(Box::new(parsed(next))));
    assert_shows(&app, &["use a Unix socket"]);
}

#[test]
fn a_screen_of_any_size_is_drawn() {
    let mut app = app();
    for size in [(1, 1), (10, 3), (20, 10), (80, 24), (200, 60)] {
        for tab in TABS {
            app.tab = tab;
            for focus in [Focus::Table, Focus::Filter, Focus::Help, Focus::Reload] {
                app.focus = focus;
                app.shows_details = !app.shows_details;
                screen(&app, size);
            }
        }
    }
    app.focus = Focus::Table;
    app.tab = Tab::Requests;
    let wide = screen(&app, (140, 24));
    assert!(wide.iter().any(|line| line.contains("CLIENT")), "{wide:?}");
    assert!(wide[1].contains("3 Requests 2"), "{}", wide[1]);
}

#[test]
fn keys_choose_rows_and_quit() {
    let mut app = app();
    type_in(&mut app, "3");
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    assert_eq!(app.chosen, 1, "the last row");
    press(&mut app, KeyCode::Home);
    press(&mut app, KeyCode::End);
    assert_eq!(app.chosen, 1);
    press(&mut app, KeyCode::PageUp);
    assert_eq!(app.chosen, 0);
    type_in(&mut app, "?");
    assert_shows(&app, &["choose a tab", "reload configuration and PHP"]);
    assert_eq!(
        press(&mut app, KeyCode::Char('q')),
        Effect::None,
        "it closes the help"
    );
    assert_eq!(press(&mut app, KeyCode::Char('q')), Effect::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    app.focus = Focus::Filter;
    assert_eq!(app.key(interrupt), Effect::Quit);
}
