//! Early hints that the server has learned: when the response to a page has asked browsers to fetch files, the next
//! client of the page gets these links before the application responds.
//!
//! Hints from private responses are not shared: they are learned only from responses to requests without cookies and
//! authorization. They are sent where browsers accept them: for navigations over HTTP/2 and HTTP/3.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, LINK, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Version};

use crate::message::interim::Interim;

/// Most pages that a front thread stores; when full, it drops the half that was not requested lately.
const PAGES_MAX: usize = 2048;
/// Bytes of links that are stored for a page. More would delay the response that they should precede.
const LINKS_MAX: usize = 4096;
/// Relations of links that can be fetched early without harm.
const RELATIONS: [&str; 3] = ["preload", "modulepreload", "preconnect"];

/// The hints that one front thread has learned.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    pages: RefCell<Pages>,
}

/// Learned hints by host and path.
type HintMap = HashMap<Box<str>, Rc<HeaderMap>>;

#[derive(Debug, Default)]
struct Pages {
    young: HintMap,
    old: HintMap,
}

impl Pages {
    fn find(&mut self, key: &str) -> Option<Rc<HeaderMap>> {
        if let Some(links) = self.young.get(key) {
            return Some(Rc::clone(links));
        }
        let (key, links) = self.old.remove_entry(key)?;
        self.store(key, Rc::clone(&links));
        Some(links)
    }

    fn store(&mut self, key: Box<str>, links: Rc<HeaderMap>) {
        if self.young.len() >= PAGES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, links);
    }

    fn forget(&mut self, key: &str) {
        self.young.remove(key);
        self.old.remove(key);
    }
}

/// A page that a user navigates to.
#[derive(Debug)]
pub(crate) struct Page {
    key: Box<str>,
    /// Whether anyone could have sent the request.
    public: bool,
}

impl Page {
    /// `None`: the request gets no hints.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let headers = &parts.headers;
        let navigates = headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
        if !navigates
            || parts.method != Method::GET
            || parts.version < Version::HTTP_2
            || headers.contains_key(AUTHORIZATION)
        {
            return None;
        }
        let host = match parts.uri.authority() {
            Some(authority) => authority.as_str(),
            None => headers.get(HOST)?.to_str().ok()?,
        };
        Some(Self {
            key: format!("{host}{}", parts.uri.path()).into(),
            public: !headers.contains_key(COOKIE),
        })
    }
}

impl Hints {
    pub(crate) fn send(&self, page: &Page, interim: Interim<'_>) {
        let links = self.pages.borrow_mut().find(&page.key);
        if let Some(links) = links
            && let Err(error) = interim.send(StatusCode::EARLY_HINTS, &links)
        {
            tracing::debug!(page = &*page.key, "learned hints were not sent: {error}");
        }
    }

    /// Stores the links of the page's response, and drops those that it no longer has.
    pub(crate) fn learn<B>(&self, page: Page, response: &Response<B>) {
        if !page.public {
            return;
        }
        let links = if response.status() == StatusCode::OK && is_public(response.headers()) {
            links(response.headers())
        } else {
            HeaderMap::new()
        };
        let mut pages = self.pages.borrow_mut();
        if links.is_empty() {
            pages.forget(&page.key);
        } else if pages.find(&page.key).is_none_or(|known| *known != links) {
            pages.store(page.key, Rc::new(links));
        }
    }
}

/// An HTML page that was not made for one client.
fn is_public(headers: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| value.to_str().map(str::to_ascii_lowercase).ok();
    let html = headers.get(CONTENT_TYPE).and_then(text);
    let for_one = headers.get_all(CACHE_CONTROL).iter().any(|value| {
        text(value).is_none_or(|value| value.contains("private") || value.contains("no-store"))
    });
    html.is_some_and(|html| html.starts_with("text/html"))
        && !for_one
        && !headers.contains_key(SET_COOKIE)
}

/// The links that are suitable as hints.
fn links(headers: &HeaderMap) -> HeaderMap {
    let mut found = HeaderMap::new();
    let mut size = 0;
    for value in headers.get_all(LINK) {
        let Ok(text) = value.to_str() else { continue };
        for link in parts(text, ',') {
            size += link.len();
            if is_hint(link)
                && size <= LINKS_MAX
                && let Ok(value) = HeaderValue::from_str(link)
            {
                found.append(LINK, value);
            }
        }
    }
    found
}

