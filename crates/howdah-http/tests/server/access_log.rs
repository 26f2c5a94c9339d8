//! The access log, one line for each request.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use crate::support::front::{back, front};
use crate::support::{Client, Harness, php_site, route, wait_until};
use howdah_config::model::{
    AccessLog, Config, Handler, LogFile, LogOutput, Matcher, Route, Template,
};
use serde_json::Value;

fn log_to(file: &Path) -> AccessLog {
    AccessLog {
        output: LogOutput::File(LogFile {
            path: file.to_owned(),
            mode: 0o600,
            roll: None,
        }),
        ..AccessLog::default()
    }
}

/// Log lines whose URI contains this text.
fn matching(file: &Path, text: &str) -> Vec<Value> {
    let text_of_file = std::fs::read_to_string(file).unwrap();
    // The last line may be incomplete.
    let end = text_of_file.rfind('\n').map_or(0, |end| end + 1);
    let lines = text_of_file[..end]
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["request"]["uri"].as_str().unwrap().contains(text))
        .collect()
}

fn one(file: &Path, text: &str) -> Value {
    wait_until("it is logged", || matching(file, text).len() == 1);
    matching(file, text).remove(0)
}

fn logged(directory: &Path, log: AccessLog) -> Config {
    let mut config = php_site(directory);
    config.sites[0].access_logs = vec![log];
    config
}

#[test]
fn every_request_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let harness = Harness::start(&logged(directory.path(), log_to(&file)));

    let reply = harness.get_with("/echo.php?a=b", "User-Agent: test/1\r\nCookie: id=1\r\n");
    let line = one(&file, "/echo.php?a=b");
    let request = &line["request"];
    assert_eq!(request["method"], "GET");
    assert_eq!(request["uri"], "/echo.php?a=b");
    assert_eq!(request["host"], "localhost");
    assert_eq!(request["remote_ip"], "127.0.0.1");
    assert_eq!(request["headers"]["User-Agent"][0], "test/1");
    assert_eq!(request["headers"]["Cookie"][0], "REDACTED");
    assert_eq!(line["status"], 200);
    assert_eq!(line["size"], reply.body.len());
    assert_eq!(line["request_id"], reply.value("id"));
    assert_eq!(line["resp_headers"]["Server"][0], "Howdah");
    assert!(line["duration"].as_f64().unwrap() > 0.0);
    assert_eq!(line.get("cut"), None);

    assert_eq!(harness.get("/%00").status, 400);
    assert_eq!(one(&file, "/%00")["status"], 400);

    let body = "POST /echo.php?body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345";
    assert_eq!(harness.send(body).status, 200);
    assert_eq!(one(&file, "?body")["bytes_read"], 5);

    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=hang&gone HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until("it runs", || harness.server.stats().in_flight() == 1);
    drop(client);
    let line = one(&file, "gone");
    assert_eq!((&line["status"], &line["cut"]), (&499.into(), &true.into()));

    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=fail&torn HTTP/1.1\r\nHost: a\r\n\r\n");
    client.rest();
    let line = one(&file, "torn");
    assert_eq!((&line["status"], &line["cut"]), (&200.into(), &true.into()));
}

#[test]
fn bodies_for_upstreams_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let back = back();
    let site = format!(
        "log {{\noutput file {}\n}}\nrequest_body /small {{\nmax_size 3\n}}\nreverse_proxy UP",
        file.display()
    );
    let front = front(&back.address(), "", &site);
    for target in ["/length", "/small"] {
        let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\n");
        front.send(&format!("{head}Content-Length: 5\r\n\r\n12345"));
    }
    assert_eq!(one(&file, "/length")["bytes_read"], 5);
    assert_eq!(one(&file, "/small")["bytes_read"], 0);
    front.send("POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n");
    assert_eq!(one(&file, "/chunks")["bytes_read"], 4);
}

