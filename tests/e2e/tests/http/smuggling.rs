//! HTTP/1.1 requests that two servers could parse differently. They are refused, and no later bytes
//! of the connection are parsed as a request.

use howdah_testkit::{Connection, Server};
use howdah_tests::www;

/// The request that is hidden in another one.
const HIDDEN: &str = "GET /id.php?id=smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

fn server() -> Server {
    Server::builder(www()).workers(1).start()
}

/// Sends these bytes and returns all that the server sends, up to the end of the connection.
#[track_caller]
fn answers(server: &Server, request: &[u8]) -> String {
    let mut connection = server.connect();
    connection.send_bytes(request).expect("sent");
    to_the_end(connection)
}

#[track_caller]
fn to_the_end(mut connection: Connection) -> String {
    let mut all = Vec::new();
    while let Ok(part) = connection.read_raw(65_536) {
        if part.is_empty() {
            break;
        }
        all.extend(part);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends each with the hidden request. The response must be one error, and the connection must be
/// closed.
#[track_caller]
fn refused(server: &Server, requests: &[&str]) {
    for request in requests {
        let mut connection = server.connect();
        let bytes = format!("{request}{HIDDEN}").into_bytes();
        connection.send_bytes(&bytes).expect("sent");
        connection.finish_sending().expect("sent");
        let all = to_the_end(connection);
        assert!(all.starts_with("HTTP/1.1 4"), "{request:?}: {all}");
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{request:?}: {all}");
        assert!(!all.contains("smuggled"), "{request:?}: {all}");
    }
    server.get("/hello.php").assert(200, "hello");
}

#[track_caller]
fn refused_fields(server: &Server, fields: &[&str], body: &str) {
    let whole: Vec<String> = fields
        .iter()
        .map(|fields| format!("POST /hello.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{body}"))
        .collect();
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    refused(server, &whole);
}

#[test]
fn lengths_that_are_repeated_or_invalid() {
    refused_fields(
        &server(),
        &[
            // CL.TE and TE.CL.
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Content-Length: 5\nTransfer-Encoding: chunked",
            "Content-Length: 5\r\nX: y\nTransfer-Encoding: chunked",
            "Content-Length:\r\nTransfer-Encoding: chunked",
            // CL.CL.
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 0\r\nContent-Length: 5",
            "Content-Length: 5\r\ncontent-LENGTH: 0",
            "Content-Length: 5, 5",
            "Content-Length: 5,0",
            // Invalid numbers.
            "Content-Length:",
            "Content-Length: +5",
            "Content-Length: -5",
            "Content-Length: 0x5",
            "Content-Length: 5 5",
            "Content-Length: 5.0",
            "Content-Length: 5e0",
            "Content-Length: \"5\"",
            "Content-Length: 18446744073709551616",
            "Content-Length: 99999999999999999999999999999999",
            "Content-Length: \x0b5",
            "Content-Length: 5\r\n 0",
        ],
        "0\r\n\r\n",
    );
}

#[test]
fn codings_in_disguise() {
    refused_fields(
        &server(),
        &[
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: chunkedx",
            "Transfer-Encoding: x",
            "Transfer-Encoding:",
            "Transfer-Encoding: identity",
            "Transfer-Encoding: gzip",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: identity, chunked",
            "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked;q=1",
            "Transfer-Encoding: \"chunked\"",
            "Transfer-Encoding: 'chunked'",
            "Transfer-Encoding: \x0bchunked",
            "Transfer-Encoding: chunked\x0b",
            "Transfer-Encoding: chun\x00ked",
            "Transfer-Encoding: \x00chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
            "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\nTransfer-Encoding: x",
            // Invalid names.
            "Transfer-Encoding : chunked",
            "Transfer-Encoding\t: chunked",
            "Transfer-Encoding\x0b: chunked",
            "Transfer-Encoding\x00: chunked",
            "Transfer-Encoding\r\n: chunked",
            "Transfer-Encoding\n: chunked",
            "Transfer Encoding: chunked",
            "X: y\rTransfer-Encoding: chunked",
            "Content-Length : 5",
            "Content-Length\x0b: 5",
            "(Transfer-Encoding: chunked",
            ": chunked",
            "no colon at all",
            // Folded lines.
            "Transfer-Encoding:\r\n chunked",
            "Transfer-Encoding:\r\n\tchunked",
            "X: y\r\n Transfer-Encoding: chunked",
            " Transfer-Encoding: chunked",
            "\tContent-Length: 5",
        ],
        "0\r\n\r\n",
    );
}

#[test]
fn lines_that_end_in_another_way() {
    refused(
        &server(),
        &[
            // A lone CR does not end a line.
            "POST /hello.php HTTP/1.1\rHost: a\r\rX: y\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\r\nHost: a\r\n\r\n",
            "\r\r\n\r\nPOST /hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
            // Neither does a lone LF.
            "POST /hello.php HTTP/1.1\nHost: a\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\r\n\n",
            "POST /hello.php HTTP/1.1\nHost: a\n\n",
            "\nPOST /hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
            // No other character ends a line.
            "POST /hello.php HTTP/1.1\r\nHost: a\x00\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n",
            // Invalid request lines.
            "POST  /hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /hello.php  HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST\t/hello.php\tHTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /hello.php HTTP/1.1 \r\nHost: a\r\n\r\n",
            "POST /hello.php http/1.1\r\nHost: a\r\n\r\n",
            "POST /hello.php HTTP/1.10\r\nHost: a\r\n\r\n",
            "POST /hello.php HTTP/2.0\r\nHost: a\r\n\r\n",
            "POST /hello.php HTTP/0.9\r\nHost: a\r\n\r\n",
            "POST /hello.php\r\nHost: a\r\n\r\n",
            "POST /hel\x0blo.php HTTP/1.1\r\nHost: a\r\n\r\n",
            " POST /hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn invalid_chunks() {
    let long = format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(20_000));
    let trailers = format!("3\r\nabc\r\n0\r\n{}\r\n", "X: y\r\n".repeat(20_000));
    let bodies = [
        "-1\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3h\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        ";x\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffff3\r\nabc\r\n0\r\n\r\n",
        "10000000000000003\r\nabc\r\n0\r\n\r\n",
        "3 3\r\nabc\r\n0\r\n\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "3\rabc\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "3;a=\"\n0\r\n\r\n",
        "3;\nabc\r\n0\r\n\r\n",
        "3;a\rb\r\nabc\r\n0\r\n\r\n",
        // Trailers, which would hide the next request.
        "3\r\nabc\r\n0\r\n\n",
        "3\r\nabc\r\n0\r\nX: a\n\n",
        "3\r\nabc\r\n0\r\nX: a\r\n\n",
        "3\r\nabc\r\n0\r\nX: a\n\r\n",
        &long,
        &trailers,
    ];
    let server = server();
    for body in bodies {
        refused_fields(&server, &["Transfer-Encoding: chunked"], body);
    }
}

/// A request whose length follows too much padding is refused, wherever its bytes are split.
#[test]
fn a_length_that_comes_in_pieces() {
    let server = server();
    let twice = "POST /id.php?id=smuggled HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc";
    let coded = "POST /id.php?id=smuggled HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (padding, hidden) in [(" ", twice), (" ", coded), ("\t", twice), ("0", coded)] {
        let first = format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: {}",
            padding.repeat(150)
        );
        for cut in [1, 60, first.len() - 20, first.len()] {
            let rest = format!("{}3\r\n\r\nabc{hidden}{HIDDEN}", &first[cut..]);
            let mut connection = server.connect();
            connection
                .send_bytes(&first.as_bytes()[..cut])
                .expect("sent");
            // The first piece is read before the second arrives.
            server.get("/hello.php").assert(200, "hello");
            connection.send_bytes(rest.as_bytes()).expect("sent");
            let all = to_the_end(connection);
            assert!(all.starts_with("HTTP/1.1 400"), "cut at {cut}: {all}");
            assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "cut at {cut}: {all}");
        }
    }
}

