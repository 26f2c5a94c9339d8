//! The error or the response that routes are run for.

use std::sync::Arc;

use howdah_config::model::UpstreamPart;

use crate::message::upstream_note::UpstreamNote;
use crate::route::context::Context;

pub(super) fn error_status(text: &mut String, context: &Context<'_>) {
    if let Some(problem) = context.problem {
        text.push_str(problem.status.as_str());
    }
}

pub(super) fn error_text(text: &mut String, context: &Context<'_>) {
    let reason = context
        .problem
        .and_then(|problem| problem.status.canonical_reason());
    text.push_str(reason.unwrap_or(""));
}

pub(super) fn error_message(text: &mut String, context: &Context<'_>) {
    text.push_str(context.problem.map_or("", |problem| &problem.message));
}

/// The id by which the log has the cause.
pub(super) fn error_id(text: &mut String, context: &Context<'_>) {
    if context.problem.is_some() {
        super::show(text, format_args!("{:016x}", context.id));
    }
}

pub(super) fn status(text: &mut String, context: &Context<'_>) {
    if let Some(response) = context.response {
        text.push_str(response.status.as_str());
    }
}

pub(super) fn status_text(text: &mut String, context: &Context<'_>) {
    let reason = context
        .response
        .and_then(|response| response.status.canonical_reason());
    text.push_str(reason.unwrap_or(""));
}

pub(super) fn header(text: &mut String, context: &Context<'_>, name: &str) {
    let value = context
        .response
        .and_then(|response| response.headers.get(name));
    if let Some(value) = value {
        text.push_str(&howdah_cgi::text_of(value.as_bytes()));
    }
}

/// Empty until an upstream has responded: `header_up`, `header` and `log_append` insert it later.
pub(super) fn upstream(text: &mut String, context: &Context<'_>, part: UpstreamPart) {
    let note = context
        .response
        .and_then(|response| response.extensions.get::<Arc<UpstreamNote>>());
    if let Some(note) = note {
        note.push(text, part, false);
    }
}
