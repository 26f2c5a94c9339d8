//! Text to tokens, as Caddy splits it: words, `"…"`, `` `…` ``, heredocs, comments, and a
//! backslash that continues a line.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Position};
use crate::syntax::env::Char;

/// How a token was quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    None,
    Double,
    Backtick,
    Heredoc,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text(Quote),
    /// `# …` up to the end of the line.
    Comment,
}

/// A token and its distance from the previous one.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Its meaning, without quotes.
    pub(crate) text: String,
    /// The text as written, with quotes.
    pub(crate) raw: String,
    pub(crate) position: Position,
    /// Line ends between the previous token and this one, without those after a backslash.
    pub(crate) newlines: usize,
    /// Line ends after a backslash.
    pub(crate) continued: usize,
}

impl Token {
    /// An unquoted `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind == Kind::Text(Quote::None) && self.text == text
    }
}

/// Splits a text. Comments are tokens too.
pub(crate) fn tokens(chars: &[Char], file: &Arc<str>) -> Result<Vec<Token>, Error> {
    let mut lexer = Lexer { chars, at: 0, file };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next(tokens.is_empty())? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    chars: &'a [Char],
    at: usize,
    file: &'a Arc<str>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<Char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn peek_is(&self, ahead: usize, expected: char) -> bool {
        self.peek(ahead).is_some_and(|char| char.is(expected))
    }

    fn position(&self) -> Position {
        let (line, column) = self.peek(0).map_or((1, 1), |char| (char.line, char.column));
        Position {
            file: self.file.clone(),
            line,
            column,
        }
    }

    fn slice(&self, from: usize, to: usize) -> String {
        self.chars[from..to].iter().map(|char| char.value).collect()
    }

    /// The length of a backslash and the line end after it.
    fn continuation(&self) -> Option<usize> {
        if !self.peek_is(0, '\\') {
            return None;
        }
        let line_end = 1 + usize::from(self.peek_is(1, '\r'));
        self.peek_is(line_end, '\n').then_some(line_end + 1)
    }

    fn next(&mut self, first: bool) -> Result<Option<Token>, Error> {
        let (mut newlines, mut continued) = (usize::from(first), 0);
        loop {
            if let Some(length) = self.continuation() {
                continued += 1;
                self.at += length;
                continue;
            }
            match self.peek(0) {
                None => return Ok(None),
                // Joined files may have a byte order mark in the middle.
                Some(char) if char.is_space() || char.is('\u{feff}') => {
                    newlines += usize::from(char.value == '\n');
                    self.at += 1;
                }
                Some(_) => break,
            }
        }
        let position = self.position();
        let start = self.at;
        let (kind, text) = if self.peek_is(0, '#') {
            (Kind::Comment, self.comment())
        } else if self.peek_is(0, '"') {
            (Kind::Text(Quote::Double), self.quoted(&position)?)
        } else if self.peek_is(0, '`') {
            (Kind::Text(Quote::Backtick), self.backtick(&position)?)
        } else if let Some(marker) = self.heredoc_marker(&position)? {
            (
                Kind::Text(Quote::Heredoc),
                self.heredoc(&marker, &position)?,
            )
        } else {
            (Kind::Text(Quote::None), self.word())
        };
        let raw = match kind {
            Kind::Comment => text.clone(),
            Kind::Text(_) => self.slice(start, self.at),
        };
        Ok(Some(Token {
            kind,
            text,
            raw,
            position,
            newlines,
            continued,
        }))
    }

    fn comment(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|char| !char.is('\n')) {
            self.at += 1;
        }
        self.slice(start, self.at).trim_end().to_owned()
    }

    /// Only the quote itself can be escaped; every other backslash stays.
    fn quoted(&mut self, position: &Position) -> Result<String, Error> {
        self.at += 1;
        let mut text = String::new();
        while let Some(char) = self.peek(0) {
            self.at += 1;
            if char.is('"') {
                return Ok(text);
            }
            if char.is('\\')
                && let Some(escaped) = self.peek(0)
            {
                self.at += 1;
                if !escaped.is('"') {
                    text.push('\\');
                }
                text.push(escaped.value);
            } else {
                text.push(char.value);
            }
        }
        Err(unclosed(position, "quoted text", "\""))
    }

    fn backtick(&mut self, position: &Position) -> Result<String, Error> {
        self.at += 1;
        let start = self.at;
        while let Some(char) = self.peek(0) {
            self.at += 1;
            if char.is('`') {
                return Ok(self.slice(start, self.at - 1));
            }
        }
        Err(unclosed(position, "quoted text", "`"))
    }

    fn word(&mut self) -> String {
        let mut text = String::new();
        while let Some(char) = self.peek(0) {
            if char.is_space() || self.continuation().is_some() {
                break;
            }
            // `\<` escapes a word that starts with `<<` and is not a heredoc.
            if !(char.is('\\') && self.peek_is(1, '<')) {
                text.push(char.value);
            }
            self.at += 1;
        }
        text
    }

    /// The marker of a heredoc that starts here; the lexer then is at the first line of its text.
    fn heredoc_marker(&mut self, position: &Position) -> Result<Option<String>, Error> {
        if !(self.peek_is(0, '<') && self.peek_is(1, '<')) {
            return Ok(None);
        }
        let length = self.chars[self.at..]
            .iter()
            .position(|char| char.is_space())
            .unwrap_or(self.chars.len() - self.at);
        let line_end = length + usize::from(self.peek_is(length, '\r'));
        if !self.peek_is(line_end, '\n') {
            return Ok(None);
        }
        let marker = self.slice(self.at + 2, self.at + length);
        let valid = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if marker.is_empty() || !marker.chars().all(valid) {
            return Err(Error::new(
                ErrorKind::Syntax,
                position,
                format!("`<<{marker}` does not start a heredoc"),
                "a marker has letters, digits, `-` and `_`, for example `<<END`; write `\\<<` for \
                 text that starts with `<<`",
            ));
        }
        self.at += line_end + 1;
        Ok(Some(marker))
    }

    /// Lines up to the one with the marker, whose indentation is removed from all of them.
    fn heredoc(&mut self, marker: &str, position: &Position) -> Result<String, Error> {
        let mut lines: Vec<(String, u32)> = Vec::new();
        while self.at < self.chars.len() {
            let line = self.position().line;
            let length = self.chars[self.at..].iter().position(|char| char.is('\n'));
            let end = length.map_or(self.chars.len(), |length| self.at + length);
            let text = self.slice(self.at, end);
            let indent = text.len() - text.trim_start().len();
            if text[indent..]
                .strip_prefix(marker)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            {
                self.at += text[..indent].chars().count() + marker.chars().count();
                return strip(lines, &text[..indent], marker, position);
            }
            lines.push((text, line));
            self.at = end + 1;
        }
        self.at = self.chars.len();
        Err(unclosed(position, "heredoc", marker))
    }
}

