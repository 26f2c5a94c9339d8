//! A pool that is configured for concurrent requests logs an error if its PHP cannot run them.

use howdah_testkit::{PATIENCE, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;

const SCRIPT: &str = "<?php
function handle(): void
{
    echo 'served';
}

while (frankenphp_handle_request('handle')) {
}
";
const CAUSE: &str = "calls that wait do not let others run";

#[test]
fn a_pool_that_fell_back_to_one_request_at_a_time_is_shown_with_the_cause() {
    let www = Www::new();
    www.write("worker.php", SCRIPT);
    let root = www.path().display();
    // The self-test cannot wait in a closure.
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 1\nphp_ini disable_classes Closure\nworker {{\nname app\n\
         file {root}/worker.php\nnum 2\nconcurrency 10\nconcurrency_fallback\n}}\n}}"
    );
    let site = format!("root * {root}\nphp_server {{\nindex worker.php\n}}");
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    let admin = Admin::of(&server);
    let status = || admin.get("/status").json();
    if status()["php"]
        .as_str()
        .is_none_or(|version| version >= "8.5")
    {
        println!("skipped: PHP 8.5 cannot disable classes");
        return;
    }
    server.expect_log("cannot run several requests at a time here");
    server.get("/").assert(200, "served");
    assert!(process::wait_until(PATIENCE, || {
        status()["pools"][1]["sequential"] == 2
    }));
    let pool = status()["pools"][1].clone();
    let cause = pool["sequential_cause"]
        .as_str()
        .expect("a cause")
        .to_owned();
    assert!(cause.starts_with(CAUSE), "{cause}");
    assert_eq!(
        status()["pools"][0]["sequential_cause"],
        serde_json::Value::Null
    );
    let ready = admin.get("/readyz");
    ready.assert_status(200);
    let expected = serde_json::json!([{"pool": "app", "workers": 2, "cause": cause}]);
    assert_eq!(ready.json()["sequential"], expected);
    let shown = admin.command(&["status"]);
    shown.assert(
        0,
        &format!("  ! 2 of its workers run one request at a time, because this PHP cannot run several: {CAUSE}"),
    );
    let metrics = admin.get("/metrics").text();
    assert!(metrics.contains("howdah_php_sequential_workers{pool=\"app\"} 2\n"));
    let line = format!("howdah_php_concurrency_fallback_info{{pool=\"app\",cause=\"{CAUSE}");
    assert!(metrics.contains(&line), "{metrics}");
    assert!(!metrics.contains("howdah_php_concurrency_fallback_info{pool=\"php\""));
}
