//! Refused requests, and how they are refused.

use std::sync::mpsc;
use std::thread;

use howdah_testkit::{Connection, Request, Server, Www};
use howdah_tests::{caddyfile, encode, hang_until_traced, www};

fn status_of(server: &Server, bytes: &[u8]) -> u16 {
    let mut connection = server.connect();
    connection.send_bytes(bytes).expect("sent");
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
    match connection.receive("GET") {
        Ok(response) => response.status(),
        Err(error) => panic!("no response to {text:?}: {error}"),
    }
}

#[test]
fn malformed_requests_are_answered_400() {
    let server = Server::builder(www()).workers(1).start();
    for request in [
        "nonsense\r\n\r\n",
        "GET /hello.php\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "GET /hello.php%00.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n",
        "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /dump.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    ] {
        assert_eq!(status_of(&server, request.as_bytes()), 400, "{request:?}");
    }
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn nothing_is_smuggled() {
    // The second request is hidden: a different reading takes it for the body of the first.
    let server = Server::builder(www()).workers(1).start();
    let hidden = "GET /id.php?id=smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for fields in [
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Transfer-Encoding: identity, chunked\r\nContent-Length: 0",
        "Transfer-Encoding: xchunked",
        "Content-Length: 0\r\nContent-Length: 50",
        "Content-Length: +0",
    ] {
        let mut connection = server.connect();
        let request = format!("POST /hello.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{hidden}");
        connection.send_bytes(request.as_bytes()).expect("sent");
        connection.finish_sending().expect("sent");
        let mut all = Vec::new();
        while let Ok(part) = connection.read_raw(65_536) {
            if part.is_empty() {
                break;
            }
            all.extend(part);
        }
        let all = String::from_utf8_lossy(&all).into_owned();
        assert!(!all.contains("[smuggled]"), "{fields}: {all}");
        assert!(
            all.starts_with("HTTP/1.1 4") || all.starts_with("HTTP/1.1 5"),
            "{fields}: {all}"
        );
    }
}

#[test]
fn a_request_of_two_lengths_is_refused_and_nothing_follows_it() {
    let server = Server::builder(www()).workers(1).start();
    let before = "GET /hello.php HTTP/1.1\r\nHost: a\r\n\r\n";
    let hidden = "GET /id.php?id=smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ] {
        let request =
            format!("POST /hello.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n0\r\n\r\n{hidden}");
        for pipelined in [false, true] {
            let mut connection = server.connect();
            let sent = if pipelined { before } else { "" };
            connection
                .send_bytes([sent, &request].concat().as_bytes())
                .expect("sent");
            if pipelined {
                let first = connection.receive("GET").expect("a response");
                first.assert(200, "hello");
            }
            let response = connection.receive("POST").expect("a response");
            assert_eq!(response.status(), 400, "{fields}");
            connection
                .wait_closed()
                .unwrap_or_else(|error| panic!("{fields}: {error}"));
        }
    }
    // A single length is valid, whatever else is in the request.
    let innocent = Request::new("POST", "/hello.php")
        .header("X-Note", "Content-Length: 3")
        .chunked(["Content-Length: 3\r\n\r\n", "abc"]);
    server.send(&innocent).assert(200, "hello");
}

