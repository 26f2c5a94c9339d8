//! Path and query of the request, current and original.

use std::borrow::Cow;

use crate::message::path;
use crate::route::context::Context;
use crate::route::parameters::escaped;
use crate::route::purpose::Purpose;

pub(super) fn path<'c>(context: &'c Context<'_>, purpose: Purpose) -> Cow<'c, str> {
    match purpose {
        Purpose::Uri => Cow::Borrowed(context.escaped_path()),
        Purpose::File | Purpose::Setting => Cow::Borrowed(&*context.path),
    }
}

/// The path before rewrites.
pub(super) fn original_path<'c>(context: &'c Context<'_>, purpose: Purpose) -> Cow<'c, str> {
    let path = context.original.uri.path();
    match purpose {
        Purpose::Uri => Cow::Borrowed(path),
        // A path that cannot be decoded was refused before routes ran.
        Purpose::File | Purpose::Setting => path::normalise(path).unwrap_or(Cow::Borrowed(path)),
    }
}

pub(super) fn file(text: &mut String, path: &str) {
    text.push_str(last_segment(path));
}

pub(super) fn directory(text: &mut String, path: &str) {
    text.push_str(&path[..=path.rfind('/').unwrap_or(0)]);
}

/// The last segment without its extension.
pub(super) fn base(text: &mut String, path: &str) {
    text.push_str(split_extension(path).0);
}

/// The extension of the last segment, with its dot.
pub(super) fn extension(text: &mut String, path: &str) {
    text.push_str(split_extension(path).1);
}

fn split_extension(path: &str) -> (&str, &str) {
    let file = last_segment(path);
    file.split_at(file.rfind('.').unwrap_or(file.len()))
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or("")
}

pub(super) fn element(text: &mut String, path: &str, index: usize) {
    let element = path.trim_start_matches('/').split('/').nth(index);
    text.push_str(element.unwrap_or(""));
}

pub(super) fn uri(text: &mut String, context: &Context<'_>) {
    text.push_str(&path(context, Purpose::Uri));
    prefixed_query(text, context);
}

pub(super) fn original(text: &mut String, context: &Context<'_>) {
    text.push_str(context.original.uri.path());
    original_prefixed_query(text, context);
}

pub(super) fn prefixed_query(text: &mut String, context: &Context<'_>) {
    let query = context.query();
    if !query.is_empty() {
        text.push('?');
        text.push_str(query);
    }
}

pub(super) fn original_prefixed_query(text: &mut String, context: &Context<'_>) {
    if let Some(query) = context.original.uri.query() {
        text.push('?');
        text.push_str(query);
    }
}

/// All values of a parameter, decoded.
pub(super) fn query_value(text: &mut String, context: &Context<'_>, name: &str) {
    text.push_str(&context.query_value(name).unwrap_or_default());
}

pub(super) fn escape(text: &mut String, value: &str) {
    text.push_str(&escaped(value));
}
