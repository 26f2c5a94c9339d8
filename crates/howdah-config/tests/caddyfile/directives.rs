//! The meaning of each directive.

use crate::common::{config, errors, handler, matcher, path_and, placeholder, routes, text};
use howdah_config::model::{
    AccessLog, Compression, ContentCoding, Encode, FileServer, Handler, HeaderChange, LineFormat,
    LogFormat, Matcher, Part, PhpScript, PhpServer, Placeholder, Route, Status, StatusRange,
    Symlinks, Template, TryFiles, TryPolicy,
};

fn respond(body: &str, status: impl Into<Option<u16>>, close: bool) -> Handler {
    Handler::Respond {
        body: text(body),
        status: status.into().map_or(Status::Default, Status::Code),
        close,
    }
}

fn paths(path: &str) -> Matcher {
    Matcher::Path(vec![path.into()])
}

fn hidden() -> Vec<String> {
    vec!["./Caddyfile".into()]
}

/// Texts of the `respond` handlers of the routes, in order.
fn bodies(routes: &[Route]) -> Vec<&str> {
    routes
        .iter()
        .map(|route| match &route.handler {
            Handler::Respond { body, .. } => body.as_text().expect("text"),
            other => panic!("{other:?}"),
        })
        .collect()
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
            HeaderChange::Set("A".into(), text("one")),
            HeaderChange::Add("B".into(), text("two")),
            HeaderChange::Set("E".into(), text("four")),
            HeaderChange::Replace("F".into(), "(o+)".into(), text("0$1")),
            HeaderChange::Set("G".into(), text("")),
            HeaderChange::Set("H".into(), placeholder(Placeholder::Host)),
        ])
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
fn php_server_defaults() {
    let expected = PhpServer {
        script: PhpScript::default(),
        root: None,
        index: Some("index.php".into()),
        try_files: TryFiles {
            candidates: vec![
                placeholder(Placeholder::Path),
                path_and("/index.php"),
                text("index.php"),
            ],
            fallback_status: None,
        },
        files: Some(FileServer {
            hide: hidden(),
            ..FileServer::default()
        }),
        fastcgi: None,
    };
    assert_eq!(handler("php_server"), Handler::PhpServer(expected.clone()));
    assert_eq!(handler("php_server {\n}"), Handler::PhpServer(expected));
    assert_eq!(routes("php_server /a/*")[0].matcher, Some(paths("/a/*")));
}

#[test]
fn php_server_options() {
    let server = |block: &str| match handler(&format!("php_server {{\n{block}\n}}")) {
        Handler::PhpServer(server) => server,
        other => panic!("{other:?}"),
    };
    assert_eq!(server("root /srv/app").root, Some(text("/srv/app")));
    let app = server("index app.php");
    assert_eq!(app.index.as_deref(), Some("app.php"));
    assert_eq!(
        app.try_files.candidates[1..],
        [path_and("/app.php"), text("app.php")]
    );
    let off = server("index off");
    assert_eq!((off.index, off.try_files), (None, TryFiles::default()));
    let files_off = server("file_server off");
    assert_eq!(files_off.files, None);
    assert_eq!(
        files_off.try_files.candidates,
        [path_and("/index.php"), text("index.php")]
    );
    let tried = server("try_files {path} a.php =404").try_files;
    assert_eq!(
        tried.candidates,
        [placeholder(Placeholder::Path), text("a.php")]
    );
    assert_eq!(tried.fallback_status, Some(404));
    assert_eq!(server("split .php .phtml").script.split, [".php", ".phtml"]);
    assert_eq!(server("split_path .inc").script.split, [".inc"]);
    let env = server("env A one\nenv B {host}\nenv A two").script.env;
    assert_eq!(
        env,
        [
            ("B".to_owned(), placeholder(Placeholder::Host)),
            ("A".to_owned(), text("two"))
        ]
    );
    assert!(server("resolve_root_symlink").script.resolve_root_symlink);
    assert!(
        !server("resolve_root_symlink false")
            .script
            .resolve_root_symlink
    );
}

