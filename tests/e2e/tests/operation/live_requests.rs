//! Requests in flight: their location and what they wait for, in all modes.

use std::fs::File;
use std::net::TcpListener;
use std::thread;

use howdah_testkit::{PATIENCE, Request, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

/// Waits as the query specifies.
const HANDLER: &str = r"
    switch ($_GET['do'] ?? '') {
        case 'finish':
            fastcgi_finish_request();
        case 'sleep':
            while (!file_exists($_GET['gate'])) {
                usleep(300000);
                clearstatcache();
            }
            break;
        case 'read':
            echo fread(stream_socket_client('tcp://127.0.0.1:' . $_GET['port']), 1);
            break;
        case 'lock':
            flock(fopen($_GET['file'], 'c'), LOCK_EX);
            break;
        case 'channel':
            $channel = new Howdah\Channel(0);
            Howdah\spawn(function () use ($channel) {
                while (!file_exists($_GET['gate'])) {
                    usleep(10000);
                    clearstatcache();
                }
                $channel->send(1);
            });
            $channel->receive();
            break;
        case 'query':
            (new PDO('pgsql:' . $_GET['dsn']))->query('SELECT pg_sleep(4)');
            break;
        case 'send':
            for ($i = 0; $i < 64; $i++) {
                echo str_repeat('x', 1 << 20);
            }
            break;
    }
    echo 'served';
";

struct Mode {
    name: &'static str,
    /// Lines of the pool. `None` selects classic mode.
    worker: Option<&'static str>,
}

const CLASSIC: Mode = Mode {
    name: "php",
    worker: None,
};
const WORKER: Mode = Mode {
    name: "app",
    worker: Some("num 1"),
};
const COROUTINE: Mode = Mode {
    name: "app",
    worker: Some("num 1\nconcurrency 4"),
};

impl Mode {
    fn serve(&self, www: &Www) -> Server {
        self.serve_with(www, "response_spool off")
    }

    /// `limits`: lines of the block of PHP.
    fn serve_with(&self, www: &Www, limits: &str) -> Server {
        let root = www.path().display();
        let function = format!("function handle(): void {{{HANDLER}}}");
        let (script, block) = match self.worker {
            None => (format!("<?php {function}\nhandle();"), String::new()),
            Some(lines) => (
                format!("<?php {function}\nwhile (frankenphp_handle_request('handle'));"),
                format!("worker {{\nname app\nfile {root}/index.php\n{lines}\n}}"),
            ),
        };
        www.write("index.php", script);
        let global = format!("{ON}\nfrankenphp {{\nnum_threads 1\n{limits}\n{block}\n}}");
        let site = format!("root * {root}\nrewrite * /index.php\nphp_server");
        let server = Server::caddyfile(caddyfile(&global, &site)).start();
        server.allow_hogs();
        server
    }
}

/// Waits until the request whose URI starts with this text is as wanted.
fn wait_for(admin: &Admin, uri: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut found = Value::Null;
    let arrived = process::wait_until(PATIENCE, || {
        let all = admin.get("/requests?detail").json();
        let mut requests = all["requests"].as_array().expect("a list").iter();
        let begins = |own: &&Value| own["uri"].as_str().is_some_and(|own| own.starts_with(uri));
        found = requests.find(begins).cloned().unwrap_or_default();
        wanted(&found)
    });
    assert!(arrived, "{found:#}");
    found
}

fn waits_for<'v>(request: &'v Value, kind: &str) -> Option<&'v Value> {
    Some(&request["wait"]).filter(|wait| wait["kind"] == kind)
}

fn sleeps(mode: &Mode) {
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/users/17?do=sleep&gate={}", encode(&gate));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        let seen = wait_for(&admin, "/users/17", |own| waits_for(own, "time").is_some());
        assert_eq!(
            (&seen["phase"], &seen["method"]),
            (&"php".into(), &"GET".into())
        );
        assert_eq!(
            (&seen["pool"], &seen["worker"]),
            (&mode.name.into(), &0.into())
        );
        assert_eq!(seen["route"], "GET /users/:id");
        assert!(
            seen["memory"].as_u64().is_some_and(|bytes| bytes > 100_000),
            "{seen:#}"
        );
        assert_eq!(
            (&seen["client"], &seen["wait"]["text"]),
            (&"waiting".into(), &"sleeping".into())
        );
        let top = seen["top"].as_str().expect("a function");
        assert!(
            top.starts_with("usleep() in handle() ") && top.contains("index.php:"),
            "{top}"
        );
        assert!(
            seen["remote"]
                .as_str()
                .is_some_and(|client| client.starts_with("127.0.0.1:"))
        );
        let shown = admin.command(&["status", "--requests"]);
        shown.assert(0, "usleep() in handle() ");
        std::fs::write(&gate, "open").expect("written");
        response.join().expect("no panic").assert(200, "served");
    });
    admin
        .command(&["status", "--requests"])
        .assert(0, "no requests\n");
}

