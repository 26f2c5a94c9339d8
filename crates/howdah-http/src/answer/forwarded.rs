//! Hop-by-hop header fields, and `X-Forwarded-*` for upstreams.

use http::HeaderMap;
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};

/// Removes hop-by-hop fields (RFC 9110 §7.6.1). `Host` stays even if `Connection` names it: without it a request is not
/// valid HTTP/1.1.
pub(crate) fn remove_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| *name != HOST)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    for name in [
        "keep-alive",
        // Handled here, when the body is read.
        "expect",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "trailer",
    ] {
        headers.remove(name);
    }
}

/// `X-Forwarded-*` for an upstream. Values from the client are only used if it is a trusted proxy.
/// Each field with its value; `None`: not set.
pub(crate) struct ForwardedHeaders(Vec<(HeaderName, Option<HeaderValue>)>);

impl ForwardedHeaders {
    pub(crate) fn new(fields: Vec<(HeaderName, Option<HeaderValue>)>) -> Self {
        Self(fields)
    }

    pub(crate) fn put(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            match value {
                Some(value) => headers.insert(name, value),
                None => headers.remove(name),
            };
        }
    }
}
