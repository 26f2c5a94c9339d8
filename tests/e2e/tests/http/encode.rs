//! Compressed responses.

use std::io::Read;
use std::time::Instant;

use howdah_testkit::load::at_once;
use howdah_testkit::{Connection, PATIENCE, Request, Response, Server, Www};
use howdah_tests::http2::whole;
use howdah_tests::{caddyfile, encode};

const PAGE: &str = "<?php header('Content-Type: ' . ($_GET['type'] ?? 'text/html'));
    foreach ($_GET['h'] ?? [] as $header) header($header);
    if (isset($_GET['status'])) http_response_code((int) $_GET['status']);
    echo str_repeat(\"<li>A line of the page</li>\\n\", (int) ($_GET['lines'] ?? 100));";
/// Incompressible bytes, the same in each run.
const NOISE: &str = "<?php header('Content-Type: text/plain');
    $random = new Random\\Randomizer(new Random\\Engine\\Mt19937(1));
    for ($i = 0; $i < (int) $_GET['kib']; $i++) { echo $random->getBytes(1024); }";
/// Text that differs for each request.
const OWN: &str = "<?php header('Content-Type: text/plain'); $text = '';
    for ($line = 0; $line < 64 * (int) $_GET['kib']; $line++) {
        $text .= sprintf(\"%07d %07d\\n\", $_GET['number'], $line);
    }
    echo $text;";
const GATE: &str =
    "<?php header('Content-Type: text/event-stream'); ob_end_flush(); $gate = $_GET['gate'];
    foreach (['one', 'two', 'three'] as $event) {
        echo \"data: $event\\n\\n\"; flush();
        file_put_contents(\"$gate.reached\", 'x'); fgetc(fopen(\"$gate.open\", 'r'));
    }
    echo 'end';";

fn page(lines: usize) -> Vec<u8> {
    "<li>A line of the page</li>\n".repeat(lines).into_bytes()
}

fn www() -> Www {
    Www::new()
        .file("index.php", PAGE)
        .file("noise.php", NOISE)
        .file("own.php", OWN)
        .file("gate.php", GATE)
        .file("large.txt", page(20_000))
        .file("small.txt", page(100))
        .file("tiny.txt", "tiny")
        .file("picture.png", page(100))
}

/// A site that serves PHP, with its own `encode` directive.
fn site(directives: &str) -> (Www, Server) {
    let www = www();
    let root = www.path().display();
    let text = format!("root * {root}\n{directives}\nphp_server");
    let server = Server::caddyfile(caddyfile("", &text)).start();
    (www, server)
}

fn asking(target: &str, accepted: &str) -> Request {
    Request::get(target).header("Accept-Encoding", accepted)
}

fn decode(coding: Option<&str>, body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    match coding {
        None => decoded.extend_from_slice(body),
        Some("gzip") => {
            flate2::read::GzDecoder::new(body)
                .read_to_end(&mut decoded)
                .expect("gzip");
        }
        Some("br") => {
            brotli::Decompressor::new(body, 4096)
                .read_to_end(&mut decoded)
                .expect("brotli");
        }
        Some("zstd") => {
            decoded.reserve(16 << 20);
            zstd_safe::decompress(&mut decoded, body).expect("zstd");
        }
        Some(other) => panic!("{other}"),
    }
    decoded
}

#[track_caller]
fn check(response: &Response, coding: Option<&str>, body: &[u8]) {
    response.assert_status(200);
    assert_eq!(
        response.header("content-encoding"),
        coding,
        "{:?}",
        response.head
    );
    assert!(decode(coding, &response.body) == body, "another body");
    if coding.is_some() {
        assert!(
            response.body.len() < body.len() / 5,
            "{}",
            response.body.len()
        );
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        assert_eq!(response.header("accept-ranges"), None);
    }
}

#[test]
fn the_client_and_the_order_choose_the_format() {
    let (_www, server) = site("encode zstd br gzip");
    for (accepted, coding) in [
        ("gzip, deflate, br, zstd", Some("zstd")),
        ("gzip, deflate, br", Some("br")),
        ("gzip, deflate", Some("gzip")),
        ("gzip;q=1.0, zstd;q=0.5", Some("gzip")),
        ("*", Some("zstd")),
        ("zstd;q=0, *;q=0.5", Some("br")),
        ("identity;q=0, br", Some("br")),
        ("gzip;q=0", None),
        ("identity, gzip;q=0.5", None),
        ("deflate", None),
        ("", None),
    ] {
        for (target, body) in [
            ("/", page(100)),
            ("/?lines=50000", page(50_000)),
            ("/small.txt", page(100)),
            ("/large.txt", page(20_000)),
        ] {
            let response = server.send(&asking(target, accepted));
            check(&response, coding, &body);
            assert_eq!(response.header("vary"), Some("Accept-Encoding"), "{target}");
        }
    }
    let plain = server.get("/");
    check(&plain, None, &page(100));
    assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
    assert_eq!(plain.header("content-length"), Some("2800"));
}

#[test]
fn a_short_page_has_its_compressed_length() {
    let (_www, server) = site("encode zstd br gzip");
    for coding in ["gzip", "br", "zstd"] {
        let response = server.send(&asking("/", coding));
        check(&response, Some(coding), &page(100));
        let length = response.body.len().to_string();
        assert_eq!(response.header("content-length"), Some(length.as_str()));
        assert_eq!(response.header("transfer-encoding"), None);
        // The script's length is that of the uncompressed body.
        let own = "/?h[]=Content-Length:+2800";
        check(&server.send(&asking(own, coding)), Some(coding), &page(100));
    }
}

#[test]
fn some_responses_are_left_alone() {
    let (_www, server) = site("encode gzip");
    for (target, varies) in [
        ("/?type=image/png", false),
        ("/?type=application/zip", false),
        ("/?lines=18", false), // 504 bytes
        ("/tiny.txt", false),
        ("/picture.png", false),
        ("/?h[]=Content-Encoding:+x-own", false),
        ("/?h[]=Cache-Control:+private,+no-transform", false),
        // The same response without the status of a range would be compressed.
        ("/?h[]=Content-Range:+bytes+0-1/9&status=206", true),
    ] {
        let response = server.send(&asking(target, "gzip"));
        let coding = response.header("content-encoding");
        assert!(coding.is_none_or(|own| own == "x-own"), "{target}");
        assert_eq!(response.header("vary").is_some(), varies, "{target}");
        assert_eq!(response.body, server.get(target).body, "{target}");
    }
    let none = server.send(&asking("/?status=204", "gzip"));
    none.assert(204, "");
    assert_eq!(none.header("content-encoding"), None);
    let part = server.send(&asking("/large.txt", "gzip").header("Range", "bytes=0-999"));
    part.assert_status(206);
    assert_eq!(part.header("content-encoding"), None);
    assert_eq!(part.body, &page(100)[..1000]);
    // Error pages are compressed, too.
    let missing = server.send(&asking("/?status=404", "gzip"));
    missing.assert_status(404);
    assert_eq!(missing.header("content-encoding"), Some("gzip"));
    assert_eq!(decode(Some("gzip"), &missing.body), page(100));
}

#[test]
fn bodies_that_do_not_shrink_are_sent_unchanged() {
    let (_www, server) = site("encode zstd br gzip");
    for kib in [1, 20, 60, 400] {
        let target = format!("/noise.php?kib={kib}");
        let plain = server.get(&target);
        assert_eq!(plain.body.len(), kib << 10);
        for coding in ["gzip", "br", "zstd"] {
            let response = server.send(&asking(&target, coding));
            check(&response, None, &plain.body);
            assert_eq!(response.header("vary"), Some("Accept-Encoding"));
            // Unless the client accepts nothing else.
            let forced = server.send(&asking(&target, &format!("{coding}, identity;q=0")));
            assert_eq!(forced.header("content-encoding"), Some(coding));
            assert!(decode(Some(coding), &forced.body) == plain.body);
        }
    }
}

fn own(number: usize, kib: usize) -> Vec<u8> {
    let lines: Vec<String> = (0..64 * kib)
        .map(|line| format!("{number:07} {line:07}\n"))
        .collect();
    lines.concat().into_bytes()
}

/// The server reuses memory, but not while a client waits for a part of it.
#[test]
fn pages_do_not_mix_while_some_clients_are_slow() {
    let www = www();
    let root = www.path().display();
    // The slow clients wait for all others.
    let patient = "servers {\ntimeouts {\nwrite 10m\n}\n}";
    let text = format!("root * {root}\nencode gzip\nphp_server");
    let server = Server::caddyfile(caddyfile(patient, &text)).start();
    let slow: Vec<_> = (0..10)
        .map(|number| {
            let request = Request::get(format!("/own.php?number={number}&kib=512"));
            let mut connection =
                Connection::open_with_receive_buffer(server.address(), 4096).expect("a client");
            connection.send(&request).expect("a request");
            let head = connection.begin("GET").expect("a response");
            assert_eq!(head.status, 200);
            (number, connection)
        })
        .collect();
    at_once(12, |client| {
        for (turn, kib) in [10, 17, 50, 64, 100, 300].into_iter().enumerate() {
            let number = 100 * (client + 1) + turn;
            let target = format!("/own.php?number={number}&kib={kib}");
            let coding = (client + turn).is_multiple_of(2).then_some("gzip");
            let response = server.send(&asking(&target, coding.unwrap_or("identity")));
            response.assert_status(200);
            assert_eq!(response.header("content-encoding"), coding, "{target}");
            let body = decode(coding, &response.body);
            assert!(body == own(number, kib), "{target}: another body");
        }
    });
    for (number, mut connection) in slow {
        let mut body = Vec::new();
        while let Some(part) = connection.next_part().expect("a part") {
            body.extend_from_slice(&part);
        }
        assert!(body == own(number, 512), "the slow client {number}");
    }
}

#[test]
fn a_flush_reaches_the_client_through_the_encoder() {
    let (www, server) = site("encode zstd br gzip");
    for coding in ["gzip", "br", "zstd"] {
        let mut gate = server.gate(coding);
        let mut connection = server.connect();
        let target = format!("/gate.php?gate={}", encode(gate.path()));
        connection.send(&asking(&target, coding)).expect("sent");
        let head = connection.begin("GET").expect("a head");
        assert_eq!(head.header("content-encoding"), Some(coding));
        assert_eq!(head.header("content-length"), None);
        let mut seen = Vec::new();
        let mut expected = String::new();
        for event in ["one", "two", "three"] {
            gate.reached();
            expected.extend(["data: ", event, "\n\n"]);
            while decoded_so_far(coding, &seen) != expected.as_bytes() {
                let part = connection.next_part().expect("more").expect("not the end");
                seen.extend_from_slice(&part);
            }
            gate.open(1);
        }
        while let Some(part) = connection.next_part().expect("the rest") {
            seen.extend_from_slice(&part);
        }
        expected += "end";
        assert_eq!(decode(Some(coding), &seen), expected.as_bytes());
        let next = connection.exchange(&asking("/", coding)).expect("the next");
        check(&next, Some(coding), &page(100));
    }
    drop(www);
}

/// Decodes the available part of an incomplete body.
fn decoded_so_far(coding: &str, body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut read = |mut reader: Box<dyn Read + '_>| {
        let mut buffer = [0; 64];
        // The end of the available part is reported as an error.
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            decoded.extend_from_slice(&buffer[..count]);
        }
    };
    match coding {
        "gzip" => read(Box::new(flate2::read::GzDecoder::new(body))),
        "br" => read(Box::new(brotli::Decompressor::new(body, 64))),
        _ => {
            let mut context = zstd_safe::DCtx::create();
            decoded.reserve(1 << 17);
            let mut target = zstd_safe::OutBuffer::around(&mut decoded);
            let mut source = zstd_safe::InBuffer::around(body);
            while source.pos() < body.len() {
                context
                    .decompress_stream(&mut target, &mut source)
                    .expect("zstd");
            }
        }
    }
    decoded
}

#[test]
fn tags_are_weak_and_are_recognised() {
    let (_www, server) = site("encode gzip");
    let plain = server.get("/small.txt");
    let strong = plain.header("etag").expect("an ETag").to_owned();
    assert_eq!(plain.header("accept-ranges"), Some("bytes"));
    let response = server.send(&asking("/small.txt", "gzip"));
    let weak = format!("W/{strong}");
    assert_eq!(response.header("etag"), Some(weak.as_str()));
    let again = asking("/small.txt", "gzip").header("If-None-Match", &weak);
    let unchanged = server.send(&again);
    unchanged.assert(304, "");
    assert_eq!(unchanged.header("etag"), Some(weak.as_str()));
    assert_eq!(unchanged.header("vary"), Some("Accept-Encoding"));
    assert_eq!(unchanged.header("content-encoding"), None);
    let again = Request::get("/small.txt").header("If-None-Match", &strong);
    let unchanged = server.send(&again);
    unchanged.assert(304, "");
    assert_eq!(unchanged.header("etag"), Some(strong.as_str()));
    // `Vary` tells shared caches on which header the response depends.
    assert_eq!(unchanged.header("vary"), Some("Accept-Encoding"));
    let part = server.send(&asking("/small.txt", "gzip").header("Range", "bytes=0-3"));
    part.assert_status(206);
    assert_eq!(part.header("vary"), Some("Accept-Encoding"));
    let plain = asking("/small.txt", "gzip").header("Cache-Control", "no-transform");
    assert_eq!(server.send(&plain).header("content-encoding"), None);
    let own = server.send(&asking("/?h[]=ETag:+%22a%22&h[]=Vary:+Cookie", "gzip"));
    assert_eq!(own.header("etag"), Some("W/\"a\""));
    assert_eq!(own.head.header_all("vary"), ["Cookie", "Accept-Encoding"]);
}

#[test]
fn head_has_the_same_header() {
    let (_www, server) = site("encode zstd gzip");
    for target in [
        "/",
        "/?lines=50000",
        "/small.txt",
        "/large.txt",
        "/tiny.txt",
    ] {
        let get = server.send(&asking(target, "gzip"));
        let head = Request::new("HEAD", target).header("Accept-Encoding", "gzip");
        let head = server.send(&head);
        head.assert(200, "");
        for name in [
            "content-encoding",
            "content-type",
            "vary",
            "etag",
            "accept-ranges",
        ] {
            assert_eq!(head.header(name), get.header(name), "{target} {name}");
        }
        // The length of the compressed body is unknown before it is compressed.
        if get.header("content-encoding").is_some() {
            assert_eq!(head.header("content-length"), None, "{target}");
        }
    }
}

#[test]
fn http10_and_pipelined_requests_get_theirs() {
    let (_www, server) = site("encode gzip");
    for (target, body) in [("/", page(100)), ("/?lines=50000", page(50_000))] {
        let response = server.send(&asking(target, "gzip").http10());
        assert_eq!(response.header("transfer-encoding"), None);
        check(&response, Some("gzip"), &body);
    }
    let mut connection = server.connect();
    let targets = ["/", "/large.txt", "/?type=image/png", "/?lines=3000"];
    for target in targets {
        connection.send(&asking(target, "gzip")).expect("sent");
    }
    for (coding, body) in [
        (Some("gzip"), page(100)),
        (Some("gzip"), page(20_000)),
        (None, page(100)),
        (Some("gzip"), page(3000)),
    ] {
        check(
            &connection.receive("GET").expect("a response"),
            coding,
            &body,
        );
    }
}

#[test]
fn files_are_compressed_once_and_again_when_they_change() {
    let (www, server) = site("encode zstd br gzip");
    // A compressed form is cached when the file has not changed for a few seconds. Its length is
    // known then.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let response = server.send(&asking("/large.txt", "zstd"));
        check(&response, Some("zstd"), &page(20_000));
        if response.header("content-length").is_some() {
            break;
        }
        assert!(Instant::now() < deadline, "it is compressed each time");
    }
    for coding in ["gzip", "br", "gzip", "br"] {
        check(
            &server.send(&asking("/large.txt", coding)),
            Some(coding),
            &page(20_000),
        );
    }
    let other = "<p>Another line of it</p>\n\n".repeat(20_000).into_bytes();
    www.write("large.txt", &other);
    for coding in ["zstd", "gzip", "br"] {
        check(
            &server.send(&asking("/large.txt", coding)),
            Some(coding),
            &other,
        );
    }
}

