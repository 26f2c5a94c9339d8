//! Changes of a header that are applied later, when the header is complete.

use std::rc::Rc;

use howdah_observe::usage::UsageSoFar;
use http::HeaderMap;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use regex::bytes::Regex;

use super::deferred_text::{DeferredText, Figures};
use super::pattern::Pattern;
use super::replacement::Replacement;
use super::single_fields::SINGULAR;
use super::upstream_note::UpstreamNote;

const EMPTY: HeaderValue = HeaderValue::from_static("");

/// What to do with which field.
#[derive(Debug)]
pub(crate) enum Change {
    Set(HeaderName),
    Add(HeaderName),
    Default(HeaderName),
    Remove(HeaderName),
    RemoveMatching(Pattern),
    /// `None`: in all fields.
    Replace(Option<HeaderName>),
}

/// A change with its value for one request.
#[derive(Debug)]
pub(crate) struct PendingChange {
    pub(crate) change: Rc<Change>,
    /// `None` if the change needs no value.
    pub(crate) value: Option<PendingValue>,
    /// The pattern of a replacement.
    pub(crate) find: Option<Regex>,
}

/// The value of a change.
#[derive(Debug)]
pub(crate) enum PendingValue {
    Known(HeaderValue),
    /// That of this field of the response, all of its values joined by commas.
    Field(HeaderName),
    /// Contains no characters that a header may not have.
    Deferred(DeferredText),
}

impl PendingValue {
    fn into_header(self, headers: &HeaderMap, response: &ResponseSoFar<'_>) -> HeaderValue {
        match self {
            Self::Known(value) => value,
            Self::Field(name) => {
                let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
                let joined = values.collect::<Vec<_>>().join(&b","[..]);
                // Valid values and commas.
                HeaderValue::from_bytes(&joined).unwrap_or(EMPTY)
            }
            Self::Deferred(text) => {
                let figures = Figures {
                    duration: text.elapsed(),
                    status: response.status,
                    bytes: None,
                    php: response.php,
                    upstream: response.upstream,
                };
                header_value(&text, &figures)
            }
        }
    }
}

/// The known data of a response when its header is changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ResponseSoFar<'a> {
    /// 0 if the header is that of a request.
    pub(crate) status: u16,
    /// The cost of the request so far, if PHP runs it and that was measured.
    pub(crate) php: Option<UsageSoFar>,
    /// The upstream that has responded.
    pub(crate) upstream: Option<&'a UpstreamNote>,
    /// Fields that the server has added by itself, if there are immediate changes.
    pub(crate) own_fields: &'a [Option<HeaderName>],
}

/// The changes of one response.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Changes of an upstream's response, applied first.
    down: Vec<PendingChange>,
    /// Applied as if made before the response: a field of the application is sent in addition.
    immediate: Vec<PendingChange>,
    /// Changes by routes that ran after the response had arrived.
    later: Vec<PendingChange>,
    /// Applied last, in this order: the changes of `header`, from the last directive to the first.
    deferred: Vec<PendingChange>,
}

/// Whether a response may have only one such field: the field of `header` then replaces the application's.
fn is_single(name: &HeaderName) -> bool {
    SINGULAR.contains(name) || matches!(*name, CONTENT_ENCODING | CONTENT_LENGTH)
}

/// Removes the fields whose names match.
pub(crate) fn remove_where(headers: &mut HeaderMap, is_doomed: impl Fn(&HeaderName) -> bool) {
    let doomed = headers.keys().filter(|name| is_doomed(name));
    for name in doomed.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
}

/// The fields that exist before the response. A replacement among the immediate changes finds only these, as in Caddy.
#[derive(Default)]
struct Before {
    fields: HeaderMap,
    /// Those that replace a field of the response.
    set: Vec<HeaderName>,
}

impl Before {
    fn apply(
        &mut self,
        pending: PendingChange,
        headers: &mut HeaderMap,
        response: &ResponseSoFar<'_>,
    ) {
        match &*pending.change {
            Change::Set(name) => self.set.push(name.clone()),
            Change::Add(_) => {}
            Change::Replace(_) => self.take_own(headers, response),
            _ => return pending.apply(headers, response),
        }
        pending.apply(&mut self.fields, response);
    }

    /// Takes over the fields that the server has added by itself.
    fn take_own(&mut self, headers: &HeaderMap, response: &ResponseSoFar<'_>) {
        for name in response.own_fields.iter().flatten() {
            if !self.set.contains(name)
                && let Some(value) = headers.get(name)
            {
                self.fields.insert(name, value.clone());
                self.set.push(name.clone());
            }
        }
    }

    /// Inserts the fields before those of the same name, or in place of them.
    fn insert_into(self, headers: &mut HeaderMap, is_foreign: bool) {
        let Self { fields, set } = self;
        for name in set {
            if (!is_foreign || is_single(&name)) && fields.contains_key(&name) {
                headers.remove(&name);
            }
        }
        prepend(&fields, headers);
    }
}

impl Changes {
    /// Adds changes after the existing ones.
    pub(crate) fn add(&mut self, changes: Vec<PendingChange>) {
        self.immediate.extend(changes);
    }

