//! `header`: changes of the response's header, applied when the response is there.

use std::rc::Rc;

use howdah_config::model::HeaderChange;
use http::HeaderMap;
use http::header::{
    AGE, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, DATE, ETAG, EXPIRES,
    HeaderName, HeaderValue, LAST_MODIFIED, LOCATION, RETRY_AFTER, SERVER,
};
use regex::bytes::Regex;

use super::context::Context;
use super::pattern::Pattern;
use super::replacement::Replacement;
use super::template::{Text, Use};
use super::{RouteError, RouteErrorKind};

/// A compiled [`HeaderChange`].
#[derive(Debug)]
pub(crate) enum Change {
    Set(HeaderName, Value),
    Add(HeaderName, Value),
    Default(HeaderName, Value),
    Remove(HeaderName),
    RemoveMatching(Pattern),
    Replace(HeaderName, Regex, Text),
}

#[derive(Debug)]
pub(crate) enum Value {
    Constant(HeaderValue),
    Text(Text),
}

impl Value {
    fn text(&self) -> Option<&Text> {
        match self {
            Self::Constant(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

/// A change with its value for this request.
#[derive(Debug)]
pub(crate) struct Pending {
    change: Rc<Change>,
    /// `None`: the constant of the change.
    value: Option<HeaderValue>,
}

/// The changes of one response.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Of an upstream's response, made first.
    down: Vec<Pending>,
    /// As if made before there was a response: what the application says stands beside it.
    immediate: Vec<Pending>,
    /// Of routes that were taken later, when the response was there.
    later: Vec<Pending>,
    /// Made last, in this order: that of `header` from the last to the first.
    deferred: Vec<Pending>,
}

/// In the extensions of a response: its header is an application's, or an upstream's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign;

/// Fields of which a response has one: that of `header` stands in place of the application's.
const SINGLE: [HeaderName; 12] = [
    AGE,
    CONTENT_DISPOSITION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    DATE,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    LOCATION,
    RETRY_AFTER,
    SERVER,
];

impl Changes {
    /// Behind what there is.
    pub(crate) fn add(&mut self, changes: Vec<Pending>) {
        self.immediate.extend(changes);
    }

    /// `header_down`.
    pub(crate) fn add_down(&mut self, changes: Vec<Pending>) {
        self.down.extend(changes);
    }

    /// Those of one `header`.
    pub(crate) fn defer(&mut self, changes: Vec<Pending>) {
        self.deferred.splice(0..0, changes);
    }

    /// Those of routes that were taken later.
    pub(crate) fn append(&mut self, later: Self) {
        self.down.extend(later.down);
        self.later.extend(later.immediate);
        self.defer(later.deferred);
    }

    /// `is_foreign`: as [`Foreign`].
    pub(crate) fn apply(self, headers: &mut HeaderMap, is_foreign: bool) {
        for change in self.down {
            change.apply(headers);
        }
        let mut beside = HeaderMap::new();
        for change in self.immediate {
            if is_foreign && change.stands_beside() {
                change.apply(&mut beside);
            } else {
                change.apply(headers);
            }
        }
        put_first(&beside, headers);
        for change in self.later.into_iter().chain(self.deferred) {
            change.apply(headers);
        }
    }
}

impl Change {
    pub(crate) fn compile(change: &HeaderChange) -> Result<Self, RouteError> {
        Ok(match change {
            HeaderChange::Set(field, value) => Self::Set(name(field)?, self::value(field, value)?),
            HeaderChange::Add(field, value) => Self::Add(name(field)?, self::value(field, value)?),
            HeaderChange::Default(field, value) => {
                Self::Default(name(field)?, self::value(field, value)?)
            }
            HeaderChange::Remove(field) if field.contains('*') => {
                Self::RemoveMatching(Pattern::ends(&field.to_ascii_lowercase()))
            }
            HeaderChange::Remove(field) => Self::Remove(name(field)?),
            HeaderChange::Replace(field, find, replace) => {
                let regex = Regex::new(find).map_err(|error| RouteErrorKind::Regex {
                    text: find.clone(),
                    reason: error.to_string(),
                })?;
                Self::Replace(name(field)?, regex, Text::new(replace))
            }
        })
    }

    /// Takes the values from the request while there is one.
    pub(crate) fn prepare(self: &Rc<Self>, context: &Context<'_>) -> Option<Pending> {
        let text = match &**self {
            Self::Set(_, value) | Self::Add(_, value) | Self::Default(_, value) => value.text(),
            Self::Replace(_, _, text) => Some(text),
            Self::Remove(_) | Self::RemoveMatching(_) => None,
        };
        let Some(text) = text else {
            return Some(Pending {
                change: Rc::clone(self),
                value: None,
            });
        };
        if let Ok(value) = HeaderValue::from_str(&text.evaluate(context, Use::Uri)) {
            Some(Pending {
                change: Rc::clone(self),
                value: Some(value),
            })
        } else {
            let id = format_args!("{:016x}", context.id);
            tracing::warn!(request = %id, "a header was left out: its value has control characters");
            None
        }
    }
}

impl Change {
    /// Whether its value is the upstream, which is known later.
    fn is_of_upstream(&self) -> bool {
        match self {
            Self::Set(_, Value::Text(text))
            | Self::Add(_, Value::Text(text))
            | Self::Default(_, Value::Text(text)) => text.is_upstream(),
            _ => false,
        }
    }
}

impl Pending {
    /// Whether its field may be there along with one of the application.
    fn stands_beside(&self) -> bool {
        match &*self.change {
            Change::Set(name, _) | Change::Add(name, _) => !SINGLE.contains(name),
            _ => false,
        }
    }

    /// As [`Pending::apply`], with `upstream` for `{upstream_hostport}`.
    pub(crate) fn apply_for(&self, upstream: &HeaderValue, headers: &mut HeaderMap) {
        let value = if self.change.is_of_upstream() {
            Some(upstream.clone())
        } else {
            self.value.clone()
        };
        let own = Self {
            change: Rc::clone(&self.change),
            value,
        };
        own.apply(headers);
    }

    pub(crate) fn apply(self, headers: &mut HeaderMap) {
        match &*self.change {
            Change::Set(name, value) => {
                headers.insert(name, pick(value, self.value));
            }
            Change::Add(name, value) => {
                headers.append(name, pick(value, self.value));
            }
            Change::Default(name, value) => {
                if !headers.contains_key(name) {
                    headers.insert(name, pick(value, self.value));
                }
            }
            Change::Remove(name) => {
                headers.remove(name);
            }
            Change::RemoveMatching(pattern) => {
                let doomed: Vec<HeaderName> = headers
                    .keys()
                    .filter(|name| pattern.matches(name.as_str()))
                    .cloned()
                    .collect();
                for name in doomed {
                    headers.remove(name);
                }
            }
            Change::Replace(name, regex, _) => {
                let replacement = self.value.as_ref().map_or(&b""[..], HeaderValue::as_bytes);
                let values = headers.get_all(name).iter();
                let values: Vec<HeaderValue> = values
                    .filter_map(|value| replace(value, regex, replacement))
                    .collect();
                headers.remove(name);
                for value in values {
                    headers.append(name, value);
                }
            }
        }
    }
}

/// Puts fields in front of those of the same name.
fn put_first(fields: &HeaderMap, headers: &mut HeaderMap) {
    for name in fields.keys() {
        let behind: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
        headers.remove(name);
        for value in fields.get_all(name).iter().cloned().chain(behind) {
            headers.append(name, value);
        }
    }
}

/// `None`: the value would be too long.
fn replace(value: &HeaderValue, regex: &Regex, replacement: &[u8]) -> Option<HeaderValue> {
    let Ok(replaced) = Replacement::new(replacement).put(regex, value.as_bytes()) else {
        tracing::warn!("a header was left out: what replaces text in its value is too long");
        return None;
    };
    // Both texts are valid values, so what is made of them is one too.
    Some(HeaderValue::from_bytes(&replaced).unwrap_or_else(|_| value.clone()))
}

fn pick(constant: &Value, evaluated: Option<HeaderValue>) -> HeaderValue {
    match (evaluated, constant) {
        (Some(value), _) => value,
        (None, Value::Constant(value)) => value.clone(),
        (None, Value::Text(_)) => HeaderValue::from_static(""),
    }
}

fn name(text: &str) -> Result<HeaderName, RouteError> {
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| {
        RouteErrorKind::HeaderName {
            text: text.to_owned(),
        }
        .into()
    })
}

fn value(field: &str, template: &howdah_config::model::Template) -> Result<Value, RouteError> {
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
