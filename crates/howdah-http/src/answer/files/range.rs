//! Byte ranges, RFC 9110 section 14. Ranges that overlap, or too many of them, are answered with the whole file: a
//! response is never longer than the file.

use http::HeaderMap;
use http::header::RANGE;

/// What to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RangeOutcome {
    Whole,
    Part(ByteRange),
    /// At least two, in the order of the request. They do not overlap.
    Parts(Vec<ByteRange>),
    /// No part of the requested range exists.
    None,
}

/// A part of a file, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ByteRange {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl ByteRange {
    pub(super) fn new(first: u64, last: u64) -> Self {
        Self { first, last }
    }

    pub(super) fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

/// Most ranges in one request; with more the whole file is sent.
const MAX_RANGES: usize = 16;

pub(super) fn evaluate(headers: &HeaderMap, total: u64) -> RangeOutcome {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return RangeOutcome::Whole;
    };
    match value.to_str() {
        Ok(text) => parse(text, total),
        Err(_) => RangeOutcome::Whole,
    }
}

fn parse(text: &str, total: u64) -> RangeOutcome {
    // An unknown unit and invalid syntax are ignored, as the RFC requires.
    let Some((unit, list)) = text.split_once('=') else {
        return RangeOutcome::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RangeOutcome::Whole;
    }
    let mut satisfiable = Vec::new();
    for (index, spec) in list.split(',').map(str::trim).enumerate() {
        if index >= MAX_RANGES {
            return RangeOutcome::Whole;
        }
        match one(spec, total) {
            Err(()) => return RangeOutcome::Whole,
            Ok(part) => satisfiable.extend(part),
        }
    }
    match satisfiable[..] {
        // As nginx and Caddy do: clients that request a first part of each file get the whole.
        [] if total == 0 => RangeOutcome::Whole,
        [] => RangeOutcome::None,
        [range] => RangeOutcome::Part(range),
        _ if overlap(&satisfiable) => RangeOutcome::Whole,
        _ => RangeOutcome::Parts(satisfiable),
    }
}

fn overlap(parts: &[ByteRange]) -> bool {
    let mut sorted = parts.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[1].first <= pair[0].last)
}

/// `Err`: invalid syntax; `None`: beyond the end.
fn one(spec: &str, total: u64) -> Result<Option<ByteRange>, ()> {
    let (first, last) = spec.split_once('-').ok_or(())?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let suffix = number(last)?;
        let length = suffix.min(total);
        return Ok((length > 0).then(|| ByteRange::new(total - length, total - 1)));
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
    Ok((first < total).then(|| ByteRange::new(first, last.min(total - 1))))
}

fn number(text: &str) -> Result<u64, ()> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(());
    }
    // A number above 64 bits is beyond any end.
    Ok(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let part = |first, last| RangeOutcome::Part(ByteRange::new(first, last));
        let parts = |[one, two]: [(u64, u64); 2]| {
            let parts = [one, two].map(|(first, last)| ByteRange::new(first, last));
            RangeOutcome::Parts(parts.into())
        };
        for (text, expected) in [
            ("bytes=0-0", part(0, 0)),
            ("bytes=2-5", part(2, 5)),
            ("bytes=5-", part(5, 9)),
            ("bytes=-3", part(7, 9)),
            ("bytes=-100", part(0, 9)),
            ("bytes=8-99999999999999999999", part(8, 9)),
            ("bytes=10-", RangeOutcome::None),
            ("bytes=-0", RangeOutcome::None),
            ("bytes=20-30,40-", RangeOutcome::None),
            ("bytes=0-1,20-30", part(0, 1)),
            ("bytes=0-1,4-5", parts([(0, 1), (4, 5)])),
            ("bytes=-2, 0-0 ,20-30", parts([(8, 9), (0, 0)])),
            ("bytes=0-1,2-3", parts([(0, 1), (2, 3)])),
            ("bytes=0-1,1-3", RangeOutcome::Whole),
            ("bytes=5-,-1", RangeOutcome::Whole),
            ("bytes=0-1,0-1", RangeOutcome::Whole),
            ("bytes=0-1,5-2", RangeOutcome::Whole),
            ("bytes=0-1,", RangeOutcome::Whole),
            ("bytes=5-2", RangeOutcome::Whole),
            ("bytes=a-b", RangeOutcome::Whole),
            ("bytes=-", RangeOutcome::Whole),
            ("bytes=", RangeOutcome::Whole),
            ("lines=0-1", RangeOutcome::Whole),
            ("bytes", RangeOutcome::Whole),
        ] {
            assert_eq!(parse(text, 10), expected, "{text}");
        }
        assert_eq!(parse("bytes=0-", 0), RangeOutcome::Whole);
        assert_eq!(parse("bytes=-1", 0), RangeOutcome::Whole);
        let many = |count: u64| {
            let specs: Vec<String> = (0..count).map(|at| format!("{0}-{0}", at * 2)).collect();
            parse(&format!("bytes={}", specs.join(",")), 1000)
        };
        assert!(matches!(many(16), RangeOutcome::Parts(parts) if parts.len() == 16));
        assert_eq!(many(17), RangeOutcome::Whole);
    }
}