    /// Whether there are changes that are made before the response.
    pub(crate) fn has_immediate(&self) -> bool {
        !self.immediate.is_empty()
    }

    /// Adds the changes of `header_down`.
    pub(crate) fn add_down(&mut self, changes: Vec<PendingChange>) {
        self.down.extend(changes);
    }

    /// Adds the deferred changes of one `header`.
    pub(crate) fn defer(&mut self, changes: Vec<PendingChange>) {
        self.deferred.splice(0..0, changes);
    }

    /// Adds the changes of routes that ran later.
    pub(crate) fn append(&mut self, later: Self) {
        self.down.extend(later.down);
        self.later.extend(later.immediate);
        self.defer(later.deferred);
    }

    /// Whether a change contains what the request costs.
    pub(crate) fn has_figures(&self) -> bool {
        let all = [&self.down, &self.immediate, &self.later, &self.deferred];
        let is_late = |change: &PendingChange| match &change.value {
            Some(PendingValue::Deferred(text)) => text.has_figures(),
            _ => false,
        };
        all.into_iter().flatten().any(is_late)
    }

    /// `is_foreign`: the response is an [`ExternalResponse`](super::response::ExternalResponse).
    pub(crate) fn apply(
        self,
        headers: &mut HeaderMap,
        is_foreign: bool,
        response: &ResponseSoFar<'_>,
    ) {
        for change in self.down {
            change.apply(headers, response);
        }
        let mut before = Before::default();
        for change in self.immediate {
            before.apply(change, headers, response);
        }
        before.insert_into(headers, is_foreign);
        for change in self.later.into_iter().chain(self.deferred) {
            change.apply(headers, response);
        }
    }
}

impl PendingChange {
    /// Like [`PendingChange::apply`], for a request that goes to `upstream`.
    pub(crate) fn apply_for(&self, upstream: &UpstreamNote, headers: &mut HeaderMap) {
        let value = match &self.value {
            Some(PendingValue::Known(value)) => Some(value.clone()),
            Some(PendingValue::Deferred(text)) => {
                let upstream = Some(upstream);
                let figures = Figures {
                    upstream,
                    ..Figures::default()
                };
                Some(header_value(text, &figures))
            }
            _ => None,
        };
        self.change.apply(value, self.find.as_ref(), headers);
    }

    pub(crate) fn apply(self, headers: &mut HeaderMap, response: &ResponseSoFar<'_>) {
        let value = self.value.map(|value| value.into_header(headers, response));
        self.change.apply(value, self.find.as_ref(), headers);
    }
}

impl Change {
    fn apply(&self, value: Option<HeaderValue>, find: Option<&Regex>, headers: &mut HeaderMap) {
        match self {
            Self::Set(name) => {
                headers.insert(name, value.unwrap_or(EMPTY));
            }
            Self::Add(name) => {
                headers.append(name, value.unwrap_or(EMPTY));
            }
            Self::Default(name) => {
                if !headers.contains_key(name) {
                    headers.insert(name, value.unwrap_or(EMPTY));
                }
            }
            Self::Remove(name) => {
                headers.remove(name);
            }
            Self::RemoveMatching(pattern) => {
                remove_where(headers, |name| pattern.matches(name.as_str()));
            }
            Self::Replace(name) => {
                let Some(find) = find else { return };
                let replacement = value.as_ref().map_or(&b""[..], HeaderValue::as_bytes);
                if let Some(name) = name {
                    return replace_in(headers, name, find, replacement);
                }
                // Fields that delimit the body are the server's.
                let frames = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];
                let names: Vec<HeaderName> = headers.keys().cloned().collect();
                for name in names.iter().filter(|name| !frames.contains(name)) {
                    replace_in(headers, name, find, replacement);
                }
            }
        }
    }
}

fn replace_in(headers: &mut HeaderMap, name: &HeaderName, find: &Regex, replacement: &[u8]) {
    let values = headers.get_all(name).iter();
    let values: Vec<HeaderValue> = values
        .filter_map(|value| replace(value, find, replacement))
        .collect();
    headers.remove(name);
    for value in values {
        headers.append(name, value);
    }
}

/// The text as a value; any name of an upstream and all figures are valid ones.
fn header_value(text: &DeferredText, figures: &Figures<'_>) -> HeaderValue {
    HeaderValue::from_bytes(&howdah_cgi::bytes_of(&text.text(figures))).unwrap_or(EMPTY)
}

/// Inserts fields before those of the same name.
fn prepend(fields: &HeaderMap, headers: &mut HeaderMap) {
    for name in fields.keys() {
        let previous: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
        headers.remove(name);
        for value in fields.get_all(name).iter().cloned().chain(previous) {
            headers.append(name, value);
        }
    }
}

/// `None`: the value would be too long.
fn replace(value: &HeaderValue, regex: &Regex, replacement: &[u8]) -> Option<HeaderValue> {
    let Ok(replaced) = Replacement::new(replacement).put(regex, value.as_bytes()) else {
        tracing::warn!("a header field was dropped: its value is too long after the replacement");
        return None;
    };
    // Both texts are valid values, so the result is one too.
    Some(HeaderValue::from_bytes(&replaced).unwrap_or_else(|_| value.clone()))
}
