//! Directives and matchers, written as in a Caddyfile.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::Harness;
use howdah_config::{NoFiles, parse};

/// A server whose site has these directives. `ROOT` in them is replaced by the directory.
pub(crate) fn serve(directory: &Path, directives: &str) -> Harness {
    let root = directory.to_str().unwrap();
    let (global, site) = match directives.split_once("---\n") {
        Some(both) => both,
        None => ("", directives),
    };
    let text = format!(
        "{{\nhowdah {{\nfront_threads 1\n}}\n{global}}}\n:0 {{\nbind 127.0.0.1\nroot * ROOT\n{site}\n}}\n"
    );
    let text = text.replace("ROOT", root);
    let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles)
        .unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    Harness::start(&parsed.config)
}

pub(crate) fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("sub/deep")).unwrap();
    fs::create_dir_all(path.join("private")).unwrap();
    fs::write(path.join("index.php"), "<?php").unwrap();
    fs::write(path.join("a.txt"), "a").unwrap();
    fs::write(path.join("404.html"), "not found page").unwrap();
    fs::write(path.join("sub/b.txt"), "b").unwrap();
    fs::write(path.join("sub/<i>.txt"), "i").unwrap();
    fs::write(path.join("private/file.bin"), "0123456789").unwrap();
    directory
}

/// Checks the body of the response to a GET for each target with these header fields.
pub(crate) fn bodies(harness: &Harness, cases: &[(&str, &str, &str)]) {
    for (target, fields, expected) in cases {
        let reply = harness.get_with(target, fields);
        assert_eq!(reply.text(), *expected, "{target} {fields:?}: {reply:?}");
    }
}

#[test]
fn regular_expressions_and_their_groups() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@user path_regexp user ^/u/([0-9]+)/(?P<what>[^/]*)$\n\
         @login header_regexp Cookie id=([a-z]+)\n\
         @tenant vars_regexp {http.request.host} ^([a-z]+)[.]example[.]com$\n\
         handle @user {\nrespond \"{re.user.1} {re.user.what} {re.1} {re.user.3}|{re.none.1}\"\n}\n\
         handle @login {\nrespond {re.login.1}\n}\n\
         handle @tenant {\nrespond {re.tenant.1}\n}\n\
         respond none",
    );
    bodies(
        &harness,
        &[
            ("/u/17/edit", "", "17 edit 17 |"),
            ("/u/17/a%20b", "", "17 a%20b 17 |"),
            ("/u/x/edit", "", "none"),
            ("/", "Cookie: a=b; id=xyz\r\n", "xyz"),
        ],
    );
    let reply = harness.send("GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n");
    assert_eq!(reply.text(), "shop");
}

#[test]
fn queries_protocols_and_addresses() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "servers {\ntrusted_proxies static 127.0.0.0/8\n}\n---\n\
         @sorted query sort=asc sort=desc page=*\n\
         @bare query \"\"\n\
         @old protocol http/1.0\n\
         @far client_ip 8.8.8.0/24\n\
         @tls protocol https\n\
         respond @tls tls\nrespond @old old\nrespond @far \"far {client_ip} {remote_host}\"\n\
         respond @sorted sorted\nrespond @bare bare\nrespond other",
    );
    bodies(
        &harness,
        &[
            ("/?sort=asc&page=", "", "sorted"),
            ("/?page=2&sort=d%65sc", "", "sorted"),
            ("/?sort=asc", "", "other"),
            ("/?sort=up&page=1", "", "other"),
            ("/", "", "bare"),
            (
                "/",
                "X-Forwarded-For: 8.8.8.8, 127.0.0.1\r\n",
                "far 8.8.8.8 127.0.0.1",
            ),
            ("/", "X-Forwarded-For: 9.8.8.8\r\n", "bare"),
        ],
    );
    let reply = harness.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(reply.text(), "old");
}

#[test]
fn untrusted_peers_are_not_believed() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@far client_ip 8.8.8.8\nrespond @far far\nrespond {client_ip}",
    );
    bodies(
        &harness,
        &[("/", "X-Forwarded-For: 8.8.8.8\r\n", "127.0.0.1")],
    );
}

