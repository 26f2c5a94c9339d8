//! The data of a finished request.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, Uri, Version};

use crate::usage::UsageSoFar;

/// The status of a request whose client disconnected before there was one, as in nginx.
pub const CLIENT_DISCONNECTED: u16 = 499;

/// A request and its response.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Entry {
    /// When it ended.
    pub at: SystemTime,
    /// The time from the end of its header until then.
    pub duration: Duration,
    pub id: u64,
    /// The client's side of the connection.
    pub remote: SocketAddr,
    /// The client, if the peer of the connection is a trusted proxy.
    pub client: std::net::IpAddr,
    pub method: Method,
    /// The URI as received.
    pub uri: Uri,
    pub version: Version,
    /// The `Host` header or the authority, as sent.
    pub host: String,
    /// Header fields of the request.
    pub headers: HeaderMap,
    /// Header fields of the response.
    pub response_headers: HeaderMap,
    /// Header fields with credentials are written unchanged, not as `REDACTED`.
    pub credentials: bool,
    /// Set if the connection uses TLS.
    pub tls: Option<TlsInfo>,
    /// The user that the server authenticated.
    pub user: String,
    /// Bytes of the request's body.
    pub bytes_read: u64,
    /// Bytes of the response's body.
    pub size: u64,
    /// The status; [`CLIENT_DISCONNECTED`] if the client disconnected before there was one.
    pub status: u16,
    /// The response was not completely handed over.
    pub cut: bool,
    /// What it cost in PHP, as far as known; `None` if it was not for PHP.
    pub php: Option<UsageSoFar>,
    /// Additional fields.
    pub appended: Vec<(String, String)>,
}

/// Properties of a TLS connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.3`.
    pub version: &'static str,
    /// The IANA name of the cipher suite.
    pub cipher_suite: String,
}

impl Entry {
    /// An estimate of its memory.
    pub(super) fn size_in_memory(&self) -> usize {
        let of_headers = |headers: &HeaderMap| -> usize {
            let fields = headers.iter();
            fields
                .map(|(name, value)| 64 + name.as_str().len() + value.len())
                .sum()
        };
        let appended: usize = self
            .appended
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        size_of::<Self>()
            + of_headers(&self.headers)
            + of_headers(&self.response_headers)
            + self.uri.path().len()
            + self.uri.query().map_or(0, str::len)
            + self.host.len()
            + appended
    }
}
