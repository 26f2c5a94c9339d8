//! `expression`: the part of CEL that Caddyfiles use. Conditions and values of placeholders, texts, numbers and lists,
//! and the other matchers as functions; anything else is an error.

mod function;
mod token;

use function::{CONVERSIONS, MATCHERS, METHODS, QUANTIFIERS, TESTS};
use token::{HINT, Token, tokens};

use crate::error::{Error, ErrorKind};
use crate::model::{Comparison, Expression, Function, Operand};
use crate::model::{Matcher, Template};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::{Context, bad_value, nearest};

/// Maximum nesting of parentheses, lists, `!` and the like.
const MAX_DEPTH: usize = 32;

/// Maximum number of tokens that are read, those of `exists` and `all` once for each value of their list.
const MAX_TOKENS: usize = 10_000;

/// Reads a matcher by its name and arguments.
pub(super) type MatcherReader<'r> =
    &'r dyn Fn(&mut Context, &Word, &[Word]) -> Result<Matcher, Error>;

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
        values: 0,
        variables: Vec::new(),
        read,
    };
    let expression = parser.condition()?;
    match parser.tokens.get(parser.at) {
        None => Ok(expression),
        Some(token) => {
            let message = format!("`{}` is not expected in the expression", token.debug_text());
            Err(bad_value(&place.position, message, HINT))
        }
    }
}

struct Parser<'p> {
    cx: &'p mut Context,
    place: &'p Word,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Values that were read.
    values: usize,
    /// Variables of `exists` and `all`, the innermost last.
    variables: Vec<(String, Operand)>,
    read: MatcherReader<'p>,
}

/// A part of an expression.
enum Node {
    Condition(Expression),
    Value(Operand),
}

impl Node {
    fn condition(self) -> Expression {
        match self {
            Self::Condition(condition) => condition,
            Self::Value(Operand::Condition(condition)) => *condition,
            Self::Value(value) => Expression::Truth(value),
        }
    }

    fn value(self) -> Operand {
        match self {
            Self::Condition(condition) => Operand::Condition(Box::new(condition)),
            Self::Value(value) => value,
        }
    }
}

