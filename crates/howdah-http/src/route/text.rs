//! Text with placeholders. Text without placeholders costs one reference count per request.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Instant;

use howdah_config::model::{Part, Placeholder, Template};

use super::context::Context;
use super::parameters::escaped;
use super::placeholder::push;
use super::purpose::Purpose;
use crate::message::deferred_text::{DeferredPart, DeferredText};

/// A compiled [`Template`].
#[derive(Debug)]
pub(crate) enum Text {
    Constant(Rc<str>),
    Parts(Box<[Part]>),
}

impl Text {
    pub(crate) fn new(template: &Template) -> Self {
        match template.as_text() {
            Some(text) => Self::Constant(text.into()),
            None => Self::Parts(template.parts.clone().into()),
        }
    }

    pub(crate) fn constant(&self) -> Option<&Rc<str>> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Parts(_) => None,
        }
    }

    /// Whether it is `{path}` and nothing else.
    pub(crate) fn is_path(&self) -> bool {
        matches!(self, Self::Parts(parts)
            if matches!(&**parts, [Part::Placeholder(Placeholder::Path)]))
    }

    /// If it is `{path}` followed by a constant path: that path.
    pub(crate) fn below_path(&self) -> Option<&str> {
        match self {
            Self::Parts(parts) => match &**parts {
                [Part::Placeholder(Placeholder::Path), Part::Text(text)]
                    if text.starts_with('/') && text.len() > 1 =>
                {
                    Some(text)
                }
                _ => None,
            },
            Self::Constant(_) => None,
        }
    }

    /// Whether it contains values that are known later: the costs of a request, the upstream.
    pub(crate) fn is_deferred(&self) -> bool {
        let is_late = |part: &Part| {
            matches!(
                part,
                Part::Placeholder(Placeholder::Figure(_) | Placeholder::Upstream(_))
            )
        };
        matches!(self, Self::Parts(parts) if parts.iter().any(is_late))
    }

    /// Evaluates it as text of a path, with each placeholder's value escaped.
    pub(crate) fn evaluate_escaped(
        &self,
        context: &Context<'_>,
        escape: impl Fn(&str) -> String,
    ) -> String {
        match self {
            Self::Constant(text) => text.to_string(),
            Self::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Text(piece) => piece.clone(),
                    Part::Placeholder(placeholder) => {
                        let mut value = String::new();
                        push(&mut value, placeholder, context, Purpose::File);
                        escape(&value)
                    }
                })
                .collect(),
        }
    }

    /// Evaluates the text, except values that are known later.
    pub(crate) fn evaluate_deferred(
        &self,
        context: &Context<'_>,
        purpose: Purpose,
    ) -> DeferredText {
        let parts = match self {
            Self::Constant(text) => vec![DeferredPart::Text(text.to_string())],
            Self::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => DeferredPart::Text(text.clone()),
                    Part::Placeholder(Placeholder::Figure(figure)) => DeferredPart::Figure(*figure),
                    // In `handle_response` the upstream has responded.
                    Part::Placeholder(Placeholder::Upstream(part))
                        if context.response.is_none() =>
                    {
                        DeferredPart::Upstream(*part)
                    }
                    Part::Placeholder(placeholder) => {
                        let mut text = String::new();
                        push(&mut text, placeholder, context, purpose);
                        DeferredPart::Text(text)
                    }
                })
                .collect(),
        };
        DeferredText::new(parts, Instant::now())
    }

    pub(crate) fn evaluate(&self, context: &Context<'_>, purpose: Purpose) -> Cow<'_, str> {
        match self {
            Self::Constant(text) => Cow::Borrowed(text),
            Self::Parts(parts) => Cow::Owned(evaluate_parts(parts, context, purpose)),
        }
    }

    /// The text as a query. Values of placeholders are escaped, so that they cannot add parameters; `{query}` is whole
    /// parameters where one begins, as in `a=1&{query}`.
    pub(crate) fn evaluate_query(&self, context: &Context<'_>) -> Cow<'_, str> {
        let Self::Parts(parts) = self else {
            return self.evaluate(context, Purpose::Uri);
        };
        let mut query = String::with_capacity(64);
        let mut value = String::new();
        let mut in_name = true;
        // If nothing follows an `&`, it is left out.
        let mut separator = false;
        for part in parts {
            match part {
                Part::Text(text) => {
                    for piece in text.split_inclusive('&') {
                        let (piece, ends) = match piece.strip_suffix('&') {
                            Some(piece) => (piece, true),
                            None => (piece, false),
                        };
                        append(&mut query, piece, &mut separator);
                        in_name = ends || (in_name && !piece.contains('='));
                        separator |= ends;
                    }
                }
                Part::Placeholder(Placeholder::Query) if in_name => {
                    append(&mut query, context.query(), &mut separator);
                }
                Part::Placeholder(placeholder) => {
                    value.clear();
                    push(&mut value, placeholder, context, Purpose::File);
                    append(&mut query, &escaped(&value), &mut separator);
                }
            }
        }
        Cow::Owned(query)
    }

    /// The text as a document root. `None` if a part from the client could lead outside.
    pub(crate) fn evaluate_root(&self, context: &Context<'_>) -> Option<Cow<'_, str>> {
        let Self::Parts(parts) = self else {
            return Some(self.evaluate(context, Purpose::File));
        };
        let mut text = String::with_capacity(64);
        for part in parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Placeholder(placeholder) => {
                    let start = text.len();
                    push(&mut text, placeholder, context, Purpose::File);
                    let value = &text[start..];
                    // A variable can contain a value from the client.
                    let ours = matches!(placeholder, Placeholder::Env(_) | Placeholder::Root);
                    if !ours && (matches!(value, "" | "." | "..") || value.contains(['/', '\0'])) {
                        return None;
                    }
                }
            }
        }
        // Two harmless parts can form `..` together.
        (!text.split('/').any(|segment| segment == "..")).then_some(Cow::Owned(text))
    }
}

fn evaluate_parts(parts: &[Part], context: &Context<'_>, purpose: Purpose) -> String {
    let mut text = String::with_capacity(64);
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(piece),
            Part::Placeholder(placeholder) => {
                let start = text.len();
                push(&mut text, placeholder, context, purpose);
                if purpose == Purpose::Setting {
                    let ends = |char: char| char == '\'' || char.is_control();
                    let value = text.split_off(start);
                    text.extend(value.chars().filter(|char| !ends(*char)));
                }
            }
        }
    }
    if purpose == Purpose::Setting {
        text = without_empty_quotes(text);
    }
    text
}

/// Empty quotes become nothing, since PHP does not accept them as a value.
fn without_empty_quotes(mut text: String) -> String {
    if text.ends_with("=''") {
        text.truncate(text.len() - 2);
    }
    text.replace("=''\n", "=\n")
}

/// Appends a piece of a query, after the pending `&`.
fn append(query: &mut String, piece: &str, separator: &mut bool) {
    if piece.is_empty() {
        return;
    }
    if std::mem::take(separator) && !query.is_empty() {
        query.push('&');
    }
    query.push_str(piece);
}
