//! The worker that a pool's zygote forks in advance. It replaces a worker that exits.

use howdah_testkit::{PATIENCE, Request, Server, Signal, Www, process};
use howdah_tests::worker::worker_caddyfile;

/// Its boot takes longer than a zygote waits before it forks a spare.
const SCRIPT: &str = r"<?php
usleep(50_000);
while (frankenphp_handle_request(static function (): void {
    switch ($_GET['lose'] ?? '') {
        case 'exit': exit('gone');
        case 'status': exit(3);
        case 'fatal': str_repeat('x', PHP_INT_MAX >> 8);
    }
    echo getmypid();
})) {
}
";

fn serve(lines: &str) -> (Www, Server) {
    serve_script(SCRIPT, lines)
}

fn serve_script(script: &str, lines: &str) -> (Www, Server) {
    let www = Www::new().file("app.php", script);
    let lines = format!("num 1\nname app\n{lines}");
    let server = Server::caddyfile(worker_caddyfile(&www.path().join("app.php"), &lines)).start();
    (www, server)
}

fn find_spare(server: &Server) -> Option<process::Process> {
    let mut processes = server.processes().into_iter();
    processes.find(|process| process.command == "howdah: app spare")
}

/// It starts when the zygote has been idle for a moment.
#[track_caller]
fn spare(server: &Server) -> process::Process {
    let mut found = None;
    let there = process::wait_until(PATIENCE, || {
        found = find_spare(server);
        found.is_some()
    });
    assert!(there, "no spare: {:#?}", server.processes());
    found.expect("it is there")
}

/// Id of the process that responds.
#[track_caller]
fn answering(server: &Server) -> u32 {
    let response = server.get("/app.php");
    response.assert_status(200);
    response.text().parse().expect("a process id")
}

fn kill(pid: u32) {
    process::kill(pid, Signal::KILL).expect("it is there");
}

#[test]
fn the_spare_takes_the_place_of_a_lost_worker() {
    let (_www, server) = serve("exit restart");
    for text in ["worker died", "fatal error", "Allowed memory size"] {
        server.allow_log(text);
    }
    for way in ["exit", "fatal", "kill", "exit"] {
        let (worker, spare) = (answering(&server), spare(&server));
        assert_ne!(worker, spare.pid);
        if way == "kill" {
            kill(worker);
        } else {
            let request = Request::new("POST", format!("/app.php?lose={way}"));
            let status = if way == "exit" { 200 } else { 500 };
            server.send(&request).assert_status(status);
        }
        assert_eq!(answering(&server), spare.pid, "{way}");
    }
}

#[test]
fn an_exit_status_is_not_a_crash() {
    let (_www, server) = serve("exit restart");
    // The server must not log a warning.
    for _ in 0..5 {
        let worker = answering(&server);
        server.get("/app.php?lose=status").assert_status(200);
        assert_ne!(answering(&server), worker);
    }
}

#[test]
fn without_a_spare_the_successor_is_forked() {
    let (_www, server) = serve("");
    server.expect_log("worker died");
    let (worker, spare_before) = (answering(&server), spare(&server));
    kill(spare_before.pid);
    assert!(spare_before.wait_exited(PATIENCE));
    kill(worker);
    let successor = answering(&server);
    assert!(![worker, spare_before.pid].contains(&successor));
    assert_ne!(spare(&server).pid, successor);
}

#[test]
fn a_successor_that_is_killed_before_it_is_ready_refuses_no_request() {
    let held = "howdah_after_fork(static function (): void {
        while (file_exists(__DIR__.'/held')) {
            usleep(1000);
        }
    });";
    let (www, server) = serve_script(&SCRIPT.replace("usleep(50_000);", held), "");
    server.expect_log("worker died");
    server.expect_log("a worker exited before it was ready");
    let worker = answering(&server);
    std::fs::write(www.path().join("held"), "").expect("a file");
    if let Some(spare) = find_spare(&server) {
        kill(spare.pid);
        assert!(spare.wait_exited(PATIENCE));
    }
    kill(worker);
    let mut successor = None;
    let forked = process::wait_until(PATIENCE, || {
        let mut workers = server.workers().into_iter();
        successor = workers.find(|process| {
            process.command.starts_with("howdah: app worker") && process.pid != worker
        });
        successor.is_some()
    });
    assert!(forked, "{:#?}", server.processes());
    kill(successor.expect("it is there").pid);
    std::fs::remove_file(www.path().join("held")).expect("it is there");
    server.wait_log("a worker exited before it was ready");
    answering(&server);
}

#[test]
fn no_spare_where_each_worker_boots() {
    let (_www, server) = serve("boot each");
    server.expect_log("worker died");
    let worker = answering(&server);
    kill(worker);
    assert_ne!(answering(&server), worker);
    // The classic pool has none either.
    let mut processes = server.processes();
    processes.retain(|process| process.command.ends_with(" spare"));
    assert!(processes.is_empty(), "{processes:#?}");
}