#[test]
fn files_compressed_beforehand_are_sent() {
    let www = www()
        .file("app.js", "plain")
        .file("app.js.gz", "as gzip")
        .file("app.js.br", "as brotli")
        .file("only.css", "plain css")
        .file("dir/index.html", "index")
        .file("dir/index.html.gz", "index as gzip");
    let root = www.path().display();
    let text =
        format!("root * {root}\nencode zstd gzip\nfile_server {{\nprecompressed zstd br gzip\n}}");
    let server = Server::caddyfile(caddyfile("", &text)).start();
    for (target, accepted, coding, body) in [
        ("/app.js", "gzip, br, zstd", Some("br"), "as brotli"),
        ("/app.js", "gzip, br;q=0.5", Some("gzip"), "as gzip"),
        ("/app.js", "identity", None, "plain"),
        ("/app.js", "br, identity;q=0", Some("br"), "as brotli"),
        ("/only.css", "gzip", None, "plain css"),
        ("/dir/", "gzip", Some("gzip"), "index as gzip"),
    ] {
        let response = server.send(&asking(target, accepted));
        response.assert(200, body);
        assert_eq!(
            response.header("content-encoding"),
            coding,
            "{target} {accepted}"
        );
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        assert_eq!(
            response.header("content-length"),
            Some(body.len().to_string().as_str())
        );
    }
    let response = server.send(&asking("/app.js", "br"));
    let kind = response.header("content-type");
    assert_eq!(kind, Some("text/javascript; charset=utf-8"));
    let etag = response.header("etag").expect("an ETag").to_owned();
    assert_ne!(server.get("/app.js").header("etag"), Some(etag.as_str()));
    let again = asking("/app.js", "br").header("If-None-Match", &etag);
    server.send(&again).assert(304, "");
    let part = asking("/app.js", "br").header("Range", "bytes=3-");
    let part = server.send(&part);
    part.assert(206, "brotli");
    assert_eq!(part.header("content-encoding"), Some("br"));
}

