//! `reverse_proxy`, with Howdah servers as upstreams.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::front::{back, front};
use crate::support::{PATIENCE, closed_port, wait_until};

#[test]
fn requests_and_responses_pass() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "rewrite /old* /new?{query}\nheader X-Front yes\nreverse_proxy UP {\n\
         header_up X-Up {method}\nheader_up -X-Drop\nheader_up Host {upstream_hostport}\n\
         header_up X-Via \"{host} to {upstream_hostport}/{rp.upstream.hostport}\"\n\
         header_down -X-Secret\nheader_down X-Down {path}\n}",
    );
    let target =
        "/a%20b/c?mode=answer&status=404&h=x-secret:1&h=x-other:2&h=connection:x-hop&h=x-hop:3";
    let reply = front.get_with(
        target,
        "X-Drop: 1\r\nX-Keep: 1\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n\
         Connection: x-mine\r\nX-Mine: 1\r\nTE: trailers\r\n",
    );
    assert_eq!(reply.status, 404);
    assert_eq!(reply.value("uri"), target);
    assert_eq!(reply.value("h.x-up"), "GET");
    assert_eq!(reply.value("h.x-keep"), "1");
    assert_eq!(reply.value("host"), back.address());
    let via = format!("localhost to {0}/{0}", back.address());
    assert_eq!(reply.value("h.x-via"), via);
    assert_eq!(reply.value("h.x-forwarded-for"), "127.0.0.1");
    assert_eq!(reply.value("h.x-forwarded-proto"), "http");
    assert_eq!(reply.value("h.x-forwarded-host"), "localhost");
    for gone in ["h.x-drop", "h.x-mine", "h.te", "h.connection"] {
        assert!(
            !reply.text().contains(&format!("\n{gone}=")),
            "{gone} {reply:?}"
        );
    }
    assert_eq!(reply.header("x-other"), Some("2"));
    assert_eq!(reply.header("x-front"), Some("yes"));
    assert_eq!(reply.header("x-down"), Some("/a%20b/c"));
    for gone in ["x-secret", "x-hop"] {
        assert_eq!(reply.header(gone), None, "{gone}");
    }
    assert_eq!(front.get("/old/x?a=b").value("uri"), "/new?a=b");
    // The connection to the upstream is reused.
    for _ in 0..5 {
        assert_eq!(front.get("/x").status, 200);
    }
    assert_eq!(back.harness.server.stats().connections(), 1);
}

#[test]
fn fields_of_a_trusted_proxy_are_forwarded() {
    let back = back();
    let front = front(
        &back.address(),
        "servers {\ntrusted_proxies static private_ranges\n}",
        "reverse_proxy UP",
    );
    let reply = front.get_with(
        "/",
        "X-Forwarded-For: 8.8.8.8\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n",
    );
    assert_eq!(reply.value("h.x-forwarded-for"), "8.8.8.8, 127.0.0.1");
    assert_eq!(reply.value("h.x-forwarded-proto"), "https");
    assert_eq!(reply.value("h.x-forwarded-host"), "shop.example");
    assert_eq!(reply.value("host"), "localhost");
}

