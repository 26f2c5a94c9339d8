//! The Composer package `php/psr7-worker`: a worker script for `RoadRunner`, on Debian's nyholm/psr7.

use howdah_testkit::{Gate, Request, Server};
use howdah_tests::worker::{cookie, scripts, worker_caddyfile};
use howdah_tests::{caddyfile, encode};
use serde_json::json;

use crate::psr::{assert_request_arrives, json};

fn serve(lines: &str) -> Server {
    let file = scripts().join("psr7_worker/index.php");
    Server::caddyfile(worker_caddyfile(&file, &format!("num 1\n{lines}"))).start()
}

#[test]
fn one_script_handles_all_requests() {
    let server = serve("");
    for n in 1..10 {
        assert_request_arrives(&server);
        assert_eq!(json(&server.get("/"))["handled"], 2 * n);
    }
    let bare = json(&server.get("/"));
    assert_eq!(
        (&bare["header"], &bare["cookies"]),
        (&json!(""), &json!([]))
    );
}

#[test]
fn without_a_worker_it_handles_one_request() {
    let root = scripts().join("psr7_worker");
    // RoadRunner's class names refer to the package only in a worker.
    let site = format!(
        "root * {}\nphp_server {{\nindex classic.php\n}}",
        root.display()
    );
    let server = Server::caddyfile(caddyfile("", &site)).start();
    for _ in 0..2 {
        assert_request_arrives(&server);
        assert_eq!(json(&server.get("/"))["handled"], 1);
    }
}

#[test]
fn forms_and_uploads_are_parsed() {
    let server = serve("");
    for _ in 0..2 {
        let answer = json(&server.send(&Request::form("/", "a=1&b[]=2")));
        assert_eq!(answer["parsed"], json!({"a": "1", "b": ["2"]}));
        let body = "--x\r\nContent-Disposition: form-data; name=\"files[]\"; filename=\"a.txt\"\r\n\
                    Content-Type: text/plain\r\n\r\nfirst\r\n--x--\r\n";
        let upload = Request::new("POST", "/")
            .header("Content-Type", "multipart/form-data; boundary=x")
            .body(body);
        let answer = json(&server.send(&upload));
        assert_eq!(answer["files"], json!([["a.txt", "first"]]));
    }
}

#[test]
fn output_of_the_script_is_logged() {
    let server = serve("");
    server.expect_log("printed by the script");
    let response = server.get("/print");
    response.assert(200, "the body");
    assert_eq!(response.header("x-stray"), None);
}

#[test]
fn a_stream_arrives_whole() {
    let server = serve("");
    let response = server.get("/stream");
    response.assert(200, "first\nsecond\n");
    assert_eq!(response.header("x-streamed"), Some("yes"));
}

#[test]
fn an_interim_response_comes_first() {
    let server = serve("");
    let response = server.get("/hint");
    response.assert(200, "hinted");
    assert_eq!(response.header("link"), None);
}

#[test]
fn the_script_goes_on_without_its_client() {
    let server = serve("");
    let dir = tempfile::tempdir().expect("a directory");
    let mut gate = Gate::new(dir.path(), "gate").expect("a gate");
    let page = format!("/late?gate={}", encode(gate.path()));
    server.get(&page).assert(200, "sent");
    gate.reached();
    gate.open(1);
    assert_eq!(json(&server.get("/"))["handled"], 2);
}

#[test]
fn errors_and_missing_responses_are_500() {
    let server = serve("");
    let pid = json(&server.get("/"))["pid"].clone();
    server.expect_log("thrown on purpose");
    server.get("/throw").assert_status(500);
    server.expect_log("The script has not responded to GET /silent");
    server.get("/silent").assert_status(500);
    assert_eq!(json(&server.get("/"))["pid"], pid);
}

#[test]
fn exit_and_stop_start_a_new_worker() {
    let server = serve("");
    for end in ["/exit", "/stop"] {
        let first = json(&server.get("/"));
        let status = if end == "/exit" { 500 } else { 200 };
        server.get(end).assert_status(status);
        let next = json(&server.get("/"));
        assert_eq!(next["handled"], 1);
        assert_ne!(next["pid"], first["pid"]);
    }
}

#[test]
fn a_session_is_its_client_s() {
    let server = serve("");
    let first = server.get("/session");
    first.assert(200, "1");
    let cookie = cookie(&first);
    for n in 2..5 {
        let request = Request::get("/session").header("Cookie", &cookie);
        server.send(&request).assert(200, &n.to_string());
        server.get("/session").assert(200, "1");
    }
}

#[test]
fn concurrency_is_refused() {
    let server = serve("concurrency 2");
    server.expect_log("remove `concurrency`");
    server.get("/").assert_status(500);
}
