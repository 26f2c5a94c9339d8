//! Routes with Caddy's semantics.

use std::fs;
use std::path::Path;

use crate::support::{Harness, config, php_site, root, route, site, wait_until};
use howdah_config::model::{
    Address, Config, FileServer, Handler, HeaderChange, Matcher, Part, PhpScript, PhpServer,
    Placeholder, Route, Status, Template, TryFiles, TryPolicy,
};
use howdah_http::Server;

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("blog")).unwrap();
    fs::create_dir_all(path.join("plain")).unwrap();
    fs::create_dir_all(path.join(".hidden")).unwrap();
    for script in ["blog/index.php", "UPPER.PHP", ".hidden/x.php"] {
        fs::write(path.join(script), "<?php secret").unwrap();
    }
    fs::write(path.join("app.js"), "let a").unwrap();
    fs::write(path.join("plain/index.html"), "plain").unwrap();
    directory
}

fn when(matcher: Matcher, handler: Handler) -> Route {
    Route {
        matcher: Some(matcher),
        handler,
        group: None,
    }
}

fn path_is(pattern: &str) -> Matcher {
    Matcher::Path(vec![pattern.into()])
}

fn respond(body: &str) -> Handler {
    Handler::Respond {
        body: Template::text(body),
        status: Status::Code(200),
        close: false,
    }
}

fn template(parts: Vec<Part>) -> Template {
    Template { parts }
}

