//! 103 Early Hints of PHP scripts on the wire.

use std::future::poll_fn;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use howdah_testkit::client::Head;
use howdah_testkit::{Connection, Gate, Request};
use howdah_tests::http2::{over_http2, ready, whole};
use howdah_tests::worker::Site;
use howdah_tests::{encode, in_both_modes};

in_both_modes! {
    hints_come_while_the_script_is_busy("early_hints.php") = |site| {
        let mut connection = site.server.connect();
        // The connection is persistent: the second request behaves like the first.
        for i in 0..3 {
            let mut gate = site.server.gate(&format!("gate{i}"));
            connection.send(&gated(site, &gate, "/a.css,/b.js")).expect("sent");
            // The script waits at the gate until both have arrived.
            hint(&mut connection, "/a.css");
            hint(&mut connection, "/b.js");
            gate.open(1);
            answer(&mut connection, "GET");
        }
    };
    hints_come_in_any_number("early_hints.php") = |site| {
        let paths: Vec<String> = (0..50).map(|i| format!("/{i}.css")).collect();
        let response = site.get(&format!("?hints={}", paths.join(",")));
        response.assert(200, "hello");
        let links: Vec<_> = response.informational.iter().map(|hint| hint.header("link")).collect();
        let expected: Vec<_> = paths.iter().map(|path| format!("<{path}>; rel=preload")).collect();
        assert_eq!(links, expected.iter().map(|link| Some(link.as_str())).collect::<Vec<_>>());
        site.get("?hints=").assert(200, "hello");
        assert!(site.get("?hints=").informational.is_empty());
    };
    pipelined_hints_wait_for_their_turn("early_hints.php") = |site| {
        let mut gate = site.server.gate("gate");
        let mut connection = site.server.connect();
        let mut bytes = gated(site, &gate, "").to_bytes();
        for target in ["?hints=/second.css", "?hints=", "?hints=/fourth.css"] {
            bytes.extend(Request::get(site.target(target)).to_bytes());
        }
        connection.send_bytes(&bytes).expect("sent");
        gate.open(1);
        answer(&mut connection, "GET");
        hint(&mut connection, "/second.css");
        answer(&mut connection, "GET");
        answer(&mut connection, "GET");
        hint(&mut connection, "/fourth.css");
        answer(&mut connection, "GET");
    };
    head_requests_get_hints("early_hints.php") = |site| {
        let mut connection = site.server.connect();
        for _ in 0..2 {
            let request = Request::new("HEAD", site.target(""));
            connection.send(&request).expect("sent");
            hint(&mut connection, "/style.css");
            answer(&mut connection, "HEAD");
        }
    };
    http_1_0_gets_no_hints("early_hints.php") = |site| {
        let mut connection = site.server.connect();
        let request = format!("GET {} HTTP/1.0\r\nHost: localhost\r\n\r\n", site.target(""));
        connection.send_bytes(request.as_bytes()).expect("sent");
        answer(&mut connection, "GET");
    };
    hints_come_over_http_2_while_the_script_is_busy("early_hints.php") = |site| {
        over_http2(&site.server, async |client| {
            for i in 0..3 {
                let mut gate = site.server.gate(&format!("gate{i}"));
                let mut first = ask(client, &gated_target(site, &gate, "/a.css,/b.js")).await;
                // The script waits at the gate until both have arrived.
                assert_eq!(next_hint(&mut first).await.as_deref(), Some("/a.css"));
                assert_eq!(next_hint(&mut first).await.as_deref(), Some("/b.js"));
                gate.open(1);
                assert_eq!(last(first).await, "hello");
                // A second stream of the connection has no hints.
                let mut other = ask(client, &site.target("?hints=")).await;
                assert_eq!(next_hint(&mut other).await, None);
                assert_eq!(last(other).await, "hello");
            }
        });
    };
    hints_of_several_streams_are_not_mixed("early_hints.php") = |site| {
        over_http2(&site.server, async |client| {
            let mut all = Vec::new();
            for i in 0..20 {
                all.push(ask(client, &site.target(&format!("?hints=/{i}.css,/{i}.js"))).await);
            }
            for (i, mut one) in all.into_iter().enumerate() {
                for kind in ["css", "js"] {
                    let path = format!("/{i}.{kind}");
                    assert_eq!(next_hint(&mut one).await, Some(path));
                }
                assert_eq!(next_hint(&mut one).await, None);
                assert_eq!(last(one).await, "hello");
            }
        });
    };
    a_stream_that_was_reset_after_its_hints_is_no_harm("early_hints.php") = |site| {
        over_http2(&site.server, async |client| {
            let mut gates = Vec::new();
            for i in 0..3 {
                let mut gate = site.server.gate(&format!("gate{i}"));
                let mut one = ask(client, &gated_target(site, &gate, "/a.css")).await;
                assert_eq!(next_hint(&mut one).await.as_deref(), Some("/a.css"));
                drop(one);
                gate.open(1);
                gates.push(gate);
            }
            let one = ask(client, &site.target("")).await;
            assert_eq!(last(one).await, "hello");
        });
    };
    a_client_that_left_after_the_hints_is_no_harm("early_hints.php") = |site| {
        // The hint arrives before the script reaches the gate. The gate must exist until then.
        let mut gates = Vec::new();
        for i in 0..3 {
            let mut gate = site.server.gate(&format!("gate{i}"));
            let mut connection = Connection::open(site.server.address()).expect("connected");
            connection.send(&gated(site, &gate, "/a.css")).expect("sent");
            hint(&mut connection, "/a.css");
            connection.reset().expect("gone");
            gate.open(1);
            gates.push(gate);
        }
        site.get("").assert(200, "hello");
    };
    files_and_errors_have_no_hints("early_hints.php") = |site| {
        let mut connection = site.server.connect();
        connection.exchange(&Request::get(site.target(""))).expect("a response").assert(200, "hello");
        // A path with a NUL is refused before a script is looked up.
        for (target, status) in [("/words.txt", 200), ("/a%00", 400)] {
            let response = connection.exchange(&Request::get(target)).expect("a response");
            response.assert_status(status);
            assert!(response.informational.is_empty(), "{target}");
            assert_eq!(response.header("link"), None, "{target}");
        }
    };
    what_is_no_interim_response_is_not_sent("early_hints.php") = |site| {
        site.server.expect_log("100 is not an interim status");
        let response = site.get("?status=100");
        response.assert(200, "hello");
        assert!(response.informational.is_empty());
        site.server.expect_log("it is larger than 16384 bytes");
        let response = site.get(&format!("?hints=/{}", "x".repeat(17_000)));
        response.assert(200, "hello");
        assert!(response.informational.is_empty());
        let response = site.get("?status=102");
        assert_eq!(response.informational.len(), 1);
        assert_eq!(response.informational[0].status, 102);
    };
}

