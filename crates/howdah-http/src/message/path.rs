//! Paths of requests: decoded, with dot segments merged, never above the root.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use howdah_cgi::{BYTE_LEAD, bytes_of, text_of};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode, utf8_percent_encode};

/// Why a path is refused with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("bad percent-encoding in the path")]
    Escape,
    #[error("NUL in the path")]
    Nul,
}

/// Characters that must be encoded in the path of a URI, and the backslash, which browsers treat as
/// a slash.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Decodes an escaped path and merges its dot segments and slashes. The result starts with a slash
/// and has no empty, `.` or `..` segment; a trailing slash stays. Bytes that are not UTF-8 become
/// text as in [`text_of`].
pub(crate) fn normalise(escaped: &str) -> Result<Cow<'_, str>, PathError> {
    let bytes = escaped.as_bytes();
    let mut encoded = false;
    let mut messy = bytes.first() != Some(&b'/');
    let mut previous = 0;
    for byte in bytes.iter().copied() {
        match byte {
            // It may be followed by a character that stands for a byte.
            b'%' | BYTE_LEAD => encoded = true,
            0 => return Err(PathError::Nul),
            b'/' | b'.' if previous == b'/' => messy = true,
            _ => {}
        }
        previous = byte;
    }
    if encoded {
        let decoded = decode(bytes)?;
        return Ok(Cow::Owned(merge(&text_of(&decoded))));
    }
    Ok(if messy {
        Cow::Owned(merge(escaped))
    } else {
        Cow::Borrowed(escaped)
    })
}

/// Decodes an escaped path with several slashes in a row, and keeps them. `None`: it has none, or is not a valid path.
pub(crate) fn decode_as_sent(escaped: &str) -> Option<String> {
    if !escaped.contains("//") {
        return None;
    }
    let decoded = decode(escaped.as_bytes()).ok()?;
    Some(text_of(&decoded).into_owned())
}

/// Merges the segments of a decoded path, such as one from the configuration.
pub(crate) fn clean(decoded: &str) -> Cow<'_, str> {
    let messy = !decoded.starts_with('/') || decoded.contains("//") || decoded.contains("/.");
    if messy {
        Cow::Owned(merge(decoded))
    } else {
        Cow::Borrowed(decoded)
    }
}

/// The escaped form, for URIs.
pub(crate) fn encode(decoded: &str) -> Cow<'_, str> {
    percent_encoded(decoded, PATH)
}

/// Percent-encodes the bytes of a text, except those that need no encoding.
pub(crate) fn percent_encoded<'t>(text: &'t str, set: &'static AsciiSet) -> Cow<'t, str> {
    match bytes_of(text) {
        Cow::Borrowed(bytes) => percent_encode(bytes, set).into(),
        Cow::Owned(bytes) => Cow::Owned(percent_encode(&bytes, set).to_string()),
    }
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

fn decode(bytes: &[u8]) -> Result<Vec<u8>, PathError> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (rest.next().and_then(hex), rest.next().and_then(hex)) else {
            return Err(PathError::Escape);
        };
        match high << 4 | low {
            0 => return Err(PathError::Nul),
            byte => decoded.push(byte),
        }
    }
    Ok(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

fn merge(path: &str) -> String {
    let mut merged = String::with_capacity(path.len() + 1);
    let mut ends_in_directory = true;
    for segment in path.split('/') {
        ends_in_directory = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => merged.truncate(merged.rfind('/').unwrap_or(0)),
            _ => {
                merged.push('/');
                merged.push_str(segment);
            }
        }
    }
    if ends_in_directory || merged.is_empty() {
        merged.push('/');
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_normalised() {
        for (escaped, expected) in [
            ("/", "/"),
            ("/a/b.php", "/a/b.php"),
            ("/a//b", "/a/b"),
            ("/a/./b/", "/a/b/"),
            ("/a/../b", "/b"),
            ("/a/..", "/"),
            ("/a/b/.", "/a/b/"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/%2e%2e/%2E%2e/etc/passwd", "/etc/passwd"),
            ("/..%2f..%2fetc", "/etc"),
            ("/a%2Fb", "/a/b"),
            ("/caf%C3%A9", "/café"),
            ("/caf%E9", "/caf\u{10ffe9}"),
            ("/%F4%8F%BF%BF", "/\u{10fff4}\u{10ff8f}\u{10ffbf}\u{10ffbf}"),
            ("/\u{10ffff}", "/\u{10fff4}\u{10ff8f}\u{10ffbf}\u{10ffbf}"),
            ("/.../x", "/.../x"),
            ("/%252e%252e/", "/%2e%2e/"),
            ("/a.b/.c", "/a.b/.c"),
        ] {
            assert_eq!(normalise(escaped).as_deref(), Ok(expected), "{escaped}");
        }
    }

    #[test]
    fn slashes_stay_where_a_pattern_has_them() {
        let as_sent = |escaped: &str| decode_as_sent(escaped);
        assert_eq!(as_sent("/a//b%20c").as_deref(), Some("/a//b c"));
        assert_eq!(as_sent("/a/b"), None);
        assert_eq!(as_sent("//%zz"), None);
    }

    #[test]
    fn bad_paths_are_refused() {
        for (escaped, error) in [
            ("/%", PathError::Escape),
            ("/%4", PathError::Escape),
            ("/%zz", PathError::Escape),
            ("/a%00.php", PathError::Nul),
            ("/a\0", PathError::Nul),
        ] {
            assert_eq!(normalise(escaped), Err(error), "{escaped}");
        }
    }

    #[test]
    fn hidden_segments() {
        assert!(has_hidden_segment("/.git/config"));
        assert!(has_hidden_segment("/a/.env"));
        assert!(!has_hidden_segment("/.well-known/acme"));
        assert!(!has_hidden_segment("/a.b/c"));
    }

    proptest! {
        #[test]
        fn a_normalised_path_never_leaves_the_root(
            text in r"(/|\.|%2e|%2F|%5c|\.\.|a|%c3|%A9|%25|%E9|%F4%8F%BF%BF|é|\\){0,24}"
        ) {
            if let Ok(path) = normalise(&text) {
                prop_assert!(path.starts_with('/'));
                prop_assert!(!path.contains("//"));
                prop_assert!(!path.split('/').any(|segment| segment == ".." || segment == "."));
                // A second run changes nothing.
                prop_assert_eq!(clean(&path).into_owned(), path.as_ref());
                // A redirect to the path leads to the same path.
                let again = encode(&path);
                let again = normalise(&again);
                prop_assert_eq!(again.as_deref(), Ok(path.as_ref()));
            }
        }

        #[test]
        fn any_text_is_answered(text in ".*") {
            if let Ok(path) = normalise(&text) {
                prop_assert!(path.starts_with('/') && !path.contains('\0'));
                prop_assert!(!path.split('/').any(|segment| segment == ".."));
            }
        }
    }
}
