//! The limits of a listener, as its connections and requests use them.

use std::rc::Rc;
use std::time::Duration;

use howdah_config::model;
use hyper::server::conn::http1;

use super::http2;
use crate::clock::milliseconds;
use crate::listen::trusted_proxies::TrustedProxies;
use crate::message::route_error::RouteError;

/// hyper's buffer in addition to the header limit: space for the read that shows that a header is
/// too large.
const BUFFER_MARGIN: usize = 64 << 10;

/// Compiled [`model::Limits`]; times as numbers are in milliseconds.
pub(crate) struct Limits {
    pub(crate) read_header: u64,
    pub(crate) read_body: Duration,
    pub(crate) write: u64,
    pub(crate) idle: u64,
    pub(crate) max_header_size: usize,
    pub(crate) max_body_size: u64,
    pub(crate) memory_body_size: usize,
    /// Header fields with credentials are not redacted in access logs.
    pub(crate) log_credentials: bool,
    pub(crate) proxies: TrustedProxies,
    pub(crate) proxy_protocol: Option<model::ProxyProtocol>,
    /// HTTP/2 is served over TLS.
    pub(crate) h2: bool,
    /// HTTP/2 is served without TLS.
    pub(crate) h2c: bool,
    /// Builder of its HTTP/1 connections.
    pub(crate) http1: http1::Builder,
    /// Builder of its HTTP/2 connections.
    pub(crate) http2: h2::server::Builder,
}

impl Limits {
    pub(crate) fn compile(limits: &model::Limits) -> Result<Rc<Self>, RouteError> {
        let mut http1 = http1::Builder::new();
        http1.max_buf_size(limits.max_header_size.saturating_add(BUFFER_MARGIN));
        Ok(Rc::new(Self {
            read_header: milliseconds(limits.read_header),
            read_body: limits.read_body,
            write: milliseconds(limits.write),
            idle: milliseconds(limits.idle),
            max_header_size: limits.max_header_size,
            max_body_size: limits.max_body_size,
            memory_body_size: limits.memory_body_size,
            log_credentials: limits.log_credentials,
            proxies: TrustedProxies::compile(&limits.proxies)?,
            proxy_protocol: limits.proxy_protocol.clone(),
            h2: limits.http2,
            h2c: limits.h2c,
            http1,
            http2: http2::builder(limits),
        }))
    }
}
