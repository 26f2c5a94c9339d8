//! Times in a layout of Go.

use std::fmt::Write as _;

use howdah_config::model::{Padding, TimeLayout, TimePart};
use time::OffsetDateTime;

/// Appends a time.
pub(super) fn push(text: &mut String, at: OffsetDateTime, layout: &TimeLayout) {
    for part in &layout.0 {
        push_part(text, at, part);
    }
}

fn push_part(text: &mut String, at: OffsetDateTime, part: &TimePart) {
    let half_day_hour = (at.hour() + 11) % 12 + 1;
    // Writing to a `String` cannot fail.
    let _ = match part {
        TimePart::Text(plain) => text.write_str(plain),
        TimePart::Year => write!(text, "{:04}", at.year()),
        TimePart::ShortYear => write!(text, "{:02}", at.year() % 100),
        TimePart::Month { is_padded } => number(text, u8::from(at.month()), *is_padded),
        TimePart::MonthName { is_short } => name(text, &at.month().to_string(), *is_short),
        TimePart::Weekday { is_short } => name(text, &at.weekday().to_string(), *is_short),
        TimePart::Day(padding) => padded(text, at.day().into(), 2, *padding),
        TimePart::DayOfYear(padding) => padded(text, at.ordinal(), 3, *padding),
        TimePart::Hour => write!(text, "{:02}", at.hour()),
        TimePart::HalfDayHour { is_padded } => number(text, half_day_hour, *is_padded),
        TimePart::HalfDay { is_lower } => text.write_str(match (at.hour() >= 12, is_lower) {
            (true, false) => "PM",
            (true, true) => "pm",
            (false, false) => "AM",
            (false, true) => "am",
        }),
        TimePart::Minute { is_padded } => number(text, at.minute(), *is_padded),
        TimePart::Second { is_padded } => number(text, at.second(), *is_padded),
        TimePart::Fraction {
            separator,
            digits,
            is_trimmed,
        } => {
            let nanos = format!("{:09}", at.nanosecond());
            let shown = nanos.get(..*digits).unwrap_or(&nanos);
            let shown = if *is_trimmed {
                shown.trim_end_matches('0')
            } else {
                shown
            };
            if !shown.is_empty() {
                text.push(*separator);
            }
            text.write_str(shown)
        }
    };
}

fn number(text: &mut String, value: u8, is_padded: bool) -> std::fmt::Result {
    let padding = if is_padded {
        Padding::Zero
    } else {
        Padding::None
    };
    padded(text, value.into(), 2, padding)
}

fn padded(text: &mut String, value: u16, size: usize, padding: Padding) -> std::fmt::Result {
    match padding {
        Padding::None => write!(text, "{value}"),
        Padding::Zero => write!(text, "{value:0size$}"),
        Padding::Space => write!(text, "{value:size$}"),
    }
}

fn name(text: &mut String, name: &str, is_short: bool) -> std::fmt::Result {
    let short = name.get(..3).unwrap_or(name);
    text.write_str(if is_short { short } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Go 1.26 writes them, in UTC.
    #[test]
    fn layouts() {
        // Saturday.
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_793_477_045_067_000_890);
        let at = at.expect("a moment");
        for (layout, expected) in [
            ("2006-01-02T15:04:05Z07:00", "2026-10-31T20:04:05Z"),
            ("2006-01-02 15:04:05", "2026-10-31 20:04:05"),
            ("02/Jan/2006:15:04:05 -0700", "31/Oct/2026:20:04:05 +0000"),
            (
                "Mon, 02 Jan 2006 15:04:05 MST",
                "Sat, 31 Oct 2026 20:04:05 UTC",
            ),
            (
                "Monday January _2 __2 002 06 15h",
                "Saturday October 31 304 304 26 20h",
            ),
            ("2006 1 2 3:4:5pm", "2026 10 31 8:4:5pm"),
            ("03:04:05PM", "08:04:05PM"),
            ("15:04:05.000", "20:04:05.067"),
            ("15:04:05,000000", "20:04:05,067000"),
            ("15:04:05.999999", "20:04:05.067"),
            ("15:04:05.999999999", "20:04:05.06700089"),
            ("15:04:05.99", "20:04:05.06"),
            ("15:04:05.9", "20:04:05"),
            ("log_2006 at 15h04", "log_2026 at 20h04"),
            ("Month Janet 15", "Month Janet 20"),
        ] {
            let layout = TimeLayout::parse(layout).expect(layout);
            let mut text = String::new();
            push(&mut text, at, &layout);
            assert_eq!(text, expected, "{layout:?}");
        }
    }

    #[test]
    fn names_are_no_layouts() {
        for text in [
            "",
            "iso8061",
            "rfc3339x",
            "wall_mili",
            "unix",
            "january",
            "\"2006\"",
        ] {
            assert_eq!(TimeLayout::parse(text), None, "{text}");
        }
    }
}
