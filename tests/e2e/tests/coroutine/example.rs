//! `examples/coroutines`, run as its README describes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use howdah_testkit::load::at_once;
use howdah_testkit::{Server, ServerBuilder};
use serde_json::{Value, json};

const REQUESTS: usize = 50;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/coroutines")
}

fn ask(server: &Server, who: &str, seconds: &str) -> Value {
    let response = server.get(&format!("/?who={who}&seconds={seconds}"));
    response.assert_status(200);
    response.json()
}

fn answers(who: &str) -> Value {
    json!({
        "prices": format!("prices of {who}"),
        "stock": format!("stock of {who}"),
        "reviews": format!("reviews of {who}"),
    })
}

#[test]
fn fifty_requests_at_a_time_keep_their_own_state() {
    let public = example().join("public");
    let server = Server::builder(&public)
        .arg("--worker")
        .arg(format!("{},1", public.join("index.php").display()))
        .args(["--concurrency", "50"])
        .start();
    server.allow_hogs();
    let all = at_once(REQUESTS, |n| ask(&server, &format!("user{n}"), "1"));
    let processes: HashSet<_> = all.iter().map(|answer| &answer["process"]).collect();
    assert_eq!(processes.len(), 1);
    for (n, answer) in all.iter().enumerate() {
        assert_eq!(answer["answers"], answers(&format!("user{n}")));
    }
}

#[test]
fn without_coroutines_the_error_is_the_same() {
    let server = Server::builder(example().join("public")).start();
    let answer = ask(&server, "ann", "0.01");
    assert_eq!(answer["answers"], answers("ann"));
}

#[test]
fn doctor_finds_it_safe() {
    let script = example().join("public/index.php");
    let ended = ServerBuilder::command(["doctor", "--coroutines", "--worker"])
        .arg(script)
        .run();
    ended.assert(
        0,
        "With concurrency this application is safe, as far as can be seen",
    );
}
