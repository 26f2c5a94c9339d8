//! A changed configuration for a running server: new requests are served by the new one, requests
//! in flight continue, and an invalid configuration changes nothing.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use howdah_testkit::{Connection, EndOnDrop, PATIENCE, Request, Server, ServerBuilder, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{encode, tls, www};

/// A site on the port of the server, in a file with these options.
fn text(global: &str, site: &str) -> String {
    format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\n}}\n{global}\n}}\nhttp://:0 {{\nbind 127.0.0.1\n{site}\n}}\n"
    )
}

fn start(text: &str) -> (Server, Admin, PathBuf) {
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    let file = server.temp_dir().with_file_name("Caddyfile");
    (server, admin, file)
}

fn write(file: &PathBuf, text: &str) {
    std::fs::write(file, text).expect("written");
}

/// The latest address on which the server listens.
fn newest(server: &Server, known: &[SocketAddr]) -> SocketAddr {
    let line = server.wait_line("another address", |line| {
        let address = line.text("address").and_then(|text| text.parse().ok());
        line.message() == "listening" && address.is_some_and(|own| !known.contains(&own))
    });
    let address = line.text("address").expect("an address");
    address.parse().expect("an address")
}

#[test]
fn no_request_fails_while_a_header_changes() {
    let site = |version: u32| text("", &format!("header X-Version {version}\nrespond ok"));
    let (server, admin, file) = start(&site(0));
    let (done, answered) = (AtomicBool::new(false), AtomicU32::new(0));
    let seen = Mutex::new(std::collections::BTreeSet::new());
    // Front threads switch one after another. Meanwhile, another connection may get the previous
    // configuration.
    let check = |connection: &mut Connection, latest: &mut u32, behind: u32| {
        let response = connection.exchange(&Request::get("/")).expect("a response");
        response.assert(200, "ok");
        let version: u32 = response
            .header("X-Version")
            .and_then(|version| version.parse().ok())
            .expect("a number");
        assert!(version + behind >= *latest, "{version} after {latest}");
        *latest = version.max(*latest);
        seen.lock().expect("no panic").insert(version);
        answered.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for kept in [true, true, true, false, false, false] {
            let (server, done, check) = (&server, &done, &check);
            scope.spawn(move || {
                let mut latest = 0;
                let mut connection = server.connect();
                while !done.load(Ordering::Relaxed) {
                    if !kept {
                        connection = server.connect();
                    }
                    check(&mut connection, &mut latest, u32::from(!kept));
                }
            });
        }
        let _end = EndOnDrop(&done);
        let begun = || answered.load(Ordering::Relaxed) > 0;
        assert!(process::wait_until(PATIENCE, begun) || done.load(Ordering::Relaxed));
        for version in 1..=20 {
            let before = answered.load(Ordering::Relaxed);
            write(&file, &site(version));
            admin.post("/reload").assert_status(200);
            let mut connection = server.connect();
            check(&mut connection, &mut version.clone(), 0);
            let more = || answered.load(Ordering::Relaxed) > before + 6;
            assert!(process::wait_until(PATIENCE, more) || done.load(Ordering::Relaxed));
        }
    });
    let seen = seen.into_inner().expect("no panic");
    assert!(seen.contains(&0) && seen.contains(&20), "{seen:?}");
    for _ in 0..4 {
        assert_eq!(server.get("/").header("X-Version"), Some("20"));
    }
    assert_eq!(server.addresses().len(), 1);
}

#[test]
fn a_bad_file_changes_nothing_and_reports_the_error() {
    let (server, admin, file) = start(&text("", "respond one"));
    let loaded = |server: &Server| {
        let page = Admin::of(server).get("/metrics").text();
        page.contains("\nhowdah_config_last_reload_successful 1\n")
    };
    assert!(loaded(&server));
    server.allow_log("the configuration was not reloaded");
    server.expect_log("respnd");
    write(&file, &text("", "respnd two"));
    let refused = admin.post("/reload");
    refused.assert_status(400);
    let error = refused.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.contains("Caddyfile:10:1"), "{error}");
    assert!(error.contains("`respond`"), "{error}");
    let command = admin.command(&["reload"]);
    command.assert(1, "Caddyfile:10:1");
    server.get("/").assert(200, "one");
    assert!(!loaded(&server));
    assert!(!admin.get("/config").json()["statements"].is_null());
    write(&file, &text("", "respond two"));
    admin.command(&["reload"]).assert(0, "reloaded php");
    server.get("/").assert(200, "two");
    assert!(loaded(&server));
}

#[test]
fn listeners_come_and_go_and_requests_end_where_they_began() {
    let slow = format!("root * {}\nphp_server", www().display());
    let one = text("", &slow);
    let second = "http://:0 {\nbind 127.0.0.2\nrespond second\n}\n";
    let (server, admin, file) = start(&one);
    let first = server.address();
    let mut kept = server.connect();
    kept.exchange(&Request::get("/dump.php"))
        .expect("answered")
        .assert_status(200);
    write(&file, &format!("{one}{second}"));
    admin.post("/reload").assert_status(200);
    let other = newest(&server, &[first]);
    let mut on_second = Connection::open(other).expect("accepted");
    on_second
        .exchange(&Request::get("/"))
        .expect("answered")
        .assert(200, "second");
    // The existing connection stays open.
    kept.exchange(&Request::get("/dump.php"))
        .expect("answered")
        .assert_status(200);

    // A request that is in flight while its listener is closed.
    let text_of_second = second.replace("respond second", &slow);
    write(&file, &format!("{one}{text_of_second}"));
    admin.post("/reload").assert_status(200);
    let mut gate = server.gate("gate");
    let mut running = Connection::open(other).expect("accepted");
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    write(&file, &one);
    let reload = std::thread::scope(|scope| {
        let reload = scope.spawn(|| admin.post("/reload"));
        server.wait_line("the listener goes", |line| {
            line.message() == "no longer listening"
        });
        // The connection accepts no further requests after this response.
        let left = || on_second.exchange(&Request::get("/")).is_err();
        assert!(process::wait_until(PATIENCE, left), "it stays open");
        let closed = || Connection::open(other).is_err();
        assert!(process::wait_until(PATIENCE, closed), "somebody listens");
        gate.open(1);
        let response = running.receive("GET").expect("a response");
        assert_eq!(response.status(), 200);
        reload.join().expect("no panic")
    });
    reload.assert_status(200);
    kept.exchange(&Request::get("/dump.php"))
        .expect("answered")
        .assert_status(200);
}

