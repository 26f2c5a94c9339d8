//! Limits of a worker pool: CPU time, memory, and the number of requests in flight.

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server, Www};
use howdah_tests::worker::worker_caddyfile;

const SCRIPT: &str = r"<?php
$kept = [];
$order = __DIR__ . '/order';
while (frankenphp_handle_request(static function () use (&$kept, $order): void {
    switch ($_GET['do'] ?? '') {
        case 'compute': while (true) { }
        case 'keep': $kept[] = str_repeat('x', 64 << 10); usleep(5000); break;
        case 'leak': $kept[] = str_repeat('x', 1 << 20); break;
        case 'order':
            file_put_contents($order, '[', FILE_APPEND);
            usleep(1000);
            file_put_contents($order, ']', FILE_APPEND);
    }
    echo getmypid();
})) {
}
";

fn serve(lines: &str) -> (Www, Server) {
    let www = Www::new().file("worker.php", SCRIPT);
    let text = worker_caddyfile(&www.path().join("worker.php"), lines);
    let server = Server::caddyfile(text).start();
    (www, server)
}

#[test]
fn a_request_that_computes_too_long_costs_its_worker() {
    let (_www, server) = serve("num 1\ncpu_timeout 200ms");
    server.expect_log("more than its 200 ms of processor time");
    server.allow_log("the request took more processor time than `cpu_timeout`");
    // The worker counts as killed, not as crashed.
    server.expect_log("worker killed: its request exceeded `cpu_timeout`");
    server.expect_log("PHP backtrace of the request:");
    let before = server.get("/worker.php").text();
    // A `GET` is not run again either, because it would cost the next worker as well.
    server.get("/worker.php?do=compute").assert_status(504);
    let after = server.get("/worker.php");
    after.assert_status(200);
    assert_ne!(after.text(), before);
    let request = Request::new("POST", "/worker.php?do=compute");
    server.send(&request).assert_status(504);
}

/// Every request gets a response while a worker that uses too much memory is replaced. The server
/// checks once a second, and growth is measured from its first check. Requests take 5 ms, so that
/// it checks several times before enough of them reach PHP's limit.
fn memory_is_given_back(lines: &str, said: &str) {
    let (_www, server) = serve(&format!("num 1\n{lines}"));
    let keep = || {
        let answer = server.get("/worker.php?do=keep");
        answer.assert_status(200);
        answer.text()
    };
    let first = keep();
    assert!((0..1500).any(|_| keep() != first), "no worker was replaced");
    server.wait_log(said);
}

#[test]
fn a_worker_that_holds_too_much_is_replaced() {
    memory_is_given_back("max_memory 4MiB", "it holds more than max_memory");
}

/// PHP's limit of 128 MB is reached long before the server checks again.
#[test]
fn a_worker_that_leaks_fast_is_replaced_before_its_requests_fail() {
    let (_www, server) = serve("num 1\nmax_memory 24MiB");
    let mut connection = server.connect();
    for _ in 0..400 {
        let request = Request::get("/worker.php?do=leak");
        let response = connection.exchange(&request).expect("a response");
        response.assert_status(200);
    }
    server.wait_log("it holds more than max_memory");
}

#[test]
fn a_worker_that_grows_too_much_is_replaced() {
    memory_is_given_back(
        "max_memory_growth 1MiB",
        "it has grown by more than max_memory_growth",
    );
}

#[test]
fn no_more_requests_than_allowed_are_in_hand() {
    let (www, server) = serve("num 4\nmax_in_flight 1");
    at_once(30, |_| {
        server.get("/worker.php?do=order").assert_status(200);
    });
    let order = std::fs::read_to_string(www.path().join("order")).expect("it was written");
    assert_eq!(order, "[]".repeat(30));
}
