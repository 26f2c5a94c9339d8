//! Status codes and header fields of responses.

use super::placeholder::Template;

/// The status code of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// Not given: that of the error in `handle_errors`, otherwise the handler's default.
    #[default]
    Default,
    /// This one.
    Code(u16),
    /// A placeholder, such as `{err.status_code}`. An invalid value becomes a 500.
    Text(Template),
}

/// One change of the response's header.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderChange {
    /// `NAME VALUE`.
    Set(String, Template),
    /// `+NAME VALUE`.
    Add(String, Template),
    /// `?NAME VALUE`: only if the response lacks it.
    Default(String, Template),
    /// `-NAME`.
    Remove(String),
    /// `NAME FIND REPLACE`: a regular expression.
    Replace(String, String, Template),
}
