//! Limits of connections and requests of a listener.

use std::time::Duration;

use super::expression::Network;
use super::proxy_protocol::ProxyProtocol;

/// Limits of connections and requests of a listener: `servers { timeouts { … } max_header_size … }`.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "options that have nothing to do with each other"
)]
pub struct Limits {
    /// From the first byte of a request to the end of its header. Default 10 s.
    pub read_header: Duration,
    /// Between two reads of a request body. Default 60 s.
    pub read_body: Duration,
    /// Between two writes to the client that make progress. Default 60 s.
    pub write: Duration,
    /// An idle keep-alive connection. Default 2 min.
    pub idle: Duration,
    /// Bytes of request line and header fields; a larger header gets a 431 (414 for the URI alone). Default 32 KiB.
    pub max_header_size: usize,
    /// Bytes of a request body; a larger body gets a 413. Default 128 MiB.
    pub max_body_size: u64,
    /// Bodies up to this many bytes stay in memory, larger ones go to a spool file. Default 64 KiB.
    pub memory_body_size: usize,
    /// `log_credentials`: header fields with credentials are not redacted in access logs. Default false.
    pub log_credentials: bool,
    /// `protocols`: HTTP/2 over TLS. Default true.
    pub http2: bool,
    /// `protocols`: HTTP/2 without TLS. Default true.
    pub h2c: bool,
    /// `protocols`: HTTP/3. Default true.
    pub http3: bool,
    /// Proxies whose information about the client is trusted. Default: none.
    pub proxies: TrustedProxies,
    /// `listener_wrappers { proxy_protocol … }`: load balancers that forward TCP. Default none.
    pub proxy_protocol: Option<ProxyProtocol>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_header: Duration::from_secs(10),
            read_body: Duration::from_secs(60),
            write: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            max_header_size: 32 << 10,
            max_body_size: 128 << 20,
            memory_body_size: 64 << 10,
            log_credentials: false,
            http2: true,
            h2c: true,
            http3: true,
            proxies: TrustedProxies::default(),
            proxy_protocol: None,
        }
    }
}

/// `trusted_proxies` and related options: proxies in front of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies {
    /// `trusted_proxies static RANGE…`: their addresses.
    pub ranges: Vec<Network>,
    /// `client_ip_headers`: the fields with the client's address; the first that is present counts.
    /// Default `X-Forwarded-For`.
    pub headers: Vec<String>,
    /// `trusted_proxies_strict`: the address is the last in the list that does not belong to a trusted proxy;
    /// otherwise the first. Default false.
    pub strict: bool,
}

impl Default for TrustedProxies {
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            headers: vec!["X-Forwarded-For".into()],
            strict: false,
        }
    }
}
