//! `{$NAME}` and `{$NAME:default}`: replaced before the text is split into tokens, so that a
//! variable may contain whole directives.

/// Finds an environment variable.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A character and its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Char {
    pub(crate) value: char,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// Part of a `{$NAME}` that was not replaced: never a quote, brace, space or comment.
    pub(crate) opaque: bool,
}

impl Char {
    /// Whether it is `expected`, with its special meaning.
    pub(crate) fn is(self, expected: char) -> bool {
        self.value == expected && !self.opaque
    }

    pub(crate) fn is_space(self) -> bool {
        self.value.is_whitespace() && !self.opaque
    }
}

/// The characters of a text, with variables replaced through `lookup`; an unset variable becomes
/// its default or nothing. Without `lookup`, variables stay as opaque characters.
pub(crate) fn expand(text: &str, lookup: Option<Lookup<'_>>) -> Vec<Char> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut chars = Vec::with_capacity(text.len());
    let (mut line, mut column) = (1, 1);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let span = variable(rest);
        let taken = span.map_or(&rest[..char.len_utf8()], |name| &rest[..name.len() + 3]);
        match (span, lookup) {
            (Some(name), Some(lookup)) => {
                let (name, default) = name.split_once(':').unwrap_or((name, ""));
                let value = lookup(name).unwrap_or_else(|| default.to_owned());
                chars.extend(value.chars().map(|char| Char {
                    value: char,
                    line,
                    column,
                    opaque: false,
                }));
            }
            (span, _) => {
                let opaque = span.is_some();
                chars.extend(taken.chars().map(|char| Char {
                    value: char,
                    line,
                    column,
                    opaque,
                }));
            }
        }
        for char in taken.chars() {
            (line, column) = if char == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
        rest = &rest[taken.len()..];
    }
    chars
}

/// The text between `{$` and `}` at the start of a text.
fn variable(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{$")?;
    let name = &inner[..inner.find('}')?];
    (!name.is_empty()).then_some(name)
}

/// Names of variables in a text, as `{$NAME}` or `{env.NAME}`, except in `env` directives, which pass them on to PHP.
pub(crate) fn used(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut in_block = false;
    for line in text.lines().map(str::trim) {
        if in_block {
            in_block = line != "}";
            continue;
        }
        let gives = line
            .strip_prefix("env")
            .is_some_and(|rest| rest.starts_with([' ', '\t']));
        in_block = gives && line.ends_with('{');
        if gives || line.starts_with('#') {
            continue;
        }
        for (at, _) in line.match_indices('{') {
            let name = variable(&line[at..])
                .and_then(|name| name.split(':').next())
                .or_else(|| {
                    line[at..]
                        .strip_prefix("{env.")?
                        .split_once('}')
                        .map(|(name, _)| name)
                });
            if let Some(name) = name.filter(|name| !name.is_empty() && !name.contains(['=', '\0']))
            {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables() {
        let lookup = |name: &str| match name {
            "A" => Some("one\ntwo".to_owned()),
            "B" => Some("{$A}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("", ""),
            ("{$NONE}", ""),
            ("x{$NONE}y", "xy"),
            ("{$A}", "one\ntwo"),
            ("{$B}", "{$A}"),
            ("{$NONE:a b}", "a b"),
            ("{$NONE:a:b}", "a:b"),
            ("{$EMPTY:default}", ""),
            ("{$A:default}", "one\ntwo"),
            ("{$}", "{$}"),
            ("{$A", "{$A"),
            ("{A}", "{A}"),
            ("ä{$EMPTY}ö", "äö"),
        ] {
            let got: String = expand(text, Some(&lookup))
                .iter()
                .map(|char| char.value)
                .collect();
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn variables_of_the_configuration_are_distinguished_from_those_of_php() {
        let text = "redis {$HOST:localhost}:{$PORT} {\n\tpassword \"{$SECRET}\"\n}\n# {$COMMENT}\n\
                    \tenv DSN {$DSN}/{env.DATABASE}\n\tenv {\n\t\tKEY {$OF_PHP}\n\t}\n\
                    environment {env.KEY} {env.} {$} {$OPEN\n";
        assert_eq!(used(text), ["HOST", "PORT", "SECRET", "KEY"]);
    }

    #[test]
    fn positions_are_those_of_the_file() {
        let lookup = |_: &str| Some("v\nw".to_owned());
        let places: Vec<_> = expand("a\nbä{$X}c\nd", Some(&lookup))
            .iter()
            .map(|char| (char.value, char.line, char.column))
            .collect();
        assert_eq!(
            places,
            [
                ('a', 1, 1),
                ('\n', 1, 2),
                ('b', 2, 1),
                ('ä', 2, 2),
                ('v', 2, 3),
                ('\n', 2, 3),
                ('w', 2, 3),
                ('c', 2, 7),
                ('\n', 2, 8),
                ('d', 3, 1),
            ]
        );
    }
}
