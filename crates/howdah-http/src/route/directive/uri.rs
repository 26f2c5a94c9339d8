//! `rewrite` and `uri`: changes of path and query.

use std::borrow::Cow;

use howdah_config::model;
use regex::Regex;

use crate::message::path;
use crate::message::replacement::{MAX_LEN, Replacement, TooLong};
use crate::message::reply;
use crate::message::route_error::RouteError;
use crate::route::candidate::split_query;
use crate::route::context::Context;
use crate::route::directive::uri_query::{self, QueryChange};
use crate::route::handler::Handler;
use crate::route::outcome::{Outcome, Refusal};
use crate::route::purpose::Purpose;
use crate::route::text::Text;
use crate::route::variables;

/// A compiled `rewrite`.
#[derive(Debug)]
pub(super) struct Rewrite {
    path: Text,
    query: Option<Text>,
}

impl Rewrite {
    pub(super) fn compile(to: &model::Template) -> Self {
        let (path, query) = split_query(&without_fragment(to));
        Self {
            path: Text::new(&path),
            query: query.as_ref().map(Text::new),
        }
    }

    /// Whether nothing follows the question mark.
    fn has_empty_query(&self) -> bool {
        let query = self.query.as_ref();
        query.is_some_and(|query| query.constant().is_some_and(|text| text.is_empty()))
    }

    /// `Err`: the configured rewrite is not possible for this request.
    pub(super) fn apply(&self, context: &mut Context<'_>) -> Result<(), Refusal> {
        let query = self.query.as_ref();
        let new_query = query.map(|query| query.evaluate_query(context).into_owned());
        let evaluated = self.path.evaluate(context, Purpose::Uri).into_owned();
        // A placeholder such as `{uri}` may contain a query. As in Caddy it counts only before a question mark without
        // a query.
        let (new_path, own_query) = match evaluated.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (evaluated.as_str(), None),
        };
        if !new_path.is_empty() {
            set_path(new_path, context)?;
        }
        let query = match own_query {
            Some(own) if self.has_empty_query() => Some(own.to_owned()),
            _ => new_query,
        };
        if query.is_some() {
            context.query = query;
        }
        check_len(context)
    }
}

/// A fragment is not part of a request.
fn without_fragment(to: &model::Template) -> model::Template {
    let mut parts = Vec::with_capacity(to.parts.len());
    for part in &to.parts {
        match part {
            model::Part::Text(text) => {
                let path = text.split('#').next().unwrap_or_default();
                if !path.is_empty() {
                    parts.push(model::Part::Text(path.to_owned()));
                }
                if path.len() < text.len() {
                    break;
                }
            }
            placeholder @ model::Part::Placeholder(_) => parts.push(placeholder.clone()),
        }
    }
    model::Template { parts }
}

/// A compiled [`model::UriChange`].
#[derive(Debug)]
pub(super) enum UriChange {
    StripPrefix(Text),
    StripSuffix(Text),
    Replace {
        find: Text,
        replace: Text,
        limit: Option<usize>,
    },
    Regexp {
        find: Regex,
        replace: Text,
    },
    Query(Box<[QueryChange]>),
}

impl UriChange {
    pub(super) fn compile(change: &model::UriChange) -> Result<Self, RouteError> {
        Ok(match change {
            model::UriChange::StripPrefix(prefix) => Self::StripPrefix(Text::new(prefix)),
            model::UriChange::StripSuffix(suffix) => Self::StripSuffix(Text::new(suffix)),
            model::UriChange::Replace {
                find,
                replace,
                limit,
            } => Self::Replace {
                find: Text::new(find),
                replace: Text::new(replace),
                limit: *limit,
            },
            model::UriChange::Regexp { find, replace } => Self::Regexp {
                find: variables::compile(find)?,
                replace: Text::new(replace),
            },
            model::UriChange::Query(changes) => {
                let changes = changes.iter().map(QueryChange::compile);
                Self::Query(changes.collect::<Result<_, _>>()?)
            }
        })
    }