#[test]
fn escapes_get_past_no_rule() {
    let directory = tree();
    let private = directory.path().join("private files");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("a.txt"), "secret").unwrap();
    let harness = serve(
        directory.path(),
        "@admin expression {path}.startsWith('/admin')\nrespond @admin admin 403\n\
         respond /private%20files/* private 403\n\
         handle_path /CAF%c3%89/* {\nrespond \"in {path}\"\n}\nfile_server",
    );
    bodies(
        &harness,
        &[
            ("/admin/x", "", "admin"),
            ("/%61dmin/x", "", "admin"),
            ("/private%20files/a.txt", "", "private"),
            ("/private%20file%73//a.txt", "", "private"),
            ("/caf%C3%A9/b", "", "in /b"),
            ("/a.txt", "", "a"),
        ],
    );
}

#[test]
fn placeholders_bring_no_parameters_into_a_query() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "rewrite /p /p.php?role=user&name={query.name}\n\
         rewrite /old/* /new.php?from={path}\n\
         rewrite /both {uri}?x=1\nrewrite /own {uri}\n\
         rewrite /name /x?{query}&a=1\nrewrite /value /x?a={query}&b\nrewrite /middle /x?a=1&{query}&b=2\n\
         rewrite /header /x?a={header.X}&{header.X}=1\n\
         rewrite /fragment /x?a=1#{query.v}\nrewrite /end /x#b?c\nrewrite /empty \"#b\"\n\
         rewrite /brings {query.v}\nrewrite /takes {query.v}?\n\
         handle /t/* {\ntry_files /none?a /a.txt?p={path}&{query}\nrespond {uri}\n}\n\
         respond {uri}",
    );
    bodies(
        &harness,
        &[
            (
                "/p?name=x%26role%3Dadmin",
                "",
                "/p.php?role=user&name=x%26role%3Dadmin",
            ),
            ("/old/a&b=1+2", "", "/new.php?from=%2Fold%2Fa%26b%3D1%2B2"),
            ("/both?b=2", "", "/both?x=1"),
            ("/own?b=2", "", "/own?b=2"),
            // A parameter may be a whole query.
            ("/name?b=%2f&c", "", "/x?b=%2f&c&a=1"),
            ("/name", "", "/x?a=1"),
            ("/value?c=d", "", "/x?a=c%3Dd&b"),
            ("/middle?c=d", "", "/x?a=1&c=d&b=2"),
            ("/middle", "", "/x?a=1&b=2"),
            ("/header", "X: c&d=e\r\n", "/x?a=c%26d%3De&c%26d%3De=1"),
            ("/fragment?v=b", "", "/x?a=1"),
            ("/end?v=b", "", "/x?v=b"),
            ("/empty?v=b", "", "/empty?v=b"),
            ("/brings?v=/x%3Fa", "", "/x?v=/x%3Fa"),
            ("/takes?v=/x%3Fa", "", "/x?a"),
            ("/t/x%26?z", "", "/a.txt?p=%2Ft%2Fx%26&z"),
            ("/t/x%26", "", "/a.txt?p=%2Ft%2Fx%26"),
        ],
    );
}

#[test]
fn of_several_variables_one_must_match() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "vars {\na {query.a}\nb {query.b}\n}\n\
         @texts {\nvars a 1\nvars b 2\nmethod GET\n}\n\
         @patterns {\nvars_regexp found a ^x(.*)\nvars_regexp found b ^y(.*)\n}\n\
         @map expression `vars({'a': '3', 'b': ['3', '4']})`\n\
         respond @texts texts\nrespond @patterns {re.found.1}\nrespond @map map\nrespond none",
    );
    bodies(
        &harness,
        &[
            ("/?a=1", "", "texts"),
            ("/?b=2", "", "texts"),
            ("/?a=2&b=1", "", "none"),
            ("/?a=x7", "", "7"),
            ("/?a=7&b=y8", "", "8"),
            ("/?a=3", "", "map"),
            ("/?b=4", "", "map"),
            ("/?a=4", "", "none"),
        ],
    );
}

#[test]
fn results_of_the_file_matcher() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@found file {path} {path}.txt {path}/b.txt\n\
         handle @found {\nrespond \"{file_match.relative} {file_match.type} {file_match.absolute}\"\n}\n\
         @script {\nfile {path} {\nsplit_path .php\n}\n}\nrespond none",
    );
    let root = directory.path().to_str().unwrap();
    let reply = |target: &str| harness.get(target).text().replace(root, "ROOT");
    assert_eq!(reply("/a"), "/a.txt file ROOT/a.txt");
    assert_eq!(reply("/sub"), "/sub/b.txt file ROOT/sub/b.txt");
    assert_eq!(reply("/none"), "none");
}