/// The script continues after its client has lost interest.
fn runs_on(mode: &Mode, client: &str) {
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let act = if client == "served" {
        "finish"
    } else {
        "sleep"
    };
    let mut connection = server.connect();
    let target = format!("/alone?do={act}&gate={}", encode(&gate));
    connection.send(&Request::get(&target)).expect("sent");
    if client == "served" {
        connection.receive("GET").expect("a response");
    } else {
        wait_for(&admin, "/alone", |own| waits_for(own, "time").is_some());
        drop(connection);
    }
    let seen = wait_for(&admin, "/alone", |own| own["client"] == client);
    assert_eq!(seen["phase"], "php", "{seen:#}");
    let seen = wait_for(&admin, "/alone", |own| waits_for(own, "time").is_some());
    assert_eq!(seen["client"], client, "{seen:#}");
    let shown = admin.command(&["status", "--requests"]);
    let route = format!(" {client}\n    route GET /alone, {} worker 0", mode.name);
    shown.assert(0, &route);
    let shown = admin.command(&["top", "--once"]);
    shown.assert(0, &format!(", {client} "));
    std::fs::write(&gate, "open").expect("written");
    let is_over = || {
        let shown = admin.command(&["status", "--requests"]);
        shown.text().trim() == "no requests"
    };
    assert!(process::wait_until(PATIENCE, is_over));
}

fn reads(mode: &Mode) {
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let peer = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = peer.local_addr().expect("bound");
    let target = format!("/read?do=read&port={}", address.port());
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        let (connection, _) = peer.accept().expect("connected");
        // The script has just connected and is about to read.
        let is_in_read = |own: &Value| {
            let top = own["top"].as_str();
            top.is_some_and(|top| top.starts_with("fread() in handle() "))
        };
        let seen = wait_for(&admin, "/read", |own| {
            is_in_read(own) && waits_for(own, "descriptor").is_some()
        });
        let wait = &seen["wait"];
        assert_eq!(wait["peer"], format!("tcp {address}"), "{seen:#}");
        assert_eq!(wait["is_guess"], false, "{seen:#}");
        let shown = admin.command(&["status", "--requests"]);
        shown.assert(0, &format!(": tcp {address}, "));
        drop(connection);
        response.join().expect("no panic").assert(200, "served");
    });
}

fn queries(mode: &Mode) {
    let Ok(dsn) = std::env::var("HOWDAH_TEST_PGSQL") else {
        eprintln!("skipped: HOWDAH_TEST_PGSQL names no database");
        return;
    };
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let port = dsn.split(' ').find_map(|part| part.strip_prefix("port="));
    let peer = format!("tcp 127.0.0.1:{}", port.expect("a port"));
    let target = format!("/query?do=query&dsn={}", dsn.replace(' ', "%20"));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        let seen = wait_for(&admin, "/query", |own| {
            waits_for(own, "descriptor").is_some()
        });
        assert_eq!(seen["wait"]["peer"], *peer, "{seen:#}");
        // PDO blocks the thread, so the only connection of the process is the one.
        let is_guess = mode
            .worker
            .is_none_or(|lines| !lines.contains("concurrency"));
        assert_eq!(seen["wait"]["is_guess"], is_guess, "{seen:#}");
        response.join().expect("no panic").assert(200, "served");
    });
}

fn locks(mode: &Mode, kind: &str) {
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let path = www.path().join("a.lock");
    let file = File::create(&path).expect("created");
    flock(&file, FlockOperation::LockExclusive).expect("locked");
    let target = format!("/lock?do=lock&file={}", encode(&path));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        let seen = wait_for(&admin, "/lock", |own| waits_for(own, kind).is_some());
        let peer = format!("file {}", path.display());
        assert_eq!(seen["wait"]["peer"], *peer, "{seen:#}");
        assert_eq!(seen["wait"]["is_guess"], false, "{seen:#}");
        let shown = admin.command(&["status", "--requests"]);
        shown.assert(0, &format!("{peer}, "));
        flock(&file, FlockOperation::Unlock).expect("unlocked");
        response.join().expect("no panic").assert(200, "served");
    });
}

fn sends(mode: &Mode) {
    let www = Www::new();
    let server = mode.serve(&www);
    let admin = Admin::of(&server);
    let mut connection = server.connect();
    connection
        .send(&Request::get("/send?do=send"))
        .expect("sent");
    let seen = wait_for(&admin, "/send", |own| waits_for(own, "client").is_some());
    assert_eq!(seen["phase"], "php");
    let shown = admin.command(&["status", "--requests"]);
    shown.assert(0, "sending, waiting for the client, ");
    drop(connection);
}

#[test]
fn a_sleep_is_seen_in_classic_mode() {
    sleeps(&CLASSIC);
}

#[test]
fn a_sleep_is_seen_in_worker_mode() {
    sleeps(&WORKER);
}

#[test]
fn a_sleep_is_seen_in_a_coroutine() {
    sleeps(&COROUTINE);
}

