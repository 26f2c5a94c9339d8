//! The clock, the environment and the shutdown of the server.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_config::model::SystemPart;

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

/// `Sun, 06 Nov 1994 08:49:37 GMT` with its fields in another order.
pub(super) fn common_log_time(text: &mut String, at: SystemTime) {
    let date = httpdate::fmt_http_date(at);
    let mut fields = date.split(' ').skip(1);
    let mut next = || fields.next().unwrap_or_default();
    let (day, month, year, time) = (next(), next(), next(), next());
    show(text, format_args!("{day}/{month}/{year}:{time} +0000"));
}

pub(super) fn year(text: &mut String, at: SystemTime) {
    let date = httpdate::fmt_http_date(at);
    text.push_str(date.split(' ').nth(3).unwrap_or_default());
}

/// A fact about the machine or the process.
pub(super) fn system(text: &mut String, part: SystemPart) {
    match part {
        SystemPart::Hostname => text.push_str(hostname()),
        SystemPart::Os => text.push_str(std::env::consts::OS),
        SystemPart::Arch => text.push_str(match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }),
        SystemPart::Slash => text.push('/'),
        SystemPart::WorkingDirectory => {
            let directory = std::env::current_dir().unwrap_or_default();
            text.push_str(&directory.to_string_lossy());
        }
    }
}

/// The name of the machine, read once.
fn hostname() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
        name.unwrap_or_default().trim_end().to_owned()
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_logs() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let mut text = String::new();
        common_log_time(&mut text, at);
        text.push(' ');
        year(&mut text, at);
        assert_eq!(text, "06/Nov/1994:08:49:37 +0000 1994");
    }
}
