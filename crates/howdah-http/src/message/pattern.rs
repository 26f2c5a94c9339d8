//! Wildcards as in Caddy.

/// `*` at one end or both, a glob, or plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    All,
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Glob(String),
}

impl Pattern {
    /// A path pattern: a `*` that is not at the ends, `?` and `[` make it a glob whose `*` does not match slashes.
    pub(crate) fn path(text: &str) -> Self {
        let text = text.to_lowercase();
        let inner = text.trim_start_matches('*').trim_end_matches('*');
        if inner.contains(['*', '?', '[']) {
            Self::Glob(text)
        } else {
            Self::ends(&text)
        }
    }

    /// A pattern of header values: only `*` at the ends is special.
    pub(crate) fn ends(text: &str) -> Self {
        if text == "*" {
            return Self::All;
        }
        match (text.strip_prefix('*'), text.strip_suffix('*')) {
            (None, None) => Self::Exact(text.into()),
            (None, Some(prefix)) => Self::Prefix(prefix.into()),
            (Some(suffix), None) => Self::Suffix(suffix.into()),
            (Some(rest), Some(_)) => Self::Contains(rest.strip_suffix('*').unwrap_or(rest).into()),
        }
    }

    /// `text` must be lower case for the patterns of [`Pattern::path`].
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => text == exact,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Glob(glob) => matches_glob(glob, text),
        }
    }
}

/// `*` and `?` within a segment, `[a-z]` and `[^a-z]` classes, `\` escapes: Go's `path.Match`.
pub(crate) fn matches_glob(glob: &str, text: &str) -> bool {
    // Most names and paths to hide have no wildcards, and each file is compared with them.
    if !glob.bytes().any(|byte| b"*?[\\".contains(&byte)) {
        return glob == text;
    }
    let glob: Vec<char> = glob.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Where to continue when a guess about `*` fails: the last star is enough.
    let (mut g, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if glob.get(g) == Some(&'*') {
            star = Some((g + 1, t));
            g += 1;
            continue;
        }
        match text.get(t) {
            None if g == glob.len() => return true,
            Some(character) if g < glob.len() => {
                if let Some(next) = step(&glob, g, *character) {
                    g = next;
                    t += 1;
                    continue;
                }
            }
            _ => {}
        }
        match star {
            Some((after, from)) if text.get(from).is_some_and(|skipped| *skipped != '/') => {
                star = Some((after, from + 1));
                g = after;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// Matches one character; returns the position after the part of the glob that matched it.
fn step(glob: &[char], at: usize, character: char) -> Option<usize> {
    match glob[at] {
        '?' => (character != '/').then_some(at + 1),
        '[' => class(glob, at + 1, character),
        '\\' if at + 1 < glob.len() => (glob[at + 1] == character).then_some(at + 2),
        literal => (literal == character).then_some(at + 1),
    }
}

fn class(glob: &[char], mut at: usize, character: char) -> Option<usize> {
    let negated = glob.get(at) == Some(&'^');
    if negated {
        at += 1;
    }
    let start = at;
    let mut found = false;
    // A bracket that is not closed matches nothing.
    while *glob.get(at)? != ']' || at == start {
        let low = glob[at];
        let high = match (glob.get(at + 1), glob.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                at += 2;
                *high
            }
            _ => low,
        };
        found |= (low..=high).contains(&character);
        at += 1;
    }
    (found != negated && character != '/').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "/anything/at/all", true),
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/A*", "/abc/d", true),
            ("*.php", "/a/b.php", true),
            ("*.php", "/a/b.php/c", false),
            ("*admin*", "/x/admin/y", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/b/c", false),
            ("/a/*/c*", "/a/b/c.txt", true),
            ("/[a-c]?", "/b1", true),
            ("/[^a-c]?", "/b1", false),
            ("/a/*.[jt]s", "/a/app.ts", true),
            ("/a[", "/a[", false),
        ] {
            assert_eq!(
                Pattern::path(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    proptest! {
        #[test]
        fn globs_end(glob in r"[*?\[\]^a-c/\\-]{0,12}", text in r"[a-c/]{0,24}") {
            // The result does not matter, only that it returns.
            let _ = matches_glob(&glob, &text);
            prop_assert!(matches_glob("*", &text.replace('/', "")));
        }
    }
}
