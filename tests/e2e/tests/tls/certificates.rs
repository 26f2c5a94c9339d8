//! HTTPS with configured certificates and with those of the internal authority.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use bytes::Bytes;
use howdah_testkit::{Connection, PATIENCE, Request, Server, ServerBuilder, Www, free_ports};
use howdah_tests::http2::whole;
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{in_time, www};
use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Starts a server with a Caddyfile and with its certificates in `directory`, which is not removed
/// with the server.
fn start(directory: &Path, global: &str, sites: &str) -> Server {
    let storage = directory.join("storage");
    let text = format!(
        "{{\nstorage file_system {}\n{global}\n}}\n{sites}",
        storage.display()
    );
    Server::caddyfile(text).start()
}

/// One site on `https://NAME:0`.
fn site(names: &str, directives: &str) -> String {
    format!("{names} {{\nbind 127.0.0.1\n{directives}\n}}\n")
}

/// Root certificate of the internal authority.
fn root(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("storage/authority/root.crt")).expect("it was made")
}

#[test]
fn a_load_balancer_sends_the_client_address_before_tls() {
    let directory = directory();
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let directives = format!("tls {pair}\nroot * {}\nphp_server", www().display());
    let global = "servers {\nlistener_wrappers {\nproxy_protocol {\nallow 127.0.0.1\n}\ntls\n}\n}";
    let site = site("https://a.test:0", &directives);
    let server = start(directory.path(), global, &site);
    let client = Client::trusting(&authority.pem());
    let ask = |header: &[u8]| {
        let connection = client.connect_behind(server.address(), "a.test", header);
        let mut stream = connection.expect("a handshake");
        stream
            .write_all(b"GET /dump.php HTTP/1.0\r\nHost: a.test\r\n\r\n")
            .expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (_, body) = text.split_once("\r\n\r\n").expect("a head");
        let dump: serde_json::Value = serde_json::from_str(body).expect("JSON");
        (
            dump["server"]["REMOTE_ADDR"].clone(),
            dump["server"]["REMOTE_PORT"].clone(),
        )
    };
    let told = ask(b"PROXY TCP6 2001:db8::7 ::1 12345 443\r\n");
    assert_eq!(told, ("2001:db8::7".into(), "12345".into()));
    assert_eq!(ask(b"").0, "127.0.0.1");
}

#[test]
fn php_gets_the_parameters_of_encryption() {
    let directory = directory();
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let directives = format!(
        "tls {pair}\nroot * {}\nrespond /tls \"{{tls_version}} {{tls_cipher}}\"\nphp_server",
        www().display()
    );
    let server = start(directory.path(), "", &site("https://a.test:0", &directives));
    let pem = authority.pem();
    for (version, name, suites) in [
        (&rustls::version::TLS13, "TLSv1.3", "TLS_"),
        (&rustls::version::TLS12, "TLSv1.2", "TLS_ECDHE_ECDSA_WITH_"),
    ] {
        let client = Client::of_version(&pem, version);
        let answer = client
            .get(server.address(), "a.test", "/dump.php")
            .expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        let dump: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        let server_vars = &dump["server"];
        assert_eq!(server_vars["HTTPS"], "on");
        assert_eq!(server_vars["REQUEST_SCHEME"], "https");
        assert_eq!(server_vars["SSL_PROTOCOL"], name);
        // The port of the `Host` header, which has none.
        assert_eq!(server_vars["SERVER_PORT"], "443");
        let suite = server_vars["SSL_CIPHER"].as_str().expect("a text");
        assert!(suite.starts_with(suites), "{suite}");
        let told = client.get(server.address(), "a.test", "/tls");
        let told = told.expect("an answer").body;
        assert_eq!(told, format!("{} {suite}", name.replace("TLSv", "tls")));
    }
}