#[test]
fn a_port_in_use_changes_nothing() {
    let (server, admin, file) = start(&text("", "respond one"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").port();
    let two = text("", "respond two");
    write(
        &file,
        &format!("{two}http://:{port} {{\nbind 127.0.0.1\nrespond three\n}}\n"),
    );
    server.expect_log("is in use");
    let refused = admin.post("/reload");
    refused.assert_status(400);
    let error = refused.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.contains(&format!("port {port} is in use")), "{error}");
    server.get("/").assert(200, "one");
    drop(taken);
    // A process that another test forks at this moment holds the port as well, until it executes
    // its program.
    let reloaded = || admin.post("/reload").status() == 200;
    assert!(process::wait_until(PATIENCE, reloaded), "still in use");
    server.get("/").assert(200, "two");
}

#[test]
fn a_site_with_a_certificate_is_added() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = directory.path().join("storage");
    let global = format!("storage file_system {}", storage.display());
    let plain = text(&global, "respond plain");
    let (server, admin, file) = start(&plain);
    let encrypted =
        |body: &str| format!("{plain}https://localhost:0 {{\nbind 127.0.0.1\nrespond {body}\n}}\n");
    write(&file, &encrypted("one"));
    admin.post("/reload").assert_status(200);
    let address = newest(&server, &[server.address()]);
    let root = std::fs::read_to_string(storage.join("authority/root.crt")).expect("made");
    let client = tls::Client::trusting(&root);
    let get = |body: &str| {
        let answer = client.get(address, "localhost", "/").expect("an answer");
        answer.assert(200, body);
    };
    get("one");
    write(&file, &encrypted("two"));
    admin.post("/reload").assert_status(200);
    get("two");
    server.get("/").assert(200, "plain");
}

#[test]
fn settings_that_need_a_restart_are_refused_by_name() {
    let threads = |number: u32, site: &str| {
        let more = format!("num_threads 1\nfront_threads {number}");
        text("", site).replace("num_threads 1", &more)
    };
    let (server, admin, file) = start(&threads(1, "respond one"));
    write(&file, &threads(2, "respond two"));
    server.expect_log("this needs a restart");
    let refused = admin.post("/reload");
    refused.assert_status(400);
    let error = refused.json()["error"].as_str().expect("a text").to_owned();
    assert_eq!(
        error,
        "front_threads changed from 1 to 2: this needs a restart"
    );
    server.get("/").assert(200, "one");
}

#[test]
fn a_configuration_from_elsewhere() {
    let (server, admin, file) = start(&text("", "respond one"));
    let load = |text: &str, kind: &str| {
        let request = Request::new("POST", "/load").header("Content-Type", kind);
        admin.send(&request.body(text))
    };
    load(&text("", "respond two"), "text/caddyfile").assert_status(200);
    server.get("/").assert(200, "two");
    load("{}", "application/json").assert_status(415);
    server.expect_log("nonsense");
    load("{\nnonsense\n}\n", "text/caddyfile").assert_status(400);
    server.get("/").assert(200, "two");
    // A reload reads the file.
    admin.post("/reload").assert_status(200);
    server.get("/").assert(200, "one");
    let other = file.with_file_name("Other");
    write(&other, &text("", "respond three"));
    // Over TCP, no other file is read, because the command sends its text.
    admin.post("/reload?config=/etc/passwd").assert_status(403);
    let reload = || {
        let command = ServerBuilder::command(["reload", "--address", &admin.address, "--config"]);
        command.arg(&other).run()
    };
    let ended = reload();
    ended.assert(0, "reloaded php");
    ended.assert(0, "the server's own file");
    server.get("/").assert(200, "three");
    write(&other, "{\nnonsense\n}\n");
    server.expect_log("nonsense");
    let name = format!("{}:2:1: ", other.display());
    reload().assert(1, &name);
    write(&other, "import /dev/null\n");
    reload().assert(2, "imports other files");
    admin.post("/reload").assert_status(200);
    server.get("/").assert(200, "one");
}

#[test]
fn another_file_over_the_socket() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = format!("unix/{}", dir.path().join("admin.sock").display());
    let at_socket = |site: &str| text("", site).replace(ON, &format!("admin {socket}"));
    let server = Server::caddyfile(at_socket("respond one")).start();
    let other = dir.path().join("Other");
    write(&other, &at_socket("respond three"));
    let command = ServerBuilder::command(["reload", "--address", &socket, "--config"]);
    command.arg(&other).run().assert(0, "reloaded php");
    server.get("/").assert(200, "three");
    write(&other, &at_socket("respond four"));
    let command = ServerBuilder::command(["reload", "--address", &socket]);
    command.run().assert(0, "reloaded php");
    server.get("/").assert(200, "four");
}
