//! Parses arguments: numbers, durations, sizes and names.

use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, bad_value};

/// The longest duration: 100 years, far below the overflow of clocks.
const MAX_SECONDS: f64 = 100.0 * 365.0 * 86_400.0;

/// A whole number of at least `min`.
pub(crate) fn number<T: FromStr + PartialOrd + std::fmt::Display + Copy>(
    call: &Call<'_>,
    min: T,
) -> Result<T, Error> {
    number_or(call, min, "")
}

/// Parses a number; `or` describes the alternative in messages.
pub(crate) fn number_or<T: FromStr + PartialOrd + std::fmt::Display + Copy>(
    call: &Call<'_>,
    min: T,
    or: &str,
) -> Result<T, Error> {
    let word = call.one()?;
    word.text
        .parse()
        .ok()
        .filter(|number| *number >= min)
        .ok_or_else(|| {
            let message = format!(
                "`{}` is not a whole number for `{}`",
                word.text, call.entry.name
            );
            bad_value(
                &word.position,
                message,
                format!("give a number of at least {min}{or}"),
            )
        })
}

/// A port number.
pub(crate) fn port(word: &Word, text: &str) -> Result<u16, Error> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| {
        let message = format!("`{text}` is not a port");
        bad_value(
            &word.position,
            message,
            "a port is a number from 0 to 65535",
        )
    })
}

/// Splits `host:port`; the colons of an IPv6 address are in brackets.
pub(crate) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if host.is_empty() || !host.contains(':') || host.ends_with(']') => {
            (host, Some(port))
        }
        _ => (text, None),
    }
}

/// A duration of more than zero.
pub(crate) fn duration(call: &Call<'_>) -> Result<Duration, Error> {
    let word = call.one()?;
    match parse_duration(&word.text) {
        Some(Duration::ZERO) => Err(bad_value(
            &word.position,
            format!("`{}` cannot be zero", call.entry.name),
            "this option cannot be unlimited; give a long time such as `1h`",
        )),
        Some(duration) => Ok(duration),
        None => Err(bad_value(
            &word.position,
            format!("`{}` is not a duration", word.text),
            "write for example `30s`, `500ms`, `1h30m` or `2d`",
        )),
    }
}

/// A duration, or `None` for `0`.
pub(crate) fn unless_zero(call: &Call<'_>) -> Result<Option<Duration>, Error> {
    if parse_duration(&call.one()?.text) == Some(Duration::ZERO) {
        return Ok(None);
    }
    duration(call).map(Some)
}

/// Whether the block has the option `name`, which is the only one and takes no argument.
pub(crate) fn only_option(call: &Call<'_>, name: &str, suggestion: &str) -> Result<bool, Error> {
    let options = call.block.unwrap_or_default();
    let unknown = |option: &&Statement| option.name.text != name || !option.arguments.is_empty();
    match options.iter().find(unknown) {
        None => Ok(!options.is_empty()),
        Some(option) => Err(bad_value(
            &option.name.position,
            format!(
                "unknown option of `{}` `{}`",
                call.entry.name, option.name.text
            ),
            suggestion,
        )),
    }
}

/// A duration, or `None` for `off`.
pub(crate) fn optional_duration(call: &Call<'_>) -> Result<Option<Duration>, Error> {
    if call.one()?.text == "off" {
        return Ok(None);
    }
    duration(call).map(Some)
}

/// A size in bytes.
pub(crate) fn size(call: &Call<'_>) -> Result<u64, Error> {
    let word = call.one()?;
    match parse_size(&word.text) {
        Some(0) => Err(bad_value(
            &word.position,
            format!("`{}` cannot be zero", call.entry.name),
            "give a size such as `10MB` or `16KiB`",
        )),
        Some(size) => Ok(size),
        None => Err(bad_value(
            &word.position,
            format!("`{}` is not a size", word.text),
            "write for example `10MB` (10,000,000 bytes) or `16KiB` (16,384 bytes)",
        )),
    }
}