#[test]
fn variables_methods_and_request_headers() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "vars {\nname {query.n}\nother x\n}\nvars /b name b\n@set vars name b\n\
         method /head* HEAD\nrequest_header -X-Drop*\nrequest_header X-Add \"{vars.name}\"\n\
         request_header X-Change ^a b\nrequest_header /host Host other.example\n\
         header @set X-Set yes\nphp_server",
    );
    let reply = harness.get_with(
        "/?n=7",
        "X-Drop-A: 1\r\nX-Drop-B: 2\r\nX-Change: aa\r\nX-Keep: 1\r\n",
    );
    assert_eq!(reply.value("h.x-add"), "7");
    assert_eq!(reply.value("h.x-change"), "ba");
    assert_eq!(reply.value("h.x-keep"), "1");
    assert!(!reply.text().contains("x-drop"), "{reply:?}");
    assert_eq!(reply.header("x-set"), None);
    let reply = harness.get("/b");
    assert_eq!(
        (reply.value("h.x-add"), reply.header("x-set")),
        ("b", Some("yes"))
    );
    let reply = harness.get("/host");
    assert_eq!(reply.value("host"), "other.example");
    let reply = harness.get("/head");
    assert_eq!(
        (reply.value("method"), reply.value("uri")),
        ("HEAD", "/head")
    );
}

#[test]
fn changes_of_the_uri() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "uri /api/* strip_prefix /api\n@html path *.html\nuri @html strip_suffix .html\nuri /r/* replace x/ y/ 1\n\
         uri /re/* path_regexp /([0-9]+)/ /n-$1/\nuri /m/* path_regexp /+ /\n\
         uri /b/* strip_prefix /b/aaa\nuri /s/* strip_suffix xyz\nroute {\nrespond {uri}\n}",
    );
    bodies(
        &harness,
        &[
            ("/api/a%20b?c=d", "", "/a%20b?c=d"),
            ("/api", "", "/api"),
            ("/page.html?a", "", "/page?a"),
            // As in Caddy, the limit is for the path, and for the query.
            ("/r/x/x/?q=x/&r=x/", "", "/r/y/x/?q=y/&r=x/"),
            ("/re/17/a/5/", "", "/re/n-17/a/n-5/"),
            ("/m//a///b?c=//", "", "/m/a/b?c=//"),
            // Letter case is ignored, also for letters of several bytes.
            ("/API/a", "", "/a"),
            ("/page.HTML", "", "/page"),
            ("/B/AAAb", "", "/b"),
            ("/b/aa%C3%A9", "", "/b/aa%C3%A9"),
            ("/s/%C3%A9yz", "", "/s/%C3%A9yz"),
        ],
    );
}

#[test]
fn variables_hold_what_is_compared_and_what_a_uri_has() {
    let directory = tree();
    fs::write(directory.path().join("a b.txt"), "found").unwrap();
    let harness = serve(
        directory.path(),
        "vars p {path}\nvars c {http.request.cookie.c}\n@file file {vars.p}\n@same vars p \"/a c\"\n\
         @re path_regexp ^/re\nrewrite @re /x?{vars.p}\nroute {\nrespond @file file\nrespond @same same\nrespond /l* \"{vars.p} {vars.c} {query.a}\"\n\
         respond {uri}\n}",
    );
    bodies(
        &harness,
        &[
            ("/a%20b.txt", "", "file"),
            ("/a%20c", "", "same"),
            ("/re%3Fw", "", "/x?%2Fre%3Fw"),
            (
                "/l%20x?a=1&b=3&a=2",
                "Cookie: b=1; c=\"quoted\"\r\n",
                "/l%20x quoted 1,2",
            ),
        ],
    );
}

