//! Metrics of handshakes and certificates.

use howdah_testkit::{PATIENCE, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::tls::{Authority, Client, Pair};
use howdah_tests::{http3, in_time};

/// 2035-01-02.
const UNTIL: &str = "2051308800";
/// 2036-01-02.
const LATER: &str = "2082844800";

#[test]
fn handshakes_and_certificates() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    let issue = |file: &str, year: i32| {
        authority.issue_with(directory.path(), file, &["localhost"], |params| {
            params.not_after = rcgen::date_time_ymd(year, 1, 2);
        })
    };
    let text = |pair: &Pair| {
        format!(
            "{{\n{ON}\nauto_https disable_redirects\nstorage file_system {}\n}}\n\
             https://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\nrespond one\n}}\n",
            directory.path().display(),
        )
    };
    let server = Server::caddyfile(text(&issue("a", 2035))).start();
    let (address, pem) = (server.address(), authority.pem());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let client = Client::of_version(&pem, version);
        let answer = client.get(address, "localhost", "/").expect("an answer");
        answer.assert(200, "one");
    }
    in_time(async {
        let client = Client::trusting(&pem);
        let opened = http3::Connection::open(&client, address, "localhost").await;
        let mut connection = opened.expect("a handshake");
        let (response, _) = connection.get("/").await.expect("an answer");
        assert_eq!(response.status(), 200);
    });
    let stranger = Client::trusting(&Authority::new().pem());
    let refused = stranger.get(address, "localhost", "/");
    refused.expect_err("not trusted");
    let admin = Admin::of(&server);
    let page = || admin.get("/metrics").text();
    let counted = |labels: &str, count: u32| {
        let line = format!("howdah_tls_handshakes_total{{{labels}}} {count}");
        // The server learns of a refusal later than the client.
        let shown = || page().lines().any(|own| own == line);
        assert!(process::wait_until(PATIENCE, shown), "{line}: {}", page());
    };
    counted(r#"version="1.2",result="done""#, 1);
    counted(r#"version="1.3",result="done""#, 2);
    counted(r#"version="unknown",result="failed""#, 1);
    let name = "howdah_tls_certificate_expiry_timestamp_seconds";
    let ends = |until: &str| {
        let line = format!(r#"{name}{{host="localhost"}} {until}"#);
        assert!(page().contains(&line), "{line}: {}", page());
    };
    ends(UNTIL);
    // Two weeks earlier.
    let deadline =
        r#"howdah_tls_certificate_renewal_deadline_timestamp_seconds{host="localhost"} 2050099200"#;
    assert!(page().contains(deadline), "{}", page());
    let file = server.temp_dir().with_file_name("Caddyfile");
    std::fs::write(file, text(&issue("b", 2036))).expect("written");
    admin.post("/reload").assert_status(200);
    ends(LATER);
    counted(r#"version="1.2",result="done""#, 1);
}

#[test]
fn a_server_without_https_has_none_of_them() {
    let server = Server::caddyfile(howdah_tests::caddyfile(ON, "respond one")).start();
    server.get("/").assert(200, "one");
    let page = Admin::of(&server).get("/metrics").text();
    assert!(page.contains("howdah_http_connections{"), "{page}");
    assert!(!page.contains("howdah_tls_"), "{page}");
}
