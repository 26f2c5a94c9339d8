//! What a request waits for, and its text for people: that of `howdah status --requests`, `howdah top` and the dashboard.

use serde::Serialize;

use crate::crash_report::text;

/// Characters of a peer.
const PEER_MAX: usize = 400;

/// The event that a request waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequestWait {
    /// `descriptor`, `lock` (on a file), `semaphore` (or a message queue), `time`, `client`, `coroutine`, `channel`, `handle`
    /// (that others use), `loading` (a file of code, by another request), `thread` (others of its process run) or `unknown`.
    pub kind: &'static str,
    /// The descriptor, also that of a locked file.
    pub descriptor: Option<u32>,
    /// The other end, such as `tcp 127.0.0.1:5432`, or its file; `None`: unknown.
    pub peer: Option<String>,
    /// Guessed: it is the only connection of the process, without proof that the request waits for
    /// it.
    pub is_guess: bool,
    /// All of this for people.
    pub text: String,
}

impl RequestWait {
    /// Reads `KIND`, or `descriptor|guess|lock NUMBER PEER`.
    pub(crate) fn parse(record: &str) -> Self {
        let (kind, rest) = record.split_once(' ').unwrap_or((record, ""));
        let (kind, text) = match kind {
            "descriptor" | "guess" => return Self::on_descriptor(rest, kind == "guess"),
            "lock" => return Self::on_lock(rest),
            "time" => ("time", "sleeping"),
            "client" => ("client", "sending, waiting for the client"),
            "semaphore" => ("semaphore", "waiting for a semaphore or a message queue"),
            "coroutine" => ("coroutine", "waiting for a coroutine"),
            "channel" => ("channel", "waiting for a channel"),
            "handle" => (
                "handle",
                "waiting for a connection that another request uses",
            ),
            "loading" => ("loading", "waiting for code that another request loads"),
            "thread" => ("thread", "waiting while others of its process run"),
            _ => ("unknown", "waiting for something unknown"),
        };
        Self {
            kind,
            text: text.into(),
            ..Self::default()
        }
    }

    fn on_descriptor(rest: &str, is_guess: bool) -> Self {
        let (descriptor, peer) = parse_descriptor(rest);
        let likely = if is_guess { "probably " } else { "" };
        let of = peer.as_deref().unwrap_or("of an unknown peer");
        let text = match descriptor {
            Some(number) => format!("waiting, {likely}on descriptor {number}: {of}"),
            None => "waiting for something unknown".into(),
        };
        Self {
            kind: "descriptor",
            descriptor,
            peer,
            is_guess,
            text,
        }
    }

    fn on_lock(rest: &str) -> Self {
        let (descriptor, peer) = parse_descriptor(rest);
        let of = peer.as_deref().unwrap_or("of an unknown file");
        let text = match descriptor {
            Some(number) => format!("waiting for a lock on descriptor {number}: {of}"),
            None => "waiting for a lock".into(),
        };
        Self {
            kind: "lock",
            descriptor,
            peer,
            is_guess: false,
            text,
        }
    }
}

/// `NUMBER PEER`.
fn parse_descriptor(rest: &str) -> (Option<u32>, Option<String>) {
    let (number, peer) = rest.split_once(' ').unwrap_or((rest, ""));
    let peer = (!peer.is_empty()).then(|| text::line(peer, PEER_MAX));
    (number.parse().ok(), peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_text_for_people() {
        let guess = RequestWait::parse("guess 3 unix /run/x.sock");
        assert!(guess.is_guess && guess.peer.as_deref() == Some("unix /run/x.sock"));
        let held = RequestWait::parse("lock 9 file /tmp/a b.lock");
        assert_eq!(
            (held.kind, held.descriptor, held.peer.as_deref()),
            ("lock", Some(9), Some("file /tmp/a b.lock"))
        );
        for (record, kind, text) in [
            ("time", "time", "sleeping"),
            ("client", "client", "sending, waiting for the client"),
            (
                "descriptor 7 tcp 127.0.0.1:5432",
                "descriptor",
                "waiting, on descriptor 7: tcp 127.0.0.1:5432",
            ),
            (
                "guess 7",
                "descriptor",
                "waiting, probably on descriptor 7: of an unknown peer",
            ),
            (
                "lock 9 file /tmp/a b.lock",
                "lock",
                "waiting for a lock on descriptor 9: file /tmp/a b.lock",
            ),
            ("lock x", "lock", "waiting for a lock"),
            (
                "descriptor x",
                "descriptor",
                "waiting for something unknown",
            ),
            ("\u{1b}[2J", "unknown", "waiting for something unknown"),
        ] {
            let wait = RequestWait::parse(record);
            assert_eq!((wait.kind, &*wait.text), (kind, text), "{record}");
        }
    }
}
