//! Properties of requests for files: ranges and conditions.

use std::collections::BTreeSet;

use http::header::{
    IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use http::{HeaderMap, HeaderValue};

use crate::conditional::{self, Verdict};
use crate::message::file_origin::Identity;
use crate::oracles::value;
use crate::range::{self, ByteRange, RangeOutcome};

/// Compares the result with an implementation that tests each byte of the file.
pub(crate) fn ranges(headers: &HeaderMap, total: u64) {
    let mut values = headers.get_all(RANGE).iter();
    let expected = match (values.next(), values.next()) {
        (Some(value), None) => value
            .to_str()
            .ok()
            .and_then(|text| parse_range(text, total)),
        _ => None,
    };
    let expected = expected.unwrap_or(RangeOutcome::Whole);
    assert_eq!(range::evaluate(headers, total), expected);
}

/// `None` if the text is not a range of bytes.
fn parse_range(text: &str, total: u64) -> Option<RangeOutcome> {
    let (unit, list) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut parts = Vec::new();
    let specs: Vec<&str> = list.split(',').collect();
    if specs.len() > 16 {
        return None;
    }
    for spec in specs {
        let (first, last) = spec.split_once('-')?;
        let (first, last) = (number(first)?, number(last)?);
        let holds = |at: &u64| match (first, last) {
            (Some(first), last) => first <= *at && last.is_none_or(|last| *at <= last),
            (None, Some(length)) => total - at <= length,
            (None, None) => false,
        };
        if first.is_none() && last.is_none() || first.zip(last).is_some_and(|(a, b)| b < a) {
            return None;
        }
        let bytes: Vec<u64> = (0..total).filter(holds).collect();
        if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
            parts.push(ByteRange::new(*first, *last));
        }
    }
    let all: Vec<u64> = parts
        .iter()
        .flat_map(|part| part.first..=part.last)
        .collect();
    let different: BTreeSet<u64> = all.iter().copied().collect();
    Some(match parts[..] {
        [] if total == 0 => RangeOutcome::Whole,
        [] => RangeOutcome::None,
        [part] => RangeOutcome::Part(part),
        _ if different.len() < all.len() => RangeOutcome::Whole,
        _ => RangeOutcome::Parts(parts),
    })
}

/// `None` if the text is not a number. `Some(None)` if it is empty.
fn number(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let add = |sum: u64, byte: u8| {
        sum.saturating_mul(10)
            .saturating_add(u64::from(byte - b'0'))
    };
    digits.then(|| (!text.is_empty()).then(|| text.bytes().fold(0, add)))
}

pub(crate) fn conditions(headers: &HeaderMap, size: u64, seconds: i64) {
    let identity = Identity {
        size,
        modified: (seconds, 7),
    };
    let version = conditional::Version::new(identity);
    let etag = version.etag.as_ref();
    let etag = etag.map(|etag| etag.to_str().expect("text"));
    let matches = |name, strong: bool| {
        let list = crate::joined(headers, name)?;
        tags(&list).map(|tags| {
            let same = |tag: &String| {
                etag.is_some_and(|etag| {
                    tag == etag || !strong && tag.strip_prefix("W/").is_some_and(|tag| tag == etag)
                })
            };
            list.trim() == "*" || tags.iter().any(same)
        })
    };
    let verdict = conditional::evaluate(headers, &version);
    // Invalid lists have no correct result.
    match (matches(IF_MATCH, true), matches(IF_NONE_MATCH, false)) {
        (Some(false), _) => assert_eq!(verdict, Verdict::PreconditionFailed),
        (Some(true), Some(true)) => assert_eq!(verdict, Verdict::NotModified),
        (Some(true), Some(false)) => assert_eq!(verdict, Verdict::Go),
        _ => {}
    }
    if !headers.contains_key(IF_MATCH) && !headers.contains_key(IF_UNMODIFIED_SINCE) {
        assert_ne!(verdict, Verdict::PreconditionFailed);
    }

    // A client that sends the validators back gets the response for the unchanged file.
    let single_header = |name, value: &HeaderValue| HeaderMap::from_iter([(name, value.clone())]);
    let verdict =
        |name, value: &HeaderValue| conditional::evaluate(&single_header(name, value), &version);
    if let (Some(tag), Some(text)) = (&version.etag, etag) {
        assert_eq!(verdict(IF_MATCH, tag), Verdict::Go);
        assert_eq!(verdict(IF_NONE_MATCH, tag), Verdict::NotModified);
        assert!(conditional::range_applies(
            &single_header(IF_RANGE, tag),
            &version
        ));
        let weak = value(&format!("W/{text}"));
        assert_eq!(verdict(IF_MATCH, &weak), Verdict::PreconditionFailed);
        assert!(!conditional::range_applies(
            &single_header(IF_RANGE, &weak),
            &version
        ));
    }
    if let Some(date) = &version.last_modified {
        assert_eq!(verdict(IF_MODIFIED_SINCE, date), Verdict::NotModified);
        assert_eq!(verdict(IF_UNMODIFIED_SINCE, date), Verdict::Go);
        assert!(conditional::range_applies(
            &single_header(IF_RANGE, date),
            &version
        ));
    }
    // Validators of a different file do not match.
    if let Some(sent) = headers.get(IF_RANGE)
        && conditional::range_applies(headers, &version)
    {
        let of_another = seconds.checked_add(1).map(|seconds| Identity {
            size: size + 1,
            modified: (seconds, 7),
        });
        if let Some(other) = of_another {
            let other = conditional::Version::new(other);
            assert!(!conditional::range_applies(
                &single_header(IF_RANGE, sent),
                &other
            ));
        }
    }
}

/// Parses a list of entity tags by the RFC. `None` if it is invalid.
fn tags(list: &str) -> Option<Vec<String>> {
    if list.trim() == "*" {
        return Some(Vec::new());
    }
    let mut tags = Vec::new();
    let mut rest = list.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let weak = if rest.starts_with("W/") { 2 } else { 0 };
        let inner = rest[weak..].strip_prefix('"')?;
        let end = inner.find('"')?;
        if inner[..end].contains(' ') {
            return None;
        }
        tags.push(rest[..weak + end + 2].to_owned());
        let after = inner[end + 1..].trim_start_matches([' ', '\t']);
        if !after.is_empty() && !after.starts_with(',') {
            return None;
        }
        rest = after.trim_start_matches([' ', '\t', ',']);
    }
    Some(tags)
}
