//! Requests whose clients do not wait for the response: a request that has arrived completely is
//! run.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::rc::Rc;

use howdah_testkit::fpm::{Fpm, Options};
use howdah_testkit::{Connection, Gate, PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::frames::{
    DATA, END_HEADERS, END_STREAM, Frame, Frames, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS,
    block, frame, request,
};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{encode, http3, in_time};
use rustix::process::Signal;
use tempfile::TempDir;

/// Records the id of each request that was run, and the size of its body.
const JOB: &str = r"<?php
$note = $_GET['id'] . ' ' . strlen(file_get_contents('php://input')) . PHP_EOL;
file_put_contents(dirname(__DIR__) . '/ran', $note, FILE_APPEND | LOCK_EX);
echo 'done';
";
/// The same as a worker script.
const WORKER: &str = r"<?php
while (frankenphp_handle_request(function (): void {
    require __DIR__ . '/job.php';
})) {
}
";
/// Prints, flushes if a parameter requires it, and records that it continued.
const PRINTS: &str = r"<?php
ignore_user_abort(isset($_GET['ignore']));
echo str_repeat('x', (int) $_GET['bytes']);
if (isset($_GET['flush'])) {
    flush();
}
$note = $_GET['id'] . ' ' . connection_status() . PHP_EOL;
file_put_contents(dirname(__DIR__) . '/ran', $note, FILE_APPEND | LOCK_EX);
";
/// Blocks its worker until the test opens the gate.
const BLOCK: &str = r"<?php
file_put_contents($_GET['gate'] . '.reached', 'x');
fgetc(fopen($_GET['gate'] . '.open', 'r'));
echo 'let go';
";
/// More than fits into the buffers of a connection.
const SPOOLED: usize = 300_000;

/// A site with these scripts, over HTTP and HTTPS.
struct Site {
    server: Server,
    client: Client,
    directory: Rc<TempDir>,
}

impl Site {
    /// `php` is added to the block of the classic pool, `site` to those of the sites.
    fn start(php: &str, site: &str) -> Self {
        Self::serving(scripts(), php, &format!("{site}\nphp_server"))
    }

    /// Starts a server whose sites have the directives `site`.
    fn serving(directory: Rc<TempDir>, php: &str, site: &str) -> Self {
        let root = directory.path().join("www");
        let authority = Authority::new();
        let pair = authority.issue(directory.path(), "a", &["localhost"]);
        let (folder, root) = (directory.path().display(), root.display());
        let php = php.replace("WORKER", &format!("{root}/worker.php"));
        let text = format!(
            "{{\n{ON}\nauto_https disable_redirects\nstorage file_system {folder}/storage\n\
             servers {{\nmemory_body_size 16KiB\n}}\nfrankenphp {{\n{php}\n}}\n}}\n\
             (site) {{\nbind 127.0.0.1\nlog\nroot * {root}\n{site}\n}}\n\
             http://:0 {{\nimport site\n}}\nhttps://localhost:0 {{\ntls {pair}\nimport site\n}}\n"
        );
        let server = Server::caddyfile(text).start();
        let addresses = server.addresses();
        assert_eq!(addresses.len(), 2, "{addresses:?}");
        Self {
            client: Client::trusting(&authority.pem()),
            server,
            directory,
        }
    }

    fn plain(&self) -> SocketAddr {
        self.server.addresses()[0]
    }

    fn encrypted(&self) -> SocketAddr {
        self.server.addresses()[1]
    }

    fn ran(&self) -> BTreeMap<String, String> {
        let path = self.directory.path().join("ran");
        let notes = std::fs::read_to_string(path).unwrap_or_default();
        let mut ran = BTreeMap::new();
        for line in notes.lines() {
            let (id, bytes) = line.split_once(' ').expect("two words");
            let before = ran.insert(id.to_owned(), bytes.to_owned());
            assert_eq!(before, None, "{id} was run twice");
        }
        ran
    }

    /// Waits until these requests were run, and returns the records of all that were run.
    #[track_caller]
    fn wait(&self, expected: &BTreeMap<String, String>) {
        // The assertion below shows what is missing.
        let _ = process::wait_until(PATIENCE, || self.ran().len() >= expected.len());
        assert_eq!(&self.ran(), expected);
    }

    fn connect(&self) -> Connection {
        Connection::open(self.plain()).expect("it connects")
    }

    /// Lets the only worker wait at a gate.
    fn block(&self, gate: &mut Gate) -> Connection {
        let mut connection = self.connect();
        let target = format!("/block.php?gate={}", encode(gate.path()));
        connection.send(&Request::get(target)).expect("sent");
        gate.reached();
        connection
    }

    /// Opens the gate, so that the worker runs all waiting requests.
    fn release(&self, mut gate: Gate, mut blocked: Connection) {
        gate.open(1);
        let response = blocked.receive("GET").expect("a response");
        response.assert(200, "let go");
        let last = self.connect().exchange(&Request::get("/job.php?id=last"));
        last.expect("a response").assert(200, "done");
    }
}

/// A folder with the scripts.
fn scripts() -> Rc<TempDir> {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("www");
    std::fs::create_dir(&root).expect("a directory");
    for (name, text) in [
        ("job.php", JOB),
        ("worker.php", WORKER),
        ("prints.php", PRINTS),
        ("block.php", BLOCK),
    ] {
        std::fs::write(root.join(name), text).expect("written");
    }
    Rc::new(directory)
}

/// A site in front of PHP-FPM, and one in front of a second server, each with its upstream.
fn fronts() -> [(Site, Box<dyn Any>); 2] {
    let (fpm, directory) = (Fpm::start(&Options::default()), scripts());
    let fastcgi = format!("php_fastcgi unix/{}", fpm.socket().display());
    let front = Site::serving(directory, "num_threads 1", &fastcgi);
    let behind = Site::start("num_threads 2", "");
    let proxy = format!("reverse_proxy {}", behind.plain());
    let second = Site::serving(behind.directory, "num_threads 1", &proxy);
    [(front, Box::new(fpm)), (second, Box::new(behind.server))]
}

/// A way to disconnect, with its name.
type Leave = (&'static str, fn(Connection));

/// A kind of body: its name, its size, and a function that adds it to the request.
type Kind = (&'static str, usize, fn(Request, &[u8]) -> Request);

/// Ways to disconnect with HTTP/1.1.
const LEAVES: [Leave; 3] = [
    ("close", drop),
    ("half", |mut connection| {
        connection.finish_sending().expect("half closed");
        // With or without a response.
        let _ = connection.wait_closed();
    }),
    ("reset", |connection| connection.reset().expect("reset")),
];

fn bodies() -> [Kind; 4] {
    [
        ("none", 0, |request, _| request),
        ("small", 5, |request, body| request.body(body)),
        ("spooled", SPOOLED, |request, body| request.body(body)),
        ("chunked", 70_000, |request, body| {
            request.chunked(body.chunks(9000))
        }),
    ]
}

/// Tests all ways of HTTP/1.1, and HTTP/2 without TLS, several times each.
fn everything(site: &Site, script: &str) {
    let mut expected = BTreeMap::new();
    for round in 0..3 {
        for (way, leave) in LEAVES {
            for (kind, size, with) in bodies() {
                if way == "reset" && size > 100_000 {
                    // The kernel of the client discards bytes that it has not sent yet.
                    continue;
                }
                let id = format!("1-{way}-{kind}-{round}");
                let method = if size == 0 { "GET" } else { "POST" };
                let request = Request::new(method, format!("{script}?id={id}"));
                let request = with(request, &vec![b'x'; size]);
                let mut connection = site.connect();
                connection.send(&request).expect("sent");
                leave(connection);
                expected.insert(id, size.to_string());
            }
        }
        for (way, last) in [
            ("reset", vec![frame(RST_STREAM, 0, 1, 8_u32.to_be_bytes())]),
            ("goaway", vec![frame(GOAWAY, 0, 0, [0; 8])]),
            ("close", Vec::new()),
        ] {
            for size in [0, 5, 40_000] {
                let id = format!("2-{way}-{size}-{round}");
                let mut frames = upload(1, &format!("{script}?id={id}"), size, size);
                // A second request on the same connection.
                let other = format!("{id}-other");
                frames.extend(upload(3, &format!("{script}?id={other}"), 0, 0));
                frames.extend(last.clone());
                Frames::open(site.plain(), &[]).send(&frames).expect("sent");
                expected.insert(id, size.to_string());
                expected.insert(other, "0".into());
            }
        }
    }
    site.wait(&expected);
}

/// Frames of an HTTP/2 request whose body has `size` bytes, of which `sent` are sent.
fn upload(stream: u32, path: &str, size: usize, sent: usize) -> Vec<Frame> {
    let length = size.to_string();
    if size == 0 {
        let head = block(&request("GET", path));
        return vec![frame(HEADERS, END_STREAM | END_HEADERS, stream, head)];
    }
    let mut fields = request("POST", path);
    fields.push(("content-length", &length));
    let mut frames = vec![frame(HEADERS, END_HEADERS, stream, block(&fields))];
    let body = vec![b'x'; sent];
    let parts: Vec<_> = body.chunks(10_000).collect();
    for (number, part) in parts.iter().enumerate() {
        let last = number + 1 == parts.len() && sent == size;
        let flags = if last { END_STREAM } else { 0 };
        frames.push(frame(DATA, flags, stream, *part));
    }
    frames
}

#[test]
fn complete_requests_are_run_in_classic_mode() {
    let site = Site::start("num_threads 2", "");
    everything(&site, "/job.php");
}

#[test]
fn complete_requests_are_run_in_worker_mode() {
    let site = Site::start("num_threads 1\nworker WORKER 2", "");
    everything(&site, "/worker.php");
}

#[test]
fn complete_requests_are_run_by_coroutines() {
    let options = "num_threads 1\nworker {\nfile WORKER\nnum 1\nconcurrency 4\n}";
    let site = Site::start(options, "");
    site.server.allow_hogs();
    everything(&site, "/worker.php");
}

#[test]
fn complete_requests_are_run_by_upstreams() {
    for (site, behind) in fronts() {
        everything(&site, "/job.php");
        // It must be dropped last.
        drop((site, behind));
    }
}

/// Tests each protocol and size of a body several times. With `paused`, the server has done its
/// part of the handshake and sees nothing more before the client disconnects.
fn send_inside_of_tls(paused: bool) {
    let site = Site::start("num_threads 2", "");
    let leave = |send: &mut dyn FnMut()| {
        if paused {
            site.server.signal(Signal::STOP);
        }
        send();
    };
    let mut expected = BTreeMap::new();
    for round in 0..5 {
        for size in [0, 5, 40_000] {
            let id = format!("1-{size}-{round}");
            let method = if size == 0 { "GET" } else { "POST" };
            let request = Request::new(method, format!("/job.php?id={id}")).host("localhost");
            let request = if size == 0 {
                request
            } else {
                request.body(vec![b'x'; size])
            };
            let opened = site.client.connect(site.encrypted(), "localhost");
            let mut stream = opened.expect("a handshake");
            leave(&mut || {
                stream.write_all(&request.to_bytes()).expect("sent");
                stream.flush().expect("sent");
            });
            drop(stream);
            site.server.signal(Signal::CONT);
            expected.insert(id, size.to_string());

            let id = format!("2-{size}-{round}");
            let speaking = site.client.speaking(b"h2");
            let opened = speaking.connect(site.encrypted(), "localhost");
            let mut stream = opened.expect("a handshake");
            let mut bytes = PREFACE.to_vec();
            bytes.extend(frame(SETTINGS, 0, 0, []).to_bytes());
            for frame in upload(1, &format!("/job.php?id={id}"), size, size) {
                bytes.extend(frame.to_bytes());
            }
            leave(&mut || {
                stream.write_all(&bytes).expect("sent");
                stream.flush().expect("sent");
            });
            drop(stream);
            site.server.signal(Signal::CONT);
            expected.insert(id, size.to_string());
        }
    }
    site.wait(&expected);
}

#[test]
fn the_same_inside_of_tls() {
    send_inside_of_tls(false);
}

#[test]
fn the_same_inside_of_tls_before_anything_is_answered() {
    send_inside_of_tls(true);
}

#[test]
fn the_same_over_http3() {
    let site = Site::start("num_threads 1", "");
    let mut gate = site.server.gate("gate");
    let blocked = site.block(&mut gate);
    let mut expected = BTreeMap::from([("last".to_owned(), "0".to_owned())]);
    in_time(async {
        for number in 0..5 {
            let opened = http3::Connection::open(&site.client, site.encrypted(), "localhost");
            let mut connection = opened.await.expect("a handshake");
            let target = format!("/job.php?id={number}");
            let asked = connection.ask(http::Method::GET, &target).await;
            let queued = || {
                let status = Admin::of(&site.server).get("/status").json();
                status["pools"][0]["queue"] == number + 1
            };
            // The client disconnects when its request has arrived.
            while !queued() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            drop((asked, connection));
            expected.insert(number.to_string(), "0".to_owned());
        }
        // Its response arrives after the last close was sent.
        let opened = http3::Connection::open(&site.client, site.encrypted(), "localhost");
        let mut connection = opened.await.expect("a handshake");
        let (response, _) = connection.get("/none").await.expect("an answer");
        assert_eq!(response.status(), 404);
    });
    for number in 0..5 {
        let target = format!("/job.php?id={number}\"");
        site.server
            .wait_line("the client that left", |line| line.raw.contains(&target));
    }
    site.release(gate, blocked);
    site.wait(&expected);
}

#[test]
fn incomplete_requests_are_not_run() {
    incomplete(&Site::start("num_threads 1", ""));
}

#[test]
fn nor_by_upstreams() {
    for (site, behind) in fronts() {
        incomplete(&site);
        drop((site, behind));
    }
}

fn incomplete(site: &Site) {
    let whole = Request::new("POST", "/job.php?id=1").body("all of it");
    let chunked = Request::new("POST", "/job.php?id=2").chunked(["all", "of it"]);
    let spooled = Request::new("POST", "/job.php?id=3").body(vec![b'x'; SPOOLED]);
    for request in [whole, chunked, spooled] {
        for (_, leave) in LEAVES {
            let bytes = request.to_bytes();
            let mut connection = site.connect();
            connection
                .send_bytes(&bytes[..bytes.len() - 1])
                .expect("sent");
            leave(connection);
        }
    }
    let reset = frame(RST_STREAM, 0, 1, 8_u32.to_be_bytes());
    for last in [vec![reset], Vec::new()] {
        let mut frames = upload(1, "/job.php?id=4", 30_000, 20_000);
        frames.extend(last);
        Frames::open(site.plain(), &[]).send(&frames).expect("sent");
    }
    let last = site.connect().exchange(&Request::get("/job.php?id=last"));
    last.expect("a response").assert(200, "done");
    let last = BTreeMap::from([("last".to_owned(), "0".to_owned())]);
    assert_eq!(site.ran(), last);
}

#[test]
fn php_hears_of_it_when_it_has_written_much_or_flushes() {
    let site = Site::start("num_threads 1", "");
    for (number, query) in [
        // Sizes of output that PHP-FPM buffers, and no output.
        "bytes=0",
        "bytes=1",
        "bytes=8000",
        "bytes=100000",
        "bytes=1&flush",
        "bytes=0&flush",
        "bytes=100000&ignore",
        "bytes=1&flush&ignore",
    ]
    .iter()
    .enumerate()
    {
        let mut gate = site.server.gate(&format!("gate{number}"));
        let blocked = site.block(&mut gate);
        let target = format!("/prints.php?id={number}&{query}");
        let mut connection = site.connect();
        connection.send(&Request::get(&target)).expect("sent");
        drop(connection);
        let line = site.server.wait_line("the client that left", |line| {
            line.raw.contains(&target.replace('&', "\\u0026")) || line.raw.contains(&target)
        });
        assert!(line.raw.contains("499"), "{}", line.raw);
        gate.open(1);
        let mut blocked = blocked;
        let response = blocked.receive("GET").expect("a response");
        response.assert(200, "let go");
    }
    let last = site.connect().exchange(&Request::get("/job.php?id=last"));
    last.expect("a response").assert(200, "done");
    let noted = |id: &str, status: &str| (id.to_owned(), status.to_owned());
    let expected = BTreeMap::from([
        noted("0", "0"),
        noted("1", "0"),
        noted("2", "0"),
        noted("6", "1"),
        noted("7", "1"),
        noted("last", "0"),
    ]);
    assert_eq!(site.ran(), expected);
}

#[test]
fn a_password_is_checked_after_the_client_disconnected() {
    // bcrypt hash of `secret` with a low cost.
    let hash = "$2y$04$8pNqLZ3eO/rDpUsBW4mgZOuqfuqW0/36bIOYshc0RC8XCUfUrtWmi";
    let site = Site::start("num_threads 1", &format!("basic_auth {{\nuser {hash}\n}}"));
    let mut expected = BTreeMap::new();
    for (way, leave) in LEAVES {
        for round in 0..3 {
            let id = format!("{way}-{round}");
            let request = Request::get(format!("/job.php?id={id}"))
                .header("Authorization", "Basic dXNlcjpzZWNyZXQ=");
            let mut connection = site.connect();
            connection.send(&request).expect("sent");
            leave(connection);
            expected.insert(id, "0".into());
        }
    }
    for round in 0..3 {
        let id = format!("2-{round}");
        let path = format!("/job.php?id={id}");
        let mut fields = request("GET", &path);
        fields.push(("authorization", "Basic dXNlcjpzZWNyZXQ="));
        let head = frame(HEADERS, END_STREAM | END_HEADERS, 1, block(&fields));
        let reset = frame(RST_STREAM, 0, 1, 8_u32.to_be_bytes());
        Frames::open(site.plain(), &[])
            .send(&[head, reset])
            .expect("sent");
        expected.insert(id, "0".into());
    }
    site.wait(&expected);
}

/// Queues requests, disconnects their clients, and releases the worker.
fn many_wait(site: &Site, count: usize, then: impl FnOnce()) {
    let mut gate = site.server.gate("gate");
    let blocked = site.block(&mut gate);
    for id in 0..count {
        let request = Request::new("POST", format!("/job.php?id={id}")).body("body");
        site.connect().send(&request).expect("sent");
    }
    for id in 0..count {
        let target = format!("/job.php?id={id}\"");
        site.server
            .wait_line("the client that left", |line| line.raw.contains(&target));
    }
    then();
    site.release(gate, blocked);
}

/// Expected records of `many_wait`.
fn each(count: usize) -> BTreeMap<String, String> {
    let noted = |id: usize| (id.to_string(), "4".to_owned());
    let last = ("last".to_owned(), "0".to_owned());
    (0..count).map(noted).chain([last]).collect()
}

fn abandoned(server: &Server) -> (u64, u64) {
    let page = Admin::of(server).get("/metrics").text();
    let of = |outcome: &str| {
        let name =
            format!("howdah_php_requests_abandoned_total{{pool=\"php\",outcome=\"{outcome}\"}} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        line.expect("a line").parse().expect("a number")
    };
    (of("kept"), of("dropped"))
}

#[test]
fn those_that_wait_are_run_in_their_turn() {
    let site = Site::start("num_threads 1", "");
    many_wait(&site, 100, || assert_eq!(abandoned(&site.server), (100, 0)));
    site.wait(&each(100));
}

#[test]
fn they_take_places_in_the_queue() {
    let site = Site::start("num_threads 1\nqueue_length 20", "");
    many_wait(&site, 20, || {
        let refused = site.connect().exchange(&Request::get("/job.php?id=more"));
        refused.expect("a response").assert_status(503);
        site.server.expect_log("requests refused with 503");
        site.server.expect_log("/job.php?id=more");
    });
    site.wait(&each(20));
}

#[test]
fn a_pool_may_drop_them() {
    let site = Site::start("num_threads 1\ndrop_abandoned", "");
    many_wait(&site, 50, || {
        assert_eq!(abandoned(&site.server), (0, 50));
        site.server
            .wait_log("dropped because their clients had disconnected");
    });
    assert_eq!(site.ran(), each(0));
}

#[test]
fn they_are_run_before_the_server_stops() {
    let site = Site::start("num_threads 1", "");
    let mut gate = site.server.gate("gate");
    let blocked = site.block(&mut gate);
    drop(blocked);
    for id in 0..60 {
        let target = format!("/job.php?id={id}");
        let request = Request::new("POST", &target).body("body");
        site.connect().send(&request).expect("sent");
        let target = format!("{target}\"");
        site.server
            .wait_line("the client that left", |line| line.raw.contains(&target));
    }
    site.server.signal(Signal::TERM);
    site.server.wait_log("stopping");
    gate.open(1);
    assert_eq!(site.server.wait_exit().code(), Some(0));
    let mut expected = each(60);
    expected.remove("last");
    assert_eq!(site.ran(), expected);
}
