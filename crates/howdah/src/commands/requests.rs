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
    #[serde(default)]
    client: ClientState,
    age_ms: u64,
    phase: String,
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
            "{} {} {}  {} for {}, client {}{}",
            printable(&own.id),
            printable(&own.method),
            printable(&own.uri),
            state(own),
            time(own.age_ms),
            printable(&own.remote),
            own.client.suffix()
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
                "pool": "app", "worker": 2, "memory": 2048, "top": "fread() in f() /a.php:3",
                "wait": {"kind": "descriptor", "text": "waiting, on descriptor 7: tcp 127.0.0.1:5432\u{1b}"}},
            {"id": "2", "method": "POST", "uri": "/q", "remote": "127.0.0.1:6", "age_ms": 20, "phase": "queue",
                "pool": "app", "worker": null},
            {"id": "3", "method": "GET", "uri": "/s", "remote": "127.0.0.1:7", "client": "disconnected", "age_ms": 20, "phase": "php",
                "pool": "app", "worker": 1, "memory": null, "top": "echo",
                "wait": {"kind": "client", "text": "sending, waiting for the client"}},
        ]});
        let shown: Requests = serde_json::from_value(shown).expect("it fits");
        let expected = "\
1 GET /\u{fffd}[2J  waiting, on descriptor 7: tcp 127.0.0.1:5432\u{fffd} for 1.5s, client 127.0.0.1:5
    app worker 2, 2.0 KiB, fread() in f() /a.php:3
2 POST /q  in the queue for 20ms, client 127.0.0.1:6
    app
3 GET /s  sending, waiting for the client for 20ms, client 127.0.0.1:7 disconnected
    app worker 1, echo
";
        assert_eq!(table(&shown), expected);
    }
}
