//! Published advisories of similar servers and of the libraries that this one uses: the described
//! problem does not occur here. `docs/advisories.md` has the same list for readers.

use howdah_testkit::{Connection, Request, Server, ServerBuilder, Www};

/// Ids, affected project, expected behavior here, and the test that shows it.
const ADVISORIES: [(&str, &str, &str, &str); 24] = [
    (
        "GHSA-g966-83w7-6w38",
        "FrankenPHP",
        "a path with letters that grow in lower case runs no other file",
        "unicode",
    ),
    (
        "GHSA-3g8v-8r37-cgjm, CVE-2026-45062",
        "FrankenPHP",
        "only `.php` in ASCII ends a script's name",
        "unicode",
    ),
    (
        "GHSA-5r3v-vc8m-m96g, CVE-2026-27590",
        "Caddy",
        "the same of `php_fastcgi`, which splits as `php_server` does",
        "unicode",
    ),
    (
        "GHSA-m675-2p33-xv9g",
        "Caddy",
        "the same of `php_fastcgi`",
        "unicode",
    ),
    (
        "GHSA-r3xh-3r3w-47gp",
        "FrankenPHP",
        "a worker's next request does not see `$_SESSION` of the one before",
        "sessions",
    ),
    (
        "GHSA-v3ph-cgqh-r8p5",
        "FrankenPHP",
        "nor its session id",
        "sessions",
    ),
    (
        "GHSA-g7pc-pc7g-h8jh, CVE-2026-27587",
        "Caddy",
        "a path matcher does not care how a path is written",
        "paths",
    ),
    (
        "GHSA-4xrr-hq4w-6vf4, CVE-2026-27585",
        "Caddy",
        "a backslash in a path reaches no file of another folder",
        "paths",
    ),
    (
        "GHSA-x76f-jf84-rqj8, CVE-2026-27588",
        "Caddy",
        "a long list of hosts is compared without regard to case",
        "hosts",
    ),
    (
        "CVE-2026-27586",
        "Caddy",
        "without the authorities of client certificates the server does not start",
        "authorities",
    ),
    (
        "CVE-2026-52845",
        "Caddy",
        "a field with an underscore in its name does not pass for one with a hyphen in PHP",
        "underscores",
    ),
    (
        "CWE-93, Mercure 0.24.2",
        "Mercure",
        "the id and type of an update add no lines to the stream, and clients cannot publish to the hub's own topics",
        "updates",
    ),
    (
        "CVE-2025-22871",
        "Go, so RoadRunner",
        "a lone LF does not end a chunk's size",
        "chunks",
    ),
    (
        "RUSTSEC-2024-0332, RUSTSEC-2026-0258",
        "h2",
        "h2 is 0.4.16 or later",
        "libraries",
    ),
    (
        "GHSA-6g7w-8wpp-frhj",
        "rustls",
        "rustls is 0.23.5 or later",
        "libraries",
    ),
    (
        "GHSA-6xvm-j4wr-6v98, CVE-2026-31812",
        "quinn",
        "quinn-proto is 0.11.14 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2026-0185, CVE-2026-25800",
        "quinn",
        "quinn-proto is 0.11.15 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2024-0399, CVE-2024-11738",
        "rustls",
        "rustls is 0.23.18 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2026-0049, RUSTSEC-2026-0098, RUSTSEC-2026-0099, RUSTSEC-2026-0104",
        "rustls",
        "rustls-webpki is 0.103.13 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2025-0009, CVE-2025-4432",
        "ring",
        "ring is 0.17.12 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2026-0007, CVE-2026-25541",
        "bytes",
        "bytes is 1.11.1 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2025-0023",
        "tokio",
        "tokio is 1.44.2 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2025-0055, CVE-2025-58160",
        "tracing",
        "tracing-subscriber is 0.3.20 or later",
        "libraries",
    ),
    (
        "RUSTSEC-2026-0009, CVE-2026-25727",
        "time",
        "time is 0.3.47 or later",
        "libraries",
    ),
];

const UPLOADED: &str = "<?php echo 'RAN';";