#[test]
fn bodies_are_streamed_and_limited() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "request_body /small {\nmax_size 3\n}\nreverse_proxy UP",
    );
    let body = "x".repeat(300_000);
    let reply = front.send(&format!(
        "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_eq!(
        (reply.value("method"), reply.value("length")),
        ("POST", "300000")
    );
    let chunked = "POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for method in ["POST", "GET"] {
        let reply = front.send(&chunked.replacen("POST", method, 1));
        assert_eq!(
            (reply.value("method"), reply.value("length")),
            (method, "5")
        );
    }
    let reply = front.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd");
    assert_eq!(reply.status, 413);
    let chunked = chunked.replace("/up", "/small");
    assert_eq!(front.send(&chunked).status, 413);
    // The first part of a response arrives before the second is created.
    let mut client = front.connect();
    client.write(b"GET /?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"first");
    back.harness.seen.open_gate();
    client.read_until(b"0\r\n\r\n");
    // A client that disconnects ends the upstream's request.
    let dropped = back
        .harness
        .seen
        .dropped
        .load(std::sync::atomic::Ordering::SeqCst);
    let mut client = front.connect();
    client.write(b"GET /?mode=endless HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"\r\n\r\n");
    drop(client);
    wait_until("the upstream knows that the client is gone", || {
        back.harness
            .seen
            .dropped
            .load(std::sync::atomic::Ordering::SeqCst)
            > dropped
    });
}

#[test]
fn responses_of_upstreams_are_handled() {
    let back = back();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("busy.html"), "busy").unwrap();
    let front = front(
        &back.address(),
        "",
        &format!(
            "root * {}\nreverse_proxy UP {{\n@bad status 5xx\n@teapot status 418\n\
             handle_response @bad {{\nheader X-Was {{rp.status_code}}\nrewrite * /busy.html\nfile_server\n}}\n\
             replace_status @teapot 404\n}}",
            directory.path().display()
        ),
    );
    let reply = front.get("/?mode=answer&status=500&h=x-kept:1");
    assert_eq!((reply.status, reply.text()), (200, "busy"));
    assert_eq!(
        (reply.header("x-was"), reply.header("x-kept")),
        (Some("500"), None)
    );
    assert_eq!(front.get("/?mode=answer&status=418").status, 404);
    assert_eq!(front.get("/?mode=answer&status=404").status, 404);
}

#[test]
fn responses_of_upstreams_are_copied() {
    let back = back();
    let copying = |directives: &str| {
        let site = format!(
            "header X-Outer 1\nreverse_proxy UP {{\n@bad status 5xx\nhandle_response @bad {{\nheader X-Was \"{{rp.status_code}} {{http.reverse_proxy.status_text}}\"\n{directives}\n}}\n}}"
        );
        front(&back.address(), "", &site)
    };
    let target = "/?mode=answer&status=503&h=x-one:1&h=x-two:2&h=etag:old";
    for (directives, status, body, fields) in [
        ("respond sorry", 200, "sorry", [None, None]),
        (
            "copy_response_headers\nrespond sorry 500",
            500,
            "sorry",
            [Some("1"), Some("2")],
        ),
        (
            "copy_response_headers {\ninclude X-One\n}\nrespond sorry",
            200,
            "sorry",
            [Some("1"), None],
        ),
        (
            "copy_response_headers {\nexclude X-One\n}\nrespond sorry",
            200,
            "sorry",
            [None, Some("2")],
        ),
        ("copy_response", 503, "method=GET", [Some("1"), Some("2")]),
        (
            "copy_response 404",
            404,
            "method=GET",
            [Some("1"), Some("2")],
        ),
        (
            "copy_response /other 404\nrespond sorry",
            200,
            "sorry",
            [None, None],
        ),
    ] {
        let front = copying(directives);
        let reply = front.get(target);
        assert_eq!(reply.status, status, "{directives}");
        assert!(reply.text().starts_with(body), "{directives}: {reply:?}");
        let found = [reply.header("x-one"), reply.header("x-two")];
        assert_eq!(found, fields, "{directives}");
        assert_eq!(
            reply.header("x-was"),
            Some("503 Service Unavailable"),
            "{directives}"
        );
        assert_eq!(reply.header("x-outer"), Some("1"), "{directives}");
        assert_eq!(front.get("/").status, 200, "{directives}");
    }
}

#[test]
fn a_replaced_response_keeps_repeated_fields() {
    let (first, second) = (back(), back());
    let front = front(
        &first.address(),
        "",
        &format!(
            "reverse_proxy UP {{\nhandle_response {{\ncopy_response_headers\nrewrite * /?mode=answer&h=set-cookie:a&h=set-cookie:b&h=x-new:1&h=vary:Accept\n\
             reverse_proxy {}\n}}\n}}",
            second.address()
        ),
    );
    let reply =
        front.get("/?mode=answer&h=set-cookie:old&h=x-old:1&h=x-new:0&h=x-new:2&h=vary:Origin");
    let all = |name: &str| -> Vec<&str> {
        let fields = reply.head.lines().filter_map(|line| line.split_once(": "));
        fields
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    };
    assert_eq!(all("set-cookie"), ["a", "b"]);
    assert_eq!(all("x-new"), ["1"]);
    assert_eq!(all("x-old"), ["1"]);
    assert_eq!(all("vary"), ["Origin", "Accept"]);
}

