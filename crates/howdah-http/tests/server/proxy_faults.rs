//! `reverse_proxy` with upstreams that violate HTTP or close connections: a scripted upstream plays
//! each fault to an HTTP/1.1 client and to an HTTP/2 client. No client may take a part for the
//! whole, and no request may get leftover bytes of another one.

use crate::support::outcome::{Outcome, get, get_http2, refused, whole};
use crate::support::upstream::{ConnectionAction, Upstream};

/// Plays a fault to both clients. The next request gets its response as usual, on the same
/// connection if `keeps` is set.
fn play(
    fault: &str,
    method: &str,
    answer: &'static [u8],
    then: ConnectionAction,
    expected: &Outcome,
    keeps: bool,
) {
    for client in [get, get_http2] {
        let upstream = Upstream::answering(answer, then);
        let front = upstream.front();
        assert_eq!(client(&front, method, "/fault"), *expected, "{fault}");
        assert_eq!(
            client(&front, "GET", "/next"),
            whole(200, "next"),
            "after {fault}"
        );
        // A request with a safe method may have been sent twice.
        let (asked, next) = (
            upstream.connections("/fault"),
            upstream.connections("/next"),
        );
        assert_eq!(asked.len(), 1, "{fault}");
        assert_eq!(next == asked, keeps, "{fault}: {asked:?} {next:?}");
    }
}

#[test]
fn lengths() {
    use ConnectionAction::{Close, Keep, Reset};
    for (fault, answer, then, expected, keeps) in [
        (
            "none",
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..],
            Keep,
            whole(200, "hello"),
            true,
        ),
        (
            "a smaller length beside chunks",
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            Keep,
            whole(200, "hello"),
            false,
        ),
        (
            "a larger length beside chunks",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            Keep,
            whole(200, "hello"),
            false,
        ),
        (
            "different lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            Keep,
            refused(),
            false,
        ),
        (
            "equal lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            Keep,
            whole(200, "hello"),
            true,
        ),
        (
            "a list of lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
            Keep,
            refused(),
            false,
        ),
        (
            "a length with letters",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
            Keep,
            refused(),
            false,
        ),
        (
            "a length with a sign",
            b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
            Keep,
            refused(),
            false,
        ),
        (
            "a negative length",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            Keep,
            refused(),
            false,
        ),
        (
            "a length of more than 64 bits",
            b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
            Keep,
            refused(),
            false,
        ),
        (
            "a length that is empty",
            b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
            Close,
            refused(),
            false,
        ),
        (
            "a body that is too short",
            b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
            Close,
            Outcome::Broken,
            false,
        ),
        (
            "a body that is too long",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            Keep,
            whole(200, "hello"),
            false,
        ),
        (
            "a second answer at once",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            Keep,
            whole(200, "hello"),
            false,
        ),
        (
            "no length, to the end of the connection",
            b"HTTP/1.1 200 OK\r\n\r\nhello",
            Close,
            whole(200, "hello"),
            false,
        ),
        (
            "no length, and a reset",
            b"HTTP/1.1 200 OK\r\n\r\nhello",
            Reset,
            Outcome::Broken,
            false,
        ),
    ] {
        play(fault, "GET", answer, then, &expected, keeps);
    }
}

