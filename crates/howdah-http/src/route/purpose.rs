//! What a text with placeholders is evaluated for.

/// What the text is for: a path in a URI is escaped, one on disk or in a comparison is not. A whole URI,
/// with its query, is escaped in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Uri,
    File,
    /// As a file, in a PHP setting that stands in single quotes: what would end it is left out.
    Setting,
}
