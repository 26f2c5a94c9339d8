//! Refused requests, and requirements of HTTP/1 for the rest.

use std::sync::atomic::Ordering::SeqCst;

use crate::support::{Harness, php_site, wait_until};

fn start() -> (tempfile::TempDir, Harness) {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    (directory, harness)
}

#[test]
fn malformed_requests_are_refused() {
    let (_directory, harness) = start();
    for (request, status) in [
        ("BAD\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", 400),
        ("GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /% HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", 400),
        ("GET foo HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
            400,
        ),
        (
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n",
            417,
        ),
        ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ] {
        let reply = harness.send(request);
        assert_eq!(reply.status, status, "{request:?}: {reply:?}");
    }
    assert_eq!(harness.seen.calls.load(SeqCst), 0);
}

/// Header fields that declare two lengths of a body.
const AMBIGUOUS: [&str; 6] = [
    "Content-Length: 40\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 40",
    "tRANSFER-eNCODING:chunked\r\nX: y\r\ncONTENT-lENGTH:40",
    "Transfer-Encoding: chunked\r\nContent-Length: nonsense",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 0\r\nX: y\r\nContent-Length: 0",
];

#[test]
fn a_request_with_two_lengths_is_refused() {
    let (_directory, harness) = start();
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for fields in AMBIGUOUS {
        let mut client = harness.connect();
        let request =
            format!("POST /echo.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n0\r\n\r\n{smuggled}");
        client.write(request.as_bytes());
        let reply = client.reply(true);
        assert_eq!(reply.status, 400, "{fields}: {reply:?}");
        assert_eq!(reply.header("connection"), Some("close"), "{fields}");
        assert!(
            client.rest().0.is_empty(),
            "what follows was taken for a request"
        );
    }
    assert_eq!(harness.seen.calls.load(SeqCst), 0);
}

#[test]
fn two_lengths_are_found_behind_other_requests_and_in_pieces() {
    let (_directory, harness) = start();
    // Bodies may contain what would be refused in a request head.
    let body = "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n";
    let before = format!(
        "POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}\
         POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x};a=b\r\n{body}\r\n0\r\nContent-Length: 3\r\n\r\n",
        body.len(),
        body.len(),
    );
    for (number, fields) in AMBIGUOUS.into_iter().enumerate() {
        let mut client = harness.connect();
        let request =
            format!("{before}POST /echo.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n0\r\n\r\n");
        for piece in request.as_bytes().chunks([request.len(), 1, 7][number % 3]) {
            client.write(piece);
        }
        for length in [body.len(); 2] {
            let reply = client.reply(true);
            assert_eq!(reply.value("length"), length.to_string(), "{fields}");
        }
        assert_eq!(client.reply(true).status, 400, "{fields}");
        assert!(client.rest().0.is_empty(), "{fields}");
    }
    assert_eq!(harness.seen.calls.load(SeqCst), 2 * AMBIGUOUS.len());
}