#[test]
fn chunks() {
    use ConnectionAction::{Close, Keep};
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (fault, body, then, expected, keeps) in [
        (
            "none",
            "5\r\nhello\r\n0\r\n\r\n",
            Keep,
            whole(200, "hello"),
            true,
        ),
        (
            "extensions and trailers",
            "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\nX-Sum: 1\r\n\r\n",
            Keep,
            whole(200, "hello"),
            true,
        ),
        (
            "a size that is not a number",
            "5\r\nhello\r\nzz\r\n",
            Keep,
            Outcome::Broken,
            false,
        ),
        (
            "a size with a sign",
            "5\r\nhello\r\n+1\r\na\r\n0\r\n\r\n",
            Keep,
            Outcome::Broken,
            false,
        ),
        (
            "a size of more than 64 bits",
            "5\r\nhello\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
            Keep,
            Outcome::Broken,
            false,
        ),
        (
            "a chunk that is too long",
            "5\r\nhello!!\r\n0\r\n\r\n",
            Keep,
            Outcome::Broken,
            false,
        ),
        (
            "a size that ends in LF alone",
            "5\r\nhello\r\n0\n\n",
            Keep,
            Outcome::Broken,
            false,
        ),
        ("no end", "5\r\nhello\r\n", Close, Outcome::Broken, false),
        (
            "an end in the last line",
            "5\r\nhello\r\n0\r\n",
            Close,
            Outcome::Broken,
            false,
        ),
        (
            "an end in a chunk",
            "50\r\nhello",
            Close,
            Outcome::Broken,
            false,
        ),
        (
            "more behind the end",
            "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            Keep,
            whole(200, "hello"),
            false,
        ),
    ] {
        let answer: &'static str = format!("{HEAD}{body}").leak();
        play(fault, "GET", answer.as_bytes(), then, &expected, keeps);
    }
    for encoding in [
        "gzip, chunked",
        "identity",
        "chunked\r\nTransfer-Encoding: chunked",
        "chunked, chunked",
    ] {
        let head = HEAD.replace("chunked", encoding);
        let answer: &'static str = format!("{head}5\r\nhello\r\n0\r\n\r\n").leak();
        play(encoding, "GET", answer.as_bytes(), Close, &refused(), false);
    }
}

