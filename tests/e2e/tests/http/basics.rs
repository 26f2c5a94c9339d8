//! Common requests and responses.

use howdah_testkit::load::{CONCURRENCY, at_once};
use howdah_testkit::{Request, Server, Www};
use howdah_tests::admin::worker_site;
use howdah_tests::www;

#[test]
fn says_hello() {
    let server = Server::builder(www()).workers(2).start();
    let response = server.get("/hello.php");
    response.assert(200, "hello");
    assert_eq!(
        response.header("content-type"),
        Some("text/html; charset=UTF-8")
    );
    assert!(response.header("date").is_some());
}

#[test]
fn serves_a_front_controller() {
    let www = Www::new().file(
        "index.php",
        "<?php echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['SCRIPT_NAME'];",
    );
    let server = Server::builder(&www).workers(2).start();
    for path in ["/", "/blog/2024?page=2", "/index.php", "/a/b.html"] {
        server.get(path).assert(200, &format!("{path} /index.php"));
    }
}

#[test]
fn passes_query_and_form() {
    let server = Server::builder(www()).workers(2).start();
    let answer = server
        .send(&Request::form("/dump.php?a=1&b[]=2&b[]=3", "c=4&d%20e=f+g"))
        .json();
    assert_eq!(
        answer["get"],
        serde_json::json!({"a": "1", "b": ["2", "3"]})
    );
    assert_eq!(answer["post"], serde_json::json!({"c": "4", "d_e": "f g"}));
    assert_eq!(answer["server"]["REQUEST_METHOD"], "POST");
    assert_eq!(answer["server"]["QUERY_STRING"], "a=1&b[]=2&b[]=3");
}

