//! Comparison of the actual output with the expected output of a test.

use pcre2::bytes::{Regex, RegexBuilder};

/// Expected output of a test.
#[derive(Debug)]
pub enum Expectation {
    /// `--EXPECT--`: exactly this text.
    Exact(Vec<u8>),
    /// `--EXPECTF--` and `--EXPECTREGEX--`: a pattern for the whole output.
    Pattern {
        /// Text of the test.
        wanted: Vec<u8>,
        /// Compiled pattern.
        regex: Regex,
    },
}

/// The pattern is invalid for PCRE.
#[derive(Debug, thiserror::Error)]
#[error("the expectation is not a valid pattern")]
pub struct PatternError(#[from] pcre2::Error);

impl Expectation {
    /// `--EXPECT--`.
    pub fn exact(wanted: &[u8]) -> Self {
        Self::Exact(normalise(wanted))
    }

    /// `--EXPECTF--`.
    pub fn format(wanted: &[u8]) -> Result<Self, PatternError> {
        let wanted = normalise(wanted);
        let regex = compile(&format_to_pattern(&wanted))?;
        Ok(Self::Pattern { wanted, regex })
    }

    /// `--EXPECTREGEX--`.
    pub fn regex(wanted: &[u8]) -> Result<Self, PatternError> {
        let wanted = normalise(wanted);
        let regex = compile(&bytes_to_pattern(&wanted))?;
        Ok(Self::Pattern { wanted, regex })
    }

    /// Whether the output matches. If PCRE exceeds a limit, it does not match.
    pub fn accepts(&self, output: &[u8]) -> bool {
        let output = normalise(output);
        match self {
            Self::Exact(wanted) => *wanted == output,
            Self::Pattern { regex, .. } => regex.is_match(&output).unwrap_or(false),
        }
    }

    /// Text of the test.
    pub fn expected(&self) -> &[u8] {
        match self {
            Self::Exact(wanted) | Self::Pattern { wanted, .. } => wanted,
        }
    }
}

/// Normalizes line ends, and removes white space (as PHP's `trim` defines it) from both ends.
pub fn normalise(text: &[u8]) -> Vec<u8> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0 | 0x0b);
    let start = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|b| !blank(b))
        .map_or(start, |last| last + 1);
    let mut out = Vec::with_capacity(end - start);
    for (index, byte) in text[start..end].iter().enumerate() {
        if *byte == b'\r' && text.get(start + index + 1) == Some(&b'\n') {
            continue;
        }
        out.push(*byte);
    }
    out
}

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    // `$` would also match before a last line end, but normalised output has none.
    let whole = format!("^(?:{pattern})$");
    Ok(RegexBuilder::new().dotall(true).build(&whole)?)
}

/// The library treats patterns as text, PHP as bytes. Bytes that are not ASCII are therefore
/// written as escapes, which stand for the byte.
fn bytes_to_pattern(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        push_byte(&mut out, *byte);
    }
    out
}

fn push_byte(out: &mut String, byte: u8) {
    use std::fmt::Write;

    if byte.is_ascii() && byte != 0 {
        out.push(char::from(byte));
    } else {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Translates the placeholders of `--EXPECTF--`, and `%r…%r` around a pattern.
fn format_to_pattern(wanted: &[u8]) -> String {
    let mut out = String::with_capacity(wanted.len() * 2);
    let mut rest = wanted;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            push_quoted(&mut out, byte);
            continue;
        }
        let Some((&letter, behind)) = tail.split_first() else {
            push_quoted(&mut out, byte);
            break;
        };
        if letter == b'r' {
            let Some(end) = behind.windows(2).position(|pair| pair == b"%r") else {
                // An unpaired `%r` starts no pattern. The rest is text, including placeholders.
                out.push_str("%r");
                rest = behind;
                continue;
            };
            out.push('(');
            out.push_str(&bytes_to_pattern(&behind[..end]));
            out.push(')');
            rest = &behind[end + 2..];
        } else if let Some(pattern) = placeholder(letter) {
            out.push_str(pattern);
            rest = behind;
        } else {
            out.push('%');
        }
    }
    out
}

fn placeholder(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'e' => "/",
        b's' => r"[^\r\n]+",
        b'S' => r"[^\r\n]*",
        b'a' => ".+?",
        b'A' => ".*?",
        b'w' => r"\s*",
        b'i' => r"[+-]?\d+",
        b'd' => r"\d+",
        b'x' => "[0-9a-fA-F]+",
        b'f' => r"[+-]?(?:\d+|(?=\.\d))(?:\.\d+)?(?:[Ee][+-]?\d+)?",
        b'c' => ".",
        b'0' => r"\x00",
        _ => return None,
    })
}

fn push_quoted(out: &mut String, byte: u8) {
    if byte.is_ascii_punctuation() && byte != b'_' {
        out.push('\\');
    }
    push_byte(out, byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(wanted: &str, output: &str) -> bool {
        Expectation::format(wanted.as_bytes())
            .expect("a pattern")
            .accepts(output.as_bytes())
    }

    #[test]
    fn compares_exactly_but_for_the_ends() {
        let wanted = Expectation::exact(b"a\r\nb\n\n");
        assert!(wanted.accepts(b"\n a\nb\0"));
        assert!(!wanted.accepts(b"a\n\nb"));
        assert!(Expectation::exact(b"").accepts(b" \n"));
        assert_eq!(normalise(b"a\rb\r\nc"), b"a\rb\nc");
    }

    #[test]
    fn knows_the_placeholders() {
        for (wanted, good, bad) in [
            ("%d", "42", "-42"),
            ("%i", "-42", "x"),
            ("%f", "-1.5E+3", "1.5.2"),
            ("%f", ".5", "."),
            ("%x", "dEad1", "xyz"),
            ("%c", "\u{7f}", "ab"),
            ("a%sb", "a - b", "a\nb"),
            ("a%sb", "axb", "ab"),
            ("a%Sb", "ab", "a\nb"),
            ("a%ab", "a\nb", "ab"),
            ("a%Ab", "ab", "a"),
            ("a%wb", "a \n b", "a x b"),
            ("x%ey", "x/y", "x\\y"),
            ("100%", "100%", "100"),
            ("%z(.*)", "%z(.*)", "%zxx"),
            ("%r[ab]+%r.", "abab.", "abab"),
            ("%ropen (%d)", "%ropen (7)", "%ropen (x)"),
        ] {
            assert!(matches(wanted, good), "{wanted:?} has to take {good:?}");
            assert!(!matches(wanted, bad), "{wanted:?} must not take {bad:?}");
        }
    }

    #[test]
    fn works_on_bytes() {
        let wanted = Expectation::format(b"\xff%s\xe4").expect("a pattern");
        assert!(wanted.accepts(b"\xff\xfe\xe4"));
        assert!(!wanted.accepts(b"\xff\xe4"));
        let wanted = Expectation::format("ü%0ü".as_bytes()).expect("a pattern");
        assert!(wanted.accepts("ü\0ü".as_bytes()));
    }

    #[test]
    fn takes_patterns_for_the_whole_output() {
        let wanted = Expectation::regex(b"a|b.*").expect("a pattern");
        assert!(wanted.accepts(b"b\nc"));
        assert!(!wanted.accepts(b"xa"));
        assert!(Expectation::regex(b"(").is_err());
        assert_eq!(wanted.expected(), b"a|b.*");
    }
}
