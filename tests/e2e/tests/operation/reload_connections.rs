//! Connections of every kind during a change of the configuration. Those that may stay open do, the
//! others are closed properly, and requests in flight get their responses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use howdah_testkit::{Connection, EndOnDrop, PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::tls::{Authority, Client, Pair};
use howdah_tests::{encode, http3, in_time, www};
use http::Method;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;

/// A server whose Caddyfile the test changes.
struct Fixture {
    server: Server,
    admin: Admin,
    file: PathBuf,
    authority: Authority,
    directory: TempDir,
}

/// A Caddyfile with these options and sites, and its certificates in `directory`.
fn text(directory: &Path, global: &str, sites: &str) -> String {
    format!(
        "{{\n{ON}\nauto_https disable_redirects\nstorage file_system {}\n\
         frankenphp {{\nnum_threads 1\n}}\n{global}\n}}\n{sites}",
        directory.display()
    )
}

fn site(name: &str, directives: &str) -> String {
    format!("https://{name}:0 {{\nbind 127.0.0.1\n{directives}\n}}\n")
}

impl Fixture {
    /// `sites` gets the directory and the authority.
    fn start(args: &[&str], sites: impl FnOnce(&Path, &Authority) -> String) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::new();
        let sites = sites(directory.path(), &authority);
        let server = Server::caddyfile(text(directory.path(), "", &sites)).args(args);
        let server = server.start();
        Self {
            admin: Admin::of(&server),
            file: server.temp_dir().with_file_name("Caddyfile"),
            server,
            authority,
            directory,
        }
    }

    fn client(&self) -> Client {
        Client::trusting(&self.authority.pem())
    }

    fn reload(&self, global: &str, sites: &str) {
        let text = text(self.directory.path(), global, sites);
        std::fs::write(&self.file, text).expect("written");
        self.admin.post("/reload").assert_status(200);
    }

    /// Reloads while the connections of this runtime continue.
    async fn reload_beside(&self, global: &str, sites: &str) {
        let text = text(self.directory.path(), global, sites);
        std::fs::write(&self.file, text).expect("written");
        let address = self.admin.address.clone();
        let reload = move || Admin { address }.post("/reload").assert_status(200);
        let reloaded = tokio::task::spawn_blocking(reload);
        reloaded.await.expect("a reload");
    }

    async fn http3(&self, name: &str) -> http3::Connection {
        let client = self.client();
        let opened = http3::Connection::open(&client, self.server.address(), name);
        opened.await.expect("a handshake")
    }
}

/// Sends a request on a persistent connection and returns the response.
fn exchange(
    stream: &mut StreamOwned<ClientConnection, TcpStream>,
    host: &str,
) -> std::io::Result<String> {
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
    receive(stream)
}

/// Receives a response whose body is as long as its header says.
fn receive(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.push(byte[0]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length: usize = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .expect("a length");
        if body.len() == length {
            return Ok(text.into_owned());
        }
    }
}

