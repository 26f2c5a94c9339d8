//! A span: one unit of work in a trace.

use super::context::TraceId;

/// A finished span.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Span {
    pub trace: TraceId,
    /// Its id, never 0.
    pub id: u64,
    /// The parent span.
    pub parent: Option<u64>,
    pub name: String,
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
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Attribute {
    Text(String),
    Number(i64),
}