impl Parser<'_> {
    fn error(&self, message: impl Into<String>, hint: &str) -> Error {
        bad_value(&self.place.position, message.into(), hint)
    }

    fn unsupported(&self, message: String, hint: String) -> Error {
        Error::new(ErrorKind::Unsupported, &self.place.position, message, hint)
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

    /// Reads a part that is nested in another one.
    fn nested<T>(&mut self, read: fn(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} deep");
            return Err(self.error(message, "use several matchers"));
        }
        let part = read(self)?;
        self.depth -= 1;
        Ok(part)
    }

    fn condition(&mut self) -> Result<Expression, Error> {
        self.choice().map(Node::condition)
    }

    fn value(&mut self) -> Result<Operand, Error> {
        self.choice().map(Node::value)
    }

    fn choice(&mut self) -> Result<Node, Error> {
        let condition = self.any()?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::value)?;
        self.expect(":")?;
        let no = self.nested(Self::value)?;
        let choice = (condition.condition(), yes, no);
        Ok(Node::Value(Operand::Choice(Box::new(choice))))
    }

    fn any(&mut self) -> Result<Node, Error> {
        self.joined("||", Self::all, Expression::Any)
    }

    fn all(&mut self) -> Result<Node, Error> {
        self.joined("&&", Self::relation, Expression::All)
    }

    fn joined(
        &mut self,
        sign: &str,
        read: fn(&mut Self) -> Result<Node, Error>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Node, Error> {
        let first = read(self)?;
        if !self.take(sign) {
            return Ok(first);
        }
        let mut parts = vec![first.condition(), read(self)?.condition()];
        while self.take(sign) {
            parts.push(read(self)?.condition());
        }
        Ok(Node::Condition(join(parts)))
    }

    fn relation(&mut self) -> Result<Node, Error> {
        let left = self.sum()?;
        if matches!(self.tokens.get(self.at), Some(Token::Name(name)) if name == "in") {
            self.at += 1;
            let list = self.sum()?.value();
            if !matches!(
                list,
                Operand::List(_) | Operand::Choice(_) | Operand::Call(..)
            ) {
                return Err(self.error("`in` takes a list", HINT));
            }
            return Ok(Node::Condition(Expression::In(left.value(), list)));
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
                let right = self.sum()?.value();
                let compared = Expression::Compare(left.value(), comparison, right);
                return Ok(Node::Condition(compared));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Node, Error> {
        let signs = [("+", Function::Add), ("-", Function::Subtract)];
        self.calculated(&signs, Self::product)
    }

    fn product(&mut self) -> Result<Node, Error> {
        let signs = [
            ("*", Function::Multiply),
            ("/", Function::Divide),
            ("%", Function::Remainder),
        ];
        self.calculated(&signs, Self::unary)
    }

    fn calculated(
        &mut self,
        signs: &[(&str, Function)],
        read: fn(&mut Self) -> Result<Node, Error>,
    ) -> Result<Node, Error> {
        let first = read(self)?;
        let mut operands = Vec::new();
        while let Some((_, function)) = signs.iter().find(|(sign, _)| self.take(sign)) {
            operands.push((*function, read(self)?.value()));
            if operands.len() > MAX_DEPTH {
                let message = format!("more than {MAX_DEPTH} values are calculated");
                return Err(self.error(message, "use several matchers"));
            }
        }
        if operands.is_empty() {
            return Ok(first);
        }
        let calculated = operands
            .into_iter()
            .fold(first.value(), |left, (function, right)| {
                Operand::Call(function, vec![left, right])
            });
        Ok(Node::Value(calculated))
    }

    fn unary(&mut self) -> Result<Node, Error> {
        if self.take("!") {
            let inner = self.nested(Self::unary)?.condition();
            return Ok(Node::Condition(Expression::Not(Box::new(inner))));
        }
        if self.take("-") {
            return Ok(Node::Value(match self.nested(Self::unary)?.value() {
                Operand::Integer(number) => Operand::Integer(-number),
                Operand::Decimal(number) => Operand::Decimal(-number),
                value => Operand::Call(Function::Negate, vec![value]),
            }));
        }
        self.member()
    }

    /// A value with the functions and indexes that follow it.
    fn member(&mut self) -> Result<Node, Error> {
        let mut node = self.primary()?;
        let mut steps = 0;
        loop {
            if self.take(".") {
                node = self.method(node.value())?;
            } else if self.take("[") {
                let index = self.nested(Self::value)?;
                self.expect("]")?;
                let call = Operand::Call(Function::Item, vec![node.value(), index]);
                node = Node::Value(call);
            } else {
                return Ok(node);
            }
            steps += 1;
            if steps > MAX_DEPTH {
                let message = format!("more than {MAX_DEPTH} functions follow one another");
                return Err(self.error(message, "use several matchers"));
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Error> {
        if self.take("(") {
            let inner = self.nested(Self::choice)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.take("[") {
            let list = self.values("]")?;
            return Ok(Node::Value(Operand::List(list)));
        }
        if let (Some(Token::Name(name)), Some(Token::Sign("("))) =
            (self.tokens.get(self.at), self.tokens.get(self.at + 1))
        {
            let name = name.clone();
            self.at += 2;
            return self.function(&name);
        }
        self.literal().map(Node::Value)
    }

    /// Values up to the sign that closes their list.
    fn values(&mut self, end: &str) -> Result<Vec<Operand>, Error> {
        let mut values = Vec::new();
        while !self.take(end) {
            if !values.is_empty() {
                self.expect(",")?;
            }
            values.push(self.nested(Self::value)?);
        }
        Ok(values)
    }

    /// The part after the dot in `text.`.
    fn method(&mut self, subject: Operand) -> Result<Node, Error> {
        let Some(Token::Name(name)) = self.tokens.get(self.at).cloned() else {
            return Err(self.error("a function is missing after `.`", HINT));
        };
        self.at += 1;
        let known = name.as_str();
        if QUANTIFIERS.contains(&known) {
            return self.quantifier(known, subject);
        }
        if let Some((_, test)) = TESTS.iter().find(|(test, _)| *test == known) {
            let argument = self.single_argument(known)?;
            return Ok(Node::Condition(Expression::Test(subject, *test, argument)));
        }
        if known == "matches" {
            return match self.single_argument(known)? {
                Operand::Text(template) if template.as_text().is_some() => {
                    let pattern = template.as_text().unwrap_or_default().to_owned();
                    super::check_regexp(self.place, &pattern)?;
                    Ok(Node::Condition(Expression::Matches(subject, pattern)))
                }
                _ => Err(self.error("`.matches()` takes a text in quotes", HINT)),
            };
        }
        let Some((_, function, count)) = METHODS.iter().find(|(method, ..)| *method == known)
        else {
            let hint = nearest(known, function::names_after_dot()).map_or_else(
                || {
                    let names: Vec<_> = function::names_after_dot().collect();
                    format!("functions after a dot are {}", names.join(", "))
                },
                |near| format!("did you mean `{near}`?"),
            );
            return Err(self.unsupported(
                format!("`.{known}()` is not supported in expressions"),
                hint,
            ));
        };
        self.expect("(")?;
        let mut arguments = self.values(")")?;
        if !count.contains(&arguments.len()) {
            return Err(self.argument_count(known, *count.start(), *count.end()));
        }
        arguments.insert(0, subject);
        Ok(Node::Value(Operand::Call(*function, arguments)))
    }

    fn single_argument(&mut self, name: &str) -> Result<Operand, Error> {
        self.expect("(")?;
        let mut arguments = self.values(")")?;
        match arguments.pop() {
            Some(argument) if arguments.is_empty() => Ok(argument),
            _ => Err(self.argument_count(name, 1, 1)),
        }
    }

    fn argument_count(&self, name: &str, least: usize, most: usize) -> Error {
        let count = match (least, most) {
            (0, 0) => "no argument".to_owned(),
            (1, 1) => "1 argument".to_owned(),
            (least, most) if least == most => format!("{least} arguments"),
            (least, most) => format!("{least} or {most} arguments"),
        };
        self.error(format!("`{name}()` takes {count} in expressions"), HINT)
    }

    /// `[a, b].exists(x, CONDITION)`: the condition is repeated for each value of the list.
    fn quantifier(&mut self, name: &str, subject: Operand) -> Result<Node, Error> {
        let Operand::List(list) = subject else {
            let message = format!("`.{name}()` is only for a list in brackets");
            return Err(self.error(message, HINT));
        };
        self.expect("(")?;
        let Some(Token::Name(variable)) = self.tokens.get(self.at).cloned() else {
            let message = format!("the name of a variable is missing in `.{name}()`");
            return Err(self.error(message, HINT));
        };
        self.at += 1;
        self.expect(",")?;
        let start = self.at;
        let mut parts = Vec::new();
        // The condition is read in any case.
        let values = if list.is_empty() {
            vec![Operand::Bool(false)]
        } else {
            list.clone()
        };
        for value in values {
            self.at = start;
            self.variables.push((variable.clone(), value));
            let part = self.nested(Self::condition);
            self.variables.pop();
            parts.push(part?);
        }
        self.expect(")")?;
        if list.is_empty() {
            parts.clear();
        }
        Ok(Node::Condition(match name {
            "exists" => Expression::Any(parts),
            _ => Expression::All(parts),
        }))
    }

    fn literal(&mut self) -> Result<Operand, Error> {
        self.values += 1;
        if self.values > MAX_TOKENS {
            return Err(self.error("the expression is too long", "use several matchers"));
        }
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
            Some(Token::Integer(number)) => Ok(Operand::Integer(number)),
            Some(Token::Decimal(number)) => Ok(Operand::Decimal(number)),
            Some(Token::Name(name)) if name == "true" || name == "false" => {
                Ok(Operand::Bool(name == "true"))
            }
            Some(Token::Name(name)) if self.variable(&name).is_some() => Ok(self
                .variable(&name)
                .cloned()
                .unwrap_or(Operand::Bool(false))),
            Some(token) => {
                let message = format!("`{}` is not a value", token.debug_text());
                Err(self.error(message, HINT))
            }
            None => Err(self.error("the expression ends where a value should be", HINT)),
        }
    }

    fn variable(&self, name: &str) -> Option<&Operand> {
        let mut innermost = self.variables.iter().rev();
        innermost
            .find(|(variable, _)| variable == name)
            .map(|(_, value)| value)
    }

    /// A function that stands alone, after its `(`.
    fn function(&mut self, name: &str) -> Result<Node, Error> {
        if let Some((_, conversion)) = CONVERSIONS.iter().find(|(known, _)| *known == name) {
            let arguments = self.values(")")?;
            if arguments.len() != 1 {
                return Err(self.argument_count(name, 1, 1));
            }
            return Ok(Node::Value(Operand::Call(*conversion, arguments)));
        }
        if !MATCHERS.contains(&name) {
            let hint = nearest(name, function::names_alone()).map_or_else(
                || {
                    let names: Vec<_> = function::names_alone().collect();
                    format!("functions are {}", names.join(", "))
                },
                |near| format!("did you mean `{near}`?"),
            );
            return Err(
                self.unsupported(format!("`{name}()` is not supported in expressions"), hint)
            );
        }
        self.matcher(name).map(Node::Condition)
    }

    /// A matcher, after its `(`.
    fn matcher(&mut self, name: &str) -> Result<Expression, Error> {
        let mut arguments: Vec<Word> = Vec::new();
        // For each pair of a map the matchers of which one is to match.
        let mut pairs: Vec<Vec<Vec<Word>>> = Vec::new();
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
                    pairs.push(self.pair(name, &key)?);
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
            let mut alternatives = Vec::new();
            for words in pair {
                let matcher = (self.read)(self.cx, &name, &words)?;
                alternatives.push(Expression::Matcher(Box::new(matcher)));
            }
            parts.push(single_or(alternatives, Expression::Any));
        }
        // As if the matcher had several lines.
        let join = match name.text.as_str() {
            "vars" => Expression::Any,
            _ => Expression::All,
        };
        Ok(single_or(parts, join))
    }

    /// The arguments for a pair of a map, whose value is next: for each matcher of which one is to match.
    fn pair(&mut self, name: &str, key: &Word) -> Result<Vec<Vec<Word>>, Error> {
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
            ("file", "try_files") => Ok(vec![values]),
            ("vars", _) => {
                values.insert(0, key.clone());
                Ok(vec![values])
            }
            ("query", _) => Ok(vec![
                values
                    .into_iter()
                    .map(|value| Word {
                        text: format!("{}={}", key.text, value.text),
                        ..value
                    })
                    .collect(),
            ]),
            ("header" | "header_regexp", _) => Ok(values
                .into_iter()
                .map(|value| vec![key.clone(), value])
                .collect()),
            _ => Err(self.error(
                format!("`{name}()` does not take `{}` in a map", key.text),
                "define a matcher in a block with `@name { … }`",
            )),
        }
    }

    /// An argument of a matcher.
    fn word(&mut self) -> Result<Word, Error> {
        let text = match self.literal()? {
            Operand::Text(template) => match (&self.tokens[self.at - 1], template.as_text()) {
                (Token::Placeholder(text) | Token::Text(text), _) => text.clone(),
                // A variable of `exists` or `all`.
                (_, Some(text)) => text.to_owned(),
                (token, None) => {
                    let message = format!("`{}` is not a text in quotes", token.debug_text());
                    return Err(self.error(message, HINT));
                }
            },
            Operand::Integer(number) => number.to_string(),
            Operand::Decimal(number) => number.to_string(),
            Operand::Bool(value) => value.to_string(),
            _ => return Err(self.error("an argument of a matcher is a text", HINT)),
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
