//! Checks a request before anything is done with it. hyper has refused the rest already: invalid request lines and
//! fields, NUL, differing or invalid `Content-Length`, `Transfer-Encoding` that does not end in `chunked`. Requests
//! with two lengths are refused before hyper (`socket/framing.rs`).

use http::header::{COOKIE, EXPECT, HOST, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Version};

use crate::message::reply;
use crate::message::response::Content;

/// Methods that are refused. PHP gets every other one.
const REFUSED: [Method; 2] = [Method::TRACE, Method::CONNECT];
const ALLOWED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Boxed, because it is rare.
type Refusal = Box<Response<Content>>;

/// Refuses with a response, or makes the `Host` header authoritative, and joins `Cookie` into one
/// field.
pub(crate) fn check(
    parts: &mut Parts,
    received: usize,
    max_header_size: usize,
) -> Result<(), Refusal> {
    // No bytes were counted for a request that arrived together with the previous one.
    let pipelined = received == 0 && parts.version < Version::HTTP_2;
    if pipelined || received > max_header_size {
        check_size(parts, max_header_size)?;
    }
    if REFUSED.contains(&parts.method) {
        return Err(reply::method_not_allowed(ALLOWED).into());
    }
    if parts.uri.path() == "*" {
        let response = if parts.method == Method::OPTIONS {
            reply::options(ALLOWED)
        } else {
            reply::bad_request("only OPTIONS may request `*`")
        };
        return Err(response.into());
    }
    if !parts.uri.path().starts_with('/') {
        return Err(reply::bad_request("the request target is not a path").into());
    }
    check_host(parts)?;
    if parts.version >= Version::HTTP_2 {
        join_cookies(&mut parts.headers);
    }
    if parts.headers.contains_key(TRANSFER_ENCODING) {
        let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
        let chunked = codings.next().is_some_and(|coding| {
            coding
                .as_bytes()
                .trim_ascii()
                .eq_ignore_ascii_case(b"chunked")
        });
        if !chunked || codings.next().is_some() {
            return Err(reply::bad_request("the only supported transfer coding is chunked").into());
        }
    }
    if parts.version >= Version::HTTP_11
        && parts
            .headers
            .get_all(EXPECT)
            .iter()
            .any(|value| !value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
    {
        return Err(reply::plain(StatusCode::EXPECTATION_FAILED).into());
    }
    Ok(())
}

/// The bytes received may include the body, so the header is only measured when there are too many.
fn check_size(parts: &Parts, max: usize) -> Result<(), Refusal> {
    let uri = parts
        .uri
        .path_and_query()
        .map_or(0, |both| both.as_str().len());
    if uri > max {
        return Err(reply::plain(StatusCode::URI_TOO_LONG).into());
    }
    let fields: usize = parts
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if uri + fields > max {
        return Err(reply::plain(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE).into());
    }
    Ok(())
}

/// One `Host` on HTTP/1.1; the authority of an absolute target and of HTTP/2 replaces it.
fn check_host(parts: &mut Parts) -> Result<(), Refusal> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let first = hosts.next();
    if hosts.next().is_some() {
        return Err(reply::bad_request("more than one Host header").into());
    }
    let Some(authority) = parts.uri.authority() else {
        return match first {
            None if parts.version >= Version::HTTP_11 => {
                Err(reply::bad_request("no Host header").into())
            }
            _ => Ok(()),
        };
    };
    let http2 = parts.version >= Version::HTTP_2;
    if http2
        && let Some(host) = first
        && !host
            .as_bytes()
            .eq_ignore_ascii_case(authority.as_str().as_bytes())
    {
        return Err(reply::bad_request("the Host header differs from :authority").into());
    }
    if first.is_none() && parts.version == Version::HTTP_11 {
        return Err(reply::bad_request("no Host header").into());
    }
    if first.is_none_or(|host| host != authority.as_str()) {
        let Ok(host) = HeaderValue::from_str(authority.as_str()) else {
            return Err(reply::bad_request("bad authority").into());
        };
        parts.headers.insert(HOST, host);
    }
    Ok(())
}

/// Clients may split `Cookie` into several fields, which compress better. Code that reads the header, and upstreams
/// over HTTP/1.1, must get one field (RFC 9113 §8.2.3, RFC 9114 §4.2.1).
fn join_cookies(headers: &mut HeaderMap) {
    let mut crumbs = headers.get_all(COOKIE).iter();
    let (Some(first), Some(second)) = (crumbs.next(), crumbs.next()) else {
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for crumb in std::iter::once(second).chain(crumbs) {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(crumb.as_bytes());
    }
    // Joined from valid values.
    if let Ok(cookie) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(COOKIE, cookie);
    }
}
