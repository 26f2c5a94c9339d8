//! `expression`: the part of CEL that Caddyfiles use. Comparisons of placeholders, `&&`, `||`, `!`, `in`, tests of
//! texts, and the other matchers as functions; anything else is an error.

use crate::error::{Error, ErrorKind};
use crate::model::{Comparison, Expression, Operand, TextTest};
use crate::model::{Matcher, Template};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::{Context, bad_value, nearest, unsupported};

/// Maximum nesting of parentheses and `!`.
const MAX_DEPTH: usize = 32;

/// Functions of texts.
const TESTS: &[(&str, TextTest)] = &[
    ("startsWith", TextTest::StartsWith),
    ("endsWith", TextTest::EndsWith),
    ("contains", TextTest::Contains),
];

/// Reads a matcher by its name and arguments.
pub(super) type MatcherReader<'r> =
    &'r dyn Fn(&mut Context, &Word, &[Word]) -> Result<Matcher, Error>;

/// The matchers that are available as functions.
const FUNCTIONS: &[&str] = &[
    "path",
    "path_regexp",
    "method",
    "host",
    "header",
    "header_regexp",
    "query",
    "protocol",
    "remote_ip",
    "client_ip",
    "file",
    "vars",
    "vars_regexp",
];

/// Joins words to one text, with the quotes that the Caddyfile's lexer has removed.
pub(super) fn join(words: &[Word]) -> String {
    if let [word] = words {
        return word.text.clone();
    }
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        if word.quoted {
            text.push('"');
            text.push_str(&word.text.replace('\\', "\\\\").replace('"', "\\\""));
            text.push('"');
        } else {
            text.push_str(&word.text);
        }
    }
    text
}

/// Reads an expression; `place` is its position for messages.
pub(super) fn parse(
    cx: &mut Context,
    place: &Word,
    text: &str,
    read: MatcherReader<'_>,
) -> Result<Expression, Error> {
    let tokens = tokens(place, text)?;
    let mut parser = Parser {
        cx,
        place,
        tokens,
        at: 0,
        depth: 0,
        read,
    };
    let expression = parser.any()?;
    match parser.tokens.get(parser.at) {
        None => Ok(expression),
        Some(token) => {
            let message = format!("`{}` is not expected in the expression", token.debug_text());
            Err(bad_value(&place.position, message, HINT))
        }
    }
}

const HINT: &str =
    "write for example `{method} == \"GET\" && path('/api/*')`; parts are joined by `&&` and `||`";

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// Including its braces.
    Placeholder(String),
    Text(String),
    Number(f64),
    Name(String),
    Sign(&'static str),
}

impl Token {
    fn debug_text(&self) -> String {
        match self {
            Self::Placeholder(text) | Self::Name(text) => text.clone(),
            Self::Text(text) => format!("'{text}'"),
            Self::Number(number) => number.to_string(),
            Self::Sign(sign) => (*sign).to_owned(),
        }
    }
}

/// Signs of two characters before those of one.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ":", ".",
];

fn tokens(place: &Word, text: &str) -> Result<Vec<Token>, Error> {
    let error = |message: String| bad_value(&place.position, message, HINT);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if matches!(first, '"' | '\'') {
            let (value, after) = quoted(&rest[1..], first)
                .ok_or_else(|| error(format!("a {first} is missing in the expression")))?;
            tokens.push(Token::Text(value));
            rest = after;
        } else if first == '{'
            && let Some(end) = rest.find('}').filter(|end| is_placeholder(&rest[1..*end]))
        {
            tokens.push(Token::Placeholder(rest[..=end].to_owned()));
            rest = &rest[end + 1..];
        } else if first.is_ascii_digit() || is_negative(rest) {
            let end = rest[1..]
                .find(|char: char| !char.is_ascii_digit() && char != '.')
                .map_or(rest.len(), |end| end + 1);
            let number = rest[..end]
                .parse()
                .map_err(|_| error(format!("`{}` is not a number", &rest[..end])))?;
            tokens.push(Token::Number(number));
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

fn is_negative(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
}

fn is_placeholder(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '?')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-?".contains(&byte))
}

/// The text up to its closing quote, and the rest.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => match chars.next()?.1 {
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

struct Parser<'p> {
    cx: &'p mut Context,
    place: &'p Word,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    read: MatcherReader<'p>,
}

