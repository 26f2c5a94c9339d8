//! The trace of a request.

use howdah_observe::trace::TraceContext;
use http::HeaderName;

/// The header of a trace.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What systems on its way add to it.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The trace of a request.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) context: TraceContext,
    /// Name of its span; empty for the method.
    pub(crate) name: String,
}