#[test]
fn a_script_without_a_client_is_seen_in_classic_mode() {
    runs_on(&CLASSIC, "disconnected");
}

#[test]
fn a_script_without_a_client_is_seen_in_worker_mode() {
    runs_on(&WORKER, "disconnected");
}

#[test]
fn a_script_without_a_client_is_seen_in_a_coroutine() {
    runs_on(&COROUTINE, "disconnected");
}

#[test]
fn a_script_after_its_response_is_seen() {
    runs_on(&CLASSIC, "served");
}

#[test]
fn a_silent_peer_is_named_in_classic_mode() {
    reads(&CLASSIC);
}

#[test]
fn a_silent_peer_is_named_in_worker_mode() {
    reads(&WORKER);
}

#[test]
fn a_silent_peer_is_named_in_a_coroutine() {
    reads(&COROUTINE);
}

#[test]
fn a_database_is_named_in_classic_mode() {
    queries(&CLASSIC);
}

#[test]
fn a_database_is_named_in_worker_mode() {
    queries(&WORKER);
}

#[test]
fn a_database_is_named_in_a_coroutine() {
    queries(&COROUTINE);
}

#[test]
fn a_lock_is_named_in_worker_mode() {
    locks(&WORKER, "descriptor");
}

#[test]
fn a_lock_is_named_in_a_coroutine() {
    locks(&COROUTINE, "lock");
}

#[test]
fn a_channel_is_named_in_a_coroutine() {
    let www = Www::new();
    let server = COROUTINE.serve(&www);
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/channel?do=channel&gate={}", encode(&gate));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        wait_for(&admin, "/channel", |own| {
            waits_for(own, "channel").is_some()
        });
        let shown = admin.command(&["status", "--requests"]);
        shown.assert(0, "waiting for a channel, ");
        std::fs::write(&gate, "open").expect("written");
        response.join().expect("no panic").assert(200, "served");
    });
}

#[test]
fn a_client_that_does_not_read_is_seen_in_classic_mode() {
    sends(&CLASSIC);
}

#[test]
fn a_client_that_does_not_read_is_seen_in_worker_mode() {
    sends(&WORKER);
}

#[test]
fn a_client_that_does_not_read_is_seen_in_a_coroutine() {
    sends(&COROUTINE);
}

/// PHP is done, and the rest of the response is in the spool.
fn sends_the_rest(mode: &Mode) {
    let www = Www::new();
    let server = mode.serve_with(&www, "response_spool 100MiB");
    let admin = Admin::of(&server);
    let mut connection = server.connect();
    let request = Request::get("/rest/17?do=send");
    connection.send(&request).expect("sent");
    let seen = wait_for(&admin, "/rest", |own| own["phase"] == "send");
    assert_eq!(
        (&seen["pool"], &seen["client"]),
        (&mode.name.into(), &"waiting".into()),
        "{seen:#}"
    );
    // The process serves others.
    for of_the_process in ["wait", "top", "memory"] {
        assert_eq!(seen[of_the_process], Value::Null, "{seen:#}");
    }
    server.get("/").assert(200, "served");
    let shown = admin.command(&["status", "--requests"]);
    shown.assert(0, "GET /rest/17?do=send  sending, ");
    shown.assert(0, &format!("\n    route GET /rest/:id, {}", mode.name));
    let response = connection.receive("GET").expect("a response");
    assert_eq!(response.body.len(), (64 << 20) + "served".len());
    let is_over = || admin.get("/requests").json()["requests"] == serde_json::json!([]);
    assert!(process::wait_until(PATIENCE, is_over));
}

#[test]
fn the_rest_of_a_response_is_seen_in_classic_mode() {
    sends_the_rest(&CLASSIC);
}

#[test]
fn the_rest_of_a_response_is_seen_in_worker_mode() {
    sends_the_rest(&WORKER);
}

#[test]
fn the_rest_of_a_response_is_seen_in_a_coroutine() {
    sends_the_rest(&COROUTINE);
}

#[test]
fn a_request_behind_a_full_pool_is_in_the_queue() {
    let www = Www::new();
    let server = CLASSIC.serve(&www);
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let first = format!("/first?do=sleep&gate={}", encode(&gate));
    thread::scope(|scope| {
        let running = scope.spawn(|| server.get(&first));
        wait_for(&admin, "/first", |own| waits_for(own, "time").is_some());
        let waiting = scope.spawn(|| server.get("/second"));
        let seen = wait_for(&admin, "/second", |own| own["phase"] == "queue");
        assert_eq!(
            (&seen["worker"], &seen["wait"]),
            (&Value::Null, &Value::Null)
        );
        let shown = admin.command(&["status", "--requests"]);
        shown.assert(0, "/second  in the queue, ");
        std::fs::write(&gate, "open").expect("written");
        running.join().expect("no panic").assert(200, "served");
        waiting.join().expect("no panic").assert(200, "served");
    });
}
