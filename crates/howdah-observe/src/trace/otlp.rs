//! Spans as the JSON of OTLP: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use serde_json::{Value, json};

use super::span::{Attribute, Kind, Span};

/// The document of an export.
pub(super) fn document(resource: &[(String, String)], spans: &[Span]) -> Value {
    let text = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
    let resource: Vec<_> = resource
        .iter()
        .map(|(name, value)| text(name, value))
        .collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{
            "scope": {"name": "howdah", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }]})
}

fn span(span: &Span) -> Value {
    let attributes: Vec<_> = span
        .attributes
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Attribute::Text(text) => json!({"stringValue": text}),
                // 64 bits are text in this encoding.
                Attribute::Number(number) => json!({"intValue": number.to_string()}),
            };
            json!({"key": name, "value": value})
        })
        .collect();
    let mut shown = json!({
        "traceId": span.trace.to_string(),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": match span.kind { Kind::Internal => 1, Kind::Server => 2 },
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        shown["parentSpanId"] = format!("{parent:016x}").into();
    }
    if span.failed {
        shown["status"] = json!({"code": 2});
    }
    shown
}

/// The number of spans that a collector rejected, by its response.
pub(super) fn rejected_spans(response: &[u8]) -> u64 {
    let response: Value = serde_json::from_slice(response).unwrap_or_default();
    match &response["partialSuccess"]["rejectedSpans"] {
        // 64 bits are text in this encoding; some collectors send a number.
        Value::String(text) => text.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    }
}