    pub(super) fn apply(&self, context: &mut Context<'_>) -> Result<(), Refusal> {
        match self {
            Self::StripPrefix(prefix) => {
                let prefix = prefix.evaluate(context, Purpose::File);
                // The leading slash is optional.
                strip_prefix(prefix.trim_start_matches('/'), context);
            }
            Self::StripSuffix(suffix) => {
                let suffix = suffix.evaluate(context, Purpose::File);
                let rest = without_suffix(&context.path, &suffix);
                if let Some(rest) = rest.filter(|_| !suffix.is_empty()) {
                    let rest = path::clean(rest).into_owned();
                    let escaped = path::split_escaped(context.escaped_path(), &rest);
                    let escaped = escaped.map_or("", |(rest, _)| rest).to_owned();
                    context.set_escaped_path(rest, &escaped);
                }
            }
            Self::Replace {
                find,
                replace,
                limit,
            } => {
                let target = context.target();
                let find = find.evaluate(context, Purpose::Uri);
                let replace = replace.evaluate(context, Purpose::Uri);
                // As in Caddy, the limit applies to path and query separately.
                let (path, query) = match target.split_once('?') {
                    Some((path, query)) => (path, Some(query)),
                    None => (&*target, None),
                };
                let limit = limit.unwrap_or(usize::MAX);
                let mut replaced = replace_up_to(path, &find, &replace, limit)?.into_owned();
                if let Some(query) = query {
                    replaced.push('?');
                    replaced.push_str(&replace_up_to(query, &find, &replace, limit)?);
                }
                if replaced != target {
                    set_target(&replaced, context)?;
                }
            }
            Self::Regexp { find, replace } => {
                let replace = replace.evaluate(context, Purpose::Uri);
                let path = context.escaped_path().to_owned();
                let replaced = Replacement::new(&*replace).put(find, &path)?;
                set_path(&replaced, context)?;
            }
            Self::Query(changes) => uri_query::run(changes, context)?,
        }
        check_len(context)
    }
}

/// Replaces the first `limit` occurrences of a text.
fn replace_up_to<'t>(
    text: &'t str,
    find: &str,
    replace: &str,
    limit: usize,
) -> Result<Cow<'t, str>, TooLong> {
    let found = if find.is_empty() {
        0
    } else {
        text.matches(find).take(limit).count()
    };
    if found.saturating_mul(replace.len()) > MAX_LEN {
        return Err(TooLong);
    }
    if found == 0 {
        return Ok(text.into());
    }
    Ok(text.replacen(find, replace, found).into())
}

impl Handler for Rewrite {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        Outcome::of(self.apply(context))
    }
}

impl Handler for UriChange {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        Outcome::of(self.apply(context))
    }
}

/// `uri strip_prefix` in its short form: the prefix is constant, without slashes around it.
#[derive(Debug)]
pub(super) struct StripPrefix(pub(super) String);

impl Handler for StripPrefix {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        strip_prefix(&self.0, context);
        Outcome::Next
    }
}

/// Removes `prefix`, which has no leading slash, and keeps the escapes in the rest.
fn strip_prefix(prefix: &str, context: &mut Context<'_>) {
    let rest = without_prefix(&context.path[1..], prefix);
    let Some(rest) = rest.filter(|_| !prefix.is_empty()) else {
        return;
    };
    let stripped = &context.path[..context.path.len() - rest.len()];
    let escaped = path::split_escaped(context.escaped_path(), stripped);
    let rest = path::clean(rest).into_owned();
    let escaped = escaped.map_or("", |(_, rest)| rest.trim_start_matches('/'));
    let escaped = format!("/{escaped}");
    context.set_escaped_path(rest, &escaped);
}

/// What follows `prefix`. Case does not matter, as in path matchers.
fn without_prefix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let mut rest = path.chars();
    let found = prefix
        .chars()
        .all(|expected| rest.next().is_some_and(|char| is_same(char, expected)));
    found.then_some(rest.as_str())
}

/// What precedes `suffix`; see [`without_prefix`].
fn without_suffix<'p>(path: &'p str, suffix: &str) -> Option<&'p str> {
    let mut rest = path.chars();
    let found = suffix
        .chars()
        .rev()
        .all(|expected| rest.next_back().is_some_and(|char| is_same(char, expected)));
    found.then_some(rest.as_str())
}

fn is_same(one: char, other: char) -> bool {
    one == other || one.to_lowercase().eq(other.to_lowercase())
}

fn set_path(escaped: &str, context: &mut Context<'_>) -> Result<(), Refusal> {
    match path::normalise(escaped) {
        Ok(path) => {
            context.set_escaped_path(path.into_owned(), escaped);
            Ok(())
        }
        Err(error) => Err(Box::new(reply::bad_request(&error.to_string()))),
    }
}

fn set_target(target: &str, context: &mut Context<'_>) -> Result<(), Refusal> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    set_path(path, context)?;
    if query != context.query() {
        context.query = Some(query.to_owned());
    }
    Ok(())
}

/// Limits the length: a configuration may have many changes, and each can multiply it.
fn check_len(context: &Context<'_>) -> Result<(), Refusal> {
    if context.path.len() + context.query().len() > MAX_LEN {
        return Err(TooLong.into());
    }
    Ok(())
}

impl From<TooLong> for Refusal {
    fn from(_: TooLong) -> Self {
        Self::new(reply::uri_too_long(
            "the configuration made the URI too long",
        ))
    }
}
