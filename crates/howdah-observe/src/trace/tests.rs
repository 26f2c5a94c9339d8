//! Exports to a collector that is a socket of the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{Attribute, Kind, Settings, Span, TraceId, Tracer};

fn span(name: &str) -> Span {
    Span {
        trace: TraceId(0xabc),
        id: 7,
        parent: Some(6),
        name: name.into(),
        kind: Kind::Server,
        start: 1_000_000_000,
        end: 2_000_000_000,
        attributes: vec![
            ("http.request.method", Attribute::Text("GET".into())),
            ("http.response.status_code", Attribute::Number(503)),
        ],
        failed: true,
    }
}

fn settings(port: u16, further: &[(&str, &str)]) -> Settings {
    let endpoint = format!("http://127.0.0.1:{port}");
    Settings::from_env(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone()),
        // Far away, so that only a full batch or the end exports.
        "OTEL_BSP_SCHEDULE_DELAY" => Some("1000000".into()),
        _ => further
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned()),
    })
    .expect("valid")
}

/// Reads a request and answers it.
fn serve(mut stream: TcpStream, status: &str) -> (String, Value) {
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).expect("set");
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let (head, body) = loop {
        let length = stream.read(&mut piece).expect("a request");
        assert!(length > 0, "it ended early");
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let size = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if size == Some(body.len()) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    stream.write_all(answer.as_bytes()).expect("answered");
    (head, serde_json::from_str(&body).expect("JSON"))
}

fn collector() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    (listener, port)
}

#[test]
fn spans_are_exported_as_otlp() {
    let (listener, port) = collector();
    let further = [
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2"),
    ];
    let tracer = Tracer::start(settings(port, &further)).expect("started");
    tracer.push([span("one"), span("two")]);
    let (stream, _) = listener.accept().expect("the exporter");
    let (head, document) = serve(stream, "200 OK");
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("api-key: secret"), "{head}");
    let own = &document["resourceSpans"][0];
    assert_eq!(
        own["resource"]["attributes"][0]["value"]["stringValue"],
        "shop"
    );
    let spans = own["scopeSpans"][0]["spans"].as_array().expect("spans");
    assert_eq!(spans.len(), 2);
    let first = &spans[0];
    assert_eq!(first["traceId"], "00000000000000000000000000000abc");
    assert_eq!(first["spanId"], "0000000000000007");
    assert_eq!(first["parentSpanId"], "0000000000000006");
    assert_eq!(
        (first["name"].as_str(), &first["kind"]),
        (Some("one"), &2.into())
    );
    assert_eq!(first["startTimeUnixNano"], "1000000000");
    assert_eq!(first["attributes"][1]["value"]["intValue"], "503");
    assert_eq!(first["status"]["code"], 2);
    assert_eq!(tracer.losses().spans(), 0);
}

#[test]
fn a_full_queue_loses_spans_and_takes_no_time() {
    let (_listener, port) = collector();
    let further = [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "3"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "3"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "60000"),
    ];
    let tracer = Tracer::start(settings(port, &further)).expect("started");
    tracer.push([span("a"), span("b")]);
    tracer.push([span("c"), span("d")]);
    assert_eq!(tracer.losses().spans(), 2, "there is room for one");
}

#[test]
fn the_rest_is_exported_at_the_end_and_a_refusal_is_a_loss() {
    let (listener, port) = collector();
    let tracer = Tracer::start(settings(port, &[])).expect("started");
    let losses = tracer.losses();
    tracer.push([span("last")]);
    let collector = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the exporter");
        serve(stream, "400 Bad Request")
    });
    drop(tracer);
    let (_, document) = collector.join().expect("no panic");
    let spans = &document["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!(spans[0]["name"], "last");
    // The drop above may have given up waiting on a busy machine, so the count may come later.
    while losses.spans() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(losses.spans(), 1);
}

#[test]
fn nothing_is_exported_if_it_is_turned_off() {
    let tracer = Tracer::start(settings(9, &[("OTEL_TRACES_EXPORTER", "none")])).expect("started");
    assert!(!tracer.exports());
}
