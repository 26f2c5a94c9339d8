//! Header, host, ids and variables of the request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use howdah_cgi::text_of;
use howdah_config::model::FileMatch;

use super::show;
use crate::message::path;
use crate::route::context::Context;
use crate::route::purpose::Purpose;

pub(super) fn host(text: &mut String, context: &Context<'_>) {
    text.push_str(context.host().map_or("", |host| host.name));
}

pub(super) fn host_port(text: &mut String, context: &Context<'_>) {
    if let Some(host) = context.host() {
        text.push_str(host.name);
        if let Some(port) = host.port {
            text.push(':');
            show(text, port);
        }
    }
}

/// A label of the host; 0 is the last one.
pub(super) fn host_label(text: &mut String, context: &Context<'_>, index: usize) {
    let host = context.host().map_or("", |host| host.name);
    text.push_str(host.rsplit('.').nth(index).unwrap_or(""));
}

pub(super) fn port(text: &mut String, context: &Context<'_>) {
    let port = context.host().and_then(|host| host.port);
    show(text, port.unwrap_or(context.connection.local.port()));
}

pub(super) fn protocol(text: &mut String, context: &Context<'_>) {
    show(text, format_args!("{:?}", context.original.version));
}

/// All values of a header field.
pub(super) fn header(text: &mut String, context: &Context<'_>, name: &str) {
    if name == "host" {
        return host_port(text, context);
    }
    let mut values = context.parts().headers.get_all(name).iter();
    if let Some(first) = values.next() {
        text.push_str(&text_of(first.as_bytes()));
    }
    for value in values {
        text.push(',');
        text.push_str(&text_of(value.as_bytes()));
    }
}

pub(super) fn cookie(text: &mut String, context: &Context<'_>, name: &str) {
    let value = context.cookie(name).unwrap_or("");
    let quoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    text.push_str(quoted.unwrap_or(value));
}

/// Where it is not UTF-8, replacement characters.
pub(super) fn body(text: &mut String, context: &Context<'_>) {
    if let Some(body) = context.body() {
        text.push_str(&String::from_utf8_lossy(body));
    }
}

pub(super) fn body_base64(text: &mut String, context: &Context<'_>) {
    if let Some(body) = context.body() {
        STANDARD.encode_string(body, text);
    }
}

pub(super) fn trace_id(text: &mut String, context: &Context<'_>) {
    if let Some(trace) = &context.trace {
        show(text, trace.context.trace);
    }
}

pub(super) fn span_id(text: &mut String, context: &Context<'_>) {
    if let Some(trace) = &context.trace {
        show(text, format_args!("{:016x}", trace.context.span));
    }
}

pub(super) fn variable(text: &mut String, context: &Context<'_>, name: &str, purpose: Purpose) {
    if let Some(var) = context.notes.var(name) {
        text.push_str(var.of(purpose));
    }
}

/// What a group of a regular expression has matched.
pub(super) fn group(
    text: &mut String,
    context: &Context<'_>,
    (name, group): (&str, &str),
    purpose: Purpose,
) {
    context.notes.with_group(name, group, |found, of_path| {
        if of_path && purpose == Purpose::Uri {
            text.push_str(&path::encode(found));
        } else {
            text.push_str(found);
        }
    });
}

/// A part of the file that a `file` matcher has found.
pub(super) fn file_match(
    text: &mut String,
    context: &Context<'_>,
    part: FileMatch,
    purpose: Purpose,
) {
    context.notes.with_file(|file| {
        let found = match part {
            FileMatch::Relative => &file.relative,
            FileMatch::Absolute => &file.absolute,
            FileMatch::Remainder => &file.remainder,
            FileMatch::Type if file.is_directory => "directory",
            FileMatch::Type => "file",
        };
        if purpose == Purpose::Uri {
            text.push_str(&path::encode(found));
        } else {
            text.push_str(found);
        }
    });
}