#[test]
fn a_watched_caddyfile_is_applied_without_losing_a_connection() {
    let site = |version: &str| {
        format!(
            "{{\n{ON}\nfrankenphp {{\nnum_threads 1\n}}\n}}\n\
             http://:0 {{\nbind 127.0.0.1\nimport more\nrespond {version}\n}}\n"
        )
    };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("Caddyfile");
    let more = directory.path().join("more");
    let more_text = |value: &str| format!("header X-More {value}\n");
    std::fs::write(&more, more_text("a")).expect("written");
    // Imports are relative to the importing file, so this is not the file that the test kit writes.
    let server = Server::caddyfile(format!("import {}\n", file.display()));
    std::fs::write(&file, site("0")).expect("written");
    let server = server.arg("--watch").start();
    server.wait_log("watching files");

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    // One connection from the first version to the last.
                    let mut connection = server.connect();
                    let (mut latest, mut requests) = (0, 0);
                    while !done.load(Ordering::Relaxed) {
                        let response = connection.exchange(&Request::get("/"));
                        let response = response.expect("the connection goes on");
                        response.assert_status(200);
                        assert_ne!(response.header("connection"), Some("close"));
                        let version: u32 = response.text().parse().expect("a number");
                        assert!(version >= latest, "{version} after {latest}");
                        (latest, requests) = (version, requests + 1);
                    }
                    assert!(requests > 0);
                    connection
                        .exchange(&Request::get("/"))
                        .expect("an answer")
                        .text()
                })
            })
            .collect();
        let end = EndOnDrop(&done);
        let becomes = |what: &str, is: &dyn Fn(&howdah_testkit::Response) -> bool| {
            let changed = process::wait_until(PATIENCE, || is(&server.get("/")));
            assert!(changed, "{what} never came");
        };
        for version in 1..=5 {
            let version = version.to_string();
            // The file is written in turns as a program does, and as an editor does: next to the
            // old file, then renamed over it.
            if version == "2" || version == "4" {
                let new = file.with_file_name("Caddyfile~");
                std::fs::write(&new, site(&version)).expect("written");
                std::fs::rename(&new, &file).expect("renamed");
            } else {
                // All texts have the same length, so a reader never sees a part of one.
                let mut open = std::fs::OpenOptions::new();
                let file = open.write(true).open(&file).expect("it is there");
                file.write_all_at(site(&version).as_bytes(), 0)
                    .expect("written");
            }
            becomes(&version, &|response| response.text() == version);
        }
        std::fs::write(&more, more_text("b")).expect("written");
        becomes("the imported file", &|response| {
            response.header("X-More") == Some("b")
        });
        drop(end);
        for client in clients {
            assert_eq!(client.join().expect("no panic"), "5");
        }
    });

    // An error is reported and changes nothing until it is fixed.
    server.allow_log("the configuration was not reloaded");
    server.expect_log("nonsense");
    std::fs::write(&file, site("6\nnonsense")).expect("written");
    server.wait_log("nonsense");
    server.get("/").assert(200, "5");
    std::fs::write(&file, site("7")).expect("written");
    assert!(process::wait_until(PATIENCE, || server.get("/").text() == "7"));
    assert_eq!(server.addresses().len(), 1);
}

#[test]
fn http3_goes_on_with_another_configuration() {
    let pages = |directory: &Path, authority: &Authority, version: &str| {
        let pair = authority.issue(directory, version, &["a.test"]);
        let php = format!("root * {}\nphp_server", www().display());
        let body = format!("handle /version {{\nrespond {version}\n}}\nhandle {{\n{php}\n}}");
        site("a.test", &format!("tls {pair}\n{body}"))
    };
    let fixture = Fixture::start(&[], |directory, authority| {
        pages(directory, authority, "one")
    });
    let sites = |version: &str| pages(fixture.directory.path(), &fixture.authority, version);
    in_time(async {
        let mut kept = fixture.http3("a.test").await;
        let (_, body) = kept.get("/version").await.expect("an answer");
        assert_eq!(body, "one");
        // The request is in flight while the configuration changes.
        let mut gate = fixture.server.gate("gate");
        let target = format!("/gate.php?gate={}", encode(gate.path()));
        let mut running = kept.ask(Method::GET, &target).await.expect("a stream");
        let gate = tokio::task::spawn_blocking(move || {
            gate.reached();
            gate
        });
        let mut gate = gate.await.expect("no panic");
        for version in ["two", "three"] {
            fixture.reload_beside("", &sites(version)).await;
            let (response, body) = kept.get("/version").await.expect("an answer");
            assert_eq!((response.status().as_u16(), &*body), (200, version));
            // A new client sees the new certificate, and existing connections are not affected.
            let mut fresh = fixture.http3("a.test").await;
            assert_ne!(fresh.certificate(), kept.certificate());
            let (_, body) = fresh.get("/version").await.expect("an answer");
            assert_eq!(body, version);
        }
        gate.open(1);
        let response = running.recv_response().await.expect("a response");
        assert_eq!(response.status(), 200);
        http3::rest(&mut running).await.expect("a whole body");
    });
}

