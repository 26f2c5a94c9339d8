//! `howdah_pool` and `howdah_observe`: output of workers in their log pipes, and access logs of
//! hostile requests.
//!
//! The first three bytes are the positions at which the bytes of a pipe are split. As an access log
//! entry, the rest is
//!
//! ```text
//! METHOD TARGET
//! host
//! user
//! name: value        header fields, any number
//! ```
#![no_main]
#![allow(
    unfulfilled_lint_expectations,
    reason = "modules that are public in their crate are private here"
)]

use std::time::{Duration, SystemTime};

use howdah_config::model::{
    AccessLog, DurationFormat, Edit, Filter, LineFormat, LogFormat, TimeFormat,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/encode.rs"]
mod encode;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/entry.rs"]
mod entry;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/fields.rs"]
mod fields;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/filter.rs"]
mod filter;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/layout.rs"]
mod layout;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-pool/src/process/log_pipe.rs"]
mod log_pipe;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/access/time.rs"]
mod time;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/usage.rs"]
mod usage;

use encode::LineEncoder;
use entry::Entry;
use log_pipe::{LogParser, Message, Output};

/// The key that records contain. It is the same in the corpus.
const KEY: u64 = 0;

fuzz_target!(|data: &[u8]| {
    let Some((cuts, bytes)) = data.split_at_checked(3) else {
        return;
    };
    let mut places = [cuts[0], cuts[1], cuts[2]].map(|cut| usize::from(cut).min(bytes.len()));
    places.sort_unstable();
    let [first, second, third] = places;
    check_pipe(
        bytes,
        &[
            &bytes[..first],
            &bytes[first..second],
            &bytes[second..third],
            &bytes[third..],
        ],
    );
    if let Some(entry) = entry_of(bytes) {
        check_entry(entry);
    }
});

/// The output of a pipe does not depend on how the input was split.
fn check_pipe(bytes: &[u8], pieces: &[&[u8]; 4]) {
    let whole = messages([bytes].into_iter());
    assert_eq!(whole, messages(pieces.iter().copied()));
    assert_eq!(whole, messages(bytes.chunks(1)));
    let mut length = 0;
    for output in &whole {
        if let Output::Message(message) = output {
            assert!(message.logged || !message.text.is_empty());
            length += message.text.len();
        }
    }
    // An invalid byte becomes a character of three bytes.
    assert!(length <= 3 * bytes.len(), "more came out than went in");

    // A complete record is recognized, whatever was written before it.
    let text = String::from_utf8_lossy(pieces[1])
        .trim_end_matches('\n')
        .to_owned();
    let mut record = format!("\x1ew{:016x}{:08x}{KEY:016x}", 7, text.len()).into_bytes();
    record.extend_from_slice(text.as_bytes());
    let before: Vec<u8> = pieces[0]
        .iter()
        .copied()
        .filter(|byte| *byte != 0x1e)
        .collect();
    let found = messages([&before[..], &record, pieces[2]].into_iter());
    let expected = Output::Message(Message {
        level: log_pipe::Level::Warning,
        request_id: Some(7),
        text,
        logged: true,
    });
    assert!(found.contains(&expected));
}

fn messages<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> Vec<Output> {
    let mut parser = LogParser::new(KEY);
    let mut outputs = Vec::new();
    let mut sink = |mut output| {
        // The request of a raw line depends on how much input was available at that time.
        if let Output::Message(message) = &mut output
            && !message.logged
        {
            message.request_id = None;
        }
        outputs.push(output);
    };
    for piece in pieces {
        parser.push_bytes(piece, None, &mut sink);
    }
    parser.finish(None, &mut sink);
    outputs
}

fn entry_of(bytes: &[u8]) -> Option<Entry> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = str::from_utf8(lines.next()?).ok()?;
    let (method, target) = first.split_once(' ')?;
    let (method, uri): (Method, Uri) = (method.parse().ok()?, target.parse().ok()?);
    let host = String::from_utf8_lossy(lines.next()?).into_owned();
    let user = String::from_utf8_lossy(lines.next()?).into_owned();
    let mut headers = HeaderMap::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let colon = line.iter().position(|byte| *byte == b':')?;
        headers.append(
            HeaderName::from_bytes(&line[..colon]).ok()?,
            HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?,
        );
    }
    Some(Entry {
        at: SystemTime::UNIX_EPOCH + Duration::from_millis(bytes.len() as u64),
        duration: Duration::from_micros(bytes.len() as u64),
        id: 7,
        remote: ([192, 0, 2, 7], 40000).into(),
        client: [192, 0, 2, 8].into(),
        method,
        uri,
        version: Version::HTTP_11,
        host,
        response_headers: headers.clone(),
        headers,
        credentials: true,
        tls: None,
        user,
        bytes_read: 1,
        size: 2,
        status: 200,
        cut: false,
        php: None,
        appended: Vec::new(),
    })
}

