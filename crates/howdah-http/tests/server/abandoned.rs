//! Requests to an upstream whose client disconnects.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use tempfile::TempDir;

use crate::support::front::front;
use crate::support::{Harness, PATIENCE, closed_port};

const ASK: &str = "GET /a.php HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server in front of `upstream`, with options of the directive.
fn before(upstream: &str, directive: &str, options: &str) -> (Harness, TempDir) {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.php"), "<?php").unwrap();
    // `/here` gets a response without the upstream.
    let site = format!(
        "root * {}\nrespond /here here\n{directive} UP {{\n{options}\n}}",
        root.path().display()
    );
    (front(upstream, "", &site), root)
}

/// Sends a request and disconnects in a way that the server must have noticed when this returns.
fn leave(front: &Harness, request: &[u8]) {
    let mut client = front.connect();
    client.write(request);
    drop(client);
    // Its only thread has processed all earlier events.
    assert_eq!(front.get("/here").text(), "here");
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads until `end` has arrived.
fn read_until(mut stream: &TcpStream, end: &[u8]) {
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    while !bytes.ends_with(end) {
        match stream.read(&mut part).unwrap() {
            0 => panic!("closed after {:?}", String::from_utf8_lossy(&bytes)),
            read => bytes.extend_from_slice(&part[..read]),
        }
    }
}

/// Whether the server has closed this connection. No more bytes may arrive on it.
fn is_closed(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => {
            assert_eq!(read, 0);
            true
        }
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

/// The last record of a FastCGI request: the end of the body.
const STDIN_END: &[u8] = &[1, 5, 0, 1, 0, 0, 0, 0];

#[test]
fn a_request_is_sent_when_the_upstream_is_there() {
    for (directive, end) in [
        ("reverse_proxy", &b"\r\n\r\n"[..]),
        ("php_fastcgi", STDIN_END),
    ] {
        let (socket, address) = closed_port();
        let retry = "lb_try_duration 1m\nlb_try_interval 5ms";
        let (front, _root) = before(&address.to_string(), directive, retry);
        leave(&front, ASK.as_bytes());
        socket.listen(1).unwrap();
        read_until(&accept(&socket.into()), end);
    }
}

#[test]
fn the_upstream_hears_of_it_when_it_has_the_request() {
    let body = vec![b'x'; 3_000_000];
    let head = format!(
        "POST /a.php HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
        body.len() + 4
    );
    let large = [head.as_bytes(), &body, b"end."].concat();
    let stdin_end = [b"end.", STDIN_END].concat();
    for (directive, request, end) in [
        ("reverse_proxy", ASK.as_bytes(), &b"\r\n\r\n"[..]),
        ("reverse_proxy", &large, b"end."),
        ("php_fastcgi", ASK.as_bytes(), STDIN_END),
        ("php_fastcgi", &large, &stdin_end),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (front, _root) = before(&address, directive, "");
        leave(&front, request);
        let stream = accept(&listener);
        read_until(&stream, end);
        assert!(is_closed(&stream), "{directive}");
    }
}

#[test]
fn an_upstream_may_outlast_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (front, _root) = before(&address, "reverse_proxy", "flush_interval -1");
    let mut client = front.connect();
    client.write(ASK.as_bytes());
    let mut stream = accept(&listener);
    read_until(&stream, b"\r\n\r\n");
    drop(client);
    leave(&front, b"");
    stream.set_nonblocking(true).unwrap();
    assert!(!is_closed(&stream));
    stream.set_nonblocking(false).unwrap();
    // Longer than the connection can buffer without its client.
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n")
        .unwrap();
    assert!(is_closed(&stream));
}

#[test]
fn incomplete_requests_hold_no_worker() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (front, _root) = before(&address, "reverse_proxy", "flush_interval -1");
    leave(
        &front,
        b"POST /a.php HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
    );
    let mut stream = accept(&listener);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(
        all.ends_with(b"half"),
        "{:?}",
        String::from_utf8_lossy(&all)
    );
}
