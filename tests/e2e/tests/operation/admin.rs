//! The admin API of a real server, and the commands that use it.

use std::collections::BTreeSet;
use std::net::TcpListener;

use howdah_testkit::{
    ClosedPort, Connection, PATIENCE, Request, Server, ServerBuilder, Www, process,
};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode, www};

fn classic(global: &str) -> ServerBuilder {
    let site = format!("root * {}\nphp_server", www().display());
    Server::caddyfile(caddyfile(
        &format!("{global}\nfrankenphp {{\nnum_threads 2\n}}"),
        &site,
    ))
}

/// The workers in the response of `/frankenphp/threads`.
fn threads(admin: &Admin) -> Vec<serde_json::Value> {
    let answer = admin.get("/frankenphp/threads").json();
    answer["ThreadDebugStates"]
        .as_array()
        .expect("threads")
        .clone()
}

#[test]
fn shows_pools_and_processes() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    server.get("/hello.php").assert(200, "hello");
    let status = admin.get("/status").json();
    assert_eq!(status["pid"], server.pid());
    let pool = &status["pools"][0];
    assert_eq!(
        (&pool["name"], &pool["mode"]),
        (&"php".into(), &"classic".into())
    );
    // A worker can be ready before its zygote has reported the process id.
    let same = || {
        let status = admin.get("/status").json();
        let shown = status["pools"][0]["workers"].as_array().expect("workers");
        let shown: BTreeSet<_> = shown.iter().filter_map(|w| w["pid"].as_u64()).collect();
        let living = server.workers();
        shown == living.iter().map(|worker| worker.pid.into()).collect()
    };
    assert!(process::wait_until(PATIENCE, same));
    admin.get("/health").assert_status(200);
    admin.get("/config/apps/frankenphp").assert_status(200);
    let threads = threads(&admin);
    assert_eq!(threads.len(), 2);
    assert!(
        threads
            .iter()
            .all(|thread| thread["Name"] == "Regular PHP Thread")
    );
    // A worker counts a request after its client has received the response.
    let counted = || {
        let threads = self::threads(&admin);
        let counts = threads
            .iter()
            .filter_map(|thread| thread["RequestCount"].as_u64());
        counts.sum::<u64>() == 1
    };
    assert!(process::wait_until(PATIENCE, counted));
    let waiting = || {
        let threads = self::threads(&admin);
        threads
            .iter()
            .all(|thread| thread["WaitingSinceMilliseconds"].as_u64() > Some(0))
    };
    assert!(process::wait_until(PATIENCE, waiting));
}

#[test]
fn shows_the_request_that_runs() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    let threads = threads(&admin);
    let busy: Vec<_> = threads
        .iter()
        .filter(|thread| thread["IsBusy"] == true)
        .collect();
    assert_eq!(busy.len(), 1, "{threads:?}");
    assert_eq!(busy[0]["WaitingSinceMilliseconds"], 0);
    assert!(
        busy[0]["RequestStartedAt"]
            .as_i64()
            .is_some_and(|at| at > 0)
    );
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
}

#[test]
fn stops_after_running_requests() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    // The same request as from Octane.
    let stop = Request::new("POST", "/stop").body("[]");
    admin.send(&stop).assert_status(200);
    let refused = || Connection::open(server.address()).is_err();
    assert!(process::wait_until(PATIENCE, refused), "it still accepts");
    admin.get("/health").assert_status(503);
    admin.post("/reload").assert_status(503);
    assert!(!server.has_ended());
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn commands_reach_the_server() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    let status = admin.command(&["status"]);
    status.assert(0, "php: classic, generation 1");
    status.assert(0, "PLACE");
    let json = admin.command(&["status", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&json.text()).expect("JSON");
    assert_eq!(shown["pid"], server.pid());
    admin
        .command(&["reload"])
        .assert(0, "reloaded php: generation 2");
    admin
        .command(&["reload", "--pool", "nobody"])
        .assert(1, "pool nobody does not exist; the pools are: php");
    admin.command(&["stop"]).assert(0, "");
    // The command has waited for the shutdown. The kernel may still have to remove the process.
    let is_alive =
        || process::Process::find(server.pid()).is_some_and(|process| process.is_alive());
    assert!(process::wait_until(PATIENCE, || !is_alive()));
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn commands_find_the_address_in_the_caddyfile() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("admin.sock");
    let text = caddyfile(&format!("admin unix/{}", socket.display()), "respond ok");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, &text).expect("written");
    let server = ServerBuilder::command(["run", "-c"]).arg(&file).start();
    assert_eq!(
        Admin::of(&server).address,
        format!("unix/{}", socket.display())
    );
    let named = |words: &[&str]| ServerBuilder::command(words).arg("-c").arg(&file).run();
    named(&["status"]).assert(0, "PLACE");
    // By default, the Caddyfile of the working directory.
    ServerBuilder::command(["status"])
        .current_dir(dir.path())
        .run()
        .assert(0, "PLACE");

    std::fs::write(&file, format!("{text}\n# changed\n")).expect("written");
    let reload = named(&["reload", "--pool", "php"]);
    reload.assert(0, "reloaded php");
    reload.assert(0, "`howdah reload` without --pool applies that");
    named(&["reload"]).assert(0, "reloaded php");
    let other = dir.path().join("Other");
    std::fs::write(&other, &text).expect("written");
    ServerBuilder::command(["reload", "-c"])
        .arg(&other)
        .run()
        .assert(0, "reloaded php");
    named(&["stop"]).assert(0, "");
    assert_eq!(server.wait_exit().code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn commands_report_that_no_server_responds() {
    let closed = ClosedPort::new();
    let address = closed.address().to_string();
    for command in ["status", "reload", "stop"] {
        let expected = format!(
            "no server answers at {address}; is it running, and is `admin` on? Start `howdah dev` and `howdah \
             php-server` with `--admin {address}`"
        );
        ServerBuilder::command([command, "--address", &address])
            .run()
            .assert(1, &expected);
    }
    ServerBuilder::command(["status", "--address", "x:y:z"])
        .run()
        .assert(2, "unix//PATH");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(
        dir.path().join("Caddyfile"),
        caddyfile("admin off", "respond ok"),
    )
    .expect("written");
    ServerBuilder::command(["stop"])
        .current_dir(dir.path())
        .run()
        .assert(2, "SIGTERM");
}

#[test]
fn an_address_that_was_chosen_has_to_be_free() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let ended = classic(&format!("admin {address}"))
        .try_start()
        .expect_err("it cannot start");
    ended.assert(2, &format!("admin {address}: the address is in use"));
}

