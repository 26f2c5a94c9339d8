//! The words and signs of an expression.

use crate::error::Error;
use crate::syntax::tree::Word;
use crate::table::{bad_value, unsupported};

/// What to write in place of an invalid expression.
pub(super) const HINT: &str =
    "write for example `{method} == \"GET\" && path('/api/*')`; parts are joined by `&&` and `||`";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// Including its braces.
    Placeholder(String),
    Text(String),
    Integer(i64),
    Decimal(f64),
    Name(String),
    Sign(&'static str),
}

impl Token {
    pub(super) fn debug_text(&self) -> String {
        match self {
            Self::Placeholder(text) | Self::Name(text) => text.clone(),
            Self::Text(text) => format!("'{text}'"),
            Self::Integer(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Sign(sign) => (*sign).to_owned(),
        }
    }
}

/// Signs of two characters before those of one.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ":", ".",
    "?", "+", "-", "*", "/", "%",
];

pub(super) fn tokens(place: &Word, text: &str) -> Result<Vec<Token>, Error> {
    let error = |message: String| bad_value(&place.position, message, HINT);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some((raw, quote)) = text_start(rest) {
            let start = usize::from(raw) + 1;
            let (value, after) = quoted(&rest[start..], quote, raw)
                .ok_or_else(|| error(format!("a {quote} is missing in the expression")))?;
            tokens.push(Token::Text(value));
            rest = after;
        } else if first == '{'
            && let Some(end) = rest.find('}').filter(|end| is_placeholder(&rest[1..*end]))
        {
            tokens.push(Token::Placeholder(rest[..=end].to_owned()));
            rest = &rest[end + 1..];
        } else if first.is_ascii_digit() {
            let end = rest
                .find(|char: char| !char.is_ascii_digit() && char != '.')
                .unwrap_or(rest.len());
            tokens.push(
                number(&rest[..end])
                    .ok_or_else(|| error(format!("`{}` is not a number", &rest[..end])))?,
            );
            rest = &rest[end..];
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest
                .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
                .unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err(unsupported(
                &Word {
                    text: first.to_string(),
                    ..place.clone()
                },
                HINT,
            ));
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn number(text: &str) -> Option<Token> {
    match text.parse() {
        Ok(number) => Some(Token::Integer(number)),
        Err(_) => text.parse().ok().map(Token::Decimal),
    }
}

/// Whether a text starts here: without escapes (`r'…'`), and its quote.
fn text_start(text: &str) -> Option<(bool, char)> {
    let (raw, text) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    text.chars()
        .next()
        .filter(|char| matches!(char, '"' | '\''))
        .map(|quote| (raw, quote))
}

fn is_placeholder(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '?')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-?".contains(&byte))
}

/// The text up to its closing quote, and the rest.
fn quoted(text: &str, quote: char, raw: bool) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' if !raw => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other @ ('\\' | '"' | '\'' | '`') => value.push(other),
                // Escapes of regular expressions stay.
                other => value.extend(['\\', other]),
            },
            _ if char == quote => return Some((value, &text[at + 1..])),
            _ => value.push(char),
        }
    }
    None
}