#[test]
fn long_ones_are_answered_414_and_431() {
    let server = Server::builder(www()).workers(1).start();
    let long = "x".repeat(40 << 10);
    let request = format!("GET /hello.php?{long} HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(status_of(&server, request.as_bytes()), 414);
    let request = format!("GET /hello.php HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n");
    assert_eq!(status_of(&server, request.as_bytes()), 431);
    let many = "X-Many: y\r\n".repeat(4000);
    let request = format!("GET /hello.php HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    assert_eq!(status_of(&server, request.as_bytes()), 431);
    // Long, but within the limit.
    let request = format!(
        "GET /id.php?id=1&{} HTTP/1.1\r\nHost: a\r\n\r\n",
        &long[..20 << 10]
    );
    assert_eq!(status_of(&server, request.as_bytes()), 200);
}

#[test]
fn there_may_be_100_header_fields() {
    let server = Server::builder(www()).workers(1).start();
    for (fields, status) in [(100, 200), (101, 431)] {
        let others = "X-Many: y\r\n".repeat(fields - 1);
        let request = format!("GET /hello.php HTTP/1.1\r\nHost: a\r\n{others}\r\n");
        assert_eq!(status_of(&server, request.as_bytes()), status, "{fields}");
    }
}

#[test]
fn unsupported_methods_and_expectations_are_refused() {
    let www = Www::new()
        .file("a.txt", "text")
        .file("hello.php", "<?php echo 'hello';");
    let server = Server::builder(&www).workers(1).start();
    server
        .send(&Request::new("TRACE", "/hello.php"))
        .assert_status(405);
    let response = server.send(&Request::new("POST", "/a.txt").body("x"));
    response.assert_status(405);
    assert!(
        response
            .header("allow")
            .is_some_and(|allow| allow.contains("GET"))
    );
    server
        .send(&Request::new("DELETE", "/a.txt"))
        .assert_status(405);
    server
        .send(&Request::get("/hello.php").header("Expect", "a-miracle"))
        .assert_status(417);
}

#[test]
fn a_request_that_does_not_come_is_answered_408() {
    let root = www().display().to_string();
    let config = caddyfile(
        "servers {\n timeouts {\n read_header 3s\n read_body 3s\n idle 3s\n }\n }",
        &format!("root * {root}\n php_server"),
    );
    let server = Server::caddyfile(config).start();
    let late = |bytes: &[u8]| {
        let mut connection = server.connect();
        connection.send_bytes(bytes).expect("sent");
        let response = connection.receive("GET").expect("a response");
        response.assert_status(408);
        connection.wait_closed().expect("it is closed");
    };
    // The timeouts are long enough for a busy machine, and the tests wait for them at the same
    // time.
    thread::scope(|scope| {
        scope.spawn(|| late(b"GET /hello.php HTTP/1.1\r\nHost:"));
        scope.spawn(|| {
            late(b"PUT /dump.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfour");
        });
        // No request was sent, so there is no response.
        scope.spawn(|| {
            let mut idle = server.connect();
            idle.wait_closed().expect("an idle connection is closed");
        });
        let mut used = server.connect();
        used.exchange(&Request::get("/hello.php"))
            .expect("a response")
            .assert(200, "hello");
        used.wait_closed().expect("an idle connection is closed");
    });
}

#[test]
fn a_full_queue_is_answered_503() {
    let server = Server::builder(www())
        .workers(1)
        .args(["--queue-length", "2", "--max-wait-time", "10m"])
        .start();
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    running
        .send(&Request::get(format!(
            "/gate.php?gate={}",
            encode(gate.path())
        )))
        .expect("sent");
    gate.reached();
    // The first two wait, whichever they are. The others are refused at once.
    let (answered, answers) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..20 {
            let (answered, server) = (answered.clone(), &server);
            scope.spawn(move || {
                answered
                    .send(server.get("/hello.php"))
                    .expect("it is received");
            });
        }
        for _ in 0..18 {
            let response = answers
                .recv_timeout(howdah_testkit::PATIENCE)
                .expect("refused at once");
            response.assert_status(503);
            let retry = response
                .header("retry-after")
                .expect("it says when to come again");
            assert!(retry.parse::<u32>().is_ok(), "Retry-After: {retry}");
        }
        gate.open(1);
        for _ in 0..2 {
            answers
                .recv_timeout(howdah_testkit::PATIENCE)
                .expect("served")
                .assert(200, "hello");
        }
    });
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    server.get("/hello.php").assert(200, "hello");
    server.expect_log("requests refused with 503: the queue of PHP requests is full");
}

#[test]
fn waiting_too_long_is_answered_503() {
    let server = Server::builder(www())
        .workers(1)
        .args(["--max-wait-time", "3s"])
        .start();
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    running
        .send(&Request::get(format!(
            "/gate.php?gate={}",
            encode(gate.path())
        )))
        .expect("sent");
    gate.reached();
    let waited = howdah_testkit::load::at_once(10, |_| server.get("/hello.php"));
    for response in waited {
        response.assert_status(503);
        assert!(response.header("retry-after").is_some());
    }
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    server.get("/hello.php").assert(200, "hello");
    server.expect_log("requests refused with 503: no PHP process was free");
}

#[test]
fn running_too_long_is_answered_504() {
    let server = Server::builder(www())
        .workers(1)
        .args(["--request-timeout", "3s"])
        .start();
    let gate = server.gate("gate");
    let pid = server.get("/pid.php").text();
    server.expect_log("worker killed: request timed out");
    server.expect_log("the request took longer");
    server.expect_log(r#""method":"GET","uri":"/gate.php""#);
    let hanging = format!("/gate.php?silent=1&gate={}", encode(gate.path()));
    hang_until_traced(&server, &hanging, "gate.php:");
    let next = server.get("/pid.php");
    next.assert_status(200);
    assert_ne!(next.text(), pid, "the worker that hangs was to be replaced");
    // Bytes that were sent cannot be revoked, so the response is aborted.
    let mut connection: Connection = server.connect();
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    let error = connection
        .exchange(&Request::get(target))
        .expect_err("the response is cut");
    assert!(error.is_closed(), "{error}");
    server.get("/hello.php").assert(200, "hello");
}
