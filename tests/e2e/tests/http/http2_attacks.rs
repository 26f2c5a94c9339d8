//! Attacks over HTTP/2: their connections are closed, their memory is limited, and other clients
//! are served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use howdah_testkit::load::at_once;
use howdah_testkit::{PATIENCE, Server, ServerBuilder};
use howdah_tests::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, Frame, Frames, HEADERS,
    INITIAL_WINDOW_SIZE, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame,
    request,
};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{caddyfile, www};

/// Limit of the memory that a connection may cost the server, with a margin for memory that the
/// allocator caches.
const MEMORY_MAX: u64 = 48 << 20;

fn server(timeouts: &str) -> ServerBuilder {
    let global = format!(
        "admin off\nfrankenphp {{\nfront_threads 1\nnum_threads 1\n}}\nservers {{\ntimeouts {{\n{timeouts}\n}}\n}}"
    );
    let site = format!("root * {}\nphp_server", www().display());
    Server::caddyfile(caddyfile(&global, &site))
}

fn open(server: &Server) -> Frames<TcpStream> {
    Frames::open(server.address(), &[])
}

/// Private memory of the server in bytes.
fn memory(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.pid());
    let status = std::fs::read_to_string(path).expect("it lives");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("a line");
    let kibibytes = line.trim().trim_end_matches(" kB");
    kibibytes.parse::<u64>().expect("a number") << 10
}

/// Sends the same bytes repeatedly until the server closes the connection.
fn flood<S: Read + Write>(client: &mut Frames<S>, bytes: &[u8]) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if client.send_bytes(bytes).is_err() {
            return;
        }
    }
    panic!("the server takes everything");
}

fn resets(first: u32, count: u32) -> Vec<Frame> {
    let head = block(&request("GET", "/hello.php"));
    let code = 8_u32.to_be_bytes();
    let pair = |number| {
        let stream = first + 2 * number;
        [
            frame(HEADERS, END_STREAM | END_HEADERS, stream, head.clone()),
            frame(RST_STREAM, 0, stream, code),
        ]
    };
    (0..count).flat_map(pair).collect()
}

#[test]
fn requests_that_are_reset_at_once_end_the_connection() {
    let server = server("").start();
    let mut client = open(&server);
    // Bytes that the server has not read when it closes the connection do not matter.
    let _ = client.send(&resets(1, 500));
    assert_eq!(client.last_words(), ENHANCE_YOUR_CALM);
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn the_same_inside_of_tls() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().expect("a directory");
    let pair = authority.issue(directory.path(), "a", &["localhost"]);
    let text = format!(
        "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {}\n}}\n\
         https://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\nroot * {}\nphp_server\n}}\n",
        directory.path().display(),
        www().display(),
    );
    let server = Server::caddyfile(text).start();
    let trusted = Client::trusting(&authority.pem()).speaking(b"h2");
    let connect = || {
        let stream = trusted
            .connect(server.address(), "localhost")
            .expect("a handshake");
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));
        Frames::begin(stream, &[])
    };
    let mut other = connect();
    // A client that negotiated HTTP/2 and sends something else gets no HTTP/1.1 response.
    let mut wrong = trusted
        .connect(server.address(), "localhost")
        .expect("a handshake");
    wrong
        .write_all(b"GET /hello.php HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    let mut answer = Vec::new();
    // Whether the connection ends properly does not matter.
    let _ = wrong.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
    let mut client = connect();
    let _ = client.send(&resets(1, 500));
    assert_eq!(client.last_words(), ENHANCE_YOUR_CALM);
    let mut client = connect();
    let head = block(&request("GET", "/hello.php"));
    client
        .send(&[frame(HEADERS, END_STREAM, 1, head)])
        .expect("sent");
    flood(&mut client, &frame(CONTINUATION, 0, 1, []).to_bytes());
    // An existing connection, and a new one.
    for client in [&mut other, &mut connect()] {
        client.get(1, "/hello.php").expect("sent");
        client.wait("response", |frame| frame.is_status(200));
    }
}

#[test]
fn a_header_that_goes_on_and_on_ends_the_connection() {
    let server = server("").start();
    let field = block(&[("x-more", "x".repeat(8000))]);
    // Empty frames, and frames of the maximum size.
    for payload in [Vec::new(), field] {
        let before = memory(&server);
        let mut client = open(&server);
        let head = block(&request("GET", "/hello.php"));
        client
            .send(&[frame(HEADERS, END_STREAM, 1, head)])
            .expect("sent");
        flood(&mut client, &frame(CONTINUATION, 0, 1, payload).to_bytes());
        assert!(memory(&server) < before + MEMORY_MAX);
        server.get("/hello.php").assert(200, "hello");
    }
}

#[test]
fn a_small_header_that_is_large_when_unpacked_is_refused() {
    let server = server("").start();
    let before = memory(&server);
    let mut client = open(&server);
    // A header field of 4,000 bytes is added to the table and then referenced 12,000 times.
    let mut head = block(&request("GET", "/hello.php"));
    head.extend(b"\x40\x01x\x7f\xa1\x1e");
    head.extend([b'x'; 4000]);
    head.extend([0xbe; 12_000]);
    let (first, second) = head.split_at(10_000);
    client
        .send(&[
            frame(HEADERS, END_STREAM, 1, first),
            frame(CONTINUATION, END_HEADERS, 1, second),
        ])
        .expect("sent");
    let answer = client.wait("answer", |frame| {
        frame.stream == 1 || frame.error().is_some()
    });
    assert!(!answer.is_status(200), "{answer:?}");
    assert!(memory(&server) < before + MEMORY_MAX);
    server.get("/hello.php").assert(200, "hello");
}