#[test]
fn the_page_lists_them() {
    let page = include_str!("../../../../docs/advisories.md");
    for (ids, whose, must, test) in ADVISORIES {
        let row = format!("| {ids} | {whose} | {must} | `{test}` |");
        assert!(
            page.contains(&row),
            "docs/advisories.md needs the row\n{row}"
        );
        let function = format!("fn {test}()");
        assert!(
            include_str!("main.rs").contains(&function),
            "there is no {function}"
        );
    }
    let rows = page.lines().filter(|line| {
        ["GHSA-", "CVE-", "RUSTSEC-", "CWE-"]
            .iter()
            .any(|id| line.contains(id))
    });
    assert_eq!(
        rows.filter(|line| line.ends_with("` |")).count(),
        ADVISORIES.len()
    );
}

fn site(www: &Www, matchers: &str) -> ServerBuilder {
    Server::caddyfile(format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 1\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {}\n{matchers}\nphp_server\n}}\n",
        www.path().display()
    ))
}

#[test]
fn unicode() {
    let www = Www::new()
        .file("index.php", "<?php echo 'index';")
        .file("\u{23a}\u{23a}\u{23a}\u{23a}shell.php.txt", UPLOADED)
        .file("avatar.\u{ff50}\u{ff48}\u{ff50}", UPLOADED)
        .file("x.php.png", UPLOADED);
    let server = site(&www, "").start();
    let grows = "%C8%BA".repeat(4);
    for target in [
        format!("/{grows}shell.php.txt.php"),
        format!("/{grows}shell.php.txt/x.php"),
        "/avatar.%EF%BD%90%EF%BD%88%EF%BD%90/x.php".into(),
        "/x.php.png/a.php".into(),
    ] {
        server.get(&target).assert(200, "index");
    }
    for target in [
        format!("/{grows}shell.php.txt"),
        "/avatar.%EF%BD%90%EF%BD%88%EF%BD%90".into(),
    ] {
        server.get(&target).assert(200, UPLOADED);
    }
    server.stop();
}

