//! An entry as a tree of named fields, which filters change and encoders write.

use std::borrow::Cow;

use http::header::{AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, Version};

use super::entry::Entry;
use crate::usage::UsageSoFar;

/// A field's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'e> {
    Text(Cow<'e, str>),
    Number(u64),
    Time(std::time::Duration),
    Truth(bool),
    List(Vec<Cow<'e, str>>),
    Object(Fields<'e>),
}

/// Names and values in order. They borrow from the entry what no filter changes.
pub(super) type Fields<'e> = Vec<(Cow<'e, str>, Value<'e>)>;

const CREDENTIALS: [HeaderName; 4] = [COOKIE, SET_COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION];

/// All fields of an entry except level, time, logger and message.
pub(super) fn fields(entry: &Entry) -> Fields<'_> {
    let uri = entry.uri.path_and_query();
    let mut request: Fields<'_> = vec![
        ("remote_ip".into(), owned(entry.remote.ip().to_string())),
        ("remote_port".into(), owned(entry.remote.port().to_string())),
        ("client_ip".into(), owned(entry.client.to_string())),
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
    let mut fields: Fields<'_> = vec![
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
        ("request_id".into(), owned(format!("{:016x}", entry.id))),
    ];
    if let Some(usage) = &entry.php {
        fields.push(("php".into(), Value::Object(php(usage))));
    }
    if entry.cut {
        fields.push(("cut".into(), Value::Truth(true)));
    }
    for (name, value) in &entry.appended {
        fields.push((name.into(), text(value)));
    }
    fields
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(text))
}

fn owned(text: String) -> Value<'static> {
    Value::Text(Cow::Owned(text))
}

/// The fields of a request whose script has not ended: only the time in the queue is known.
fn php(so_far: &UsageSoFar) -> Fields<'static> {
    let mut fields: Fields<'static> = vec![("queue".into(), Value::Time(so_far.queue))];
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

fn headers(map: &HeaderMap, credentials: bool) -> Fields<'_> {
    let field = |name: &HeaderName| {
        let values = if !credentials && CREDENTIALS.contains(name) {
            vec!["REDACTED".into()]
        } else {
            let values = map.get_all(name).iter();
            values
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect()
        };
        (Cow::Owned(canonical(name.as_str())), Value::List(values))
    };
    map.keys().map(field).collect()
}

/// Writes `user-agent` as `User-Agent`, like Caddy. The name of a field is ASCII.
fn canonical(name: &str) -> String {
    let mut text = name.to_owned();
    let mut is_first = true;
    for index in 0..text.len() {
        if is_first {
            text[index..=index].make_ascii_uppercase();
        }
        is_first = text.as_bytes()[index] == b'-';
    }
    text
}
