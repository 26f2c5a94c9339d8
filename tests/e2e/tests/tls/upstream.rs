//! `reverse_proxy` to an HTTPS server whose certificate is checked with the system's authorities.

use std::path::Path;

use howdah_testkit::{Server, ServerBuilder};
use howdah_tests::caddyfile;
use howdah_tests::tls::Authority;

/// A server on a system that trusts the authorities in this file.
fn front(upstream: &Server, roots: &Path) -> ServerBuilder {
    let port = upstream.address().port();
    let site = format!("reverse_proxy https://localhost:{port}");
    Server::caddyfile(caddyfile("admin off", &site))
        .env("SSL_CERT_FILE", roots)
        .env("SSL_CERT_DIR", "")
}

#[test]
fn an_upstream_is_trusted_as_the_system_does() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let authority = Authority::new();
    let pair = authority.issue(directory.path(), "upstream", &["localhost"]);
    let upstream = Server::caddyfile(format!(
        "{{\nadmin off\nstorage file_system {}\n}}\nhttps://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\n\
         respond \"{{hostport}} was asked for {{header.X-Forwarded-Host}}\"\n}}\n",
        directory.path().join("storage").display()
    ))
    .start();
    let roots = file("roots.pem", &authority.pem());
    let known = front(&upstream, &roots).start();
    let port = upstream.address().port();
    let expected = format!("localhost:{port} was asked for localhost");
    known.get("/").assert(200, &expected);

    let stranger = file("stranger.pem", &Authority::new().pem());
    let strange = front(&upstream, &stranger).start();
    strange.expect_log("the issuer of its certificate is not trusted");
    strange.get("/").assert_status(502);

    let nothing = file("nothing.pem", "");
    let ended = front(&upstream, &nothing).run();
    assert!(
        ended
            .text()
            .contains("install the package `ca-certificates`"),
        "{}",
        ended.text()
    );
}
