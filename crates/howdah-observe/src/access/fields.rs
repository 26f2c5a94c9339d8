//! An entry as a tree of named fields, which filters change and encoders write.

use std::borrow::Cow;

use http::header::{AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, Version};

use super::entry::Entry;
use crate::usage::UsageSoFar;

/// A field's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Time(std::time::Duration),
    Truth(bool),
    List(Vec<String>),
    Object(Fields),
}

/// Names and values in order.
pub(super) type Fields = Vec<(Cow<'static, str>, Value)>;

const CREDENTIALS: [HeaderName; 4] = [COOKIE, SET_COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION];

/// All fields of an entry except level, time, logger and message.
pub(super) fn fields(entry: &Entry) -> Fields {
    let text = |text: &str| Value::Text(text.to_owned());
    let uri = entry.uri.path_and_query();
    let mut request: Fields = vec![
        (
            "remote_ip".into(),
            Value::Text(entry.remote.ip().to_string()),
        ),
        (
            "remote_port".into(),
            Value::Text(entry.remote.port().to_string()),
        ),
        ("client_ip".into(), Value::Text(entry.client.to_string())),
        ("proto".into(), text(protocol(entry.version))),
        ("method".into(), text(entry.method.as_str())),
        ("host".into(), text(&entry.host)),
        (
            "uri".into(),
            text(uri.map_or("", http::uri::PathAndQuery::as_str)),
        ),
        (
            "headers".into(),
            Value::Object(headers(&entry.headers, entry.credentials)),
        ),
    ];
    if let Some(tls) = &entry.tls {
        let tls = vec![
            ("version".into(), text(tls.version)),
            ("cipher_suite".into(), text(&tls.cipher_suite)),
        ];
        request.push(("tls".into(), Value::Object(tls)));
    }
    let mut fields: Fields = vec![
        ("request".into(), Value::Object(request)),
        ("bytes_read".into(), Value::Number(entry.bytes_read)),
        ("user_id".into(), text(&entry.user)),
        ("duration".into(), Value::Time(entry.duration)),
        ("size".into(), Value::Number(entry.size)),
        ("status".into(), Value::Number(entry.status.into())),
        (
            "resp_headers".into(),
            Value::Object(headers(&entry.response_headers, entry.credentials)),
        ),
        (
            "request_id".into(),
            Value::Text(format!("{:016x}", entry.id)),
        ),
    ];
    if let Some(usage) = &entry.php {
        fields.push(("php".into(), Value::Object(php(usage))));
    }
    if entry.cut {
        fields.push(("cut".into(), Value::Truth(true)));
    }
    for (name, value) in &entry.appended {
        fields.push((Cow::Owned(name.clone()), text(value)));
    }
    fields
}

/// The fields of a request whose script has not ended: only the time in the queue is known.
fn php(so_far: &UsageSoFar) -> Fields {
    let mut fields: Fields = vec![("queue".into(), Value::Time(so_far.queue))];
    if let Some(usage) = &so_far.usage {
        let script = &usage.script;
        fields.extend([
            ("time".into(), Value::Time(usage.time)),
            ("cpu".into(), Value::Time(script.cpu)),
            ("database".into(), Value::Time(script.database)),
            ("queries".into(), Value::Number(script.queries.into())),
            ("memory_peak".into(), Value::Number(script.memory_peak)),
        ]);
    }
    fields
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

fn headers(map: &HeaderMap, credentials: bool) -> Fields {
    let field = |name: &HeaderName| {
        let values = if !credentials && CREDENTIALS.contains(name) {
            vec!["REDACTED".to_owned()]
        } else {
            let values = map.get_all(name).iter();
            values
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect()
        };
        (Cow::Owned(canonical(name.as_str())), Value::List(values))
    };
    map.keys().map(field).collect()
}

/// Writes `user-agent` as `User-Agent`, like Caddy.
fn canonical(name: &str) -> String {
    let mut upper = true;
    name.chars()
        .map(|char| {
            let shown = if upper {
                char.to_ascii_uppercase()
            } else {
                char
            };
            upper = char == '-';
            shown
        })
        .collect()
}