#[test]
fn http3_is_turned_off_and_on() {
    let pages = |directory: &Path, authority: &Authority| {
        let pair = authority.issue(directory, "a", &["a.test"]);
        let php = format!("root * {}\nphp_server", www().display());
        site("a.test", &format!("tls {pair}\n{php}"))
    };
    let fixture = Fixture::start(&[], pages);
    let sites = pages(fixture.directory.path(), &fixture.authority);
    let off = "servers {\nprotocols h1 h2\n}";
    let address = fixture.server.address();
    let announced = || {
        let answer = fixture.client().get(address, "a.test", "/static.txt");
        answer.expect("an answer").header("alt-svc").is_some()
    };
    in_time(async {
        for round in 0..3 {
            let mut kept = fixture.http3("a.test").await;
            kept.get("/static.txt").await.expect("an answer");
            assert!(announced());
            let mut gate = fixture.server.gate(&format!("gate{round}"));
            let target = format!("/gate.php?gate={}", encode(gate.path()));
            let mut running = kept.ask(Method::GET, &target).await.expect("a stream");
            let gate = tokio::task::spawn_blocking(move || {
                gate.reached();
                gate
            });
            let mut gate = gate.await.expect("no panic");
            fixture.reload_beside(off, &sites).await;
            assert!(!announced());
            let refused = http3::Connection::open(&fixture.client(), address, "a.test").await;
            refused.expect_err("there is no HTTP/3 now");
            // Requests in flight get responses, and no further requests are accepted.
            gate.open(1);
            let response = running.recv_response().await.expect("a response");
            assert_eq!(response.status(), 200);
            http3::rest(&mut running).await.expect("a whole body");
            kept.ended().await;
            fixture.reload_beside("", &sites).await;
        }
        let mut fresh = fixture.http3("a.test").await;
        fresh.get("/static.txt").await.expect("an answer");
    });
}

/// Hosts for members and for all, and the files that clients need.
struct Members {
    server_pair: Pair,
    clients: Authority,
    directory: PathBuf,
}

impl Members {
    /// Starts a server with the first version.
    fn start(asks: bool) -> (Fixture, Self) {
        let mut members = None;
        let fixture = Fixture::start(&[], |directory, authority| {
            let own = members.insert(Self::new(directory, authority));
            own.sites(asks, "one")
        });
        (fixture, members.expect("made"))
    }

    fn new(directory: &Path, authority: &Authority) -> Self {
        let names = ["auth.test", "open.test"];
        let members = Self {
            server_pair: authority.issue(directory, "server", &names),
            clients: Authority::new(),
            directory: directory.to_owned(),
        };
        members.trust(&members.clients);
        members
    }

    /// Changes the authority of client certificates.
    fn trust(&self, clients: &Authority) {
        std::fs::write(self.directory.join("clients.pem"), clients.pem()).expect("written");
    }

    fn sites(&self, asks: bool, version: &str) -> String {
        let pair = &self.server_pair;
        let file = self.directory.join("clients.pem");
        let auth = if asks {
            format!(
                " {{\nclient_auth {{\ntrusted_ca_cert_file {}\n}}\n}}",
                file.display()
            )
        } else {
            String::new()
        };
        site(
            "auth.test",
            &format!("tls {pair}{auth}\nrespond \"members {version}\""),
        ) + &site(
            "open.test",
            &format!("tls {pair}\nrespond \"all {version}\""),
        )
    }

    fn member(&self, of: &Authority, server: &str) -> Client {
        let pair = of.issue(&self.directory, "member", &["member"]);
        Client::with_certificate(server, &pair)
    }
}

