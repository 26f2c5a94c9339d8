//! The admin API over real sockets, with a control that only records calls.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

mod reach;

#[derive(Debug, Default)]
struct FakeControl {
    reloads: Mutex<Vec<Option<String>>>,
    configured: Mutex<Vec<Configuration>>,
    stopped: AtomicBool,
    broken: AtomicBool,
    is_php_restricted: AtomicBool,
    sequential: Mutex<Vec<SequentialPool>>,
}

impl Control for FakeControl {
    async fn configure(&self, from: Configuration) -> Result<ReloadReport, ReloadError> {
        let wrong = from == Configuration::Text("nonsense".into());
        self.configured.lock().expect("no panic").push(from);
        if wrong {
            let text = "Caddyfile:1:1: unknown".into();
            return Err(ReloadError::Configuration(text));
        }
        self.reload(None).await
    }

    async fn reload(&self, pool: Option<String>) -> Result<ReloadReport, ReloadError> {
        if pool.as_deref() == Some("nobody") {
            return Err(ReloadError::UnknownPool {
                name: "nobody".into(),
                known: vec!["app".into()],
            });
        }
        self.reloads.lock().expect("no panic").push(pool);
        if self.broken.load(Ordering::Relaxed) {
            return Err(ReloadError::Boot {
                pool: "app".into(),
                text: "PHP Parse error: line 3".into(),
            });
        }
        Ok(ReloadReport {
            fresh: None,
            pools: vec![ReloadedPool {
                pool: "app".into(),
                generation: 2,
                took_ms: 15,
            }],
            configuration: None,
        })
    }

    async fn status(&self) -> Value {
        json!({"pools": []})
    }

    async fn threads(&self) -> Vec<Thread> {
        vec![Thread {
            name: "app".into(),
            current_uri: "/x".into(),
            ..Thread::default()
        }]
    }

    async fn requests(&self, _: bool) -> Value {
        json!({"requests": [{"uri": "/slow"}]})
    }

    fn log_sink(&self, name: &str) -> Option<Value> {
        (name == "known").then(|| json!({"writer": {}}))
    }

    fn set_log_sink(&self, _: &str, _: LogSink) -> Result<(), String> {
        Ok(())
    }

    fn remove_log_sink(&self, name: &str) -> bool {
        name == "known"
    }

    async fn activity(&self, log: Option<u64>) -> Value {
        json!({"known": log})
    }

    async fn preloads(&self) -> Value {
        json!([{"pools": ["php"], "done": true}])
    }

    async fn profile(&self, request: ProfileRequest) -> Result<ProfileReply, ProfileError> {
        match request.pool.as_deref() {
            Some("nobody") => Err(ProfileError::UnknownPool {
                name: "nobody".into(),
                known: vec!["app".into()],
            }),
            Some("busy") => Err(ProfileError::UnderWay),
            _ => Ok(ProfileReply {
                format: request.format,
                body: format!("{} s at {} Hz", request.seconds, request.hz).into(),
                summary: "8 due, 8 taken".into(),
            }),
        }
    }

    async fn crashes(&self) -> Result<Value, CrashesError> {
        Ok(json!({"crashes": [{"number": 3}]}))
    }

    async fn crash(&self, number: u64) -> Result<Value, CrashesError> {
        match number {
            3 => Ok(json!({"number": 3})),
            _ => Err(CrashesError::Unknown(number)),
        }
    }

    async fn clear_crashes(&self) -> Result<Value, CrashesError> {
        Err(CrashesError::Off)
    }

    async fn metrics(&self) -> String {
        "a_metric 1\n# EOF\n".into()
    }

    fn config_json(&self) -> Value {
        json!({"file": "/srv/Caddyfile"})
    }

    fn config(&self) -> Value {
        json!({"workers": [{"name": "app"}]})
    }

    fn config_file(&self) -> Option<std::path::PathBuf> {
        Some("/srv/Caddyfile".into())
    }

    fn is_php_restricted(&self) -> bool {
        self.is_php_restricted.load(Ordering::Relaxed)
    }

    fn crashes_are_private(&self) -> bool {
        self.is_php_restricted.load(Ordering::Relaxed)
    }

    fn servers(&self) -> Value {
        json!({"howdah": {}})
    }

