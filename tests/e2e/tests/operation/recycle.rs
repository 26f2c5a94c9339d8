//! Workers that are replaced after a number of requests.

use std::collections::HashMap;

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server};
use howdah_tests::www;

#[test]
fn each_serves_its_share_and_no_request_is_refused() {
    let server = Server::builder(www())
        .workers(2)
        .args(["--max-requests", "10"])
        .start();
    let pids = at_once(20, |_| {
        let mut connection = server.connect();
        let get = |_| {
            let response = connection
                .exchange(&Request::get("/pid.php"))
                .expect("a response");
            response.assert_status(200);
            response.text()
        };
        (0..25).map(get).collect::<Vec<_>>()
    });
    let mut shares: HashMap<String, usize> = HashMap::new();
    for pid in pids.into_iter().flatten() {
        *shares.entry(pid).or_default() += 1;
    }
    assert!(shares.len() >= 50, "{shares:?}");
    assert!(shares.values().all(|count| *count <= 10), "{shares:?}");
}

#[test]
fn each_request_may_have_its_own_process() {
    let server = Server::builder(www())
        .workers(4)
        .args(["--max-requests", "1"])
        .start();
    let mut pids = at_once(100, |_| server.get("/pid.php").text());
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 100);
}

#[test]
fn without_a_limit_a_worker_stays() {
    let server = Server::builder(www()).workers(1).start();
    let pid = server.get("/pid.php").text();
    for _ in 0..200 {
        server.get("/pid.php").assert(200, &pid);
    }
}
