//! Files that do not fit into a buffer. Over plain HTTP/1.1 the kernel sends them, over TLS and
//! HTTP/2 the server does.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use howdah_testkit::load::at_once;
use howdah_testkit::{Connection, Request, Response, Server, Www};
use howdah_tests::http2::whole;
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{caddyfile, in_time};
use rustls::pki_types::ServerName;

/// Not a multiple of any buffer size.
const SIZE: usize = (5 << 20) + 12_345;
/// More than the buffers of two sockets.
const HUGE: usize = 20 << 20;

/// Bytes without repetition, so that each offset is distinguishable.
fn contents(size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        let place = bytes.len() as u64 ^ 0x5DEE_CE66_D1CE_CAFE;
        let mixed = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bytes.extend_from_slice(&(mixed ^ (mixed >> 29)).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// Two files, one worker, and a site that needs no PHP for them.
fn site(global: &str, directives: &str) -> (Www, Server) {
    let www = Www::new()
        .file("large.bin", contents(SIZE))
        .file("small.txt", "small")
        .file("hello.php", "<?php echo 'hello';");
    let root = www.path().display();
    let text = format!("root * {root}\n{directives}\nphp_server");
    let server = Server::caddyfile(caddyfile(global, &text)).start();
    (www, server)
}

fn huge(www: &Www) -> PathBuf {
    www.write("huge.bin", contents(HUGE))
}

/// Bounds of ranges across the file. They differ for each `seed`.
fn ranges(seed: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..=count).map(move |index| {
        let first = (seed * 7_919_111 + index * 1_299_709) % SIZE;
        let length = (seed * 31 + index * 611_953) % (1 << 20);
        (first, (first + length).min(SIZE - 1))
    })
}

fn range(first: usize, last: usize) -> Request {
    Request::get("/large.bin").header("Range", format!("bytes={first}-{last}"))
}

fn assert_part(response: &Response, (first, last): (usize, usize), whole: &[u8]) {
    response.assert_status(206);
    let expected = format!("bytes {first}-{last}/{SIZE}");
    assert_eq!(response.header("content-range"), Some(expected.as_str()));
    assert!(response.body == whole[first..=last], "bytes {first}-{last}");
}

#[test]
fn many_clients_get_wholes_and_parts() {
    let (_www, server) = site("", "");
    let whole = contents(SIZE);
    at_once(12, |client| {
        let mut connection = server.connect();
        for (first, last) in ranges(client, 8) {
            let part = connection.exchange(&range(first, last)).expect("a part");
            assert_part(&part, (first, last), &whole);
            let small = connection.exchange(&Request::get("/small.txt"));
            small.expect("a response").assert(200, "small");
        }
        let all = connection.exchange(&Request::get("/large.bin"));
        assert!(all.expect("all of it").body == whole);
        let head = connection.exchange(&Request::new("HEAD", "/large.bin"));
        let head = head.expect("a head");
        let size = SIZE.to_string();
        assert_eq!(head.header("content-length"), Some(size.as_str()));
        let etag = head.header("etag").expect("a tag");
        let known = Request::get("/large.bin").header("If-None-Match", etag);
        let known = connection.exchange(&known).expect("a response");
        known.assert(304, "");
        let page = connection.exchange(&Request::get("/hello.php"));
        page.expect("a response").assert(200, "hello");
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (_www, server) = site("", "");
    let whole = contents(SIZE);
    let mut connection =
        Connection::open_with_receive_buffer(server.address(), 16 << 10).expect("it connects");
    let parts: Vec<_> = ranges(3, 20).collect();
    let mut requests = Vec::new();
    for (first, last) in &parts {
        requests.extend(range(*first, *last).to_bytes());
        requests.extend(Request::get("/small.txt").to_bytes());
        requests.extend(Request::new("HEAD", "/large.bin").to_bytes());
    }
    requests.extend(Request::get("/large.bin").to_bytes());
    requests.extend(Request::get("/hello.php").to_bytes());
    connection.send_bytes(&requests).expect("sent");
    for place in parts {
        let part = connection.receive("GET").expect("a part");
        assert_part(&part, place, &whole);
        let small = connection.receive("GET").expect("a response");
        small.assert(200, "small");
        let head = connection.receive("HEAD").expect("a head");
        assert_eq!(head.status(), 200);
    }
    assert!(connection.receive("GET").expect("all of it").body == whole);
    let page = connection.receive("GET").expect("a response");
    page.assert(200, "hello");
}

/// Small files are cached when they have not changed for a while, like those of this repository.
#[test]
fn kept_files_arrive_whole_and_in_parts() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = format!("root * {}\nfile_server", docs.display());
    let server = Server::caddyfile(caddyfile("", &text)).start();
    let paths = [
        "/guides/operations.md",
        "/adr/0001-processes-not-threads.md",
    ];
    let contents = paths.map(|path| std::fs::read(docs.join(&path[1..])).expect("a guide"));
    let [large, small] = &contents;
    assert!(
        (8 << 10..64 << 10).contains(&large.len()),
        "{}",
        large.len()
    );
    assert!(small.len() < 8 << 10, "{}", small.len());
    let part =
        |first, last| Request::get(paths[0]).header("Range", format!("bytes={first}-{last}"));
    at_once(4, |_| {
        let mut connection = server.connect();
        for _ in 0..3 {
            let mut requests = Vec::new();
            for path in paths {
                requests.extend(Request::get(path).to_bytes());
                requests.extend(Request::new("HEAD", path).to_bytes());
            }
            requests.extend(part(100, 9_999).to_bytes());
            requests.extend(part(5, 7).to_bytes());
            requests.extend(Request::get(paths[0]).to_bytes());
            connection.send_bytes(&requests).expect("sent");
            for whole in &contents {
                assert!(&connection.receive("GET").expect("all of it").body == whole);
                connection.receive("HEAD").expect("a head").assert(200, "");
            }
            assert!(connection.receive("GET").expect("a part").body == large[100..=9_999]);
            assert!(connection.receive("GET").expect("a part").body == large[5..=7]);
            assert!(&connection.receive("GET").expect("all of it").body == large);
        }
        // HTTP/1.0: the connection ends with the body.
        assert!(&server.send(&Request::get(paths[0]).http10()).body == large);
    });
}

#[test]
fn headers_of_the_site_do_not_change_the_bytes() {
    let whole = contents(SIZE);
    let (_www, server) = site("", "header X-Own yes");
    let response = server.get("/large.bin");
    assert_eq!(response.header("x-own"), Some("yes"));
    assert!(response.body == whole);
    // HTTP/1.0: the connection ends with the body.
    let old = Request::get("/large.bin").http10();
    assert!(server.send(&old).body == whole);
}

#[test]
fn a_slow_reader_gets_all_and_delays_no_request() {
    let (www, server) = site("", "");
    huge(&www);
    let whole = contents(HUGE);
    let mut slow: Vec<_> = (0..4)
        .map(|_| {
            let mut slow =
                Connection::open_with_receive_buffer(server.address(), 4096).expect("it connects");
            slow.send(&Request::get("/huge.bin")).expect("sent");
            slow.begin("GET").expect("a head");
            slow
        })
        .collect();
    for _ in 0..30 {
        server.get("/small.txt").assert(200, "small");
        server.get("/hello.php").assert(200, "hello");
    }
    let reader = &mut slow[0];
    let mut seen = 0;
    while let Some(part) = reader.next_part().expect("a part") {
        assert!(part == whole[seen..seen + part.len()], "at {seen}");
        seen += part.len();
    }
    assert_eq!(seen, HUGE);
    // The others disconnect in the middle.
    for (index, other) in slow.into_iter().skip(1).enumerate() {
        if index == 0 {
            other.reset().expect("a reset");
        }
    }
    server.get("/small.txt").assert(200, "small");
}

/// Waits for the access log's line about the huge file and returns its number of bytes.
fn wait_for_cut(server: &Server) -> u64 {
    let line = server.wait_line("a response that was cut", |line| {
        line.raw.contains("/huge.bin") && line.raw.contains("\"size\":")
    });
    line.number("size").expect("bytes")
}

/// Receives until the server closes the connection before the end of the body.
fn read_until_cut(connection: &mut Connection) -> Vec<u8> {
    let mut seen = Vec::new();
    loop {
        match connection.next_part() {
            Ok(Some(part)) => seen.extend_from_slice(&part),
            Ok(None) => panic!("the body was complete"),
            Err(error) => {
                assert!(error.is_closed(), "{error}");
                return seen;
            }
        }
    }
}

#[test]
fn a_reader_that_stops_is_cut() {
    let (www, server) = site("servers {\ntimeouts {\nwrite 300ms\n}\n}", "log");
    huge(&www);
    let mut stopped =
        Connection::open_with_receive_buffer(server.address(), 4096).expect("it connects");
    stopped.send(&Request::get("/huge.bin")).expect("sent");
    stopped.begin("GET").expect("a head");
    let logged = wait_for_cut(&server);
    assert!(logged < HUGE as u64, "{logged}");
    let seen = read_until_cut(&mut stopped);
    assert!(seen.len() as u64 <= logged, "{} of {logged}", seen.len());
    assert!(contents(HUGE).starts_with(&seen));
}

#[test]
fn a_file_that_becomes_shorter_ends_the_connection() {
    let (www, server) = site("", "log");
    let path = huge(&www);
    let mut reader =
        Connection::open_with_receive_buffer(server.address(), 4096).expect("it connects");
    reader.send(&Request::get("/huge.bin")).expect("sent");
    reader.begin("GET").expect("a head");
    let file = File::options().write(true).open(path).expect("it is there");
    file.set_len(4096).expect("it can be cut");
    // Bytes that were in flight when the file was truncated may have any value.
    let seen = read_until_cut(&mut reader).len() as u64;
    let logged = wait_for_cut(&server);
    assert!(seen <= logged, "{seen} of {logged}");
    assert!(logged < HUGE as u64, "{logged}");
    // The shorter file is served as usual.
    let now = server.get("/huge.bin");
    assert!(now.body == contents(4096));
}

#[test]
fn tls_and_http2_give_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let www = Www::new().file("large.bin", contents(SIZE));
    let whole = contents(SIZE);
    let text = format!(
        "https://a.test:0 {{\nbind 127.0.0.1\ntls {pair}\nroot * {}\nfile_server\n}}\n",
        www.path().display()
    );
    let server = Server::caddyfile(text).start();
    let client = Client::trusting(&authority.pem());
    at_once(4, |number| {
        let stream = client.connect(server.address(), "a.test");
        let mut stream = stream.expect("it connects");
        let places: Vec<_> = ranges(number, 6).chain([(0, SIZE - 1)]).collect();
        for (first, last) in places {
            let request = range(first, last).host("a.test");
            stream.write_all(&request.to_bytes()).expect("sent");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a head");
                head.push(byte[0]);
            }
            assert!(head.starts_with(b"HTTP/1.1 206 "));
            let mut body = vec![0; last - first + 1];
            stream.read_exact(&mut body).expect("the part");
            assert!(body == whole[first..=last], "bytes {first}-{last}");
        }
    });
    over_http2(&server, &client, &whole);
}

