//! Properties of the header fields of every request and response.

use std::cell::RefCell;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use howdah_config::model::{self, ContentCoding};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, ETAG, IF_NONE_MATCH, LINK};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};

use crate::accept::AcceptedCodings;
use crate::context::TraceContext;
use crate::hints::{Hints, Page};
use crate::message::interim::Interim;
use crate::settings::Sampler;
use crate::trusted_proxies::TrustedProxies;
use crate::{credentials, header};

pub(crate) fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a value")
}

const CODINGS: [ContentCoding; 3] = [
    ContentCoding::Zstd,
    ContentCoding::Brotli,
    ContentCoding::Gzip,
];

pub(crate) fn codings(headers: &HeaderMap) {
    let accepted = AcceptedCodings::new(headers);
    let text = |value: &HeaderValue| value.as_bytes().to_ascii_lowercase();
    let sent: Vec<Vec<u8>> = headers.get_all(ACCEPT_ENCODING).iter().map(text).collect();
    let names = |name: &str| {
        let found = |value: &Vec<u8>| {
            value
                .windows(name.len())
                .any(|part| part == name.as_bytes())
        };
        sent.iter().any(found)
    };
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let offers = order.map(|index| CODINGS[index]);
        let best = accepted.best(offers, |coding| *coding);
        let first = offers.into_iter().find(|coding| accepted.accepts(*coding));
        assert_eq!(best.is_some(), first.is_some());
        let Some(best) = best else { continue };
        assert!(accepted.accepts(best));
        assert!(
            names(best.name()) || names("*"),
            "the client did not request it"
        );
        // No other coding is preferred, whatever the order.
        for other in offers {
            let pair = accepted.best([best, other], |coding| *coding);
            assert_eq!(pair, Some(best));
        }
    }
    // The last value for a coding counts.
    for coding in CODINGS {
        let ending = |weight: &str| {
            let mut headers = headers.clone();
            headers.append(
                ACCEPT_ENCODING,
                value(&format!("{};{weight}", coding.name())),
            );
            AcceptedCodings::new(&headers).accepts(coding)
        };
        assert!(ending("q=1") && ending("x=y;Q=1.000"));
        assert!(!ending("q=0") && !ending("q=0.000") && !ending("q=1.1"));
    }
}

/// Checks that a compressed response replaces another one correctly.
pub(crate) fn compressed(request: &HeaderMap, response: &HeaderMap) {
    let mut headers = response.clone();
    header::vary(&mut headers);
    let once = headers.clone();
    header::vary(&mut headers);
    assert_eq!(headers, once);
    header::set_encoding(&mut headers, ContentCoding::Brotli);
    assert!(!headers.contains_key(CONTENT_LENGTH));
    let strong = |tag: &HeaderValue| tag.as_bytes().starts_with(b"\"");
    assert!(!headers.get(ETAG).is_some_and(strong));
    let mut answer = Response::new(()).into_parts().0;
    answer.status = StatusCode::NOT_MODIFIED;
    answer.headers = response.clone();
    let known = request.get(IF_NONE_MATCH);
    header::set_revalidated_tag(&mut answer, known);
    if let Some(tag) = answer.headers.get(ETAG)
        && Some(tag) != response.get(ETAG)
    {
        let mut known = known
            .expect("a tag to compare with")
            .as_bytes()
            .windows(tag.len());
        assert!(known.any(|part| part == tag.as_bytes()));
    }
}

pub(crate) fn clients(headers: &HeaderMap) {
    let proxies = |strict| {
        let options = model::TrustedProxies {
            ranges: vec!["10.0.0.0/8".parse().expect("a range")],
            headers: vec!["X-Forwarded-For".into()],
            strict,
        };
        TrustedProxies::compile(&options).expect("names of fields")
    };
    let stranger = IpAddr::from([192, 0, 2, 55]);
    let proxy = IpAddr::from([10, 0, 0, 1]);
    for strict in [false, true] {
        let proxies = proxies(strict);
        assert_eq!(proxies.client_ip(stranger, headers), stranger);
        let found = proxies.client_ip(proxy, headers);
        assert_eq!(found, found.to_canonical());
        if !headers.contains_key("x-forwarded-for") {
            assert_eq!(found, proxy);
        }
    }
    // Whatever a client sends, the address that the proxy has added counts.
    for added in [
        "192.0.2.55",
        "192.0.2.55:80",
        "[::ffff:192.0.2.55]:80",
        "[::ffff:192.0.2.55]",
    ] {
        let mut headers = headers.clone();
        headers.append("x-forwarded-for", value(added));
        assert_eq!(proxies(true).client_ip(proxy, &headers), stranger);
    }
}

pub(crate) fn passwords(headers: &HeaderMap) {
    let Some((name, password)) = credentials::credentials(headers) else {
        return;
    };
    assert!(!name.contains(&b':'));
    let text = STANDARD.encode([&name[..], b":", &password].concat());
    let sent = headers[AUTHORIZATION]
        .to_str()
        .expect("the scheme and base64");
    assert!(sent.ends_with(text.trim_end_matches('=')) || sent.ends_with(&text));
    let again = HeaderMap::from_iter([(AUTHORIZATION, value(&format!("bAsIc  {text}")))]);
    assert_eq!(credentials::credentials(&again), Some((name, password)));
}

pub(crate) fn traces(headers: &HeaderMap) {
    let sent = headers.get("traceparent").map(HeaderValue::as_bytes);
    let context = TraceContext::begin(sent, &Sampler);
    assert!(context.trace.0 != 0 && context.span != 0);
    if let Some(parent) = context.parent {
        let text = str::from_utf8(sent.expect("a caller")).expect("ASCII");
        assert!(text.contains(&format!("-{}-{parent:016x}-", context.trace)));
    }
    let passed = context.traceparent();
    let next = TraceContext::begin(Some(passed.as_bytes()), &Sampler);
    assert_eq!(next.trace, context.trace);
    assert_eq!(next.parent, Some(context.span));
    assert_eq!(next.sampled, context.sampled);
}

/// The links learned from a response are part of it, and learning them again returns the same
/// links.
pub(crate) fn links(request: &HeaderMap, response: &HeaderMap) {
    let learned = |answer: &HeaderMap| {
        let hints = Hints::default();
        let mut parts = Request::new(()).into_parts().0;
        parts.version = Version::HTTP_2;
        parts.headers = request.clone();
        let mut whole = Response::new(());
        *whole.headers_mut() = answer.clone();
        hints.learn(Page::of(&parts)?, &whole);
        let sent = RefCell::default();
        hints.send(&Page::of(&parts)?, Interim(&sent));
        sent.into_inner().pop()
    };
    let Some(first) = learned(response) else {
        return;
    };
    for private in ["cookie", "authorization"] {
        assert!(!request.contains_key(private));
    }
    assert!(!response.contains_key("set-cookie"));
    let mut size = 0;
    for (name, link) in &first {
        let text = link.to_str().expect("text");
        let of_answer = |value: &HeaderValue| value.to_str().is_ok_and(|all| all.contains(text));
        assert!(*name == LINK && response.get_all(LINK).iter().any(of_answer));
        let lower = text.to_ascii_lowercase();
        assert!(lower.contains("preload") || lower.contains("preconnect"));
        size += text.len();
    }
    assert!(!first.is_empty() && size <= 4096);
    let mut again = response.clone();
    again.remove(LINK);
    again.extend(first.clone());
    assert_eq!(learned(&again), Some(first));
}