fn line(entry: &Entry, format: LineFormat) -> String {
    let log = AccessLog {
        format,
        ..AccessLog::default()
    };
    let mut line = String::new();
    LineEncoder::new(&log, LogFormat::Json).push(&mut line, entry);
    let text = line.strip_suffix('\n').expect("the end of a line");
    assert!(
        !text.contains(|char: char| char.is_control() && char != '\t'),
        "a request has written a line, or steers a terminal"
    );
    text.to_owned()
}

fn check_entry(mut entry: Entry) {
    let json = line(&entry, LineFormat::default());
    assert!(!json.contains('\t'));
    let shown: Value = serde_json::from_str(&json).expect("JSON");
    let request = &shown["request"];
    assert_eq!(request["host"], entry.host);
    assert_eq!(shown["user_id"], entry.user);
    assert_eq!(request["method"], entry.method.as_str());
    let target = entry
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    assert_eq!(request["uri"], target);
    check_headers(&request["headers"], &entry.headers);
    check_headers(&shown["resp_headers"], &entry.response_headers);

    // The console format has the same line after four words.
    let console = LineFormat {
        encoding: Some(LogFormat::Console),
        time: Some(TimeFormat::Rfc3339Nanos),
        duration: DurationFormat::Text,
        ..LineFormat::default()
    };
    let console = line(&entry, console);
    let fields: Vec<&str> = console.split('\t').collect();
    let [_, "INFO", _, _, fields] = fields[..] else {
        panic!("a request has written a word");
    };
    let fields: Value = serde_json::from_str(fields).expect("JSON");
    assert_eq!(fields["request"], *request);
    entry.credentials = false;
    check_filters(&entry);
}

fn check_headers(shown: &Value, headers: &HeaderMap) {
    let shown = shown.as_object().expect("an object");
    assert_eq!(shown.len(), headers.keys_len());
    for (name, values) in shown {
        let sent = headers.get_all(name.as_str()).iter();
        let sent: Vec<_> = sent
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        assert_eq!(*values, Value::from_iter(sent));
    }
}

/// Filters remove a value under every spelling that an application understands.
fn check_filters(entry: &Entry) {
    let path = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let edits = vec![
        Edit::Delete("the token".into()),
        Edit::Hash("key".into()),
        Edit::Replace("user".into(), "<x>".into()),
    ];
    let filters = vec![
        (path(&["request", "uri"]), Filter::Query(edits.clone())),
        (
            path(&["request", "headers", "Cookie"]),
            Filter::Cookie(edits),
        ),
        (
            path(&["request", "headers", "X-Forwarded-For"]),
            Filter::IpMask(16, 32),
        ),
        (path(&["resp_headers"]), Filter::Delete),
        (path(&["user_id"]), Filter::Hash),
    ];
    let format = LineFormat {
        filters,
        ..LineFormat::default()
    };
    let shown: Value = serde_json::from_str(&line(entry, format)).expect("JSON");
    assert!(shown.get("resp_headers").is_none());
    assert_eq!(shown["user_id"].as_str().map(str::len), Some(8));
    let query = |target: &str| -> Vec<(String, String)> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    };
    let mut expected = query(&entry.uri.to_string());
    expected.retain(|(name, _)| name != "the token");
    let found = query(shown["request"]["uri"].as_str().expect("text"));
    assert_eq!(found.len(), expected.len());
    for (found, sent) in found.iter().zip(&expected) {
        assert_eq!(found.0, sent.0);
        match &*sent.0 {
            "key" => assert_eq!(found.1.len(), 8),
            "user" => assert_eq!(found.1, "<x>"),
            _ => assert_eq!(found.1, sent.1),
        }
    }
    let headers = shown["request"]["headers"].as_object().expect("an object");
    for name in [
        "Cookie",
        "Authorization",
        "Proxy-Authorization",
        "Set-Cookie",
    ] {
        let redacted = Value::from_iter(["REDACTED"]);
        assert!(headers.get(name).is_none_or(|values| *values == redacted));
    }
}
