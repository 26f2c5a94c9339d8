//! Behavior of RoadRunner's HTTP plugin that its own tests show, with workers that use no library.

use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, Www, process};
use howdah_tests::worker::scripts;
use howdah_tests::{caddyfile, small_disk};
use serde_json::{Value, json};

const TYPE: &str = "multipart/form-data; boundary=xx";

fn builder(lines: &str) -> ServerBuilder {
    let folder = scripts().join("roadrunner");
    let site = format!(
        "roadrunner {{\ncommand php {}/app.php\nnum_workers 1\n{lines}\n}}",
        folder.display()
    );
    Server::caddyfile(caddyfile("frankenphp {\nnum_threads 1\n}", &site))
}

fn server(lines: &str) -> Server {
    builder(lines).start()
}

fn part(head: &str, body: &str) -> String {
    format!("--xx\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
}

fn form(parts: &[String]) -> String {
    format!("{}--xx--\r\n", parts.concat())
}

#[test]
fn raw_body_passes_forms_on_unchanged() {
    let server = server("raw_body");
    let body = form(&[
        part("name=\"a\"", "1"),
        part("name=\"f\"; filename=\"a.txt\"", "text"),
    ]);
    for (kind, body) in [
        (TYPE, body.as_str()),
        ("application/x-www-form-urlencoded", "a=1&a=2&b%5B%5D=3"),
    ] {
        let request = Request::new("POST", "/context")
            .header("Content-Type", kind)
            .body(body);
        let shown = server.send(&request).json();
        assert_eq!(shown["body"], body, "{kind}");
        assert_eq!(shown["context"]["parsed"], false, "{kind}");
        assert_eq!(shown["context"]["uploads"], Value::Null, "{kind}");
    }
}

#[test]
fn head_and_options_have_no_body() {
    let server = server("");
    // Neither parsed nor passed on.
    let options = Request::new("OPTIONS", "/context")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("a=1");
    let shown = server.send(&options).json();
    assert_eq!(shown["body"], "");
    assert_eq!(shown["context"]["parsed"], false);
    assert_eq!(shown["context"]["method"], "OPTIONS");
    let mut connection = server.connect();
    let head = Request::new("HEAD", "/large?size=4096");
    connection.send(&head).expect("sent");
    let response = connection.receive("HEAD").expect("a response");
    response.assert(200, "");
    assert_eq!(response.header("content-length"), Some("4096"));
    connection.send(&Request::get("/echo")).expect("sent");
    connection
        .receive("GET")
        .expect("a response")
        .assert_status(201);
}

#[test]
fn methods_with_forms_are_parsed() {
    let server = server("");
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let request = Request::new(method, "/context")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body("a=1");
        let shown = server.send(&request).json();
        assert_eq!(shown["body"], r#"{"a":"1"}"#, "{method}");
        assert_eq!(shown["context"]["parsed"], true, "{method}");
    }
}

#[test]
fn a_frame_without_a_context_is_a_response() {
    let server = server("");
    server.get("/body?text=hello").assert(200, "hello");
    // Neither context nor body: an empty response.
    server.get("/body").assert(200, "");
    server.get("/echo").assert_status(201);
}

#[test]
fn attributes_of_cookies_are_unchanged() {
    let server = server("");
    let response = server.get("/cookies");
    let cookies = response.head.header_all("set-cookie");
    let expected = [
        "a=1; Max-Age=60; Path=/; HttpOnly",
        "b=x%3By; Expires=Wed, 09 Jun 2027 10:18:14 GMT; SameSite=Lax",
    ];
    assert_eq!(cookies, expected);
}

#[test]
fn interim_responses_keep_their_fields_to_themselves() {
    let server = server("");
    let mut connection = server.connect();
    connection.send(&Request::get("/interim")).expect("sent");
    let mut statuses = Vec::new();
    let last = loop {
        let head = connection.read_head().expect("a head");
        statuses.push(head.status);
        if head.status == 103 {
            break head;
        }
    };
    assert_eq!(last.header("x-103"), Some("interim"), "{statuses:?}");
    let response = connection.receive("GET").expect("a response");
    response.assert(404, "final");
    assert_eq!(response.header("x-final"), Some("yes"));
    for name in ["x-100", "x-102", "x-103"] {
        assert_eq!(response.header(name), None, "{name}");
    }
}

#[test]
fn a_response_that_breaks_off_is_incomplete() {
    for (path, log) in [
        ("/die", "it closed its standard output"),
        ("/fail", "failed in its midst"),
    ] {
        let server = server("");
        server.expect_log("a response was cut off");
        server.allow_log(log);
        server.allow_log("worker exited");
        let mut connection = server.connect();
        connection.send(&Request::get(path)).expect("sent");
        if connection.begin("GET").is_ok() {
            // The first part may be missing too.
            while let Ok(part) = connection.next_part() {
                let part = part.unwrap_or_else(|| panic!("{path}: a regular end"));
                assert_eq!(part, b"one\n"[..], "{path}");
            }
        }
        server.wait_log("a response was cut off");
        server.get("/echo").assert_status(201);
    }
}

#[test]
fn a_worker_that_ignores_its_stop_is_killed() {
    let server = server("");
    let pid: i32 = server.get("/deaf").text().parse().expect("a number");
    server.expect_log("worker did not exit within 10s: it is killed");
    let ended = std::thread::scope(|scope| {
        let stopping = scope.spawn(|| server.signal(howdah_testkit::Signal::TERM));
        stopping.join().expect("no panic");
        server.wait_log("it was told to stop");
        server.wait_log("worker did not exit within 10s: it is killed");
        server.wait_exit()
    });
    assert!(ended.success(), "{ended:?}");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn an_input_without_a_file_is_an_empty_field() {
    let server = server("");
    let body = form(&[part("name=\"f\"; filename=\"\"", "")]);
    let request = Request::new("POST", "/upload")
        .header("Content-Type", TYPE)
        .body(body);
    assert_eq!(server.send(&request).json(), json!([[], {"f": ""}, true]));
}

#[test]
fn a_file_that_cannot_be_written_has_an_error() {
    let Some(disk) = small_disk() else {
        return;
    };
    // The disk has room for the body of the request, and then for half of the file.
    let server = builder("").through(disk).start();
    let text = "x".repeat(700 << 10);
    let body = form(&[part("name=\"f\"; filename=\"a.txt\"", &text)]);
    let request = Request::new("POST", "/upload")
        .header("Content-Type", TYPE)
        .body(body);
    let shown = server.send(&request).json();
    let file = &shown[0]["f"];
    assert_eq!(
        (&file["error"], &file["tmpName"]),
        (&json!(7), &json!("")),
        "{shown}"
    );
}

#[test]
fn a_missing_folder_for_files_is_an_error() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes users");
        return;
    }
    let www = Www::new();
    let temporary = www.path().join("tmp");
    std::fs::create_dir(&temporary).expect("made");
    for path in [www.path(), &temporary] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("mine");
    }
    for name in ["app.php", "goridge.inc"] {
        let from = scripts().join("roadrunner").join(name);
        std::fs::copy(from, www.path().join(name)).expect("copied");
    }
    let site = format!(
        "roadrunner * {}/app.php {{\nnum_workers 1\nuser nobody\n}}",
        www.path().display()
    );
    let server = Server::caddyfile(caddyfile("frankenphp {\nnum_threads 1\n}", &site))
        .env("TMPDIR", &temporary)
        .start();
    let folder = || {
        let entries = std::fs::read_dir(&temporary).expect("readable").flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.find(|path| path.display().to_string().contains("howdah-uploads-"))
    };
    std::fs::remove_dir(folder().expect("a folder for the user")).expect("it is empty");
    server.expect_log("an uploaded file cannot be stored");
    let body = form(&[part("name=\"f\"; filename=\"a.txt\"", "text")]);
    let request = Request::new("POST", "/upload")
        .header("Content-Type", TYPE)
        .body(body);
    let shown = server.send(&request).json();
    assert_eq!(shown[0]["f"]["error"], 6, "{shown}");
}

#[test]
fn clients_of_missing_plugins_are_reported_at_the_start() {
    let www = Www::new().file(
        "composer.lock",
        r#"{"packages": [{"name": "spiral/roadrunner-http"}, {"name": "spiral/roadrunner-kv"},
            {"name": "spiral/roadrunner-jobs"}]}"#,
    );
    for name in ["app.php", "goridge.inc"] {
        let from = scripts().join("roadrunner").join(name);
        std::fs::copy(from, www.path().join(name)).expect("copied");
    }
    let site = format!(
        "roadrunner {{\ncommand php {}/app.php\nnum_workers 2\n}}",
        www.path().display()
    );
    let server = Server::caddyfile(caddyfile("frankenphp {\nnum_threads 1\n}", &site)).start();
    let text = "the application has a client of a plugin of RoadRunner that Howdah does not have";
    server.expect_log(text);
    let plugins: Vec<_> = server.log().containing(text);
    assert_eq!(plugins.len(), 2, "{plugins:?}");
    server.wait_log("use APCu, Redis or Memcached");
    // Once: neither each worker nor a reload reports it again.
    server.get("/echo").assert_status(201);
    let is_same = || server.log().containing(text).len() == 2;
    assert!(process::wait_until(PATIENCE, is_same));
}
