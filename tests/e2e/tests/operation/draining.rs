//! Shutdown: load balancers first remove the server, and each accepted connection gets a response.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::{Connection, PATIENCE, Request, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{caddyfile, encode, http3, in_time, www};

const READY_OFF: &str = "no longer ready";

/// The health check from Caddy's documentation.
const SITE: &str = "
	handle /health-check {
		@goingDown vars {http.shutting_down} true
		respond @goingDown \"Bye-bye in {http.time_until_shutdown}\" 503
		respond 200
	}
	readiness /ready
	@staying expression {http.shutting_down} == false
	header @staying X-Staying yes
	root * ROOT
	php_server";

fn server(global: &str) -> Server {
    let site = SITE.replace("ROOT", &www().display().to_string());
    Server::caddyfile(caddyfile(
        &format!("{global}\nfrankenphp {{\nnum_threads 2\n}}"),
        &site,
    ))
    .start()
}

fn refuses(address: SocketAddr) -> bool {
    Connection::open(address).is_err()
}

#[test]
fn everything_is_served_until_the_delay_is_over() {
    let server = server(&format!("{ON}\nshutdown_delay 4s"));
    let admin = Admin::of(&server);
    let hello = Request::get("/hello.php");
    let mut kept = server.connect();
    let response = kept.exchange(&hello).expect("a response");
    assert_eq!(response.header("x-staying"), Some("yes"));
    server.get("/health-check").assert(200, "");
    let ready = server.get("/ready");
    ready.assert(200, "ready\n");
    assert_eq!(ready.header("cache-control"), Some("no-store"));
    server
        .send(&Request::form("/ready", "a=1"))
        .assert_status(405);
    let head = server.send(&Request::new("HEAD", "/ready"));
    head.assert_status(200);
    admin.get("/readyz").assert_status(200);
    let began = Instant::now();
    server.signal(Signal::TERM);
    server.wait_log(READY_OFF);
    for path in ["/readyz", "/health"] {
        admin.get(path).assert_status(503);
    }
    admin.get("/healthz").assert_status(200);
    server.get("/ready").assert(503, "not ready\n");
    let health = server.get("/health-check");
    health.assert_status(503);
    let text = health.text();
    let left = text.strip_prefix("Bye-bye in ").expect("Caddy's text");
    assert!(left.ends_with('s') && left < "4", "{text}");
    // New and existing connections are served. They are closed only towards the end.
    let response = kept.exchange(&hello).expect("a response");
    response.assert(200, "hello");
    assert_eq!(response.header("connection"), None);
    assert_eq!(response.header("x-staying"), None);
    server.signal(Signal::USR2);
    server.wait_log("not reloaded: the server is stopping");
    let is_notified = || {
        server.get("/hello.php").assert(200, "hello");
        let response = server.connect().exchange(&hello).expect("a response");
        response.header("connection") == Some("close")
    };
    assert!(
        process::wait_until(PATIENCE, is_notified),
        "no connection is closed"
    );
    assert!(!server.has_ended());
    let response = kept.exchange(&hello).expect("a response");
    response.assert(200, "hello");
    assert_eq!(response.header("connection"), Some("close"));
    kept.wait_closed().expect("it is closed");
    assert_eq!(server.wait_exit().code(), Some(0));
    assert!(began.elapsed() >= Duration::from_secs(4));
    assert!(refuses(server.address()));
}

#[test]
fn a_second_signal_ends_the_delay_at_once() {
    let server = server("admin off\nshutdown_delay 1h");
    server.signal(Signal::QUIT);
    server.wait_log(READY_OFF);
    server.get("/hello.php").assert(200, "hello");
    server.expect_log("stopped immediately by a second signal");
    server.signal(Signal::TERM);
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn a_load_balancer_that_polls_readiness_is_waited_for() {
    // Health checks of a load balancer: the admin API, or sites that use a placeholder or respond
    // by themselves.
    for target in ["/readyz", "/health-check", "/ready"] {
        let server = server(ON);
        let admin = Admin::of(&server);
        for _ in 0..2 {
            if target == "/readyz" {
                admin.get(target).assert_status(200);
            } else {
                server.get(target).assert_status(200);
            }
        }
        server.signal(Signal::TERM);
        let line = server.wait_log(READY_OFF);
        assert_eq!(line.number("delay_ms"), Some(7_000));
        server.get("/hello.php").assert(200, "hello");
        server.expect_log("stopped immediately by a second signal");
        server.signal(Signal::TERM);
        assert_eq!(server.wait_exit().code(), Some(0));
    }
}

#[test]
fn without_a_load_balancer_nothing_is_waited_for() {
    // A script that waits for the start polls until the first success.
    for (global, asked) in [(ON, 1), ("admin localhost:0\nshutdown_delay 0", 3)] {
        let site = format!("root * {}\nphp_server", www().display());
        let server = Server::caddyfile(caddyfile(global, &site)).start();
        let admin = Admin::of(&server);
        for _ in 0..asked {
            admin.get("/readyz").assert_status(200);
        }
        server.signal(Signal::TERM);
        assert_eq!(server.wait_exit().code(), Some(0));
        assert!(server.log().containing(READY_OFF).is_empty());
        server.stop();
    }
}

/// Lets eight clients open a connection for each request until they are refused. Returns the number
/// of connections without a response and the number of responses.
fn until_refused(
    ask: impl Fn() -> Option<bool> + Sync,
    stop: impl FnOnce(&dyn Fn() -> usize),
) -> (usize, usize) {
    let (lost, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(answered) = ask() {
                    let count = if answered { &served } else { &lost };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        stop(&|| served.load(Ordering::Relaxed));
    });
    (lost.into_inner(), served.into_inner())
}

#[test]
fn connected_clients_get_their_responses() {
    for threads in ["1", "4"] {
        let server = Server::builder(www())
            .workers(2)
            .args(["--front-threads", threads])
            .start();
        let request = Request::get("/hello.php").close();
        let ask = || {
            let mut connection = Connection::open(server.address()).ok()?;
            let response = connection.exchange(&request);
            Some(response.is_ok_and(|response| response.text() == "hello"))
        };
        let (lost, answered) = until_refused(ask, |answered| {
            assert!(process::wait_until(PATIENCE, || answered() > 100));
            server.signal(Signal::TERM);
        });
        assert_eq!((lost, answered > 100), (0, true), "{threads} threads");
        assert_eq!(server.wait_exit().code(), Some(0));
    }
}

#[test]
fn clients_of_a_unix_socket_get_their_responses() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("web.sock");
    let server = Server::caddyfile(format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 2\n}}\n}}\n:80 {{\nbind unix/{}\nroot * {}\nphp_server\n}}\n",
        socket.display(),
        www().display()
    ))
    .start();
    let ask = || {
        let mut stream = UnixStream::connect(&socket).ok()?;
        let request = b"GET /hello.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let mut text = Vec::new();
        let answered = stream.write_all(request).is_ok() && stream.read_to_end(&mut text).is_ok();
        Some(answered && text.ends_with(b"hello"))
    };
    let (lost, answered) = until_refused(ask, |answered| {
        assert!(process::wait_until(PATIENCE, || answered() > 100));
        server.signal(Signal::TERM);
    });
    assert_eq!((lost, answered > 100), (0, true));
    assert_eq!(server.wait_exit().code(), Some(0));
    assert!(!socket.exists());
}

