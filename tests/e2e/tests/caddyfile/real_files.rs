//! Constructs from files of real projects, and their effect on requests.

use std::io::{Read, Write};
use std::net::TcpStream;

use howdah_testkit::{Request, Server, Www, free_ports};
use howdah_tests::caddyfile;

/// Sends these bytes and returns the response of the server, up to the end of the connection.
fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).expect("connected");
    stream.write_all(bytes).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn protocols_are_those_that_are_named() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    let server = Server::caddyfile(caddyfile("servers {\n protocols h1\n}", "respond ok")).start();
    server.get("/").assert(200, "ok");
    let refused = exchange(&server, preface);
    assert!(refused.starts_with("HTTP/1.1 505 "), "{refused}");
}

#[test]
fn an_address_with_a_path_takes_its_requests() {
    let [port] = free_ports();
    let text = format!(
        ":{port} {{\n bind 127.0.0.1\n respond rest\n}}\n:{port}/health {{\n bind 127.0.0.1\n respond healthy\n}}\n\
         :{port}/health/deep* {{\n bind 127.0.0.1\n respond deep\n}}\n"
    );
    let server = Server::caddyfile(text).start();
    server.expect_log("has a path");
    server.get("/").assert(200, "rest");
    server.get("/health").assert(200, "healthy");
    server.get("/health/x").assert(200, "rest");
    server.get("/health/deep/x").assert(200, "deep");
}

#[test]
fn a_path_with_several_slashes_is_matched_as_it_was_sent() {
    let directives = "redir /a//b /c\n respond /a/b merged\n respond rest";
    let server = Server::caddyfile(caddyfile("", directives)).start();
    server.get("/a//b").assert_status(302);
    server.get("/a/b").assert(200, "merged");
    server.get("/A//%62").assert_status(302);
    server.get("/a///b").assert(200, "merged");
}

#[test]
fn missing_parts_are_left_out_on_demand() {
    let text = caddyfile(
        "order rate_limit before respond\n acme_dns cloudflare token",
        "rate_limit {\n zone a {\n key {remote_host}\n }\n }\n respond ok",
    );
    let refused = Server::caddyfile(text.clone()).run();
    refused.assert(2, "`acme_dns` is not supported in this version");
    refused.assert(2, "`rate_limit` is not supported in this version");
    let server = Server::caddyfile(text).arg("--lenient").start();
    for name in ["order", "acme_dns", "rate_limit"] {
        server.expect_log(&format!("`{name}` is left out"));
    }
    server.get("/").assert(200, "ok");
}

#[test]
fn errors_are_pages_for_browsers_and_text_for_others() {
    let www = Www::new();
    let root = www.path().display().to_string();
    let site = format!("root * {root}\n respond /own 404\n error /down 503\n file_server");
    let server = Server::caddyfile(caddyfile("", &site)).start();
    let plain = server.get("/none");
    plain.assert(404, "404 Not Found\n");
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let browser =
        |target: &str| server.send(&Request::get(target).header("Accept", "text/html,*/*;q=0.8"));
    let page = browser("/none");
    page.assert_status(404);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("vary"), Some("Accept"));
    assert!(page.header("content-security-policy").is_some());
    let text = page.text();
    assert!(
        text.contains("<span>404</span>") && text.contains("Request <code>"),
        "{text}"
    );
    assert!(!text.contains(&root), "{text}");
    let down = browser("/down");
    down.assert_status(503);
    assert!(down.text().contains("<span>503</span>"));
    // Responses of the site itself are unchanged.
    browser("/own").assert(404, "");
}

#[test]
fn a_front_controller_may_get_a_query() {
    let www = Www::new().file("index.php", "<?php echo $_SERVER['QUERY_STRING'];");
    let serve = |query: &str| {
        let site = format!(
            "root * {}\n php_server {{\n try_files {{path}} /index.php?{query}\n }}",
            www.path().display()
        );
        Server::caddyfile(caddyfile("", &site)).start()
    };
    let same = serve("{query}");
    same.get("/a/b?x=1&y=%20").assert(200, "x=1&y=%20");
    same.get("/").assert(200, "");
    serve("q={path}").get("/a/b?x=1").assert(200, "q=%2Fa%2Fb");
}
