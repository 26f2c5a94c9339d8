//! Policies and health checks of upstreams.

use std::collections::BTreeSet;

use crate::support::front::{back, front};
use crate::support::upstream::{ConnectionAction, Upstream};
use crate::support::wait_until;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nstatus: ok";

fn answering(text: &'static [u8]) -> Upstream {
    Upstream::answering(text, ConnectionAction::Keep)
}

/// Number of requests for a target at each upstream.
fn counts(upstreams: &[Upstream], target: &str) -> Vec<usize> {
    let count = |own: &Upstream| own.connections(target).len();
    upstreams.iter().map(count).collect()
}

fn addresses(upstreams: &[Upstream]) -> String {
    let text: Vec<_> = upstreams
        .iter()
        .map(|own| own.address.to_string())
        .collect();
    text.join(" ")
}

#[test]
fn equal_parameters_go_to_one_upstream_and_others_by_the_fallback() {
    let upstreams = [OK; 3].map(answering);
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy query id {\nfallback weighted_round_robin 2 0 1\n}\n}",
    );
    for _ in 0..4 {
        front.get("/a?id=7");
        front.get("/b?x=1&id=%37");
    }
    let at = counts(&upstreams, "/a?id=7").iter().position(|n| *n == 4);
    assert_eq!(counts(&upstreams, "/b?x=1&id=%37")[at.unwrap()], 4);
    let used: BTreeSet<_> = (0..40)
        .map(|id| {
            let target = format!("/c?id={id}");
            front.get(&target);
            counts(&upstreams, &target)
        })
        .collect();
    assert_eq!(used.len(), 3);
    // Choices by hash also advance the round robin: 48 so far, a multiple of the weights.
    for _ in 0..6 {
        front.get("/d");
    }
    assert_eq!(counts(&upstreams, "/d"), [4, 0, 2]);
}

#[test]
fn a_cookie_may_outlast_the_browser_and_has_a_fallback() {
    let upstreams = [OK; 2].map(answering);
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy cookie shop {\nmax_age 1h\nfallback first\n}\n}",
    );
    for _ in 0..4 {
        let reply = front.get_with("/a", "Cookie: shop=other\r\n");
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.starts_with("shop="), "{cookie}");
        assert!(cookie.ends_with("; SameSite=Lax; Max-Age=3600"), "{cookie}");
    }
    assert_eq!(counts(&upstreams, "/a"), [4, 0]);
}

#[test]
fn checks_have_a_method_headers_and_a_port() {
    let (upstream, checked) = (answering(OK), answering(OK));
    let options = format!(
        "health_uri /up\nhealth_interval 1h\nhealth_method HEAD\nhealth_port {}\n\
         health_headers {{\nHost app.test\nX-Check \"a b\"\n}}",
        checked.address.port()
    );
    let front = front(
        &upstream.address.to_string(),
        "",
        &format!("reverse_proxy UP {{\n{options}\n}}"),
    );
    assert_eq!(front.get("/a").status, 200);
    wait_until("the upstream is checked", || {
        !checked.requests.lock().unwrap().is_empty()
    });
    let head = checked.requests.lock().unwrap()[0].1.to_ascii_lowercase();
    assert!(head.starts_with("head /up http/1.1\r\n"), "{head}");
    for field in ["host: app.test", "x-check: a b", "user-agent: howdah"] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{head}");
    }
    assert_eq!(upstream.connections("/up"), Vec::<usize>::new());
}

#[test]
fn another_server_may_be_asked_about_an_upstream() {
    let (upstream, asked) = (answering(OK), answering(OK));
    let options = format!(
        "health_uri /up\nhealth_interval 1h\nhealth_method POST\nhealth_upstream {}\nhealth_request_body ping\n\
         health_headers {{\nX-Of \"<{{http.reverse_proxy.active.target_upstream}}>\"\nX-Two b c\n}}",
        asked.address
    );
    let front = front(
        &upstream.address.to_string(),
        "",
        &format!("reverse_proxy UP {{\n{options}\n}}"),
    );
    assert_eq!(front.get("/a").status, 200);
    wait_until("the other server is asked", || {
        !asked.requests.lock().unwrap().is_empty()
    });
    let head = asked.requests.lock().unwrap()[0].1.to_ascii_lowercase();
    assert!(head.starts_with("post /up http/1.1\r\n"), "{head}");
    for field in [
        format!("host: {}", asked.address),
        format!("x-of: <{}>", upstream.address),
        "x-two: b".to_owned(),
        "x-two: c".to_owned(),
        "content-length: 4".to_owned(),
    ] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{head}");
    }
    assert_eq!(upstream.connections("/up"), Vec::<usize>::new());
}

#[test]
fn a_healthy_body_matches() {
    let sick = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nstatus: sick");
    let upstreams = [sick, answering(OK)];
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy first\nhealth_uri /up\nhealth_interval 10ms\n\
         health_body \"status: (ok|fine)$\"\nhealth_fails 3\n}",
    );
    wait_until("the sick upstream gets no requests", || {
        front.get("/a").text() == "status: ok"
    });
    // The first two failures had no effect.
    assert!(counts(&upstreams, "/up")[0] >= 3);
}

#[test]
fn a_response_that_stops_is_cut_off() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "reverse_proxy UP {\ntransport http {\nread_timeout 50ms\n}\n}",
    );
    assert_eq!(front.get("/").status, 200);
    let mut client = front.connect();
    // The application waits before it sends the second part.
    client.write(b"GET /?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    let (text, _) = client.rest();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("first"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
}