impl Parser<'_> {
    fn error(&self, message: impl Into<String>, hint: &str) -> Error {
        bad_value(&self.place.position, message.into(), hint)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(other)) if *other == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self
            .tokens
            .get(self.at)
            .map_or("the end".to_owned(), |token| {
                format!("`{}`", token.debug_text())
            });
        Err(self.error(
            format!("`{sign}` is missing before {found} of the expression"),
            HINT,
        ))
    }

    fn any(&mut self) -> Result<Expression, Error> {
        let mut parts = vec![self.all()?];
        while self.take("||") {
            parts.push(self.all()?);
        }
        Ok(single_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, Error> {
        let mut parts = vec![self.not()?];
        while self.take("&&") {
            parts.push(self.not()?);
        }
        Ok(single_or(parts, Expression::All))
    }

    fn not(&mut self) -> Result<Expression, Error> {
        if !self.take("!") {
            return self.term();
        }
        self.deeper()?;
        let inner = self.not()?;
        self.depth -= 1;
        Ok(Expression::Not(Box::new(inner)))
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} deep");
            return Err(self.error(message, "use several matchers"));
        }
        Ok(())
    }

    fn term(&mut self) -> Result<Expression, Error> {
        if self.take("(") {
            self.deeper()?;
            let inner = self.any()?;
            self.depth -= 1;
            self.expect(")")?;
            return Ok(inner);
        }
        if let (Some(Token::Name(name)), Some(Token::Sign("("))) =
            (self.tokens.get(self.at), self.tokens.get(self.at + 1))
        {
            let name = name.clone();
            self.at += 2;
            return self.function(&name);
        }
        let left = self.operand()?;
        if self.take(".") {
            return self.test(left);
        }
        if matches!(self.tokens.get(self.at), Some(Token::Name(name)) if name == "in") {
            self.at += 1;
            self.expect("[")?;
            let mut list = Vec::new();
            while !self.take("]") {
                if !list.is_empty() {
                    self.expect(",")?;
                }
                list.push(self.operand()?);
            }
            return Ok(Expression::In(left, list));
        }
        for (sign, comparison) in [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ] {
            if self.take(sign) {
                return Ok(Expression::Compare(left, comparison, self.operand()?));
            }
        }
        Ok(Expression::Truth(left))
    }

    /// The part after the dot in `text.`.
    fn test(&mut self, subject: Operand) -> Result<Expression, Error> {
        let Some(Token::Name(name)) = self.tokens.get(self.at).cloned() else {
            return Err(self.error("a function is missing after `.`", HINT));
        };
        self.at += 1;
        let test = TESTS.iter().find(|(known, _)| *known == name);
        if test.is_none() && name != "matches" {
            let known = TESTS.iter().map(|(name, _)| *name).chain(["matches"]);
            let hint = nearest(&name, known).map_or_else(
                || "functions of texts are startsWith, endsWith, contains and matches".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("`.{name}()` is not supported in expressions");
            return Err(Error::new(
                ErrorKind::Unsupported,
                &self.place.position,
                message,
                hint,
            ));
        }
        self.expect("(")?;
        let argument = self.operand()?;
        self.expect(")")?;
        if let Some((_, test)) = test {
            return Ok(Expression::Test(subject, *test, argument));
        }
        match argument {
            Operand::Text(template) if template.as_text().is_some() => {
                let pattern = template.as_text().unwrap_or_default().to_owned();
                super::check_regexp(self.place, &pattern)?;
                Ok(Expression::Matches(subject, pattern))
            }
            _ => Err(self.error("`.matches()` takes a text in quotes", HINT)),
        }
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Placeholder(text)) => {
                let word = Word {
                    text,
                    ..self.place.clone()
                };
                template(&word).map(Operand::Text)
            }
            Some(Token::Text(text)) => Ok(Operand::Text(Template::text(text))),
            Some(Token::Number(number)) => Ok(Operand::Number(number)),
            Some(Token::Name(name)) if name == "true" || name == "false" => {
                Ok(Operand::Bool(name == "true"))
            }
            Some(token) => {
                let message = format!("`{}` is not a value", token.debug_text());
                Err(self.error(message, HINT))
            }
            None => Err(self.error("the expression ends where a value should be", HINT)),
        }
    }

    /// A matcher, after its `(`.
    fn function(&mut self, name: &str) -> Result<Expression, Error> {
        if !FUNCTIONS.contains(&name) {
            let hint = nearest(name, FUNCTIONS.iter().copied()).map_or_else(
                || format!("functions are {}", FUNCTIONS.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("`{name}()` is not supported in expressions");
            return Err(Error::new(
                ErrorKind::Unsupported,
                &self.place.position,
                message,
                hint,
            ));
        }
        let mut arguments: Vec<Word> = Vec::new();
        // One matcher for each pair of a map.
        let mut pairs: Vec<Vec<Word>> = Vec::new();
        while !self.take(")") {
            if !arguments.is_empty() || !pairs.is_empty() {
                self.expect(",")?;
            }
            if self.take("{") {
                while !self.take("}") {
                    if !pairs.is_empty() {
                        self.expect(",")?;
                    }
                    let key = self.word()?;
                    self.expect(":")?;
                    pairs.push(self.pair(name, key)?);
                }
            } else {
                arguments.push(self.word()?);
            }
        }
        let name = Word {
            text: name.to_owned(),
            ..self.place.clone()
        };
        if pairs.is_empty() {
            return (self.read)(self.cx, &name, &arguments)
                .map(|matcher| Expression::Matcher(Box::new(matcher)));
        }
        if !arguments.is_empty() {
            return Err(self.error(format!("`{}()` takes a text or a map", name.text), HINT));
        }
        let mut parts = Vec::new();
        for pair in pairs {
            let matcher = (self.read)(self.cx, &name, &pair)?;
            parts.push(Expression::Matcher(Box::new(matcher)));
        }
        // As if the matcher had several lines.
        let join = match name.text.as_str() {
            "vars" => Expression::Any,
            _ => Expression::All,
        };
        Ok(single_or(parts, join))
    }

    /// The arguments for a pair of a map, whose value is next.
    fn pair(&mut self, name: &str, key: Word) -> Result<Vec<Word>, Error> {
        let mut values = Vec::new();
        if self.take("[") {
            while !self.take("]") {
                if !values.is_empty() {
                    self.expect(",")?;
                }
                values.push(self.word()?);
            }
        } else {
            values.push(self.word()?);
        }
        match (name, key.text.as_str()) {
            ("file", "try_files") => Ok(values),
            ("vars", _) => {
                values.insert(0, key);
                Ok(values)
            }
            ("query", _) => Ok(values
                .into_iter()
                .map(|value| Word {
                    text: format!("{}={}", key.text, value.text),
                    ..value
                })
                .collect()),
            ("header" | "header_regexp", _) if values.len() == 1 => {
                values.insert(0, key);
                Ok(values)
            }
            _ => Err(self.error(
                format!("`{name}()` does not take `{}` in a map", key.text),
                "define a matcher in a block with `@name { … }`",
            )),
        }
    }

    fn word(&mut self) -> Result<Word, Error> {
        let text = match self.operand()? {
            Operand::Text(_) => match &self.tokens[self.at - 1] {
                Token::Placeholder(text) | Token::Text(text) => text.clone(),
                other => other.debug_text(),
            },
            Operand::Number(number) => number.to_string(),
            Operand::Bool(value) => value.to_string(),
        };
        Ok(Word {
            text,
            ..self.place.clone()
        })
    }
}

fn single_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 {
        parts.swap_remove(0)
    } else {
        many(parts)
    }
}