/// A pool whose boot fails has no process that accepts requests.
#[test]
fn a_site_is_not_ready_while_a_pool_is_not() {
    let worker = "<?php
if (is_file(__DIR__ . '/broken')) { exit(1); }
while (frankenphp_handle_request(function () { echo getmypid(); })) {}";
    let www = Www::new().file("worker.php", worker);
    let root = www.path().display();
    let site = format!(
        "readiness /ready\nroot * {root}\nphp_server {{\nworker {{\nfile {root}/worker.php\nmatch /app*\nnum 1\n\
         boot each\n}}\n}}"
    );
    let global = "admin off\nfrankenphp {\nnum_threads 1\n}";
    let server = Server::caddyfile(caddyfile(global, &site)).start();
    server.get("/ready").assert(200, "ready\n");
    server.allow_log("");
    www.write("broken", "");
    let pid = server.get("/app").text().parse().expect("a process");
    process::kill(pid, Signal::KILL).expect("it is there");
    let text = |expected: u16| server.get("/ready").status() == expected;
    assert!(process::wait_until(PATIENCE, || text(503)), "it is ready");
    std::fs::remove_file(www.path().join("broken")).expect("removed");
    assert!(
        process::wait_until(PATIENCE, || text(200)),
        "it is not ready"
    );
    server.get("/app").assert_status(200);
}

/// An HTTP/3 connection is served until the delay ends. Its requests up to then get responses, and
/// then it receives `GOAWAY`.
#[test]
fn http3_is_served_and_drained() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().display();
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["localhost"]);
    let client = Client::trusting(&authority.pem());
    let server = Server::caddyfile(format!(
        "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {folder}/storage\nshutdown_delay 2s\n\
         frankenphp {{\nnum_threads 2\n}}\n}}\n\
         https://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\nroot * {}\nphp_server\n}}\n",
        www().display()
    ))
    .start();
    let address = server.address();
    let mut gate = server.gate("gate");
    in_time(async {
        let open = || http3::Connection::open(&client, address, "localhost");
        let mut before = open().await.expect("a handshake");
        let (response, _) = before.get("/hello.php").await.expect("an answer");
        assert_eq!(response.status(), 200);
        let target = format!("/gate.php?gate={}", encode(gate.path()));
        let mut running = before.ask(http::Method::GET, &target).await.expect("asked");
        // In a separate thread, because blocking this one would stop the connection from sending.
        let waited = tokio::task::spawn_blocking(move || {
            gate.reached();
            gate
        });
        let mut gate = waited.await.expect("it is reached");
        server.signal(Signal::TERM);
        server.wait_log(READY_OFF);
        let mut after = open().await.expect("a handshake");
        for connection in [&mut before, &mut after] {
            let (response, text) = connection.get("/hello.php").await.expect("an answer");
            assert_eq!((response.status().as_u16(), text.as_str()), (200, "hello"));
        }
        server.wait_line("stopping", |line| line.message() == "stopping");
        // No request is in flight.
        let reason = after.ended().await;
        let by_server = matches!(reason, quinn::ConnectionError::ApplicationClosed(_));
        assert!(by_server, "{reason:?}");
        assert!(open().await.is_err(), "a connection after the end");
        // The request is refused, not left without a response.
        let late = before.get("/hello.php").await;
        assert!(late.is_err(), "{late:?}");
        gate.open(1);
        let response = running.recv_response().await.expect("an answer");
        assert_eq!(response.status(), 200);
        http3::rest(&mut running).await.expect("the whole answer");
        before.ended().await;
    });
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn the_first_request_of_a_fresh_connection_is_served() {
    let www = Www::new().file("index.php", "<?php echo 'index';");
    let server = Server::builder(&www)
        .workers(1)
        .args(["--front-threads", "1"])
        .start();
    let mut fresh = server.connect();
    // Accepted before the connection that gets the response.
    server.get("/").assert(200, "index");
    server.signal(Signal::TERM);
    server.wait_line("stopping", |line| line.message() == "stopping");
    let response = fresh.exchange(&Request::get("/")).expect("a response");
    response.assert(200, "index");
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(server.wait_exit().code(), Some(0));
}
