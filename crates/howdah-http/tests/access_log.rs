//! The access log, one line for each request. One test: the subscriber is the process's.

mod support;

use std::io;
use std::sync::{Arc, Mutex};

use howdah_config::model::AccessLog;
use support::{Harness, php_site, wait_until};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Lines {
    fn matching(&self, text: &str) -> Vec<String> {
        let bytes = self.0.lock().unwrap().clone();
        let all = String::from_utf8(bytes).unwrap();
        all.lines()
            .filter(|line| line.contains("howdah::access") && line.contains(text))
            .map(str::to_owned)
            .collect()
    }
}

#[test]
fn every_request_is_one_line() {
    let lines = Lines::default();
    tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .init();
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    let quiet = Harness::start(&config);
    assert_eq!(quiet.get("/quiet").status, 200);
    drop(quiet);
    config.sites[0].access_log = Some(AccessLog::default());
    let harness = Harness::start(&config);

    let reply = harness.get_with("/echo.php?a=b", "User-Agent: test/1\r\n");
    wait_until("it is logged", || {
        lines.matching("/echo.php?a=b").len() == 1
    });
    let line = lines.matching("/echo.php?a=b").remove(0);
    for part in [
        "method=GET",
        "uri=/echo.php?a=b",
        "status=200",
        &format!("bytes={}", reply.body.len()),
        "duration_us=",
        "remote=127.0.0.1:",
        &format!("request_id={}", reply.value("id")),
        "user_agent=test/1",
        "cut=false",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }

    assert_eq!(harness.get("/%00").status, 400);
    wait_until("the refusal is logged", || {
        lines.matching("status=400").len() == 1
    });

    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=hang&gone HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until("it runs", || harness.server.stats().in_flight() == 1);
    drop(client);
    wait_until("it is logged", || lines.matching("gone").len() == 1);
    let line = lines.matching("gone").remove(0);
    assert!(
        line.contains("status=499") && line.contains("cut=true"),
        "{line}"
    );

    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=fail&torn HTTP/1.1\r\nHost: a\r\n\r\n");
    client.rest();
    wait_until("it is logged", || lines.matching("torn").len() == 1);
    let line = lines.matching("torn").remove(0);
    assert!(
        line.contains("status=200") && line.contains("cut=true"),
        "{line}"
    );
    assert!(
        lines.matching("/quiet").is_empty(),
        "a site without a log was logged"
    );
    drop(harness);

    config.sites[0].access_log = Some(AccessLog {
        errors_only: true,
        ..AccessLog::default()
    });
    let harness = Harness::start(&config);
    assert_eq!(harness.get("/echo.php?fine").status, 200);
    assert_eq!(harness.get("/%00?refused").status, 400);
    assert_eq!(harness.get("/echo.php?mode=broken").status, 500);
    // Lines are written in the order in which requests end.
    wait_until("the error is logged", || {
        lines.matching("mode=broken").len() == 1
    });
    assert!(lines.matching("mode=broken")[0].contains("status=500"));
    assert!(lines.matching("?fine").is_empty(), "a success was logged");
    assert!(lines.matching("?refused").is_empty(), "a 400 was logged");
}