#[test]
fn hosts_that_differ() {
    let server = server();
    for request in [
        "GET /hello.php HTTP/1.1\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a@b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a/../b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a#b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET /hello.php HTTP/1.1\r\nHost:\r\n a\r\n\r\n",
        "GET http://a/hello.php HTTP/1.1\r\n\r\n",
        "GET http://a@b/hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:///hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET @b/hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET hello.php HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        // The end of this request is clear, so the connection would stay open.
        let closing = request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
        let all = answers(&server, format!("{closing}{HIDDEN}").as_bytes());
        assert!(all.starts_with("HTTP/1.1 4"), "{request:?}: {all}");
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{request:?}: {all}");
    }
    // The host in the target counts, and PHP sees no other.
    let request =
        "GET http://right.test/dump.php HTTP/1.1\r\nHost: wrong.test\r\nConnection: close\r\n\r\n";
    let all = answers(&server, request.as_bytes());
    assert!(all.starts_with("HTTP/1.1 200"), "{all}");
    assert!(all.contains("\"HTTP_HOST\": \"right.test\""), "{all}");
    assert!(!all.contains("wrong.test"), "{all}");
}

/// Unusual but valid requests are parsed as intended: the hidden request is part of a body.
#[test]
fn bodies_stay_bodies() {
    let server = server();
    let length = HIDDEN.len();
    let next = "GET /id.php?id=next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for request in [
        // Methods that usually have no body.
        format!("GET /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"),
        format!(
            "DELETE /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"
        ),
        format!(
            "OPTIONS /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"
        ),
        format!(
            "GET /hello.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{HIDDEN}\r\n0\r\n\r\n"
        ),
        // White space around a value, zeros before a number, a chunk extension, a trailer.
        format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length:\t {length} \t\r\n\r\n{HIDDEN}"
        ),
        format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: 000{length}\r\n\r\n{HIDDEN}"
        ),
        format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nTRANSFER-encoding:\tCHUNKED \r\n\r\n\
             0{length:X};a=b\r\n{HIDDEN}\r\n000\r\nContent-Length: 3\r\n\r\n"
        ),
        // The server does not upgrade, and the next bytes are still HTTP/1.1.
        format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
             HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"
        ),
        // A file, which needs no body, and a missing path.
        format!("POST /static.txt HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"),
        format!("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"),
        // A method that is refused before its body is read.
        format!("TRACE /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"),
        format!(
            "CONNECT a:80 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{HIDDEN}\r\n0\r\n\r\n"
        ),
        format!(
            "POST /hello.php HTTP/1.1\r\nHost: a\r\nExpect: else\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"
        ),
    ] {
        let all = answers(&server, format!("{request}{next}").as_bytes());
        // No request follows a body that was not read.
        let is_next = all.matches("HTTP/1.1 ").count() == 2 && all.contains("[next]");
        let is_last = all.matches("HTTP/1.1 ").count() == 1 && !all.contains("[next]");
        assert!(is_next || is_last, "{request}: {all}");
        let is_read = request.contains(" /hello.php") && all.starts_with("HTTP/1.1 200");
        assert!(is_next || !is_read, "{request}: {all}");
        assert!(!all.contains("smuggled"), "{request}: {all}");
    }
}
