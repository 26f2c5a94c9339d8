//! `php_fastcgi` with faulty FastCGI servers or CGI responses: a scripted server plays each fault
//! to an HTTP/1.1 client and to an HTTP/2 client.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::{fs, thread};

use crate::support::Harness;
use crate::support::front::front;
use crate::support::outcome::{Outcome, get, get_http2, refused, whole};

const END_REQUEST: u8 = 3;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0], content].concat()
}

fn end() -> Vec<u8> {
    record(END_REQUEST, &[0; 8])
}

/// A response that ends properly.
fn ended(response: &str) -> Vec<u8> {
    [record(STDOUT, response.as_bytes()), end()].concat()
}

/// Reads a complete request.
fn read(mut stream: &TcpStream) -> io::Result<()> {
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let size = usize::from(u16::from_be_bytes([header[4], header[5]]));
        stream.read_exact(&mut vec![0; size + usize::from(header[6])])?;
        if header[1] == STDIN && size == 0 {
            return Ok(());
        }
    }
}

/// A site whose FastCGI server responds to each request with these bytes and closes the connection.
fn site(root: &std::path::Path, answer: Vec<u8>) -> Harness {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            if read(&stream).is_ok() {
                // The front closes the connection when it needs no more bytes.
                let _ = (&stream).write_all(&answer);
            }
        }
    });
    let text = format!(
        "root * {}\nphp_fastcgi UP {{\nlb_retries 0\n}}",
        root.display()
    );
    front(&address, "", &text)
}

#[test]
fn responses() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("index.php"), "<?php").unwrap();
    let hello = |head: &str| ended(&format!("{head}\r\n\r\nhello"));
    let large = format!("X-Large: {}", "x".repeat(40_000));
    let large = [large.as_bytes(), b"\r\n", large.as_bytes()];
    for (fault, method, answer, expected) in [
        ("none", "GET", hello("Status: 200 OK"), whole(200, "hello")),
        (
            "its own reason",
            "GET",
            hello("Status: 404 Gone Fishing"),
            whole(404, "hello"),
        ),
        (
            "a status of 999",
            "GET",
            hello("Status: 999"),
            whole(999, "hello"),
        ),
        (
            "a status without a number",
            "GET",
            hello("Status: fine"),
            refused(),
        ),
        ("an empty status", "GET", hello("Status:"), refused()),
        ("a status of 99", "GET", hello("Status: 99"), refused()),
        ("a status of 1000", "GET", hello("Status: 1000"), refused()),
        (
            "an interim status",
            "GET",
            hello("Status: 103 Early Hints"),
            refused(),
        ),
        (
            "a status of HTTP",
            "GET",
            hello("HTTP/1.1 404 Not Found"),
            whole(200, "hello"),
        ),
        (
            "no end",
            "GET",
            record(STDOUT, b"\r\nhello"),
            Outcome::Broken,
        ),
        (
            "no end, with a length",
            "GET",
            record(STDOUT, b"Content-Length: 5\r\n\r\nhello"),
            whole(200, "hello"),
        ),
        (
            "an end within the header",
            "GET",
            ended("A: b\r\n"),
            refused(),
        ),
        ("nothing", "GET", Vec::new(), refused()),
        ("an end alone", "GET", end(), refused()),
        (
            "complaints alone",
            "GET",
            [record(STDERR, b"PHP message: no"), end()].concat(),
            refused(),
        ),
        (
            "complaints and a response",
            "GET",
            [record(STDERR, b"PHP message: hm"), hello("A: b")].concat(),
            whole(200, "hello"),
        ),
        (
            "half a record",
            "GET",
            [&record(STDOUT, b"\r\nhello")[..], &[1, 6, 0]].concat(),
            Outcome::Broken,
        ),
        (
            "HTTP",
            "GET",
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            refused(),
        ),
        (
            "a header of 80 kB",
            "GET",
            [
                record(STDOUT, large[0]),
                record(STDOUT, &large[1..].concat()),
                hello(""),
            ]
            .concat(),
            refused(),
        ),
        (
            "its length",
            "GET",
            hello("Content-Length: 5"),
            whole(200, "hello"),
        ),
        (
            "a larger length",
            "GET",
            hello("Content-Length: 50"),
            Outcome::Broken,
        ),
        (
            "a smaller length",
            "GET",
            hello("Content-Length: 3"),
            whole(200, "hel"),
        ),
        (
            "a length and more than one part",
            "GET",
            [
                record(STDOUT, b"Content-Length: 6\r\n\r\nhello"),
                record(STDOUT, b"hello"),
                end(),
            ]
            .concat(),
            whole(200, "helloh"),
        ),
        (
            "an invalid length",
            "GET",
            hello("Content-Length: many"),
            whole(200, "hello"),
        ),
        (
            "two lengths",
            "GET",
            hello("Content-Length: 5\r\nContent-Length: 6"),
            whole(200, "hello"),
        ),
        (
            "chunks",
            "GET",
            hello("Transfer-Encoding: chunked\r\nConnection: close"),
            whole(200, "hello"),
        ),
        (
            "204 with a body",
            "GET",
            hello("Status: 204\r\nContent-Length: 5"),
            whole(204, ""),
        ),
        (
            "304 with a length",
            "GET",
            hello("Status: 304\r\nContent-Length: 50"),
            whole(304, ""),
        ),
        (
            "a length of another method",
            "HEAD",
            ended("Content-Length: 50\r\n\r\n"),
            whole(200, ""),
        ),
        (
            "lines that are not fields",
            "GET",
            hello("A b: c\r\nnothing\r\nX: a\0b"),
            whole(200, "hello"),
        ),
    ] {
        let site = site(directory.path(), answer);
        for client in [get, get_http2] {
            assert_eq!(client(&site, method, "/"), expected, "{fault}");
        }
    }
}
