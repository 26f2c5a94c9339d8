//! A span: one unit of work in a trace.

use super::context::TraceId;

/// A span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// Its id, never 0.
    pub id: u64,
    /// The parent span.
    pub parent: Option<u64>,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// Named by OpenTelemetry's conventions.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// It failed, and the server is at fault.
    pub failed: bool,
}

/// Kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part of the server's work.
    Internal,
    /// The server's handling of a request.
    Server,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// Text.
    Text(String),
    /// A number.
    Number(i64),
}
