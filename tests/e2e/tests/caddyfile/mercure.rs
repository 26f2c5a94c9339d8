//! The Mercure hub, tested over HTTP.

use howdah_testkit::{Connection, PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode, www};

/// HS256 with the key below: may publish and subscribe to everything.
const TOKEN: &str = "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJtZXJjdXJlIjogeyJwdWJsaXNoIjogWyIqIl0sICJzdWJzY3JpYmUiOiBbIioiXX19.lNNh1DVRcyvmPH1ZwItY6oGbAIiSfUaUsAgQOgg-Uw8";

/// The same for Mercure 1.0, with a detail for `https://a/books/:id`. Its `aud` is the hub of `localhost`.
const ACCESS_TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJodHRwczovL2V4YW1wbGUuY29tIiwiYXVkIjoiaHR0cHM6Ly9sb2NhbGhvc3QvLndlbGwta25vd24vbWVyY3VyZSIsImV4cCI6NDEwMjQ0NDgwMCwiYXV0aG9yaXphdGlvbl9kZXRhaWxzIjpbeyJ0eXBlIjoiaHR0cHM6Ly9tZXJjdXJlLnJvY2tzL2F1dGhvcml6YXRpb24tZGV0YWlsIiwiYWN0aW9ucyI6WyJwdWJsaXNoIiwic3Vic2NyaWJlIl0sInRvcGljcyI6W3sibWF0Y2giOiJodHRwczovL2EvYm9va3MvOmlkIiwibWF0Y2hfdHlwZSI6InVybHBhdHRlcm4ifV19XX0.0UwLcAUq9qPSr6z2Ho88xJf2a8PXiQSmJFmehvtbtK4";

fn server(lines: &str) -> Server {
    let site = format!(
        "encode gzip\nmercure {{\npublisher_jwt {{env.HUB_KEY}}\nsubscriber_jwt a-secret-of-more-than-32-bytes-for-HS256\nanonymous\n{lines}\n}}\nroot * {}\nphp_server",
        www().display()
    );
    Server::caddyfile(caddyfile(&format!("{ON}\ngrace_period 1h"), &site))
        .env("HUB_KEY", "a-secret-of-more-than-32-bytes-for-HS256")
        .start()
}

fn subscribe(server: &Server, query: &str) -> Connection {
    let mut connection = server.connect();
    let target = format!("/.well-known/mercure?{query}");
    let request = Request::get(target)
        .header("Accept-Encoding", "gzip")
        .header("Accept", "text/event-stream");
    connection.send(&request).expect("sent");
    connection
}

/// Receives the next part of a body that has no end.
#[track_caller]
fn part(reader: &mut Connection) -> Vec<u8> {
    let part = reader.next_part().expect("the connection lives");
    part.expect("it goes on")
}

fn publish(server: &Server, form: &str) -> String {
    let request = Request::form("/.well-known/mercure", form)
        .header("Authorization", format!("Bearer {TOKEN}"));
    let response = server.send(&request);
    response.assert_status(200);
    response.text()
}

#[test]
fn events_are_pushed_as_they_are_published() {
    let server = server("");
    let mut reader = subscribe(
        &server,
        &format!("topic={}", encode("https://a/books/{id}")),
    );
    let head = reader.begin("GET").expect("a head");
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(
        head.header("content-encoding"),
        None,
        "a compressor would hold events back"
    );
    assert_eq!(part(&mut reader), b":\n");
    let id = publish(&server, "topic=https://a/books/1&data=one");
    let chunk = part(&mut reader);
    assert_eq!(
        String::from_utf8_lossy(&chunk),
        format!("id: {id}\ndata: one\n\n")
    );
    publish(&server, "topic=https://a/authors/1&data=other");
    publish(&server, "topic=https://a/books/2&data=secret&private=on");
    let id = publish(&server, "topic=https://a/books/3&data=three");
    let chunk = part(&mut reader);
    assert_eq!(
        String::from_utf8_lossy(&chunk),
        format!("id: {id}\ndata: three\n\n")
    );
    // The rest of the site is unchanged.
    server.get("/hello.php").assert(200, "hello");
    server
        .get("/.well-known/mercurex")
        .assert(404, "404 Not Found\n");
    let admin = Admin::of(&server);
    let page = || admin.get("/metrics").text();
    assert!(
        page().contains("mercure_subscribers_connected{hub=\"0\"} 1\n"),
        "{}",
        page()
    );
    assert!(
        page().contains("mercure_updates_total{hub=\"0\"} 4\n"),
        "{}",
        page()
    );
    drop(reader);
    let left = || page().contains("mercure_subscribers_connected{hub=\"0\"} 0\n");
    assert!(process::wait_until(PATIENCE, left), "{}", page());
}