    async fn authority(&self) -> Result<Option<CertificateAuthority>, String> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err("the storage is away".into());
        }
        let restricted = self.is_php_restricted.load(Ordering::Relaxed);
        Ok((!restricted).then(|| CertificateAuthority {
            id: "local".into(),
            name: "An authority".into(),
            root_common_name: "the root".into(),
            intermediate_common_name: "the intermediate".into(),
            root_certificate: "ROOT\n".into(),
            intermediate_certificate: "INTERMEDIATE\n".into(),
        }))
    }

    fn counts_requests(&self) -> bool {
        !self.is_php_restricted.load(Ordering::Relaxed)
    }

    async fn health(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(UnhealthyError::Stopping);
        }
        Ok(self.sequential.lock().expect("no panic").clone())
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A served admin API; it ends with the value.
struct Server {
    fake: Arc<FakeControl>,
    address: AdminAddress,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    fn start(address: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let fake = Arc::new(FakeControl::default());
        let admin = {
            let _inside = runtime.enter();
            Admin::bind(&address.parse().expect("valid")).expect("a free port")
        };
        let address = admin.address().clone();
        runtime.spawn(admin.serve(fake.clone()));
        Self {
            fake,
            address,
            runtime: Some(runtime),
        }
    }

    fn client(&self) -> Client {
        Client::new(self.address.clone())
    }

    fn request(&self, method: &str, target: &str) -> Reply {
        let limit = Some(Duration::from_secs(30));
        self.client()
            .request(method, target, limit)
            .expect("a response")
    }

    fn port(&self) -> u16 {
        match self.address {
            AdminAddress::Tcp { port, .. } => port,
            AdminAddress::Unix(_) => panic!("no port"),
        }
    }

