//! The meaning of matchers and placeholders.

use crate::common::{errors, handler, matcher, path_and, placeholder, routes, text};
use crate::directives::paths;
use howdah_config::model::{Handler, Matcher, Part, Placeholder, TryPolicy};

#[test]
fn matchers() {
    let header =
        |name: &str, value: Option<&str>| Matcher::Header(name.into(), value.map(str::to_owned));
    let not = |matcher| Matcher::Not(Box::new(matcher));
    let list = |items: &[&str]| {
        items
            .iter()
            .map(|item| (*item).to_owned())
            .collect::<Vec<_>>()
    };
    for (definition, expected) in [
        ("@a path /x /y", Matcher::Path(list(&["/x", "/y"]))),
        (
            "@a {\npath /x\npath *.css\n}",
            Matcher::Path(list(&["/x", "*.css"])),
        ),
        (
            "@a method get POST",
            Matcher::Method(list(&["GET", "POST"])),
        ),
        (
            "@a host Example.com *.x.org",
            Matcher::Host(list(&["example.com", "*.x.org"])),
        ),
        (
            "@a host A.test {host}",
            Matcher::HostTemplate(vec![text("a.test"), placeholder(Placeholder::Host)]),
        ),
        (
            "@a file a =410",
            Matcher::File {
                root: None,
                candidates: vec![text("a")],
                split: Vec::new(),
                policy: TryPolicy::FirstExist,
                fallback_status: Some(410),
            },
        ),
        ("@a header Accept *json*", header("Accept", Some("*json*"))),
        ("@a header !Cookie", header("Cookie", None)),
        ("@a not path /x", not(Matcher::Path(list(&["/x"])))),
        (
            "@a {\nheader A 1\nheader a 2\n}",
            not(Matcher::All(vec![
                not(header("A", Some("1"))),
                not(header("A", Some("2"))),
            ])),
        ),
        (
            "@a {\nheader A 1\nheader B 2\n}",
            Matcher::All(vec![header("A", Some("1")), header("B", Some("2"))]),
        ),
        (
            "@a {\nfile\npath /x\nmethod GET\n}",
            Matcher::All(vec![
                Matcher::Method(list(&["GET"])),
                Matcher::Path(list(&["/x"])),
                Matcher::File {
                    fallback_status: None,
                    root: None,
                    candidates: vec![placeholder(Placeholder::Path)],
                    split: Vec::new(),
                    policy: TryPolicy::FirstExist,
                },
            ]),
        ),
        (
            "@a {\nnot path /x\nnot {\nmethod GET\nhost y\n}\n}",
            Matcher::All(vec![
                not(Matcher::Path(list(&["/x"]))),
                not(Matcher::All(vec![
                    Matcher::Method(list(&["GET"])),
                    Matcher::Host(list(&["y"])),
                ])),
            ]),
        ),
        (
            "@a file {path}/index.php {\nroot app\ntry_files b\n}",
            Matcher::File {
                fallback_status: None,
                root: Some(text("app")),
                candidates: vec![path_and("/index.php"), text("b")],
                split: Vec::new(),
                policy: TryPolicy::FirstExist,
            },
        ),
    ] {
        assert_eq!(matcher(definition), expected, "{definition}");
    }
}

#[test]
fn matchers_of_a_block_stay_in_it() {
    let routes = routes("@a path /a\nhandle @a {\n@b path /b\nrespond @a a\nrespond @b b\n}");
    assert_eq!(routes[0].matcher, Some(paths("/a")));
    let Handler::Chain(chain) = &routes[0].handler else {
        panic!("{routes:?}")
    };
    assert_eq!(chain[1].matcher, Some(paths("/b")));
    let errors = errors(":80 {\nhandle {\n@b path /b\n}\nrespond @b b\n}");
    assert_eq!(
        errors,
        ["Caddyfile:5:9: the matcher `@b` is not defined; define it in this site: `@b path /…`"]
    );
}

#[test]
fn placeholders() {
    let body = |word: &str| match handler(&format!("respond \"{word}\"")) {
        Handler::Respond { body, .. } => body.parts,
        other => panic!("{other:?}"),
    };
    for (word, expected) in [
        (
            "{header.X-Forwarded-For}",
            Placeholder::Header("x-forwarded-for".into()),
        ),
        ("{http.request.cookie.Id}", Placeholder::Cookie("Id".into())),
        ("{query.page}", Placeholder::QueryValue("page".into())),
        ("{path.0}", Placeholder::PathElement(0)),
        (
            "{http.request.orig_uri.path.1}",
            Placeholder::OrigPathElement(1),
        ),
        ("{http.request.local}", Placeholder::Local),
        ("{err.id}", Placeholder::ErrorId),
        ("{http.error.trace}", Placeholder::ErrorTrace),
        ("{env.HOME}", Placeholder::Env("HOME".into())),
        ("{http.request.uri.path.dir}", Placeholder::Dir),
        ("{?query}", Placeholder::PrefixedQuery),
        ("{client_ip}", Placeholder::ClientIp),
        ("{remote_host}", Placeholder::RemoteHost),
    ] {
        assert_eq!(body(word), [Part::Placeholder(expected)], "{word}");
    }
    assert_eq!(
        body("a {host}{ b {} {x:y} { path}"),
        [
            Part::Text("a ".into()),
            Part::Placeholder(Placeholder::Host),
            Part::Text("{ b {} {x:y} { path}".into())
        ]
    );
}
