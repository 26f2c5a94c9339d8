//! An update, and the text of its event.

use std::fmt::Write as _;

use bytes::Bytes;
use percent_encoding::percent_decode_str;

use crate::options::PATH;
use crate::selector::Topic;
use crate::url_pattern::topic_url;

/// Topics of one update.
const TOPICS_MAX: usize = 1_000;

/// The type of the hub's own events for subscribers of Mercure 1.0.
pub(crate) const OWN_TYPE: &str = "mercure";

/// An update, and the text of its event.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) id: String,
    pub(crate) topics: Vec<Topic>,
    pub(crate) private: bool,
    /// Generated once for all subscribers.
    pub(crate) event: Bytes,
}

/// An update as a publisher sends it.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The topics, at least one; the first is the canonical one.
    pub topics: Vec<String>,
    /// The data for subscribers, usually JSON or HTML.
    pub data: String,
    /// For subscribers that are authorised for one of the topics. Default false.
    pub private: bool,
    /// Default: the hub generates it.
    pub id: Option<String>,
    /// The event's type. Default none, which is `message` for browsers.
    pub kind: Option<String>,
    /// Milliseconds after which disconnected subscribers reconnect.
    pub retry: Option<u64>,
}

/// What is wrong with an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is none.
    #[error("Missing \"topic\" parameter.")]
    NoTopic,
    /// More than a thousand.
    #[error("An update may have at most {TOPICS_MAX} topics.")]
    TooMany,
    /// It has control characters.
    #[error("A topic has control characters.")]
    Topic,
    /// It is below `/.well-known/mercure`.
    #[error("Topics below {PATH} are reserved for the hub.")]
    Reserved,
    /// It would break the event, or have a special meaning when it is sent back.
    #[error("Invalid \"id\" parameter: no line ends, and no `#` at its start.")]
    Id,
    /// It would break the event.
    #[error("Invalid \"type\" parameter: no line ends.")]
    Kind,
    /// Subscribers of Mercure 1.0 would take the update for one of the hub.
    #[error("Invalid \"type\" parameter: \"{OWN_TYPE}\" is reserved for the hub.")]
    ReservedKind,
    /// It is not a number.
    #[error("Invalid \"retry\" parameter: milliseconds as a whole number.")]
    Retry,
}

impl Draft {
    /// Checks whether it may be published. With line ends a publisher could add fields to the events of others.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let breaks = |text: &Option<String>| {
            text.as_ref()
                .is_some_and(|text| text.contains(['\0', '\r', '\n']))
        };
        let mut topics = self.topics.iter();
        if self.topics.is_empty() {
            Err(Problem::NoTopic)
        } else if self.topics.len() > TOPICS_MAX {
            Err(Problem::TooMany)
        } else if topics.any(|topic| topic.contains(char::is_control)) {
            Err(Problem::Topic)
        } else if self.topics.iter().any(|topic| is_reserved(topic)) {
            Err(Problem::Reserved)
        } else if breaks(&self.id) || self.id.as_ref().is_some_and(|id| id.starts_with('#')) {
            Err(Problem::Id)
        } else if breaks(&self.kind) {
            Err(Problem::Kind)
        } else if self.kind.as_deref() == Some(OWN_TYPE) {
            Err(Problem::ReservedKind)
        } else {
            Ok(())
        }
    }

    /// Completes the update; one without an id gets one.
    pub(crate) fn finish(self) -> Update {
        let id = self.id.unwrap_or_else(urn);
        let mut event = String::with_capacity(64 + id.len() + self.data.len());
        // A String takes all that is written to it.
        if let Some(kind) = &self.kind {
            let _ = writeln!(event, "event: {kind}");
        }
        if let Some(retry) = self.retry {
            let _ = writeln!(event, "retry: {retry}");
        }
        let _ = writeln!(event, "id: {id}");
        for line in lines(&self.data) {
            let _ = writeln!(event, "data: {line}");
        }
        event.push('\n');
        Update {
            id,
            topics: self.topics.into_iter().map(Topic::new).collect(),
            private: self.private,
            event: event.into(),
        }
    }
}