#[test]
fn the_upstream_may_get_another_request() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "handle /get/* {\nreverse_proxy UP {\nmethod GET\nrewrite /verify?from={uri}\n}\n}\n\
         handle_path /put/* {\nreverse_proxy UP {\nmethod put\nrewrite /all{path}\n}\n}",
    );
    let reply = front.send("POST /get/a%20b?c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(reply.value("method"), "GET");
    assert_eq!(reply.value("uri"), "/verify?from=%2Fget%2Fa%2520b%3Fc");
    assert_eq!(reply.value("length"), "0");
    let put = front.send("POST /put/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!((put.value("method"), put.value("length")), ("PUT", "3"));
    assert_eq!(put.value("uri"), "/all/x?y");
    // The body was not read.
    assert_eq!(reply.header("connection"), Some("close"));
}

#[test]
fn a_proxy_may_trust_others_than_the_server_does() {
    let back = back();
    let forwarded_for = |global: &str, ranges: &str| {
        let site = format!("reverse_proxy UP {{\ntrusted_proxies {ranges}\n}}");
        let front = front(&back.address(), global, &site);
        let reply = front.get_with("/", "X-Forwarded-For: 8.8.8.8\r\n");
        reply.value("h.x-forwarded-for").to_owned()
    };
    assert_eq!(forwarded_for("", "private_ranges"), "8.8.8.8, 127.0.0.1");
    let global = "servers {\ntrusted_proxies static private_ranges\n}";
    assert_eq!(forwarded_for(global, "10.0.0.0/8"), "127.0.0.1");
}

#[test]
fn an_upstream_that_is_gone_is_passed_over() {
    let back = back();
    let (_reserved, gone) = closed_port();
    let gone = gone.to_string();
    let single = front(
        &gone,
        "",
        "reverse_proxy UP\nhandle_errors {\nrespond \"sorry {err.status_code}\"\n}",
    );
    let reply = single.get("/");
    assert_eq!((reply.status, reply.text()), (502, "sorry 502"));
    let several = front(
        &format!("{gone} {}", back.address()),
        "",
        "reverse_proxy UP {\nlb_policy first\nlb_retries 1\nlb_try_interval 1ms\nfail_duration 1h\n}",
    );
    // Also with a body, because no upstream has received any of it.
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for _ in 0..3 {
        assert_eq!(several.send(post).value("length"), "3");
    }
    // After one remembered failure, no upstream is left.
    let alone = front(&gone, "", "reverse_proxy UP {\nfail_duration 1h\n}");
    assert_eq!(alone.get("/").status, 502);
    assert_eq!(alone.get("/").status, 503);
}

/// An upstream with one connection. It responds to each of `requests` requests as soon as it has
/// the request head, and returns the heads.
fn early(requests: usize) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let answer = |_| {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
                .unwrap();
            String::from_utf8(head).unwrap().to_ascii_lowercase()
        };
        (0..requests).map(answer).collect()
    });
    (address, answering)
}

#[test]
fn a_body_that_another_upstream_was_given_is_not_announced_again() {
    let (up, answering) = early(2);
    let (_reserved, gone) = closed_port();
    let front = front(
        &up,
        "",
        &format!("reverse_proxy {gone}\nhandle_errors {{\nreverse_proxy UP\n}}"),
    );
    let post = "POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(front.send(post).text(), "early");
    assert_eq!(front.get("/second").text(), "early");
    let heads = answering.join().unwrap();
    assert!(heads[0].contains("\r\ncontent-length: 0\r\n"), "{heads:?}");
    assert!(
        heads[1].starts_with("get /second http/1.1\r\n"),
        "{heads:?}"
    );
}

#[test]
fn lengths_are_those_of_the_bodies() {
    let (up, answering) = early(1);
    let lying = front(
        &up,
        "",
        "reverse_proxy UP {\nheader_up Content-Length 40\nheader_up Transfer-Encoding chunked\n}",
    );
    assert_eq!(lying.get("/").text(), "early");
    let heads = answering.join().unwrap();
    assert!(heads[0].contains("\r\ncontent-length: 0\r\n"), "{heads:?}");
    assert!(!heads[0].contains("transfer-encoding"), "{heads:?}");
}