#[test]
fn names_choose_certificates() {
    let directory = directory();
    let authority = Authority::new();
    let issue = |file: &str, names: &[&str]| authority.issue(directory.path(), file, names);
    let sites = [
        site(
            "https://a.test:0",
            &format!("tls {}\nrespond one", issue("a", &["a.test"])),
        ),
        site(
            "https://*.b.test:0",
            &format!("tls {}\nrespond two", issue("b", &["*.b.test"])),
        ),
        // The certificate for all names below b.test is also valid for this one.
        site("https://own.b.test:0", "respond three"),
    ];
    let server = start(directory.path(), "", &sites.concat());
    let client = Client::trusting(&authority.pem());
    let get = |host: &str| client.get(server.address(), host, "/").expect("an answer");
    get("a.test").assert(200, "one");
    get("A.TEST").assert(200, "one");
    get("x.b.test").assert(200, "two");
    get("own.b.test").assert(200, "three");
    assert_eq!(get("x.b.test").certificate, get("own.b.test").certificate);
    assert_ne!(get("a.test").certificate, get("x.b.test").certificate);
    // No site has these names: the handshake ends with an alert, and nothing is served.
    for unknown in ["c.test", "b.test", "x.y.b.test"] {
        let error = client
            .get(server.address(), unknown, "/")
            .expect_err("refused");
        assert!(error.to_string().contains("alert"), "{unknown}: {error}");
    }
    get("a.test").assert(200, "one");
}

#[test]
fn the_internal_authority_issues_for_local_names() {
    let directory = directory();
    let sites = site("https://localhost:0, https://127.0.0.1:0", "respond local")
        + &site(
            "https://shop.example:0",
            "tls internal {\nissuer internal {\nlifetime 1h\n}\n}\nrespond shop",
        );
    // `tls internal` and `issuer` are equivalent.
    let text = format!("{{\n}}\n{sites}");
    ServerBuilder::command(["validate", "-c"])
        .arg(write(directory.path(), &text))
        .run()
        .assert(2, "there is an issuer already");
    let sites = sites.replace("tls internal {", "tls {");
    let server = start(directory.path(), "", &sites);
    let client = Client::trusting(&root(directory.path()));
    for (host, body) in [
        ("localhost", "local"),
        ("127.0.0.1", "local"),
        ("shop.example", "shop"),
    ] {
        let answer = client.get(server.address(), host, "/").expect("an answer");
        answer.assert(200, body);
        assert_eq!(answer.version, ProtocolVersion::TLSv1_3);
    }
    let stranger = Client::trusting(&Authority::new().pem());
    stranger
        .get(server.address(), "localhost", "/")
        .expect_err("not trusted");
    let ended = ServerBuilder::command(["trust", "--print", "-c"])
        .arg(write(
            directory.path(),
            &format!(
                "{{\nstorage file_system {}/storage\n}}\n",
                directory.path().display()
            ),
        ))
        .run();
    assert_eq!(ended.text().trim(), root(directory.path()).trim());
    server.stop();
    // After a restart the root certificate is the same.
    let before = root(directory.path());
    let server = start(directory.path(), "", &sites);
    assert_eq!(root(directory.path()), before);
    client
        .get(server.address(), "localhost", "/")
        .expect("an answer")
        .assert(200, "local");
}

#[test]
fn the_internal_authority_issues_for_names_that_clients_come_for() {
    let directory = directory();
    let [port] = free_ports();
    let global = format!("on_demand_tls {{\nask http://127.0.0.1:{port}/\n}}");
    let shops = site(
        "https://*.shops.test:0",
        "tls internal {\non_demand\n}\nrespond {http.request.host.labels.2}",
    );
    let server = start(directory.path(), &global, &shops);
    let client = Client::trusting_anyone();
    // No authority is listening yet.
    client
        .get(server.address(), "a.shops.test", "/")
        .expect_err("nobody says that it may");
    server.expect_log("the `ask` endpoint does not respond");
    let decides = format!(
        "http://127.0.0.1:{port} {{\n@known query domain=b.shops.test\nrespond @known yes\nrespond no 404\n}}\n"
    );
    let _decides = Server::caddyfile(&decides).start();
    let answer = client.get(server.address(), "b.shops.test", "/");
    answer.expect("an answer").assert(200, "b");
    // The name has a certificate of the authority. Upper case does not make a difference.
    let trusting = Client::trusting(&root(directory.path()));
    let answer = trusting.get(server.address(), "B.Shops.Test", "/");
    answer.expect("an answer").assert(200, "B");
    client
        .get(server.address(), "c.shops.test", "/")
        .expect_err("it may have none");
    client
        .get(server.address(), "x.y.shops.test", "/")
        .expect_err("no site has it");
}

