//! Paths of requests, decoded or escaped, and paths of files.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use howdah_cgi::path::{PATH, decode};
pub(crate) use howdah_cgi::path::{clean, encode, normalise, percent_encoded};
use howdah_cgi::{bytes_of, text_of};
use percent_encoding::{AsciiSet, utf8_percent_encode};

/// Decodes an escaped path with several slashes in a row, and keeps them. `None`: it has none, or is not a valid path.
pub(crate) fn decode_as_sent(escaped: &str) -> Option<String> {
    if !escaped.contains("//") {
        return None;
    }
    let decoded = decode(escaped.as_bytes()).ok()?;
    Some(text_of(&decoded).into_owned())
}

/// The path in the form of the operating system.
pub(crate) fn on_disk(path: &str) -> Cow<'_, OsStr> {
    match bytes_of(path) {
        Cow::Borrowed(bytes) => Cow::Borrowed(OsStr::from_bytes(bytes)),
        Cow::Owned(bytes) => Cow::Owned(OsString::from_vec(bytes)),
    }
}

/// A path of the operating system as text.
pub(crate) fn from_disk(path: &OsStr) -> Cow<'_, str> {
    text_of(path.as_bytes())
}

/// The absolute path. `None` for a relative one if the working directory was removed.
pub(crate) fn absolute(path: &str) -> Option<String> {
    let absolute = std::path::absolute(on_disk(path)).ok()?;
    Some(from_disk(absolute.as_os_str()).into_owned())
}

/// The text for display: bytes that are not UTF-8 become U+FFFD.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    match bytes_of(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Whether a text can be used as the path of a URI without changes. With two slashes at its start, it would lead to a
/// different host where it is a link.
pub(crate) fn is_escaped(text: &str) -> bool {
    const WRITTEN: &AsciiSet = &PATH.remove(b'%');
    let encoded = Cow::from(utf8_percent_encode(text, WRITTEN));
    text.starts_with('/') && !text.starts_with("//") && matches!(encoded, Cow::Borrowed(_))
}

/// Splits an escaped path after the part whose decoded form is `decoded`.
pub(crate) fn split_escaped<'e>(escaped: &'e str, decoded: &str) -> Option<(&'e str, &'e str)> {
    let mut at = 0;
    for _ in 0..bytes_of(decoded).len() {
        at += if *escaped.as_bytes().get(at)? == b'%' {
            3
        } else {
            1
        };
    }
    escaped.split_at_checked(at)
}

/// Decodes a value of a query: `+` is a space, invalid escapes stay as they are.
pub(crate) fn decode_query(value: &str) -> String {
    let spaced = value.replace('+', " ");
    let decoded: Cow<'_, [u8]> = percent_encoding::percent_decode_str(&spaced).into();
    text_of(&decoded).into_owned()
}

/// Whether a segment is hidden: it starts with a dot and is not `.well-known`.
pub(crate) fn has_hidden_segment(path: &str) -> bool {
    path.contains("/.")
        && path
            .split('/')
            .any(|segment| segment.starts_with('.') && segment != ".well-known")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_stay_where_a_pattern_has_them() {
        let as_sent = |escaped: &str| decode_as_sent(escaped);
        assert_eq!(as_sent("/a//b%20c").as_deref(), Some("/a//b c"));
        assert_eq!(as_sent("/a/b"), None);
        assert_eq!(as_sent("//%zz"), None);
    }

    #[test]
    fn hidden_segments() {
        assert!(has_hidden_segment("/.git/config"));
        assert!(has_hidden_segment("/a/.env"));
        assert!(!has_hidden_segment("/.well-known/acme"));
        assert!(!has_hidden_segment("/a.b/c"));
    }
}
