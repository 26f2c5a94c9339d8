//! Pages that the server itself generates for browsers: one file each, without scripts, in the colours that the user
//! prefers, and readable on a phone.

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY,
};
use http::{HeaderMap, StatusCode};

const HTML_TYPE: &str = "text/html";
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Such a page contains nothing but its style.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");

/// Style sheet of all pages.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--text:#1c2430;--quiet:#5b6675;--line:#dfe3e8;--back:#fbfbfa;--link:#1a5fb4}\
@media(prefers-color-scheme:dark){:root{--text:#e6e9ed;--quiet:#98a3b3;--line:#2d3540;--back:#14181d;--link:#7ab5f5}}\
*{box-sizing:border-box}\
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back)}\
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}";

const ERROR_STYLE: &str = "\
body{min-height:100vh;display:grid;place-items:center;padding:1.5rem}\
main{max-width:34rem}\
h1{margin:0;font-size:clamp(1.5rem,5vw,2rem);line-height:1.25}\
h1 span{display:block;font-size:clamp(3.5rem,16vw,6rem);font-weight:700;line-height:1;\
letter-spacing:-.03em;color:var(--quiet)}\
p{margin:1rem 0 0}\
small{display:block;margin-top:2rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--quiet)}\
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}";

/// Whether the client is a browser that shows a page.
pub(crate) fn accepts_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter();
    accepted.any(|value| {
        // Most other clients send `*/*`, which is too short to contain the name.
        value.len() >= HTML_TYPE.len()
            && value.to_str().is_ok_and(|value| {
                value
                    .split(',')
                    .any(|kind| kind.trim_start().starts_with(HTML_TYPE))
            })
    })
}

/// Changes the header of a response to that of an error page.
pub(crate) fn describe_error(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HTML);
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.append(VARY, HeaderValue::from_static("Accept"));
}

/// The error page. It does not show the cause, which is in the log under `id`.
pub(crate) fn error(status: StatusCode, id: u64) -> String {
    let code = status.as_u16();
    let name = status.canonical_reason().unwrap_or("Error");
    let text = explanation(status);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{code} {name}</title>\n\
         <style>{STYLE}{ERROR_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1><span>{code}</span>{name}</h1>\n<p>{text}</p>\n\
         <small>Request <code>{id:016x}</code></small>\n</main>\n</body>\n</html>\n"
    )
}

/// What the error means for the user, and what they can do.
fn explanation(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "Please log in to see this page.",
        403 => "You are not allowed to see this page.",
        404 | 410 => {
            "There is no page at this address. Check the address, or start from the home page."
        }
        405 => "This page cannot be used in this way.",
        408 => "The request took too long to arrive. Please try again.",
        413 => "What was sent is larger than this site accepts.",
        429 => "There were too many requests. Please wait a moment and try again.",
        502 => "The application stopped before it could respond. Please try again.",
        503 => "The site is busy at the moment. Please try again in a few seconds.",
        504 => "The application took too long to respond. Please try again later.",
        400..=499 => "The request could not be understood.",
        _ => "Something went wrong on the server. Please try again later.",
    }
}

/// Escapes text for HTML. Flame graphs have a separate function: in XML some characters are not allowed.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_for_browsers() {
        let accepts = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            accepts_html(&headers)
        };
        assert!(accepts("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(accepts("application/json, text/html"));
        for other in ["*/*", "application/json", "text/plain", "image/avif,*/*"] {
            assert!(!accepts(other), "{other}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }

    #[test]
    fn a_page_is_small_and_names_its_request() {
        for code in [400, 403, 404, 413, 500, 502, 503, 504, 599] {
            let status = StatusCode::from_u16(code).expect("a status");
            let page = error(status, 0xabc);
            assert!(page.contains("0000000000000abc"), "{page}");
            assert!(page.contains(&format!("<span>{code}</span>")), "{page}");
            assert!(
                !page.contains("<script") && !page.contains("http"),
                "{page}"
            );
            assert!(page.len() < 2500, "{}", page.len());
        }
    }
}