fn gated(site: &Site, gate: &Gate, hints: &str) -> Request {
    Request::get(gated_target(site, gate, hints))
}

fn gated_target(site: &Site, gate: &Gate, hints: &str) -> String {
    site.target(&format!("?hints={hints}&gate={}", encode(gate.path())))
}

#[track_caller]
fn hint(connection: &mut Connection, path: &str) -> Head {
    let head = connection.read_head().expect("an interim response");
    assert_eq!(head.status, 103);
    let link = format!("<{path}>; rel=preload");
    assert_eq!(head.header_all("link"), [link.as_str()]);
    for name in [
        "content-length",
        "transfer-encoding",
        "connection",
        "x-final",
    ] {
        assert_eq!(head.header(name), None, "{name}");
    }
    head
}

#[track_caller]
fn answer(connection: &mut Connection, method: &str) {
    let response = connection.receive(method).expect("a response");
    response.assert(200, if method == "HEAD" { "" } else { "hello" });
    assert!(response.informational.is_empty(), "hints come earlier");
    assert_eq!(response.header("x-final"), Some("yes"));
    assert_eq!(response.header("link"), None);
}

async fn ask(client: &SendRequest<Bytes>, target: &str) -> ResponseFuture {
    let mut client = ready(client).await;
    let request = http::Request::get(format!("http://localhost{target}"));
    let request = request.body(()).expect("a request");
    client.send_request(request, true).expect("a stream").0
}

/// Path of the next hint. `None` if the response has arrived.
async fn next_hint(response: &mut ResponseFuture) -> Option<String> {
    let hint = poll_fn(|cx| response.poll_informational(cx)).await?;
    let hint = hint.expect("the stream goes on");
    assert_eq!(hint.status(), 103);
    let names: Vec<_> = hint
        .headers()
        .keys()
        .map(http::HeaderName::as_str)
        .collect();
    assert!(
        names.contains(&"link") && !names.contains(&"x-final"),
        "{names:?}"
    );
    let link = hint.headers()["link"].to_str().expect("text");
    let path = link.strip_prefix('<')?.strip_suffix(">; rel=preload")?;
    Some(path.to_owned())
}

/// Body of the response.
async fn last(response: ResponseFuture) -> String {
    let response = response.await.expect("a response");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["x-final"], "yes");
    assert!(!response.headers().contains_key("link"));
    String::from_utf8(whole(response.into_body()).await).expect("text")
}