#[test]
fn sessions() {
    let script = "<?php
        $handle = function () {
            if (isset($_GET['start'])) {
                session_start();
                $_SESSION['secret'] = 'of one';
            }
            echo json_encode([isset($_SESSION['secret']), session_id() !== '']);
        };
        while (frankenphp_handle_request($handle));";
    let www = Www::new().file("worker.php", script);
    let worker = www.path().join("worker.php");
    let text = format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 1\nphp_ini session.save_path {}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {0}\n\
         php_server {{\nworker {{\nfile {}\nnum 1\nmatch /*\n}}\n}}\n}}\n",
        www.path().display(),
        worker.display()
    );
    let server = Server::caddyfile(text).start();
    for _ in 0..3 {
        server.get("/?start").assert(200, "[true,true]");
        server.get("/").assert(200, "[false,false]");
    }
    server.stop();
}

#[test]
fn paths() {
    let www = Www::new()
        .file("index.php", "<?php echo 'index';")
        .file("private/file.txt", "private");
    let server = site(&www, "@private path /private/*\nrespond @private 403").start();
    for target in [
        "/private/file.txt",
        "/PRIVATE/file.txt",
        "/pr%49vate/file.txt",
        "//private/file.txt",
        "/a/../private/file.txt",
        "/a/%2e%2e/private/file.txt",
    ] {
        server.get(target).assert_status(403);
    }
    for target in ["/x%5c..%5cprivate%5cfile.txt", "/private%5cfile.txt"] {
        server.get(target).assert(200, "index");
    }
    server.stop();
    // A pattern that can never match is a configuration error, not a security hole.
    let ended = site(&www, "@escaped path /private%2Ffile*\nrespond @escaped 403").run();
    ended.assert(2, "matches nothing: paths are compared decoded");
}

#[test]
fn hosts() {
    let www = Www::new().file("index.php", "<?php echo 'index';");
    let others: Vec<_> = (0..150).map(|number| format!("h{number}.test")).collect();
    let others = others.join(" ") + " ";
    let server = site(
        &www,
        &format!("@own host admin.test {others}\nrespond @own 403"),
    )
    .start();
    for (host, status) in [
        ("admin.test", 403),
        ("ADMIN.test", 403),
        ("H149.TEST", 403),
        ("other.test", 200),
    ] {
        let mut connection = Connection::open(server.address()).expect("connected");
        let request = Request::get("/").host(host);
        let response = connection.exchange(&request).expect("a response");
        response.assert_status(status);
    }
    server.stop();
}

#[test]
fn authorities() {
    let text = "{\nadmin off\n}\nhttps://localhost:0 {\nbind 127.0.0.1\ntls internal {\nclient_auth {\n\
                mode require_and_verify\ntrust_pool file /nonexistent/authority.pem\n}\n}\nrespond ok\n}\n";
    Server::caddyfile(text)
        .run()
        .assert(2, "/nonexistent/authority.pem");
}

#[test]
fn underscores() {
    let www = Www::new().file(
        "index.php",
        "<?php echo json_encode(array_filter($_SERVER, fn ($name) => str_contains($name, 'REMOTE_GROUPS'), \
         ARRAY_FILTER_USE_KEY));",
    );
    let server = site(&www, "").start();
    let answer = |fields: &[(&str, &str)]| {
        let request = fields
            .iter()
            .fold(Request::get("/"), |request, (name, value)| {
                request.header(name, *value)
            });
        server.send(&request).text()
    };
    for name in [
        "Remote_Groups",
        "remote_Groups",
        "Remote-Groups_",
        "Remote_-Groups",
    ] {
        assert_eq!(answer(&[(name, "admin")]), "[]", "{name}");
    }
    let both = answer(&[("Remote-Groups", "users"), ("Remote_Groups", "admin")]);
    assert_eq!(both, r#"{"HTTP_REMOTE_GROUPS":"users"}"#);
    server.stop();
}

#[test]
fn updates() {
    // HS256 with the key below: may publish to everything.
    const TOKEN: &str = "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJtZXJjdXJlIjogeyJwdWJsaXNoIjogWyIqIl0sICJzdWJzY3JpYmUiOiBbIioiXX19.lNNh1DVRcyvmPH1ZwItY6oGbAIiSfUaUsAgQOgg-Uw8";
    let server = Server::caddyfile(
        "{\nadmin off\n}\nhttp://:0 {\nbind 127.0.0.1\nmercure {\n\
         publisher_jwt a-secret-of-more-than-32-bytes-for-HS256\nanonymous\n}\n}\n",
    )
    .start();
    let publish = |form: &str| {
        let request = Request::new("POST", "/.well-known/mercure")
            .header("Authorization", format!("Bearer {TOKEN}"))
            .header("Content-Type", "application/x-www-form-urlencoded");
        server.send(&request.body(form)).status()
    };
    assert_eq!(publish("topic=t&data=x&id=a&type=b"), 200);
    for form in [
        "topic=t&data=x&id=a%0Adata:+forged",
        "topic=t&data=x&id=a%0Ddata:+forged",
        "topic=t&data=x&type=a%0A%0Adata:+forged",
        "topic=t&data=x&type=a%0D%0Aid:+forged",
        "topic=/.well-known/mercure/subscriptions/t/s&data=x",
        "topic=t&topic=https://a/%2ewell-known/mercure/subscriptions&data=x",
    ] {
        let status = publish(form);
        assert!((400..500).contains(&status), "{form}: {status}");
    }
    server.stop();
}

#[test]
fn chunks() {
    let www = Www::new().file("index.php", "<?php echo 'RAN';");
    let server = site(&www, "").start();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in [
        "1\na\r\n0\r\n\r\n",
        "1;a\nb\r\na\r\n0\r\n\r\n",
        "1\r\na\n0\r\n\r\n",
        "1\r\na\r\n0\n\n",
    ] {
        let mut connection = server.connect();
        let request = format!("{head}{body}");
        connection.send_bytes(request.as_bytes()).expect("sent");
        let response = connection.receive("POST").expect("a response");
        response.assert_status(400);
    }
    server.stop();
}

#[test]
fn libraries() {
    let lock = include_str!("../../../../Cargo.lock");
    for (name, least) in [
        ("h2", [0, 4, 16]),
        ("rustls", [0, 23, 18]),
        ("rustls-webpki", [0, 103, 13]),
        ("quinn-proto", [0, 11, 15]),
        ("ring", [0, 17, 12]),
        ("bytes", [1, 11, 1]),
        ("tokio", [1, 44, 2]),
        ("tracing-subscriber", [0, 3, 20]),
        ("time", [0, 3, 47]),
    ] {
        let package = format!("name = \"{name}\"\nversion = \"");
        let versions: Vec<Vec<u32>> = lock
            .match_indices(&package)
            .map(|(at, _)| {
                let version = lock[at + package.len()..]
                    .split('"')
                    .next()
                    .expect("a version");
                version
                    .split('.')
                    .map(|part| part.parse().expect("a number"))
                    .collect()
            })
            .collect();
        assert!(!versions.is_empty(), "{name} is not used any more");
        for version in versions {
            assert!(*version >= least[..], "{name} {version:?}");
        }
    }
}
