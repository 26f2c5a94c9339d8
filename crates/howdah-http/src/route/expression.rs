//! Evaluates `expression`. An expression that has no value, such as `int('a')`, is false, as is a whole condition that
//! depends on it.

use howdah_config::model::{self, Comparison, Function, TextTest};
use regex::Regex;

use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::matcher::Matcher;
use crate::route::purpose::Purpose;
use crate::route::text::Text;
use crate::route::value::{self, Value, compare};
use crate::route::variables;

/// A compiled [`model::Expression`].
#[derive(Debug)]
pub(crate) enum Expression {
    Any(Box<[Expression]>),
    All(Box<[Expression]>),
    Not(Box<Expression>),
    Matcher(Box<Matcher>),
    Compare(Operand, Comparison, Operand),
    In(Operand, Operand),
    Test(Operand, TextTest, Operand),
    Matches(Operand, Regex),
    Truth(Operand),
}

#[derive(Debug)]
pub(crate) enum Operand {
    Text(Text),
    Integer(i64),
    Decimal(f64),
    Bool(bool),
    List(Box<[Operand]>),
    Condition(Box<Expression>),
    Choice(Box<(Expression, Operand, Operand)>),
    Call(Function, Box<[Operand]>),
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
            model::Expression::Compare(left, comparison, right) => Self::Compare(
                Operand::compile(left)?,
                *comparison,
                Operand::compile(right)?,
            ),
            model::Expression::In(item, list) => {
                Self::In(Operand::compile(item)?, Operand::compile(list)?)
            }
            model::Expression::Test(subject, test, argument) => Self::Test(
                Operand::compile(subject)?,
                *test,
                Operand::compile(argument)?,
            ),
            model::Expression::Matches(text, pattern) => {
                Self::Matches(Operand::compile(text)?, variables::compile(pattern)?)
            }
            model::Expression::Truth(operand) => Self::Truth(Operand::compile(operand)?),
        })
    }

    pub(super) fn is_true(&self, context: &Context<'_>) -> bool {
        self.evaluate(context).unwrap_or(false)
    }

    /// `None` without a value. As in CEL, `||` and `&&` have one if any part decides.
    fn evaluate(&self, context: &Context<'_>) -> Option<bool> {
        match self {
            Self::Any(parts) => {
                let mut result = Some(false);
                for part in parts {
                    match part.evaluate(context) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => result = None,
                    }
                }
                result
            }
            Self::All(parts) => {
                let mut result = Some(true);
                for part in parts {
                    match part.evaluate(context) {
                        Some(false) => return Some(false),
                        Some(true) => {}
                        None => result = None,
                    }
                }
                result
            }
            Self::Not(inner) => inner.evaluate(context).map(|value| !value),
            Self::Matcher(matcher) => Some(matcher.matches(context)),
            Self::Compare(left, comparison, right) => Some(compare(
                &left.value(context)?,
                *comparison,
                &right.value(context)?,
            )),
            Self::In(item, list) => {
                let (item, Value::List(list)) = (item.value(context)?, list.value(context)?) else {
                    return None;
                };
                let is_equal = |other: &Value<'_>| compare(&item, Comparison::Equal, other);
                Some(list.iter().any(is_equal))
            }
            Self::Test(subject, test, argument) => {
                let subject = subject.value(context)?.into_text()?;
                let argument = argument.value(context)?.into_text()?;
                Some(match test {
                    TextTest::StartsWith => subject.starts_with(&*argument),
                    TextTest::EndsWith => subject.ends_with(&*argument),
                    TextTest::Contains => subject.contains(&*argument),
                })
            }
            Self::Matches(text, regex) => Some(regex.is_match(&text.value(context)?.into_text()?)),
            Self::Truth(operand) => Some(match operand.value(context)? {
                Value::Bool(value) => value,
                value => value.into_text()? == "true",
            }),
        }
    }
}

impl Operand {
    fn compile(operand: &model::Operand) -> Result<Self, RouteError> {
        let all = |operands: &[model::Operand]| {
            operands
                .iter()
                .map(Self::compile)
                .collect::<Result<Box<[_]>, _>>()
        };
        Ok(match operand {
            model::Operand::Text(template) => Self::Text(Text::new(template)),
            model::Operand::Integer(number) => Self::Integer(*number),
            model::Operand::Decimal(number) => Self::Decimal(*number),
            model::Operand::Bool(value) => Self::Bool(*value),
            model::Operand::List(list) => Self::List(all(list)?),
            model::Operand::Condition(condition) => {
                Self::Condition(Box::new(Expression::compile(condition)?))
            }
            model::Operand::Choice(choice) => {
                let (condition, yes, no) = &**choice;
                Self::Choice(Box::new((
                    Expression::compile(condition)?,
                    Self::compile(yes)?,
                    Self::compile(no)?,
                )))
            }
            model::Operand::Call(function, arguments) => Self::Call(*function, all(arguments)?),
        })
    }

    fn value<'v>(&'v self, context: &'v Context<'_>) -> Option<Value<'v>> {
        Some(match self {
            // Decoded, as in other matchers: an escape in the path cannot bypass a comparison.
            Self::Text(text) => Value::Text(text.evaluate(context, Purpose::File)),
            Self::Integer(number) => Value::Integer(*number),
            Self::Decimal(number) => Value::Decimal(*number),
            Self::Bool(value) => Value::Bool(*value),
            Self::List(list) => {
                let values = list.iter().map(|operand| operand.value(context));
                Value::List(values.collect::<Option<_>>()?)
            }
            Self::Condition(condition) => Value::Bool(condition.evaluate(context)?),
            Self::Choice(choice) => {
                let (condition, yes, no) = &**choice;
                let chosen = if condition.evaluate(context)? {
                    yes
                } else {
                    no
                };
                return chosen.value(context);
            }
            Self::Call(function, arguments) => {
                let values = arguments.iter().map(|operand| operand.value(context));
                return value::call(*function, values.collect::<Option<_>>()?);
            }
        })
    }
}
