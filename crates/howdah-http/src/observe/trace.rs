//! The trace of a request.

use howdah_observe::trace::TraceContext;
use http::HeaderName;

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
