//! Values of expressions, their comparison and the functions of CEL. Positions in a text count characters.

use std::borrow::Cow;
use std::cmp::Ordering;

use howdah_config::model::{Comparison, Function};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'v> {
    Text(Cow<'v, str>),
    Integer(i64),
    Decimal(f64),
    Bool(bool),
    List(Vec<Value<'v>>),
}

impl<'v> Value<'v> {
    fn owned(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }

    /// `None` for a list.
    pub(super) fn into_text(self) -> Option<Cow<'v, str>> {
        Some(match self {
            Self::Text(text) => text,
            Self::Integer(number) => number.to_string().into(),
            Self::Decimal(number) => number.to_string().into(),
            Self::Bool(true) => "true".into(),
            Self::Bool(false) => "false".into(),
            Self::List(_) => return None,
        })
    }

    /// A text is converted to a number if possible.
    fn number(&self) -> Option<Number> {
        match self {
            Self::Integer(number) => Some(Number::Integer(*number)),
            Self::Decimal(number) => Some(Number::Decimal(*number)),
            Self::Text(text) => {
                let text = text.trim();
                match text.parse() {
                    Ok(number) => Some(Number::Integer(number)),
                    Err(_) => text.parse().ok().map(Number::Decimal),
                }
            }
            Self::Bool(_) | Self::List(_) => None,
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Decimal(_))
    }

    fn integer(&self) -> Option<i64> {
        match self.number()? {
            Number::Integer(number) => Some(number),
            Number::Decimal(_) => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i64),
    Decimal(f64),
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "CEL compares integers and decimals in the same way"
    )]
    fn decimal(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Decimal(number) => number,
        }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(&right)),
            _ => self.decimal().partial_cmp(&other.decimal()),
        }
    }
}

/// Compares as numbers if at least one is a number; a text that is not a number is then unequal and
/// unordered. Lists are equal or not, and unordered.
pub(super) fn compare(left: &Value<'_>, comparison: Comparison, right: &Value<'_>) -> bool {
    let order = order(left, right);
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    }
}

fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    if left.is_number() || right.is_number() {
        return left.number()?.order(right.number()?);
    }
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            let is_equal = left.len() == right.len()
                && (left.iter().zip(right))
                    .all(|(left, right)| compare(left, Comparison::Equal, right));
            is_equal.then_some(Ordering::Equal)
        }
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::List(_), _) | (_, Value::List(_)) => None,
        _ => Some(left.clone().into_text()?.cmp(&right.clone().into_text()?)),
    }
}

/// Calls a function; `None` if it has no result for these arguments.
pub(super) fn call(function: Function, arguments: Vec<Value<'_>>) -> Option<Value<'_>> {
    let mut arguments = arguments.into_iter();
    let subject = arguments.next()?;
    let first = arguments.next();
    let second = arguments.next();
    Some(match function {
        Function::Size => Value::Integer(match &subject {
            Value::Text(text) => count(text.chars().count()),
            Value::List(list) => count(list.len()),
            _ => return None,
        }),
        Function::Int => Value::Integer(to_integer(&subject)?),
        Function::Double => Value::Decimal(match subject {
            Value::Text(text) => text.parse().ok()?,
            other => other.number()?.decimal(),
        }),
        Function::Text => Value::Text(subject.into_text()?),
        Function::Bool => Value::Bool(match subject {
            Value::Bool(value) => value,
            Value::Text(text) => to_bool(&text)?,
            _ => return None,
        }),
        Function::LowerAscii => Value::owned(subject.into_text()?.to_ascii_lowercase()),
        Function::UpperAscii => Value::owned(subject.into_text()?.to_ascii_uppercase()),
        Function::Trim => Value::owned(subject.into_text()?.trim().to_owned()),
        Function::Reverse => match subject {
            Value::List(list) => Value::List(list.into_iter().rev().collect()),
            text => Value::owned(text.into_text()?.chars().rev().collect()),
        },
        Function::CharAt => {
            let text = subject.into_text()?;
            let at = position(first?.integer()?, text.chars().count())?;
            Value::owned(text.chars().skip(at).take(1).collect())
        }
        Function::IndexOf | Function::LastIndexOf => {
            let (text, part) = (subject.into_text()?, first?.into_text()?);
            let at = match function {
                Function::IndexOf => text.find(&*part),
                _ => text.rfind(&*part),
            };
            Value::Integer(at.map_or(-1, |at| count(text[..at].chars().count())))
        }
        Function::Replace => {
            let (text, old) = (subject.into_text()?, first?.into_text()?);
            let new = second?.into_text()?;
            let most = limit(arguments.next())?;
            Value::owned(text.replacen(&*old, &new, most))
        }
        Function::Substring => {
            let text = subject.into_text()?;
            let length = text.chars().count();
            let start = position(first?.integer()?, length)?;
            let end = match second {
                None => length,
                Some(end) => position(end.integer()?, length)?,
            };
            let taken = end.checked_sub(start)?;
            Value::owned(text.chars().skip(start).take(taken).collect())
        }
        Function::Split => {
            let (text, separator) = (subject.into_text()?, first?.into_text()?);
            split(&text, &separator, second)?
        }
        Function::Join => join(subject, first)?,
        Function::Item => match subject {
            Value::List(mut list) => {
                let at = usize::try_from(first?.integer()?).ok()?;
                (at < list.len()).then(|| list.swap_remove(at))?
            }
            _ => return None,
        },
        Function::Negate => match subject.number()? {
            Number::Integer(number) => Value::Integer(number.checked_neg()?),
            Number::Decimal(number) => Value::Decimal(-number),
        },
        Function::Add
        | Function::Subtract
        | Function::Multiply
        | Function::Divide
        | Function::Remainder => calculate(function, subject, first?)?,
    })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A position up to the end of a text.
fn position(at: i64, length: usize) -> Option<usize> {
    usize::try_from(at).ok().filter(|at| *at <= length)
}

fn to_integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        // Cut off after the point.
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        Value::Decimal(number) => (number.abs() < 9.0e18).then_some(*number as i64),
        Value::Text(text) => text.parse().ok(),
        Value::Bool(_) | Value::List(_) => None,
    }
}

