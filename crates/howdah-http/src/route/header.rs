//! `header`: configured changes of a header, and their values for a request.

use std::rc::Rc;

use howdah_cgi::bytes_of;
use howdah_config::model::{HeaderChange, Part, Placeholder, Template};
use http::header::{HeaderName, HeaderValue};
use regex::bytes::{Regex, RegexBuilder};

use crate::message::header_change::{Change, PendingChange, PendingValue};
use crate::message::pattern::Pattern;
use crate::message::route_error::{RouteError, RouteErrorKind, header_name};
use crate::route::context::Context;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// Bytes of a compiled pattern that contains parts of the request.
const MAX_PATTERN: usize = 256 << 10;

/// A compiled [`HeaderChange`].
#[derive(Debug)]
pub(crate) struct FieldChange {
    change: Rc<Change>,
    value: Value,
    find: Option<Find>,
}

/// What a replacement searches for.
#[derive(Debug)]
enum Find {
    Regex(Regex),
    /// Compiled for each request.
    Text(Text),
}

#[derive(Debug)]
enum Value {
    None,
    Constant(HeaderValue),
    Text(Text),
    /// The value of this field of the response.
    Field(HeaderName),
}

/// Compiles the changes of a directive.
pub(super) fn compile(changes: &[HeaderChange]) -> Result<Box<[FieldChange]>, RouteError> {
    changes.iter().map(FieldChange::compile).collect()
}

/// Compiles `header_down`, whose values may be fields of the response.
pub(super) fn compile_down(changes: &[HeaderChange]) -> Result<Box<[FieldChange]>, RouteError> {
    let compile = |change: &HeaderChange| {
        let mut compiled = FieldChange::compile(change)?;
        if let HeaderChange::Set(_, value)
        | HeaderChange::Add(_, value)
        | HeaderChange::Default(_, value) = change
            && let [Part::Placeholder(Placeholder::ResponseHeader(name))] = &value.parts[..]
        {
            compiled.value = Value::Field(header_name(name)?);
        }
        Ok(compiled)
    };
    changes.iter().map(compile).collect()
}

/// Evaluates the values, which needs the request.
pub(super) fn prepare(changes: &[FieldChange], context: &Context<'_>) -> Vec<PendingChange> {
    let pending = changes.iter().filter_map(|change| change.prepare(context));
    pending.collect()
}

impl FieldChange {
    fn compile(change: &HeaderChange) -> Result<Self, RouteError> {
        let mut pattern = None;
        let (change, value) = match change {
            HeaderChange::Set(field, value) => {
                (Change::Set(header_name(field)?), self::value(field, value)?)
            }
            HeaderChange::Add(field, value) => {
                (Change::Add(header_name(field)?), self::value(field, value)?)
            }
            HeaderChange::Default(field, value) => (
                Change::Default(header_name(field)?),
                self::value(field, value)?,
            ),
            HeaderChange::Remove(field) if field.contains('*') => {
                let pattern = Pattern::ends(&field.to_ascii_lowercase());
                (Change::RemoveMatching(pattern), Value::None)
            }
            HeaderChange::Remove(field) => (Change::Remove(header_name(field)?), Value::None),
            HeaderChange::Replace(field, find, replace) => {
                pattern = Some(Find::compile(find)?);
                let name = (field != "*").then(|| header_name(field)).transpose()?;
                (Change::Replace(name), Value::Text(Text::new(replace)))
            }
        };
        Ok(Self {
            change: Rc::new(change),
            value,
            find: pattern,
        })
    }

    fn prepare(&self, context: &Context<'_>) -> Option<PendingChange> {
        let find = match &self.find {
            // As in Caddy, a pattern that the request makes invalid replaces nothing.
            Some(find) => Some(find.evaluate(context)?),
            None => None,
        };
        let pending = |value| PendingChange {
            change: Rc::clone(&self.change),
            value,
            find,
        };
        let text = match &self.value {
            Value::None => return Some(pending(None)),
            Value::Constant(value) => {
                let value = PendingValue::Known(value.clone());
                return Some(pending(Some(value)));
            }
            Value::Field(name) => {
                let value = PendingValue::Field(name.clone());
                return Some(pending(Some(value)));
            }
            Value::Text(text) => text,
        };
        if text.is_deferred() {
            let text = text.evaluate_deferred(context, Purpose::Uri);
            if text.texts().all(|text| header_value(text).is_some()) {
                return Some(pending(Some(PendingValue::Deferred(text))));
            }
        } else if let Some(value) = header_value(&text.evaluate(context, Purpose::Uri)) {
            return Some(pending(Some(PendingValue::Known(value))));
        }
        let id = format_args!("{:016x}", context.id);
        tracing::warn!(request = %id, "a header field was dropped: its value contains control characters");
        None
    }
}

impl Find {
    fn compile(find: &Template) -> Result<Self, RouteError> {
        let Some(text) = find.as_text() else {
            return Ok(Self::Text(Text::new(find)));
        };
        let regex = Regex::new(text).map_err(|error| RouteErrorKind::Regex {
            text: text.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self::Regex(regex))
    }

    /// `None`: it is invalid, or too large.
    fn evaluate(&self, context: &Context<'_>) -> Option<Regex> {
        match self {
            // It is shared, not copied.
            Self::Regex(regex) => Some(regex.clone()),
            Self::Text(text) => RegexBuilder::new(&text.evaluate(context, Purpose::Uri))
                .size_limit(MAX_PATTERN)
                .build()
                .ok(),
        }
    }
}

/// `None` if it contains control characters.
fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(&bytes_of(text)).ok()
}

fn value(field: &str, template: &Template) -> Result<Value, RouteError> {
    match template.as_text() {
        None => Ok(Value::Text(Text::new(template))),
        Some(text) => match HeaderValue::from_str(text) {
            Ok(value) => Ok(Value::Constant(value)),
            Err(_) => Err(RouteErrorKind::HeaderValue {
                name: field.to_owned(),
            }
            .into()),
        },
    }
}
