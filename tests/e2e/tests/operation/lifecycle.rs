//! Start and shutdown.

use std::net::TcpListener;

use howdah_testkit::{
    Connection, ExitReport, PATIENCE, Request, Server, ServerBuilder, Signal, Www, process,
};
use howdah_tests::{caddyfile, encode, www};

/// Sends a request that waits at a gate.
fn with_running_request(server: &Server) -> (howdah_testkit::Gate, Connection) {
    let mut gate = server.gate("gate");
    let mut running = server.connect();
    running
        .send(&Request::get(format!(
            "/gate.php?gate={}",
            encode(gate.path())
        )))
        .expect("sent");
    gate.reached();
    (gate, running)
}

#[test]
fn stops_on_request_and_leaves_nothing() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::builder(www()).workers(4).start();
        server.get("/hello.php").assert(200, "hello");
        server.signal(signal);
        assert_eq!(server.wait_exit().code(), Some(0));
        server.stop();
    }
}

#[test]
fn finishes_what_runs_before_it_stops() {
    let server = Server::builder(www()).workers(1).start();
    let (mut gate, mut running) = with_running_request(&server);
    server.signal(Signal::TERM);
    // New connections are refused from now on. The request in flight continues.
    let refused = || Connection::open(server.address()).is_err();
    assert!(process::wait_until(PATIENCE, refused), "it still accepts");
    assert!(!server.has_ended());
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    running.wait_closed().expect("it is closed");
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn finishes_what_waits_before_it_stops() {
    let server = Server::builder(www())
        .workers(1)
        .args(["--front-threads", "1"])
        .start();
    let (mut gate, mut running) = with_running_request(&server);
    let mut waiting: Vec<_> = (0..20)
        .map(|id| {
            let mut connection = server.connect();
            connection
                .send(&Request::get(format!("/id.php?id={id}")))
                .expect("sent");
            connection
        })
        .collect();
    // The only front thread has read all of them after it has responded to later requests several
    // times.
    for _ in 0..3 {
        server.get("/static.txt").assert(200, "a static file\n");
    }
    server.signal(Signal::TERM);
    assert!(process::wait_until(PATIENCE, || Connection::open(
        server.address()
    )
    .is_err()));
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    for (id, connection) in waiting.iter_mut().enumerate() {
        connection
            .receive("GET")
            .expect("a response")
            .assert(200, &format!("[{id}][{id}]"));
    }
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn closes_idle_connections_when_it_stops() {
    let server = Server::builder(www()).workers(1).start();
    let mut idle = server.connect();
    idle.exchange(&Request::get("/hello.php"))
        .expect("a response")
        .assert(200, "hello");
    let mut fresh = server.connect();
    server.get("/hello.php").assert(200, "hello");
    server.signal(Signal::TERM);
    idle.wait_closed().expect("it is closed");
    fresh.wait_closed().expect("it is closed");
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn a_second_signal_stops_at_once() {
    let server = Server::builder(www()).workers(1).start();
    let (_gate, mut running) = with_running_request(&server);
    server.signal(Signal::TERM);
    assert!(process::wait_until(PATIENCE, || Connection::open(
        server.address()
    )
    .is_err()));
    assert!(!server.has_ended());
    server.signal(Signal::TERM);
    let code = server.wait_exit().code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    server.expect_exit(code.unwrap_or_default());
    let error = running
        .receive("GET")
        .expect_err("the request was given up");
    assert!(error.is_closed(), "{error}");
    server.expect_log("stopped immediately by a second signal");
}

#[test]
fn a_grace_period_of_0_has_no_end() {
    let global = "admin off\ngrace_period 0\nfrankenphp {\nnum_threads 1\n}";
    let site = format!("root * {}\nphp_server", www().display());
    let server = Server::caddyfile(caddyfile(global, &site)).start();
    let (mut gate, mut running) = with_running_request(&server);
    server.signal(Signal::TERM);
    server.wait_log("stopping as soon as all requests are done");
    assert!(process::wait_until(PATIENCE, || Connection::open(
        server.address()
    )
    .is_err()));
    assert!(!server.has_ended());
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn the_grace_period_ends() {
    let server = Server::builder(www())
        .workers(1)
        .args(["--grace-period", "300ms"])
        .start();
    let (_gate, mut running) = with_running_request(&server);
    server.signal(Signal::TERM);
    let code = server.wait_exit().code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    server.expect_exit(code.unwrap_or_default());
    let error = running
        .receive("GET")
        .expect_err("the request was given up");
    assert!(error.is_closed(), "{error}");
    server.allow_log("after the grace period");
}

#[test]
fn reports_a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let root = www();
    let ended = ServerBuilder::command(["php-server", "-l", &address, "-r"])
        .arg(&root)
        .run();
    ended.assert(2, address.split_once(':').expect("host and port").1);
    assert!(ended.text().contains("in use"), "{}", ended.text());
}

#[test]
fn reports_a_missing_root() {
    ServerBuilder::php_server("/nowhere/at/all")
        .run()
        .assert(2, "/nowhere/at/all");
    let www = Www::new().file("file", "no directory");
    let file = www.path().join("file");
    ServerBuilder::php_server(&file).run().assert(2, "file");
}

#[test]
fn reports_a_missing_php() {
    let start = |builder: ServerBuilder| -> ExitReport {
        builder.try_start().expect_err("it cannot start")
    };
    let builder = Server::builder(www()).args(["--php", "/nowhere/howdah-php"]);
    start(builder).assert(2, "/nowhere/howdah-php");
    let builder = Server::builder(www()).args(["--php", "/bin/false"]);
    start(builder).assert(2, "/bin/false");
}

#[test]
fn reports_invalid_php_settings() {
    let refused = |builder: ServerBuilder| builder.try_start().expect_err("it cannot start");
    refused(Server::builder(www()).args(["--php-ini", "novalue"])).assert(2, "NAME=VALUE");
    // PHP continues without a missing extension, and so does the server, but it logs the error.
    let server = Server::builder(www())
        .workers(1)
        .ini("extension", "no_such_extension.so")
        .start();
    server.expect_log("Unable to load dynamic library 'no_such_extension.so'");
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn refuses_unknown_options() {
    ServerBuilder::command(["php-server", "--wrokers", "2"])
        .run()
        .assert(2, "--workers");
    ServerBuilder::command(["php-server", "--workers", "0"])
        .run()
        .assert(2, "workers");
    ServerBuilder::command(["php-servr"])
        .run()
        .assert(2, "php-server");
}

#[test]
fn tells_its_version() {
    let ended = ServerBuilder::command(["version"]).run();
    ended.assert(0, env!("CARGO_PKG_VERSION"));
    ended.assert(0, "PHP 8.");
}

#[test]
fn works_as_the_first_process_of_a_container() {
    let unshare = ["unshare", "-pf", "--mount-proc"];
    let permitted = std::process::Command::new(unshare[0])
        .args(&unshare[1..])
        .arg("true")
        .output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        println!("skipped: unshare is not permitted here");
        return;
    }
    let server = Server::builder(www()).workers(2).through(unshare).start();
    server.get("/pid.php").assert_status(200);
    server.expect_log("worker died");
    server.allow_log("the PHP process crashed");
    server
        .send(&Request::new("POST", "/die.php?how=kill"))
        .assert_status(502);
    server.get("/hello.php").assert(200, "hello");
    // Orphans of PHP's children become children of the first process, which must reap them.
    server.get("/orphan.php").assert(200, "left one");
    let zombie = || {
        process::all()
            .iter()
            .any(|p| p.parent == server.pid() && p.state == 'Z')
    };
    assert!(
        process::wait_until(PATIENCE, || !zombie()),
        "a zombie stays"
    );
    server.signal(Signal::TERM);
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn the_root_may_be_relative() {
    let args = [
        "php-server",
        "-r",
        "www",
        "-l",
        "127.0.0.1:0",
        "--workers",
        "1",
    ];
    let parent = www().parent().expect("it has one").to_owned();
    let server = ServerBuilder::command(args).current_dir(parent).start();
    server.get("/hello.php").assert(200, "hello");
}
