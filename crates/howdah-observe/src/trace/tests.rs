//! Exports to a collector that is a socket of the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;

use super::protobuf::{AnyValueKind, ExportRequest, ExportResponse, PartialSuccess};
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
    settings_of(&format!("http://127.0.0.1:{port}"), further)
}

fn settings_of(endpoint: &str, further: &[(&str, &str)]) -> Settings {
    Settings::from_env(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
        // Long, so that only a full batch or the end exports.
        "OTEL_BSP_SCHEDULE_DELAY" => Some("1000000".into()),
        _ => further
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned()),
    })
    .expect("valid")
}

/// A request as the collector got it.
struct Export {
    head: String,
    body: Vec<u8>,
}

impl Export {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn protobuf(&self) -> ExportRequest {
        ExportRequest::decode(&*self.body).expect("protocol buffers")
    }
}

/// Reads a request.
fn receive(stream: &mut impl Read) -> Export {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).expect("a request");
        assert!(length > 0, "it ended early");
        bytes.extend_from_slice(&piece[..length]);
        let Some(end) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let size: Option<usize> = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let body = bytes[end + 4..].to_vec();
        if size == Some(body.len()) {
            return Export { head, body };
        }
    }
}

/// `status` may be followed by header fields.
fn respond(stream: &mut impl Write, status: &str, body: &[u8]) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(body).expect("sent");
    stream.flush().expect("sent");
}

/// Reads a request and responds.
fn serve(mut stream: TcpStream, status: &str) -> Export {
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).expect("set");
    let export = receive(&mut stream);
    respond(&mut stream, status, b"{}");
    export
}

fn collector() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    (listener, port)
}

#[test]
fn spans_are_exported_as_json() {
    let (listener, port) = collector();
    let further = [
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2"),
    ];
    let tracer = Tracer::start(settings(port, &further)).expect("started");
    tracer.push([span("one"), span("two")]);
    let (stream, _) = listener.accept().expect("the exporter");
    let export = serve(stream, "200 OK");
    let (head, document) = (&export.head, export.json());
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
    let json = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    let tracer = Tracer::start(settings(port, &[json])).expect("started");
    let losses = tracer.losses();
    tracer.push([span("last")]);
    let collector = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the exporter");
        serve(stream, "400 Bad Request")
    });
    drop(tracer);
    let document = collector.join().expect("no panic").json();
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

/// A collector with HTTPS, and the file with its certificate.
struct SecureCollector {
    listener: TcpListener,
    port: u16,
    config: Arc<rustls::ServerConfig>,
    roots: tempfile::NamedTempFile,
}

impl SecureCollector {
    fn start() -> Self {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("generated");
        let roots = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(roots.path(), own.cert.pem()).expect("written");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .expect("a key that fits");
        let (listener, port) = collector();
        Self {
            listener,
            port,
            config: Arc::new(config),
            roots,
        }
    }

    fn settings(&self, further: &[(&str, &str)]) -> Settings {
        settings_of(&format!("https://localhost:{}", self.port), further)
    }

    fn accept(&self) -> rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
        let (stream, _) = self.listener.accept().expect("the exporter");
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("set");
        let connection = rustls::ServerConnection::new(Arc::clone(&self.config)).expect("TLS");
        rustls::StreamOwned::new(connection, stream)
    }
}

#[test]
fn spans_are_exported_over_https_as_protobuf_and_rejected_ones_are_counted() {
    let collector = SecureCollector::start();
    let roots = collector.roots.path().to_str().expect("UTF-8");
    let further = [
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", roots),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2"),
    ];
    let tracer = Tracer::start(collector.settings(&further)).expect("started");
    tracer.push([span("one"), span("two")]);
    let mut stream = collector.accept();
    let export = receive(&mut stream);
    let head = &export.head;
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let message = export.protobuf();
    let own = &message.resource_spans[0];
    let text = |text: &str| Some(AnyValueKind::Text(text.into()));
    let resource = own.resource.as_ref().expect("a resource");
    assert_eq!(resource.attributes[0].key, "service.name");
    let value = resource.attributes[0].value.clone().expect("a value");
    assert_eq!(value.value, text("shop"));
    let spans = &own.scope_spans[0].spans;
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0].trace_id, 0xabc_u128.to_be_bytes());
    assert_eq!(spans[0].span_id, 7_u64.to_be_bytes());
    assert_eq!(spans[0].parent_span_id, 6_u64.to_be_bytes());
    assert_eq!((&*spans[0].name, spans[0].kind), ("one", 2));
    assert_eq!(spans[0].start_time_unix_nano, 1_000_000_000);
    let status = spans[0].attributes[1].value.clone().expect("a value");
    assert_eq!(status.value, Some(AnyValueKind::Number(503)));
    assert_eq!(spans[0].status.as_ref().map(|status| status.code), Some(2));
    let rejection = ExportResponse {
        partial_success: Some(PartialSuccess {
            rejected_spans: 1,
            error_message: "too old".into(),
        }),
    };
    respond(&mut stream, "200 OK", &rejection.encode_to_vec());
    stream.conn.send_close_notify();
    let _ = stream.flush();
    drop(stream);
    let losses = tracer.losses();
    drop(tracer);
    assert_eq!(losses.spans(), 1);
}

#[test]
fn a_collector_of_an_unknown_authority_gets_nothing() {
    let collector = SecureCollector::start();
    let further = [("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")];
    let other = SecureCollector::start();
    let roots = other.roots.path().to_str().expect("UTF-8");
    let roots = ("OTEL_EXPORTER_OTLP_CERTIFICATE", roots);
    let tracer = Tracer::start(collector.settings(&[further[0], roots])).expect("started");
    tracer.push([span("secret")]);
    let mut stream = collector.accept();
    let read = stream.read(&mut [0; 64]);
    assert!(read.is_err() || read.is_ok_and(|length| length == 0));
}

#[test]
fn a_missing_certificate_file_is_an_error_at_the_start() {
    let collector = SecureCollector::start();
    let further = [("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nonexistent/roots.pem")];
    let error = Tracer::start(collector.settings(&further)).expect_err("no file");
    assert!(
        error.to_string().contains("/nonexistent/roots.pem"),
        "{error}"
    );
}

#[test]
fn an_overloaded_collector_is_retried() {
    let (listener, port) = collector();
    let further = [
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1"),
    ];
    let tracer = Tracer::start(settings(port, &further)).expect("started");
    tracer.push([span("one")]);
    let (stream, _) = listener.accept().expect("the exporter");
    serve(stream, "503 Service Unavailable\r\nretry-after: 0");
    let (stream, _) = listener.accept().expect("a second attempt");
    let export = serve(stream, "200 OK");
    assert!(
        export.head.contains("content-encoding: gzip"),
        "{}",
        export.head
    );
    let mut message = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&*export.body);
    decoder.read_to_end(&mut message).expect("gzip");
    let message = ExportRequest::decode(&*message).expect("protocol buffers");
    assert_eq!(
        message.resource_spans[0].scope_spans[0].spans[0].name,
        "one"
    );
    let losses = tracer.losses();
    drop(tracer);
    assert_eq!(losses.spans(), 0);
}
