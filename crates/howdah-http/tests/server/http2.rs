//! HTTP/2 without TLS, with prior knowledge.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::support::front::{back, front};
use crate::support::{Harness, PATIENCE, php_site, wait_until};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::{Request, Response};
use tokio::task::JoinHandle;

pub(crate) type Driver = JoinHandle<Result<(), h2::Error>>;

pub(crate) async fn connect(harness: &Harness, window: u32) -> (SendRequest<Bytes>, Driver) {
    let stream = tokio::net::TcpStream::connect(harness.address())
        .await
        .unwrap();
    let mut builder = Builder::new();
    builder.initial_window_size(window);
    let (client, connection) = builder.handshake(stream).await.unwrap();
    (client, tokio::spawn(connection))
}

pub(crate) fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(format!("http://a.test:99{path}"))
        .body(())
        .unwrap()
}

async fn send(
    client: &mut SendRequest<Bytes>,
    request: Request<()>,
    body: &[u8],
) -> (http::response::Parts, String) {
    let (response, mut stream) = client.send_request(request, body.is_empty()).unwrap();
    if !body.is_empty() {
        stream
            .send_data(Bytes::copy_from_slice(body), true)
            .unwrap();
    }
    let (parts, mut body) = Response::into_parts(response.await.unwrap());
    let mut text = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        text.extend_from_slice(&chunk);
    }
    (parts, String::from_utf8(text).unwrap())
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("waited in vain")
}

