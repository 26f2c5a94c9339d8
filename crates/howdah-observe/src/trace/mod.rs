//! Traces: W3C trace contexts of requests, and spans that are exported by OTLP.
//!
//! ```text
//! request ─ traceparent ─> TraceContext ─> HTTP_TRACEPARENT of PHP
//!                              └ when it is over: Spans ─> queue with a limit ─> exporter thread ─> OTLP/HTTP(S)
//! ```
//!
//! The messages are declared here and encoded by `prost` and `serde_json`: `opentelemetry-proto` would add
//! OpenTelemetry's SDK, and an OTLP exporter 88 crates, for eight messages. The usual configuration is supported: the
//! `OTEL_*` variables, see [`Settings`].

mod context;
mod export;
mod otlp;
mod post;
mod protobuf;
mod settings;
mod span;
#[cfg(test)]
mod tests;

pub use context::{TraceContext, TraceId};
pub use export::{SpanLosses, StartError, Tracer};
pub use settings::{Protocol, Sampler, Settings, SettingsError};
pub use span::{Attribute, Kind, Span};