#[test]
fn upstreams_always_get_a_host() {
    let back = back();
    let front = front(&back.address(), "", "reverse_proxy UP");
    let old = front.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((old.status, old.value("host")), (200, &*back.address()));
    let old = front.send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    assert_eq!(old.value("host"), "a.test");
    let hidden = front.get_with("/", "Connection: close, Host, X-Mine\r\nX-Mine: 1\r\n");
    assert_eq!((hidden.status, hidden.value("host")), (200, "localhost"));
    assert!(!hidden.text().contains("h.x-mine"), "{hidden:?}");
}

#[test]
fn clients_stay_with_their_upstream() {
    let (one, two) = (back(), back());
    let both = format!("{} {}", one.address(), two.address());
    let front = front(
        &both,
        "",
        "reverse_proxy UP {\nlb_policy cookie\nheader_up X-Up {upstream_hostport}\n}",
    );
    let reply = front.get("/");
    let cookie = reply.header("set-cookie").unwrap();
    let value = cookie.split(';').next().unwrap().to_owned();
    assert!(value.starts_with("lb="), "{cookie}");
    for _ in 0..8 {
        let again = front.get_with("/", &format!("Cookie: a=b; {value}\r\n"));
        assert_eq!(again.value("h.x-up"), reply.value("h.x-up"));
        assert_eq!(again.header("set-cookie"), None);
    }
}

#[test]
fn upstreams_are_health_checked() {
    let (ill, well) = (back(), back());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sick = listener.local_addr().unwrap().to_string();
    // Responds to all requests with 500 until the test ends.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut scratch = [0; 4096];
            let _ = stream.read(&mut scratch);
            let _ = stream.write_all(
                b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsick",
            );
        }
    });
    drop(ill);
    let front = front(
        &format!("{sick} {}", well.address()),
        "",
        "reverse_proxy UP {\nlb_policy first\nhealth_uri /up?mode=empty\nhealth_interval 20ms\n}",
    );
    wait_until("the sick upstream gets no requests", || {
        front.get("/").status == 200
    });
    assert_eq!(front.get("/x").value("uri"), "/x");
}

#[test]
fn unix_sockets_and_time_limits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("up.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix")
            .unwrap();
        String::from_utf8(seen).unwrap()
    });
    let socket = format!("unix/{}", path.display());
    let unix = front(&socket, "", "reverse_proxy UP");
    assert_eq!(unix.send("GET /a?b HTTP/1.0\r\n\r\n").text(), "unix");
    let seen = answering.join().unwrap();
    assert!(seen.starts_with("GET /a?b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nhost: localhost\r\n"), "{seen}");

    // The kernel accepts connections, and no process responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = front(
        &silent.local_addr().unwrap().to_string(),
        "",
        "reverse_proxy UP {\ntransport http {\nresponse_header_timeout 50ms\n}\n}",
    );
    assert_eq!(slow.get("/").status, 504);
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(slow.send(post).status, 504);
    assert!(TcpStream::connect(silent.local_addr().unwrap()).is_ok());
}

#[test]
fn requests_that_cannot_be_sent_are_not_failures_of_an_upstream() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "uri strip_suffix .x\nreverse_proxy UP {\nfail_duration 1h\n}",
    );
    // The encoded target is three times as long, which exceeds the limit of a URI.
    let target = format!("/{}.x", "|".repeat(27_000));
    assert_eq!(front.get(&target).status, 400);
    assert_eq!(front.get("/api/").status, 200);
}

