//! The head of a worker's response, and the reasons why it is missing.

use std::time::Duration;

use bytes::Bytes;
use howdah_shm::End;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Status line and header of a response.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Head {
    pub status: StatusCode,
    /// A reason phrase set by the script (`header("HTTP/1.1 418 I'm a teapot")`); empty if it set none.
    pub reason: Vec<u8>,
    /// The header fields, without connection-specific ones.
    pub headers: HeaderMap,
}

/// Connection-specific fields, which the front sets and not the script (RFC 9110, 7.6.1).
pub const HOP_BY_HOP: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Fields of a response head; further ones are dropped. A [`HeaderMap`] panics on more than 24,576 names, and the
/// server adds some.
pub const FIELDS_MAX: usize = 16_384;

impl Head {
    /// Builds a head from what a worker sent. Invalid fields are left out, as php-fpm's clients do; `None` if the
    /// status is not one of a final response.
    pub(crate) fn new(
        status: u16,
        reason: &[u8],
        fields: impl Iterator<Item = (Bytes, Bytes)>,
    ) -> Option<Self> {
        let status = StatusCode::from_u16(status)
            .ok()
            .filter(|status| status.as_u16() >= 200)?;
        let headers = allowed(fields);
        let reason = if reason.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            reason
        } else {
            b""
        };
        Some(Self {
            status,
            reason: reason.to_vec(),
            headers,
        })
    }

    /// Builds an interim response; `None` if the status is not one of an interim response.
    pub(crate) fn interim(
        status: u16,
        fields: impl Iterator<Item = (Bytes, Bytes)>,
    ) -> Option<Self> {
        let status = StatusCode::from_u16(status)
            .ok()
            .filter(StatusCode::is_informational)?;
        Some(Self {
            status,
            reason: Vec::new(),
            headers: allowed(fields),
        })
    }
}

/// The fields that a script may set and HTTP allows.
fn allowed(fields: impl Iterator<Item = (Bytes, Bytes)>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    for (name, value) in fields.take(FIELDS_MAX) {
        let Ok(name) = HeaderName::from_bytes(&name) else {
            continue;
        };
        let Ok(value) = HeaderValue::from_maybe_shared(value) else {
            continue;
        };
        if !HOP_BY_HOP.contains(&name.as_str()) {
            headers.append(name, value);
        }
    }
    headers
}

/// What PHP reports of a finished request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScriptResult {
    /// A fatal error was reported (the response is complete nevertheless).
    pub fatal: bool,
    /// Status of `exit()`, 255 after a fatal error.
    pub exit_status: u32,
    /// Peak of PHP's memory, bytes.
    pub memory_peak: u64,
}

/// The cost of a request, as its worker measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScriptUsage {
    /// User and system time.
    pub cpu: Duration,
    /// Wall time in calls of database extensions.
    pub database: Duration,
    /// SQL statements that these calls ran.
    pub queries: u32,
    /// Peak of PHP's memory, bytes.
    pub memory_peak: u64,
}

impl ScriptUsage {
    pub(crate) fn new(end: &End) -> Self {
        Self {
            cpu: Duration::from_micros(end.cpu_us),
            database: Duration::from_micros(end.database_us),
            queries: end.queries,
            memory_peak: end.memory_peak,
        }
    }
}

/// Why there is no response, or only a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The queue is full: 503.
    #[error("the queue of PHP requests is full")]
    QueueFull,
    /// No worker was free in time: 503.
    #[error("no PHP process was free within {0:?}")]
    WaitTimeout(Duration),
    /// The request ran longer than the pool allows: 504.
    #[error("the request took longer than {0:?} in PHP")]
    RequestTimeout(Duration),
    /// The request took more processor time than the pool allows: 504.
    #[error("the request took more processor time than `cpu_timeout`")]
    CpuLimit,
    /// The worker crashed while it had the request: 502.
    #[error("the PHP process crashed")]
    WorkerDied,
    /// The worker sent something that is not a response: 502.
    #[error("the PHP process sent a malformed response")]
    Malformed,
    /// There is no worker since its boot failed; the boot is retried: 503.
    #[error("the application did not start; its boot will be retried")]
    NotBooted,
    /// Processes crashed while requests of its route ran; it is refused for so long: 503.
    #[error("the route is in quarantine: PHP processes crashed while its requests ran")]
    Quarantined(Duration),
    /// The rest of the response was in a file that cannot be read.
    #[error("the file with the rest of the response cannot be read")]
    Spool,
    /// The variables do not fit a slot: 431.
    #[error("the request's header is too large")]
    TooLarge,
    /// The server is stopping: 503.
    #[error("the server is stopping")]
    Stopping,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, reason: &str, fields: &[(&str, &str)]) -> Option<Head> {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let fields = fields
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)));
        Head::new(status, reason.as_bytes(), fields)
    }

    #[test]
    fn duplicate_fields_stay_and_connection_fields_go() {
        let fields = [
            ("Set-Cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("Connection", "close"),
            ("X", "y"),
        ];
        let head = head(200, "", &fields).expect("a head");
        let cookies: Vec<_> = head.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2"]);
        assert!(!head.headers.contains_key("connection"));
        assert_eq!(head.headers["x"], "y");
    }

    #[test]
    fn invalid_fields_are_left_out() {
        let head = head(
            418,
            "I'm a teapot",
            &[("Bad Name", "x"), ("X", "a\nb"), ("Y", "ok")],
        );
        let head = head.expect("a head");
        assert_eq!(head.headers.len(), 1);
        assert_eq!(head.reason, b"I'm a teapot");
        assert!(
            super::Head::new(200, b"a\r\nb", std::iter::empty())
                .expect("a head")
                .reason
                .is_empty()
        );
    }

    #[test]
    fn fields_beyond_all_limits_are_left_out() {
        let fields = (0..40_000).map(|number: u32| (format!("{number:x}").into(), Bytes::new()));
        let head = Head::new(200, b"", fields).expect("a head");
        assert_eq!(head.headers.len(), FIELDS_MAX);
    }

    #[test]
    fn a_status_that_is_not_final_is_no_head() {
        for status in [0, 99, 100, 103, 199, 1000] {
            assert_eq!(head(status, "", &[]), None, "{status}");
        }
        assert!(head(999, "", &[]).is_some());
    }

    #[test]
    fn an_interim_head_has_the_same_fields() {
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        let fields = [
            ("Link", "</a>"),
            ("Link", "</b>"),
            ("Upgrade", "x"),
            ("X", "a\nb"),
        ];
        let fields = fields.map(|(name, value)| (bytes(name), bytes(value)));
        let head = Head::interim(103, fields.into_iter()).expect("a head");
        assert_eq!(head.status, StatusCode::EARLY_HINTS);
        let links: Vec<_> = head.headers.get_all("link").iter().collect();
        assert_eq!(links, ["</a>", "</b>"]);
        assert_eq!(head.headers.len(), 2);
        for status in [0, 99, 200, 1000] {
            assert_eq!(Head::interim(status, std::iter::empty()), None, "{status}");
        }
    }
}