#[test]
fn heads() {
    use ConnectionAction::{Close, Keep, Reset};
    let long_line = format!(
        "HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 5\r\n\r\nhello",
        "x".repeat(1 << 20)
    );
    let fields = |count: u32| {
        let lines: Vec<String> = (0..count)
            .map(|number| format!("X-{number}: 1\r\n"))
            .collect();
        lines.concat()
    };
    let many = fields(600);
    let many = format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 5\r\n\r\nhello");
    let several = fields(300);
    let several = format!("HTTP/1.1 200 OK\r\n{several}Content-Length: 5\r\n\r\nhello");
    let hello = || whole(200, "hello");
    let rest = "\r\nContent-Length: 5\r\n\r\nhello";
    for (fault, answer, then, expected, keeps) in [
        (
            "status 000",
            format!("HTTP/1.1 000 No{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "status 099",
            format!("HTTP/1.1 099 No{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "status 1000",
            format!("HTTP/1.1 1000 No{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "status 20",
            format!("HTTP/1.1 20 No{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "status 600",
            format!("HTTP/1.1 600 Odd{rest}"),
            Keep,
            whole(600, "hello"),
            true,
        ),
        (
            "status 999",
            format!("HTTP/1.1 999 Odd{rest}"),
            Keep,
            whole(999, "hello"),
            true,
        ),
        (
            "no reason",
            format!("HTTP/1.1 200{rest}"),
            Keep,
            hello(),
            true,
        ),
        (
            "205 with a body",
            format!("HTTP/1.1 205 Reset Content{rest}"),
            Keep,
            whole(205, "hello"),
            true,
        ),
        (
            "204 with a body",
            format!("HTTP/1.1 204 No Content{rest}"),
            Keep,
            whole(204, ""),
            false,
        ),
        (
            "304 with a body",
            format!("HTTP/1.1 304 Not Modified{rest}"),
            Keep,
            whole(304, ""),
            false,
        ),
        (
            "100 and 102 before",
            format!(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK{rest}"
            ),
            Keep,
            hello(),
            true,
        ),
        (
            "unrequested 101",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
                .into(),
            Keep,
            refused(),
            false,
        ),
        (
            "LF alone",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello".into(),
            Keep,
            hello(),
            true,
        ),
        (
            "lines that go on",
            format!("HTTP/1.1 200 OK\r\nX-A: b\r\n c{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "NUL in a value",
            format!("HTTP/1.1 200 OK\r\nX-A: b\0c{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "CR in a value",
            format!("HTTP/1.1 200 OK\r\nX-A: b\rc{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "a space in a name",
            format!("HTTP/1.1 200 OK\r\nX A: b{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "a space behind a name",
            format!("HTTP/1.1 200 OK\r\nX-A : b{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "a bracket in a name",
            format!("HTTP/1.1 200 OK\r\nX(A): b{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "no name",
            format!("HTTP/1.1 200 OK\r\n: b{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "no colon",
            format!("HTTP/1.1 200 OK\r\nnothing{rest}"),
            Keep,
            refused(),
            false,
        ),
        (
            "lower case",
            format!("http/1.1 200 OK{rest}"),
            Close,
            refused(),
            false,
        ),
        (
            "HTTP/2.0",
            format!("HTTP/2.0 200 OK{rest}"),
            Close,
            refused(),
            false,
        ),
        (
            "HTTP/0.9",
            "<h1>hello</h1>\n".into(),
            Close,
            refused(),
            false,
        ),
        (
            "garbage",
            "\x16\x03\x01\x02\0\x01\0\x01\u{7f}\x03".into(),
            Close,
            refused(),
            false,
        ),
        ("nothing", String::new(), Close, refused(), false),
        ("a reset", String::new(), Reset, refused(), false),
        (
            "half a head",
            "HTTP/1.1 200 OK\r\nContent-Le".into(),
            Close,
            refused(),
            false,
        ),
        (
            "half a head and a reset",
            "HTTP/1.1 200 OK\r\nContent-Le".into(),
            Reset,
            refused(),
            false,
        ),
        ("a head of a mebibyte", long_line, Keep, refused(), false),
        ("600 fields", many, Keep, refused(), false),
        ("300 fields", several, Keep, hello(), true),
        (
            "HTTP/1.0",
            format!("HTTP/1.0 200 OK{rest}"),
            Close,
            hello(),
            false,
        ),
        (
            "HTTP/1.0 without a length",
            "HTTP/1.0 200 OK\r\n\r\nhello".into(),
            Close,
            hello(),
            false,
        ),
        (
            "HTTP/1.0 that is kept",
            format!("HTTP/1.0 200 OK\r\nConnection: keep-alive{rest}"),
            Keep,
            hello(),
            false,
        ),
        (
            "HTTP/1.0 in chunks",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".into(),
            Close,
            refused(),
            false,
        ),
        (
            "it closes the connection",
            format!("HTTP/1.1 200 OK\r\nConnection: close{rest}"),
            Close,
            hello(),
            false,
        ),
    ] {
        let answer: &'static str = answer.leak();
        play(fault, "GET", answer.as_bytes(), then, &expected, keeps);
    }
}

#[test]
fn answers_to_head() {
    use ConnectionAction::Keep;
    for (fault, answer, expected, keeps) in [
        (
            "none",
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"[..],
            whole(200, ""),
            true,
        ),
        (
            "two equal lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            whole(200, ""),
            true,
        ),
        (
            "different lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            refused(),
            false,
        ),
        (
            "a length beside chunks",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            whole(200, ""),
            false,
        ),
        (
            "a body",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            whole(200, ""),
            false,
        ),
    ] {
        // The error response has no body either.
        let expected = match expected {
            Outcome::Whole(status, _) => whole(status, ""),
            Outcome::Broken => Outcome::Broken,
        };
        play(fault, "HEAD", answer, Keep, &expected, keeps);
    }
}

#[test]
fn fields_of_the_connection_and_fields_that_are_repeated() {
    let answer = b"HTTP/1.1 200 OK\r\nConnection: x-hop, Content-Length, close\r\nConnection: keep-alive, x-too\r\n\
        Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nX-Hop: 1\r\nX-Too: 1\r\nX-Kept: 1\r\nHost: one\r\nHost: two\r\n\
        Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nDate: Tue, 02 Jan 2024 00:00:00 GMT\r\nServer: one\r\nServer: two\r\n\
        Content-Type: a/b\r\nContent-Type: c/d\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\nhello";
    let upstream = Upstream::answering(answer, ConnectionAction::Close);
    let front = upstream.front();
    let reply = front.get("/");
    assert_eq!((reply.status, reply.text()), (200, "hello"));
    let head = reply.head.to_ascii_lowercase();
    for gone in ["x-hop", "x-too", "keep-alive", "proxy-connection"] {
        assert!(!head.contains(gone), "{gone}: {head}");
    }
    let count = |name: &str| head.matches(&format!("\r\n{name}: ")).count();
    for (name, times) in [
        ("date", 1),
        ("server", 1),
        ("content-type", 1),
        ("set-cookie", 2),
        ("x-kept", 1),
    ] {
        assert_eq!(count(name), times, "{name}: {head}");
    }
    assert!(head.contains("\r\nserver: two\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: c/d\r\n"), "{head}");
    assert!(head.contains("\r\ndate: tue, 02 jan 2024"), "{head}");
}
