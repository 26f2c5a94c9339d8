//! Evaluates `expression`.

use std::borrow::Cow;

use howdah_config::model::{self, Comparison, TextTest};
use regex::Regex;

use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::matcher::Matcher;
use crate::route::purpose::Purpose;
use crate::route::text::Text;
use crate::route::variables;

/// A compiled [`model::Expression`].
#[derive(Debug)]
pub(crate) enum Expression {
    Any(Box<[Expression]>),
    All(Box<[Expression]>),
    Not(Box<Expression>),
    Matcher(Box<Matcher>),
    Compare(Operand, Comparison, Operand),
    In(Operand, Box<[Operand]>),
    Test(Operand, TextTest, Operand),
    Matches(Operand, Regex),
    Truth(Operand),
}

#[derive(Debug)]
pub(crate) enum Operand {
    Text(Text),
    Number(f64),
    Bool(bool),
}

impl Expression {
    pub(super) fn compile(expression: &model::Expression) -> Result<Self, RouteError> {
        let all = |parts: &[model::Expression]| {
            parts
                .iter()
                .map(Self::compile)
                .collect::<Result<Box<[_]>, _>>()
        };
        Ok(match expression {
            model::Expression::Any(parts) => Self::Any(all(parts)?),
            model::Expression::All(parts) => Self::All(all(parts)?),
            model::Expression::Not(inner) => Self::Not(Box::new(Self::compile(inner)?)),
            model::Expression::Matcher(matcher) => {
                Self::Matcher(Box::new(Matcher::compile(matcher)?))
            }
            model::Expression::Compare(left, comparison, right) => {
                Self::Compare(Operand::new(left), *comparison, Operand::new(right))
            }
            model::Expression::In(item, list) => {
                Self::In(Operand::new(item), list.iter().map(Operand::new).collect())
            }
            model::Expression::Test(subject, test, argument) => {
                Self::Test(Operand::new(subject), *test, Operand::new(argument))
            }
            model::Expression::Matches(text, pattern) => {
                Self::Matches(Operand::new(text), variables::compile(pattern)?)
            }
            model::Expression::Truth(operand) => Self::Truth(Operand::new(operand)),
        })
    }

    pub(super) fn is_true(&self, context: &Context<'_>) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.is_true(context)),
            Self::All(parts) => parts.iter().all(|part| part.is_true(context)),
            Self::Not(inner) => !inner.is_true(context),
            Self::Matcher(matcher) => matcher.matches(context),
            Self::Compare(left, comparison, right) => compare(left, *comparison, right, context),
            Self::In(item, list) => list
                .iter()
                .any(|other| compare(item, Comparison::Equal, other, context)),
            Self::Test(subject, test, argument) => {
                let (subject, argument) = (subject.text(context), argument.text(context));
                match test {
                    TextTest::StartsWith => subject.starts_with(&*argument),
                    TextTest::EndsWith => subject.ends_with(&*argument),
                    TextTest::Contains => subject.contains(&*argument),
                }
            }
            Self::Matches(text, regex) => regex.is_match(&text.text(context)),
            Self::Truth(operand) => operand.text(context) == "true",
        }
    }
}

impl Operand {
    fn new(operand: &model::Operand) -> Self {
        match operand {
            model::Operand::Text(template) => Self::Text(Text::new(template)),
            model::Operand::Number(number) => Self::Number(*number),
            model::Operand::Bool(value) => Self::Bool(*value),
        }
    }

    fn text(&self, context: &Context<'_>) -> Cow<'_, str> {
        match self {
            // Decoded, as in other matchers: an escape in the path cannot bypass a comparison.
            Self::Text(text) => text.evaluate(context, Purpose::File),
            Self::Number(number) => number.to_string().into(),
            Self::Bool(true) => "true".into(),
            Self::Bool(false) => "false".into(),
        }
    }

    fn number(&self, context: &Context<'_>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.evaluate(context, Purpose::File).trim().parse().ok(),
            Self::Bool(_) => None,
        }
    }
}

/// Compares as numbers if at least one is a number; a text that is not a number is then unequal and
/// unordered.
fn compare(left: &Operand, comparison: Comparison, right: &Operand, context: &Context<'_>) -> bool {
    use std::cmp::Ordering;
    let numbers = matches!(left, Operand::Number(_)) || matches!(right, Operand::Number(_));
    let order = if numbers {
        match (left.number(context), right.number(context)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => None,
        }
    } else {
        Some(left.text(context).cmp(&right.text(context)))
    };
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    }
}
