//! Conditional requests, RFC 9110 section 13.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::{
    HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};

use crate::clock;
use crate::message::file_origin::Identity;

/// Seconds from 1970 to 1990. No file of the web is older. Tools for reproducible builds give all files the same
/// earlier time: 0 (Bazel, `OSTree`), 1 (Nix, Guix), 1980 (zip, Gradle, Cloud Native Buildpacks), 1984 (Yarn), 1985
/// (npm). Such a time does not change with the next version of the file.
const FIRST_TIME: i64 = 631_152_000;

/// Validators of a file: `ETag` and `Last-Modified`.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) identity: Identity,
    /// A strong `ETag`: time in nanoseconds and size. `None` if the time does not identify the version.
    pub(super) etag: Option<HeaderValue>,
    /// `None` as above, for a time in the future (RFC 9110 §8.8.2.1), and for a time that HTTP cannot express.
    pub(super) last_modified: Option<HeaderValue>,
}

/// The result of the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Go,
    NotModified,
    PreconditionFailed,
}

impl Version {
    pub(super) fn new(identity: Identity) -> Self {
        let (seconds, nanoseconds) = identity.modified;
        let known = seconds >= FIRST_TIME;
        let etag = || format!("\"{seconds:x}{nanoseconds:08x}-{:x}\"", identity.size);
        let past = known && seconds <= clock::seconds();
        let date = past.then(|| date(seconds)).flatten();
        Self {
            identity,
            // Hexadecimal digits in quotes: always a valid value.
            etag: known
                .then(etag)
                .and_then(|etag| HeaderValue::try_from(etag).ok()),
            last_modified: date.and_then(|date| HeaderValue::try_from(date).ok()),
        }
    }

    /// The time in seconds since 1970; `None` if it does not identify the version.
    fn modified(&self) -> Option<i64> {
        let seconds = self.identity.modified.0;
        (seconds >= FIRST_TIME).then_some(seconds)
    }

    /// Whether the file has not changed after a date; `None` if it is not a date, or it cannot be determined.
    fn unchanged_since(&self, headers: &HeaderMap, name: http::HeaderName) -> Option<bool> {
        let date = parse_date(headers.get(name)?)?;
        Some(self.modified()? <= date)
    }
}

/// Evaluates the conditions in the order of section 13.2.2. Only GET and HEAD come here.
pub(super) fn evaluate(headers: &HeaderMap, version: &Version) -> Verdict {
    if let Some(list) = joined(headers, IF_MATCH) {
        if !list_matches(&list, version, true) {
            return Verdict::PreconditionFailed;
        }
    } else if version.unchanged_since(headers, IF_UNMODIFIED_SINCE) == Some(false) {
        return Verdict::PreconditionFailed;
    }
    if let Some(list) = joined(headers, IF_NONE_MATCH) {
        if list_matches(&list, version, false) {
            return Verdict::NotModified;
        }
    } else if version.unchanged_since(headers, IF_MODIFIED_SINCE) == Some(true) {
        return Verdict::NotModified;
    }
    Verdict::Go
}

/// `If-Range`: whether the client has a part of this version.
pub(super) fn range_applies(headers: &HeaderMap, version: &Version) -> bool {
    let Some(value) = headers.get(IF_RANGE) else {
        return true;
    };
    if value.as_bytes().starts_with(b"\"") || value.as_bytes().starts_with(b"W/") {
        return version.etag.as_ref() == Some(value);
    }
    // A date must match exactly.
    parse_date(value).is_some_and(|date| version.modified() == Some(date))
}

/// Formats seconds since 1970 for HTTP; `None`: out of range. A file system may have stored any number.
pub(super) fn date(seconds: i64) -> Option<String> {
    let seconds = u64::try_from(seconds).ok()?;
    // The last second of the year 9999, where HTTP's dates end.
    if seconds > 253_402_300_799 {
        return None;
    }
    let date = UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(date))
}

fn parse_date(value: &HeaderValue) -> Option<i64> {
    let date = httpdate::parse_http_date(value.to_str().ok()?).ok()?;
    seconds(date)
}

fn seconds(date: SystemTime) -> Option<i64> {
    i64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

fn list_matches(list: &str, version: &Version, strong: bool) -> bool {
    if list.trim() == "*" {
        return true;
    }
    let Some(etag) = version.etag.as_ref().and_then(|etag| etag.to_str().ok()) else {
        return false;
    };
    // Our tags have no commas, so a part of another tag can never equal one of them.
    list.split(',')
        .map(str::trim)
        .any(|tag| match tag.strip_prefix("W/") {
            Some(weak) => !strong && weak == etag,
            None => tag == etag,
        })
}
/// Joins the values of a header into one list.
fn joined(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    let mut values = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or(""));
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + ", " + value))
}
