//! The clock, the environment and the shutdown of the server.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::show;
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

/// In the words of Go, which Caddy's users know, to the millisecond: `850ms`, `4.2s`, `1m0.5s`.
fn duration(time: Duration) -> String {
    let milliseconds = time.as_millis();
    if (1..1000).contains(&milliseconds) {
        return format!("{milliseconds}ms");
    }
    let (seconds, fraction) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let mut text = String::new();
    // Writing to a String cannot fail.
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if seconds >= 60 {
        let _ = write!(text, "{minutes}m");
    }
    let _ = write!(text, "{}", seconds % 60);
    if fraction > 0 {
        let _ = write!(text, ".{}", format!("{fraction:03}").trim_end_matches('0'));
    }
    text.push('s');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_the_words_of_go() {
        for (milliseconds, shown) in [
            (0, "0s"),
            (850, "850ms"),
            (1_000, "1s"),
            (4_200, "4.2s"),
            (29_842, "29.842s"),
            (60_500, "1m0.5s"),
            (3_600_000, "1h0m0s"),
            (90_061_001, "25h1m1.001s"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), shown);
        }
    }
}