#[test]
fn reconnecting_subscribers_get_missed_updates() {
    let server = server("");
    let first = publish(&server, "topic=t&data=1");
    let second = publish(&server, "topic=t&data=2");
    let mut reader = subscribe(&server, &format!("topic=t&lastEventID={}", encode(&first)));
    let head = reader.begin("GET").expect("a head");
    assert_eq!(head.header("last-event-id"), Some(first.as_str()));
    let mut text = String::new();
    while !text.contains("data: 2") {
        text.push_str(&String::from_utf8_lossy(&part(&mut reader)));
    }
    assert_eq!(text, format!(":\nid: {second}\ndata: 2\n\n"));
}

#[test]
fn subscribers_of_mercure_1_and_of_version_8_share_a_hub() {
    let server = server("");
    let book = encode("https://a/books/1");
    let mut old = subscribe(&server, &format!("topic={}", encode("https://a/{+any}")));
    let mut new = subscribe(&server, &format!("match={book}&match_exact=other"));
    for reader in [&mut old, &mut new] {
        assert_eq!(reader.begin("GET").expect("a head").status, 200);
        assert_eq!(part(reader), b":\n");
    }
    publish(&server, "topic=https://a/books/1&data=secret&private=on");
    publish(&server, "topic=https://a/books/12&data=twelve");
    let first = publish(&server, "topic=https://a/books/1&data=one");
    let chunk = part(&mut new);
    let event = format!("id: {first}\ndata: one\n\n");
    assert_eq!(String::from_utf8_lossy(&chunk), event);
    let mut text = String::new();
    while !text.contains("data: one") {
        text.push_str(&String::from_utf8_lossy(&part(&mut old)));
    }
    assert!(
        text.contains("data: twelve") && !text.contains("secret"),
        "{text}"
    );

    let last = publish(&server, "topic=https://a/books/1&data=two");
    let mut back = subscribe(
        &server,
        &format!("match={book}&last_event_id={}", encode(&first)),
    );
    let head = back.begin("GET").expect("a head");
    assert_eq!(head.header("mercure-last-event-id"), Some(first.as_str()));
    assert_eq!(head.header("last-event-id"), None);
    let mut text = String::new();
    while !text.contains("data: two") {
        text.push_str(&String::from_utf8_lossy(&part(&mut back)));
    }
    assert_eq!(text, format!(":\nid: {last}\ndata: two\n\n"));

    let mixed = server.get(&format!("/.well-known/mercure?match={book}&topic=t"));
    mixed.assert_status(400);
    assert!(mixed.text().contains("not both"), "{}", mixed.text());
}

#[test]
fn a_url_pattern_selects_topics() {
    let server = server("");
    let pattern = encode("https://a/books/:id(\\d+)");
    let mut reader = subscribe(&server, &format!("match_urlpattern={pattern}&match=other"));
    assert_eq!(reader.begin("GET").expect("a head").status, 200);
    assert_eq!(part(&mut reader), b":\n");
    for topic in [
        "https://a/books/x",
        "https://a/books/1/2",
        "https://b/books/1",
    ] {
        publish(&server, &format!("topic={}&data=none", encode(topic)));
    }
    publish(&server, "topic=https://a/books/2&data=secret&private=on");
    let id = publish(&server, "topic=https://a/books/1&data=one");
    let chunk = part(&mut reader);
    let event = format!("id: {id}\ndata: one\n\n");
    assert_eq!(String::from_utf8_lossy(&chunk), event);
    let invalid = encode("https://a/(");
    let refused = server.get(&format!("/.well-known/mercure?match_urlpattern={invalid}"));
    refused.assert_status(400);
    assert!(
        refused.text().contains("URL pattern is invalid"),
        "{}",
        refused.text()
    );
}