#[test]
fn client_certificates_are_requested_after_a_reload_too() {
    let (fixture, members) = Members::start(true);
    let address = fixture.server.address();
    let pem = fixture.authority.pem();
    let member = members.member(&members.clients, &pem);
    let anonymous = fixture.client();
    let body =
        |client: &Client, host: &str| client.get(address, host, "/").map(|answer| answer.body);
    assert_eq!(
        body(&member, "auth.test").expect("an answer"),
        "members one"
    );
    let mut kept = member.connect(address, "auth.test").expect("a handshake");
    assert!(
        exchange(&mut kept, "auth.test")
            .expect("an answer")
            .ends_with("members one")
    );
    for version in ["two", "three"] {
        fixture.reload("", &members.sites(true, version));
        // The existing connection ends with a TLS alert, or after the next response.
        if let Ok(answer) = exchange(&mut kept, "auth.test") {
            assert!(answer.contains("connection: close"), "{answer}");
        }
        let mut rest = Vec::new();
        kept.read_to_end(&mut rest).expect("a proper end");
        assert_eq!(
            body(&member, "auth.test").expect("an answer"),
            format!("members {version}")
        );
        body(&anonymous, "auth.test").expect_err("no certificate");
        assert_eq!(
            body(&anonymous, "open.test").expect("an answer"),
            format!("all {version}")
        );
        let evading = anonymous.send(address, "open.test", "auth.test", "/", &[]);
        assert_eq!(evading.expect("an answer").status, 421);
        kept = member.connect(address, "auth.test").expect("a handshake");
    }
    // With a different authority, a client that resumes a session by its ticket must authenticate
    // again.
    let others = Authority::new();
    members.trust(&others);
    fixture.reload("", &members.sites(true, "four"));
    body(&member, "auth.test").expect_err("of an authority that is not trusted any more");
    let other = members.member(&others, &pem);
    assert_eq!(
        body(&other, "auth.test").expect("an answer"),
        "members four"
    );
}

#[test]
fn client_certificates_are_required_despite_earlier_sessions() {
    let (fixture, members) = Members::start(false);
    let address = fixture.server.address();
    let member = members.member(&members.clients, &fixture.authority.pem());
    let anonymous = fixture.client();
    // The client has a ticket, an open connection and an HTTP/3 connection.
    anonymous
        .get(address, "auth.test", "/")
        .expect("an answer")
        .assert(200, "members one");
    assert!(
        anonymous
            .get(address, "auth.test", "/")
            .expect("an answer")
            .resumed
    );
    let mut kept = anonymous
        .connect(address, "auth.test")
        .expect("a handshake");
    exchange(&mut kept, "auth.test").expect("an answer");
    in_time(async {
        let mut quic = fixture.http3("auth.test").await;
        quic.get("/").await.expect("an answer");

        fixture.reload_beside("", &members.sites(true, "two")).await;
        if let Ok(answer) = exchange(&mut kept, "auth.test") {
            assert!(!answer.contains("members two"), "{answer}");
        }
        anonymous
            .get(address, "auth.test", "/")
            .expect_err("no certificate");
        if let Ok((response, body)) = quic.get("/").await {
            assert!(!body.contains("members two"), "{response:?} {body}");
        }
        quic.ended().await;
        let again = http3::Connection::open(&anonymous, address, "auth.test").await;
        again.expect_err("a connection of HTTP/3 is for all hosts");
        member
            .get(address, "auth.test", "/")
            .expect("an answer")
            .assert(200, "members two");
        anonymous
            .get(address, "open.test", "/")
            .expect("an answer")
            .assert(200, "all two");

        // And without client certificates again, for HTTP/3 too.
        fixture
            .reload_beside("", &members.sites(false, "three"))
            .await;
        anonymous
            .get(address, "auth.test", "/")
            .expect("an answer")
            .assert(200, "members three");
        let mut quic = fixture.http3("auth.test").await;
        let (_, body) = quic.get("/").await.expect("an answer");
        assert_eq!(body, "members three");
    });
}

#[test]
fn requests_of_a_plain_connection_stay_on_their_listener() {
    let fixture = Fixture::start(&[], |directory, authority| {
        let pair = authority.issue(directory, "a", &["a.test"]);
        site("a.test", &format!("tls {pair}\nrespond secret"))
            + "http://:0 {\nbind 127.0.0.1\nrespond open\n}\n"
    });
    let open = fixture.server.addresses()[1];
    let mut plain = Connection::open(open).expect("it connects");
    let mut ask = || {
        plain
            .exchange(&Request::get("/").host("a.test"))
            .expect("an answer")
    };
    ask().assert(200, "open");
    let pair = fixture
        .authority
        .issue(fixture.directory.path(), "b", &["a.test"]);
    let sites = site("a.test", &format!("tls {pair}\nrespond \"new secret\""))
        + "http://:0 {\nbind 127.0.0.1\nrespond \"new open\"\n}\n";
    fixture.reload("", &sites);
    ask().assert(200, "new open");
    let answer = fixture
        .client()
        .get(fixture.server.addresses()[0], "a.test", "/");
    answer.expect("an answer").assert(200, "new secret");
}
