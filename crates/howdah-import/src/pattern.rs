//! Converts PCRE regular expressions to the matcher `path_regexp`.

use crate::output::word;

/// A matcher of paths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    /// The lines of its block; all must match.
    pub(crate) lines: Vec<String>,
}

/// Distinguishes hidden files from `/.well-known/`: no later part of the path starts with a dot.
const WELL_KNOWN: &str = "^/\\.well-known(/[^./][^/]*)*/?$";

impl PathPattern {
    /// `None`: it uses a feature that the expressions of Caddyfiles lack.
    pub(crate) fn of(name: &str, regex: &str, ignore_case: bool) -> Option<Self> {
        let flags = if ignore_case { "(?i)" } else { "" };
        let line = |regex: &str| format!("path_regexp {name} {}", word(&format!("{flags}{regex}")));
        if let Some(regex) = rust_regex(regex) {
            return Some(Self {
                lines: vec![line(&regex)],
            });
        }
        let (start, excluded, rest) = lookahead(regex)?;
        let plain = excluded
            .trim_start_matches('\\')
            .trim_end_matches(['/', '$', '*', '.', '\\']);
        if plain == "well-known" || plain == ".well-known" {
            let regex = rust_regex(&format!("{start}{rest}"))?;
            return Some(Self {
                lines: vec![line(&regex), format!("not path_regexp {WELL_KNOWN}")],
            });
        }
        // Parts that can match in only one way: the start of the path, and not these after it.
        let is_plain =
            start.starts_with('^') && !start.contains(['(', '[', '|', '*', '+', '?', '.']);
        if !is_plain || !["", ".*", ".*$", "(.*)$", ".+", ".+$"].contains(&rest) {
            return None;
        }
        let others = rust_regex(&format!("{flags}{start}(?:{excluded})"))?;
        Some(Self {
            lines: vec![
                line(&rust_regex(&format!("{start}{rest}"))?),
                format!("not path_regexp {}", word(&others)),
            ],
        })
    }

    /// The definition of a matcher with this name.
    pub(crate) fn define(self, name: &str) -> Vec<String> {
        match &self.lines[..] {
            [one] => vec![format!("@{name} {one}")],
            _ => crate::output::block(&format!("@{name}"), self.lines),
        }
    }
}

/// The parts before, in and after `(?!…)`, if there is one.
fn lookahead(regex: &str) -> Option<(&str, &str, &str)> {
    let (start, inner) = regex.split_once("(?!")?;
    let end = group_end(inner)?;
    Some((start, &inner[..end], &inner[end + 1..]))
}

/// Where the parenthesis that closes a group is, in the text after the one that opens it.
fn group_end(inner: &str) -> Option<usize> {
    let mut depth = 1;
    let mut escaped = false;
    inner.char_indices().find_map(|(at, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Converts the expression to the syntax of Rust's regular expressions.
pub(crate) fn rust_regex(pcre: &str) -> Option<String> {
    // Only the syntax of a named group differs.
    let mut text = pcre.replace("(?<", "(?P<");
    for looking in ["(?P<=", "(?P<!"] {
        if text.contains(looking) {
            return None;
        }
    }
    // `++` and similar quantifiers only forbid backtracking, which does not exist here.
    for (possessive, plain) in [("*+", "*"), ("++", "+"), ("?+", "?")] {
        text = text.replace(possessive, plain);
    }
    regex::Regex::new(&text).ok().map(|_| text)
}

/// The expression without its conditions about what is around a position: it matches all that it matched before, and
/// more. `None`: it is not one of these even then.
pub(crate) fn without_lookaround(regex: &str) -> Option<String> {
    let mut text = regex.to_owned();
    for start in ["(?!", "(?=", "(?<!", "(?<="] {
        while let Some(at) = text.find(start) {
            let end = group_end(&text[at + start.len()..])?;
            text.replace_range(at..=at + start.len() + end, "");
        }
    }
    rust_regex(&text)
}

/// Whether the expression matches PHP scripts.
pub(crate) fn is_about_php(regex: &str) -> bool {
    regex.contains("\\.php") || regex.contains("[.]php") || regex.contains("\\.(php")
}

/// Whether the name is that of a PHP script.
pub(crate) fn is_script(name: &str) -> bool {
    name.strip_suffix(".php").is_some()
}

/// A name for the matcher of an expression.
pub(crate) fn matcher_name(regex: &str) -> &'static str {
    let has = |text: &str| regex.contains(text);
    if is_about_php(regex) {
        "php"
    } else if regex.starts_with("/\\.") || regex.starts_with("^/\\.") || regex.contains("(^|/)\\.")
    {
        "hidden"
    } else if has("css") || has("png") || has("jpg") || has("jpe?g") || has("woff") {
        "static"
    } else {
        "location"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(regex: &str) -> Option<Vec<String>> {
        PathPattern::of("m", regex, false).map(|pattern| pattern.lines)
    }

    #[test]
    fn lookahead_is_a_second_matcher() {
        let hidden = lines("/\\.(?!well-known).*").expect("known");
        assert_eq!(hidden[0], "path_regexp m /\\..*");
        let others = lines("^/(?!index|core\\/(a|b))").expect("plain");
        assert_eq!(
            others,
            [
                "path_regexp m ^/",
                "not path_regexp ^/(?:index|core\\/(a|b))"
            ]
        );
        for unknown in ["^/a+(?!b)", "a(?!b)", "(?<=a)b", "(a)\\1", "^/(?!a)b"] {
            assert_eq!(lines(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_wider_expression_has_no_lookaround() {
        for (regex, expected) in [
            ("^/(?!index\\.php).*\\.php$", Some("^/.*\\.php$")),
            ("(?<!x)a(?=(b\\)|c))", Some("a")),
            ("(a)\\1(?!b)", None),
            ("a(?!b", None),
        ] {
            assert_eq!(without_lookaround(regex).as_deref(), expected, "{regex}");
        }
    }

    #[test]
    fn only_hidden_files_stay_hidden() {
        let exempt = regex::Regex::new(WELL_KNOWN).expect("valid");
        assert!(exempt.is_match("/.well-known/acme-challenge/x"));
        for hidden in [
            "/.env",
            "/.well-known/.git/config",
            "/a/.well-known/x",
            "/.well-knownx",
        ] {
            assert!(!exempt.is_match(hidden), "{hidden}");
        }
    }
}
