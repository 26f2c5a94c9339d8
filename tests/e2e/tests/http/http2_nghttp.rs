//! The programs of nghttp2, which share no code with the server, if they are installed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use howdah_testkit::Server;
use howdah_tests::{caddyfile, www};

/// Output of a program. `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: {program} is not installed (scripts/setup.sh test)");
            return None;
        }
        output => output.expect("it runs"),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    Some(text)
}

#[test]
fn h2load_gets_all_responses() {
    let server = Server::builder(www()).workers(2).start();
    for target in ["hello.php", "static.txt"] {
        let url = format!("http://{}/{target}", server.address());
        let arguments = ["-n200", "-c4", "-m10", &url];
        let Some(text) = run("h2load", &arguments) else {
            return;
        };
        assert!(text.contains("Application protocol: h2c"), "{text}");
        for line in [
            "200 done, 200 succeeded, 0 failed, 0 errored, 0 timeout",
            "status codes: 200 2xx, 0 3xx, 0 4xx, 0 5xx",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}

#[test]
fn nghttp_sees_trailers() {
    let upstream = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = upstream.local_addr().expect("an address");
    let site = format!("reverse_proxy {address}");
    let server = Server::caddyfile(caddyfile("admin off", &site)).start();
    let answering = thread::spawn(move || {
        let (mut stream, _) = upstream.accept().expect("a connection");
        let lines = BufReader::new(&stream).lines();
        let head: Vec<_> = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        assert!(head.first().is_some_and(|line| line.starts_with("GET / ")));
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
                      3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("it is taken");
    });
    let url = format!("http://{}/", server.address());
    match run("nghttp", &["-v", "-n", "-H", "te: trailers", &url]) {
        None => return,
        Some(text) => {
            let (_, rest) = text.split_once("recv DATA frame").expect("a body");
            assert!(rest.contains(" x-sum: 42"), "{text}");
        }
    }
    answering.join().expect("it was asked once");
}