#[test]
fn an_access_token_permits_what_its_details_name() {
    let server = server("");
    let bearer = format!("Bearer {ACCESS_TOKEN}");
    let mut reader = server.connect();
    let all = Request::get("/.well-known/mercure?match=*").header("Authorization", &bearer);
    reader.send(&all).expect("sent");
    assert_eq!(reader.begin("GET").expect("a head").status, 200);
    assert_eq!(part(&mut reader), b":\n");
    let post = |form: &str| {
        let request = Request::form("/.well-known/mercure", form);
        server.send(&request.header("Authorization", &bearer))
    };
    let refused = post("topic=https://a/authors/1&data=x");
    refused.assert_status(403);
    let challenge = refused.header("www-authenticate");
    assert_eq!(challenge, Some("Bearer error=\"insufficient_scope\""));
    publish(&server, "topic=https://a/authors/1&data=secret&private=on");
    let sent = post("topic=https://a/books/1&data=one&private=on");
    sent.assert_status(200);
    let chunk = part(&mut reader);
    let event = format!("id: {}\ndata: one\n\n", sent.text());
    assert_eq!(String::from_utf8_lossy(&chunk), event);

    let elsewhere = Request::new("GET", "/.well-known/mercure?match=*")
        .host("other")
        .header("Authorization", &bearer);
    server.send(&elsewhere).assert_status(401);
}

#[test]
fn a_query_request_names_its_topics_in_the_body() {
    let server = server("");
    let mut reader = server.connect();
    let request = Request::new("QUERY", "/.well-known/mercure?match=a")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("match=b");
    reader.send(&request).expect("sent");
    assert_eq!(reader.begin("QUERY").expect("a head").status, 200);
    assert_eq!(part(&mut reader), b":\n");
    let id = publish(&server, "topic=b&data=x");
    assert_eq!(
        part(&mut reader),
        format!("id: {id}\ndata: x\n\n").as_bytes()
    );
}

#[test]
fn strangers_do_not_publish() {
    let server = server("");
    let request = Request::form("/.well-known/mercure", "topic=t&data=x");
    server.send(&request).assert_status(401);
    let wrong = request.header("Authorization", "Bearer a.b.c");
    server.send(&wrong).assert_status(401);
}

#[test]
fn a_server_that_stops_does_not_wait_for_subscribers() {
    let server = server("heartbeat 0\nwrite_timeout 0");
    let mut reader = subscribe(&server, "topic=t");
    reader.begin("GET").expect("a head");
    assert_eq!(part(&mut reader), b":\n");
    // The grace period for requests in flight is an hour, and this request would never end by
    // itself.
    server.signal(howdah_testkit::Signal::TERM);
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn without_a_key_publishing_by_http_is_refused() {
    let site = format!(
        "mercure {{\nanonymous\ndemo\n}}\nroot * {}\nphp_server",
        www().display()
    );
    let server = Server::caddyfile(caddyfile("admin off\ngrace_period 1h", &site)).start();
    server.expect_log("`demo` has no effect: the hub has no built-in pages");
    subscribe(&server, "topic=t").begin("GET").expect("a head");
    let token = format!("Bearer {TOKEN}");
    for request in [
        Request::form("/.well-known/mercure", "topic=t&data=x"),
        Request::form("/.well-known/mercure", "topic=t&data=x").header("Authorization", token),
    ] {
        server.send(&request).assert_status(401);
    }
}

#[test]
fn a_key_that_is_missing_ends_the_start() {
    let site = "mercure {\npublisher_jwt {env.HUB_KEY_THAT_IS_NOT_SET}\nanonymous\n}";
    let ended = Server::caddyfile(caddyfile("", site))
        .try_start()
        .expect_err("no key");
    ended.assert(2, "mercure: publisher_jwt: the key is empty: the environment variable HUB_KEY_THAT_IS_NOT_SET is not set");
}

#[test]
fn a_weak_key_is_reported() {
    let site = "mercure {\npublisher_jwt short\nanonymous\npublish_origins *\n}";
    let server = Server::caddyfile(caddyfile("", site)).start();
    server.expect_log("every web page can publish");
    server.expect_log("publisher_jwt: a secret of 5 bytes can be guessed");
}
