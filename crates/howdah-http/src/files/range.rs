//! Byte ranges, RFC 9110 section 14. One range is honoured; of several the whole is sent, unless
//! only one of them can be satisfied.

use http::HeaderMap;
use http::header::RANGE;

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Whole,
    /// Both ends included.
    Part {
        first: u64,
        last: u64,
    },
    /// Nothing of what is wanted exists.
    None,
}

/// Ranges in one request that are looked at; more are a whole file.
const MAX_RANGES: usize = 32;

pub(super) fn evaluate(headers: &HeaderMap, total: u64) -> Wanted {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Wanted::Whole;
    };
    match value.to_str() {
        Ok(text) => parse(text, total),
        Err(_) => Wanted::Whole,
    }
}

fn parse(text: &str, total: u64) -> Wanted {
    // Another unit and bad syntax are ignored, as the RFC says.
    let Some((unit, list)) = text.split_once('=') else {
        return Wanted::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let mut satisfiable = None;
    for (index, spec) in list.split(',').map(str::trim).enumerate() {
        if index >= MAX_RANGES {
            return Wanted::Whole;
        }
        match one(spec, total) {
            Err(()) => return Wanted::Whole,
            Ok(None) => {}
            Ok(Some(_)) if satisfiable.is_some() => return Wanted::Whole,
            Ok(part) => satisfiable = part,
        }
    }
    satisfiable.map_or(Wanted::None, |(first, last)| Wanted::Part { first, last })
}

/// `Err`: bad syntax; `None`: beyond the end.
fn one(spec: &str, total: u64) -> Result<Option<(u64, u64)>, ()> {
    let (first, last) = spec.split_once('-').ok_or(())?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let suffix = number(last)?;
        let length = suffix.min(total);
        return Ok((length > 0).then(|| (total - length, total - 1)));
    }
    let first = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if last < first {
        return Err(());
    }
    Ok((first < total).then(|| (first, last.min(total - 1))))
}

fn number(text: &str) -> Result<u64, ()> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(());
    }
    // More than 64 bits is beyond any end.
    Ok(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let part = |first, last| Wanted::Part { first, last };
        for (text, expected) in [
            ("bytes=0-0", part(0, 0)),
            ("bytes=2-5", part(2, 5)),
            ("bytes=5-", part(5, 9)),
            ("bytes=-3", part(7, 9)),
            ("bytes=-100", part(0, 9)),
            ("bytes=8-99999999999999999999", part(8, 9)),
            ("bytes=10-", Wanted::None),
            ("bytes=-0", Wanted::None),
            ("bytes=20-30,40-", Wanted::None),
            ("bytes=0-1,20-30", part(0, 1)),
            ("bytes=0-1,4-5", Wanted::Whole),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("bytes", Wanted::Whole),
        ] {
            assert_eq!(parse(text, 10), expected, "{text}");
        }
        assert_eq!(parse("bytes=0-", 0), Wanted::None);
    }
}