#[test]
fn escapes_survive_a_changed_path() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "handle_path /api/* {\nreverse_proxy UP\n}\nuri /strip/* strip_prefix strip\nuri /b/* strip_suffix .x\n\
         uri /r/* replace /r/ /new/\nuri /re/* path_regexp ^/re/ /\nrewrite /w/* /to{path}\nreverse_proxy UP",
    );
    for (target, expected) in [
        ("/api/a%2Fb%40c?q=%2F", "/a%2Fb%40c?q=%2F"),
        ("/api/@scope%2Fname//x", "/@scope%2Fname//x"),
        ("/api/caf%E9", "/caf%E9"),
        ("/%61pi/a%2Fb", "/a%2Fb"),
        ("/api", "/api"),
        ("/strip/a%3Bb", "/a%3Bb"),
        ("/b/a%2Fb.x", "/b/a%2Fb"),
        ("/b/a%2Fb%2Ex", "/b/a%2Fb"),
        ("/r/a%2Fb", "/new/a%2Fb"),
        ("/re/a%2Fb", "/a%2Fb"),
        ("/w/a%2Fb", "/to/w/a%2Fb"),
        // No redirect may lead from here to a different host.
        ("/api//evil.example/x", "/evil.example/x"),
        ("/api/%2Fevil.example/x", "/%2Fevil.example/x"),
        // Slashes that are merged for the comparison are also merged in the request.
        ("//api/a%2Fb", "/a/b"),
        ("/x/../api/a%2Fb", "/a/b"),
    ] {
        assert_eq!(front.get(target).value("uri"), expected, "{target}");
    }
}

#[test]
fn fields_of_an_upstream_are_added_to_those_of_header() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "header Cache-Control public\nheader Set-Cookie front=1\nheader Content-Type text/css\nheader +X-Add front\n\
         header X-Own front\nheader >X-Last front\nreverse_proxy UP {\nheader_down X-Down changed\n}",
    );
    let reply = front.get(
        "/?mode=answer&h=cache-control:no-store&h=set-cookie:a&h=set-cookie:b&h=content-type:text/html\
         &h=x-add:up&h=x-last:up&h=x-down:up",
    );
    for (name, expected) in [
        // A shared cache applies the strictest directive.
        ("cache-control", &["public", "no-store"][..]),
        ("set-cookie", &["front=1", "a", "b"]),
        // This field occurs only once.
        ("content-type", &["text/css"]),
        ("x-add", &["front", "up"]),
        ("x-own", &["front"]),
        ("x-last", &["front"]),
        ("x-down", &["changed"]),
    ] {
        let lines = reply.head.lines().filter_map(|line| line.split_once(": "));
        let values: Vec<_> = lines
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .collect();
        assert_eq!(values, expected, "{name}");
    }
}

#[test]
fn requests_are_clear_to_any_upstream() {
    let back = back();
    let front = front(&back.address(), "", "reverse_proxy UP");
    let reply = front.get_with(
        "/",
        "Remote_User: admin\r\nX_Forwarded_For: 6.6.6.6\r\nX-Ok: 1\r\n",
    );
    assert_eq!(reply.value("h.x-ok"), "1");
    for gone in ["h.remote_user", "h.x_forwarded_for"] {
        assert!(!reply.text().contains(gone), "{reply:?}");
    }
    for method in ["POST", "PUT", "PATCH"] {
        let reply = front.send(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(reply.value("h.content-length"), "0", "{method}");
    }
}

/// An upstream that responds to one request with these bytes.
fn scripted(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream.write_all(answer).unwrap();
    });
    address
}

#[test]
fn hints_and_trailers_of_an_upstream_pass() {
    let up = scripted(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n\
          HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 17\r\n\r\n",
    );
    let front = front(&up, "", "reverse_proxy UP");
    let mut client = front.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
    let hint = client.reply(false);
    assert_eq!(hint.status, 103);
    assert_eq!(hint.header("link"), Some("</a.css>; rel=preload"));
    let head = String::from_utf8(client.read_until(b"\r\n\r\n")).unwrap();
    assert!(head.contains("trailer: X-Sum"), "{head}");
    let body = String::from_utf8(client.read_until(b"0\r\n")).unwrap();
    assert_eq!(body, "3\r\nabc\r\n0\r\n");
    let trailers = String::from_utf8(client.read_until(b"\r\n\r\n")).unwrap();
    assert_eq!(trailers.to_ascii_lowercase(), "x-sum: 17\r\n\r\n");
}