#[test]
fn a_long_length_in_pieces_hides_nothing() {
    let (_directory, harness) = start();
    let fields = "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc";
    let hidden = format!("POST /echo.php?mode=hidden HTTP/1.1\r\nHost: a\r\n{fields}");
    for padding in [" ", "0"].map(|padding| padding.repeat(150)) {
        let mut client = harness.connect();
        client.write(
            format!("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: {padding}").as_bytes(),
        );
        // The server must read it alone: its thread serves another connection meanwhile.
        let mut other = harness.connect();
        other.write(b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(other.reply(true).status, 200);
        client.write(format!("3\r\n\r\nabc{hidden}").as_bytes());
        let reply = client.reply(true);
        assert_eq!(
            (reply.status, reply.header("connection")),
            (400, Some("close"))
        );
        assert!(client.rest().0.is_empty());
    }
    assert_eq!(harness.seen.calls.load(SeqCst), 2);
}

#[test]
fn a_line_that_ends_in_lf_alone_is_refused() {
    let (_directory, harness) = start();
    let next = "GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n";
    for request in [
        "GET /echo.php HTTP/1.1\nHost: a\r\n\r\n",
        "GET /echo.php HTTP/1.1\r\nHost: a\n\r\n",
        "GET /echo.php HTTP/1.1\r\nHost: a\r\n\n",
        "POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n",
        "POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\na\r\n0\r\nX: a\n\n",
        "POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\na\r\n0\r\nX: a\r\n\n",
    ] {
        let mut client = harness.connect();
        client.write(format!("{request}{next}").as_bytes());
        let reply = client.reply(true);
        assert_eq!(reply.status, 400, "{request:?}: {reply:?}");
        assert!(client.rest().0.is_empty(), "{request:?}");
        // In pieces, and after another request.
        let mut client = harness.connect();
        client.write(next.as_bytes());
        for piece in request.as_bytes().chunks(1) {
            client.write(piece);
        }
        assert_eq!(client.reply(true).status, 200, "{request:?}");
        assert_eq!(client.reply(true).status, 400, "{request:?}");
        assert!(client.rest().0.is_empty(), "{request:?}");
    }
    assert_eq!(harness.seen.calls.load(SeqCst), 6);
}

/// Such characters occur in old links and careless scripts.
#[test]
fn targets_that_no_uri_may_have_are_encoded() {
    let (_directory, harness) = start();
    for (target, uri, query) in [
        (
            &b"/echo.php?a=\"<b>\"`"[..],
            "/echo.php?a=%22%3Cb%3E%22%60",
            "a=%22%3Cb%3E%22%60",
        ),
        (b"/<x>`\"/?a", "/%3Cx%3E%60%22/?a", "a"),
        (b"/caf\xe9?q=\xff", "/caf%E9?q=%FF", "q=%FF"),
        ("/café?ü".as_bytes(), "/caf%C3%A9?%C3%BC", "%C3%BC"),
        (b"http://a/\xe9", "/%E9", ""),
    ] {
        let request = [b"GET ", target, b" HTTP/1.1\r\nHost: a\r\nX: <\"\r\n\r\n"].concat();
        for size in [request.len(), 1, 7] {
            let mut client = harness.connect();
            for piece in request.chunks(size) {
                client.write(piece);
            }
            // Two more on the same connection, at the same time.
            client.write(&[&request[..], &request].concat());
            for _ in 0..3 {
                let reply = client.reply(true);
                assert_eq!(reply.value("uri"), uri, "{reply:?}");
                assert_eq!(reply.value("query"), query, "{reply:?}");
            }
        }
    }
    // More than the server reads at once.
    let many = "<".repeat(6000);
    let reply = harness.get(&format!("/echo.php?{many}"));
    assert_eq!(reply.value("query"), "%3C".repeat(6000));
    // Methods are unchanged.
    let reply = harness.send("G<T / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(reply.status, 400);
}

#[test]
fn a_status_without_a_reason_gets_none() {
    let (_directory, harness) = start();
    for (status, line) in [
        (299, "HTTP/1.1 299 \r\n"),
        (599, "HTTP/1.1 599 \r\n"),
        (404, "HTTP/1.1 404 Not Found\r\n"),
    ] {
        let reply = harness.get(&format!("/echo.php?mode=answer&status={status}"));
        assert!(reply.head.starts_with(line), "{reply:?}");
    }
}

#[test]
fn a_kept_connection_is_still_read_right() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    let chunked = "POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    for _ in 0..3 {
        client.write(chunked.as_bytes());
        assert_eq!(client.reply(true).value("length"), "3");
    }
    client.write(
        b"POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    );
    assert_eq!(client.reply(true).status, 400);
}

#[test]
fn sizes_have_limits() {
    let (_directory, harness) = start();
    let long = "a".repeat(40 << 10);
    let huge = "a".repeat(200 << 10);
    for (request, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET /{huge} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            431,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {huge}\r\n\r\n"),
            431,
        ),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "X: y\r\n".repeat(150)
            ),
            431,
        ),
    ] {
        let reply = harness.send(&request);
        assert_eq!(reply.status, status, "{} bytes: {reply:?}", request.len());
    }
    // The limit also applies to a request that arrived together with another.
    let mut client = harness.connect();
    let first = "GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n";
    client.write(format!("{first}GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n").as_bytes());
    assert_eq!(client.reply(true).status, 200);
    assert_eq!(client.reply(true).status, 431);
    // Just below the limit.
    let fits = "a".repeat(31 << 10);
    assert_eq!(harness.get(&format!("/{fits}")).status, 200);
    // A body does not count towards the header.
    let body = "b".repeat(60 << 10);
    let reply = harness.send(&format!(
        "POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_eq!(reply.value("length"), body.len().to_string());
}

#[test]
fn targets_methods_and_versions() {
    let (_directory, harness) = start();
    // The authority of an absolute target counts, not the `Host` header.
    let reply = harness.send("GET http://right:81/echo.php?q=1 HTTP/1.1\r\nHost: wrong\r\n\r\n");
    assert_eq!(reply.value("host"), "right:81");
    assert_eq!(reply.value("script"), "/echo.php");
    assert_eq!(reply.value("query"), "q=1");
    let reply = harness.send("GET http://right?q=1 HTTP/1.1\r\nHost: wrong\r\n\r\n");
    assert_eq!(reply.value("script"), "/index.php");
    assert_eq!(reply.value("query"), "q=1");
    let reply = harness.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((reply.status, reply.header("allow").is_some()), (204, true));
    // All other methods are passed to PHP.
    for method in ["OPTIONS", "PUT", "DELETE", "PROPFIND"] {
        let reply = harness.send(&format!("{method} /echo.php HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(reply.value("method"), method);
    }
    let reply = harness.send("GET /echo.php HTTP/1.0\r\n\r\n");
    assert_eq!(reply.value("version"), "HTTP/1.0");
    assert_eq!(reply.value("host"), "");
    assert!(reply.header("date").is_some());
    assert_eq!(reply.header("server"), Some("Howdah"));
}

#[test]
fn head_runs_the_application_to_its_end() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    client.write(b"HEAD /echo.php HTTP/1.1\r\nHost: a\r\n\r\n");
    let reply = client.reply(false);
    assert_eq!(reply.status, 200);
    assert_ne!(reply.header("content-length"), Some("0"));
    // No bytes but the next response follow.
    client.write(b"HEAD /echo.php?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(false).status, 200);
    client.write(b"GET /echo.php?mode=304 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(false).status, 304);
    client.write(b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(true).value("method"), "GET");
    // Only the two requests whose bodies wait for the gate are still in flight.
    wait_until("two responses are over", || {
        harness.seen.dropped.load(SeqCst) == 2
    });
    harness.seen.open_gate();
    wait_until("all responses are over", || {
        harness.seen.dropped.load(SeqCst) == 4
    });
}

#[test]
fn connections_are_kept_and_requests_pipelined() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    let request = "GET /echo.php?n=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    client.write(request.repeat(20).as_bytes());
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let id = u64::from_str_radix(client.reply(true).value("id"), 16).unwrap();
        assert_ne!(id, 0);
        assert_eq!(id >> 56, 1, "the thread is in the top byte");
        ids.insert(id);
    }
    assert_eq!(ids.len(), 20);
    client.write(b"GET /echo.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.reply(true).header("connection"), Some("close"));
    assert!(client.is_closed());
    assert_eq!(harness.server.stats().requests(), 21);
}

#[test]
fn flushed_output_arrives_at_once() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"first\r\n");
    assert_eq!(harness.server.stats().in_flight(), 1);
    harness.seen.open_gate();
    client.read_until(b"second\r\n0\r\n\r\n");
    wait_until("it is counted", || harness.server.stats().in_flight() == 0);
}

#[test]
fn an_application_that_fails_harms_its_connection_alone() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=fail HTTP/1.1\r\nHost: a\r\n\r\n");
    let (bytes, _) = client.rest();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        !text.ends_with("0\r\n\r\n"),
        "a torn response looks whole: {text}"
    );
    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=panic HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.is_closed());
    assert_eq!(harness.get("/echo.php").status, 200);
    wait_until("all is counted", || harness.server.stats().in_flight() == 0);
    assert_eq!(harness.server.stats().requests(), 3);
}

#[test]
fn a_client_that_disconnects_is_noticed() {
    let (_directory, harness) = start();
    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=hang HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until("it runs", || harness.seen.calls.load(SeqCst) == 1);
    drop(client);
    wait_until("it is dropped", || harness.seen.dropped.load(SeqCst) == 1);
    wait_until("nothing is open", || {
        harness.server.stats().connections() == 0
    });
}
