//! Text from other programs, made safe: no control sequences or line ends, and secrets in a query are masked.

/// Replaces a secret.
const MASK: &str = "***";
/// Most characters of a URI.
const URI_MAX: usize = 2048;
/// A parameter whose name contains one of these holds a secret.
const SECRET_PARTS: [&str; 12] = [
    "token",
    "secret",
    "passw",
    "apikey",
    "credential",
    "signature",
    "session",
    "sessid",
    "auth",
    "bearer",
    "jwt",
    "csrf",
];
/// A parameter whose name is one of these, or contains it as a word, holds a secret.
const SECRET_WORDS: [&str; 11] = [
    "key", "pass", "pwd", "sid", "sig", "code", "otp", "pin", "nonce", "hash", "state",
];

/// A line of at most so many characters. Control characters, and those that change the direction of text, are replaced.
pub(crate) fn line(text: &str, max: usize) -> String {
    let shown = |char: char| {
        let steers = char.is_control()
            || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers { '\u{fffd}' } else { char }
    };
    let mut line: String = text.chars().take(max).map(shown).collect();
    if text.chars().nth(max).is_some() {
        line.push('…');
    }
    line
}

/// A path and a query whose secrets are masked.
pub(crate) fn masked_uri(uri: &str) -> String {
    let Some((path, query)) = uri.split_once('?') else {
        return line(uri, URI_MAX);
    };
    line(&format!("{path}?{}", masked_query(query)), URI_MAX)
}

/// A second `?` begins parameters as well: some clients append theirs to any URI.
fn masked_query(query: &str) -> String {
    let pairs = query.split_inclusive(['&', '?']).map(|part| {
        let (pair, end) = match part.strip_suffix(['&', '?']) {
            Some(pair) => (pair, &part[pair.len()..]),
            None => (part, ""),
        };
        match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && (is_secret(name) || has_secret(value)) => {
                format!("{name}={MASK}{end}")
            }
            _ => part.to_owned(),
        }
    });
    pairs.collect()
}

/// Whether the value is a URL, as it was sent, with a password or with parameters that are secrets.
fn has_secret(value: &str) -> bool {
    let url = decoded(value);
    let authority = url.split_once("://").map_or("", |(_, rest)| {
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    });
    let query = url.split_once('?').map_or("", |(_, query)| query);
    authority.contains('@') || masked_query(query) != query
}

/// Decides by the name of a parameter, as it was sent.
fn is_secret(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    let mut words = name.split(|char: char| !char.is_ascii_alphanumeric());
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| SECRET_WORDS.contains(&word))
}

/// Decodes a name, since escapes could disguise it; invalid escapes stay as they are.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_a_query_are_masked() {
        for (uri, masked) in [
            ("/a/b", "/a/b"),
            ("/?id=7&page=2", "/?id=7&page=2"),
            ("/?token=abc&id=7", "/?token=***&id=7"),
            ("/?API_KEY=abc", "/?API_KEY=***"),
            ("/?user%5Bpassword%5D=x", "/?user%5Bpassword%5D=***"),
            ("/?pass%77ord=x", "/?pass%77ord=***"),
            ("/?keyword=shoes&monkey=1", "/?keyword=shoes&monkey=1"),
            ("/?token=&x", "/?token=&x"),
            ("/?access_token=a=b", "/?access_token=***"),
            ("/?%zz=1&%", "/?%zz=1&%"),
            ("/?PHPSESSID=abc&x=1", "/?PHPSESSID=***&x=1"),
            ("/?a=1?token=abc&b=2", "/?a=1?token=***&b=2"),
            ("/?to=https%3A%2F%2Fu%3Apw%40h%2F", "/?to=***"),
            ("/?to=%2Fcart%3Ftoken%3Dabc&x=1", "/?to=***&x=1"),
            (
                "/?to=https%3A%2F%2Fh%2Fcart%3Fpage%3D1",
                "/?to=https%3A%2F%2Fh%2Fcart%3Fpage%3D1",
            ),
        ] {
            assert_eq!(masked_uri(uri), masked);
        }
    }

    #[test]
    fn a_line_cannot_steer_a_terminal() {
        let hostile = "a\u{1b}[2Jb\nc\u{9b}d\u{7f}\u{202e}e";
        let shown = line(hostile, 100);
        assert_eq!(shown, "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}\u{fffd}e");
        assert_eq!(line("äöü", 2), "äö…");
        assert!(
            masked_uri(&format!("/{}", "x".repeat(5000)))
                .chars()
                .count()
                <= URI_MAX + 1
        );
    }
}
