//! HTTP/2 requests that would be different ones over HTTP/1.1, and invalid requests. Only they are
//! refused, and the connection stays open.

use howdah_testkit::Server;
use howdah_tests::frames::{
    DATA, END_HEADERS, END_STREAM, Frame, Frames, HEADERS, PROTOCOL_ERROR, RST_STREAM, block, frame,
};
use howdah_tests::www;

type Fields<'a> = Vec<(&'a [u8], &'a [u8])>;

fn server() -> Server {
    Server::builder(www()).workers(1).start()
}

/// A valid request without the fields `less` and with the fields `more`.
fn request<'a>(less: &[&str], more: &[(&'a str, &'a str)]) -> Fields<'a> {
    let usual: [(&str, &str); 4] = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", "/hello.php"),
    ];
    usual
        .into_iter()
        .filter(|(name, _)| !less.contains(name))
        .chain(more.iter().copied())
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect()
}

/// Sends a request and returns the first frame of its stream, or the one that ends the connection.
#[track_caller]
fn outcome(server: &Server, fields: &Fields<'_>, body: Option<&[u8]>) -> Frame {
    let mut client = Frames::open(server.address(), &[]);
    let flags = if body.is_some() { 0 } else { END_STREAM };
    let mut frames = vec![frame(HEADERS, END_HEADERS | flags, 1, block(fields))];
    frames.extend(body.map(|body| frame(DATA, END_STREAM, 1, body)));
    client.send(&frames).expect("sent");
    let outcome = client.wait("outcome", |frame| {
        frame.stream == 1 && matches!(frame.kind, HEADERS | RST_STREAM) || frame.error().is_some()
    });
    if outcome.stream == 1 {
        client.get(3, "/hello.php").expect("sent");
        client.wait("response", |frame| {
            frame.stream == 3 && frame.is_status(200)
        });
    }
    outcome
}

#[track_caller]
fn refused(server: &Server, requests: &[Fields<'_>]) {
    for fields in requests {
        let outcome = outcome(server, fields, None);
        assert!(
            outcome.is_status(400) || outcome.error() == Some(PROTOCOL_ERROR),
            "{:?}: {outcome:?}",
            String::from_utf8_lossy(&block(fields))
        );
    }
}

#[test]
fn the_usual_request_is_answered() {
    let server = server();
    assert!(outcome(&server, &request(&[], &[]), None).is_status(200));
    let fields = request(&[], &[("content-length", "3"), ("te", "trailers")]);
    assert!(outcome(&server, &fields, Some(b"abc")).is_status(200));
    // Without `:authority`, `host` counts.
    let fields = request(&[":authority"], &[("host", "localhost")]);
    assert!(outcome(&server, &fields, None).is_status(200));
    let fields = request(&[], &[("host", "localhost")]);
    assert!(outcome(&server, &fields, None).is_status(200));
}

#[test]
fn fields_of_connections() {
    refused(
        &server(),
        &[
            ("transfer-encoding", "chunked"),
            ("transfer-encoding", "identity"),
            ("connection", "close"),
            ("connection", "keep-alive, x-hop"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers, deflate"),
        ]
        .map(|field| request(&[], &[field])),
    );
}

#[test]
fn names_and_values_that_would_be_several_lines() {
    refused(
        &server(),
        &[
            ("x-a", "1\r\nx-b: 2"),
            ("x-a", "1\nx-b: 2"),
            ("x-a", "1\rx-b: 2"),
            ("x-a", "1\0"),
            ("x-a", "1\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("x-a: 1\r\nx-b", "2"),
            ("x-a\r\n", "2"),
            ("x-a: 1", "2"),
            ("x a", "2"),
            ("x-a ", "2"),
            ("X-A", "2"),
            ("", "2"),
            ("x-a\0", "2"),
            ("x-a\x7f", "2"),
            ("x-\u{e4}", "2"),
            ("transfer-encoding ", "chunked"),
            ("Transfer-Encoding", "chunked"),
            ("transfer-encoding\r\nx", "chunked"),
            ("content-length ", "0"),
        ]
        .map(|field| request(&[], &[field])),
    );
}

#[test]
fn pseudo_fields_that_would_be_another_request_line() {
    let with = |name: &'static str, value: &'static str| {
        let mut fields = request(&[name], &[]);
        fields.insert(0, (name.as_bytes(), value.as_bytes()));
        fields
    };
    refused(
        &server(),
        &[
            with(
                ":path",
                "/hello.php HTTP/1.1\r\nHost: b\r\n\r\nGET /smuggled",
            ),
            with(":path", "/hello.php HTTP/1.1"),
            with(":path", "/hel\r\nlo.php"),
            with(":path", "/hello.php\0"),
            with(":path", "hello.php"),
            with(":path", "http://b/hello.php"),
            with(":path", ""),
            with(":path", "*"),
            with(":method", "GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\nGET"),
            with(":method", "GET "),
            with(":method", "G:T"),
            with(":method", ""),
            with(":authority", "localhost\r\nx: y"),
            with(":authority", "localhost b"),
            with(":authority", "user@localhost"),
            with(":authority", "localhost/a"),
            with(":authority", "localhost:x"),
            with(":scheme", "http\r\nx: y"),
        ],
    );
}

#[test]
fn pseudo_fields_that_are_missing_doubled_or_in_the_wrong_place() {
    let method: &[(&str, &str)] = &[(":method", "GET")];
    refused(
        &server(),
        &[
            request(&[":method"], &[]),
            request(&[":path"], &[]),
            request(&[":scheme"], &[]),
            request(&[], method),
            request(&[], &[(":path", "/smuggled")]),
            request(&[], &[(":scheme", "https")]),
            request(&[], &[(":authority", "b")]),
            request(&[], &[(":status", "200")]),
            request(&[], &[(":x", "y")]),
            request(&[], &[(":", "y")]),
            request(&[], &[(":protocol", "websocket")]),
            request(&[":method"], &[("x", "y"), (":method", "GET")]),
            request(&[":path"], &[("x", "y"), (":path", "/hello.php")]),
            // Two hosts.
            request(&[], &[("host", "b")]),
            request(&[], &[("host", "localhost"), ("host", "b")]),
            request(&[], &[("host", "localhost"), ("host", "localhost")]),
            request(&[":authority"], &[("host", "a"), ("host", "b")]),
            request(&[":authority"], &[]),
        ],
    );
}

#[test]
fn lengths_that_are_not_those_of_the_body() {
    let server = server();
    for (fields, body) in [
        (&[("content-length", "2")][..], "abc"),
        (&[("content-length", "4")], "abc"),
        (&[("content-length", "0")], "abc"),
        (&[("content-length", "+3")], "abc"),
        (&[("content-length", "3, 3")], "abc"),
        (&[("content-length", "")], "abc"),
        (&[("content-length", "18446744073709551619")], "abc"),
        (&[("content-length", "3"), ("content-length", "4")], "abc"),
        (&[("content-length", "4"), ("content-length", "3")], "abc"),
    ] {
        let outcome = outcome(&server, &request(&[], fields), Some(body.as_bytes()));
        assert!(
            outcome.is_status(400) || outcome.error() == Some(PROTOCOL_ERROR),
            "{fields:?}: {outcome:?}"
        );
    }
    let outcome = outcome(&server, &request(&[], &[("content-length", "3")]), None);
    assert!(
        outcome.is_status(400) || outcome.error() == Some(PROTOCOL_ERROR),
        "{outcome:?}"
    );
}
