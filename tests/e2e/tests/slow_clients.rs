//! Clients that send or receive a byte at a time, and those beside them.

use howdah_testkit::{Connection, Request, Server};
use howdah_tests::www;

fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|i| format!("{i:.<1023}\n").into_bytes())
        .collect()
}

/// A client that has room for a few kilobytes only and has not begun to read.
fn stalled(server: &Server, target: &str) -> Connection {
    let mut slow =
        Connection::open_with_receive_buffer(server.address(), 4096).expect("it connects");
    slow.send(&Request::get(target)).expect("sent");
    slow
}

#[test]
fn a_request_may_come_byte_by_byte() {
    // One PHP process: a request that is not complete must not hold it.
    let server = Server::builder(www()).workers(1).start();
    let mut slow = server.connect();
    let mut other = server.connect();
    let request = Request::form("/dump.php?slow=1", "a=1&b=2");
    let serve_other = |_| {
        other
            .exchange(&Request::get("/hello.php"))
            .expect("a response")
            .assert(200, "hello");
    };
    slow.send_slowly(&request.to_bytes(), 1, serve_other)
        .expect("sent");
    assert_eq!(
        slow.receive("POST").expect("a response").json()["post"]["b"],
        "2"
    );
}

#[test]
fn a_chunked_request_may_come_byte_by_byte() {
    let server = Server::builder(www()).workers(1).start();
    let mut slow = server.connect();
    let mut other = server.connect();
    let request = Request::new("PUT", "/dump.php")
        .chunked(["one ", "two ", "three"])
        .trailer("X-T", "1");
    let serve_other = |_| {
        other
            .exchange(&Request::get("/hello.php"))
            .expect("a response")
            .assert(200, "hello");
    };
    slow.send_slowly(&request.to_bytes(), 1, serve_other)
        .expect("sent");
    assert_eq!(
        slow.receive("PUT").expect("a response").json()["input"],
        "one two three"
    );
}

#[test]
fn a_reader_that_takes_a_byte_at_a_time_gets_all() {
    let server = Server::builder(www()).workers(1).start();
    let mut slow = stalled(&server, "/stream.php?lines=200");
    slow.read_at_most(1);
    let response = slow.receive("GET").expect("a response");
    assert!(response.body == lines(200));
}

#[test]
fn a_reader_that_stalls_does_not_hold_php() {
    let server = Server::builder(www()).workers(1).start();
    // 600 KiB wait in the front (its limit is 1 MiB), PHP is free.
    let mut slow: Vec<_> = (0..5)
        .map(|_| stalled(&server, "/stream.php?lines=600"))
        .collect();
    for _ in 0..20 {
        server.get("/hello.php").assert(200, "hello");
    }
    for reader in &mut slow {
        assert!(reader.receive("GET").expect("a response").body == lines(600));
    }
}

#[test]
fn a_large_response_waits_for_its_reader() {
    let server = Server::builder(www()).workers(2).start();
    // 40 MiB do not fit anywhere: PHP has to wait, and the other process serves.
    let mut slow = stalled(&server, "/stream.php?lines=40000&flush=50");
    slow.begin("GET").expect("a head");
    for _ in 0..50 {
        server.get("/hello.php").assert(200, "hello");
    }
    let mut body = Vec::new();
    while let Some(part) = slow.next_part().expect("a part") {
        body.extend_from_slice(&part);
    }
    assert!(body == lines(40_000));
}

#[test]
fn many_slow_readers_all_get_their_own() {
    let server = Server::builder(www()).workers(4).start();
    howdah_testkit::load::at_once(30, |client| {
        let target = format!("/id.php?id={client}&size=300000");
        let mut slow = stalled(&server, &target);
        slow.read_at_most(777);
        let response = slow.receive("GET").expect("a response");
        response.assert(200, &format!("[{client}]{}[{client}]", ".".repeat(300_000)));
    });
}