#[test]
fn a_client_that_waits_for_its_certificate_is_not_slow() {
    let directory = directory();
    let asked = TcpListener::bind("127.0.0.1:0").expect("a port");
    let global = format!(
        "on_demand_tls {{\nask http://{}/\n}}\nservers {{\ntimeouts {{\nread_header 200ms\n}}\n}}",
        asked.local_addr().expect("bound")
    );
    let shop = site(
        "https://shop.test:0",
        "tls internal {\non_demand\n}\nrespond shop",
    );
    let server = start(directory.path(), &global, &shop);
    let address = server.address();
    let client =
        std::thread::spawn(move || Client::trusting_anyone().get(address, "shop.test", "/"));
    let (mut question, _) = asked.accept().expect("it is asked");
    // By the time that this connection times out, the other one would have, too.
    let mut idle = Connection::open(address).expect("it connects");
    idle.wait_closed().expect("it is given up");
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    question.write_all(answer).expect("sent");
    let answer = client.join().expect("no panic");
    answer.expect("an answer").assert(200, "shop");
}

/// A script that returns the request body.
fn echo() -> Www {
    Www::new().file("echo.php", "<?php readfile('php://input');")
}

fn write(directory: &Path, text: &str) -> std::path::PathBuf {
    let file = directory.join("Caddyfile");
    std::fs::write(&file, text).expect("written");
    file
}

#[test]
fn sessions_are_resumed() {
    let directory = directory();
    let server = start(
        directory.path(),
        "",
        &site("https://localhost:0", "respond OK"),
    );
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let client = Client::of_version(&root(directory.path()), version);
        let get = || {
            client
                .get(server.address(), "localhost", "/")
                .expect("an answer")
        };
        let (first, second) = (get(), get());
        first.assert(200, "OK");
        second.assert(200, "OK");
        assert_eq!(
            (first.resumed, second.resumed),
            (false, true),
            "{version:?}"
        );
    }
}

#[test]
fn http2_by_alpn() {
    let (directory, www) = (directory(), echo());
    let directives = format!("root * {}\nphp_server", www.path().display());
    let server = start(
        directory.path(),
        "",
        &site("https://localhost:0", &directives),
    );
    let client = Client::trusting(&root(directory.path()));
    in_time(async {
        let socket = tokio::net::TcpStream::connect(server.address())
            .await
            .expect("it connects");
        let connector = tokio_rustls::TlsConnector::from(client.offering(b"h2"));
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector.connect(name, socket).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (client, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let driver = tokio::spawn(connection);
        // Larger than all buffers on the path, in both directions, and several at the same time.
        let body = Bytes::from(vec![b'x'; 3 << 20]);
        let mut requests = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (mut client, body) = (client.clone().ready().await.expect("open"), body.clone());
            requests.spawn(async move {
                let request = http::Request::post("https://localhost/echo.php").body(());
                let (response, mut stream) = client
                    .send_request(request.expect("a request"), false)
                    .expect("a stream");
                stream.send_data(body.clone(), true).expect("it is queued");
                let (head, received) = response.await.expect("a response").into_parts();
                assert_eq!(head.status, 200);
                let bytes = whole(received).await;
                assert!(bytes == body, "{} bytes came back", bytes.len());
            });
        }
        while let Some(done) = requests.join_next().await {
            done.expect("no panic");
        }
        driver.abort();
    });
}

#[test]
fn large_bodies_both_ways_on_http1() {
    let (directory, www) = (directory(), echo());
    let directives = format!("root * {}\nphp_server", www.path().display());
    let server = start(
        directory.path(),
        "",
        &site("https://localhost:0", &directives),
    );
    let client = Client::trusting(&root(directory.path()));
    let body = vec![b'y'; 5 << 20];
    let answer = client.send(
        server.address(),
        "localhost",
        "localhost",
        "/echo.php",
        &body,
    );
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 200);
    assert!(
        answer.body.as_bytes() == body,
        "{} bytes",
        answer.body.len()
    );
}

#[test]
fn plain_http_on_the_port_of_https_gets_an_explanation() {
    let directory = directory();
    let server = start(
        directory.path(),
        "",
        &site("https://localhost:0", "respond secret"),
    );
    let response = server.get("/");
    response.assert_status(400);
    assert!(response.text().contains("https://"), "{}", response.text());
}

