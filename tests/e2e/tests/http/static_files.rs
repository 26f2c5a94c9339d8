//! Static files.

use howdah_testkit::{Request, Response, Server, Www};

fn site() -> (Www, Server) {
    let www = Www::new()
        .file("index.php", "<?php echo 'front ', $_SERVER['REQUEST_URI'];")
        .file("a.txt", "0123456789")
        .file("style.css", "body {}")
        .file("app.js", "1;")
        .file("page.html", "<p>page")
        .file("image.png", b"\x89PNG")
        .file("data.json", "{}")
        .file("unknown.xyzzy", "?")
        .file("empty.txt", "")
        .file("sub/b.txt", "below")
        .file(".env", "SECRET=1")
        .file(".git/config", "secret")
        .file("sub/.hidden", "secret")
        .file(".well-known/acme", "token")
        .file("source.php", "<?php echo 'run';");
    let server = Server::builder(&www).workers(2).start();
    (www, server)
}

#[test]
fn have_their_types() {
    let (_www, server) = site();
    for (path, kind) in [
        ("/a.txt", "text/plain; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/page.html", "text/html; charset=utf-8"),
        ("/image.png", "image/png"),
        ("/data.json", "application/json"),
    ] {
        let response = server.get(path);
        response.assert_status(200);
        assert_eq!(response.header("content-type"), Some(kind), "{path}");
        assert!(response.header("etag").is_some() && response.header("last-modified").is_some());
    }
    server.get("/unknown.xyzzy").assert(200, "?");
    server.get("/empty.txt").assert(200, "");
    server.get("/sub/b.txt").assert(200, "below");
    let head = server.send(&Request::new("HEAD", "/a.txt"));
    assert_eq!(
        (head.status(), head.header("content-length")),
        (200, Some("10"))
    );
}

#[test]
fn are_not_sent_again_when_unchanged() {
    let (www, server) = site();
    let first = server.get("/a.txt");
    let etag = first.header("etag").expect("an ETag").to_owned();
    let date = first.header("last-modified").expect("a date").to_owned();
    let with = |name: &str, value: &str| server.send(&Request::get("/a.txt").header(name, value));
    with("If-None-Match", &etag).assert(304, "");
    with("If-None-Match", &format!("\"x\", {etag}")).assert(304, "");
    with("If-None-Match", "*").assert(304, "");
    with("If-None-Match", "\"x\"").assert(200, "0123456789");
    with("If-Modified-Since", &date).assert(304, "");
    with("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT").assert(200, "0123456789");
    with("If-Match", "\"x\"").assert_status(412);
    with("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT").assert_status(412);
    www.write("a.txt", "changed size");
    with("If-None-Match", &etag).assert(200, "changed size");
}

#[test]
fn ranges_can_be_requested() {
    let (_www, server) = site();
    let range =
        |value: &str| -> Response { server.send(&Request::get("/a.txt").header("Range", value)) };
    for (value, body, content) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=5-", "56789", "bytes 5-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=8-100", "89", "bytes 8-9/10"),
    ] {
        let response = range(value);
        response.assert(206, body);
        assert_eq!(response.header("content-range"), Some(content));
    }
    let response = range("bytes=10-");
    response.assert_status(416);
    assert_eq!(response.header("content-range"), Some("bytes */10"));
    // A range in other units is ignored.
    range("lines=1-2").assert(200, "0123456789");
    range("bytes=3-1").assert(200, "0123456789");
    let stale = Request::get("/a.txt")
        .header("Range", "bytes=0-1")
        .header("If-Range", "\"x\"");
    server.send(&stale).assert(200, "0123456789");
}

#[test]
fn hide_what_begins_with_a_dot() {
    let (_www, server) = site();
    for path in [
        "/.env",
        "/.git/config",
        "/sub/.hidden",
        "/%2eenv",
        "/sub/%2Ehidden",
        "/sub/../.env",
    ] {
        let response = server.get(path);
        assert!(
            !response.text().contains("SECRET") && !response.text().contains("secret"),
            "{path}"
        );
    }
    server.get("/.well-known/acme").assert(200, "token");
}

#[test]
fn stay_inside_the_root() {
    let (_www, server) = site();
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/sub/..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/..%5c..%5c..%5cetc/passwd",
        "//etc/passwd",
        "/sub/../../../../../../etc/passwd",
    ] {
        let response = server.get(path);
        assert!(!response.text().contains("root:"), "{path} got out");
    }
}

#[test]
fn are_never_the_source_of_a_script() {
    let (_www, server) = site();
    for path in [
        "/source.php",
        "/source.php/",
        "/source.php/x",
        "/source.PHP",
        "/source.php%20",
        "/source.php.",
    ] {
        let response = server.get(path);
        assert!(
            !response.text().contains("<?php"),
            "{path}: {}",
            response.text()
        );
    }
    server.get("/source.php").assert(200, "run");
}

#[test]
fn of_a_directory_are_found_by_its_index() {
    let www = Www::new()
        .file("docs/index.html", "docs")
        .file("app/index.php", "<?php echo 'app';");
    let server = Server::builder(&www).workers(1).start();
    server.get("/docs/").assert(200, "docs");
    server.get("/app/").assert(200, "app");
    let redirect = server.get("/app?q=1");
    redirect.assert_status(308);
    assert_eq!(redirect.header("location"), Some("/app/?q=1"));
}

#[test]
fn may_be_large() {
    let content: Vec<u8> = (0..20_u32 << 18).flat_map(u32::to_le_bytes).collect();
    let www = Www::new().file("large.bin", &content);
    let server = Server::builder(&www).workers(1).start();
    howdah_testkit::load::at_once(8, |_| {
        let response = server.get("/large.bin");
        response.assert_status(200);
        assert!(response.body == content);
    });
    let request = Request::get("/large.bin").header("Range", "bytes=10000000-10999999");
    assert!(server.send(&request).body == content[10_000_000..11_000_000]);
}

#[test]
fn need_no_php() {
    let www = Www::new().file("a.txt", "text").file(
        "gate.php",
        "<?php fgetc(fopen($_GET['gate'] . '.open', 'r'));",
    );
    let server = Server::builder(&www).workers(1).start();
    let mut gate = server.gate("gate");
    let mut busy = server.connect();
    let target = format!("/gate.php?gate={}", howdah_tests::encode(gate.path()));
    busy.send(&Request::get(target)).expect("sent");
    howdah_testkit::load::at_once(100, |_| server.get("/a.txt").assert(200, "text"));
    gate.open(1);
    busy.receive("GET").expect("a response").assert(200, "");
}
