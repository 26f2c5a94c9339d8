//! `forward_auth`: a second server authorizes requests.

use std::sync::atomic::Ordering::SeqCst;

use crate::support::closed_port;
use crate::support::front::{back, front};

const ANSWER: &str = "/verify?mode=answer";

/// Response of a server that authorizes the request and sends these fields.
fn granting(fields: &str) -> String {
    format!("{ANSWER}{fields}")
}

#[test]
fn allowed_requests_continue() {
    let (auth, app) = (back(), back());
    let site = format!(
        "forward_auth UP {{\nuri {}\ncopy_headers Remote-User Remote-Email>X-Email Remote-Groups\n}}\n\
         header X-Front yes\nreverse_proxy {}",
        granting("&h=remote-user:ann&h=remote-email:a@b&h=remote-groups:a&h=remote-groups:b"),
        app.address()
    );
    let front = front(&auth.address(), "", &site);
    // Values that the client sends are not trusted.
    let reply = front.send(
        "POST /shop?a=b HTTP/1.1\r\nHost: a\r\nRemote-User: root\r\nX-Email: root@b\r\nX-Own: 1\r\n\
         Content-Length: 3\r\n\r\nabc",
    );
    assert_eq!(reply.status, 200);
    for (name, value) in [
        ("method", "POST"),
        ("uri", "/shop?a=b"),
        ("length", "3"),
        ("h.remote-user", "ann"),
        ("h.x-email", "a@b"),
        ("h.remote-groups", "a|b"),
        ("h.x-own", "1"),
    ] {
        assert_eq!(reply.value(name), value, "{name}");
    }
    assert!(!reply.text().contains("h.x-forwarded-uri"), "{reply:?}");
    assert_eq!(reply.header("x-front"), Some("yes"));
    assert_eq!(reply.header("remote-user"), None);
    assert_eq!(auth.harness.seen.calls.load(SeqCst), 1);
    assert_eq!(app.harness.seen.calls.load(SeqCst), 1);
}

#[test]
fn a_field_that_the_server_omits_is_removed() {
    let (auth, app) = (back(), back());
    let site = format!(
        "forward_auth UP {{\nuri {ANSWER}&h=remote-name:\ncopy_headers Remote-User Remote-Name\n}}\nreverse_proxy {}",
        app.address()
    );
    let front = front(&auth.address(), "", &site);
    let reply = front.get_with("/", "Remote-User: root\r\nRemote-Name: root\r\n");
    assert_eq!(reply.status, 200);
    assert!(!reply.text().contains("h.remote"), "{reply:?}");
}

#[test]
fn denied_requests_get_the_response_of_the_authorization() {
    let (auth, app) = (back(), back());
    let site = format!(
        "forward_auth /closed/* UP {{\nuri {ANSWER}&status=302&h=location:http://login&h=x-secret:1\n\
         header_up X-Up yes\nheader_down -X-Secret\n}}\nheader X-Front yes\nreverse_proxy {}\n\
         handle_errors {{\nrespond formed\n}}",
        app.address()
    );
    let front = front(&auth.address(), "", &site);
    let reply = front.send(
        "POST /closed/a?b HTTP/1.1\r\nHost: shop.example\r\nCookie: c=d\r\nContent-Length: 3\r\n\
         Connection: upgrade\r\nUpgrade: websocket\r\n\r\nabc",
    );
    assert_eq!(reply.status, 302);
    assert_eq!(reply.header("location"), Some("http://login"));
    assert_eq!(reply.header("x-front"), Some("yes"));
    assert_eq!(reply.header("x-secret"), None);
    // The request that the server received, as it reports it.
    for (name, value) in [
        ("method", "GET"),
        ("length", "0"),
        ("host", "shop.example"),
        ("h.cookie", "c=d"),
        ("h.x-up", "yes"),
        ("h.x-forwarded-method", "POST"),
        ("h.x-forwarded-uri", "/closed/a?b"),
        ("h.x-forwarded-host", "shop.example"),
        ("h.x-forwarded-for", "127.0.0.1"),
    ] {
        assert_eq!(reply.value(name), value, "{name}");
    }
    for gone in ["h.content-length", "h.upgrade"] {
        assert!(!reply.text().contains(gone), "{gone}: {reply:?}");
    }
    assert_eq!(app.harness.seen.calls.load(SeqCst), 0);
    // Other paths need no authorization.
    assert_eq!(front.get("/open").value("uri"), "/open");
    assert_eq!(auth.harness.seen.calls.load(SeqCst), 1);
}

/// The client's target becomes one value of the query and adds no parameters.
#[test]
fn the_server_gets_the_configured_parameters() {
    let auth = back();
    let site = format!(
        "forward_auth UP {{\nuri {ANSWER}&status=401&group=staff&rd={{uri}}\n}}\nrespond secret"
    );
    let reply = front(&auth.address(), "", &site).get("/a%20b?group=admin&x");
    assert_eq!(reply.status, 401);
    assert_eq!(
        reply.value("uri"),
        format!("{ANSWER}&status=401&group=staff&rd=%2Fa%2520b%3Fgroup%3Dadmin%26x")
    );
}

#[test]
fn several_are_requested_one_after_the_other() {
    let (auth, app) = (back(), back());
    let site = format!(
        "route {{\nforward_auth UP {{\nuri {}\ncopy_headers X-One\n}}\n\
         forward_auth UP {{\nuri {}\ncopy_headers X-Two\n}}\n\
         forward_auth /no UP {{\nuri {ANSWER}&status=401\n}}\nreverse_proxy {}\n}}",
        granting("&h=x-one:1"),
        granting("&h=x-two:2"),
        app.address()
    );
    let front = front(&auth.address(), "", &site);
    let reply = front.get("/");
    assert_eq!((reply.value("h.x-one"), reply.value("h.x-two")), ("1", "2"));
    assert_eq!(auth.harness.seen.calls.load(SeqCst), 2);
    assert_eq!(front.get("/no").status, 401);
    assert_eq!(app.harness.seen.calls.load(SeqCst), 1);
}

#[test]
fn an_unavailable_server_denies_all_requests() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    let (_reserved, gone) = closed_port();
    let site = "forward_auth UP {\nuri /verify\ntransport http {\nresponse_header_timeout 50ms\n}\n}\nrespond secret\n\
                handle_errors {\nrespond \"formed {err.status_code}\"\n}";
    let reply = front(&silent, "", site).get("/");
    assert_eq!((reply.status, reply.text()), (504, "formed 504"));
    let reply = front(&gone.to_string(), "", site).get("/");
    assert_eq!((reply.status, reply.text()), (502, "formed 502"));
}