/// How many parts a function may replace or split: all of them without a number, and with a negative one.
fn limit(most: Option<Value<'_>>) -> Option<usize> {
    let Some(most) = most else {
        return Some(usize::MAX);
    };
    Some(usize::try_from(most.integer()?).unwrap_or(usize::MAX))
}

/// The texts that CEL converts.
fn to_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn split<'v>(text: &str, separator: &str, most: Option<Value<'_>>) -> Option<Value<'v>> {
    let most = limit(most)?;
    Some(Value::List(if most == 0 {
        Vec::new()
    } else if separator.is_empty() {
        let chars: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        let end = |index: usize| chars.get(index + 1).copied().unwrap_or(text.len());
        let last = most.min(chars.len()).saturating_sub(1);
        let each = chars.iter().take(most).enumerate().map(|(index, start)| {
            let end = if index == last {
                text.len()
            } else {
                end(index)
            };
            &text[*start..end]
        });
        owned(each)
    } else {
        owned(text.splitn(most, separator))
    }))
}

fn owned<'v, 't>(texts: impl Iterator<Item = &'t str>) -> Vec<Value<'v>> {
    texts.map(|text| Value::owned(text.to_owned())).collect()
}

fn join<'v>(list: Value<'v>, separator: Option<Value<'v>>) -> Option<Value<'v>> {
    let Value::List(list) = list else {
        return None;
    };
    let separator = match separator {
        None => Cow::Borrowed(""),
        Some(separator) => separator.into_text()?,
    };
    let texts = list.into_iter().map(Value::into_text);
    let texts: Vec<_> = texts.collect::<Option<_>>()?;
    Some(Value::owned(texts.join(&*separator)))
}

fn calculate<'v>(function: Function, left: Value<'v>, right: Value<'v>) -> Option<Value<'v>> {
    if function == Function::Add {
        match (left, right) {
            (Value::Text(left), Value::Text(right)) => {
                return Some(Value::Text(left + right));
            }
            (Value::List(mut left), Value::List(right)) => {
                left.extend(right);
                return Some(Value::List(left));
            }
            (left, right) => return numbers(function, left.number()?, right.number()?),
        }
    }
    numbers(function, left.number()?, right.number()?)
}

fn numbers<'v>(function: Function, left: Number, right: Number) -> Option<Value<'v>> {
    if let (Number::Integer(left), Number::Integer(right)) = (left, right) {
        return match function {
            Function::Add => left.checked_add(right),
            Function::Subtract => left.checked_sub(right),
            Function::Multiply => left.checked_mul(right),
            Function::Divide => left.checked_div(right),
            _ => left.checked_rem(right),
        }
        .map(Value::Integer);
    }
    let (left, right) = (left.decimal(), right.decimal());
    Some(Value::Decimal(match function {
        Function::Add => left + right,
        Function::Subtract => left - right,
        Function::Multiply => left * right,
        Function::Divide => left / right,
        // Only for integers.
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value<'_> {
        Value::Text(text.into())
    }

    fn texts<'v>(list: &[&'v str]) -> Value<'v> {
        Value::List(list.iter().copied().map(text).collect())
    }

    #[test]
    fn functions_of_texts_and_lists() {
        use Function as F;
        let integer = Value::Integer;
        for (function, arguments, expected) in [
            (F::Size, vec![text("äb")], Some(integer(2))),
            (F::Size, vec![texts(&["a"])], Some(integer(1))),
            (F::Size, vec![integer(1)], None),
            (F::Int, vec![text("-7")], Some(integer(-7))),
            (F::Int, vec![Value::Decimal(-7.9)], Some(integer(-7))),
            (F::Int, vec![text("7.9")], None),
            (F::Int, vec![text(" 7")], None),
            (F::Double, vec![text("7.5")], Some(Value::Decimal(7.5))),
            (F::Text, vec![integer(7)], Some(text("7"))),
            (F::Bool, vec![text("True")], Some(Value::Bool(true))),
            (F::Bool, vec![text("yes")], None),
            (F::Trim, vec![text(" a ")], Some(text("a"))),
            (F::Reverse, vec![text("aä")], Some(text("äa"))),
            (F::CharAt, vec![text("äb"), integer(1)], Some(text("b"))),
            (F::CharAt, vec![text("äb"), integer(2)], Some(text(""))),
            (F::CharAt, vec![text("äb"), integer(3)], None),
            (F::IndexOf, vec![text("äbb"), text("b")], Some(integer(1))),
            (F::IndexOf, vec![text("äbb"), text("c")], Some(integer(-1))),
            (
                F::LastIndexOf,
                vec![text("äbb"), text("b")],
                Some(integer(2)),
            ),
            (
                F::Replace,
                vec![text("aaa"), text("a"), text("b"), integer(2)],
                Some(text("bba")),
            ),
            (
                F::Replace,
                vec![text("aaa"), text("a"), text("b"), integer(-1)],
                Some(text("bbb")),
            ),
            (
                F::Substring,
                vec![text("äbcd"), integer(1)],
                Some(text("bcd")),
            ),
            (
                F::Substring,
                vec![text("äbcd"), integer(1), integer(3)],
                Some(text("bc")),
            ),
            (
                F::Substring,
                vec![text("äbcd"), integer(3), integer(1)],
                None,
            ),
            (
                F::Split,
                vec![text("a,b,c"), text(",")],
                Some(texts(&["a", "b", "c"])),
            ),
            (
                F::Split,
                vec![text("a,b,c"), text(","), integer(2)],
                Some(texts(&["a", "b,c"])),
            ),
            (
                F::Split,
                vec![text("äbc"), text("")],
                Some(texts(&["ä", "b", "c"])),
            ),
            (
                F::Split,
                vec![text("äbc"), text(""), integer(2)],
                Some(texts(&["ä", "bc"])),
            ),
            (F::Split, vec![text(""), text("")], Some(texts(&[]))),
            (
                F::Join,
                vec![texts(&["a", "b"]), text("-")],
                Some(text("a-b")),
            ),
            (
                F::Item,
                vec![texts(&["a", "b"]), integer(0)],
                Some(text("a")),
            ),
            (F::Item, vec![texts(&["a", "b"]), integer(2)], None),
            (F::Add, vec![text("a"), text("b")], Some(text("ab"))),
            (F::Add, vec![text("1"), integer(2)], Some(integer(3))),
            (F::Add, vec![integer(i64::MAX), integer(1)], None),
            (F::Divide, vec![integer(7), integer(2)], Some(integer(3))),
            (F::Divide, vec![integer(7), integer(0)], None),
            (
                F::Divide,
                vec![integer(7), Value::Decimal(2.0)],
                Some(Value::Decimal(3.5)),
            ),
            (F::Remainder, vec![integer(7), integer(4)], Some(integer(3))),
            (F::Negate, vec![text("4")], Some(integer(-4))),
        ] {
            let shown = format!("{function:?} {arguments:?}");
            assert_eq!(call(function, arguments), expected, "{shown}");
        }
    }
}
