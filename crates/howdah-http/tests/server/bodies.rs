//! Request bodies: in memory, spooled, refused.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;

use crate::caddyfile::serve;
use crate::support::{Harness, php_site, wait_until};

fn post(length: usize) -> String {
    format!("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n")
}

#[test]
fn bodies_are_whole_wherever_they_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let mut client = harness.connect();
    for length in [0_usize, 1, 4096, 65_535, 65_536, 65_537, 3 << 20] {
        let body: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
        let kind = match length {
            0 => "empty",
            1..=65_536 => "memory",
            _ => "spooled",
        };
        // With a declared length, then in chunks of odd sizes.
        client.write(format!("{}\r\n", post(length)).as_bytes());
        client.write(&body);
        let reply = client.reply(true);
        assert_eq!(reply.value("body"), kind);
        assert_eq!(reply.value("sum"), sum.to_string());
        client.write(b"POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for chunk in body.chunks(40_001) {
            client.write(format!("{:x}\r\n", chunk.len()).as_bytes());
            client.write(chunk);
            client.write(b"\r\n");
        }
        client.write(b"0\r\n\r\n");
        let reply = client.reply(true);
        assert_eq!(reply.value("body"), kind);
        assert_eq!(reply.value("length"), length.to_string());
        assert_eq!(reply.value("sum"), sum.to_string());
    }
    // Only the lock file remains.
    assert_eq!(
        fs::read_dir(harness.server.spool().path()).unwrap().count(),
        1
    );
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    config.global.limits.max_body_size = 100_000;
    let harness = Harness::start(&config);
    let mut client = harness.connect();
    client.write(format!("{}Expect: 100-continue\r\n\r\n", post(100_001)).as_bytes());
    let reply = client.reply(true);
    assert_eq!(reply.status, 413, "and no 100 before it");
    assert_eq!(reply.header("connection"), Some("close"));
    // The size of a chunked body is unknown in advance, but the client still gets the response.
    let mut client = harness.connect();
    client.write(b"POST /echo.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = vec![b'x'; 0xffff];
    for _ in 0..2 {
        client.write(b"ffff\r\n");
        client.write(&chunk);
        client.write(b"\r\n");
    }
    assert_eq!(client.reply(true).status, 413);
    assert_eq!(harness.seen.calls.load(SeqCst), 0);
    assert_eq!(
        fs::read_dir(harness.server.spool().path()).unwrap().count(),
        1
    );
    assert_eq!(harness.get("/echo.php").status, 200);
}

#[test]
fn a_client_that_expects_it_gets_100_continue() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let mut client = harness.connect();
    client.write(format!("{}Expect: 100-continue\r\n\r\n", post(5)).as_bytes());
    assert_eq!(client.reply(false).status, 100);
    client.write(b"hello");
    assert_eq!(client.reply(true).value("length"), "5");
}

#[test]
fn an_unread_body_closes_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    fs::write(directory.path().join("a.txt"), "a").unwrap();
    let mut client = harness.connect();
    let length = 4 << 20;
    client.write(
        format!("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n").as_bytes(),
    );
    client.write(&vec![b'x'; length]);
    let reply = client.reply(true);
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("connection"), Some("close"));
    let (rest, clean) = client.rest();
    assert!(rest.is_empty() && clean, "the connection was reset");
}

#[test]
fn a_client_that_disconnects_within_its_body_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let spool = harness.server.spool().path().to_owned();
    let mut client = harness.connect();
    client.write(format!("{}\r\n", post(1 << 20)).as_bytes());
    client.write(&vec![b'x'; 200_000]);
    wait_until("it is spooled", || {
        fs::read_dir(&spool).unwrap().count() == 2
    });
    drop(client);
    wait_until("it is removed", || {
        fs::read_dir(&spool).unwrap().count() == 1
    });
    assert_eq!(harness.seen.calls.load(SeqCst), 0);
}

#[test]
fn a_spool_that_takes_nothing_is_507() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    // A missing directory accepts no files, like a full disk.
    fs::remove_dir_all(harness.server.spool().path()).unwrap();
    let mut client = harness.connect();
    client.write(format!("{}\r\n", post(70_000)).as_bytes());
    client.write(&vec![b'x'; 70_000]);
    assert_eq!(client.reply(true).status, 507);
    let mut client = harness.connect();
    client.write(format!("{}\r\nhello", post(5)).as_bytes());
    assert_eq!(client.reply(true).value("length"), "5");
    // The server needs a directory to remove when it shuts down.
    fs::create_dir(harness.server.spool().path()).unwrap();
}

#[test]
fn placeholders_have_the_body_and_others_still_get_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("echo.php"), "<?php").unwrap();
    let harness = serve(
        directory.path(),
        "@magic expression {http.request.body}.contains(\"magic\")\n\
         route /echo.php {\nheader X-Body {http.request.body}\nphp\n}\n\
         respond /base64 {http.request.body_base64}\n\
         handle_errors {\nrespond \"{err.status_code} {http.request.body}\"\n}\n\
         handle /fails {\nvars sent {http.request.body}\nerror \"no\" 409\n}\n\
         request_body /small {\nmax_size 4\n}\n\
         respond @magic \"magic {http.request.body}\"\n\
         respond \"all {http.request.body}\"",
    );
    let mut client = harness.connect();
    let mut post = |target: &str, body: &str| {
        let length = body.len();
        let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.write(head.as_bytes());
        client.write(body.as_bytes());
        client.reply(true)
    };
    // One connection: the whole body was read each time.
    assert_eq!(post("/", "a magic word").text(), "magic a magic word");
    assert_eq!(post("/", "\u{e9}").text(), "all \u{e9}");
    assert_eq!(post("/", "").text(), "all ");
    assert_eq!(post("/base64", "abcd").text(), "YWJjZA==");
    assert_eq!(post("/fails", "why").text(), "409 why");
    assert_eq!(post("/small", "1234").text(), "all 1234");
    let reply = post("/echo.php", "abc");
    assert_eq!(reply.value("length"), "3", "{reply:?}");
    assert_eq!(reply.header("x-body"), Some("abc"));
    let reply = post("/small", "12345");
    assert_eq!(reply.text(), "413 ", "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(harness.get("/").text(), "all ");
}
