//! Sessions with PHP's files handler.

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Response, Server};
use howdah_tests::www;

fn cookie(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a session cookie");
    cookie.split(';').next().expect("a pair").to_owned()
}

fn with(cookie: &str, target: &str) -> Request {
    Request::get(target).header("Cookie", cookie)
}

#[test]
fn live_across_requests_and_workers() {
    let server = Server::builder(www()).workers(4).start();
    let first = server.get("/session.php");
    first.assert(200, "1");
    assert_eq!(
        first.header("cache-control"),
        Some("no-store, no-cache, must-revalidate")
    );
    let cookie = cookie(&first);
    for n in 2..30 {
        let response = server.send(&with(&cookie, "/session.php"));
        response.assert(200, &n.to_string());
        assert_eq!(response.header("set-cookie"), None);
    }
    server.get("/session.php").assert(200, "1");
}

#[test]
fn are_locked_against_each_other() {
    let server = Server::builder(www()).workers(4).start();
    let cookie = cookie(&server.get("/session.php"));
    let mut counts = at_once(50, |_| server.send(&with(&cookie, "/session.php")).text());
    counts.sort_by_key(|count| count.parse::<u32>().unwrap_or(0));
    let wanted: Vec<String> = (2..52).map(|n| n.to_string()).collect();
    assert_eq!(counts, wanted);
}

#[test]
fn of_many_clients_stay_apart() {
    let server = Server::builder(www()).workers(2).start();
    at_once(30, |_| {
        let cookie = cookie(&server.get("/session.php"));
        for n in 2..8 {
            server
                .send(&with(&cookie, "/session.php"))
                .assert(200, &n.to_string());
        }
    });
}

#[test]
fn can_be_renamed_and_destroyed() {
    let server = Server::builder(www()).workers(2).start();
    let old = cookie(&server.get("/session.php"));
    let renamed = server.send(&with(&old, "/session.php?do=regenerate"));
    renamed.assert(200, "1");
    let new = cookie(&renamed);
    assert_ne!(old, new);
    server
        .send(&with(&old, "/session.php?do=read"))
        .assert(200, "none");
    server.send(&with(&new, "/session.php")).assert(200, "2");
    server
        .send(&with(&new, "/session.php?do=destroy"))
        .assert(200, "none");
    server.send(&with(&new, "/session.php")).assert(200, "1");
}