#[test]
fn one_host_with_and_one_without_encryption() {
    let directory = directory();
    let sites = site("https://localhost:0", "respond secret") + &site("http://:0", "respond open");
    let server = start(directory.path(), "", &sites);
    let [secret, open] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    let client = Client::trusting(&root(directory.path()));
    client
        .get(secret, "localhost", "/")
        .expect("an answer")
        .assert(200, "secret");
    let mut connection = Connection::open(open).expect("it connects");
    let response = connection.exchange(&Request::get("/").host("localhost"));
    response.expect("a response").assert(200, "open");
}

#[test]
fn slow_handshakes_delay_no_client() {
    let directory = directory();
    let global = "servers {\ntimeouts {\nread_header 3s\n}\n}";
    let server = start(
        directory.path(),
        global,
        &site("https://localhost:0", "respond OK"),
    );
    let client = Client::trusting(&root(directory.path()));
    let slow: Vec<TcpStream> = (0..50)
        .map(|index| {
            let mut stream = TcpStream::connect(server.address()).expect("it connects");
            stream.set_read_timeout(Some(PATIENCE)).expect("set");
            if index % 2 == 0 {
                // The start of a handshake message of 512 bytes that never arrive.
                stream
                    .write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252])
                    .expect("sent");
            }
            stream
        })
        .collect();
    client
        .get(server.address(), "localhost", "/")
        .expect("an answer")
        .assert(200, "OK");
    for mut stream in slow {
        let mut rest = Vec::new();
        // The connection may be closed or reset, but not left open.
        let _ = stream.read_to_end(&mut rest).map_err(|error| {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "left open");
        });
        assert!(rest.len() < 20, "{rest:?}");
    }
    client
        .get(server.address(), "localhost", "/")
        .expect("an answer")
        .assert(200, "OK");
}

#[test]
fn an_idle_connection_ends_with_a_word_when_the_server_stops() {
    let directory = directory();
    let server = start(
        directory.path(),
        "",
        &site("https://localhost:0", "respond OK"),
    );
    let client = Client::trusting(&root(directory.path()));
    let mut stream = client
        .connect(server.address(), "localhost")
        .expect("a handshake");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    let mut answer = [0; 2048];
    let read = stream.read(&mut answer).expect("an answer");
    assert!(
        answer[..read].starts_with(b"HTTP/1.1 200"),
        "{:?}",
        &answer[..read]
    );
    server.stop();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("a proper end");
}

