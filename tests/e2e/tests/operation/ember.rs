//! Requests of Ember, the terminal dashboard for Caddy and FrankenPHP, to the admin API.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use howdah_testkit::{PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, www};
use serde_json::{Value, json};

/// Orders a log as Ember does at its start.
fn order(listener: &TcpListener, selection: &str) -> String {
    let address = listener.local_addr().expect("an address");
    let writer = json!({"output": "net", "address": format!("tcp/{address}"), "soft_start": true});
    json!({"writer": writer, "encoder": {"format": "json"}, selection: ["http.log.access"]})
        .to_string()
}

/// Returns the first line of a log for which `is_wanted` is true.
#[track_caller]
fn line(listener: &TcpListener, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let (stream, _) = listener.accept().expect("the server connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let lines = BufReader::new(stream).lines();
    let mut lines = lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"));
    lines.find(is_wanted).expect("a line")
}

#[test]
fn its_tabs_are_filled() {
    let proxy =
        "reverse_proxy /up 127.0.0.1:9 {\nlb_policy first\nhealth_uri /live\nhealth_interval 1h\n}";
    let site = format!("root * {}\nphp_server\n{proxy}", www().display());
    let global = format!("{ON}\nmetrics\nfrankenphp {{\nnum_threads 2\n}}");
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    let admin = Admin::of(&server);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    for (name, selection) in [("__ember__", "include"), ("__ember_runtime__", "exclude")] {
        let path = format!("/config/logging/logs/{name}");
        let put = Request::new("PUT", &path).body(order(&listener, selection));
        admin.send(&put).assert_status(200);
        assert_eq!(admin.get(&path).json()["writer"]["output"], "net");
        if selection == "include" {
            server.get("/hello.php").assert(200, "hello");
            // Requests are logged from the moment at which the server has connected.
            let is_seen = |line: &Value| line["request"]["uri"] == "/hello.php";
            let asked = std::thread::scope(|scope| {
                let seen = scope.spawn(|| line(&listener, is_seen));
                let is_over = process::wait_until(PATIENCE, || {
                    server.get("/hello.php").assert(200, "hello");
                    seen.is_finished()
                });
                assert!(is_over, "no line");
                seen.join().expect("no panic")
            });
            assert_eq!(asked["logger"], "http.log.access");
            assert_eq!(
                (&asked["status"], &asked["request"]["method"]),
                (&200.into(), &"GET".into())
            );
            assert!(asked["duration"].as_f64().is_some_and(|time| time > 0.0));
        } else {
            let ready = line(&listener, |line| line["msg"] == "ready");
            assert_eq!(
                (&ready["level"], &ready["logger"]),
                (&"info".into(), &"howdah".into())
            );
        }
        admin
            .send(&Request::new("DELETE", &path))
            .assert_status(200);
        assert_eq!(admin.get(&path).json(), Value::Null);
    }
    let metrics = admin.get("/metrics").text();
    let healthy = "caddy_reverse_proxy_upstreams_healthy{upstream=\"127.0.0.1:9\"} 1";
    assert!(metrics.contains(healthy), "{metrics}");
    server.get("/missing").assert_status(404);
    // A request is counted when its response is complete.
    for code in ["200", "404"] {
        let counted = format!(
            "caddy_http_requests_total{{server=\"howdah\",method=\"GET\",code=\"{code}\"}} "
        );
        assert!(process::wait_until(PATIENCE, || {
            admin.get("/metrics").text().contains(&counted)
        }));
    }
    let whole = admin.get("/config/").json();
    let proxy = &whole["apps"]["http"]["servers"]["howdah"]["routes"][0]["handle"][0];
    assert_eq!(proxy["upstreams"][0]["dial"], "127.0.0.1:9", "{whole:#}");
    assert_eq!(
        proxy["load_balancing"]["selection_policy"]["policy"],
        "first"
    );
    assert_eq!(
        proxy["health_checks"]["active"],
        json!({"uri": "/live", "interval": 3_600_000_000_000_u64})
    );
    let servers = admin.get("/config/apps/http/servers").json();
    assert!(servers["howdah"]["listen"].is_array(), "{servers}");
    let logs = admin.get("/config/apps/http/servers/howdah/logs").json();
    assert!(logs.as_object().is_some_and(|logs| !logs.is_empty()));
    assert_eq!(
        admin.get("/frankenphp/threads").json()["ThreadDebugStates"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let upstreams = admin.get("/activity").json()["upstreams"].clone();
    assert_eq!(upstreams[0]["address"], "127.0.0.1:9");
}

/// Its tab of certificates.
#[test]
fn the_internal_authority_is_shown_if_a_site_uses_it() {
    let storage = tempfile::tempdir().expect("a directory");
    let text = |site: &str| {
        format!(
            "{{\n{ON}\nstorage file_system {}\n}}\n{site} {{\nbind 127.0.0.1\nrespond hello\n}}",
            storage.path().display()
        )
    };
    let server = Server::caddyfile(text("http://localhost:0")).start();
    let missing = Admin::of(&server).get("/pki/ca/local");
    missing.assert_status(404);
    assert_eq!(
        missing.json()["error"],
        "no certificate authority configured with id: local"
    );
    server.stop();
    let server = Server::caddyfile(text("https://localhost:0")).start();
    let admin = Admin::of(&server);
    let shown = admin.get("/pki/ca/local").json();
    let text = |field: &str| shown[field].as_str().expect(field).to_owned();
    let (root, intermediate) = (text("root_certificate"), text("intermediate_certificate"));
    let file = storage.path().join("authority/root.crt");
    assert_eq!(root, std::fs::read_to_string(file).expect("the root"));
    assert!(intermediate.starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(!shown.to_string().contains("PRIVATE KEY"));
    assert_eq!(text("id"), "local");
    assert!(text("root_common_name").starts_with("Howdah Local Authority 2"));
    assert_eq!(
        text("intermediate_common_name"),
        "Howdah Local Authority - Intermediate"
    );
    admin
        .get("/pki/ca/local/certificates")
        .assert(200, &format!("{intermediate}{root}"));
}