/// Whether a topic is the hub's URL or one below it, in any notation: as an absolute URL or path, after `.`, `..` and
/// escapes are resolved, and as the URL that patterns are compared with.
fn is_reserved(topic: &str) -> bool {
    // Without one of these no notation is.
    if !topic.contains("mercure") && !topic.contains('%') {
        return false;
    }
    is_reserved_text(topic) || topic_url(topic).is_some_and(|url| is_reserved_path(url.path()))
}

/// Whether it is, for clients that split it themselves.
fn is_reserved_text(topic: &str) -> bool {
    let topic = topic.split(['?', '#']).next().unwrap_or_default();
    let after_scheme = topic.split_once("://").map(|(_, rest)| rest);
    let path = match after_scheme.or_else(|| topic.strip_prefix("//")) {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => topic,
    };
    is_reserved_path(path)
}

fn is_reserved_path(path: &str) -> bool {
    if !path.starts_with('/') {
        return false;
    }
    let mut resolved: Vec<&str> = Vec::new();
    let path = percent_decode_str(path).decode_utf8_lossy();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    let own: Vec<_> = PATH.split('/').skip(1).collect();
    resolved.starts_with(&own)
}

impl Update {
    /// An estimate of the memory that it takes.
    pub(crate) fn size(&self) -> usize {
        let topics: usize = self.topics.iter().map(Topic::size).sum();
        size_of::<Self>() + self.id.len() + topics + self.event.len()
    }
}

/// The lines of a text with any of the three line ends; an empty text is one line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\r', '\n']) else {
            rest = None;
            return Some(text);
        };
        let after = &text[end..];
        let skipped = if after.starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&after[skipped..]);
        Some(&text[..end])
    })
}

/// A new `urn:uuid:…`, version 4.
pub(crate) fn urn() -> String {
    let random = fastrand::u128(..);
    let uuid = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    format!(
        "urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        uuid >> 96,
        (uuid >> 80) & 0xffff,
        (uuid >> 64) & 0xffff,
        (uuid >> 48) & 0xffff,
        uuid & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(draft: Draft) -> String {
        String::from_utf8(draft.finish().event.to_vec()).expect("UTF-8")
    }

    #[test]
    fn events() {
        let draft = Draft {
            data: "a\nb\r\nc\rd".into(),
            id: Some("i".into()),
            kind: Some("k".into()),
            retry: Some(5),
            ..Draft::default()
        };
        assert_eq!(
            event(draft),
            "event: k\nretry: 5\nid: i\ndata: a\ndata: b\ndata: c\ndata: d\n\n"
        );
        let empty = Draft {
            id: Some("i".into()),
            ..Draft::default()
        };
        assert_eq!(event(empty), "id: i\ndata: \n\n");
    }

    #[test]
    fn topics_of_the_hub_itself() {
        for topic in [
            "/.well-known/mercure",
            "/.well-known/mercure/",
            "/.well-known/mercure?topic=x",
            "/.well-known/mercure/subscriptions/a/b",
            "/.well-known/./mercure/subscriptions",
            "/x/../.well-known/mercure",
            "/%2ewell-known/mercur%65/x",
            "https://a/.well-known/mercure",
            "https://a:8080/b/../.well-known/mercure#x",
            "//a/.well-known/mercure",
            // These are URLs below the hub for URL patterns, which resolve them.
            ".well-known/mercure/subscriptions/x",
            " /.well-known/mercure/x",
            "\\.well-known\\mercure\\x",
            "http:.well-known/mercure/x",
            "https:\\\\a\\.well-known/mercur%65/x",
            "x/%2e%2e/.well-known/mercure",
        ] {
            assert!(is_reserved(topic), "{topic}");
        }
        for topic in [
            "/.well-known/mercurex",
            "/.well-known",
            "/.well-known/mercure/../other",
            "https://a/books/.well-known/mercure",
            "https://a?x=/.well-known/mercure",
            "https://.well-known/mercure",
            "mercure",
            "*",
            "",
        ] {
            assert!(!is_reserved(topic), "{topic}");
        }
    }

    #[test]
    fn ids_are_uuids_of_version_4() {
        let urn = urn();
        let digits: Vec<_> = urn
            .strip_prefix("urn:uuid:")
            .expect("a URN")
            .split('-')
            .collect();
        assert_eq!(
            digits.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
        assert!(digits[2].starts_with('4'), "{urn}");
        assert!(digits[3].starts_with(['8', '9', 'a', 'b']), "{urn}");
        assert_ne!(urn, super::urn());
    }
}
