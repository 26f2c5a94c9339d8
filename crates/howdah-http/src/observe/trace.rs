//! The trace of a request.

use howdah_observe::trace::TraceContext;
use http::{HeaderName, Method, Version};

/// The header field that identifies a trace.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header field with vendor-specific data.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The trace of a request.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) context: TraceContext,
    /// Name of its span; if empty, the method.
    pub(crate) name: String,
}

/// The name of a method that OpenTelemetry's conventions know.
pub(crate) fn method_name(method: &Method) -> Option<&str> {
    const KNOWN: [&str; 10] = [
        "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "QUERY",
    ];
    KNOWN.contains(&method.as_str()).then_some(method.as_str())
}

/// The version of HTTP, as the conventions write it.
pub(crate) fn protocol_version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        Version::HTTP_3 => Some("3"),
        _ => None,
    }
}
