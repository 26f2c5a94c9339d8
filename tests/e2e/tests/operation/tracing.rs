//! Traces from the caller to PHP, and spans to a collector, which is a socket of the test.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use howdah_testkit::{ClosedPort, PATIENCE, Request, Server, Www};
use howdah_tests::{caddyfile, www};
use serde_json::Value;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The spans of each export.
struct Collector {
    port: u16,
    spans: Receiver<Value>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, spans) = channel();
        // The thread ends with the process of the test. A server that has exited sends no more
        // data.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut bytes = Vec::new();
                let mut piece = [0; 4096];
                let body = loop {
                    let length = stream.read(&mut piece).expect("a request");
                    assert!(length > 0, "it ended early");
                    bytes.extend_from_slice(&piece[..length]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let mut sizes = head
                        .lines()
                        .filter_map(|line| line.strip_prefix("content-length: "));
                    if sizes.next().and_then(|size| size.parse().ok()) == Some(body.len()) {
                        break body.to_owned();
                    }
                };
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
                stream.write_all(answer.as_bytes()).expect("answered");
                let document: Value = serde_json::from_str(&body).expect("JSON");
                let own = &document["resourceSpans"][0]["scopeSpans"][0]["spans"];
                for span in own.as_array().expect("spans") {
                    if sender.send(span.clone()).is_err() {
                        return;
                    }
                }
            }
        });
        Self { port, spans }
    }

    /// Returns the next spans.
    fn take(&self, count: usize) -> Vec<Value> {
        (0..count)
            .map(|_| self.spans.recv_timeout(PATIENCE).expect("a span"))
            .collect()
    }
}

fn server(site: &str, collector: &Collector) -> Server {
    let site = format!("tracing {{\nspan shop\n}}\nlog\n{site}");
    Server::caddyfile(caddyfile("", &site))
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://127.0.0.1:{}", collector.port),
        )
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_BSP_SCHEDULE_DELAY", "20")
        .start()
}

fn named<'s>(spans: &'s [Value], name: &str) -> &'s Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
}

