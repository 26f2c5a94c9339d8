//! `early_hints learn`: the resources of a page are sent as hints for later requests before PHP
//! responds.

use std::future::poll_fn;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use howdah_testkit::{Server, Www};
use howdah_tests::http2::{over_http2, ready};
use howdah_tests::{caddyfile, encode};

const PAGE: &str = r"<?php
if (isset($_GET['gate'])) {
    fgetc(fopen($_GET['gate'] . '.open', 'rb'));
}
header('Cache-Control: ' . ($_GET['cache'] ?? 'no-cache'));
if (!isset($_GET['plain'])) {
    header('Link: </a.css>; rel=preload; as=style, </next>; rel=next');
}
echo 'hello';
";
const HINT: &str = "</a.css>; rel=preload; as=style";

fn serve(lines: &str) -> (Www, Server) {
    let www = Www::new()
        .file("index.php", PAGE)
        .file("mine.php", PAGE)
        .file("other.php", PAGE);
    let root = www.path().display();
    let text = format!("root * {root}\nphp_server {{\n{lines}\n}}");
    // Each front thread learns separately.
    let server = Server::caddyfile(caddyfile("howdah {\nfront_threads 1\n}", &text)).start();
    (www, server)
}

#[test]
fn hints_come_before_php_answers() {
    let (_www, server) = serve("early_hints learn");
    over_http2(&server, async |client| {
        assert_eq!(hints(client, "/").await, [""; 0]);
        let mut gate = server.gate("gate");
        let target = format!("/?gate={}", encode(gate.path()));
        let mut response = ask(client, &target, &[]).await;
        // PHP waits at the gate.
        let hint = poll_fn(|cx| response.poll_informational(cx)).await;
        let hint = hint.expect("before the response").expect("a hint");
        assert_eq!(hint.status(), 103);
        assert_eq!(hint.headers()["link"], HINT);
        gate.open(1);
        assert_eq!(response.await.expect("a response").status(), 200);
        // Hints are also sent to clients with a session, but not for requests by scripts.
        assert_eq!(
            request_hints(client, "/", &[("cookie", "a=b")]).await,
            [HINT]
        );
        let script = ask_as(client, "/", "cors", &[]).await;
        assert_eq!(all(script).await, [""; 0]);
        // The page no longer has any.
        assert_eq!(hints(client, "/?plain").await, [HINT]);
        assert_eq!(hints(client, "/").await, [""; 0]);
    });
}

#[test]
fn hints_of_authenticated_pages_are_not_shared() {
    let (_www, server) = serve("early_hints learn");
    over_http2(&server, async |client| {
        for _ in 0..2 {
            let private = "/mine.php?cache=private";
            assert_eq!(hints(client, private).await, [""; 0]);
            let cookie = [("cookie", "session=1")];
            assert_eq!(request_hints(client, "/other.php", &cookie).await, [""; 0]);
        }
        assert_eq!(hints(client, "/mine.php?plain").await, [""; 0]);
        assert_eq!(hints(client, "/other.php?plain").await, [""; 0]);
    });
}

#[test]
fn nothing_is_learned_unasked() {
    let (_www, server) = serve("");
    over_http2(&server, async |client| {
        for _ in 0..2 {
            assert_eq!(hints(client, "/").await, [""; 0]);
        }
    });
}

async fn ask_as(
    client: &SendRequest<Bytes>,
    target: &str,
    mode: &str,
    fields: &[(&str, &str)],
) -> ResponseFuture {
    let mut request = http::Request::get(format!("http://localhost{target}"));
    request = request.header("sec-fetch-mode", mode);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let request = request.body(()).expect("a request");
    let mut client = ready(client).await;
    client.send_request(request, true).expect("a stream").0
}

async fn ask(client: &SendRequest<Bytes>, target: &str, fields: &[(&str, &str)]) -> ResponseFuture {
    ask_as(client, target, "navigate", fields).await
}

/// Links of all hints before the response.
async fn all(mut response: ResponseFuture) -> Vec<String> {
    let mut links = Vec::new();
    while let Some(hint) = poll_fn(|cx| response.poll_informational(cx)).await {
        let hint = hint.expect("the stream goes on");
        assert_eq!(hint.status(), 103);
        let found = hint.headers().get_all("link").into_iter();
        links.extend(found.map(|link| link.to_str().expect("text").to_owned()));
    }
    assert_eq!(response.await.expect("a response").status(), 200);
    links
}

async fn request_hints(
    client: &SendRequest<Bytes>,
    target: &str,
    fields: &[(&str, &str)],
) -> Vec<String> {
    all(ask(client, target, fields).await).await
}

async fn hints(client: &SendRequest<Bytes>, target: &str) -> Vec<String> {
    request_hints(client, target, &[]).await
}