#[test]
fn php() {
    let script = PhpScript {
        root: Some(text("app")),
        split: vec![".inc".into()],
        env: vec![("A".into(), text("b"))],
        resolve_root_symlink: false,
        learn_hints: true,
        workers: Vec::new(),
        pool: None,
    };
    assert_eq!(
        handler(
            "php /a* {\nroot app\nsplit .inc\nenv A b\nresolve_root_symlink 0\nearly_hints learn\n}"
        ),
        Handler::Php(script)
    );
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

#[test]
fn file_server() {
    let files = FileServer {
        hide: hidden(),
        ..FileServer::default()
    };
    assert_eq!(handler("file_server"), Handler::FileServer(files));
    let files = FileServer {
        root: Some(text("public")),
        index: vec!["a.html".into()],
        hide: vec![
            ".git".into(),
            "*.bak".into(),
            "x".into(),
            "./Caddyfile".into(),
        ],
        precompressed: vec![ContentCoding::Zstd, ContentCoding::Gzip],
        ..FileServer::default()
    };
    assert_eq!(
        handler(
            "file_server {\nroot public\nindex a.html\nhide .git *.bak\nhide x\nprecompressed zstd gzip\n}"
        ),
        Handler::FileServer(files)
    );
    let Handler::FileServer(files) = handler("file_server {\nsymlinks if_owner_match\n}") else {
        panic!("file_server")
    };
    assert_eq!(files.symlinks, Symlinks::IfOwnerMatch);
    let Handler::PhpServer(php) = handler("php_server {\nsymlinks off\n}") else {
        panic!("php_server")
    };
    let symlinks = php.files.map(|files| files.symlinks);
    assert_eq!(symlinks, Some(Symlinks::Off));
    let Handler::FileServer(files) = handler("file_server {\nprecompressed\n}") else {
        panic!("file_server")
    };
    let all = [
        ContentCoding::Brotli,
        ContentCoding::Zstd,
        ContentCoding::Gzip,
    ];
    assert_eq!(files.precompressed, all);
}

#[test]
fn try_files() {
    let files = TryFiles {
        candidates: vec![
            placeholder(Placeholder::Path),
            path_and("/"),
            text("/index.html"),
        ],
        fallback_status: Some(404),
    };
    assert_eq!(
        handler("try_files {path} {path}/ /index.html =404"),
        Handler::TryFiles(files.clone(), TryPolicy::FirstExist)
    );
    for (name, policy) in [
        ("first_exist", TryPolicy::FirstExist),
        ("first_exist_fallback", TryPolicy::FirstExistFallback),
        ("smallest_size", TryPolicy::SmallestSize),
        ("largest_size", TryPolicy::LargestSize),
        ("most_recently_modified", TryPolicy::MostRecentlyModified),
    ] {
        let line = format!("try_files {{path}} {{path}}/ /index.html =404 {{\npolicy {name}\n}}");
        assert_eq!(handler(&line), Handler::TryFiles(files.clone(), policy));
        let file = Matcher::File {
            root: None,
            candidates: vec![text("a")],
            split: Vec::new(),
            policy,
        };
        assert_eq!(
            matcher(&format!("@a file a {{\ntry_policy {name}\n}}")),
            file
        );
    }
}

#[test]
fn the_last_file_needs_no_look() {
    let last = |files: &str| {
        let routes = routes(&format!(
            "try_files {files} {{\npolicy first_exist_fallback\n}}"
        ));
        let group = routes[0].group;
        assert!(group.is_some() && routes.iter().all(|route| route.group == group));
        let before = routes.len() - 1;
        assert!(routes[..before].iter().all(|route| route.matcher.is_some()));
        routes[before].clone()
    };
    let rewritten = last("{path} app.php?a=b");
    assert_eq!(rewritten.matcher, None);
    assert!(matches!(rewritten.handler, Handler::Rewrite(_)));
    let file = last("a.php?b {path} app.html");
    assert_eq!(file.matcher, None);
    let files = TryFiles {
        candidates: vec![placeholder(Placeholder::Path), text("app.html")],
        fallback_status: None,
    };
    let expected = Handler::TryFiles(files, TryPolicy::FirstExistFallback);
    assert_eq!(file.handler, expected);
}

#[test]
fn try_files_with_a_query_is_a_group_of_rewrites() {
    let routes = routes("try_files {path} app.php?{query}&p={path} =404");
    let group = routes[0].group;
    assert!(group.is_some() && routes.iter().all(|route| route.group == group));
    let file = |candidate| {
        Some(Matcher::File {
            root: None,
            candidates: vec![candidate],
            split: Vec::new(),
            policy: TryPolicy::FirstExist,
        })
    };
    assert_eq!(routes.len(), 3);
    assert_eq!(routes[0].matcher, file(placeholder(Placeholder::Path)));
    assert_eq!(routes[1].matcher, file(text("app.php")));
    let rewrite = Template {
        parts: vec![
            Part::Text("/app.php?".into()),
            Part::Placeholder(Placeholder::Query),
            Part::Text("&p=".into()),
            Part::Placeholder(Placeholder::Path),
        ],
    };
    assert_eq!(routes[1].handler, Handler::Rewrite(rewrite));
    assert_eq!(routes[2].matcher, None);
    let answer = TryFiles {
        candidates: vec![],
        fallback_status: Some(404),
    };
    assert_eq!(
        routes[2].handler,
        Handler::TryFiles(answer, TryPolicy::FirstExist)
    );
}

#[test]
fn handle_groups() {
    let routes = routes(
        "handle {\nrespond rest\n}\nhandle /a/* {\nrespond a\n}\nhandle_path /b/* {\nrespond b\n}",
    );
    assert_eq!(routes.len(), 3);
    assert_eq!(routes[0].matcher, Some(paths("/a/*")));
    assert_eq!(routes[1].matcher, Some(paths("/b/*")));
    assert_eq!(routes[2].matcher, None);
    assert!(routes[0].group.is_some());
    assert!(routes.iter().all(|route| route.group == routes[0].group));
    let Handler::Chain(chain) = &routes[1].handler else {
        panic!("{routes:?}")
    };
    assert_eq!(chain[0].handler, Handler::StripPrefix("/b".into()));
    assert_eq!(chain[1].handler, respond("b", None, false));
}

#[test]
fn one_handle_needs_no_group() {
    assert_eq!(routes("handle {\nrespond a\n}")[0].group, None);
    let two = routes("rewrite /a /b\nrewrite /c /d\nroot /a /x\nroot /y");
    let groups: Vec<_> = two
        .iter()
        .map(|route| route.group.expect("a group"))
        .collect();
    assert_eq!(groups[0], groups[1]);
    assert_eq!(groups[2], groups[3]);
    assert_ne!(groups[0], groups[2]);
}

#[test]
fn directives_are_sorted() {
    let routes = routes(
        "file_server\nphp_server\nphp\nreverse_proxy a\nrespond /x x\nabort /x\nerror /x\nencode\n\
         route {\n}\nhandle {\n}\nintercept {\nreplace_status 404\n}\nrequest_header A b\ntry_files {path}\n\
         uri strip_prefix /a\nrewrite /y\nmethod GET\nredir /r /s\nrequest_body {\nmax_size 1\n}\nheader A b\n\
         log_skip\nroot public\nvars a b",
    );
    let names: Vec<_> = routes
        .iter()
        .map(|route| match &route.handler {
            Handler::Root(_) => "root",
            Handler::Header(_) | Handler::DeferredHeader(_) => "header",
            Handler::Encode(_) => "encode",
            Handler::Redirect { .. } => "redir",
            Handler::Rewrite(_) => "rewrite",
            Handler::StripPrefix(_) => "strip",
            Handler::TryFiles(..) => "try_files",
            Handler::Chain(_) => "chain",
            Handler::Respond { .. } => "respond",
            Handler::PhpServer(_) => "php_server",
            Handler::Php(_) => "php",
            Handler::FileServer(_) => "file_server",
            Handler::Vars(_) => "vars",
            Handler::Method(_) => "method",
            Handler::Uri(_) => "uri",
            Handler::RequestHeader(_) => "request_header",
            Handler::RequestBody { .. } => "request_body",
            Handler::BasicAuth(_) => "basic_auth",
            Handler::LogSkip => "log_skip",
            Handler::Intercept(_) => "intercept",
            Handler::Error { .. } => "error",
            Handler::Abort => "abort",
            Handler::ReverseProxy(_) => "reverse_proxy",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        [
            "vars",
            "root",
            "log_skip",
            "header",
            "request_body",
            "redir",
            "method",
            "rewrite",
            "uri",
            "try_files",
            "request_header",
            "encode",
            "intercept",
            "chain",
            "chain",
            "abort",
            "error",
            "respond",
            "reverse_proxy",
            "php",
            "php_server",
            "file_server"
        ]
    );
}

#[test]
fn specific_paths_come_first() {
    let sorted = routes(
        "@two path /p /q\n@one path /api/users/*\nrespond rest\nrespond /a* short\n\
         respond /api/* api\nrespond @one users\nrespond /api exact",
    );
    assert_eq!(bodies(&sorted), ["users", "api", "exact", "short", "rest"]);
    let same = routes("respond /foo/* wild\nrespond /foo/ exact\nrespond /bar/* bar");
    assert_eq!(bodies(&same), ["bar", "exact", "wild"]);
    let several = routes("@two path /p /q\nrespond none\nrespond @two two\nrespond /p one");
    assert_eq!(bodies(&several), ["two", "one", "none"]);
}

#[test]
fn route_keeps_the_order() {
    let Handler::Chain(chain) = handler("route {\nrespond /a a\nrespond rest\nrespond /a/b ab\n}")
    else {
        panic!("no chain")
    };
    assert_eq!(bodies(&chain), ["a", "rest", "ab"]);
}

#[test]
fn site_settings() {
    let site =
        config(":80 {\nbind 127.0.0.1 [::1]\nlog {\nformat json\noutput stderr\nlevel INFO\n}\n}")
            .sites
            .remove(0);
    assert_eq!(
        site.bind,
        [
            "127.0.0.1".parse::<std::net::IpAddr>().unwrap(),
            "::1".parse().unwrap()
        ]
    );
    assert_eq!(
        site.access_logs,
        [AccessLog {
            format: LineFormat {
                encoding: Some(LogFormat::Json),
                ..LineFormat::default()
            },
            ..AccessLog::default()
        }]
    );
    assert!(site.routes.is_empty());
    assert_eq!(
        config(":80 {\nlog\n}").sites[0].access_logs,
        [AccessLog::default()]
    );
    assert_eq!(config(":80 {\n}").sites[0].access_logs, []);
}

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