fn strip(
    lines: Vec<(String, u32)>,
    indent: &str,
    marker: &str,
    position: &Position,
) -> Result<String, Error> {
    let mut text = String::new();
    for (index, (line, number)) in lines.into_iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            continue;
        }
        let Some(line) = line.strip_prefix(indent) else {
            let position = Position {
                line: number,
                column: 1,
                ..position.clone()
            };
            return Err(Error::new(
                ErrorKind::Syntax,
                &position,
                format!("the line is not indented as the closing `{marker}` of its heredoc"),
                "indent all lines of a heredoc at least as far as its last one, with the same \
                 spaces or tabs",
            ));
        };
        text.push_str(&line.replace('\r', ""));
    }
    Ok(text)
}

fn unclosed(position: &Position, what: &str, with: &str) -> Error {
    Error::new(
        ErrorKind::Syntax,
        position,
        format!("the {what} that starts here is not closed"),
        format!("end it with `{with}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Result<Vec<Token>, Error> {
        tokens(&crate::syntax::env::expand(text, None), &Arc::from("F"))
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            ("", vec![]),
            ("  a b\tc\r\nd", vec!["a", "b", "c", "d"]),
            ("\u{feff}a \u{feff}b", vec!["a", "b"]),
            (
                r#""a b" "" "say \"x\" \n \\""#,
                vec!["a b", "", r#"say "x" \n \\"#],
            ),
            ("`a \"b\" \\` c", vec!["a \"b\" \\", "c"]),
            ("a#b", vec!["a#b"]),
            ("a \\\n b\\\r\nc", vec!["a", "b", "c"]),
            ("a\\b \\{x\\}", vec!["a\\b", "\\{x\\}"]),
            ("\"a\nb\" c", vec!["a\nb", "c"]),
            ("\"a\"b", vec!["a", "b"]),
            ("a\"b c\"", vec!["a\"b", "c\""]),
            (
                "x <<END\n  one\n\n    two\n  END 200",
                vec!["x", "one\n\n  two", "200"],
            ),
            (
                "x <<END\r\n\tone\r\n\tENDING\r\n\tEND\r\n",
                vec!["x", "one\nENDING"],
            ),
            ("x <<END\nEND", vec!["x", ""]),
            ("\\<<END a", vec!["<<END", "a"]),
            ("<<END a", vec!["<<END", "a"]),
            ("<<END", vec!["<<END"]),
        ] {
            let got: Vec<_> = lex(text)
                .unwrap()
                .into_iter()
                .map(|token| token.text)
                .collect();
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn comments_and_lines() {
        let tokens = lex("a # one \n\n\"b\nc\" d \\\n e\n#two").unwrap();
        let got: Vec<_> = tokens
            .iter()
            .map(|token| (token.raw.as_str(), token.newlines, token.continued))
            .collect();
        assert_eq!(
            got,
            [
                ("a", 1, 0),
                ("# one", 0, 0),
                ("\"b\nc\"", 2, 0),
                ("d", 0, 0),
                ("e", 0, 1),
                ("#two", 1, 0),
            ]
        );
        let places: Vec<_> = tokens
            .iter()
            .map(|token| (token.position.line, token.position.column))
            .collect();
        assert_eq!(places, [(1, 1), (1, 3), (3, 1), (4, 4), (5, 2), (6, 1)]);
    }

    #[test]
    fn variables_stay_whole_when_formatting() {
        let tokens = lex("a {$X:b \"c} d").unwrap();
        let got: Vec<_> = tokens.iter().map(|token| token.raw.as_str()).collect();
        assert_eq!(got, ["a", "{$X:b \"c}", "d"]);
    }

    #[test]
    fn errors_name_their_place() {
        for (text, expected) in [
            (
                "a\n \"b",
                "F:2:2: the quoted text that starts here is not closed; end it with `\"`",
            ),
            (
                "`b",
                "F:1:1: the quoted text that starts here is not closed; end it with ```",
            ),
            (
                "<<E\nx",
                "F:1:1: the heredoc that starts here is not closed; end it with `E`",
            ),
            ("a <<\nx", "F:1:3: `<<` does not start a heredoc; "),
            ("a <<<X\nx", "F:1:3: `<<<X` does not start a heredoc; "),
            (
                "<<E\n  a\n b\n  E",
                "F:3:1: the line is not indented as the closing `E` of its",
            ),
        ] {
            let error = lex(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
