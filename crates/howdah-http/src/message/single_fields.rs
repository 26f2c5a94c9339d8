//! Fields that a response may have only once (RFC 9110 §5.3). Of two, a recipient may use the first or the last, or
//! refuse both, and a cache may choose differently from the browser.

use http::HeaderMap;
use http::header::{
    AGE, CONTENT_DISPOSITION, CONTENT_LOCATION, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, EXPIRES,
    HeaderName, LAST_MODIFIED, LOCATION, RETRY_AFTER, SERVER,
};

/// Without `Content-Length`: two of them may be an attack, and are handled where the body is known.
pub(crate) const SINGULAR: [HeaderName; 12] = [
    AGE,
    CONTENT_DISPOSITION,
    CONTENT_LOCATION,
    CONTENT_RANGE,
    CONTENT_TYPE,
    DATE,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    LOCATION,
    RETRY_AFTER,
    SERVER,
];

/// Keeps the last of each: later code has more information. Browsers and nginx use the last
/// `Content-Type` too.
pub(crate) fn keep_last(headers: &mut HeaderMap) {
    // Most responses repeat nothing, which is cheap to check.
    if headers.len() == headers.keys_len() {
        return;
    }
    for name in SINGULAR {
        let mut values = headers.get_all(&name).iter();
        let (Some(_), Some(last)) = (values.next(), values.next_back()) else {
            continue;
        };
        let last = last.clone();
        headers.insert(name, last);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_last_one_stays() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "a/b"),
            ("set-cookie", "a=1"),
            ("location", "/one"),
            ("content-type", "c/d"),
            ("link", "</a>"),
            ("location", "/two"),
            ("etag", "\"1\""),
            ("set-cookie", "b=2"),
            ("location", "/three"),
            ("link", "</b>"),
        ] {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_static(value));
        }
        keep_last(&mut headers);
        let all = |name: &str| -> Vec<&str> {
            let values = headers.get_all(name).iter();
            values.map(|value| value.to_str().unwrap()).collect()
        };
        assert_eq!(all("content-type"), ["c/d"]);
        assert_eq!(all("location"), ["/three"]);
        assert_eq!(all("etag"), ["\"1\""]);
        assert_eq!(all("set-cookie"), ["a=1", "b=2"]);
        assert_eq!(all("link"), ["</a>", "</b>"]);
    }
}
