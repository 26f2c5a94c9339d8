//! Times as text, in UTC.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_config::model::TimeFormat;
use time::OffsetDateTime;

use super::layout;

/// The calendar date of a time. Times before 1970, and those too late for a date, become 1970.
pub(crate) fn civil(at: SystemTime) -> OffsetDateTime {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = i128::try_from(since.as_nanos()).ok();
    nanos
        .and_then(|nanos| OffsetDateTime::from_unix_timestamp_nanos(nanos).ok())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Appends a time; one that is a number in JSON is not quoted.
pub(super) fn push_time(line: &mut String, at: SystemTime, format: &TimeFormat, quotes: bool) {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let quote = if quotes { "\"" } else { "" };
    let at = civil(at);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second, nanos) = at.to_hms_nano();
    let millis = nanos / 1_000_000;
    // Writing to a `String` cannot fail.
    let _ = match format {
        TimeFormat::UnixSeconds => write!(line, "{}.{:06}", since.as_secs(), nanos / 1000),
        TimeFormat::UnixMillis => {
            write!(line, "{}.{:06}", since.as_millis(), nanos % 1_000_000)
        }
        TimeFormat::UnixNanos => write!(line, "{}", since.as_nanos()),
        TimeFormat::Iso8601 => write!(
            line,
            "{quote}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z{quote}"
        ),
        TimeFormat::Rfc3339 => write!(
            line,
            "{quote}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z{quote}"
        ),
        TimeFormat::Rfc3339Nanos => write!(
            line,
            "{quote}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z{quote}"
        ),
        TimeFormat::Wall => write!(
            line,
            "{quote}{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}{quote}"
        ),
        TimeFormat::WallMillis => write!(
            line,
            "{quote}{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}{quote}"
        ),
        TimeFormat::WallNanos => write!(
            line,
            "{quote}{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}.{nanos:09}{quote}"
        ),
        TimeFormat::CommonLog => {
            let name = at.month().to_string();
            write!(
                line,
                "{quote}{day:02}/{name:.3}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000{quote}"
            )
        }
        TimeFormat::Layout(layout) => {
            line.push_str(quote);
            layout::push(line, at, layout);
            line.write_str(quote)
        }
    };
}

/// A time in RFC 3339, to the second: `2006-01-02T15:04:05Z`.
pub fn rfc3339(at: SystemTime) -> String {
    let mut text = String::new();
    push_time(&mut text, at, &TimeFormat::Rfc3339, false);
    text
}

/// Go's format of durations: `1.5ms`, `2m3s` as `123s`.
pub(super) fn duration_text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, size, digits) = match nanos {
        0..1_000 => ("ns", 1, 0),
        1_000..1_000_000 => ("µs", 1_000, 3),
        1_000_000..1_000_000_000 => ("ms", 1_000_000, 6),
        _ => ("s", 1_000_000_000, 9),
    };
    let mut text = format!("{}.{:0digits$}", nanos / size, nanos % size);
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text.is_empty() {
        text.push('0');
    }
    text + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, nanos: u32) -> SystemTime {
        UNIX_EPOCH + Duration::new(seconds, nanos)
    }

    fn formatted(format: &TimeFormat, quotes: bool) -> String {
        let mut text = String::new();
        push_time(&mut text, at(1_136_214_245, 67_000_890), format, quotes);
        text
    }

    #[test]
    fn formats() {
        let table = [
            (TimeFormat::UnixSeconds, "1136214245.067000"),
            (TimeFormat::UnixMillis, "1136214245067.000890"),
            (TimeFormat::UnixNanos, "1136214245067000890"),
            (TimeFormat::Iso8601, "\"2006-01-02T15:04:05.067Z\""),
            (TimeFormat::Rfc3339, "\"2006-01-02T15:04:05Z\""),
            (
                TimeFormat::Rfc3339Nanos,
                "\"2006-01-02T15:04:05.067000890Z\"",
            ),
            (TimeFormat::Wall, "\"2006/01/02 15:04:05\""),
            (TimeFormat::WallMillis, "\"2006/01/02 15:04:05.067\""),
            (TimeFormat::WallNanos, "\"2006/01/02 15:04:05.067000890\""),
            (TimeFormat::CommonLog, "\"02/Jan/2006:15:04:05 +0000\""),
        ];
        for (format, expected) in table {
            assert_eq!(formatted(&format, true), expected);
        }
        assert_eq!(formatted(&TimeFormat::Wall, false), "2006/01/02 15:04:05");
    }

    #[test]
    fn days_at_the_edges() {
        for (seconds, expected) in [
            (0, (1970, 1, 1)),
            (951_782_400, (2000, 2, 29)),
            (951_868_800, (2000, 3, 1)),
            (1_709_164_800, (2024, 2, 29)),
            (1_735_689_599, (2024, 12, 31)),
            (4_107_542_399, (2100, 2, 28)),
            (4_107_542_400, (2100, 3, 1)),
        ] {
            let civil = civil(at(seconds, 0));
            let date = (civil.year(), u8::from(civil.month()), civil.day());
            assert_eq!(date, expected, "{seconds}");
        }
    }

    #[test]
    fn durations() {
        for (nanos, expected) in [
            (0, "0ns"),
            (20, "20ns"),
            (1_500, "1.5µs"),
            (1_000_000, "1ms"),
            (1_234_567, "1.234567ms"),
            (10_000_000_000, "10s"),
            (90_500_000_000, "90.5s"),
        ] {
            assert_eq!(duration_text(Duration::from_nanos(nanos)), expected);
        }
    }
}