/// The client may control both the search text and the replacement. The product of their lengths
/// would be tens of megabytes here.
#[test]
fn changes_that_multiply_are_refused() {
    let directory = tree();
    let long = "{query}".repeat(20);
    let harness = serve(
        directory.path(),
        &format!(
            "uri /text/* replace k {{query}}\nuri /one/* replace k {{query}} 1\n\
             uri /path/* path_regexp k {{query}}\n\
             uri /query/* query * k {{http.request.header.x}}\nrewrite /many/* /{long}\n\
             header /few/* X-A yes\nheader /few/* X-A e {{query}}\n\
             header /all/* X-A aaaaa\nheader /all/* X-A a {long}\nroute {{\nrespond {{path}}\n}}"
        ),
    );
    let many = "k".repeat(4000);
    let parameters = "k=k&".repeat(1000);
    let field = format!("X: {many}\r\n");
    for (target, field) in [
        (format!("/text/{many}?{many}"), ""),
        (format!("/path/{many}?{many}"), ""),
        (format!("/query/?{parameters}"), &*field),
        (format!("/many/?{many}"), ""),
    ] {
        let reply = harness.get_with(&target, field);
        let refused = "the configuration made the URI too long\n";
        assert_eq!((reply.status, reply.text()), (414, refused));
    }

    // One match of many, with one byte for each.
    let others = "b".repeat(4000);
    for (target, expected) in [
        (
            format!("/one/k{others}?{others}"),
            format!("/one/{others}{others}"),
        ),
        (format!("/text/{many}?b"), format!("/text/{others}")),
        (format!("/path/{many}?b"), format!("/path/{others}")),
    ] {
        let reply = harness.get(&target);
        assert!(
            reply.text() == expected,
            "{} {}",
            reply.status,
            &target[..7]
        );
    }

    let reply = harness.get(&format!("/few/?{others}"));
    assert!(reply.header("x-a") == Some(&format!("y{others}s")));
    let reply = harness.get(&format!("/all/?{others}"));
    assert_eq!((reply.status, reply.header("x-a")), (200, None));
}

#[test]
fn escaped_and_timed() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "respond /time \"{time.now.unix} {time.now.unix_ms} {time.now.http}\"\n\
         respond /system \"{system.os} {system.slash} {system.hostname} {system.wd}\"\n\
         respond \"{%path} {%query} {%uri} {tls_version}{tls_cipher}.\"",
    );
    bodies(
        &harness,
        &[
            (
                "/a%20%C3%A4/x.y?c=%2f&d",
                "",
                "%2Fa%20%C3%A4%2Fx.y c%3D%252f%26d %2Fa%2520%25C3%25A4%2Fx.y%3Fc%3D%252f%26d .",
            ),
            ("/a", "", "%2Fa  %2Fa ."),
        ],
    );
    let uname = std::process::Command::new("uname").arg("-n").output();
    let hostname = String::from_utf8(uname.unwrap().stdout).unwrap();
    let directory = std::env::current_dir().unwrap();
    let expected = format!("linux / {} {}", hostname.trim_end(), directory.display());
    bodies(&harness, &[("/system", "", expected.as_str())]);
    let seconds = || {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        now.as_secs()
    };
    let before = seconds();
    let answer = harness.get("/time");
    let text = answer.text();
    let range = before..=seconds();
    let mut words = text.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    assert!(range.contains(&number()), "{text}");
    assert!(range.contains(&(number() / 1000)), "{text}");
    let date = httpdate::parse_http_date(words.next().unwrap()).unwrap();
    let date = date.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(range.contains(&date.as_secs()), "{text}");
}

#[test]
fn changes_of_single_parameters() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "uri /set query a {path.0}\nuri /add query +a \"x & y=z\"\nuri /delete query -a\nuri /rename query a>b\n\
         uri /replace query a ([0-9]+) <$1>\nuri /every query * x y\n\
         uri /block query {\n-c\na 1\nd>c\n+a 2\n}\nroute {\nrespond {uri}\n}",
    );
    bodies(
        &harness,
        &[
            // Unchanged parameters stay as they were sent.
            ("/delete?b=%7e&c&&d=+", "", "/delete?b=%7e&c&d=+"),
            ("/delete?a", "", "/delete"),
            ("/delete?%61=1&b=a&a=2&A=3", "", "/delete?b=a&A=3"),
            ("/set?b=%7e&a=1&c&a=2", "", "/set?b=%7e&a=set&c"),
            ("/set", "", "/set?a=set"),
            ("/add?a=1", "", "/add?a=1&a=x%20%26%20y%3Dz"),
            (
                "/rename?b=0&a=1+2&c&a=%C3%A4",
                "",
                "/rename?b=1%202&c&b=%C3%A4",
            ),
            ("/rename?b=0", "", "/rename?b=0"),
            ("/replace?a=p17q&b=17&a", "", "/replace?a=p%3C17%3Eq&b=17&a"),
            ("/every?a=x&x=ax&b", "", "/every?a=y&x=ay&b"),
            // In Caddy's order: rename, set, add, delete.
            ("/block?c=0&d=9&a=5", "", "/block?a=1&a=2"),
        ],
    );
}