#[test]
fn the_default_address_may_be_taken() {
    // Taken by this test or by a server that has the address already.
    let taken = TcpListener::bind("127.0.0.1:2019");
    let server = classic("").start();
    server.expect_log("the admin API is off: admin localhost:2019: the address is in use");
    server.get("/hello.php").assert(200, "hello");
    drop(taken);
}

#[test]
fn is_off_by_default() {
    let server = Server::builder(www()).workers(1).start();
    assert!(server.log().containing("admin API").is_empty());
    let server = classic("admin off").start();
    assert!(server.log().containing("admin API").is_empty());
    let server = Server::builder(www())
        .workers(1)
        .args(["--admin", "localhost:0"])
        .start();
    Admin::of(&server).get("/health").assert_status(200);
}

#[test]
fn web_pages_are_kept_out() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    server.expect_log("requests of web pages are refused");
    server.expect_log("host not allowed: rebound.example");
    let stop = Request::new("POST", "/stop");
    admin
        .send(&stop.clone().header("Origin", "http://evil.example"))
        .assert_status(403);
    admin.send(&stop.host("rebound.example")).assert_status(403);
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn does_what_octane_does() {
    let www = Www::new().file("index.php", "<?php echo 'octane';");
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(
        &format!("{ON}\nfrankenphp {{\nnum_threads 1\n}}"),
        &site,
    ))
    .start();
    let admin = Admin::of(&server);
    let config = admin.get("/config/apps/frankenphp");
    config.assert_status(200);
    let before = server.workers()[0].pid;
    let patch = Request::new("PATCH", "/config/apps/frankenphp")
        .header("Content-Type", "application/json")
        .header("Cache-Control", "must-revalidate")
        .body(config.text());
    admin.send(&patch).assert_status(200);
    server.get("/").assert(200, "octane");
    assert!(process::wait_until(PATIENCE, || server
        .workers()
        .iter()
        .all(|worker| worker.pid != before)));
    admin
        .send(&Request::new("POST", "/stop").body("[]"))
        .assert_status(200);
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn a_request_under_way_is_shown_with_its_phase_and_worker() {
    let site = format!("root * {}\nphp_server", www().display());
    let global = format!("{ON}\nfrankenphp {{\nnum_threads 1\n}}");
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    let mut running = server.connect();
    running.send(&Request::get(&target)).expect("sent");
    gate.reached();
    let mut waiting = server.connect();
    waiting.send(&Request::get("/hello.php")).expect("sent");
    let shown = || admin.get("/requests").json()["requests"].clone();
    // A request is visible before it is in the queue.
    let both = || {
        shown()
            .as_array()
            .is_some_and(|requests| requests.len() == 2 && requests[1]["phase"] == "queue")
    };
    assert!(process::wait_until(PATIENCE, both), "{}", shown());
    let requests = shown();
    let (first, second) = (&requests[0], &requests[1]);
    assert_eq!(first["uri"], target);
    assert_eq!(first["method"], "GET");
    assert_eq!(
        (&first["phase"], &first["pool"]),
        (&"php".into(), &"php".into())
    );
    assert_eq!(first["pid"], server.workers()[0].pid);
    assert_eq!(
        (&second["uri"], &second["phase"]),
        (&"/hello.php".into(), &"queue".into())
    );
    assert_eq!(second["worker"], serde_json::Value::Null);
    let threads = admin.get("/frankenphp/threads").json();
    assert_eq!(threads["ThreadDebugStates"][0]["CurrentURI"], target);
    assert_eq!(threads["ThreadDebugStates"][0]["CurrentMethod"], "GET");

    let top = admin.command(&["top", "--once"]);
    assert_eq!(top.code, Some(0), "{}", top.text());
    for text in ["2 in flight", "/hello.php", &target] {
        assert!(top.text().contains(text), "no {text} in {}", top.text());
    }
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert_status(200);
    waiting
        .receive("GET")
        .expect("a response")
        .assert_status(200);
    let none = || shown().as_array().is_some_and(Vec::is_empty);
    assert!(process::wait_until(PATIENCE, none), "{}", shown());
}

#[test]
fn the_configuration_in_force_and_two_kinds_of_health() {
    let server = classic(ON).start();
    let admin = Admin::of(&server);
    let config = admin.get("/config/").json();
    assert!(
        config["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("Caddyfile")),
        "{config}"
    );
    let global = config["statements"]["global"]
        .as_array()
        .expect("statements");
    assert!(
        global.iter().any(|line| line["name"] == "admin"),
        "{config}"
    );
    let site = &config["statements"]["sites"][0];
    let names: Vec<_> = site["statements"]
        .as_array()
        .expect("statements")
        .iter()
        .map(|line| line["name"].clone())
        .collect();
    assert!(names.contains(&"php_server".into()), "{config}");
    admin.get("/healthz").assert_status(200);
    admin.get("/readyz").assert_status(200);
}
