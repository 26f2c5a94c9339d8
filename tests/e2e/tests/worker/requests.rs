//! Requests and responses are the same in classic and in worker mode.

use howdah_testkit::load::{CONCURRENCY, at_once};
use howdah_testkit::{Connection, Request};
use howdah_tests::worker::Site;
use howdah_tests::{encode, in_both_modes};
use serde_json::{Value, json};

const BOUNDARY: &str = "XworkerX";

in_both_modes! {
    hello("hello.php") = |site| {
        at_once(CONCURRENCY, |i| site.get(&format!("?i={i}")).assert(200, &format!("hello {i}")));
        site.get("").assert(200, "hello nobody");
    };
    info("info.php") = |site| {
        let page = site.get("?only-in-this-query=1").text();
        assert!(page.contains("only-in-this-query"), "{page}");
        assert!(page.ends_with("howdah"), "{page}");
    };
    input("input.php") = reads_bodies;
    large_response("large.php") = |site| {
        for kb in [4, 64, 5000, 1] {
            let response = site.get(&format!("?kb={kb}"));
            response.assert_status(200);
            assert_eq!(response.body.len(), kb * 1024);
            let wrong = response.body.chunks(1024).zip((b'a'..=b'z').cycle());
            assert!(wrong.clone().all(|(part, letter)| part.iter().all(|b| *b == letter)));
        }
    };
    superglobals("superglobals.php") = fills_superglobals;
    server_variables("superglobals.php") = |site| {
        for path in ["", "/", "/path", "/path/info", "/a%20b"] {
            let server = site.get(&format!("{path}?q=1")).json()["server"].clone();
            let info = path.replace("%20", " ");
            assert_eq!(server["PATH_INFO"], info, "{path}");
            assert_eq!(server["SCRIPT_NAME"], "/superglobals.php", "{path}");
            assert_eq!(server["PHP_SELF"], format!("/superglobals.php{info}"), "{path}");
            assert_eq!(server["REQUEST_URI"], format!("/superglobals.php{path}?q=1"));
            assert_eq!(server["FRANKENPHP_WORKER"], Value::Null, "{path}");
        }
        for name in ["AUTH_TYPE", "REMOTE_IDENT", "HTTPS", "SSL_PROTOCOL", "REMOTE_USER"] {
            assert_eq!(site.get("").json()["server"].get(name), None, "{name}");
        }
        for name in ["CONTENT_TYPE", "CONTENT_LENGTH"] {
            // Symfony's runtime fills missing values from the boot, so none of these may be
            // missing.
            let value = site.get("").json()["server"][name].clone();
            assert_eq!(value, site.expect(value.clone(), json!("")), "{name}");
        }
    };
    request_superglobal("request.php") = |site| {
        // Requests that never use $_REQUEST, between requests that do.
        at_once(CONCURRENCY, |i| match i % 3 {
            0 => site.get(&format!("?skip&i={i}")).assert(200, &format!("done {i}")),
            1 => site.get(&format!("?i={i}")).assert(200, &format!("{{\"i\":\"{i}\"}} done {i}")),
            _ => {
                let form = Request::form(site.target("?get=1"), &format!("post={i}"));
                site.server.send(&form).assert(200, &format!("{{\"get\":\"1\",\"post\":\"{i}\"}} done "));
            }
        });
    };
    headers("headers.php") = |site| {
        for i in 0..10 {
            let more = i % 2 == 0;
            let response = site.get(&format!("?i={i}{}", if more { "&more" } else { "" }));
            response.assert(201, &format!("headers {i}"));
            assert_eq!(response.header("x-one"), Some("bar"));
            assert_eq!(response.header("x-two"), Some("bar2"));
            assert_eq!(response.head.header_all("x-request"), [i.to_string()]);
            assert_eq!(response.header("x-more"), more.then_some("yes"));
        }
    };
    response_headers("response_headers.php") = |site| {
        for _ in 0..3 {
            let headers = site.get("").json();
            assert_eq!(headers["x-first"], "1");
            assert_eq!(headers["x-same"], "b");
            assert!(headers["content-type"].as_str().is_some_and(|t| t.starts_with("text/plain")));
        }
    };
    request_headers("request_headers.php") = |site| {
        for i in 0..3 {
            let request = Request::get(site.target("")).header("x-number", i.to_string());
            let answer = site.server.send(&request.header("X-Twice", "a").header("X-Twice", "b")).json();
            assert_eq!(answer[0]["X-Number"], i.to_string());
            assert_eq!(answer[0]["X-Twice"], "a, b");
            assert_eq!(answer[1], true);
        }
        assert_eq!(site.get("").json()[0]["X-Number"], Value::Null);
    };
    status_lines("status_line.php") = |site| {
        let line = |line: &str| site.get(&format!("?line={}", encode(line)));
        line("HTTP/1.1 418 I am a teapot").assert(418, "body");
        // Too short for a status. The script must not harm the server.
        line("HTTP/").assert_status(200);
        line("X-Fine: 1").assert(200, "body");
    };
    empty_response("empty.php") = |site| {
        for _ in 0..3 {
            let response = site.get("");
            response.assert(204, "");
            assert_eq!(response.header("x-empty"), Some("yes"));
        }
    };
    cookies("cookies.php") = |site| {
        let response = site.get_with("", "n=4; odd; =empty; a[]=1; a[]=2");
        assert_eq!(response.json()["a"], json!(["1", "2"]));
        assert_eq!(response.header("set-cookie"), Some("n=5; path=/; HttpOnly"));
        site.get("").assert(200, "{}");
        site.get_with("", "%01=;;; ==").assert_status(200);
        site.get("").assert(200, "{}");
    };
    uploads("upload.php") = |site| {
        for i in 0..3 {
            let answer = site.server.send(&upload(site, &format!("text {i}"))).json();
            assert_eq!(answer["text"], format!("text {i}"));
            assert_eq!(answer["name"], "name.txt");
            assert_eq!(answer["is"], true);
            assert_eq!(answer["field"], "value");
            // The next request neither considers it an upload of its own nor finds the file.
            let path = encode(answer["path"].as_str().expect("a path"));
            site.get(&format!("?is={path}")).assert(200, "[false,false]");
        }
    };
    fibers("fiber.php") = |site| {
        for i in 0..20 {
            let text = format!("in said {i} back with word end");
            site.get(&format!("?i={i}")).assert(200, &text);
        }
    };
    flushes("flush.php") = |site| {
        for i in 0..3 {
            let mut gate = site.server.gate(&format!("gate{i}"));
            let mut connection = site.server.connect();
            let target = site.target(&format!("?i={i}&gate={}", encode(gate.path())));
            connection.send(&Request::get(target)).expect("sent");
            connection.begin("GET").expect("a head");
            connection.read_until("He").expect("the first part");
            gate.open(1);
            connection.read_until(&format!("llo {i}")).expect("the second part");
        }
    };
    early_hints("early_hints.php") = |site| {
        for _ in 0..3 {
            let response = site.get("");
            response.assert(200, "hello");
            assert_eq!(response.informational.len(), 1);
            assert_eq!(response.informational[0].status, 103);
            assert_eq!(response.informational[0].header("link"), Some("</style.css>; rel=preload"));
            assert_eq!(response.header("link"), None);
            assert_eq!(response.header("x-final"), Some("yes"));
        }
    };
    finished_responses("finish.php") = |site| {
        for i in 0..3 {
            let mut gate = site.server.gate(&format!("gate{i}"));
            let to = gate.path().with_extension("word");
            let target = site.target(&format!("?gate={}&to={}", encode(gate.path()), encode(&to)));
            let response = site.server.send(&Request::form(target, "a=b"));
            // It has arrived although the script waits.
            response.assert(200, "before");
            assert_eq!(response.header("x-before"), Some("yes"));
            gate.open(1);
            gate.reached();
            let word = std::fs::read_to_string(&to).expect("the script went on");
            assert_eq!(word, r#"[true,false,0,"a=b"]"#);
        }
    };
    clients_that_leave("abort.php") = |site| {
        for i in 0..3 {
            let mut gate = site.server.gate(&format!("gate{i}"));
            let to = gate.path().with_extension("word");
            let target = site.target(&format!("?gate={}&to={}", encode(gate.path()), encode(&to)));
            let mut connection = Connection::open(site.server.address()).expect("connected");
            connection.send(&Request::get(target)).expect("sent");
            gate.reached();
            drop(connection);
            gate.open(1);
            gate.reached();
            let word = std::fs::read_to_string(&to).expect("the script went on");
            assert_eq!(word, "1", "connection_status() is CONNECTION_ABORTED");
        }
    };
    logs("log.php") = |site| {
        for i in 0..2 {
            site.get(&format!("?i={i}")).assert(200, "ok");
            for text in ["logged", "to the server", "with a level"] {
                let line = site.server.wait_log(&format!("{text} {i}"));
                assert_eq!(line.text("request_id").map(str::len), Some(16), "{}", line.raw);
            }
            let line = site.server.wait_log(&format!("with a level {i}"));
            assert_eq!(line.level(), Some("warn"), "{}", line.raw);
            assert!(line.raw.contains("number"), "the context is missing: {}", line.raw);
        }
    };
}

fn reads_bodies(site: &Site) {
    let big = vec![b'f'; 6_048_576];
    for body in [
        b"hello".as_slice(),
        b"",
        b"\0\xff\r\n",
        &big,
        b"short again",
    ] {
        let request = Request::new("POST", site.target("")).header("Content-Type", "text/plain");
        let answer = site.server.send(&request.body(body)).json();
        assert_eq!(answer["size"], body.len());
        assert_eq!(answer["again"], true);
        assert_eq!(answer["form"], json!([]));
    }
    let form = format!("a={}&b=2", "x".repeat(6_000_000));
    let answer = site
        .server
        .send(&Request::form(site.target(""), &form))
        .json();
    assert_eq!(answer["form"], json!({"a": 6_000_000, "b": 1}));
    let put = Request::new("PUT", site.target("")).body("put");
    let answer = site.server.send(&put).json();
    assert_eq!((&answer["size"], &answer["form"]), (&json!(3), &json!([])));
    let answer = site.server.send(&upload(site, "text")).json();
    assert_eq!(answer["size"], 0, "a multipart body is not in php://input");
}

fn fills_superglobals(site: &Site) {
    at_once(CONCURRENCY, |i| {
        let request = Request::form(site.target(&format!("?g={i}")), &format!("p={i}"))
            .header("Cookie", format!("c={i}"))
            .header("X-Number", i.to_string());
        let answer = site.server.send(&request).json();
        let number = i.to_string();
        assert_eq!(answer["get"], json!({"g": number}));
        assert_eq!(answer["post"], json!({"p": number}));
        assert_eq!(answer["cookie"], json!({"c": number}));
        assert_eq!(answer["request"], json!({"g": number, "p": number}));
        assert_eq!(answer["files"], json!({}));
        assert_eq!(answer["session"], false);
        let server = &answer["server"];
        assert_eq!(server["HTTP_X_NUMBER"], number);
        assert_eq!(server["REQUEST_METHOD"], "POST");
        assert_eq!(server["CONTENT_TYPE"], "application/x-www-form-urlencoded");
        assert!(server["REQUEST_TIME_FLOAT"].is_f64());
    });
    let answer = site.get("").json();
    for name in ["get", "post", "cookie", "request", "files"] {
        assert_eq!(answer[name], json!({}), "{name}");
    }
    assert_eq!(answer["server"]["HTTP_X_NUMBER"], Value::Null);
    assert_eq!(answer["server"]["HTTP_COOKIE"], Value::Null);
}

fn upload(site: &Site, text: &str) -> Request {
    let part = |rest: &str| format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {rest}\r\n");
    let body = format!(
        "{}\r\nvalue\r\n{}Content-Type: text/plain\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n",
        part("name=\"field\""),
        part("name=\"file\"; filename=\"name.txt\""),
    );
    Request::new("POST", site.target(""))
        .header(
            "Content-Type",
            format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .body(body)
}