#[test]
fn requests_that_come_with_the_end_of_their_connection_are_logged() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "text").unwrap();
    let file = directory.path().join("access.log");
    let mut config = logged(directory.path(), log_to(&file));
    config.global.php.front_threads = Some(1);
    let harness = Harness::start(&config);
    let targets = ["/a.txt?x", "/echo.php?n=1", "/echo.php?mode=hang"];
    let connect = |_| {
        let mut client = harness.connect();
        client.write(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.reply(true).status, 200);
        client
    };
    let mut waiting = targets.map(connect);
    let gone = targets.map(connect);
    let mut blocks = harness.connect();
    blocks.write(b"GET /echo.php?mode=block HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until("the thread is kept", || {
        harness.seen.calls.load(SeqCst) == 1
    });
    // The server reads nothing meanwhile, so it finds each request together with the end of the
    // connection.
    let ask = |client: &mut Client, target: &str| {
        client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        client.end();
    };
    for (client, target) in waiting.iter_mut().zip(targets) {
        ask(client, target);
    }
    for (mut client, target) in gone.into_iter().zip(targets) {
        ask(&mut client, &format!("{target}&gone"));
    }
    harness.seen.open_gate();
    for client in &mut waiting[..2] {
        assert_eq!(client.reply(true).status, 200);
    }
    assert!(waiting[2].is_closed());
    for (target, status) in targets.into_iter().zip([200, 200, 499]) {
        wait_until("both are logged", || matching(&file, target).len() == 2);
        assert_eq!(matching(&file, target)[0]["status"], status, "{target}");
    }
}

#[test]
fn errors_alone_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let log = AccessLog {
        errors_only: true,
        ..log_to(&file)
    };
    let harness = Harness::start(&logged(directory.path(), log));
    assert_eq!(harness.get("/echo.php?fine").status, 200);
    assert_eq!(harness.get("/%00?refused").status, 400);
    assert_eq!(harness.get("/echo.php?mode=broken").status, 500);
    // Lines are written in the order in which requests end.
    assert_eq!(one(&file, "mode=broken")["level"], "error");
    assert!(matching(&file, "fine").is_empty(), "a success was logged");
    assert!(matching(&file, "refused").is_empty(), "a 400 was logged");
}

#[test]
fn requests_are_skipped_and_fields_added() {
    let directory = tempfile::tempdir().unwrap();
    let (all, host) = (directory.path().join("all"), directory.path().join("host"));
    let mut config = logged(directory.path(), log_to(&all));
    let for_host = AccessLog {
        name: Some("host".into()),
        hostnames: vec!["a.example".into()],
        ..log_to(&host)
    };
    config.sites[0].access_logs.push(for_host);
    let field = Handler::LogAppend("country".into(), Template::text("NL"));
    let skip = Route {
        matcher: Some(Matcher::Path(vec!["/quiet/*".into()])),
        ..route(Handler::LogSkip)
    };
    let routes = &mut config.sites[0].routes;
    routes.splice(0..0, [route(field), skip]);
    let harness = Harness::start(&config);
    harness.get("/quiet/a");
    harness.get("/loud");
    harness.send("GET /named HTTP/1.1\r\nHost: A.example:8080\r\n\r\n");
    assert_eq!(one(&all, "/loud")["country"], "NL");
    one(&all, "/named");
    assert!(matching(&all, "/quiet").is_empty());
    assert_eq!(one(&host, "/named")["logger"], "http.log.access.host");
    assert!(matching(&host, "/loud").is_empty());
}

#[test]
fn the_time_of_the_deciding_clock_counts() {
    const TAKES: Duration = Duration::from_millis(200);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = listener.local_addr().unwrap().to_string();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = stream.read(&mut [0; 4096]).unwrap();
        // The test measures the duration.
        thread::sleep(TAKES);
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .unwrap();
        asked
    });
    let site = format!(
        "log {{\noutput file {}\n}}\nforward_auth UP {{\nuri /verify\n}}\nrespond ok",
        file.display()
    );
    let harness = front(&slow, "", &site);
    assert_eq!(harness.get("/slow").text(), "ok");
    assert!(answering.join().unwrap() > 0);
    let duration = one(&file, "/slow")["duration"].as_f64().unwrap();
    assert!(duration >= TAKES.as_secs_f64(), "{duration}");
}

#[test]
fn queued_lines_are_written_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let harness = Harness::start(&logged(directory.path(), log_to(&file)));
    for number in 0..50 {
        harness.get(&format!("/{number}"));
    }
    drop(harness);
    assert_eq!(matching(&file, "/").len(), 50);
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    let within_file = directory.path().join("file/access.log");
    let config = logged(directory.path(), log_to(&within_file));
    let error = howdah_http::Server::bind(&config, None).unwrap_err();
    assert!(error.to_string().contains("file/access.log"), "{error}");
}