#[test]
fn client_certificates() {
    let directory = directory();
    let (authority, clients) = (Authority::new(), Authority::new());
    let pair = authority.issue(
        directory.path(),
        "server",
        &["auth.test", "open.test", "maybe.test"],
    );
    let root = directory.path().join("clients.pem");
    std::fs::write(&root, clients.pem()).expect("written");
    let told = "respond /told {tls_client_subject}|{http.request.tls.client.issuer}|{tls_client_fingerprint}";
    let php = format!("{told}\nroot * {}\nphp_server", www().display());
    let asks = |mode: &str| {
        let roots = root.display();
        format!(
            "tls {pair} {{\nclient_auth {{\nmode {mode}\ntrusted_ca_cert_file {roots}\n}}\n}}\n{php}"
        )
    };
    let auth = format!("{}\nrespond / members", asks("require_and_verify"));
    let sites = site("https://auth.test:0", &auth)
        + &site(
            "https://open.test:0",
            &format!("tls {pair}\n{php}\nrespond / all"),
        )
        + &site("https://maybe.test:0", &asks("verify_if_given"));
    let server = start(directory.path(), "", &sites);
    let address = server.address();
    let pem = authority.pem();
    let member = clients.issue(directory.path(), "member", &["member"]);
    let member = Client::with_certificate(&pem, &member);
    let stranger = authority.issue(directory.path(), "stranger", &["stranger"]);
    let stranger = Client::with_certificate(&pem, &stranger);
    let nobody = Client::trusting(&pem);
    member
        .get(address, "auth.test", "/")
        .expect("an answer")
        .assert(200, "members");
    nobody
        .get(address, "auth.test", "/")
        .expect_err("no certificate");
    stranger
        .get(address, "auth.test", "/")
        .expect_err("a wrong one");
    nobody
        .get(address, "open.test", "/")
        .expect("an answer")
        .assert(200, "all");
    // The client sends its certificate where the host requests it.
    let subject = |host: &str| {
        let dump = member.get(address, host, "/dump.php").expect("an answer");
        let dump: serde_json::Value = serde_json::from_str(&dump.body).expect("JSON");
        let of = |name: &str| dump["server"][name].as_str().map(str::to_owned);
        let told = member.get(address, host, "/told").expect("an answer").body;
        (
            told,
            ["VERIFY", "S_DN", "I_DN", "M_SERIAL"].map(|name| of(&format!("SSL_CLIENT_{name}"))),
        )
    };
    let (told, variables) = subject("auth.test");
    let [verify, name, issuer, serial] = variables.map(|value| value.expect("it is set"));
    assert_eq!(verify, "SUCCESS");
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    assert!(
        !serial.is_empty() && serial.bytes().all(is_digit),
        "{serial}"
    );
    let mut told = told.split('|');
    let expected = [name.as_str(), issuer.as_str()];
    assert_eq!([told.next(), told.next()], expected.map(Some));
    let fingerprint = told.next().expect("three");
    assert_eq!(fingerprint.len(), 64, "{fingerprint}");
    let (told, variables) = subject("open.test");
    assert_eq!((told.as_str(), variables), ("||", [const { None }; 4]));
    let dump = nobody.get(address, "maybe.test", "/dump.php").expect("one");
    let dump: serde_json::Value = serde_json::from_str(&dump.body).expect("JSON");
    assert_eq!(dump["server"]["SSL_CLIENT_VERIFY"], "NONE");
    assert_eq!(dump["server"]["SSL_CLIENT_S_DN"], serde_json::Value::Null);
    // A connection to one host does not bypass the client authentication of another.
    let evading = nobody.send(address, "open.test", "auth.test", "/", &[]);
    assert_eq!(evading.expect("an answer").status, 421);
}

#[test]
fn a_replaced_certificate_is_served_without_a_restart() {
    let directory = directory();
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let server = start(
        directory.path(),
        "",
        &site("https://a.test:0", &format!("tls {pair}\nrespond OK")),
    );
    let client = Client::trusting(&authority.pem());
    let get = || {
        client
            .get(server.address(), "a.test", "/")
            .expect("an answer")
    };
    let before = get();
    before.assert(200, "OK");
    // A certificate with a different key is rejected, and the previous pair stays active.
    let other = authority.issue(directory.path(), "b", &["a.test"]);
    std::fs::copy(&other.key, &pair.key).expect("copied");
    server.wait_log("the changed certificate is invalid");
    let stayed = Client::trusting(&authority.pem());
    let stayed = stayed
        .get(server.address(), "a.test", "/")
        .expect("an answer");
    assert_eq!(stayed.certificate, before.certificate);
    std::fs::copy(&other.certificate, &pair.certificate).expect("copied");
    server.wait_log("certificate read again");
    let fresh = Client::trusting(&authority.pem());
    let fresh = fresh
        .get(server.address(), "a.test", "/")
        .expect("an answer");
    fresh.assert(200, "OK");
    assert_ne!(fresh.certificate, before.certificate);
}

