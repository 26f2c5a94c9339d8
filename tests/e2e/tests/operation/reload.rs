//! Reloads: the new generation serves before the old one exits, and a failed boot changes nothing.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use howdah_testkit::{EndOnDrop, PATIENCE, Request, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, VERSION_WORKER, worker_site};
use howdah_tests::{encode, www};

fn application() -> Www {
    Www::new()
        .file("worker.php", VERSION_WORKER)
        .file("version.php", "<?php return 'one';")
}

#[test]
fn the_new_generation_has_the_new_files() {
    let www = application();
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    let admin = Admin::of(&server);
    // Faster than OPcache checks files, and often enough to detect errors.
    for version in 2..8 {
        www.write("version.php", format!("<?php return 'version {version}';"));
        let done = admin.post("/reload?pool=app");
        done.assert_status(200);
        assert_eq!(done.json()["pools"][0]["generation"], version);
        for _ in 0..4 {
            server.get("/").assert(200, &format!("version {version}"));
        }
    }
    let line = server.wait_line("reloaded", |line| line.message() == "reloaded");
    assert_eq!(line.text("pool"), Some("app"));
    assert_eq!(line.number("generation"), Some(2));
    assert!(line.number("took_ms").is_some(), "{}", line.raw);
}

#[test]
fn a_boot_that_fails_leaves_the_old_generation() {
    let www = application();
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    let admin = Admin::of(&server);
    server.get("/").assert(200, "one");
    for broken in [
        "<?php return 'one",
        "<?php throw new Exception('no such database');",
    ] {
        www.write("version.php", broken);
        // PHP and the supervisor log the error.
        server.allow_log("version.php");
        server.allow_log("before it called frankenphp_handle_request()");
        server.expect_log("not reloaded");
        let failed = admin.post("/reload");
        failed.assert_status(500);
        let error = failed.json()["error"].as_str().expect("a text").to_owned();
        assert!(error.contains("version.php"), "{error}");
        server.get("/").assert(200, "one");
        let command = admin.command(&["reload"]);
        command.assert(1, "pool app was not reloaded");
        command.assert(1, "version.php");
    }
    www.write("version.php", "<?php return 'mended';");
    admin.post("/reload").assert_status(200);
    server.get("/").assert(200, "mended");
}

#[test]
fn no_request_is_lost() {
    let www = application();
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    let admin = Admin::of(&server);
    let (done, answered) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = server.connect();
                while !done.load(Ordering::Relaxed) {
                    let response = connection.exchange(&Request::get("/")).expect("a response");
                    response.assert(200, "one");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _end = EndOnDrop(&done);
        for _ in 0..5 {
            let before = answered.load(Ordering::Relaxed);
            admin.post("/reload?pool=app").assert_status(200);
            let more = || answered.load(Ordering::Relaxed) > before;
            assert!(process::wait_until(PATIENCE, more));
        }
    });
    assert!(answered.load(Ordering::Relaxed) > 0);
}

#[test]
fn the_old_generation_finishes_its_requests() {
    let gate = www().join("gate.php");
    let worker = "<?php
$version = require __DIR__ . '/version.php';
$handler = function () use ($version) {
    if (isset($_GET['gate'])) { require 'GATE'; }
    echo $version;
};
while (frankenphp_handle_request($handler)) {
}
";
    let worker = worker.replace("GATE", &gate.display().to_string());
    let www = application().file("worker.php", worker);
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    let target = format!("/worker.php?gate={}", encode(gate.path()));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    www.write("version.php", "<?php return 'two';");
    admin.post("/reload?pool=app").assert_status(200);
    for _ in 0..4 {
        server.get("/").assert(200, "two");
    }
    gate.open(1);
    let response = running.receive("GET").expect("a response");
    assert_eq!(response.status(), 200);
    assert!(response.text().ends_with("one"), "{}", response.text());
}

fn reloads_at(signal: Signal) {
    let www = application();
    // A separate session has no terminal, so SIGHUP does not mean the end of a terminal.
    let server = Server::caddyfile(worker_site(www.path(), ""))
        .through(["setsid", "--fork", "--wait"])
        .start();
    server.get("/").assert(200, "one");
    www.write("version.php", "<?php return 'two';");
    server.signal(signal);
    server.wait_line("reloaded", |line| {
        line.message() == "reloaded" && line.text("pool") == Some("app")
    });
    server.get("/").assert(200, "two");
}

#[test]
fn sigusr1_reloads() {
    reloads_at(Signal::USR1);
}

#[test]
fn sighup_reloads_a_service() {
    reloads_at(Signal::HUP);
}

/// Runs a command in a session with a terminal. Its output is unchanged.
const WITH_TERMINAL: &str = "
import fcntl, os, pty, sys, termios
ours, theirs = pty.openpty()
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    os.close(ours)
    os.close(theirs)
    os.execvp(sys.argv[1], sys.argv[1:])
os.close(theirs)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

#[test]
fn sighup_of_a_terminal_stops() {
    let www = application();
    let server = Server::caddyfile(worker_site(www.path(), ""))
        .through(["python3", "-c", WITH_TERMINAL])
        .start();
    server.get("/").assert(200, "one");
    server.signal(Signal::HUP);
    assert_eq!(server.wait_exit().code(), Some(0));
    assert!(server.log().containing("\"reloading\"").is_empty());
}