#[test]
fn slow_uploads_are_not_the_upstreams() {
    let back = back();
    let options = "{\nfail_duration 1h\nunhealthy_latency 1s\ntransport http {\nresponse_header_timeout 1s\n}\n}";
    let to_back = front(&back.address(), "", &format!("reverse_proxy UP {options}"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let to_silent = front(
        &silent.local_addr().unwrap().to_string(),
        "",
        &format!("reverse_proxy UP {options}"),
    );
    let mut clients = [to_back.connect(), to_silent.connect()];
    for client in &mut clients {
        client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
        // The wait is under test: it is longer than the upstream's timeout.
        let wait = Some(Duration::from_millis(1_500));
        client.stream.set_read_timeout(wait).unwrap();
        let answer = client.stream.read(&mut [0]);
        assert!(answer.is_err(), "an answer, or the end: {answer:?}");
        client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let [mut uploading, mut unanswered] = clients;
    uploading.write(b"def");
    assert_eq!(uploading.reply(true).value("length"), "6");
    assert_eq!(to_back.get("/").status, 200);
    let begun = Instant::now();
    unanswered.write(b"def");
    assert_eq!(unanswered.reply(true).status, 504);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(to_silent.get("/").status, 503);
}

#[test]
fn an_upstream_that_accepts_nothing_is_given_up() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = front(
        &deaf.local_addr().unwrap().to_string(),
        "",
        "reverse_proxy UP {\nlb_retries 3\ntransport http {\nwrite_timeout 100ms\n}\n}",
    );
    let mut client = front.connect();
    // More than sockets hold.
    let length = 64 << 20;
    client.write(
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n").as_bytes(),
    );
    let mut writer = client.stream.try_clone().unwrap();
    let sent = thread::spawn(move || {
        // The server stops reading.
        let _ = std::io::Write::write_all(&mut writer, &vec![b'a'; length]);
    });
    assert_eq!(client.reply(true).status, 504);
    drop(client);
    sent.join().unwrap();
    // A part of it may have arrived: it is not sent again.
    deaf.set_nonblocking(true).unwrap();
    assert!(deaf.accept().is_ok());
    assert!(deaf.accept().is_err());
}

#[test]
fn placeholders_choose_the_upstream() {
    let (one, two) = (back(), back());
    let port = |back: &crate::support::front::Back| back.harness.address().port();
    let site = format!(
        "map {{path}} {{tenant}} {{\n~^/t/one localhost:{}\n~^/t/two 127.0.0.1:{}\ndefault \"\"\n}}\n\
         reverse_proxy /t/* {{tenant}} {{\nheader_up X-Up {{upstream_hostport}}\n}}\n\
         @port path_regexp to ^/to/([0-9]+)\nreverse_proxy @port 127.0.0.1:{{re.to.1}}\n\
         reverse_proxy {{http.request.header.X-Up}}:{{query.port}} {{\n\
         fail_duration 1m\nunhealthy_status 5xx\n}}",
        port(&one),
        port(&two)
    );
    let front = front("", "", &site);
    for (number, back) in [("one", &one), ("two", &two)] {
        for _ in 0..3 {
            let reply = front.get(&format!("/t/{number}/x"));
            assert_eq!(reply.value("uri"), format!("/t/{number}/x"));
            assert_eq!(reply.value("host"), "localhost");
            assert!(reply.value("h.x-up").ends_with(&format!(":{}", port(back))));
        }
        // Their connections are kept.
        assert_eq!(back.harness.server.stats().connections(), 1);
        let reply = front.get(&format!("/to/{}", port(back)));
        assert_eq!(reply.status, 200);
        let target = format!("/x?port={}", port(back));
        let reply = front.get_with(&target, "X-Up: 127.0.0.1\r\n");
        assert_eq!(reply.status, 200);
    }
    for (target, fields) in [
        ("/t/other", ""),
        ("/to/99999", ""),
        ("/x?port=80", ""),
        ("/x", "X-Up: 127.0.0.1\r\n"),
        ("/x?port=80", "X-Up: unix//run/a.sock\r\n"),
        ("/x?port=80", "X-Up: user@127.0.0.1\r\n"),
    ] {
        assert_eq!(
            front.get_with(target, fields).status,
            502,
            "{target} {fields}"
        );
    }
    // A server that one client has chosen is not unhealthy for others.
    let (_closed, address) = closed_port();
    let target = format!("/x?port={}", address.port());
    assert_eq!(front.get_with(&target, "X-Up: 127.0.0.1\r\n").status, 502);
    let target = format!("/x?port={}", port(&one));
    assert_eq!(front.get_with(&target, "X-Up: 127.0.0.1\r\n").status, 200);
}
