//! Durations in the format that Caddy's users know.

use std::fmt::Write;
use std::time::Duration;

/// Like [`duration`], with microseconds below a second: `0.712ms`.
pub(crate) fn precise_duration(time: Duration) -> String {
    if time.as_secs() > 0 {
        return duration(time);
    }
    format!("{:.3}ms", time.as_secs_f64() * 1e3)
}

/// In Go's format, which Caddy's users know, to the millisecond: `850ms`, `4.2s`, `1m0.5s`.
pub(crate) fn duration(time: Duration) -> String {
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

/// In milliseconds: `12.345`.
pub(crate) fn push_milliseconds(text: &mut String, time: Option<Duration>) {
    if let Some(time) = time {
        // Writing to a String cannot fail.
        let _ = write!(text, "{:.3}", time.as_secs_f64() * 1e3);
    }
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
        for (microseconds, shown) in [(712, "0.712ms"), (12_000, "12.000ms"), (4_200_000, "4.2s")] {
            assert_eq!(precise_duration(Duration::from_micros(microseconds)), shown);
        }
    }
}
