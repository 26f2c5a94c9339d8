//! Times in a layout of Go.

/// A layout of Go: the moment 2006-01-02 15:04:05 in the wanted format, such as `02/Jan/2006
/// 15:04:05`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLayout(pub Vec<TimePart>);

/// A part of a layout. Times are in UTC, so zones are text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimePart {
    /// Literal text.
    Text(String),
    /// `2006`.
    Year,
    /// `06`.
    ShortYear,
    /// `1`, or zero-padded `01`.
    Month {
        /// Two digits.
        is_padded: bool,
    },
    /// `January`, or `Jan`.
    MonthName {
        /// Three letters.
        is_short: bool,
    },
    /// `Monday`, or `Mon`.
    Weekday {
        /// Three letters.
        is_short: bool,
    },
    /// `2`, `02` or `_2`.
    Day(Padding),
    /// `002` or `__2`.
    DayOfYear(Padding),
    /// `15`.
    Hour,
    /// `3`, or zero-padded `03`.
    HalfDayHour {
        /// Two digits.
        is_padded: bool,
    },
    /// `PM`, or `pm`.
    HalfDay {
        /// Lower case.
        is_lower: bool,
    },
    /// `4`, or zero-padded `04`.
    Minute {
        /// Two digits.
        is_padded: bool,
    },
    /// `5`, or zero-padded `05`.
    Second {
        /// Two digits.
        is_padded: bool,
    },
    /// `.000`, or `.999` without trailing zeros.
    Fraction {
        /// A full stop or a comma.
        separator: char,
        /// Its digits, 9 at most.
        digits: usize,
        /// Trailing zeros are removed; a fraction of 0 is omitted.
        is_trimmed: bool,
    },
}

/// How a number is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Padding {
    /// Nothing.
    None,
    Zero,
    Space,
}

/// Longer ones first. Names of months and days must not be followed by a lower-case letter.
const PARTS: &[(&str, TimePart)] = &[
    ("January", TimePart::MonthName { is_short: false }),
    ("Jan", TimePart::MonthName { is_short: true }),
    ("Monday", TimePart::Weekday { is_short: false }),
    ("Mon", TimePart::Weekday { is_short: true }),
    ("2006", TimePart::Year),
    ("002", TimePart::DayOfYear(Padding::Zero)),
    ("__2", TimePart::DayOfYear(Padding::Space)),
    ("01", TimePart::Month { is_padded: true }),
    ("02", TimePart::Day(Padding::Zero)),
    ("03", TimePart::HalfDayHour { is_padded: true }),
    ("04", TimePart::Minute { is_padded: true }),
    ("05", TimePart::Second { is_padded: true }),
    ("06", TimePart::ShortYear),
    ("15", TimePart::Hour),
    ("_2", TimePart::Day(Padding::Space)),
    ("PM", TimePart::HalfDay { is_lower: false }),
    ("pm", TimePart::HalfDay { is_lower: true }),
    ("1", TimePart::Month { is_padded: false }),
    ("2", TimePart::Day(Padding::None)),
    ("3", TimePart::HalfDayHour { is_padded: false }),
    ("4", TimePart::Minute { is_padded: false }),
    ("5", TimePart::Second { is_padded: false }),
];

/// Zones, longer ones first, and their text for UTC.
const ZONES: &[(&str, &str)] = &[
    ("Z07:00:00", "Z"),
    ("Z070000", "Z"),
    ("Z07:00", "Z"),
    ("Z0700", "Z"),
    ("Z07", "Z"),
    ("-07:00:00", "+00:00:00"),
    ("-070000", "+000000"),
    ("-07:00", "+00:00"),
    ("-0700", "+0000"),
    ("-07", "+00"),
    ("MST", "UTC"),
];

impl TimeLayout {
    /// Parses a layout. `None`: it has neither year nor clock, so it is most likely a misspelt name; or it contains
    /// characters that JSON would have to escape.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains(|char: char| char.is_control() || matches!(char, '"' | '\\')) {
            return None;
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = zone(rest).or_else(|| fraction(rest)).or_else(|| part(rest));
            let (size, part) = found.unwrap_or((first.len_utf8(), TimePart::Text(first.into())));
            rest = &rest[size..];
            if let TimePart::Text(text) = part {
                plain += &text;
                continue;
            }
            if !plain.is_empty() {
                parts.push(TimePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(part);
        }
        if !plain.is_empty() {
            parts.push(TimePart::Text(plain));
        }
        let is_time = |part: &TimePart| {
            matches!(
                part,
                TimePart::Year | TimePart::Hour | TimePart::Minute { is_padded: true }
            )
        };
        parts.iter().any(is_time).then_some(Self(parts))
    }
}

fn zone(rest: &str) -> Option<(usize, TimePart)> {
    let found = ZONES.iter().find(|(name, _)| rest.starts_with(name))?;
    Some((found.0.len(), TimePart::Text(found.1.into())))
}

/// A full stop or a comma, and zeros or nines to the end of the digits.
fn fraction(rest: &str) -> Option<(usize, TimePart)> {
    let separator = rest
        .chars()
        .next()
        .filter(|first| matches!(first, '.' | ','))?;
    let tail = &rest[1..];
    let digit = tail
        .chars()
        .next()
        .filter(|digit| matches!(digit, '0' | '9'))?;
    let digits = tail.len() - tail.trim_start_matches(digit).len();
    if tail[digits..].starts_with(|next: char| next.is_ascii_digit()) || digits > 9 {
        return None;
    }
    let part = TimePart::Fraction {
        separator,
        digits,
        is_trimmed: digit == '9',
    };
    Some((1 + digits, part))
}

fn part(rest: &str) -> Option<(usize, TimePart)> {
    // An underscore before a year is literal.
    if rest.starts_with("_2006") {
        return None;
    }
    let found = PARTS.iter().find(|(name, part)| {
        let has_letters = matches!(part, TimePart::MonthName { .. } | TimePart::Weekday { .. });
        rest.strip_prefix(name).is_some_and(|after| {
            !has_letters || !after.starts_with(|next: char| next.is_ascii_lowercase())
        })
    })?;
    Some((found.0.len(), found.1.clone()))
}
