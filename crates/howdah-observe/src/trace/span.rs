//! A span: one piece of work of a trace.

use super::context::TraceId;

/// A span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// Its id, never 0.
    pub id: u64,
    /// The span that it is a part of.
    pub parent: Option<u64>,
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: Kind,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// By the names of OpenTelemetry's conventions.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// It failed by the server's fault.
    pub failed: bool,
}

/// What kind a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part of the server's work.
    Internal,
    /// The server's answer to a request.
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
