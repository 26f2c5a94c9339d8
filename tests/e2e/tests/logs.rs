//! What scripts write into the log, and the access log.

use howdah_testkit::log::LogLine;
use howdah_testkit::{Request, Server};
use howdah_tests::www;

fn server() -> Server {
    Server::builder(www())
        .workers(2)
        .ini("log_errors", "1")
        .ini("display_errors", "0")
        .start()
}

fn assert_belongs_to(line: &LogLine, request: &str) {
    assert_eq!(line.text("request_id"), Some(request), "{}", line.raw);
    assert!(line.number("pid").is_some(), "{}", line.raw);
    assert!(line.fields.get("pool").is_some(), "{}", line.raw);
    assert!(line.fields.get("worker").is_some(), "{}", line.raw);
}

#[test]
fn lines_carry_the_request_they_belong_to() {
    let server = server();
    for (how, text) in [
        ("error_log", "error_log"),
        ("sapi", "sapi"),
        ("stderr", "stderr"),
        ("warning", "PHP Warning:  warning"),
    ] {
        let mark = format!("mark-of-{how}");
        let request = server
            .get(&format!("/log.php?how={how}&mark={mark}"))
            .text();
        assert_eq!(request.len(), 16, "{request}");
        assert!(request.bytes().all(|b| b.is_ascii_hexdigit()), "{request}");
        let line = server.wait_log(&mark);
        assert!(line.message().contains(text), "{}", line.raw);
        assert_belongs_to(&line, &request);
    }
}

#[test]
fn lines_of_any_kind_stay_json() {
    let server = server();
    server
        .get("/log.php?how=binary&mark=odd")
        .assert_status(200);
    let line = server.wait_log("binary odd");
    assert!(line.level().is_some(), "{}", line.raw);
    assert!(line.message().contains("\"quoted\""), "{}", line.raw);
    server.get("/log.php?how=lines&mark=two").assert_status(200);
    server.wait_log("first two");
    let second = server.wait_log("second two");
    assert!(second.level().is_some(), "{}", second.raw);
    server.get("/log.php?how=long&mark=long").assert_status(200);
    let begin = server.wait_log("begin long");
    assert!(begin.level().is_some(), "{}", &begin.raw[..200]);
    // All of it comes, in one line or in several.
    let end = server.wait_line("the end of the long line", |line| {
        line.raw.contains("end long") || line.raw.contains("xxxx")
    });
    assert!(end.level().is_some());
    server.allow_log("xxxxxxxx");
}

#[test]
fn lines_of_concurrent_requests_do_not_mix() {
    let server = server();
    server.expect_log("error_log c");
    let requests = howdah_testkit::load::at_once(100, |client| {
        let response = server.get(&format!("/log.php?how=error_log&mark=c{client}c"));
        response.assert_status(200);
        response.text()
    });
    for (client, request) in requests.iter().enumerate() {
        let line = server.wait_log(&format!("error_log c{client}c"));
        assert_belongs_to(&line, request);
    }
}

#[test]
fn the_access_log_tells_each_request() {
    let server = Server::builder(www())
        .workers(2)
        .arg("--access-log")
        .start();
    let mut connection = server.connect();
    let client = connection.local_addr().expect("it is connected");
    let request = Request::get("/id.php?id=access").header("User-Agent", "test/1");
    connection
        .exchange(&request)
        .expect("a response")
        .assert(200, "[access][access]");
    let line = server.wait_log("/id.php?id=access");
    assert_eq!(line.level(), Some("info"), "{}", line.raw);
    assert_eq!(line.text("method"), Some("GET"), "{}", line.raw);
    assert_eq!(line.text("uri"), Some("/id.php?id=access"), "{}", line.raw);
    assert_eq!(line.number("status"), Some(200), "{}", line.raw);
    assert_eq!(
        line.text("request_id").map(str::len),
        Some(16),
        "{}",
        line.raw
    );
    for text in ["test/1", &client.ip().to_string()] {
        assert!(line.raw.contains(text), "no {text} in {}", line.raw);
    }
    let request = Request::new("DELETE", "/static.txt");
    server.send(&request).assert_status(405);
    let refused = server.wait_line("the access log", |line| {
        line.text("method") == Some("DELETE")
    });
    assert_eq!(refused.number("status"), Some(405), "{}", refused.raw);
}

#[test]
fn the_access_log_is_off_unless_asked_for() {
    let server = server();
    server.get("/id.php?id=unlogged").assert_status(200);
    server
        .send(&Request::get("/log.php?how=error_log&mark=behind"))
        .assert_status(200);
    server.wait_log("behind");
    assert!(server.log().containing("unlogged").is_empty());
}

#[test]
fn a_request_has_one_id_everywhere() {
    let server = Server::builder(www())
        .workers(1)
        .arg("--access-log")
        .start();
    let request = server.get("/log.php?how=sapi&mark=one-id").text();
    let access = server.wait_line("the access log", |line| line.text("uri").is_some());
    assert_eq!(access.text("request_id"), Some(request.as_str()));
    assert_eq!(
        server.wait_log("sapi one-id").text("request_id"),
        Some(request.as_str())
    );
}
