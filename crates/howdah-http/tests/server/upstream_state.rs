//! Front threads share the state of upstreams.

use crate::support::front::{back, front_of_threads};
use crate::support::upstream::{ConnectionAction, Upstream};

const THREADS: usize = 4;

/// Number of connections. The kernel distributes them among the threads.
const CONNECTIONS: usize = 48;

fn answering(text: &'static [u8]) -> Upstream {
    Upstream::answering(text, ConnectionAction::Keep)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_failed_upstream_is_avoided_by_all_front_threads() {
    let sick = answering(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
    let well = answering(OK);
    let front = front_of_threads(
        THREADS,
        &format!("{} {}", sick.address, well.address),
        "",
        "reverse_proxy UP {\nlb_policy first\nfail_duration 1h\nmax_fails 2\nunhealthy_status 5xx\n}",
    );
    let statuses: Vec<_> = (0..CONNECTIONS).map(|_| front.get("/a").status).collect();
    assert_eq!(statuses[..2], [500, 500]);
    assert!(
        statuses[2..].iter().all(|status| *status == 200),
        "{statuses:?}"
    );
    assert_eq!(sick.connections("/a").len(), 2);
}

#[test]
fn upstreams_are_used_in_turn_by_all_front_threads() {
    let upstreams = [answering(OK), answering(OK)];
    let [first, second] = upstreams.each_ref().map(|own| own.address);
    let front = front_of_threads(
        THREADS,
        &format!("{first} {second}"),
        "",
        "reverse_proxy UP {\nlb_policy round_robin\n}",
    );
    for _ in 0..CONNECTIONS {
        assert_eq!(front.get("/a").status, 200);
    }
    for upstream in upstreams {
        assert_eq!(upstream.connections("/a").len(), CONNECTIONS / 2);
    }
}

#[test]
fn an_upstream_is_checked_by_one_front_thread() {
    let upstream = answering(OK);
    let front = front_of_threads(
        THREADS,
        &upstream.address.to_string(),
        "",
        "reverse_proxy UP {\nhealth_uri /health\nhealth_interval 1h\n}",
    );
    for _ in 0..CONNECTIONS {
        assert_eq!(front.get("/a").status, 200);
    }
    crate::support::wait_until("the upstream is checked", || {
        !upstream.connections("/health").is_empty()
    });
    for _ in 0..CONNECTIONS {
        assert_eq!(front.get("/a").status, 200);
    }
    assert_eq!(upstream.connections("/health").len(), 1);
}

#[test]
fn requests_in_flight_on_all_front_threads_count() {
    let back = back();
    let front = front_of_threads(
        THREADS,
        &back.address(),
        "",
        "reverse_proxy UP {\nunhealthy_request_count 2\n}",
    );
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut client = front.connect();
        client.write(b"GET /?mode=endless HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_until(b"\r\n\r\n");
        busy.push(client);
    }
    for _ in 0..CONNECTIONS {
        assert_eq!(front.get("/").status, 503);
    }
    drop(busy);
    crate::support::wait_until("the upstream gets requests again", || {
        front.get("/").status == 200
    });
}
