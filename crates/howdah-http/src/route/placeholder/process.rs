//! The clock, the environment and the shutdown of the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::show;
use crate::message::duration::duration;
use crate::route::context::Context;

pub(super) fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

pub(super) fn http_time(text: &mut String) {
    show(text, httpdate::HttpDate::from(SystemTime::now()));
}

/// A variable of the environment.
pub(super) fn variable(text: &mut String, name: &str) {
    // A name with `=` or NUL is not valid; `var_os` would panic on it.
    if !name.is_empty() && !name.contains(['=', '\0']) {
        let value = std::env::var_os(name).unwrap_or_default();
        text.push_str(&value.to_string_lossy());
    }
}

pub(super) fn shutting_down(text: &mut String, context: &Context<'_>) {
    let left = context.shutdown.closes_in();
    if left.is_none() {
        context.shutdown.count_poll();
    }
    text.push_str(if left.is_some() { "true" } else { "false" });
}

pub(super) fn time_until_shutdown(text: &mut String, context: &Context<'_>) {
    if let Some(left) = context.shutdown.closes_in() {
        text.push_str(&duration(left));
    }
}