#[test]
fn named_routes() {
    let directory = tree();
    let text = format!(
        "{{\nhowdah {{\nfront_threads 1\n}}\n}}\n&(hello) {{\n@x path /x\nrespond @x x\nrespond hello\n}}\n\
         :0 {{\nbind 127.0.0.1\nroot * {}\ninvoke /in/* hello\nhandle_path /out/* {{\ninvoke hello\n}}\nrespond no\n}}\n",
        directory.path().display()
    );
    let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles).unwrap();
    let harness = Harness::start(&parsed.config);
    bodies(
        &harness,
        &[("/in/a", "", "hello"), ("/out/x", "", "x"), ("/", "", "no")],
    );
}

#[test]
fn errors_are_formed_by_handle_errors() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "error /secret* \"not for {method}\" 403\nrequest_body {\nmax_size 4\n}\n\
         handle /app* {\nphp_server\n}\nfile_server\n\
         handle_errors 404 {\nrewrite * /404.html\nfile_server\n}\n\
         handle_errors 403 {\nheader X-Error {err.status_code}\nrespond \"{err.status_text}: {err.message} {uri}\"\n}\n\
         handle_errors 5xx {\nrewrite * /index.php?mode=answer&status=502&why={err.message}\nphp\n}",
    );
    let reply = harness.get_with("/none?x", "Range: bytes=0-1\r\nIf-None-Match: *\r\n");
    assert_eq!((reply.status, reply.text()), (404, "not found page"));
    assert_eq!(
        reply.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let reply = harness.get("/secret/a");
    assert_eq!(
        (reply.status, reply.text()),
        (403, "Forbidden: not for GET /secret/a")
    );
    assert_eq!(reply.header("x-error"), Some("403"));
    let reply = harness.get("/app?mode=failure");
    assert_eq!(reply.status, 502);
    assert_eq!(
        reply.value("query"),
        "mode=answer&status=502&why=no%20process%20is%20free"
    );
    // The rest of a body that PHP did not get is not parsed as the next request.
    let mut client = harness.connect();
    client.write(b"POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
    assert_eq!(client.reply(true).header("connection"), Some("close"));
    assert!(client.is_closed());
    // A response without error routes keeps its short text. A response by PHP is not an error.
    let reply = harness.send("POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
    assert_eq!(
        (reply.status, reply.text()),
        (413, "the body is larger than 4 bytes\n")
    );
    let reply = harness.get("/app?mode=answer&status=404");
    assert_eq!(
        (reply.status, reply.value("uri")),
        (404, "/app?mode=answer&status=404")
    );
    assert_eq!(harness.get("/a.txt").text(), "a");
}

#[test]
fn a_connection_is_aborted() {
    let directory = tree();
    let harness = serve(directory.path(), "abort /no\nrespond yes");
    let mut client = harness.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(true).text(), "yes");
    client.write(b"GET /no HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.is_closed());
}

/// Hash of `secret` with the lowest cost.
const HASH: &str = "$2y$04$fir/n2iOE8UEd1Z1WKkWc.L8T/9UWqPFWcTFwB3Uikg3vW7c3pK4u";

#[test]
fn passwords() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        &format!(
            "basic_auth /in/* bcrypt \"my realm\" {{\nann {HASH}\nbob {HASH}\n}}\n\
             handle_errors {{\nrespond \"sorry {{err.status_code}}\"\n}}\nphp_server"
        ),
    );
    let ask = |credentials: &str| {
        harness.get_with("/in/a", &format!("Authorization: Basic {credentials}\r\n"))
    };
    let reply = harness.get("/in/a");
    assert_eq!((reply.status, reply.text()), (401, "sorry 401"));
    assert_eq!(
        reply.header("www-authenticate"),
        Some("Basic realm=\"my realm\", charset=\"UTF-8\"")
    );
    // ann:secret, and again from the cache; bob:secret; ann:wrong; eve:secret; no colon; invalid
    // base64.
    for _ in 0..2 {
        let reply = ask("YW5uOnNlY3JldA==");
        assert_eq!((reply.status, reply.value("user")), (200, "ann"));
    }
    assert_eq!(ask("Ym9iOnNlY3JldA==").value("user"), "bob");
    for wrong in ["YW5uOndyb25n", "ZXZlOnNlY3JldA==", "YW5u", "%%%"] {
        assert_eq!(ask(wrong).status, 401, "{wrong}");
    }
    assert_eq!(harness.get("/out").value("user"), "-");
}

