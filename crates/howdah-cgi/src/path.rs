//! Paths of requests: decoded, with dot segments merged, never above the root.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use crate::{BYTE_LEAD, bytes_of, text_of};

/// Why a path is refused with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A `%` without two hexadecimal digits.
    #[error("bad percent-encoding in the path")]
    Escape,
    /// A NUL, as such or escaped.
    #[error("NUL in the path")]
    Nul,
}

/// Characters that must be encoded in the path of a URI, and the backslash, which browsers treat as
/// a slash.
pub const PATH: &AsciiSet = &CONTROLS
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
///
/// # Errors
/// Bad percent-encoding or NUL.
pub fn normalise(escaped: &str) -> Result<Cow<'_, str>, PathError> {
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

/// Merges the segments of a decoded path, such as one from the configuration.
pub fn clean(decoded: &str) -> Cow<'_, str> {
    let messy = !decoded.starts_with('/') || decoded.contains("//") || decoded.contains("/.");
    if messy {
        Cow::Owned(merge(decoded))
    } else {
        Cow::Borrowed(decoded)
    }
}

/// The escaped form, for URIs.
pub fn encode(decoded: &str) -> Cow<'_, str> {
    percent_encoded(decoded, PATH)
}

/// Percent-encodes the bytes of a text, except those that need no encoding.
pub fn percent_encoded<'t>(text: &'t str, set: &'static AsciiSet) -> Cow<'t, str> {
    match bytes_of(text) {
        Cow::Borrowed(bytes) => percent_encode(bytes, set).into(),
        Cow::Owned(bytes) => Cow::Owned(percent_encode(&bytes, set).to_string()),
    }
}

/// Decodes an escaped path to bytes.
///
/// # Errors
/// Bad percent-encoding or NUL.
pub fn decode(bytes: &[u8]) -> Result<Vec<u8>, PathError> {
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