#[test]
fn blocks_have_their_own_encode() {
    let (_www, server) = site(
        "encode /inner/* br\n
         handle /none/* {\nrewrite * /index.php\nphp_server\n}\n
         handle /inner/* {\nencode gzip {\nminimum_length 10\nmatch {\nstatus 200\nheader Content-Type text/plain*\n}\n}\n
         rewrite * /index.php?{query}\nphp_server\n}",
    );
    let response = server.send(&asking("/none/", "gzip, br"));
    check(&response, None, &page(100));
    assert_eq!(response.header("vary"), None);
    let plain = server.send(&asking("/inner/?type=text/plain&lines=20", "gzip, br"));
    check(&plain, Some("gzip"), &page(20));
    // Responses that the inner directive does not match are left to the outer one.
    let html = server.send(&asking("/inner/", "gzip, br"));
    check(&html, Some("br"), &page(100));
    let failed = server.send(&asking("/inner/?type=text/plain&status=500", "gzip, br"));
    assert_eq!(failed.header("content-encoding"), Some("br"));
    check(&server.send(&asking("/", "gzip, br")), None, &page(100));
}

#[test]
fn php_server_compresses_by_default() {
    let www = www();
    let server = Server::builder(&www).workers(1).start();
    for (accepted, coding) in [
        ("gzip, br, zstd", "zstd"),
        ("gzip, br", "br"),
        ("gzip", "gzip"),
    ] {
        let response = server.send(&asking("/", accepted));
        check(&response, Some(coding), &page(100));
    }
    let server = Server::builder(&www)
        .workers(1)
        .arg("--no-compress")
        .start();
    let response = server.send(&asking("/", "gzip, br, zstd"));
    check(&response, None, &page(100));
    assert_eq!(response.header("vary"), None);
}

#[test]
fn worker_mode_behaves_the_same() {
    let script = "<?php $handler = static function (): void {
            header('Content-Type: text/html');
            echo str_repeat(\"<li>A line of the page</li>\\n\", (int) $_GET['lines']);
        };
        while (frankenphp_handle_request($handler)) { }";
    let www = Www::new().file("worker.php", script);
    let worker = www.path().join("worker.php").display().to_string();
    let server = Server::builder(www.path())
        .arg("--worker")
        .arg(format!("{worker},1"))
        .start();
    for lines in [100, 50_000] {
        for coding in ["gzip", "br", "zstd"] {
            let response = server.send(&asking(&format!("/?lines={lines}"), coding));
            check(&response, Some(coding), &page(lines));
        }
    }
}

#[test]
fn http2_has_it_too() {
    let (_www, server) = site("encode zstd br gzip");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.address())
            .await
            .expect("it connects");
        let (client, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let driver = tokio::spawn(connection);
        for (target, body) in [
            ("/", page(100)),
            ("/?lines=50000", page(50_000)),
            ("/large.txt", page(20_000)),
        ] {
            for coding in ["gzip", "br", "zstd"] {
                let request = http::Request::get(format!("http://localhost{target}"))
                    .header("accept-encoding", coding)
                    .body(())
                    .expect("a request");
                let mut client = client.clone().ready().await.expect("open");
                let (response, _) = client.send_request(request, true).expect("a stream");
                let exchange = async {
                    let (head, body) = response.await.expect("a response").into_parts();
                    (head, whole(body).await)
                };
                let (head, seen) = tokio::time::timeout(PATIENCE, exchange)
                    .await
                    .expect("in time");
                assert_eq!(head.headers["content-encoding"], coding);
                assert_eq!(head.headers["vary"], "Accept-Encoding");
                assert!(decode(Some(coding), &seen) == body, "{target} {coding}");
            }
        }
        driver.abort();
    });
}
