//! A reload whose boot hangs delays the next one, which may fix it, only for a short time. These
//! tests are for reloads with a new tree. Those with new processes are tested in the supervisor's
//! tests.

use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::{PATIENCE, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};

/// A boot that is too slow to wait for.
const WORKER: &str = "<?php
require __DIR__ . '/part.php';
while (frankenphp_handle_request(function () { echo VERSION; })) {
}
";
const HANGS: &str = "<?php touch(__DIR__ . '/hanging'); sleep(300);";
/// A boot that hangs exits by itself after two minutes.
const SOON: Duration = Duration::from_secs(60);

fn version(version: &str) -> String {
    format!("<?php const VERSION = '{version}';")
}

fn start(www: &Www) -> (Server, Admin) {
    let root = www.path().display();
    // OPcache does not check files, so each reload is a new tree.
    let server = Server::caddyfile(format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\nphp_ini opcache.validate_timestamps 0\n\
         php_ini opcache.file_update_protection 0\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server {{\nworker {{\nname app\nfile {root}/worker.php\n\
         match /app*\nnum 1\n}}\n}}\n}}\n"
    ))
    .start();
    let admin = Admin::of(&server);
    (server, admin)
}

fn application() -> Www {
    Www::new()
        .file("worker.php", WORKER)
        .file("part.php", version("one"))
        .file("index.php", "<?php echo 'index';")
}

/// Waits until a boot hangs.
fn wait_hanging(www: &Www) {
    let hangs = || www.path().join("hanging").exists();
    assert!(process::wait_until(PATIENCE, hangs), "no boot hangs");
}

#[test]
fn a_later_reload_gives_up_a_boot_that_hangs() {
    let www = application();
    let (server, admin) = start(&www);
    server.get("/app").assert(200, "one");
    server.get("/index.php").assert(200, "index");
    www.write("part.php", HANGS);
    server.expect_log("the start of PHP was aborted after");
    server.allow_log("the worker script has not requested work for 5 seconds");
    thread::scope(|scope| {
        let hanging = scope.spawn(|| admin.post("/reload"));
        wait_hanging(&www);
        www.write("part.php", version("two"));
        let began = Instant::now();
        let mended = admin.post("/reload");
        mended.assert_status(200);
        assert!(mended.json()["fresh"].is_string());
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        // Callers that waited for the first reload get the result of the second.
        let hanging = hanging.join().expect("an answer");
        hanging.assert_status(200);
    });
    server.get("/app").assert(200, "two");
    // The active generation was not at risk.
    www.write("part.php", version("three"));
    admin.post("/reload").assert_status(200);
    server.get("/app").assert(200, "three");
}

#[test]
fn so_does_a_signal() {
    let www = application();
    let (server, _admin) = start(&www);
    server.get("/app").assert(200, "one");
    server.get("/index.php").assert(200, "index");
    www.write("part.php", HANGS);
    server.expect_log("the start of PHP was aborted after");
    server.allow_log("the worker script has not requested work for 5 seconds");
    server.signal(Signal::USR1);
    wait_hanging(&www);
    www.write("part.php", version("two"));
    let began = Instant::now();
    server.signal(Signal::USR1);
    server.wait_line("reloaded", |line| line.message() == "reloaded");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    server.get("/app").assert(200, "two");
}

/// Without a second reload, a slow boot gets all the time it needs and becomes active.
#[test]
fn a_slow_boot_is_waited_for() {
    let www = application();
    let (server, admin) = start(&www);
    server.get("/app").assert(200, "one");
    server.get("/index.php").assert(200, "index");
    let slow = format!("{}\nsleep(7);", version("two"));
    www.write("part.php", slow);
    server.expect_log("the worker script has not requested work for 5 seconds");
    admin.post("/reload").assert_status(200);
    server.get("/app").assert(200, "two");
}