#[test]
fn a_trace_goes_from_the_caller_to_php_and_to_the_collector() {
    let collector = Collector::start();
    let php = Www::new().file("trace.php", "<?php echo $_SERVER['HTTP_TRACEPARENT'];");
    let site = format!(
        "header X-Trace {{http.vars.trace_id}}/{{http.vars.span_id}}\nroot * {}\nphp_server",
        php.path().display()
    );
    let server = server(&site, &collector);
    let request = Request::get("/trace.php?a=b").header("traceparent", PARENT);
    let response = server.send(&request);
    response.assert_status(200);
    let seen = response.text();
    let parts: Vec<_> = seen.split('-').collect();
    assert_eq!(parts[1], "0af7651916cd43dd8448eb211c80319c");
    assert_ne!(parts[2], "b7ad6b7169203331", "the span is the server's own");
    assert_eq!(
        response.header("x-trace"),
        Some(&*format!("{}/{}", parts[1], parts[2]))
    );

    let spans = collector.take(4);
    let own = named(&spans, "shop");
    assert_eq!(own["traceId"], parts[1]);
    assert_eq!(own["spanId"], parts[2]);
    assert_eq!(own["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(own["kind"], 2);
    let time = |span: &Value, name: &str| -> u64 {
        span[name]
            .as_str()
            .expect("a time")
            .parse()
            .expect("a number")
    };
    let mut before = time(own, "startTimeUnixNano");
    for name in ["queue", "php", "send"] {
        let part = named(&spans, name);
        assert_eq!(part["parentSpanId"], own["spanId"], "{part}");
        assert!(time(part, "startTimeUnixNano") >= before, "{part}");
        before = time(part, "endTimeUnixNano");
    }
    assert!(before <= time(own, "endTimeUnixNano"));
    let status = own["attributes"].as_array().expect("attributes").iter();
    let status = status.filter(|one| one["key"] == "http.response.status_code");
    assert_eq!(
        status
            .map(|one| one["value"]["intValue"].clone())
            .collect::<Vec<_>>(),
        ["200"]
    );
    let number = |name: &str| -> u64 {
        let mut attributes = own["attributes"].as_array().expect("attributes").iter();
        let found = attributes.find(|one| one["key"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {own}"));
        let text = found["value"]["intValue"].as_str().expect("a number");
        text.parse().expect("a number")
    };
    assert!(number("howdah.memory_peak") > 0, "{own}");
    assert!(number("howdah.cpu_us") > 0, "{own}");
    assert!(number("howdah.php_us") > 0, "{own}");
    assert_eq!(number("howdah.database_queries"), 0, "{own}");
    let line = server.wait_log("/trace.php?a=b");
    assert_eq!(line.text("traceID"), Some(parts[1]), "{}", line.raw);
    assert_eq!(line.text("spanID"), Some(parts[2]), "{}", line.raw);
}

#[test]
fn a_trace_that_is_begun_has_nothing_of_the_callers() {
    let collector = Collector::start();
    let php = Www::new().file(
        "trace.php",
        "<?php echo $_SERVER['HTTP_TRACEPARENT'], ' ', $_SERVER['HTTP_TRACESTATE'] ?? 'none';",
    );
    let server = server(
        &format!("root * {}\nphp_server", php.path().display()),
        &collector,
    );
    let ask = |parents: &[&str]| {
        let mut request = Request::get("/trace.php")
            .host("shop.test:8080")
            .header("tracestate", "vendor=1");
        for parent in parents {
            request = request.header("traceparent", parent);
        }
        let text = server.send(&request).text();
        let (parent, state) = text.split_once(' ').expect("two words");
        (
            parent.contains("0af7651916cd43dd8448eb211c80319c"),
            state.to_owned(),
        )
    };
    assert_eq!(ask(&[PARENT]), (true, "vendor=1".into()));
    for wrong in [vec![], vec!["00-nonsense"], vec![PARENT, PARENT]] {
        assert_eq!(ask(&wrong), (false, "none".into()), "{wrong:?}");
    }
    let spans = collector.take(16);
    let attributes = &named(&spans, "shop")["attributes"];
    let value = |name: &str| {
        let mut found = attributes.as_array().expect("a list").iter();
        let found = found
            .find(|one| one["key"] == name)
            .unwrap_or_else(|| panic!("no {name}"));
        found["value"].clone()
    };
    assert_eq!(value("url.scheme")["stringValue"], "http");
    assert_eq!(value("server.address")["stringValue"], "shop.test");
    assert_eq!(value("server.port")["intValue"], "8080");
}

#[test]
fn spans_have_the_attributes_of_the_conventions() {
    let collector = Collector::start();
    let server = server("respond 503", &collector);
    server.allow_log("handled request");
    let request = Request::new("PURGE", "/a").header("user-agent", "agent/1.0");
    server.send(&request).assert_status(503);
    let spans = collector.take(1);
    let attributes = named(&spans, "shop")["attributes"].clone();
    let text = |name: &str| {
        let mut found = attributes.as_array().expect("a list").iter();
        let found = found
            .find(|one| one["key"] == name)
            .unwrap_or_else(|| panic!("no {name} in {attributes}"));
        found["value"]["stringValue"].as_str().map(str::to_owned)
    };
    for (name, value) in [
        ("http.request.method", "_OTHER"),
        ("http.request.method_original", "PURGE"),
        ("network.protocol.version", "1.1"),
        ("user_agent.original", "agent/1.0"),
        ("error.type", "503"),
    ] {
        assert_eq!(text(name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn a_caller_that_does_not_sample_is_followed() {
    let collector = Collector::start();
    let server = server("respond {http.vars.trace_id}", &collector);
    let quiet = PARENT.replace("-01", "-00");
    let request = Request::get("/quiet").header("traceparent", &quiet);
    server
        .send(&request)
        .assert(200, "0af7651916cd43dd8448eb211c80319c");
    let begun = server.get("/loud").text();
    assert_eq!(begun.len(), 32, "{begun}");
    // Only the second of the two requests is exported.
    let span = collector.take(1).remove(0);
    assert_eq!(span["traceId"], begun);
    assert_eq!(span.get("parentSpanId"), None);
}

#[test]
fn a_collector_that_is_not_there_costs_spans_and_no_request() {
    let closed = ClosedPort::new();
    let site = format!("tracing\nroot * {}\nphp_server", www().display());
    let server = Server::caddyfile(caddyfile("", &site))
        .env(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            format!("http://{}/v1/traces", closed.address()),
        )
        .env("OTEL_BSP_SCHEDULE_DELAY", "1")
        .start();
    for _ in 0..10 {
        server.get("/hello.php").assert(200, "hello");
    }
    server.wait_log("spans were not exported: ");
}

#[test]
fn a_variable_that_cannot_be_honoured_ends_the_start() {
    let ended = Server::caddyfile(caddyfile("", "tracing\nrespond OK"))
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .try_start()
        .expect_err("it is not supported");
    ended.assert(
        2,
        "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: protocols are `http/protobuf` and `http/json`",
    );
}