#[test]
fn files_that_php_names_are_sent_by_the_server() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "request_header X-Sendfile-Type x-accel-redirect\n\
         intercept {\n@accel header X-Accel-Redirect *\n@gone status 410\n\
         handle_response @accel {\nroot * ROOT/private\nrewrite * {resp.header.X-Accel-Redirect}\n\
         method * GET\nheader -X-Accel-Redirect\nfile_server\n}\n\
         replace_status @gone 404\n}\nphp_server",
    );
    let target = "/x?mode=answer&h=x-accel-redirect:/file.bin&h=content-type:video/x&h=content-length:999\
                  &h=set-cookie:a=b";
    let reply = harness.get(target);
    assert_eq!((reply.status, reply.text()), (200, "0123456789"));
    assert_eq!(reply.header("content-type"), Some("video/x"));
    assert_eq!(reply.header("content-length"), Some("10"));
    assert_eq!(reply.header("set-cookie"), Some("a=b"));
    assert_eq!(reply.header("x-accel-redirect"), None);
    let reply = harness.get_with(target, "Range: bytes=2-4\r\n");
    assert_eq!((reply.status, reply.text()), (206, "234"));
    assert_eq!(reply.header("content-range"), Some("bytes 2-4/10"));
    let reply = harness.send(&format!(
        "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    ));
    assert_eq!((reply.status, reply.text()), (200, "0123456789"));
    // Nothing outside of the folder can be reached.
    for path in ["/../a.txt", "/..%2fa.txt", "/%2e%2e/a.txt", "/none"] {
        let reply = harness.get(&format!("/x?mode=answer&h=x-accel-redirect:{path}"));
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        assert_eq!(reply.header("set-cookie"), None);
    }
    let reply = harness.get("/x?mode=answer&status=410");
    assert_eq!(
        (reply.status, reply.value("h.x-sendfile-type")),
        (404, "x-accel-redirect")
    );
    // The application was not notified that its client disconnected, so it ran to its end.
    assert_eq!(harness.get("/x").status, 200);
}

#[test]
fn folders_are_listed() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "handle /plain* {\nrespond plain\n}\nfile_server browse {\nhide deep\n}",
    );
    let reply = harness.get("/sub");
    assert_eq!(
        (reply.status, reply.header("location")),
        (308, Some("/sub/"))
    );
    let reply = harness.get("/sub/");
    assert_eq!(reply.status, 200);
    assert!(
        reply.text().contains("<a href=\"./b.txt\">b.txt</a>"),
        "{reply:?}"
    );
    assert!(
        reply
            .text()
            .contains("<a href=\"./%3Ci%3E.txt\">&lt;i&gt;.txt</a>"),
        "{reply:?}"
    );
    assert!(!reply.text().contains("deep"), "{reply:?}");
    let reply = harness.get_with("/sub/?sort=name&order=desc", "Accept: application/json\r\n");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let text = reply.text();
    let at = |name: &str| text.find(name).unwrap();
    assert!(at("\"b.txt\"") < at("\"<i>.txt\""), "{text}");
    let file = std::fs::File::open(directory.path().join("sub/b.txt")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_704_164_645))
        .unwrap();
    let reply = harness.get_with("/sub/?offset=1&limit=1", "Accept: application/json\r\n");
    assert_eq!(
        reply.text(),
        "[{\"name\":\"b.txt\",\"size\":1,\"url\":\"./b.txt\",\
         \"mod_time\":\"2024-01-02T03:04:05Z\",\"is_dir\":false,\"is_symlink\":false}]\n"
    );
    for (query, names) in [
        ("limit=1", 1),
        ("offset=9", 0),
        ("offset=1&limit=9", 1),
        ("limit=x", 2),
    ] {
        let target = format!("/sub/?{query}");
        let reply = harness.get_with(&target, "Accept: application/json\r\n");
        assert_eq!(reply.text().matches("\"name\"").count(), names, "{query}");
    }
    assert_eq!(harness.get("/sub/none").status, 404);
}