#[test]
fn answers_404_for_missing_files() {
    // There is no front controller, so PHP cannot log anything about them.
    let server = Server::builder(www()).workers(2).start();
    server.get("/missing.txt").assert_status(404);
    server.get("/missing/").assert_status(404);
    server.get("/missing").assert_status(404);
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn answers_404_for_a_script_that_is_not_there() {
    let server = Server::builder(www()).workers(2).start();
    // PHP-FPM logs the same.
    server.allow_log("Primary script unknown");
    server.get("/missing.php").assert_status(404);
    server.get("/missing.php/path").assert_status(404);
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn answers_head_without_a_body() {
    let server = Server::builder(www()).workers(2).start();
    let mut connection = server.connect();
    let get = connection
        .exchange(&Request::get("/id.php?id=1&size=500"))
        .expect("a response");
    let head = connection
        .exchange(&Request::new("HEAD", "/id.php?id=1&size=500"))
        .expect("a response");
    assert_eq!((head.status(), head.body.len()), (200, 0));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    // The connection is in the right state: a body after the response head would be taken for a
    // response.
    connection
        .exchange(&Request::get("/hello.php"))
        .expect("a response")
        .assert(200, "hello");
}

#[test]
fn sends_no_body_where_there_is_none() {
    let server = Server::builder(www()).workers(2).start();
    let mut connection = server.connect();
    for code in [204, 304] {
        let request = Request::get(format!("/status.php?code={code}&body=unwanted"));
        let response = connection.exchange(&request).expect("a response");
        assert_eq!((response.status(), response.text().as_str()), (code, ""));
    }
    connection
        .exchange(&Request::get("/hello.php"))
        .expect("a response")
        .assert(200, "hello");
}

#[test]
fn keeps_connections_alive_and_closes_on_request() {
    let server = Server::builder(www()).workers(2).start();
    let mut connection = server.connect();
    for id in 0..50 {
        let response = connection
            .exchange(&Request::get(format!("/id.php?id={id}")))
            .expect("a response");
        response.assert(200, &format!("[{id}][{id}]"));
    }
    connection
        .exchange(&Request::get("/hello.php").close())
        .expect("a response")
        .assert(200, "hello");
    connection.wait_closed().expect("the server closes");
    let mut old = server.connect();
    old.exchange(&Request::get("/hello.php").http10())
        .expect("a response")
        .assert(200, "hello");
    old.wait_closed()
        .expect("an HTTP/1.0 connection ends with its response");
}

#[test]
fn answers_pipelined_requests_in_order() {
    let server = Server::builder(www()).workers(4).start();
    at_once(20, |client| {
        let mut connection = server.connect();
        let requests: Vec<u8> = (0..20)
            .flat_map(|n| {
                Request::get(format!("/id.php?id={client}-{n}&size={}", n * 100)).to_bytes()
            })
            .collect();
        connection.send_bytes(&requests).expect("sent");
        for n in 0..20 {
            let response = connection.receive("GET").expect("a response");
            response.assert(
                200,
                &format!("[{client}-{n}]{}[{client}-{n}]", ".".repeat(n * 100)),
            );
        }
    });
}

#[test]
fn takes_chunked_bodies() {
    let server = Server::builder(www()).workers(2).start();
    let request = Request::new("POST", "/dump.php")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .chunked(["a=", "1&b", "=2"])
        .trailer("X-Trailer", "ignored");
    let mut connection = server.connect();
    let answer = connection.exchange(&request).expect("a response").json();
    assert_eq!(answer["post"], serde_json::json!({"a": "1", "b": "2"}));
    assert_eq!(answer["input"], "a=1&b=2");
    assert_eq!(answer["headers"].get("X-Trailer"), None);
    // PHP gets the length of the body that arrived, although the client did not declare it.
    assert_eq!(answer["server"]["CONTENT_LENGTH"], "7");
    let request = Request::new("PUT", "/dump.php").chunked(Vec::<&[u8]>::new());
    assert_eq!(
        connection.exchange(&request).expect("a response").json()["input_size"],
        0
    );
}

#[test]
fn sends_100_continue_for_a_body_that_waits_for_it() {
    let server = Server::builder(www()).workers(2).start();
    let mut connection = server.connect();
    let request = Request::form("/dump.php", "a=1").header("Expect", "100-continue");
    connection.send_bytes(&request.head_bytes()).expect("sent");
    assert_eq!(
        connection.read_head().expect("an interim response").status,
        100
    );
    connection.send_bytes(&request.body_bytes()).expect("sent");
    let answer = connection.receive("POST").expect("a response").json();
    assert_eq!(answer["post"], serde_json::json!({"a": "1"}));
}

#[test]
fn never_mixes_up_concurrent_requests() {
    let server = Server::builder(www()).workers(4).start();
    at_once(CONCURRENCY, |client| {
        let mut connection = server.connect();
        for n in 0..20 {
            let id = format!("{client}-{n}");
            let size = (client * 997 + n * 4099) % 60_000;
            let request = Request::get(format!("/id.php?id={id}&size={size}"));
            let response = connection.exchange(&request).expect("a response");
            response.assert(200, &format!("[{id}]{}[{id}]", ".".repeat(size)));
        }
    });
}

#[test]
fn passes_status_and_fields_of_the_script() {
    let server = Server::builder(www()).workers(2).start();
    let target = "/status.php?code=201&header[]=X-One:+a&header[]=X-One:+b&header[]=Location:+/new&body=made";
    let response = server.get(target);
    response.assert(201, "made");
    assert_eq!(response.head.header_all("x-one"), ["a", "b"]);
    assert_eq!(response.header("location"), Some("/new"));
    for code in [200, 301, 403, 404, 418, 500, 503, 599] {
        server
            .get(&format!("/status.php?code={code}&body=x"))
            .assert(code, "x");
    }
}

#[test]
fn takes_any_method_that_a_script_may_want() {
    let server = Server::builder(www()).workers(2).start();
    for method in [
        "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT",
    ] {
        let response = server.send(&Request::new(method, "/dump.php").body("raw body"));
        let answer = response.json();
        assert_eq!(answer["server"]["REQUEST_METHOD"], method);
        assert_eq!(answer["input"], "raw body", "{method}");
    }
}

#[test]
fn a_wrong_length_of_a_script_misleads_no_client() {
    let server = Server::builder(www()).workers(1).start();
    server.allow_log("Content-Length");
    for length in ["0", "5", "20", "abc", "-1", "10, 10"] {
        let mut connection = server.connect();
        let target =
            format!("/status.php?code=200&header[]=Content-Length:+{length}&body=0123456789");
        connection
            .send(&Request::get(target.replace(", ", ",+")))
            .expect("sent");
        // The response may be complete, cut to its length, refused or aborted. But no stray bytes
        // may follow it, and its length must not be wrong.
        match connection.receive("GET") {
            Ok(response) if response.status() == 200 => {
                assert!(
                    "0123456789".starts_with(&response.text()),
                    "{length}: {}",
                    response.text()
                );
            }
            Ok(response) => response.assert_status(502),
            Err(error) => assert!(error.is_closed(), "{length}: {error}"),
        }
        if connection.send(&Request::get("/hello.php")).is_ok() {
            match connection.receive("GET") {
                Ok(response) => response.assert(200, "hello"),
                Err(error) => assert!(error.is_closed(), "{length}, next request: {error}"),
            }
        }
    }
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn fields_that_there_is_one_of_are_sent_once() {
    let send = "foreach (['Content-Type: text/plain', 'Content-Type: application/json', 'ETag: \"1\"', 'ETag: \"2\"', \
                'Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT', 'Last-Modified: Tue, 02 Jan 2024 00:00:00 GMT', \
                'Location: /one', 'Location: /two', 'Set-Cookie: a=1', 'Set-Cookie: b=2', 'Link: </a>', 'Link: </b>', \
                'WWW-Authenticate: Basic', 'WWW-Authenticate: Bearer'] as $field) { header($field, false); } echo '{}';";
    let loop_of = format!(
        "<?php $handler = function () {{ {send} }}; while (frankenphp_handle_request($handler)) {{ }}"
    );
    let www = Www::new()
        .file("index.php", format!("<?php {send}"))
        .file("worker.php", loop_of);
    let servers = [
        Server::builder(&www).workers(1).start(),
        Server::caddyfile(worker_site(www.path(), "")).start(),
        Server::caddyfile(worker_site(www.path(), "concurrency 4")).start(),
    ];
    for server in &servers {
        server.allow_hogs();
        let response = server.get("/");
        response.assert(401, "{}");
        for (name, expected) in [
            ("content-type", &["application/json"][..]),
            ("etag", &["\"2\""]),
            ("last-modified", &["Tue, 02 Jan 2024 00:00:00 GMT"]),
            ("location", &["/two"]),
            ("set-cookie", &["a=1", "b=2"]),
            ("link", &["</a>", "</b>"]),
            ("www-authenticate", &["Basic", "Bearer"]),
        ] {
            assert_eq!(response.head.header_all(name), expected, "{name}");
        }
    }
}