/// Whether `<URI>; rel=…` names one of the relations.
fn is_hint(link: &str) -> bool {
    let mut fields = parts(link, ';').skip(1);
    let rel = fields.find_map(|field| {
        let (name, value) = field.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("rel");
        named.then(|| value.trim().trim_matches('"'))
    });
    rel.is_some_and(|rel| {
        rel.split_ascii_whitespace().any(|rel| {
            RELATIONS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(rel))
        })
    })
}

/// The pieces between separators, except separators within `<…>` or quotes.
fn parts(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped, mut address) = (false, false, false);
    text.split(move |char: char| {
        if escaped {
            escaped = false;
            return false;
        }
        match char {
            '\\' if quoted => escaped = true,
            '"' if !address => quoted = !quoted,
            '<' if !quoted => address = true,
            '>' if !quoted => address = false,
            _ => {}
        }
        char == separator && !quoted && !address
    })
    .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&str, &str)]) -> Response<()> {
        let mut builder = Response::builder().header("content-type", "text/html; charset=utf-8");
        for (name, value) in fields {
            builder = builder.header(*name, *value);
        }
        builder.body(()).expect("a response")
    }

    fn page(fields: &[(&str, &str)]) -> Option<Page> {
        let mut builder = http::Request::builder()
            .version(Version::HTTP_2)
            .uri("https://a.example/shop?x=1");
        for (name, value) in fields {
            builder = builder.header(*name, *value);
        }
        Page::of(&builder.body(()).expect("a request").into_parts().0)
    }

    fn navigation() -> Page {
        page(&[("sec-fetch-mode", "navigate")]).expect("one that gets hints")
    }

    fn stored(hints: &Hints) -> Vec<String> {
        let links = hints.pages.borrow_mut().find("a.example/shop");
        let links = links.iter().flat_map(|links| links.iter());
        links
            .map(|(_, value)| value.to_str().expect("text").to_owned())
            .collect()
    }

    #[test]
    fn navigations_alone_get_hints() {
        assert_eq!(&*navigation().key, "a.example/shop");
        assert!(navigation().public);
        assert!(page(&[]).is_none());
        assert!(page(&[("sec-fetch-mode", "cors")]).is_none());
        let navigate = ("sec-fetch-mode", "navigate");
        assert!(page(&[navigate, ("authorization", "Basic YQ==")]).is_none());
        assert!(!page(&[navigate, ("cookie", "a=b")]).expect("a page").public);
    }

    #[test]
    fn links_to_fetch_early_are_learned_and_forgotten() {
        let hints = Hints::default();
        let link =
            "</a,b.css>; rel=\"preload\"; as=style, </next>; rel=next,<//cdn>;rel=preconnect";
        hints.learn(navigation(), &response(&[("link", link)]));
        assert_eq!(
            stored(&hints),
            [
                "</a,b.css>; rel=\"preload\"; as=style",
                "<//cdn>;rel=preconnect"
            ]
        );
        hints.learn(
            navigation(),
            &response(&[("link", "</c.js>; rel=modulepreload")]),
        );
        assert_eq!(stored(&hints), ["</c.js>; rel=modulepreload"]);
        hints.learn(navigation(), &response(&[]));
        assert!(stored(&hints).is_empty());
    }

    #[test]
    fn nothing_is_learned_from_private_responses() {
        let hints = Hints::default();
        let link = ("link", "</mine.css>; rel=preload");
        for field in [
            ("set-cookie", "a=b"),
            ("cache-control", "max-age=0, private"),
            ("cache-control", "no-store"),
        ] {
            hints.learn(navigation(), &response(&[link, field]));
            assert!(stored(&hints).is_empty(), "{field:?}");
        }
        let session = page(&[("sec-fetch-mode", "navigate"), ("cookie", "a=b")]);
        hints.learn(session.expect("a page"), &response(&[link]));
        assert!(stored(&hints).is_empty());
        let mut failed = response(&[link]);
        *failed.status_mut() = StatusCode::NOT_FOUND;
        hints.learn(navigation(), &failed);
        assert!(stored(&hints).is_empty());
    }

    #[test]
    fn pages_are_bounded_and_those_in_use_stay() {
        let mut pages = Pages::default();
        let links = Rc::new(HeaderMap::new());
        pages.store("used".into(), Rc::clone(&links));
        for number in 0..10 * PAGES_MAX {
            pages.store(number.to_string().into(), Rc::clone(&links));
            assert!(pages.find("used").is_some());
            assert!(pages.young.len() + pages.old.len() <= PAGES_MAX);
        }
        assert!(pages.find("0").is_none());
    }
}