#[test]
fn missing_files_continue_the_routes() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "route {\nfile_server {\npass_thru\n}\nrespond on 202\n}",
    );
    assert_eq!(harness.get("/a.txt").text(), "a");
    for target in ["/none", "/sub/", "/sub/none"] {
        assert_eq!(harness.get(target).status, 202, "{target}");
    }
    // Hidden files, folders and indexes are treated as missing.
    fs::write(directory.path().join("sub/index.html"), "index").unwrap();
    fs::write(directory.path().join(".env"), "secret").unwrap();
    let harness = serve(
        directory.path(),
        "route {\nfile_server {\nhide *.bin ROOT/sub/deep index.html\npass_thru\n}\nrespond on 202\n}",
    );
    fs::write(directory.path().join("sub/deep/c.txt"), "c").unwrap();
    for target in ["/private/file.bin", "/sub/deep/c.txt", "/sub/", "/.env"] {
        assert_eq!(harness.get(target).status, 202, "{target}");
    }
    assert_eq!(harness.get("/sub/b.txt").text(), "b");
    let harness = serve(
        directory.path(),
        "handle /down* {\nrewrite * /404.html\nfile_server {\nstatus 503\n}\n}\nrespond up",
    );
    let reply = harness.get("/down");
    assert_eq!((reply.status, reply.text()), (503, "not found page"));
}

#[test]
fn a_json_response_has_its_content_type() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "respond /json `{\"a\": [1]}`\nheader /other Content-Type text/html\nrespond /other `[]`\n\
         respond /not `[a}`\nrespond {query.body}",
    );
    for (target, kind) in [
        ("/json", "application/json"),
        ("/other", "text/html"),
        ("/not", "text/plain; charset=utf-8"),
        ("/?body=[1,2]", "application/json"),
        ("/?body=1", "text/plain; charset=utf-8"),
        ("/?body=[1", "text/plain; charset=utf-8"),
    ] {
        let reply = harness.get(target);
        assert_eq!(reply.header("content-type"), Some(kind), "{target}");
    }
}

#[test]
fn statuses_may_be_placeholders() {
    let directory = tree();
    let harness = serve(directory.path(), "respond body {query.code}");
    assert_eq!(harness.get("/?code=418").status, 418);
    assert_eq!(harness.get("/?code=99").status, 500);
    assert_eq!(harness.get("/?code=abc").status, 500);
}

/// As in Caddy, if the last segment is the client's, the redirect uses the client's path.
#[test]
fn folders_get_their_slash_behind_a_prefix_too() {
    let directory = tree();
    fs::create_dir_all(directory.path().join("app/sub")).unwrap();
    fs::write(directory.path().join("app/sub/index.php"), "<?php").unwrap();
    let harness = serve(
        directory.path(),
        "handle_path /d/* {\nfile_server browse\n}\n\
         handle_path /p/* {\nroot * ROOT/app\nphp_server\n}\n\
         handle_path /plain/* {\nfile_server {\nbrowse\ndisable_canonical_uris\n}\n}\n\
         handle /t/* {\nuri strip_prefix /t\ntry_files {path} {path}/\nfile_server browse\n}\n\
         handle /r {\nrewrite * /sub\nfile_server browse\n}\n\
         respond none",
    );
    for (target, location) in [
        ("/d/sub", "/d/sub/"),
        ("/d/sub?a=1&b", "/d/sub/?a=1&b"),
        ("/d/sub/deep", "/d/sub/deep/"),
        ("/d//sub/./deep", "/d/sub/deep/"),
        ("/p/sub?q=1", "/p/sub/?q=1"),
        ("/t/sub", "/t/sub/"),
    ] {
        let reply = harness.get(target);
        assert_eq!(
            (reply.status, reply.header("location")),
            (308, Some(location)),
            "{target}: {reply:?}"
        );
        assert_eq!(harness.get(location).status, 200, "{location}");
    }
    for target in ["/plain/sub", "/r", "/d/"] {
        let reply = harness.get(target);
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
    }
}
