//! The phase in which the trace of a request is passed on to the program that handles it.

use http::HeaderValue;

use super::exchange::Exchange;
use super::pending::PendingRequest;
use crate::observe::trace::{TRACEPARENT, TRACESTATE, Trace};
use crate::route::outcome::Outcome;

/// Puts the trace into the request and its record.
pub(super) fn pass_on(
    trace: Trace,
    outcome: &mut Outcome,
    request: &mut PendingRequest,
    exchange: &Exchange,
) {
    let headers = match outcome {
        Outcome::Proxy(job) => &mut job.headers,
        _ => &mut request.parts.headers,
    };
    if let Ok(value) = HeaderValue::from_str(&trace.context.traceparent()) {
        headers.insert(TRACEPARENT, value);
    }
    // It belongs to the caller's trace, and this is a new one.
    if trace.context.parent.is_none() {
        headers.remove(TRACESTATE);
    }
    if let Some(record) = &exchange.record {
        record.trace(trace);
    }
}