#[test]
fn invalid_files_are_reported_before_anything_is_served() {
    let directory = directory();
    let path = directory.path();
    let authority = Authority::new();
    let good = authority.issue(path, "good", &["a.test"]);
    let other = authority.issue(path, "other", &["a.test"]);
    let expired = authority.issue_with(path, "expired", &["a.test"], |params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 2, 1);
    });
    let early = authority.issue_with(path, "early", &["a.test"], |params| {
        params.not_before = rcgen::date_time_ymd(3000, 1, 1);
        params.not_after = rcgen::date_time_ymd(3000, 2, 1);
    });
    std::fs::write(path.join("empty.crt"), "nothing").expect("written");
    let show = |path: &Path| path.display().to_string();
    for (pair, messages) in [
        (
            format!("{} {}", show(&good.certificate), show(&other.key)),
            [
                show(&other.key),
                "does not belong to the certificate".into(),
            ],
        ),
        (
            expired.to_string(),
            [
                show(&expired.certificate),
                "has expired on 2020-02-01 00:00:00 UTC: renew it".into(),
            ],
        ),
        (
            early.to_string(),
            [
                show(&early.certificate),
                "is not valid before 3000-01-01".into(),
            ],
        ),
        (
            format!("{} {}", show(&path.join("none.crt")), show(&good.key)),
            [show(&path.join("none.crt")), "No such file".into()],
        ),
        (
            format!("{} {}", show(&path.join("empty.crt")), show(&good.key)),
            [
                show(&path.join("empty.crt")),
                "the file contains no certificate".into(),
            ],
        ),
        (
            format!("{} {}", show(&good.certificate), show(&good.certificate)),
            [show(&good.certificate), "contains no private key".into()],
        ),
    ] {
        let text = site("https://a.test:0", &format!("tls {pair}\nrespond OK"));
        let ended = Server::caddyfile(text).try_start().expect_err(&pair);
        for message in messages {
            ended.assert(2, &message);
        }
    }
}

#[test]
fn http_is_redirected_to_https() {
    let directory = directory();
    let storage = directory.path().join("storage");
    // A different program may take a port between the check and the start.
    let (server, [http, https]) = (0..10)
        .find_map(|_| {
            let [http, https] = free_ports();
            let text = format!(
                "{{\nhttp_port {http}\nhttps_port {https}\nstorage file_system {}\n}}\n{}{}",
                storage.display(),
                site("localhost, b.localhost", "respond secret"),
                site(&format!("http://b.localhost:{http}"), "respond own")
            );
            match Server::caddyfile(text).try_start() {
                Ok(server) => Some((server, [http, https])),
                Err(ended) => {
                    assert!(ended.text().contains("in use"), "{}", ended.text());
                    None
                }
            }
        })
        .expect("free ports");
    let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let get = |host: &str| {
        let mut connection = Connection::open(address(http)).expect("it connects");
        let request = Request::get("/a%20b?c=d").host(host);
        connection.exchange(&request).expect("a response")
    };
    let redirect = get("localhost");
    redirect.assert_status(308);
    assert_eq!(
        redirect.header("location"),
        Some("https://localhost/a%20b?c=d")
    );
    // An HTTP site in the file replaces the redirect.
    get("b.localhost").assert(200, "own");
    get("c.localhost").assert_status(404);
    let client = Client::trusting(&root(directory.path()));
    for host in ["localhost", "b.localhost"] {
        client
            .get(address(https), host, "/")
            .expect("an answer")
            .assert(200, "secret");
    }
    drop(server);
}

#[test]
fn old_protocols_are_not_spoken() {
    let directory = directory();
    let sites = site(
        "https://localhost:0",
        "tls {\nprotocols tls1.3\n}\nrespond OK",
    );
    let server = start(directory.path(), "", &sites);
    let pem = root(directory.path());
    let old = Client::of_version(&pem, &rustls::version::TLS12);
    old.get(server.address(), "localhost", "/")
        .expect_err("too old");
    let new = Client::of_version(&pem, &rustls::version::TLS13);
    new.get(server.address(), "localhost", "/")
        .expect("an answer")
        .assert(200, "OK");
}

#[test]
fn a_client_without_a_name_gets_the_default() {
    let directory = directory();
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let server = start(
        directory.path(),
        "default_sni a.test",
        &site("https://a.test:0", &format!("tls {pair}\nrespond OK")),
    );
    // A client sends no address as a server name. The certificate is not valid for it, but it is
    // sent.
    let client = Client::trusting(&authority.pem());
    let error = client
        .connect(server.address(), "127.0.0.1")
        .expect_err("of another name");
    let text = error.to_string();
    assert!(
        text.contains("NotValidForName") || text.contains("not valid for"),
        "{text}"
    );
    let text = format!(
        "{{\ndefault_sni b.test\n}}\n{}",
        site("https://a.test:0", &format!("tls {pair}\nrespond OK"))
    );
    let ended = Server::caddyfile(text)
        .try_start()
        .expect_err("no such host");
    ended.assert(2, "`default_sni b.test`: no site with HTTPS has this host");
}