/// The client never reads the responses. The server stops reading requests, and then closes the
/// connection.
#[test]
fn clients_that_do_not_read_are_cut() {
    let server = server("write 500ms").start();
    let before = memory(&server);
    for asked in [frame(SETTINGS, 0, 0, []), frame(PING, 0, 0, [1; 8])] {
        let mut client = open(&server);
        flood(&mut client, &asked.to_bytes().repeat(1000));
        assert!(memory(&server) < before + MEMORY_MAX, "{asked:?}");
        server.get("/hello.php").assert(200, "hello");
    }
}

/// Frames without effect do not keep a connection open, because it has no requests.
#[test]
fn silent_clients_get_goaway() {
    // Long enough for a client on a busy machine to send its request.
    let server = server("idle 3s").start();
    let said = [
        frame(PRIORITY, 0, 3, [0, 0, 0, 0, 1]),
        frame(SETTINGS, END_STREAM, 0, []),
        frame(PING, END_STREAM, 0, [1; 8]),
        frame(0xbb, 0, 0, [0; 100]),
        frame(WINDOW_UPDATE, 0, 0, [0, 0, 0, 0]),
    ];
    at_once(said.len(), |number| {
        let mut client = open(&server);
        flood(&mut client, &said[number].to_bytes());
        server.get("/hello.php").assert(200, "hello");
    });
}

#[test]
fn empty_data_without_end_ends_the_connection() {
    let server = server("").start();
    let mut client = open(&server);
    let head = block(&request("POST", "/hello.php"));
    client
        .send(&[frame(HEADERS, END_HEADERS, 1, head)])
        .expect("sent");
    flood(&mut client, &frame(DATA, 0, 1, []).to_bytes());
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_header_that_stops_has_a_time() {
    let server = server("idle 3s").start();
    let mut client = open(&server);
    let head = block(&request("GET", "/hello.php"));
    client
        .send(&[frame(HEADERS, END_STREAM, 1, &head[..20])])
        .expect("sent");
    while let Ok(Some(frame)) = client.receive() {
        assert_ne!(frame.stream, 1, "{frame:?}");
    }
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_body_that_stops_has_a_time_and_holds_no_php_process() {
    let server = server("read_body 4s").start();
    let mut client = open(&server);
    let mut head = request("POST", "/dump.php");
    head.push(("content-length", "10"));
    client
        .send(&[
            frame(HEADERS, END_HEADERS, 1, block(&head)),
            frame(DATA, 0, 1, b"half.".to_vec()),
            // There is one process, and it is free.
            frame(
                HEADERS,
                END_STREAM | END_HEADERS,
                3,
                block(&request("GET", "/hello.php")),
            ),
        ])
        .expect("sent");
    client.wait("response", |frame| {
        frame.stream == 3 && frame.is_status(200)
    });
    let refused = client.wait("refusal", |frame| {
        frame.stream == 1 && frame.kind == HEADERS
    });
    assert!(!refused.is_status(200), "{refused:?}");
    client.wait("reset", |frame| {
        frame.stream == 1 && frame.kind == RST_STREAM
    });
    client.get(5, "/hello.php").expect("sent");
    client.wait("response", |frame| {
        frame.stream == 5 && frame.is_status(200)
    });
}

#[test]
fn a_client_that_reads_byte_by_byte_loses_that_stream_alone() {
    let server = server("write 300ms").start();
    let mut client = Frames::open(server.address(), &[(INITIAL_WINDOW_SIZE, 1)]);
    client.get(1, "/stream.php?lines=100000").expect("sent");
    loop {
        let next = client.receive().expect("readable").expect("a frame");
        match next.kind {
            DATA if next.stream == 1 => {
                assert!(next.payload.len() <= 1);
                let more = frame(WINDOW_UPDATE, 0, 1, 1_u32.to_be_bytes());
                client.send(&[more]).expect("sent");
            }
            RST_STREAM if next.stream == 1 => break,
            _ => {}
        }
    }
    let wide = frame(
        SETTINGS,
        0,
        0,
        [
            &INITIAL_WINDOW_SIZE.to_be_bytes()[..],
            &65_535_u32.to_be_bytes(),
        ]
        .concat(),
    );
    client.send(&[wide]).expect("sent");
    client.get(3, "/hello.php").expect("sent");
    client.wait("response", |frame| {
        frame.stream == 3 && frame.is_status(200)
    });
}

#[test]
fn clients_that_read_nothing_are_cut_and_cost_little() {
    let server = server("write 500ms").start();
    let before = memory(&server);
    let window = (INITIAL_WINDOW_SIZE, 0x7fff_ffff);
    let mut client = Frames::open(server.address(), &[window]);
    let wide = frame(WINDOW_UPDATE, 0, 0, 0x7fff_0000_u32.to_be_bytes());
    client.send(&[wide]).expect("sent");
    for stream in (1..200).step_by(2) {
        client
            .get(stream, "/stream.php?lines=100000")
            .expect("sent");
    }
    // Fails when the server has closed the connection.
    let ping = frame(PING, 0, 0, [1; 8]).to_bytes();
    flood(&mut client, &ping);
    assert!(memory(&server) < before + MEMORY_MAX);
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let server = server("").start();
    let mut client = open(&server);
    // There is one process, and the requests wait for it.
    for number in 0..400 {
        client.get(2 * number + 1, "/hello.php").expect("sent");
    }
    let mut ends = 0;
    while ends < 400 {
        match client.receive() {
            Ok(Some(frame)) if frame.kind == RST_STREAM => ends += 1,
            Ok(Some(frame)) if frame.flags & END_STREAM != 0 && frame.stream != 0 => ends += 1,
            Ok(Some(_)) => {}
            Ok(None) => panic!("the connection ended"),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "a request has no end");
                panic!("{error}");
            }
        }
    }
    server.get("/hello.php").assert(200, "hello");
}
