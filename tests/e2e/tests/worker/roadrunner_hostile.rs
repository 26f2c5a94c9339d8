//! A worker that violates RoadRunner's protocol on purpose: it affects only its own requests, and
//! never occupies its place forever.

use std::time::{Duration, Instant};

use howdah_testkit::{PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;
use howdah_tests::worker::scripts;
use serde_json::Value;

fn server(lines: &str) -> Server {
    server_with("", lines)
}

/// Starts a server with an option of the block `frankenphp`, and lines for the pool.
fn server_with(option: &str, lines: &str) -> Server {
    let script = scripts().join("roadrunner").join("hostile.php");
    let site = format!(
        "roadrunner {{\ncommand php {}\nnum_workers 1\n{lines}\n}}",
        script.display()
    );
    let global = format!("{ON}\nfrankenphp {{\nnum_threads 1\n{option}\n}}");
    Server::caddyfile(caddyfile(&global, &site)).start()
}

fn pool(server: &Server) -> Value {
    let status = Admin::of(server).get("/status").json();
    let pools = status["pools"].as_array().expect("pools").clone();
    let own = pools.into_iter().find(|pool| pool["mode"] == "roadrunner");
    own.expect("a pool")
}

/// Streams that send no byte, or no frame at all, are cancelled when their client disconnects.
#[test]
fn a_stream_without_content_ends_with_its_client() {
    let server = server("");
    let pid = server.get("/pid").text();
    for path in ["/silent", "/empty"] {
        let mut connection = server.connect();
        connection.send(&Request::get(path)).expect("sent");
        assert_eq!(connection.begin("GET").expect("a head").status, 200);
        connection.next_part().expect("it lives").expect("a part");
        drop(connection);
        server.wait_log("cancelled");
        let is_idle = || pool(&server)["busy"] == 0;
        assert!(process::wait_until(PATIENCE, is_idle), "{path}");
        assert_eq!(server.get("/pid").text(), pid, "{path}: it goes on");
    }
}

/// A worker that does not read the data it requested cannot avoid `request_timeout`.
#[test]
fn unread_pongs_do_not_stop_the_clock() {
    let server = server("request_timeout 500ms");
    let began = Instant::now();
    server.get("/pings").assert_status(504);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    server.expect_log("longer than `request_timeout`");
    server.get("/pid").assert_status(200);
}

/// Without that limit it does not keep its place either, when the client has disconnected.
#[test]
fn unread_pongs_end_a_worker() {
    let server = server("");
    let pid = server.get("/pid").text();
    server
        .send(&Request::new("POST", "/pings"))
        .assert_status(502);
    server.expect_log("it pings and does not read the pongs");
    assert_ne!(server.get("/pid").text(), pid);
}

/// A second response, or other data after the first one, never becomes the response to the next
/// request.
#[test]
fn nobody_gets_a_response_that_nobody_asked_for() {
    let server = server("");
    for path in ["/twice", "/later", "/after", "/stop-twice"] {
        let pid = server.get("/pid").text();
        server.get(path).assert(200, "one");
        if path == "/later" {
            server.wait_log("sent twice");
        }
        let next = server.get("/pid").text();
        assert!(next.parse::<u32>().is_ok(), "{path}: {next}");
        assert_ne!(next, pid, "{path}: the worker is replaced");
        server.expect_log("it sent something without a request");
    }
    assert_eq!(pool(&server)["counters"]["killed"], 4);
}

#[test]
fn what_is_not_a_response_harms_one_request() {
    let server = server("");
    server.get("/stops").assert(200, "after stops");
    for (path, log) in [
        ("/order", "it sent an order in place of a response"),
        ("/close", "it closed its standard output"),
    ] {
        let request = Request::new("POST", path);
        server.send(&request).assert_status(502);
        server.expect_log(log);
        server.get("/stops").assert(200, "after stops");
    }
    server.allow_log("worker exited: signal: 9");
    // The declared length lets a client detect an incomplete response.
    let mut connection = server.connect();
    let request = Request::new("POST", "/length");
    connection.send(&request).expect("sent");
    let head = connection.begin("POST").expect("a head");
    assert_eq!(head.header("content-length"), Some("4294967281"));
    while let Ok(Some(_)) = connection.next_part() {}
    server.expect_log("a response was cut off");
    server.allow_log("worker exited: exit status: 0");
    server.get("/stops").assert(200, "after stops");
}

/// The server ignores the process id in the handshake and signals only processes that it has
/// started.
#[test]
fn a_wrong_process_id_signals_nobody() {
    let server = server("");
    let own: u32 = server.get("/pid").text().parse().expect("a number");
    assert_ne!(own, 1);
    let shown = server.processes();
    assert!(shown.iter().any(|process| process.pid == own), "{shown:?}");
    Admin::of(&server).post("/reload").json();
    assert_ne!(server.get("/pid").text(), own.to_string());
    server.stop();
}

/// A worker has its pipes and no descriptors of the process that started the server.
#[test]
fn workers_inherit_no_descriptor() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("private");
    let file = std::fs::File::create(&path).expect("mine");
    // Descriptors that the standard library opens are not inherited, but this one is.
    let open = rustix::io::dup(&file).expect("a descriptor");
    for option in ["", "dumpable"] {
        let server = server_with(option, "");
        let found = server.get("/descriptors").json();
        for target in found.as_object().expect("a list").values() {
            let target = target.as_str().expect("a path");
            assert!(!target.contains("private"), "{option}: {found}");
        }
        for (number, target) in ["pipe:", "pipe:", "pipe:"].iter().enumerate() {
            let shown = found[number.to_string()].as_str().expect("a pipe");
            assert!(shown.starts_with(target), "{found}");
        }
    }
    assert_eq!(std::fs::read(&path).expect("mine"), b"");
    drop(open);
}
