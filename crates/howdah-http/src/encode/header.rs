//! Response header fields about compression.

use howdah_config::model::ContentCoding;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, VARY,
};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};

const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("Accept-Encoding");

/// Whether the body must stay as it is: there is none, it is partial, it is already encoded, or the script forbids it.
pub(super) fn is_final(head: &Parts) -> bool {
    let headers = &head.headers;
    matches!(
        head.status,
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED | StatusCode::PARTIAL_CONTENT
    ) || head.status.is_informational()
        || headers.contains_key(CONTENT_ENCODING)
        || headers.contains_key(CONTENT_RANGE)
        || is_untransformed(headers)
}

/// Whether no intermediary may change the body.
pub(super) fn is_untransformed(headers: &HeaderMap) -> bool {
    has_member(headers, &CACHE_CONTROL, "no-transform")
}

/// Whether a list has a member, ignoring case.
fn has_member(headers: &HeaderMap, name: &http::HeaderName, member: &str) -> bool {
    headers.get_all(name).iter().any(|value| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|one| one.trim_ascii().eq_ignore_ascii_case(member.as_bytes()))
    })
}

pub(super) fn content_length(head: &Parts) -> Option<u64> {
    head.headers
        .get(CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Adds `Vary`: the response depends on `Accept-Encoding`.
pub(crate) fn vary(headers: &mut HeaderMap) {
    if !has_member(headers, &VARY, "accept-encoding") && !has_member(headers, &VARY, "*") {
        headers.append(VARY, ACCEPT_ENCODING);
    }
}

/// Sets the coding of the body, and removes fields that apply to the uncompressed body.
pub(crate) fn set_encoding(headers: &mut HeaderMap, coding: ContentCoding) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    headers.remove(CONTENT_LENGTH);
    headers.remove(ACCEPT_RANGES);
    if let Some(weak) = headers.get(ETAG).and_then(weak) {
        headers.insert(ETAG, weak);
    }
}

/// The weak form of a tag; `None` if it is weak already.
fn weak(etag: &HeaderValue) -> Option<HeaderValue> {
    let text = etag.as_bytes();
    if !text.starts_with(b"\"") {
        return None;
    }
    HeaderValue::from_bytes(&[b"W/", text].concat()).ok()
}

/// A client with the compressed body has stored the weak tag, so a 304 must have that tag to match.
pub(super) fn set_revalidated_tag(head: &mut Parts, if_none_match: Option<&HeaderValue>) {
    if head.status != StatusCode::NOT_MODIFIED {
        return;
    }
    let (Some(known), Some(weak)) = (if_none_match, head.headers.get(ETAG).and_then(weak)) else {
        return;
    };
    let is_listed = known
        .as_bytes()
        .split(|byte| *byte == b',')
        .any(|tag| tag.trim_ascii() == weak.as_bytes());
    if is_listed {
        head.headers.insert(ETAG, weak);
    }
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn head(status: u16, fields: &[(&str, &str)]) -> Parts {
        let mut response = Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    #[test]
    fn some_bodies_stay_as_they_are() {
        for (status, fields, expected) in [
            (200, &[][..], false),
            (404, &[], false),
            (204, &[], true),
            (206, &[], true),
            (304, &[], true),
            (200, &[("content-encoding", "gzip")], true),
            (200, &[("content-range", "bytes 0-1/2")], true),
            (200, &[("cache-control", "private, No-Transform")], true),
            (200, &[("cache-control", "private, max-age=1")], false),
        ] {
            assert_eq!(
                is_final(&head(status, fields)),
                expected,
                "{status} {fields:?}"
            );
        }
    }

    #[test]
    fn vary_is_sent_once() {
        for (fields, expected) in [
            (&[][..], &["Accept-Encoding"][..]),
            (&[("vary", "Cookie")], &["Cookie", "Accept-Encoding"]),
            (
                &[("vary", "cookie, accept-encoding")],
                &["cookie, accept-encoding"],
            ),
            (&[("vary", "*")], &["*"]),
        ] {
            let mut head = head(200, fields);
            vary(&mut head.headers);
            let found: Vec<_> = head.headers.get_all(VARY).iter().collect();
            assert_eq!(found, expected, "{fields:?}");
        }
    }

    #[test]
    fn a_compressed_body_has_no_length_and_a_weak_tag() {
        for (etag, expected) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\""), ("odd", "odd")] {
            let fields = [
                ("content-length", "9"),
                ("accept-ranges", "bytes"),
                ("etag", etag),
            ];
            let mut head = head(200, &fields);
            set_encoding(&mut head.headers, ContentCoding::Brotli);
            assert_eq!(head.headers[CONTENT_ENCODING], "br");
            assert_eq!(head.headers[ETAG], expected);
            assert_eq!(head.headers.len(), 2);
        }
    }

    #[test]
    fn a_304_has_the_tag_that_the_client_knows() {
        for (known, expected) in [
            (Some("W/\"a\""), "W/\"a\""),
            (Some("\"b\", W/\"a\""), "W/\"a\""),
            (Some("\"a\""), "\"a\""),
            (None, "\"a\""),
        ] {
            let mut head = head(304, &[("etag", "\"a\"")]);
            let known = known.map(HeaderValue::from_static);
            set_revalidated_tag(&mut head, known.as_ref());
            assert_eq!(head.headers[ETAG], expected);
        }
    }
}
