//! The meaning of directives that change requests and responses.

use crate::common::{handler, placeholder, routes, text};
use howdah_config::model::{
    Compression, Encode, Handler, HeaderChange, Matcher, Part, Placeholder, Status, StatusRange,
    Template,
};

pub(crate) fn respond(body: &str, status: impl Into<Option<u16>>, close: bool) -> Handler {
    Handler::Respond {
        body: text(body),
        status: status.into().map_or(Status::Default, Status::Code),
        close,
    }
}

pub(crate) fn paths(path: &str) -> Matcher {
    Matcher::Path(vec![path.into()])
}

pub(crate) fn hidden() -> Vec<String> {
    vec!["./Caddyfile".into()]
}

#[test]
fn root() {
    assert_eq!(handler("root public"), Handler::Root(text("public")));
    assert_eq!(handler("root * public"), Handler::Root(text("public")));
    // A single argument is never a matcher.
    assert_eq!(handler("root /srv"), Handler::Root(text("/srv")));
    let routes = routes("root /a/* one");
    assert_eq!(routes[0].matcher, Some(paths("/a/*")));
}

#[test]
fn rewrite() {
    assert_eq!(
        handler("rewrite /index.php"),
        Handler::Rewrite(text("/index.php"))
    );
    let routes = routes("rewrite /a /b.php?{query}");
    assert_eq!(routes[0].matcher, Some(paths("/a")));
    let to = Template {
        parts: vec![
            Part::Text("/b.php?".into()),
            Part::Placeholder(Placeholder::Query),
        ],
    };
    assert_eq!(routes[0].handler, Handler::Rewrite(to));
}

#[test]
fn redir() {
    for (directive, status) in [
        ("redir https://example.com{uri}", 302),
        ("redir https://example.com{uri} temporary", 302),
        ("redir * https://example.com{uri} permanent", 301),
        ("redir https://example.com{uri} 308", 308),
        ("redir https://example.com{uri} 401", 401),
    ] {
        let to = Template {
            parts: vec![
                Part::Text("https://example.com".into()),
                Part::Placeholder(Placeholder::Uri),
            ],
        };
        assert_eq!(
            handler(directive),
            Handler::Redirect { to, status },
            "{directive}"
        );
    }
}

#[test]
fn responses() {
    for (directive, expected) in [
        ("respond ok", respond("ok", None, false)),
        ("respond 404", respond("", 404, false)),
        ("respond \"\"", respond("", None, false)),
        ("respond 4044", respond("4044", None, false)),
        ("respond \"not here\" 404", respond("not here", 404, false)),
        ("respond * bye {\nclose\n}", respond("bye", None, true)),
        ("respond 503 {\nbody later\n}", respond("later", 503, false)),
        ("respond `{\"a\": 1}`", respond("{\"a\": 1}", None, false)),
        ("respond \"\\{path\\}\"", respond("{path}", None, false)),
        (
            "respond <<END\n  a\n   b\n  END 201",
            respond("a\n b", 201, false),
        ),
    ] {
        assert_eq!(handler(directive), expected, "{directive}");
    }
}

#[test]
fn headers() {
    assert_eq!(
        handler("header {\nA one\n+B two\nE: four\nF \"(o+)\" 0$1\nG \"\"\nH {host}\n}"),
        Handler::Header(vec![
            HeaderChange::Add("B".into(), text("two")),
            HeaderChange::Set("A".into(), text("one")),
            HeaderChange::Set("E".into(), text("four")),
            HeaderChange::Set("G".into(), text("")),
            HeaderChange::Set("H".into(), placeholder(Placeholder::Host)),
            HeaderChange::Replace("F".into(), text("(o+)"), text("0$1")),
        ])
    );
    let find = Template {
        parts: vec![
            Part::Text("^\\p{L}{2}\\{host}".into()),
            Part::Placeholder(Placeholder::Host),
        ],
    };
    assert_eq!(
        handler("header >* `^\\p{L}{2}\\{host}{host}` \"\""),
        Handler::DeferredHeader(vec![HeaderChange::Replace("*".into(), find, text(""))])
    );
    let routes = routes("header /a/* -Server");
    assert_eq!(routes[0].matcher, Some(paths("/a/*")));
    assert_eq!(
        routes[0].handler,
        Handler::DeferredHeader(vec![HeaderChange::Remove("Server".into())])
    );
}