fn placeholder(placeholder: Placeholder) -> Part {
    Part::Placeholder(placeholder)
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

#[test]
fn php_server_finds_scripts_files_and_the_front_controller() {
    let directory = tree();
    let harness = Harness::start(&php_site(directory.path()));
    for (target, script, info, query) in [
        ("/", "/index.php", "", ""),
        ("/index.php", "/index.php", "", ""),
        ("/index.php/a/b?c=d", "/index.php", "/a/b", "c=d"),
        ("/echo.php?x=1", "/echo.php", "", "x=1"),
        ("/echo.php/", "/echo.php", "/", ""),
        ("/UPPER.PHP", "/UPPER.PHP", "", ""),
        ("/UPPER.PHP/info", "/UPPER.PHP", "/info", ""),
        ("/blog/", "/blog/index.php", "", ""),
        ("/users/7?tab=1", "/index.php", "", "tab=1"),
        ("/missing.php", "/index.php", "", ""),
        ("/missing.php/x", "/index.php", "", ""),
        ("/plain/", "/index.php", "", ""),
        ("/a/../echo.php", "/echo.php", "", ""),
        ("/caf%E9", "/index.php", "", ""),
        ("/echo.php%2Finfo", "/echo.php", "/info", ""),
    ] {
        let reply = harness.get(target);
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
        assert_eq!(reply.value("script"), script, "{target}");
        assert_eq!(reply.value("path_info"), info, "{target}");
        assert_eq!(reply.value("query"), query, "{target}");
        assert_eq!(reply.value("uri"), target);
    }
    assert_eq!(harness.get("/app.js").text(), "let a");
    let redirect = harness.get("/blog?x=1");
    assert_eq!(
        (redirect.status, redirect.header("location")),
        (308, Some("/blog/?x=1"))
    );
    for target in ["/.hidden/x.php", "/.git/config"] {
        let reply = harness.get(target);
        assert!(!reply.text().contains("secret"), "{target}: {reply:?}");
    }
}

#[test]
fn source_code_is_never_sent() {
    let directory = tree();
    let path = directory.path();
    fs::write(path.join("plain/index.php"), "<?php secret").unwrap();
    // `index off`: there is no try_files. A script is not used as an index file.
    let server = PhpServer {
        index: None,
        try_files: TryFiles::default(),
        files: Some(FileServer {
            index: vec!["index.php".into(), "index.html".into()],
            ..FileServer::default()
        }),
        ..PhpServer::default()
    };
    let harness = Harness::start(&config(vec![root(path), route(Handler::PhpServer(server))]));
    assert_eq!(harness.get("/plain/").text(), "plain");
    assert_eq!(harness.get("/UPPER.PHP").value("script"), "/UPPER.PHP");
    assert_eq!(harness.get("/blog/").status, 404);
    assert_eq!(harness.get("/none.php").status, 404);
    assert_eq!(harness.get("/UPPER.PHP/x").value("path_info"), "/x");
    for target in [
        "/blog/index.php.",
        "/blog/index.php%20",
        "/blog/index.php%00",
        "/blog/INDEX.PHP",
    ] {
        let reply = harness.get(target);
        assert!(!reply.text().contains("secret"), "{target}: {reply:?}");
    }
}

#[test]
fn php_server_without_files_and_with_a_fallback() {
    let directory = tree();
    let path = directory.path();
    let only_path = || template(vec![placeholder(Placeholder::Path)]);
    let server = PhpServer {
        try_files: TryFiles {
            candidates: vec![only_path()],
            fallback_status: Some(404),
        },
        files: None,
        script: PhpScript {
            env: vec![("APP_PATH".into(), only_path())],
            resolve_root_symlink: false,
            ..PhpScript::default()
        },
        ..PhpServer::default()
    };
    let harness = Harness::start(&config(vec![
        root(path),
        route(Handler::PhpServer(server)),
        route(respond("next")),
    ]));
    assert_eq!(harness.get("/none").status, 404);
    assert_eq!(harness.get("/app.js").text(), "next");
    let reply = harness.get("/blog/index.php");
    assert_eq!(reply.value("env"), r#"[("APP_PATH", "/blog/index.php")]"#);
    assert_eq!(reply.value("root"), path.to_str().unwrap());
}

#[test]
fn the_root_is_resolved_and_followed_when_it_moves() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    for release in ["one", "two"] {
        fs::create_dir(base.join(release)).unwrap();
        fs::write(base.join(release).join("index.php"), "").unwrap();
    }
    let current = base.join("current");
    std::os::unix::fs::symlink(base.join("one"), &current).unwrap();
    let php = Handler::PhpServer(PhpServer::default());
    let harness = Harness::start(&config(vec![root(&current), route(php)]));
    assert_eq!(
        harness.get("/").value("root"),
        base.join("one").to_str().unwrap()
    );
    std::os::unix::fs::symlink(base.join("two"), base.join("next")).unwrap();
    fs::rename(base.join("next"), &current).unwrap();
    wait_until("the new release is served", || {
        harness.get("/").value("root") == base.join("two").to_str().unwrap()
    });
}

#[test]
fn groups_chains_and_order() {
    let grouped = |pattern: &str, body: &str| Route {
        matcher: Some(path_is(pattern)),
        handler: Handler::Chain(vec![
            route(Handler::Header(vec![HeaderChange::Add(
                "X-Way".into(),
                Template::text(body),
            )])),
            when(path_is("*/answer"), respond(body)),
        ]),
        group: Some(1),
    };
    let harness = Harness::start(&config(vec![
        grouped("/api/*", "api"),
        grouped("/*", "all"),
        when(
            Matcher::Not(Box::new(Matcher::Method(vec!["GET".into()]))),
            respond("not get"),
        ),
        route(respond("after")),
    ]));
    assert_eq!(harness.get("/api/answer").text(), "api");
    assert_eq!(harness.get("/other/answer").text(), "all");
    let fallen = harness.get("/API/none");
    assert_eq!(
        (fallen.text(), fallen.header("x-way")),
        ("after", Some("api"))
    );
    let put = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(harness.send(put).text(), "not get");
}

#[test]
fn rewrites_redirects_and_headers() {
    let directory = tree();
    let path = directory.path();
    fs::write(path.join("echo.php"), "").unwrap();
    let rewrite = template(vec![
        text("/echo.php?from="),
        placeholder(Placeholder::Path),
        text("&"),
        placeholder(Placeholder::Query),
    ]);
    let to = template(vec![
        text("https://"),
        placeholder(Placeholder::Host),
        placeholder(Placeholder::Uri),
    ]);
    let id = template(vec![placeholder(Placeholder::Header("x-in".into()))]);
    let harness = Harness::start(&config(vec![
        root(path),
        route(Handler::Header(vec![
            HeaderChange::Remove("Server".into()),
            HeaderChange::Set("X-Copy".into(), id),
            HeaderChange::Default("Content-Type".into(), Template::text("text/html")),
            HeaderChange::Set("X-Text".into(), Template::text("a-b-c")),
            HeaderChange::Replace("X-Text".into(), Template::text("[ac]"), Template::text("x")),
        ])),
        when(path_is("/old*"), Handler::Redirect { to, status: 301 }),
        when(path_is("/strip/*"), Handler::StripPrefix("/strip".into())),
        when(path_is("/r/*"), Handler::Rewrite(rewrite)),
        when(path_is("*.php"), Handler::Php(PhpScript::default())),
        route(Handler::Respond {
            body: template(vec![placeholder(Placeholder::Path), text("|"), text("end")]),
            status: Status::Code(202),
            close: true,
        }),
    ]));
    let old = harness.get_with("/old%20x?q=1", "X-In: 7\r\n");
    assert_eq!(
        old.header("location"),
        Some("https://localhost/old%20x?q=1")
    );
    assert_eq!(
        (old.header("server"), old.header("x-copy")),
        (None, Some("7"))
    );
    assert_eq!(old.header("x-text"), Some("x-b-x"));
    let rewritten = harness.get("/r/a%20b?z=2");
    assert_eq!(rewritten.value("script"), "/echo.php");
    assert_eq!(rewritten.value("query"), "from=%2Fr%2Fa%20b&z=2");
    assert_eq!(rewritten.value("uri"), "/r/a%20b?z=2");
    assert_eq!(rewritten.header("content-type"), Some("text/html"));
    let stripped = harness.get("/STRIP/me%20too");
    assert_eq!((stripped.status, stripped.text()), (202, "/me%20too|end"));
    assert_eq!(
        stripped.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(stripped.header("connection"), Some("close"));
    assert_eq!(harness.get("/none.php").status, 404);
}

#[test]
fn try_files_and_matchers() {
    let directory = tree();
    let path = directory.path();
    let candidates = vec![
        template(vec![placeholder(Placeholder::Path), text(".js")]),
        template(vec![text("/plain/")]),
    ];
    let harness = Harness::start(&config(vec![
        root(path),
        when(
            Matcher::All(vec![
                path_is("/try/*"),
                Matcher::File {
                    fallback_status: None,
                    root: None,
                    candidates: vec![Template::text("/none")],
                    split: Vec::new(),
                    policy: TryPolicy::FirstExist,
                },
            ]),
            respond("no"),
        ),
        when(
            Matcher::Header("x-want".into(), Some("a*".into())),
            respond("header"),
        ),
        when(
            Matcher::All(vec![
                Matcher::Header("x-go".into(), None),
                Matcher::File {
                    fallback_status: None,
                    root: None,
                    candidates: vec![Template::text("app.js")],
                    split: Vec::new(),
                    policy: TryPolicy::FirstExist,
                },
                path_is("/there"),
            ]),
            respond("there"),
        ),
        route(Handler::TryFiles(
            TryFiles {
                candidates,
                fallback_status: Some(410),
            },
            TryPolicy::FirstExist,
        )),
        route(Handler::FileServer(FileServer::default())),
    ]));
    assert_eq!(harness.get("/app").text(), "let a");
    assert_eq!(harness.get("/other").text(), "plain");
    assert_eq!(harness.get_with("/x", "X-Want: abc\r\n").text(), "header");
    assert_eq!(harness.get("/there").text(), "there");
    assert_ne!(harness.get_with("/there", "X-Go: 1\r\n").text(), "there");
}

#[test]
fn no_nul_comes_into_a_path_by_a_query() {
    let value = Placeholder::QueryValue("a".into());
    let candidates = vec![
        Template::text("/none"),
        template(vec![text("/index.php/"), placeholder(value)]),
    ];
    let body = template(vec![placeholder(Placeholder::Path)]);
    let harness = Harness::start(&config(vec![
        route(Handler::TryFiles(
            TryFiles {
                candidates,
                fallback_status: None,
            },
            TryPolicy::FirstExistFallback,
        )),
        route(Handler::Respond {
            body,
            status: Status::Code(200),
            close: false,
        }),
    ]));
    assert_eq!(harness.get("/x?a=b").text(), "/index.php/b");
    let replaced = harness.get("/x?a=b%00/../c%00");
    assert_eq!(replaced.text(), "/index.php/c%EF%BF%BD");
}

#[test]
fn hosts_choose_sites_and_roots() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    for host in ["one.test", "two.test"] {
        fs::create_dir(base.join(host)).unwrap();
        fs::write(base.join(host).join("a.txt"), host).unwrap();
    }
    fs::write(base.join("a.txt"), "base").unwrap();
    let address = |host: &str| Address {
        tls: false,
        host: Some(host.into()),
        port: 0,
    };
    let mut named = site(vec![
        route(Handler::Root(template(vec![
            text(&format!("{}/", base.display())),
            placeholder(Placeholder::Host),
        ]))),
        route(Handler::FileServer(FileServer::default())),
    ]);
    named.addresses = vec![address("one.test"), address("two.test")];
    let mut wild = site(vec![route(respond("wild"))]);
    wild.addresses = vec![address("*.wild.test")];
    let mut config = Config {
        sites: vec![wild, named],
        ..Config::default()
    };
    config.global.php.front_threads = Some(1);
    let harness = Harness::start(&config);
    let get = |host: &str| harness.send(&format!("GET /a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(get("one.test").text(), "one.test");
    assert_eq!(
        get("TWO.test:80").status,
        404,
        "the root is named after the host as it was sent"
    );
    assert_eq!(get("two.test:80").text(), "two.test");
    assert_eq!(get("a.wild.test").text(), "wild");
    assert_eq!(get("unknown.test").status, 404);
    assert!(get("unknown.test").text().contains("No site"));
}

#[test]
fn a_root_chosen_by_the_client_stays_below() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    fs::create_dir_all(base.join("sites/a")).unwrap();
    fs::write(base.join("secret.txt"), "secret").unwrap();
    fs::write(base.join("sites/a/secret.txt"), "public").unwrap();
    let below = template(vec![
        text(&format!("{}/sites/", base.display())),
        placeholder(Placeholder::Header("x-site".into())),
    ]);
    let harness = Harness::start(&config(vec![
        route(Handler::Root(below)),
        route(Handler::FileServer(FileServer::default())),
    ]));
    let get = |site: &str| harness.get_with("/secret.txt", &format!("X-Site: {site}\r\n"));
    assert_eq!(get("a").text(), "public");
    for site in ["..", ".", "a/../..", "/", ""] {
        assert_eq!(get(site).status, 404, "{site}");
    }
}

#[test]
fn an_unservable_configuration_is_reported_before_the_start() {
    let error = |config: &Config| Server::bind(config, None).unwrap_err().to_string();
    let regex = HeaderChange::Replace("X".into(), Template::text("("), Template::text(""));
    assert!(error(&config(vec![route(Handler::Header(vec![regex]))])).contains("`(`"));
    let name = HeaderChange::Set("a b".into(), Template::text(""));
    assert!(error(&config(vec![route(Handler::Header(vec![name]))])).contains("`a b`"));
    let status = Handler::Respond {
        body: Template::text(""),
        status: Status::Code(99),
        close: false,
    };
    assert!(error(&config(vec![route(status)])).contains("99"));
    assert!(error(&Config::default()).contains("no site"));
    let harness = Harness::start(&php_site(&temporary()));
    let mut taken = config(vec![]);
    let port = harness.address().port();
    taken.sites[0].addresses[0].port = port;
    for threads in [1, 2] {
        taken.global.php.front_threads = Some(threads);
        assert!(error(&taken).starts_with(&format!("port {port} is in use")));
    }
}

fn temporary() -> std::path::PathBuf {
    // Removed with the target directory. The server of this test reads no files in it.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bind");
    fs::create_dir_all(&path).unwrap();
    path
}
