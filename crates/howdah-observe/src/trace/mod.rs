//! Traces: W3C trace contexts of requests, and spans that are exported by OTLP.
//!
//! ```text
//! request ─ traceparent ─> TraceContext ─> HTTP_TRACEPARENT of PHP
//!                              └ when it is over: Spans ─> queue with a limit ─> exporter thread ─> OTLP/HTTP
//! ```
//!
//! The encoding is our own: the `opentelemetry` crates with an OTLP exporter are 88 crates, an SDK with
//! processors of its own among them, for what is one JSON document with four kinds of spans. What they
//! are configured by is honoured: the `OTEL_*` variables, see [`Settings`].

mod context;
mod export;
mod otlp;
mod settings;
mod span;
#[cfg(test)]
mod tests;

pub use context::{TraceContext, TraceId};
pub use export::{SpanLosses, StartError, Tracer};
pub use settings::{Sampler, Settings, SettingsError};
pub use span::{Attribute, Kind, Span};
