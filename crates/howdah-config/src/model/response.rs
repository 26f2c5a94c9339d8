//! Status codes and header fields of responses.

use super::placeholder::Template;

/// The status code of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Status {
    /// Not given: that of the error in `handle_errors`, otherwise the handler's default.
    #[default]
    Default,
    Code(u16),
    /// A placeholder, such as `{err.status_code}`. An invalid value becomes a 500.
    Text(Template),
}

/// Status codes from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    first: u16,
    last: u16,
}

impl StatusRange {
    /// The statuses from `first` to `last`, both included.
    #[must_use]
    pub const fn new(first: u16, last: u16) -> Self {
        Self { first, last }
    }

    /// A single status.
    #[must_use]
    pub const fn one(code: u16) -> Self {
        Self::new(code, code)
    }

    /// Both ends of the range are included.
    #[must_use]
    pub fn contains(self, code: u16) -> bool {
        (self.first..=self.last).contains(&code)
    }
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
    /// `NAME FIND REPLACE`: a regular expression. The name `*` stands for all fields.
    Replace(String, Template, Template),
}

impl HeaderChange {
    /// Sorts the changes of one directive. As in Caddy they are made by kind, whatever their order in the file.
    pub(crate) fn sort(changes: &mut [Self]) {
        changes.sort_by_key(|change| match change {
            Self::Add(..) => 0,
            Self::Set(..) => 1,
            Self::Remove(_) => 2,
            Self::Replace(..) => 3,
            Self::Default(..) => 4,
        });
    }
}