/// Several concurrent ranges on one connection.
fn over_http2(server: &Server, client: &Client, file: &[u8]) {
    in_time(async {
        let socket = tokio::net::TcpStream::connect(server.address()).await;
        let connector = tokio_rustls::TlsConnector::from(client.offering(b"h2"));
        let name = ServerName::try_from("a.test").expect("a name");
        let stream = connector.connect(name, socket.expect("it connects")).await;
        let (mut client, connection) = h2::client::handshake(stream.expect("TLS"))
            .await
            .expect("HTTP/2");
        let driver = tokio::spawn(connection);
        let mut answers = tokio::task::JoinSet::new();
        for (first, last) in ranges(9, 10).chain([(0, SIZE - 1)]) {
            let request = http::Request::get("https://a.test/large.bin")
                .header("range", format!("bytes={first}-{last}"))
                .body(())
                .expect("a request");
            client = client.ready().await.expect("it is open");
            let (answer, _) = client.send_request(request, true).expect("a stream");
            let expected = Bytes::copy_from_slice(&file[first..=last]);
            answers.spawn(async move {
                let body = answer.await.expect("a response").into_body();
                let seen = whole(body).await;
                assert!(seen == expected, "bytes {first}-{last}");
            });
        }
        while let Some(done) = answers.join_next().await {
            done.expect("no panic");
        }
        driver.abort();
    });
}
