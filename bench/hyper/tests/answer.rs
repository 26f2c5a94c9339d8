//! The answer is the one that the benchmarks' case `hello` wants from every server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-alone");
/// No answer at all ends a test.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Case {
    path: String,
    check: Check,
}

#[derive(Deserialize)]
struct Check {
    status: u16,
    content_type: String,
    body_sha256: String,
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(threads: &str) -> Self {
        let mut process = Command::new(PROGRAM)
            .args(["0", threads])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut address).unwrap();
        let address = address.trim_end().to_owned();
        Self { process, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it is gone, and then the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks twice on one connection.
fn ask_twice(mut stream: TcpStream, path: &str) -> String {
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: a\r\n\r\nGET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn every_connection_gets_the_answer_of_the_case() {
    let case: Case = toml::from_str(include_str!("../../cases/hello/case.toml")).unwrap();
    for threads in ["1", "3"] {
        let server = Server::start(threads);
        // Several of them are on different threads.
        for _ in 0..8 {
            let text = ask_twice(server.connect(), &case.path);
            let status = format!("HTTP/1.1 {} ", case.check.status);
            let answers: Vec<&str> = text.split_inclusive(&status).collect();
            let [first, second, third] = answers[..] else {
                panic!("not two answers: {text}");
            };
            assert_eq!(first, status, "{text}");
            for answer in [second.trim_end_matches(&status), third] {
                let (head, body) = answer.split_once("\r\n\r\n").unwrap();
                let content_type = format!("content-type: {}", case.check.content_type);
                assert!(head.lines().any(|line| line == content_type), "{head}");
                assert!(head.contains("\r\ndate: "), "{head}");
                let digest = format!("{:x}", Sha256::digest(body));
                assert_eq!(digest, case.check.body_sha256, "{body:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_served_is_told() {
    let server = Server::start("1");
    let (_, port) = server.address.rsplit_once(':').unwrap();
    for (arguments, code, words) in [
        (&[][..], 2, "usage"),
        (&["0"], 2, "usage"),
        (&["0", "0"], 2, "usage"),
        (&["port", "1"], 2, "usage"),
        (&["0", "1", "more"], 2, "usage"),
        (&[port, "1"], 1, "cannot listen on 127.0.0.1:"),
        (&[port, "2"], 1, "cannot listen on 127.0.0.1:"),
    ] {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}
