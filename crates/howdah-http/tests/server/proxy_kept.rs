//! Persistent connections to upstreams that are closed at a bad moment.

use std::sync::Mutex;

use crate::support::front::front;
use crate::support::outcome::{Outcome, get, get_http2, refused, whole};
use crate::support::upstream::{ConnectionAction, Upstream};
use crate::support::wait_until;

/// The nth request of a connection gets a response. For all others the connection is closed.
fn closing_at(nth: usize) -> Upstream {
    Upstream::start(move |_, number| {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        (number < nth).then(|| (answer.to_vec(), ConnectionAction::Keep))
    })
}

#[test]
fn a_request_that_is_lost_with_a_kept_connection_is_sent_again() {
    let upstream = closing_at(1);
    let front = upstream.front();
    for client in [get, get_http2] {
        for _ in 0..4 {
            assert_eq!(client(&front, "GET", "/a"), whole(200, "hello"));
            assert_eq!(client(&front, "OPTIONS", "/a"), whole(200, "hello"));
        }
    }
    // Every second request was lost, and sent again on a new connection.
    let asked = upstream.connections("/a");
    assert!(asked.len() > 16, "{asked:?}");
    for number in &asked {
        assert!(asked.iter().filter(|other| *other == number).count() <= 2);
    }
}

#[test]
fn unsafe_requests_are_not_sent_again() {
    for request in [
        "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "DELETE /b HTTP/1.1\r\nHost: a\r\n\r\n",
        // Its body cannot be sent again.
        "GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        let upstream = closing_at(1);
        let front = upstream.front();
        assert_eq!(front.get("/a").text(), "hello", "{request}");
        assert_eq!(front.send(request).status, 502, "{request}");
        assert_eq!(upstream.connections("/b"), [0], "{request}");
        assert_eq!(front.get("/next").text(), "next", "{request}");
    }
}

#[test]
fn a_request_is_sent_again_once_and_only_if_nothing_was_answered() {
    // The first connection has one request, the others have none.
    let first = Mutex::new(true);
    let upstream = Upstream::start(move |_, _| {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let is_first = std::mem::take(&mut *first.lock().unwrap());
        is_first.then(|| (answer.to_vec(), ConnectionAction::Keep))
    });
    let front = upstream.front();
    assert_eq!(front.get("/a").text(), "hello");
    assert_eq!(front.get("/b").status, 502);
    assert_eq!(upstream.connections("/b"), [0, 1]);
    // A new connection that is closed is an error, unlike a reused one.
    assert_eq!(front.get("/c").status, 502);
    assert_eq!(upstream.connections("/c"), [2]);

    // A response that has started.
    for (part, then) in [
        ("HTTP/1.1 2", ConnectionAction::Close),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart",
            ConnectionAction::Reset,
        ),
    ] {
        let upstream = Upstream::start(move |_, number| {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
            Some(match number {
                0 => (answer.into(), ConnectionAction::Keep),
                _ => (part.into(), then),
            })
        });
        let front = upstream.front();
        assert_eq!(front.get("/a").text(), "hello");
        let expected = if then == ConnectionAction::Close {
            refused()
        } else {
            Outcome::Broken
        };
        assert_eq!(get(&front, "GET", "/b"), expected);
        assert_eq!(upstream.connections("/b"), [0]);
    }
}

#[test]
fn a_kept_connection_that_is_lost_is_not_a_failure() {
    let upstream = closing_at(1);
    let front = front(
        &upstream.address.to_string(),
        "",
        "reverse_proxy UP {\nfail_duration 1h\nmax_fails 1\nhealth_uri /a\nhealth_interval 5ms\n}",
    );
    for _ in 0..4 {
        assert_eq!(front.get("/b").status, 200);
    }
    wait_until("questions went on", || upstream.connections("/a").len() > 9);
    assert_eq!(front.get("/b").status, 200);
}

#[test]
fn a_server_that_requires_a_login_may_close_its_connections() {
    let upstream = closing_at(1);
    let front = front(
        &upstream.address.to_string(),
        "",
        &format!(
            "forward_auth {} {{\nuri /a\n}}\nrespond in",
            upstream.address
        ),
    );
    for _ in 0..4 {
        assert_eq!(front.get("/").text(), "in");
    }
    assert!(upstream.connections("/a").len() > 4);
}

#[test]
fn an_upstream_of_http_1_0_gets_bodies_of_any_length() {
    let upstream = Upstream::start(|head, _| {
        let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
        let is_chunked = head.contains("transfer-encoding: chunked");
        let is_empty = head.starts_with("POST ") && !is_chunked;
        let body = if is_empty { "empty" } else { "hello" };
        Some((kept.replace("hello", body).into(), ConnectionAction::Keep))
    });
    let front = upstream.front();
    assert_eq!(front.get("/a").text(), "hello");
    let post =
        "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(front.send(post).text(), "hello");
}

#[test]
fn an_answer_that_comes_before_the_body_was_read_arrives() {
    let answer =
        b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge";
    for then in [ConnectionAction::Keep, ConnectionAction::Close] {
        let upstream = Upstream::answering(answer, then);
        let front = upstream.front();
        let body = "x".repeat(8 << 20);
        let post = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = front.send(&post);
        assert_eq!((reply.status, reply.text()), (413, "large"), "{then:?}");
        assert_eq!(front.get("/next").text(), "next", "{then:?}");
    }
}

#[test]
fn a_part_that_comes_before_the_body_was_read_is_not_the_whole() {
    let upstream = Upstream::answering(b"HTTP/1.1 200 OK\r\n\r\npart", ConnectionAction::Close);
    let front = upstream.front();
    let mut client = front.connect();
    let body = "x".repeat(8 << 20);
    let post = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write(post.as_bytes());
    let text = String::from_utf8(client.rest().0).unwrap();
    let is_whole = text.starts_with("HTTP/1.1 200") && text.ends_with("0\r\n\r\n");
    assert!(!is_whole, "{text}");
}
