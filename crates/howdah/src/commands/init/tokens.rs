//! Tokens of simple PHP code, without comments.

/// A token, and the offset of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// The value of a string without escapes.
    pub(super) fn string(&self) -> Option<&str> {
        let quote = self.text.chars().next()?;
        let inner = self.text.strip_prefix(quote)?.strip_suffix(quote)?;
        matches!(quote, '\'' | '"').then_some(inner)
    }
}

/// The tokens after `<?php`. `None` if there is anything that this does not read: text outside of PHP, heredocs, shell
/// commands, a string without an end. Operators are single characters, except for `->` and `::`.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut start = "<?php".len();
    text.strip_prefix("<?php")?;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let length = match skipped(rest)? {
            0 => {
                let length = length(rest)?;
                let text = &rest[..length];
                found.push(Token { text, start });
                length
            }
            length => length,
        };
        start += length;
    }
    Some(found)
}

/// Length of white space or of a comment at the start.
fn skipped(rest: &str) -> Option<usize> {
    let space = rest.len() - rest.trim_start().len();
    let is_line = rest.starts_with("//") || (rest.starts_with('#') && !rest.starts_with("#["));
    if space > 0 {
        Some(space)
    } else if is_line {
        let line = rest.lines().next().unwrap_or_default();
        (!line.contains("?>")).then_some(line.len())
    } else if rest.starts_with("/*") {
        Some(rest.find("*/")? + 2)
    } else {
        Some(0)
    }
}

/// Length of the token at the start.
fn length(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    match first {
        '`' => None,
        _ if rest.starts_with("?>") || rest.starts_with("<<<") => None,
        '\'' | '"' => {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, char)| {
                let ends = *char == first && !escaped;
                escaped = *char == '\\' && !escaped;
                ends
            });
            Some(end?.0 + 1)
        }
        _ if rest.starts_with("->") || rest.starts_with("::") => Some(2),
        '$' => Some(1 + word(&rest[1..])),
        _ => Some(word(rest).max(first.len_utf8())),
    }
}

/// Length of a name, with its namespace.
fn word(rest: &str) -> usize {
    let end = rest.find(|char: char| char.is_ascii() && !is_of_a_word(char));
    end.unwrap_or(rest.len())
}

fn is_of_a_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Option<Vec<&str>> {
        let tokens = tokens(code)?;
        Some(tokens.iter().map(|token| token.text).collect())
    }

    #[test]
    fn code_is_divided() {
        let code = "<?php\n// $no->run();\n#[Attribute] # no\n/* exit; */ $app->run('it\\'s', \"\\\\\", \\A\\B::class);";
        let expected = [
            "#",
            "[",
            "Attribute",
            "]",
            "$app",
            "->",
            "run",
            "(",
            "'it\\'s'",
            ",",
            "\"\\\\\"",
            ",",
            "\\A\\B",
            "::",
            "class",
            ")",
            ";",
        ];
        assert_eq!(texts(code).as_deref(), Some(&expected[..]));
        let code = "<?php $größe = 'ä';";
        let tokens = tokens(code).expect("simple");
        for token in &tokens {
            assert_eq!(&code[token.start..token.end()], token.text);
        }
        assert_eq!(tokens[2].string(), Some("ä"));
        assert_eq!(tokens[0].string(), None);
    }

    #[test]
    fn text_that_is_not_simple_is_refused() {
        for code in [
            "<html>",
            "<?php ?> text",
            "<?php // text ?> text",
            "<?php $a = <<<X\nX;",
            "<?php `ls`;",
            "<?php 'open",
            "<?php /* open",
        ] {
            assert_eq!(texts(code), None, "{code}");
        }
        assert_eq!(texts("<?php").as_deref(), Some(&[][..]));
    }
}
