//! `uri query`: changes of single parameters. What is not changed stays as the client wrote it.

use std::borrow::Cow;

use howdah_config::model;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use regex::Regex;

use super::context::Context;
use super::template::{Text, Use};
use super::{RouteError, notes};
use crate::path;

/// Escaped in a name or value.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The text as a name or value in a query.
pub(super) fn escaped(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, PARAMETER)
}

/// A compiled [`model::QueryChange`].
#[derive(Debug)]
pub(super) enum QueryChange {
    Rename {
        old: Text,
        new: Text,
    },
    Set {
        name: Text,
        value: Text,
    },
    Add {
        name: Text,
        value: Text,
    },
    Replace {
        /// `None`: of all parameters.
        name: Option<Text>,
        find: Regex,
        replace: Text,
    },
    Delete(Text),
}

/// A parameter.
struct Pair<'q> {
    /// Decoded.
    name: String,
    /// As it goes on, with its name.
    text: Cow<'q, str>,
}

impl<'q> Pair<'q> {
    fn sent(text: &'q str) -> Self {
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        Self {
            name: path::decode_query(name),
            text: text.into(),
        }
    }

    fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: format!("{}={}", escaped(name), escaped(value)).into(),
        }
    }

    fn value(&self) -> String {
        let value = self.text.split_once('=').map_or("", |(_, value)| value);
        path::decode_query(value)
    }
}

impl QueryChange {
    pub(super) fn compile(change: &model::QueryChange) -> Result<Self, RouteError> {
        use model::QueryChange as Model;
        Ok(match change {
            Model::Rename { old, new } => Self::Rename {
                old: Text::new(old),
                new: Text::new(new),
            },
            Model::Set { name, value } => Self::Set {
                name: Text::new(name),
                value: Text::new(value),
            },
            Model::Add { name, value } => Self::Add {
                name: Text::new(name),
                value: Text::new(value),
            },
            Model::Replace {
                name,
                find,
                replace,
            } => Self::Replace {
                name: name.as_ref().map(Text::new),
                find: notes::compile(find)?,
                replace: Text::new(replace),
            },
            Model::Delete(name) => Self::Delete(Text::new(name)),
        })
    }

    fn apply(&self, pairs: &mut Vec<Pair<'_>>, context: &Context<'_>) {
        let text = |text: &Text| text.evaluate(context, Use::File).into_owned();
        match self {
            Self::Rename { old, new } => {
                let (old, new) = (text(old), text(new));
                if old == new || !pairs.iter().any(|pair| pair.name == old) {
                    return;
                }
                pairs.retain(|pair| pair.name != new);
                for pair in pairs.iter_mut().filter(|pair| pair.name == old) {
                    *pair = Pair::new(&new, &pair.value());
                }
            }
            Self::Set { name, value } => {
                let pair = Pair::new(&text(name), &text(value));
                // The place of the first one is kept: those before it have other names.
                let first = pairs.iter().position(|known| known.name == pair.name);
                pairs.retain(|known| known.name != pair.name);
                pairs.insert(first.unwrap_or(pairs.len()), pair);
            }
            Self::Add { name, value } => pairs.push(Pair::new(&text(name), &text(value))),
            Self::Replace {
                name,
                find,
                replace,
            } => {
                let (name, replace) = (name.as_ref().map(text), text(replace));
                let wanted =
                    |pair: &&mut Pair<'_>| name.as_ref().is_none_or(|name| pair.name == *name);
                for pair in pairs.iter_mut().filter(wanted) {
                    let value = pair.value();
                    if let Cow::Owned(replaced) = find.replace_all(&value, &*replace) {
                        *pair = Pair::new(&pair.name, &replaced);
                    }
                }
            }
            Self::Delete(name) => {
                let name = text(name);
                pairs.retain(|pair| pair.name != name);
            }
        }
    }
}

/// Makes the changes one after another.
pub(super) fn run(changes: &[QueryChange], context: &mut Context<'_>) {
    let sent = context.query();
    let texts = sent.split('&').filter(|text| !text.is_empty());
    let mut pairs: Vec<Pair<'_>> = texts.map(Pair::sent).collect();
    for change in changes {
        change.apply(&mut pairs, context);
    }
    let texts: Vec<&str> = pairs.iter().map(|pair| &*pair.text).collect();
    let query = texts.join("&");
    if query != sent {
        context.query = Some(query);
    }
}