#[tokio::test]
async fn requests_bodies_and_files() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "a").unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let (mut client, _driver) = connect(&harness, 65_535).await;
    let body = vec![b'x'; 200_000];
    let (parts, text) = within(send(&mut client, request("POST", "/echo.php?q"), &body)).await;
    assert_eq!(parts.headers["server"], "Howdah");
    assert!(parts.headers.contains_key("date"));
    for line in [
        "host=a.test:99",
        "version=HTTP/2.0",
        "length=200000",
        "body=spooled",
        "query=q",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
    let (_, text) = within(send(&mut client, request("GET", "/a.txt"), b"")).await;
    assert_eq!(text, "a");
    let (parts, _) = within(send(&mut client, request("GET", "/%00"), b"")).await;
    assert_eq!(parts.status, 400);
    let (parts, _) = within(send(&mut client, request("TRACE", "/"), b"")).await;
    assert_eq!(parts.status, 405);
    let mut two = request("GET", "/");
    two.headers_mut().insert("host", "other".parse().unwrap());
    assert_eq!(within(send(&mut client, two, b"")).await.0.status, 400);
    // Many concurrent requests on one connection.
    let many: Vec<_> = (0..100)
        .map(|_| {
            client
                .send_request(request("GET", "/echo.php"), true)
                .unwrap()
                .0
        })
        .collect();
    for response in many {
        assert_eq!(within(response).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn cookies_in_pieces_are_one_header() {
    let back = back();
    let site = "@known header_regexp Cookie \"^a=1; b=2; c=3$\"\nheader @known X-Cookie {header.Cookie}\nreverse_proxy UP";
    let harness = front(&back.address(), "", site);
    let (mut client, _driver) = connect(&harness, 65_535).await;
    let mut crumbs = request("GET", "/");
    for crumb in ["a=1", "b=2", "c=3"] {
        crumbs
            .headers_mut()
            .append("cookie", crumb.parse().unwrap());
    }
    let (parts, text) = within(send(&mut client, crumbs, b"")).await;
    assert_eq!(parts.headers["x-cookie"], "a=1; b=2; c=3");
    assert!(text.contains("\nh.cookie=a=1; b=2; c=3\n"), "{text}");
    let mut one = request("GET", "/");
    one.headers_mut().append("cookie", "a=1".parse().unwrap());
    let (_, text) = within(send(&mut client, one, b"")).await;
    assert!(text.contains("\nh.cookie=a=1\n"), "{text}");
}

#[tokio::test]
async fn an_upstream_gets_the_body_of_any_method() {
    let back = back();
    let harness = front(&back.address(), "", "reverse_proxy UP");
    let (mut client, _driver) = connect(&harness, 65_535).await;
    for method in ["POST", "GET"] {
        for (body, length) in [("abcde", "length=5"), ("", "length=0")] {
            let sent = send(&mut client, request(method, "/"), body.as_bytes());
            let (_, text) = within(sent).await;
            assert!(
                text.lines().any(|line| line == length),
                "{method} {body:?}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn php_sees_the_host_that_directives_set() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("index.php"), "<?php").unwrap();
    let root = directory.path().display();
    let site = format!("root * {root}\nrequest_header /set/* Host shop.test\nphp_server");
    let harness = front("", "", &site);
    let (mut client, _driver) = connect(&harness, 65_535).await;
    for (path, host) in [("/set/a?b", "shop.test"), ("/own?b", "a.test:99")] {
        let (_, text) = within(send(&mut client, request("GET", path), b"")).await;
        for line in [format!("http_host={host}"), format!("uri={path}")] {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
        let absolute = format!("GET http://a.test:99{path} HTTP/1.1\r\nHost: other\r\n\r\n");
        let reply = harness.send(&absolute);
        assert_eq!((reply.value("http_host"), reply.value("uri")), (host, path));
    }
}

#[tokio::test]
async fn live_requests_tell_their_host() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let (mut client, _driver) = connect(&harness, 65_535).await;
    let hanging = client.send_request(request("GET", "/echo.php?mode=hang"), true);
    let mut other = harness.connect();
    other.write(b"GET http://b.test/echo.php?mode=hang HTTP/1.1\r\nHost: c.test\r\n\r\n");
    let live = within(async {
        loop {
            // The HTTP/2 client runs here too.
            tokio::task::yield_now().await;
            let live = harness.server.live_requests().list().await;
            if live.len() == 2 {
                return live;
            }
        }
    })
    .await;
    let mut hosts: Vec<&str> = live.iter().map(|request| &*request.host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["a.test:99", "b.test"]);
    drop(hanging);
}

#[tokio::test]
async fn a_stream_that_is_not_taken_is_reset_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    config.global.limits.write = Duration::from_millis(300);
    let harness = Harness::start(&config);
    let (mut client, _driver) = connect(&harness, 1000).await;
    let (response, _) = client
        .send_request(request("GET", "/echo.php?mode=endless"), true)
        .unwrap();
    let mut stalled = within(response).await.unwrap().into_body();
    // The response of a waiting application is not aborted, however long it takes.
    let (response, _) = client
        .send_request(request("GET", "/echo.php?mode=gate"), true)
        .unwrap();
    let mut waiting = within(response).await.unwrap().into_body();
    assert_eq!(within(waiting.data()).await.unwrap().unwrap(), "first");
    loop {
        match within(stalled.data()).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                assert!(error.is_reset(), "{error}");
                break;
            }
            None => panic!("an endless response ended"),
        }
    }
    wait_until("the application knows", || {
        harness.seen.dropped.load(SeqCst) == 1
    });
    harness.seen.open_gate();
    assert_eq!(within(waiting.data()).await.unwrap().unwrap(), "second");
    let (_, text) = within(send(&mut client, request("GET", "/echo.php"), b"")).await;
    assert!(text.contains("method=GET"));
}

#[tokio::test]
async fn an_empty_window_does_not_keep_a_connection() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    config.global.limits.write = Duration::from_millis(200);
    let harness = Harness::start(&config);
    let (mut client, _driver) = connect(&harness, 0).await;
    let (response, _) = client
        .send_request(request("GET", "/echo.php?mode=gate"), true)
        .unwrap();
    let mut body = within(response).await.unwrap().into_body();
    assert!(within(body.data()).await.unwrap().unwrap_err().is_reset());
}

#[tokio::test]
async fn stopping_sends_goaway_and_finishes() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::start(&php_site(directory.path()));
    let (_idle, idle_driver) = connect(&harness, 65_535).await;
    let (mut client, driver) = connect(&harness, 65_535).await;
    let (response, _) = client
        .send_request(request("GET", "/echo.php?mode=gate"), true)
        .unwrap();
    let mut body = within(response).await.unwrap().into_body();
    assert_eq!(within(body.data()).await.unwrap().unwrap(), "first");
    harness.shutdown.drain(PATIENCE);
    within(idle_driver).await.unwrap().unwrap();
    harness.seen.open_gate();
    assert_eq!(within(body.data()).await.unwrap().unwrap(), "second");
    assert!(within(body.data()).await.is_none());
    within(driver).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_idle_connection_gets_goaway() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    // Long enough for a request to arrive on a busy machine.
    config.global.limits.idle = Duration::from_secs(3);
    let harness = Harness::start(&config);
    let (mut client, driver) = connect(&harness, 65_535).await;
    within(send(&mut client, request("GET", "/echo.php"), b"")).await;
    within(driver).await.unwrap().unwrap();
    // A client that never responds is disconnected as well.
    let mut silent = harness.connect();
    silent.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    silent.rest();
    wait_until("nothing is open", || {
        harness.server.stats().connections() == 0
    });
}
