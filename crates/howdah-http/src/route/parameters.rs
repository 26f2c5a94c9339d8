//! The parameters of a query, and changes of individual ones. Parameters that do not change stay as the client has sent
//! them.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use regex::Regex;

use crate::message::path;
use crate::message::replacement::{Replacement, TooLong};

/// Characters that are escaped in a name or value.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The text as a name or value in a query.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    path::percent_encoded(text, PARAMETER)
}

/// A query. Names and values are decoded.
pub(super) struct Parameters<'q> {
    pairs: Vec<Pair<'q>>,
}

struct Pair<'q> {
    /// Decoded.
    name: String,
    /// The escaped parameter, with its name.
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

impl<'q> Parameters<'q> {
    /// The parameters that a client has sent.
    pub(super) fn sent(query: &'q str) -> Self {
        let texts = query.split('&').filter(|text| !text.is_empty());
        Self {
            pairs: texts.map(Pair::sent).collect(),
        }
    }

    /// Renames a parameter; it replaces those that already have the new name.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        if old == new || !self.pairs.iter().any(|pair| pair.name == old) {
            return;
        }
        self.pairs.retain(|pair| pair.name != new);
        for pair in self.pairs.iter_mut().filter(|pair| pair.name == old) {
            *pair = Pair::new(new, &pair.value());
        }
    }

    /// Sets a parameter; it replaces all of that name.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        // It takes the position of the first one.
        let first = self.pairs.iter().position(|known| known.name == name);
        self.delete(name);
        let index = first.unwrap_or(self.pairs.len());
        self.pairs.insert(index, Pair::new(name, value));
    }

    /// Adds a parameter at the end.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.pairs.push(Pair::new(name, value));
    }

    /// Replaces matches in values; `None`: in those of all names.
    pub(super) fn replace(
        &mut self,
        name: Option<&str>,
        find: &Regex,
        replace: &str,
    ) -> Result<(), TooLong> {
        let mut replacement = Replacement::new(replace);
        let is_selected = |pair: &&mut Pair<'_>| name.is_none_or(|name| pair.name == name);
        for pair in self.pairs.iter_mut().filter(is_selected) {
            let value = pair.value();
            if let Cow::Owned(replaced) = replacement.put(find, &value)? {
                *pair = Pair::new(&pair.name, &replaced);
            }
        }
        Ok(())
    }

    /// Removes all of that name.
    pub(super) fn delete(&mut self, name: &str) {
        self.pairs.retain(|pair| pair.name != name);
    }

    /// The escaped query.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.pairs.iter().map(|pair| &*pair.text).collect();
        texts.join("&")
    }
}
