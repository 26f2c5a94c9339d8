//! The requests in flight as text: `howdah status --requests`.

use std::fmt::Write as _;

use serde::Deserialize;

use super::report::{printable, size, time};

/// Requests that are listed as text: enough to read, and few enough for a terminal.
const LISTED_MAX: usize = 100;
/// Characters of a URI or of a place that are shown.
const TEXT_MAX: usize = 300;

/// The parts of `/requests?detail` that are shown.
#[derive(Debug, Deserialize)]
pub(super) struct Requests {
    requests: Vec<Request>,
}

#[derive(Debug, Deserialize)]
struct Request {
    id: String,
    method: String,
    uri: String,
    remote: String,
    #[serde(default)]
    client: ClientState,
    age_ms: u64,
    phase: String,
    route: Option<String>,
    pool: Option<String>,
    worker: Option<u16>,
    memory: Option<u64>,
    wait: Option<Wait>,
    top: Option<String>,
}

/// Whether a client waits for the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientState {
    #[default]
    Waiting,
    /// The script runs on after its response.
    Served,
    Disconnected,
}

impl ClientState {
    /// A suffix for the text of the request or its client.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Waiting => "",
            Self::Served => " served",
            Self::Disconnected => " disconnected",
        }
    }
}

/// The event that PHP waits for, in words.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Wait {
    pub(super) text: String,
}

/// Two lines for each: the request with its state, age and client, and its route with what PHP does for it. Of many
/// requests, those in the queue are left out first.
pub(super) fn table(shown: &Requests) -> String {
    if shown.requests.is_empty() {
        return "no requests\n".into();
    }
    let mut text = String::new();
    for own in listed(&shown.requests) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "{} {} {}  {}, {} old, client {}{}",
            printable(&own.id),
            printable(&own.method),
            shortened(&own.uri),
            state(own),
            time(own.age_ms),
            printable(&own.remote),
            own.client.suffix()
        );
        let mut parts = Vec::new();
        parts.extend(
            own.route
                .as_deref()
                .map(|route| format!("route {}", shortened(route))),
        );
        if let Some(pool) = &own.pool {
            let place = own.worker.map(|worker| format!(" worker {worker}"));
            parts.push(format!("{}{}", printable(pool), place.unwrap_or_default()));
        }
        parts.extend(own.memory.map(size));
        parts.extend(
            own.top
                .as_deref()
                .filter(|top| !top.is_empty())
                .map(shortened),
        );
        if !parts.is_empty() {
            let _ = writeln!(text, "    {}", parts.join(", "));
        }
    }
    let (all, queued) = (
        shown.requests.len(),
        shown.requests.iter().filter(|own| own.is_queued()).count(),
    );
    if all > LISTED_MAX {
        let more = all - LISTED_MAX;
        let _ = writeln!(
            text,
            "{more} more; {queued} of all {all} are in the queue, and --json lists all"
        );
    }
    text
}

/// At most [`LISTED_MAX`] of them, in their order.
fn listed(all: &[Request]) -> impl Iterator<Item = &Request> {
    let others = all.iter().filter(|own| !own.is_queued()).count();
    let (mut room_for_queued, mut room) = (LISTED_MAX.saturating_sub(others), LISTED_MAX);
    all.iter().filter(move |own| {
        let left = if own.is_queued() {
            &mut room_for_queued
        } else {
            &mut room
        };
        let fits = *left > 0;
        *left -= usize::from(fits);
        fits
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

impl Request {
    fn is_queued(&self) -> bool {
        self.phase == "queue"
    }
}

/// The state of a request in words.
fn state(own: &Request) -> String {
    match (&*own.phase, &own.wait) {
        ("front", _) => "being received".into(),
        ("queue", _) => "in the queue".into(),
        ("send", _) => "sending".into(),
        ("php", None) if own.top.is_some() => "running".into(),
        ("php", None) => "in PHP".into(),
        ("php", Some(wait)) => printable(&wait.text),
        (phase, _) => printable(phase),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_shows_its_place() {
        let shown = serde_json::json!({"requests": [
            {"id": "1", "method": "GET", "uri": "/\u{1b}[2J", "remote": "127.0.0.1:5", "age_ms": 1500, "phase": "php",
                "route": "GET /users/:id\u{1b}", "pool": "app", "worker": 2, "memory": 2048, "top": "fread() in f() /a.php:3",
                "wait": {"kind": "descriptor", "text": "waiting, on descriptor 7: tcp 127.0.0.1:5432\u{1b}"}},
            {"id": "2", "method": "POST", "uri": "/q", "remote": "127.0.0.1:6", "age_ms": 20, "phase": "queue",
                "route": "POST /q", "pool": "app", "worker": null},
            {"id": "3", "method": "GET", "uri": "/s", "remote": "127.0.0.1:7", "client": "disconnected", "age_ms": 20, "phase": "php",
                "pool": "app", "worker": 1, "memory": null, "top": "echo",
                "wait": {"kind": "client", "text": "sending, waiting for the client"}},
        ]});
        let shown: Requests = serde_json::from_value(shown).expect("it fits");
        let expected = "\
1 GET /\u{fffd}[2J  waiting, on descriptor 7: tcp 127.0.0.1:5432\u{fffd}, 1.5s old, client 127.0.0.1:5
    route GET /users/:id\u{fffd}, app worker 2, 2.0 KiB, fread() in f() /a.php:3
2 POST /q  in the queue, 20ms old, client 127.0.0.1:6
    route POST /q, app
3 GET /s  sending, waiting for the client, 20ms old, client 127.0.0.1:7 disconnected
    app worker 1, echo
";
        assert_eq!(table(&shown), expected);
    }

    #[test]
    fn a_long_queue_is_counted() {
        let request = |id: usize, phase: &str| {
            serde_json::json!({"id": format!("{id:04}"), "method": "GET", "uri": format!("/{}", "x".repeat(5000)),
                "remote": "127.0.0.1:5", "age_ms": 20, "phase": phase, "pool": "app", "worker": null})
        };
        let mut all: Vec<_> = (0..1000).map(|id| request(id, "queue")).collect();
        all.push(request(1000, "send"));
        let shown =
            serde_json::from_value(serde_json::json!({ "requests": all })).expect("it fits");
        let text = table(&shown);
        let ids: Vec<_> = (text.lines().filter_map(|line| line.get(..4)))
            .filter(|id| id.parse::<usize>().is_ok())
            .collect();
        assert_eq!(ids.len(), LISTED_MAX);
        assert_eq!((ids[0], ids[98], ids[99]), ("0000", "0098", "1000"));
        assert!(
            text.ends_with("901 more; 1000 of all 1001 are in the queue, and --json lists all\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() < 500));
    }
}
