//! HTTP/3 in front of PHP.

use h3::error::Code;
use howdah_testkit::Server;
use howdah_tests::http3::{Connection, Stream, rest};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::worker::scripts;
use howdah_tests::{encode, in_time};
use http::Method;
use tempfile::TempDir;

/// A server of `tests/worker` with HTTPS, and a client that trusts it.
struct Fixture {
    server: Server,
    client: Client,
    _directory: TempDir,
}

impl Fixture {
    /// With `worker`, `early_hints.php` runs in a worker pool, otherwise in classic mode.
    fn start(worker: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::new();
        let pair = authority.issue(directory.path(), "a", &["localhost"]);
        let root = scripts();
        let workers = if worker {
            format!("worker {} 1", root.join("early_hints.php").display())
        } else {
            String::new()
        };
        let text = format!(
            "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {}\n\
             frankenphp {{\nnum_threads 1\n{workers}\n}}\n}}\n\
             https://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\nroot * {}\nphp_server\n}}\n",
            directory.path().display(),
            root.display(),
        );
        Self {
            server: Server::caddyfile(text).start(),
            client: Client::trusting(&authority.pem()),
            _directory: directory,
        }
    }

    /// Runs `work` in a runtime that can open connections.
    fn run(&self, work: impl AsyncFnOnce(&Self)) {
        in_time(work(self));
    }

    async fn connect(&self) -> Connection {
        let opened = Connection::open(&self.client, self.server.address(), "localhost");
        opened.await.expect("a handshake")
    }
}

async fn hint(stream: &mut Stream, path: &str) {
    let hint = stream.recv_response().await.expect("an interim response");
    assert_eq!(hint.status(), 103);
    assert_eq!(hint.headers()["link"], format!("<{path}>; rel=preload"));
    assert!(!hint.headers().contains_key("x-final"));
}

fn hints_come_while_the_script_is_busy(worker: bool) {
    let fixture = Fixture::start(worker);
    fixture.run(async |fixture| {
        let mut connection = fixture.connect().await;
        for i in 0..3 {
            let mut gate = fixture.server.gate(&format!("gate{i}"));
            let query = format!("hints=/a.css,/b.js&gate={}", encode(gate.path()));
            let target = format!("/early_hints.php?{query}");
            let mut stream = connection
                .ask(Method::GET, &target)
                .await
                .expect("an answer");
            // The script waits at the gate until both have arrived.
            hint(&mut stream, "/a.css").await;
            hint(&mut stream, "/b.js").await;
            gate.open(1);
            let response = stream.recv_response().await.expect("a response");
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["x-final"], "yes");
            assert!(!response.headers().contains_key("link"));
            assert_eq!(rest(&mut stream).await.expect("a whole body"), "hello");
        }
        let (response, text) = connection
            .get("/early_hints.php?hints=")
            .await
            .expect("an answer");
        assert_eq!((response.status().as_u16(), text.as_str()), (200, "hello"));
        // A response to HEAD has hints too, and no body.
        let mut stream = connection
            .ask(Method::HEAD, "/early_hints.php")
            .await
            .expect("an answer");
        hint(&mut stream, "/style.css").await;
        let response = stream.recv_response().await.expect("a response");
        assert_eq!(response.status(), 200);
        assert_eq!(rest(&mut stream).await.expect("the end"), "");
    });
}

#[test]
fn hints_come_while_a_script_is_busy() {
    hints_come_while_the_script_is_busy(false);
}

#[test]
fn hints_come_while_a_worker_is_busy() {
    hints_come_while_the_script_is_busy(true);
}

#[test]
fn responses_without_a_body_end() {
    let fixture = Fixture::start(false);
    fixture.run(async |fixture| {
        // As the first request of a connection, and as later ones.
        for _ in 0..5 {
            let mut connection = fixture.connect().await;
            for (method, target) in [
                (Method::HEAD, "/hello.php"),
                (Method::HEAD, "/words.txt"),
                (Method::HEAD, "/nothing"),
                (Method::OPTIONS, "/hello.php"),
                (Method::HEAD, "/large.php?kb=1000"),
                (Method::HEAD, "/hello.php"),
            ] {
                let mut stream = connection
                    .ask(method.clone(), target)
                    .await
                    .expect("an answer");
                let response = stream.recv_response().await.expect("a response");
                let rest = rest(&mut stream).await;
                let rest = rest.unwrap_or_else(|error| panic!("{method} {target}: {error}"));
                if method == Method::HEAD {
                    assert_eq!(rest, "", "{target}: {response:?}");
                }
            }
        }
    });
}

#[test]
fn requests_that_are_reset_harm_no_other() {
    let fixture = Fixture::start(false);
    fixture.run(async |fixture| {
        let mut other = fixture.connect().await;
        let mut connection = fixture.connect().await;
        for number in 0..1000 {
            let mut stream = connection
                .begin(Method::GET, "/hello.php")
                .await
                .expect("an answer");
            stream.stop_stream(Code::H3_REQUEST_CANCELLED);
            stream.stop_sending(Code::H3_REQUEST_CANCELLED);
            if number % 100 == 0 {
                let (response, text) = other.get("/hello.php").await.expect("an answer");
                assert_eq!(response.status(), 200, "{text}");
            }
        }
        let (response, text) = connection.get("/hello.php").await.expect("an answer");
        assert_eq!(response.status(), 200, "{text}");
    });
}