/// A size that this machine can address.
pub(crate) fn memory_size(call: &Call<'_>) -> Result<usize, Error> {
    let size = size(call)?;
    usize::try_from(size).map_err(|_| {
        let word = &call.arguments[0];
        bad_value(&word.position, format!("`{}` is too large", word.text), "")
    })
}

/// A status code in `range`.
pub(crate) fn status(
    word: &Word,
    text: &str,
    range: std::ops::RangeInclusive<u16>,
) -> Result<u16, Error> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|code| digits && range.contains(code))
        .ok_or_else(|| {
            bad_value(
                &word.position,
                format!("`{text}` is not a valid status code here"),
                format!("give a number from {} to {}", range.start(), range.end()),
            )
        })
}

/// The name of a header field.
pub(crate) fn header_name(word: &Word, text: &str) -> Result<String, Error> {
    if is_token(text) {
        return Ok(text.to_owned());
    }
    Err(bad_value(
        &word.position,
        format!("`{text}` is not the name of a header field"),
        "a name has letters, digits and `-`, no spaces and no colon",
    ))
}

/// Whether it is valid as a method or header name in HTTP.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Go's syntax of durations, and `d` for days: `1h30m`, `1.5h`, `500ms`, `0`.
fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() || text.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after.find(|char: char| char.is_ascii_digit() || char == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number * factor;
        rest = after;
    }
    (seconds <= MAX_SECONDS).then(|| Duration::from_secs_f64(seconds))
}

/// Parses a size as Caddy does: a number, and a unit of powers of 1000 (`kB`, `MB`) or of 1024
/// (`KiB`, `MiB`), in upper or lower case, with or without the B.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text)?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (prefix, base) = unit
        .strip_suffix('i')
        .map_or((unit, 1000_f64), |unit| (unit, 1024.0));
    let power = match prefix {
        "" if base < 1001.0 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let bytes = number * base.powi(power);
    // Both are exact up to 2^53 bytes (8 PiB), more than any limit needs.
    #[expect(clippy::cast_sign_loss, reason = "a number without a sign")]
    (bytes <= 9_007_199_254_740_992.0).then_some(bytes as u64)
}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|char: char| !char.is_ascii_digit() && char != '.')
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    Some((number.parse().ok()?, rest))
}

/// `NAME [on|off]`; without an argument it is on.
pub(crate) fn flag(call: &Call<'_>) -> Result<bool, Error> {
    match call.arguments(0, 1)? {
        [] => Ok(true),
        [word, ..] => match word.text.as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(bad_value(
                &word.position,
                format!("`{}` is not a value of `{}`", word.text, call.entry.name),
                "known are on, off",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, expected) in [
            ("0", Some(0)),
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("1h2m3s500ms", Some(3_723_500)),
            ("1.5h", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("1d12h", Some(129_600_000)),
            ("+1s", Some(1_000)),
            (".5s", Some(500)),
            ("0s", Some(0)),
            ("2000us", Some(2)),
            ("", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1x", None),
            ("1 s", None),
            ("1s ", None),
            ("1.2.3s", None),
            ("99999999999h", None),
            ("1e9s", None),
        ] {
            assert_eq!(
                parse_duration(text),
                expected.map(Duration::from_millis),
                "{text}"
            );
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("10MB", Some(10_000_000)),
            ("10 MB", Some(10_000_000)),
            ("16KiB", Some(16_384)),
            ("16kib", Some(16_384)),
            ("1.5MiB", Some(1_572_864)),
            ("4096", Some(4096)),
            ("4096B", Some(4096)),
            ("2g", Some(2_000_000_000)),
            ("1Ti", Some(1 << 40)),
            ("", None),
            ("MB", None),
            ("-1", None),
            ("1iB", None),
            ("1XB", None),
            ("9999999TB", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
