//! The requests in flight as text: `howdah status --requests`.

use std::fmt::Write as _;

use serde::Deserialize;

use super::report::{printable, size, time};

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
    age_ms: u64,
    phase: String,
    pool: Option<String>,
    worker: Option<u16>,
    memory: Option<u64>,
    wait: Option<Wait>,
    top: Option<String>,
}

/// What PHP waits for.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Wait {
    kind: String,
    descriptor: Option<u32>,
    peer: Option<String>,
    is_guess: bool,
}

/// Two lines for each: the client and its request, and the state.
pub(super) fn table(shown: &Requests) -> String {
    if shown.requests.is_empty() {
        return "no requests\n".into();
    }
    let mut text = String::new();
    for own in &shown.requests {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "{} {} {}  {} for {}, client {}",
            printable(&own.id),
            printable(&own.method),
            printable(&own.uri),
            state(own),
            time(own.age_ms),
            printable(&own.remote)
        );
        let mut parts = Vec::new();
        if let Some(pool) = &own.pool {
            let place = own.worker.map(|worker| format!(" worker {worker}"));
            parts.push(format!("{}{}", printable(pool), place.unwrap_or_default()));
        }
        parts.extend(own.memory.map(size));
        parts.extend(
            own.top
                .as_deref()
                .filter(|top| !top.is_empty())
                .map(printable),
        );
        if !parts.is_empty() {
            let _ = writeln!(text, "    {}", parts.join(", "));
        }
    }
    text
}

/// The state of a request in words.
fn state(own: &Request) -> String {
    match (&*own.phase, &own.wait) {
        ("front", _) => "being received".into(),
        ("queue", _) => "in the queue".into(),
        ("send", _) => "sending".into(),
        ("php", None) if own.top.is_some() => "running".into(),
        ("php", None) => "in PHP".into(),
        ("php", Some(wait)) => wait.text(),
        (phase, _) => printable(phase),
    }
}

impl Wait {
    pub(super) fn text(&self) -> String {
        match (&*self.kind, self.descriptor) {
            ("client", _) => "sending, waiting for the client".into(),
            ("time", _) => "sleeping".into(),
            ("thread", _) => "waiting while others of its process run".into(),
            ("coroutine", _) => "waiting for a coroutine".into(),
            ("channel", _) => "waiting for a channel".into(),
            ("handle", _) => "waiting for a connection that another request uses".into(),
            ("loading", _) => "waiting for code that another request loads".into(),
            ("semaphore", _) => "waiting for a semaphore or a message queue".into(),
            ("lock", Some(descriptor)) => {
                let file = self.peer.as_deref().map(printable);
                let file = file.unwrap_or_else(|| "of an unknown file".into());
                format!("waiting for a lock on descriptor {descriptor}: {file}")
            }
            (_, Some(descriptor)) => {
                let peer = self.peer.as_deref().map(printable);
                let peer = peer.unwrap_or_else(|| "of an unknown peer".into());
                let likely = if self.is_guess { "probably " } else { "" };
                format!("waiting, {likely}on descriptor {descriptor}: {peer}")
            }
            _ => "waiting for something unknown".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_shows_its_place() {
        let shown = serde_json::json!({"requests": [
            {"id": "1", "method": "GET", "uri": "/\u{1b}[2J", "remote": "127.0.0.1:5", "age_ms": 1500, "phase": "php",
                "pool": "app", "worker": 2, "memory": 2048, "top": "fread() in f() /a.php:3",
                "wait": {"kind": "descriptor", "descriptor": 7, "peer": "tcp 127.0.0.1:5432", "is_guess": false}},
            {"id": "2", "method": "POST", "uri": "/q", "remote": "127.0.0.1:6", "age_ms": 20, "phase": "queue",
                "pool": "app", "worker": null},
            {"id": "3", "method": "GET", "uri": "/s", "remote": "127.0.0.1:7", "age_ms": 20, "phase": "php",
                "pool": "app", "worker": 1, "memory": null, "top": "echo",
                "wait": {"kind": "client", "descriptor": null, "peer": null, "is_guess": false}},
            {"id": "4", "method": "GET", "uri": "/l", "remote": "127.0.0.1:8", "age_ms": 20, "phase": "php",
                "pool": "app", "worker": 1, "memory": null, "top": "flock()",
                "wait": {"kind": "lock", "descriptor": 8, "peer": "file /tmp/x", "is_guess": false}},
        ]});
        let shown: Requests = serde_json::from_value(shown).expect("it fits");
        let expected = "\
1 GET /\u{fffd}[2J  waiting, on descriptor 7: tcp 127.0.0.1:5432 for 1.5s, client 127.0.0.1:5
    app worker 2, 2.0 KiB, fread() in f() /a.php:3
2 POST /q  in the queue for 20ms, client 127.0.0.1:6
    app
3 GET /s  sending, waiting for the client for 20ms, client 127.0.0.1:7
    app worker 1, echo
4 GET /l  waiting for a lock on descriptor 8: file /tmp/x for 20ms, client 127.0.0.1:8
    app worker 1, flock()
";
        assert_eq!(table(&shown), expected);
    }
}
