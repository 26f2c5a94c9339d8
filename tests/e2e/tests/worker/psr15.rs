//! The Composer package `php/psr15`, with a handler for tests on Debian's slim-psr7.

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server};
use howdah_tests::caddyfile;
use howdah_tests::worker::{scripts, worker_caddyfile};
use serde_json::json;

use crate::psr::{assert_request_arrives, json};

fn serve(lines: &str) -> Server {
    let file = scripts().join("psr15/index.php");
    Server::caddyfile(worker_caddyfile(&file, &format!("num 1\n{lines}"))).start()
}

#[test]
fn the_request_arrives_as_it_was_sent_in_worker_and_classic_mode() {
    let worker = serve("");
    assert_request_arrives(&worker);
    assert_request_arrives(&worker);
    let root = scripts().join("psr15");
    let site = format!("root * {}\nphp_server", root.display());
    assert_request_arrives(&Server::caddyfile(caddyfile("", &site)).start());
}

#[test]
fn forms_and_uploads_are_parsed() {
    let server = serve("");
    let answer = json(&server.send(&Request::form("/", "a=1&b[]=2")));
    assert_eq!(answer["parsed"], json!({"a": "1", "b": ["2"]}));
    let part = |name: &str, text: &str| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"files[]\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain\r\n\r\n{text}\r\n"
        )
    };
    let body = part("a.txt", "first") + &part("b.txt", "second") + "--x--\r\n";
    let upload = Request::new("POST", "/")
        .header("Content-Type", "multipart/form-data; boundary=x")
        .body(body);
    let answer = json(&server.send(&upload));
    assert_eq!(
        answer["files"],
        json!([["a.txt", "first"], ["b.txt", "second"]])
    );
}

#[test]
fn concurrent_requests_keep_their_own_state() {
    let server = serve("concurrency 50");
    server.allow_hogs();
    let answers = at_once(50, |n| {
        let who = format!("user{n}");
        let request = Request::new("POST", format!("/{n}?wait=200"))
            .header("X-Who", &who)
            .body(format!("body of {n}"));
        json(&server.send(&request))
    });
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["process"], answers[0]["process"]);
        assert_eq!(answer["header"], format!("user{n}"));
        assert_eq!(answer["body"], format!("body of {n}"));
        let uri = answer["uri"].as_str().expect("text");
        assert!(uri.ends_with(&format!("/{n}?wait=200")), "{uri}");
    }
}
