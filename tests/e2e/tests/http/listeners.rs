//! `servers ADDRESS`: limits of single listeners.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;

use howdah_testkit::{Connection, Request, Response, Server};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::www;
use serde_json::Value;

const OWN: &str = "127.0.0.2";
const OTHER: &str = "127.0.0.1";

/// Address with this IP on which the server listens.
fn at(server: &Server, ip: &str) -> SocketAddr {
    let ip: IpAddr = ip.parse().expect("an address");
    let mut addresses = server.addresses().iter();
    *addresses
        .find(|address| address.ip() == ip)
        .expect("it is listened on")
}

fn connect(server: &Server, ip: &str) -> Connection {
    Connection::open(at(server, ip)).expect("it is accepted")
}

fn send(server: &Server, ip: &str, request: &Request) -> Response {
    connect(server, ip).exchange(request).expect("a response")
}

/// A site with PHP on both addresses.
fn start(global: &str, log: &Path) -> Server {
    let site = format!(
        "http://:0 {{\nbind {OWN} {OTHER}\nlog {{\noutput file {}\n}}\nroot * {}\n\
         respond /client {{client_ip}}\nphp_server\n}}\n",
        log.display(),
        www().display()
    );
    Server::caddyfile(format!("{{\n{global}\n}}\n{site}")).start()
}

#[test]
fn a_listener_has_its_own_limits_and_no_other_has_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("access.log");
    let global = format!(
        "servers {{\nmax_body_size 100\n}}\n\
         servers {OWN}:0 {{\ntimeouts {{\nread_header 300ms\nidle 300ms\n}}\nmax_header_size 2KiB\n\
         trusted_proxies static 127.0.0.0/8\nlog_credentials\n}}"
    );
    let server = start(&global, &log);

    // The client on the other address is equally slow. The server still waits for it after it has
    // responded to this one.
    let mut patient = connect(&server, OTHER);
    let half = b"GET /client HTTP/1.1\r\nHost:";
    patient.send_bytes(half).expect("sent");
    let mut idle = connect(&server, OTHER);
    let mut slow = connect(&server, OWN);
    slow.send_bytes(half).expect("sent");
    let response = slow.receive("GET").expect("a response");
    response.assert_status(408);
    let mut own_idle = connect(&server, OWN);
    own_idle.wait_closed().expect("it is closed");
    patient.send_bytes(b" a\r\n\r\n").expect("sent");
    let response = patient.receive("GET").expect("a response");
    response.assert(200, OTHER);
    let response = idle.exchange(&Request::get("/client"));
    response.expect("a response").assert(200, OTHER);

    let large = Request::get("/client").header("X-Large", "x".repeat(4000));
    send(&server, OWN, &large).assert_status(431);
    send(&server, OTHER, &large).assert_status(200);

    // Missing values have their defaults: the two blocks are not merged.
    let upload = Request::new("PUT", "/dump.php").body("x".repeat(200));
    send(&server, OWN, &upload).assert_status(200);
    send(&server, OTHER, &upload).assert_status(413);

    let forwarded = Request::get("/client")
        .header("X-Forwarded-For", "192.0.2.7")
        .header("Authorization", "Basic c2VjcmV0");
    send(&server, OWN, &forwarded).assert(200, "192.0.2.7");
    send(&server, OTHER, &forwarded).assert(200, OTHER);
    server.stop();
    let text = std::fs::read_to_string(&log).expect("it was written");
    let logged: Vec<(String, String)> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter_map(|line: Value| {
            let request = &line["request"];
            let password = request["headers"]["Authorization"][0].as_str()?;
            Some((
                request["client_ip"].as_str()?.to_owned(),
                password.to_owned(),
            ))
        })
        .collect();
    let expected = [("192.0.2.7", "Basic c2VjcmV0"), (OTHER, "REDACTED")];
    assert_eq!(logged, expected.map(|(ip, text)| (ip.into(), text.into())));
}

#[test]
fn a_listener_has_its_own_protocols() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "a", &["a.test"]);
    let server = Server::caddyfile(format!(
        "{{\nstorage file_system {}\nservers {OWN}:0 {{\nprotocols h1 h2\n}}\n}}\n\
         https://a.test:0 {{\nbind {OWN} {OTHER}\ntls {pair}\nrespond ok\n}}\n",
        directory.path().join("storage").display()
    ))
    .start();
    let client = Client::trusting(&authority.pem());
    for (ip, has_http3) in [(OWN, false), (OTHER, true)] {
        let answer = client.get(at(&server, ip), "a.test", "/");
        let answer = answer.expect("an answer");
        answer.assert(200, "ok");
        assert_eq!(answer.header("alt-svc").is_some(), has_http3, "{ip}");
    }
}

#[test]
fn unix_sockets_have_limits_too_and_unused_ones_are_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let [own, other] = ["a.sock", "b.sock"].map(|name| directory.path().join(name));
    let server = Server::caddyfile(format!(
        "{{\nservers unix/{} {{\nmax_header_size 2KiB\n}}\nservers :8443 {{\nmax_header_size 1KiB\n}}\n}}\n\
         :80 {{\nbind unix/{} unix/{}\nrespond ok\n}}\n",
        own.display(),
        own.display(),
        other.display()
    ))
    .start();
    server.expect_log("no site listens on `:8443`, so these options of `servers` have no effect");
    for (socket, status) in [(&own, "431"), (&other, "200")] {
        let mut connection = UnixStream::connect(socket).expect("it listens");
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Large: {}\r\n\r\n",
            "x".repeat(4000)
        );
        connection.write_all(request.as_bytes()).expect("sent");
        let mut response = String::new();
        connection.read_to_string(&mut response).expect("text");
        let line = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&line), "{response}");
    }
}
