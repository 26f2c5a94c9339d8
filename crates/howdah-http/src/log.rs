//! The access log: one line for each request, written when its response has ended or was cut.

use std::net::SocketAddr;
use std::time::Instant;

use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderValue, Method, Uri};

/// Which requests a site logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logged {
    All,
    /// Those that were answered 500 or above.
    Errors,
}

/// What the line needs of a request that will be gone by then.
#[derive(Debug)]
pub(crate) struct LogEntry {
    logged: Logged,
    start: Instant,
    id: u64,
    remote: SocketAddr,
    method: Method,
    uri: Uri,
    user_agent: Option<HeaderValue>,
}

/// Status in the log when the client left before there was a response, as nginx has it.
const CLIENT_GONE: u16 = 499;

impl LogEntry {
    pub(crate) fn new(logged: Logged, id: u64, remote: SocketAddr, parts: &Parts) -> Self {
        Self {
            logged,
            start: Instant::now(),
            id,
            remote,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            user_agent: parts.headers.get(USER_AGENT).cloned(),
        }
    }

    /// `bytes`: of the body, as handed to the connection.
    pub(crate) fn write(&self, status: u16, bytes: u64, finished: bool) {
        if self.logged == Logged::Errors && status < 500 {
            return;
        }
        let user_agent = self.user_agent.as_ref().map(http::HeaderValue::as_bytes);
        tracing::info!(
            target: "howdah::access",
            method = %self.method,
            uri = %self.uri,
            status = if status == 0 { CLIENT_GONE } else { status },
            bytes,
            duration_us = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX),
            remote = %self.remote,
            request_id = %format_args!("{:016x}", self.id),
            user_agent = %String::from_utf8_lossy(user_agent.unwrap_or_default()),
            cut = !finished,
            "request",
        );
    }
}