    /// The response to exactly these bytes.
    fn raw(&self, text: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port())).expect("accepted");
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a response");
        answer
    }

    fn reloads(&self) -> Vec<Option<String>> {
        self.fake.reloads.lock().expect("no panic").clone()
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn crash_reports_are_shown_unless_php_could_read_them() {
    let server = Server::start("127.0.0.1:0");
    let get = |target: &str| server.request("GET", target);
    assert_eq!(
        get("/crashes").json(),
        Some(json!({"crashes": [{"number": 3}]}))
    );
    assert_eq!(get("/crashes?number=3").json(), Some(json!({"number": 3})));
    assert_eq!(get("/crashes?number=4").status, 404);
    assert_eq!(get("/crashes?number=x").status, 400);
    assert_eq!(server.request("DELETE", "/crashes").status, 404);
    server.fake.is_php_restricted.store(true, Ordering::Relaxed);
    assert_eq!(get("/crashes").status, 403);
    assert_eq!(get("/crashes?number=3").status, 403);
    assert_eq!(server.request("DELETE", "/crashes").status, 403);
}

#[test]
fn caddy_s_clients_find_the_internal_authority() {
    let server = Server::start("127.0.0.1:0");
    let get = |path| server.request("GET", path);
    let shown = json!({
        "id": "local",
        "name": "An authority",
        "root_common_name": "the root",
        "intermediate_common_name": "the intermediate",
        "root_certificate": "ROOT\n",
        "intermediate_certificate": "INTERMEDIATE\n",
    });
    assert_eq!(get("/pki/ca/local").json(), Some(shown));
    let chain = get("/pki/ca/local/certificates");
    assert_eq!(
        (chain.status, &*chain.body),
        (200, &b"INTERMEDIATE\nROOT\n"[..])
    );
    assert_eq!(get("/pki/ca/other").status, 404);
    assert_eq!(server.request("POST", "/pki/ca/local").status, 405);
    server.fake.is_php_restricted.store(true, Ordering::Relaxed);
    let missing = get("/pki/ca/local");
    let text = "no certificate authority configured with id: local";
    assert_eq!(
        (missing.status, missing.json()),
        (404, Some(json!({"error": text})))
    );
    server.fake.stopped.store(true, Ordering::Relaxed);
    assert_eq!(get("/pki/ca/local/certificates").status, 500);
}

#[test]
fn readiness_names_pools_that_fell_back_to_one_request_at_a_time() {
    let server = Server::start("127.0.0.1:0");
    let pool = SequentialPool {
        pool: "app".into(),
        workers: 2,
        cause: "calls that wait do not let others run".into(),
    };
    server.fake.sequential.lock().expect("no panic").push(pool);
    let reply = server.request("GET", "/readyz");
    assert_eq!(reply.status, 200);
    let shown =
        json!([{"pool": "app", "workers": 2, "cause": "calls that wait do not let others run"}]);
    assert_eq!(reply.json().expect("JSON")["sequential"], shown);
}

#[test]
fn shows_state() {
    let server = Server::start("localhost:0");
    let table = [
        ("/status", json!({"pools": []})),
        (
            "/config/apps/frankenphp",
            json!({"workers": [{"name": "app"}]}),
        ),
        (
            "/health",
            json!({"status": "ok", "pid": std::process::id()}),
        ),
        (
            "/readyz",
            json!({"status": "ok", "pid": std::process::id()}),
        ),
        (
            "/healthz",
            json!({"status": "ok", "pid": std::process::id()}),
        ),
        ("/preload", json!([{"pools": ["php"], "done": true}])),
        ("/requests", json!({"requests": [{"uri": "/slow"}]})),
        ("/activity", json!({"known": 0})),
        ("/activity?log=7", json!({"known": 7})),
        ("/config", json!({"file": "/srv/Caddyfile"})),
        ("/config/apps/http/metrics", json!({})),
        ("/config/apps/http/servers", json!({"howdah": {}})),
        ("/config/", json!({"file": "/srv/Caddyfile"})),
    ];
    for (path, expected) in table {
        let reply = server.request("GET", path);
        assert_eq!(
            (reply.status, reply.json()),
            (200, Some(expected)),
            "{path}"
        );
    }
    let threads = server
        .request("GET", "/frankenphp/threads")
        .json()
        .expect("JSON");
    assert_eq!(threads["ReservedThreadCount"], 0);
    let mut names: Vec<_> = threads["ThreadDebugStates"][0]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    let expected = [
        "CurrentMethod",
        "CurrentURI",
        "Index",
        "IsBusy",
        "IsWaiting",
        "MemoryUsage",
        "Name",
        "RequestCount",
        "RequestStartedAt",
        "State",
        "WaitingSinceMilliseconds",
    ];
    assert_eq!(names, expected);
}

#[test]
fn metrics_come_in_the_requested_format() {
    let server = Server::start("localhost:0");
    let host = "Host: localhost\r\nConnection: close\r\n";
    let plain = server.raw(&format!("GET /metrics HTTP/1.1\r\n{host}\r\n"));
    assert!(
        plain.contains("content-type: text/plain; version=0.0.4"),
        "{plain}"
    );
    assert!(plain.ends_with("a_metric 1\n"), "{plain}");
    let accept = "Accept: application/openmetrics-text;version=1.0.0\r\n";
    let open = server.raw(&format!("GET /metrics HTTP/1.1\r\n{host}{accept}\r\n"));
    assert!(
        open.contains("content-type: application/openmetrics-text"),
        "{open}"
    );
}

#[test]
fn the_dashboard_is_served_with_a_strict_policy() {
    let server = Server::start("localhost:0");
    let get = |path: &str, more: &str| {
        let host = "Host: localhost\r\nConnection: close\r\n";
        server.raw(&format!("GET {path} HTTP/1.1\r\n{host}{more}\r\n"))
    };
    for path in ["/", "/dashboard"] {
        let answer = get(path, "");
        assert!(answer.starts_with("HTTP/1.1 302 "), "{answer}");
        assert!(answer.contains("location: /dashboard/\r\n"), "{answer}");
    }
    for (file, kind) in [
        ("", "text/html"),
        ("main.js", "text/javascript"),
        ("style.css", "text/css"),
    ] {
        let answer = get(&format!("/dashboard/{file}"), "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        for header in [
            &format!("content-type: {kind}"),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
            "referrer-policy: same-origin",
        ] {
            assert!(answer.contains(header), "{file}: {header}: {answer}");
        }
        let policy = answer.split("content-security-policy: ").nth(1);
        let policy = policy.and_then(|rest| rest.lines().next());
        assert!(policy.is_some_and(|policy| !policy.contains("unsafe")));
        for refused in [
            "Sec-Fetch-Site: cross-site\r\n",
            "Origin: http://a.example\r\n",
        ] {
            let answer = get(&format!("/dashboard/{file}"), refused);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        }
    }
    assert!(get("/dashboard/nothing.js", "").starts_with("HTTP/1.1 404 "));
    let (port, origin) = (server.port(), "Origin: http://localhost");
    let own = format!(
        "POST /reload HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n{origin}:{port}\r\n\r\n"
    );
    assert!(server.raw(&own).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_confined_php_gets_no_log_over_tcp() {
    let server = Server::start("localhost:0");
    server.fake.is_php_restricted.store(true, Ordering::Relaxed);
    let shown = server.request("GET", "/activity?log=7").json();
    assert_eq!(shown, Some(json!({"known": null})));
    assert_eq!(server.request("GET", "/activity?log=x").status, 400);
}

#[test]
fn logs_are_sent_to_clients_on_request() {
    let server = Server::start("localhost:0");
    let send = |method: &str, path: &str, body: &str| {
        let length = body.len();
        let answer = server.raw(&format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        let status = answer
            .get(9..12)
            .and_then(|status| status.parse::<u16>().ok());
        status.unwrap_or_else(|| panic!("{answer}"))
    };
    let order = |address: &str| json!({"writer": {"output": "net", "address": address}, "include": ["http.log.access"]});
    let order = |address: &str| order(address).to_string();
    let put = |address: &str| send("PUT", "/config/logging/logs/a", &order(address));
    assert_eq!(put("tcp/127.0.0.1:9"), 200);
    assert_eq!(put("tcp/192.0.2.1:9"), 400);
    assert_eq!(send("PUT", "/config/logging/logs/", "{}"), 404);
    assert_eq!(send("PUT", "/config/logging/logs/a/b", "{}"), 404);
    assert_eq!(send("GET", "/config/logging/logs/known", ""), 200);
    assert_eq!(send("DELETE", "/config/logging/logs/known", ""), 200);
    assert_eq!(send("DELETE", "/config/logging/logs/other", ""), 404);
    server.fake.is_php_restricted.store(true, Ordering::Relaxed);
    assert_eq!(put("tcp/127.0.0.1:9"), 403);
}

#[test]
fn reloads() {
    let server = Server::start("localhost:0");
    let reply = server.request("POST", "/reload");
    let done: ReloadReport = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!((reply.status, done.pools[0].generation), (200, 2));
    assert_eq!(server.request("POST", "/reload?pool=a%2Fb").status, 200);
    let restarted = server.request("POST", "/frankenphp/workers/restart");
    assert_eq!(restarted.body, b"workers restarted successfully\n");
    assert_eq!(
        server.request("PATCH", "/config/apps/frankenphp").status,
        200
    );
    assert_eq!(server.reloads(), [None, Some("a/b".to_owned()), None, None]);

    let unknown = server.request("POST", "/reload?pool=nobody");
    assert_eq!(unknown.status, 404);
    assert_eq!(
        unknown.error(),
        "pool nobody does not exist; the pools are: app"
    );
    assert_eq!(server.request("POST", "/reload?pol=app").status, 400);
    server.fake.broken.store(true, Ordering::Relaxed);
    let failed = server.request("POST", "/reload");
    assert_eq!(failed.status, 500);
    assert!(
        failed.error().contains("Parse error: line 3"),
        "{}",
        failed.error()
    );
}

#[test]
fn profiles() {
    let server = Server::start("localhost:0");
    let reply = server.request("POST", "/profile?seconds=2&hz=50&format=folded");
    assert_eq!((reply.status, &*reply.body), (200, &b"2 s at 50 Hz"[..]));
    assert_eq!(reply.header("X-Howdah-Profile"), Some("8 due, 8 taken"));
    assert_eq!(
        reply.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    let unknown = server.request("POST", "/profile?pool=nobody");
    assert_eq!(unknown.status, 404);
    assert_eq!(
        unknown.error(),
        "pool nobody does not exist; the pools are: app"
    );
    assert_eq!(server.request("POST", "/profile?pool=busy").status, 409);
    let wrong = server.request("POST", "/profile?hz=0");
    assert_eq!(wrong.status, 400);
    assert_eq!(wrong.error(), "hz=0: expected a number from 1 to 1000");
    assert_eq!(server.request("GET", "/profile").status, 405);
}

#[test]
fn stops() {
    let mut server = Server::start("localhost:0");
    let client = server.client();
    let stopping = std::thread::spawn(move || client.stop());
    while !server.fake.stopped.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let health = server.request("GET", "/health");
    assert_eq!(
        (health.status, health.error()),
        (503, "the server is stopping".to_owned())
    );
    assert_eq!(server.request("GET", "/readyz").status, 503);
    assert_eq!(server.request("GET", "/healthz").status, 200);
    assert!(!stopping.is_finished(), "it waits for the end");
    server.end();
    let reply = stopping.join().expect("no panic").expect("stopped");
    assert_eq!(reply.status, 200);
}

#[test]
fn refuses_unknown_sections() {
    let server = Server::start("localhost:0");
    for path in [
        "/config/apps",
        "/config/apps/frankenphp/",
        "/adapt",
        "/Status",
    ] {
        let reply = server.request("GET", path);
        assert_eq!(
            (reply.status, reply.error()),
            (404, format!("{path} does not exist"))
        );
    }
    for (method, path) in [
        ("GET", "/stop"),
        ("GET", "/reload"),
        ("DELETE", "/status"),
        ("POST", "/health"),
        ("PUT", "/config/apps/frankenphp"),
        ("GET", "/frankenphp/workers/restart"),
    ] {
        assert_eq!(server.request(method, path).status, 405, "{method} {path}");
    }
    let answer = server.raw("PUT /config/apps/frankenphp HTTP/1.0\r\nHost: localhost\r\n\r\n");
    assert!(
        answer.to_lowercase().contains("allow: get, patch"),
        "{answer}"
    );
    assert!(server.reloads().is_empty());
    assert!(!server.fake.stopped.load(Ordering::Relaxed));
}

#[test]
fn refuses_web_pages() {
    let server = Server::start("localhost:0");
    let port = server.port();
    let table = [
        (
            format!("Host: localhost:{port}\r\nOrigin: http://localhost:1"),
            403,
        ),
        (
            format!("Host: localhost:{port}\r\nSec-Fetch-Site: cross-site"),
            403,
        ),
        (format!("Host: rebound.example:{port}"), 403),
        ("X-Host: none".to_owned(), 403),
        (format!("Host: 127.0.0.1:{port}"), 200),
    ];
    for (headers, expected) in table {
        let answer = server.raw(&format!("POST /reload HTTP/1.0\r\n{headers}\r\n\r\n"));
        assert!(
            answer.contains(&format!(" {expected} ")),
            "{headers}: {answer}"
        );
    }
    assert_eq!(server.reloads().len(), 1);
}

#[test]
fn reads_bodies_up_to_a_limit() {
    let server = Server::start("localhost:0");
    let patch = |length: usize, sent: usize| {
        let body = "x".repeat(sent);
        server.raw(&format!(
            "PATCH /config/apps/frankenphp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Cache-Control: must-revalidate\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    };
    assert!(patch(1 << 20, 1 << 20).starts_with("HTTP/1.1 200 "));
    assert!(patch((1 << 20) + 1, 0).starts_with("HTTP/1.1 413 "));
    let chunk = "x".repeat(1 << 20);
    let answer = server.raw(&format!(
        "PATCH /config/apps/frankenphp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n100000\r\n{chunk}\r\n1\r\nx\r\n0\r\n\r\n"
    ));
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(server.reloads().len(), 1);
}

#[test]
fn listens_on_both_loopback_addresses() {
    let server = Server::start("localhost:0");
    for address in ["127.0.0.1", "[::1]"] {
        let address = format!("{address}:{}", server.port());
        if address.starts_with('[') && TcpListener::bind("[::1]:0").is_err() {
            println!("skipped: there is no IPv6 here");
            continue;
        }
        let client = Client::new(address.parse().expect("valid"));
        let reply = client.request("GET", "/health", None).expect("a response");
        assert_eq!(reply.status, 200, "{address}");
    }
}

#[test]
fn reports_an_address_in_use() {
    let server = Server::start("localhost:0");
    let runtime = server.runtime.as_ref().expect("it runs");
    let _inside = runtime.enter();
    let error = Admin::bind(&server.address).expect_err("taken");
    assert!(matches!(error, BindError::InUse(_)), "{error}");
    let port = server.port();
    assert!(
        error
            .to_string()
            .starts_with(&format!("admin localhost:{port}: ")),
        "{error}"
    );
    let elsewhere: AdminAddress = "192.0.2.1:2019".parse().expect("valid");
    let error = Admin::bind(&elsewhere).expect_err("not of this machine");
    assert!(matches!(error, BindError::Io { .. }), "{error}");
}
