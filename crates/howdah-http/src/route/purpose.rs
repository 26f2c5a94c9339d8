//! What a text with placeholders is evaluated for.

/// What the text is used for: a path in a URI is escaped, a path on disk or in a comparison is not. A whole URI, with
/// its query, is escaped in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Uri,
    File,
    /// Like `File`, for a PHP setting within single quotes: characters that would end the quotes
    /// are left out.
    Setting,
}
