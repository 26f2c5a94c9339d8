//! The dashboard: a page that shows the admin API's data. It is part of the binary and loads nothing from elsewhere.
//!
//! The browser allows it to run its own script, use its own style sheet and connect to its own address, and nothing
//! else. Data of clients and PHP is inserted as text (`require-trusted-types-for` makes the browser enforce this).

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::Full;

const PATH: &str = "/dashboard/";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of all files. The referrer policy is not `no-referrer`, with which browsers send `Origin: null` with the
/// profile's form.
const HEADERS: [(HeaderName, &str); 7] = [
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

struct File {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! file {
    ($name:literal, $file:literal, $kind:expr) => {
        File {
            name: $name,
            kind: $kind,
            text: include_str!($file),
        }
    };
}

const FILES: &[File] = &[
    file!("", "index.html", HTML),
    file!("style.css", "style.css", STYLE),
    file!("icon.svg", "icon.svg", "image/svg+xml"),
    file!("main.js", "main.js", SCRIPT),
    file!("api.js", "api.js", SCRIPT),
    file!("charts.js", "charts.js", SCRIPT),
    file!("dom.js", "dom.js", SCRIPT),
    file!("format.js", "format.js", SCRIPT),
    file!("table.js", "table.js", SCRIPT),
    file!("views.js", "views.js", SCRIPT),
];

/// The file at this path, or a redirect to the page. `None`: not a path of the dashboard.
pub(super) fn file(path: &str) -> Option<Response<Full<Bytes>>> {
    if path == "/" || path == "/dashboard" {
        let mut redirect = Response::new(Full::default());
        *redirect.status_mut() = StatusCode::FOUND;
        let headers = redirect.headers_mut();
        headers.insert(LOCATION, HeaderValue::from_static(PATH));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        return Some(redirect);
    }
    let name = path.strip_prefix(PATH)?;
    let file = FILES.iter().find(|file| file.name == name)?;
    let mut response = Response::new(Full::new(Bytes::from_static(file.text.as_bytes())));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Total size of all files.
    const SIZE_MAX: usize = 72 << 10;

    #[test]
    fn the_page_is_small_and_has_nothing_inline_or_from_elsewhere() {
        let size: usize = FILES.iter().map(|file| file.text.len()).sum();
        assert!(size < SIZE_MAX, "{size} bytes");
        let page = FILES[0].text;
        for inline in ["<style", "style=", " onclick", "javascript:"] {
            assert!(!page.contains(inline), "{inline}");
        }
        for script in page.split("<script").skip(1) {
            assert!(script.contains("src=\""), "{script}");
        }
        for file in FILES {
            for elsewhere in ["https://", "http://", "@import", "innerHTML", "eval("] {
                let text = file.text.replace("http://www.w3.org/", "");
                assert!(!text.contains(elsewhere), "{}: {elsewhere}", file.name);
            }
        }
    }

    #[test]
    fn every_file_that_the_page_needs_is_there() {
        for file in FILES.iter().filter(|file| file.kind == SCRIPT) {
            for import in file.text.split("from \"./").skip(1) {
                let name = import.split('"').next().expect("a name");
                assert!(FILES.iter().any(|file| file.name == name), "{name}");
            }
        }
        for name in ["style.css", "icon.svg", "main.js"] {
            assert!(FILES[0].text.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}