/// As in Caddy, one of them defers its whole block, and `?` is a separate directive.
#[test]
fn deferred_headers() {
    let set = || vec![HeaderChange::Set("A".into(), text("one"))];
    for directive in ["header >A one", "header {\nA one\ndefer\n}"] {
        assert_eq!(
            handler(directive),
            Handler::DeferredHeader(set()),
            "{directive}"
        );
    }
    let found = routes("header /a {\nA one\n?B two\n-C\n}");
    let handlers: Vec<_> = found.into_iter().map(|route| route.handler).collect();
    let mut own = set();
    own.push(HeaderChange::Remove("C".into()));
    let default = vec![HeaderChange::Default("B".into(), text("two"))];
    assert_eq!(
        handlers,
        [
            Handler::DeferredHeader(own),
            Handler::DeferredHeader(default.clone())
        ]
    );
    assert_eq!(handler("header ?B two"), Handler::DeferredHeader(default));
}

#[test]
fn encode() {
    use Compression::{Brotli, Gzip, Zstd};
    for (directive, formats) in [
        ("encode", vec![Zstd(3), Gzip(1)]),
        ("encode gzip", vec![Gzip(1)]),
        ("encode zstd br gzip", vec![Zstd(3), Brotli(2), Gzip(1)]),
        ("encode {\nbr\ngzip 9\n}", vec![Brotli(2), Gzip(9)]),
        (
            "encode gzip br {\nzstd better\ngzip 5\nbr 0\n}",
            vec![Gzip(5), Brotli(0), Zstd(7)],
        ),
        ("encode {\nzstd fastest\n}", vec![Zstd(1)]),
        ("encode {\nzstd default\n}", vec![Zstd(3)]),
        ("encode {\nzstd best\n}", vec![Zstd(11)]),
        ("encode {\nzstd 19\n}", vec![Zstd(19)]),
    ] {
        assert_eq!(handler(directive), Handler::Encode(Encode::new(formats)));
    }
    let mut own = Encode::new(vec![Gzip(1)]);
    own.minimum_length = 0;
    own.matches.statuses = vec![StatusRange::new(200, 299), StatusRange::one(404)];
    own.matches.headers = vec![
        (
            "Content-Type".into(),
            vec![Some("text/*".into()), Some("*json".into())],
        ),
        ("X-Plain".into(), vec![None]),
        ("X-Any".into(), vec![Some("*".into())]),
    ];
    let text = "encode gzip {\nminimum_length 0\nmatch {\nstatus 2xx 404\nheader Content-Type text/*\n\
                header content-type *json\nheader !X-Plain\nheader X-Any\n}\n}";
    assert_eq!(handler(text), Handler::Encode(own));
    let Handler::Encode(one) = handler("encode {\nmatch status 200\n}") else {
        panic!("encode")
    };
    assert_eq!(one.matches.statuses, [StatusRange::one(200)]);
    assert_eq!(one.matches.headers, []);
    let Handler::Encode(one) = handler("encode {\nmatch header Content-Type text/*\n}") else {
        panic!("encode")
    };
    let values = vec![Some("text/*".to_owned())];
    assert_eq!(one.matches.headers, [("Content-Type".to_owned(), values)]);
    let routes = routes("encode /a/* gzip");
    assert_eq!(routes[0].matcher, Some(paths("/a/*")));
    assert_eq!(
        routes[0].handler,
        Handler::Encode(Encode::new(vec![Gzip(1)]))
    );
}
