//! The access log: stores what the line of a request needs; the line is written when its response has ended or was cut.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use howdah_observe::access::{CLIENT_DISCONNECTED, Entry, Log, TlsInfo};
use howdah_observe::usage::UsageSoFar;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Uri, Version};

use crate::message::connection::Connection;
use crate::message::deferred_text::{BodyBytes, DeferredText, Figures};
use crate::message::path;
use crate::message::upstream_note::UpstreamNote;

/// Data for the line of a request that no longer exists by then.
pub(crate) struct LogEntry {
    logs: Arc<[Log]>,
    /// Header fields with credentials are not redacted.
    pub(crate) credentials: bool,
    pub(crate) start: Instant,
    id: u64,
    connection: std::rc::Rc<Connection>,
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    response_headers: HeaderMap,
    client: IpAddr,
    user: String,
    appended: Vec<(String, AppendedValue)>,
    /// The upstream that has responded.
    pub(crate) upstream: Option<Arc<UpstreamNote>>,
}

/// The value of a field of `log_append`.
#[derive(Debug)]
pub(crate) enum AppendedValue {
    Known(String),
    Deferred(DeferredText),
}

impl AppendedValue {
    fn into_text(self, figures: &Figures<'_>) -> String {
        let text = match self {
            Self::Known(text) => text,
            Self::Deferred(text) => text.text(figures),
        };
        path::readable(&text).into_owned()
    }
}

/// How a response ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseEnd {
    /// 0: there was no response.
    pub(crate) status: u16,
    /// Bytes of the request's body.
    pub(crate) received: u64,
    /// Bytes of the body, as handed to the connection.
    pub(crate) sent: u64,
    pub(crate) finished: bool,
    /// The cost of the request in PHP, if it was for PHP.
    pub(crate) php: Option<UsageSoFar>,
}

impl LogEntry {
    /// `start`: when the request began.
    pub(crate) fn new(
        logs: &Arc<[Log]>,
        start: Instant,
        id: u64,
        connection: &std::rc::Rc<Connection>,
        parts: &Parts,
    ) -> Self {
        Self {
            logs: Arc::clone(logs),
            credentials: false,
            start,
            id,
            connection: std::rc::Rc::clone(connection),
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            version: parts.version,
            headers: parts.headers.clone(),
            response_headers: HeaderMap::new(),
            client: connection.remote.ip(),
            user: String::new(),
            appended: Vec::new(),
            upstream: None,
        }
    }

    /// Sets the client, as determined by trusted proxies and passwords.
    pub(crate) fn identify(&mut self, client: IpAddr, user: Option<&str>) {
        self.client = client;
        user.unwrap_or_default().clone_into(&mut self.user);
    }

    /// Adds fields of `log_append`.
    pub(crate) fn append(&mut self, fields: Vec<(String, AppendedValue)>) {
        self.appended = fields;
    }

    /// Stores the header of the response.
    pub(crate) fn response(&mut self, headers: &HeaderMap) {
        self.response_headers.clone_from(headers);
    }

    /// Passes the entry to the logs that include it.
    pub(crate) fn write(mut self, ending: ResponseEnd) {
        let status = match ending.status {
            0 => CLIENT_DISCONNECTED,
            status => status,
        };
        let host = self.headers.get(HOST).map(HeaderValue::as_bytes);
        let host = String::from_utf8_lossy(host.unwrap_or_default()).into_owned();
        let name = howdah_cgi::Host::parse(&host).map_or("", |host| host.name);
        let Some(first) = self.logs.iter().position(|log| log.includes(name, status)) else {
            return;
        };
        let name = name.to_owned();
        let tls = self.connection.tls.as_ref().map(|tls| TlsInfo {
            version: tls.protocol,
            cipher_suite: tls.cipher.to_owned(),
        });
        self.headers.remove(HOST);
        let duration = self.start.elapsed();
        let figures = Figures {
            duration,
            status,
            bytes: Some(BodyBytes {
                received: ending.received,
                sent: ending.sent,
            }),
            php: ending.php,
            upstream: self.upstream.as_deref(),
        };
        let appended = self.appended.into_iter();
        let appended = appended.map(|(name, value)| (name, value.into_text(&figures)));
        let entry = Arc::new(Entry {
            at: SystemTime::now(),
            duration,
            id: self.id,
            remote: self.connection.remote,
            client: self.client,
            method: self.method,
            uri: self.uri,
            version: self.version,
            host,
            headers: self.headers,
            response_headers: self.response_headers,
            credentials: self.credentials,
            tls,
            user: self.user,
            bytes_read: ending.received,
            size: ending.sent,
            status,
            cut: !ending.finished,
            php: ending.php,
            appended: appended.collect(),
        });
        self.logs[first].write(Arc::clone(&entry));
        let others = self.logs[first + 1..].iter();
        for log in others.filter(|log| log.includes(&name, status)) {
            log.write(Arc::clone(&entry));
        }
    }
}
