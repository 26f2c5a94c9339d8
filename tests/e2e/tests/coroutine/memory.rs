//! `memory_limit` of requests that share a process: only the one that exceeds it fails.

use howdah_testkit::{Request, Server, Www};
use howdah_tests::admin::ON;
use howdah_tests::caddyfile;
use howdah_tests::traffic::during;

/// `use` allocates 10 MiB in ten steps, and `grow` one MiB after another without end. Other
/// requests run between the steps.
const SCRIPT: &str = r"<?php
while (frankenphp_handle_request(static function () {
    $held = [];
    $steps = $_GET['op'] === 'grow' ? 1000 : 10;
    for ($i = 0; $i < $steps; $i++) {
        $held[] = array_fill(0, 60000, $i);
        usleep(200);
    }
    echo 'held ', count($held);
})) {
}
";

#[test]
fn a_request_that_exceeds_its_memory_limit_fails_alone_under_load() {
    let www = Www::new();
    www.write("worker.php", SCRIPT);
    let root = www.path().display();
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 1\nphp_ini memory_limit 32M\nworker {{\nname app\n\
         file {root}/worker.php\nnum 1\nconcurrency 20\n}}\n}}"
    );
    let site = format!("root * {root}\nphp_server {{\nindex worker.php\n}}");
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    server.allow_hogs();
    // Together they use several times the limit.
    let neighbours = 8;
    let ((), _) = during(
        &server,
        neighbours,
        |client| {
            let response = client.exchange(&Request::new("POST", "/?op=use"));
            response.expect("a response").assert(200, "held 10");
        },
        |traffic| {
            for _ in 0..3 {
                traffic.wait(20);
                let response = server.send(&Request::new("POST", "/?op=grow"));
                response.assert_status(500);
            }
            traffic.wait(20);
        },
    );
    let message = "Allowed memory size of 33554432 bytes exhausted";
    server.expect_log(message);
    assert_eq!(server.log().containing(message).len(), 3);
}
