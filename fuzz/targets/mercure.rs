//! `howdah_mercure`: tokens, forms, templates and queries, and the resulting events.
//!
//! ```text
//! {"mercure":{…}}     the claims of a token, signed with the hub's key
//! topic=… or match=…  the query of a subscriber
//! topic=…&data=…      the form of an update
//! /subscriptions/…    below the hub's path
//! a{?b}               a template, and
//! c                   values for its variables, any number, each in its line
//! ```
#![no_main]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use form_urlencoded::Serializer;
use howdah_mercure::{Body, Draft, Hub, Key, Options, PATH, Request};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body::Body as _;
use jsonwebtoken::{EncodingKey, Header, encode};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

#[path = "mercure/sse.rs"]
mod sse;
#[path = "mercure/template.rs"]
mod template;

use sse::Event;

const SECRET: &str = "secret";

thread_local! {
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = str::from_utf8(data) else {
        return;
    };
    RUNTIME.with(|runtime| {
        let _guard = runtime.enter();
        run(input);
    });
});

fn run(input: &str) {
    let mut lines = input.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let [claims, query, form, below, pattern] = [line(), line(), line(), line(), line()];
    // Text that is not JSON is used as the token itself.
    let claims: Option<Value> = serde_json::from_str(claims).ok();
    let token = match &claims {
        Some(claims) => signed(claims),
        None => input.lines().next().unwrap_or_default().to_owned(),
    };
    check_updates(claims.as_ref(), &token, query, form);
    check_subscriptions(&token, query, below);
    let values: Vec<&str> = lines.collect();
    if let Some(topic) = template::expand(pattern, &values) {
        assert!(reaches(pattern, &topic), "{pattern} does not match {topic}");
    }
    if !pattern.contains('{') && pattern != "*" && !pattern.is_empty() {
        let topic = format!("{pattern}x");
        assert!(!reaches(pattern, &topic), "{pattern} matches {topic}");
    }
}

fn hub() -> Arc<Hub> {
    let key = Key::new(SECRET, "").expect("a key");
    Hub::new(Options {
        publisher: Some(key.clone()),
        subscriber: Some(key),
        anonymous: true,
        subscriptions: true,
        ..Options::default()
    })
}

fn signed(claims: &Value) -> String {
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    encode(&Header::default(), claims, &key).expect("a token")
}

fn ask(
    hub: &Arc<Hub>,
    method: &Method,
    (path, query): (&str, &str),
    token: Option<&str>,
    body: &str,
) -> Response<Body> {
    let mut headers = HeaderMap::new();
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form);
    if let Some(token) = token
        && let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}"))
    {
        headers.insert(AUTHORIZATION, value);
    }
    hub.answer(&Request {
        method,
        path,
        query,
        headers: &headers,
        body: body.as_bytes(),
    })
}

fn topic_query(topic: &str) -> String {
    Serializer::new(String::new())
        .append_pair("topic", topic)
        .finish()
}

/// Reads all bytes that have arrived so far.
fn read(response: &mut Response<Body>) -> Vec<u8> {
    let mut read = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(response.body_mut()).poll_frame(&mut context)
    {
        read.extend(frame.into_data().unwrap_or_else(|_| Bytes::new()));
    }
    read
}

/// The events of an event stream. `None` if the response is not one.
fn events(response: &mut Response<Body>) -> Option<Vec<Event>> {
    let is_stream = matches!(response.body(), Body::Events(_));
    let read = read(response);
    is_stream.then(|| sse::parse(str::from_utf8(&read).expect("UTF-8")))
}

fn check_updates(claims: Option<&Value>, token: &str, query: &str, form: &str) {
    let hub = hub();
    let all = signed(&json!({"mercure": {"subscribe": ["*"]}}));
    let mut witness = ask(&hub, &Method::GET, (PATH, "topic=*"), Some(&all), "");
    let mut subscriber = ask(&hub, &Method::GET, (PATH, query), Some(token), "");
    let before = events(&mut witness).expect("events");
    let is_own =
        |event: &Event| event.kind == "mercure" || event.data.contains("\"type\":\"Subscription\"");
    assert!(before.iter().all(is_own), "no client has published");
    events(&mut subscriber);

    let answer = ask(&hub, &Method::POST, (PATH, ""), None, form);
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    let mut answer = ask(&hub, &Method::POST, (PATH, ""), Some(token), form);
    let seen = events(&mut witness).expect("events");
    let got = events(&mut subscriber).unwrap_or_default();
    if answer.status() != StatusCode::OK {
        assert_eq!(
            (seen, got),
            (Vec::new(), Vec::new()),
            "a refused update was sent"
        );
        return;
    }
    let id = String::from_utf8(read(&mut answer)).expect("UTF-8");
    let pairs: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let last = |name: &str| {
        let mut named = pairs.iter().rev().filter(|(known, _)| known == name);
        named.next().map_or("", |(_, value)| value)
    };
    let filled = |name: &str| {
        let mut named = pairs.iter().rev().filter(|(known, _)| known == name);
        named
            .find(|(_, value)| !value.is_empty())
            .map(|(_, value)| value.as_str())
    };
    let event = Event {
        kind: filled("type").unwrap_or("").to_owned(),
        id: id.clone(),
        retry: filled("retry").map(|retry| retry.parse().expect("a number")),
        data: last("data").replace("\r\n", "\n").replace('\r', "\n"),
    };
    assert!(filled("id").is_none_or(|sent| sent == id));
    assert_eq!(seen, [event.clone()], "another event than the form's");
    assert!(got.is_empty() || got == [event.clone()]);

    // Publishing and private updates each require a claim for the topic.
    let mercure = claims.and_then(|claims| {
        let own = claims
            .get("https://mercure.rocks/")
            .filter(|own| !own.is_null());
        own.or(claims.get("mercure"))
    });
    let rights = |name: &str| -> Vec<&str> {
        let list = mercure
            .and_then(|own| own.get(name))
            .and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    };
    let topics = || {
        pairs
            .iter()
            .filter(|(name, _)| name == "topic")
            .map(|(_, topic)| topic.as_str())
    };
    let may = |rights: &[&str], topic: &str| {
        let fits = |right: &&str| *right == "*" || right.contains('{') || *right == topic;
        rights.iter().any(fits)
    };
    let (publish, subscribe) = (rights("publish"), rights("subscribe"));
    assert!(topics().next().is_some() && topics().all(|topic| may(&publish, topic)));
    // Topics that the hub reserves, as long as no relative URL has to be resolved.
    let reserved = |topic: &str| {
        let path = topic.strip_prefix("https://a").unwrap_or(topic);
        path.strip_prefix(PATH).is_some_and(|rest| {
            (rest.is_empty() || rest.starts_with(['/', '?', '#'])) && !rest.contains(['.', '%'])
        })
    };
    assert!(!topics().any(reserved));
    if !got.is_empty() && pairs.iter().any(|(name, _)| name == "private") {
        assert!(topics().any(|topic| may(&subscribe, topic)));
    }

    // A subscriber that starts with the earliest event gets this one, and one that has it already
    // gets none.
    let came = |since: &str, query: &str| {
        let mut query = Serializer::new(format!("{query}&"));
        let query = query.append_pair("lastEventID", since).finish();
        let mut again = ask(&hub, &Method::GET, (PATH, &query), Some(&all), "");
        let events = events(&mut again).expect("events");
        events
            .into_iter()
            .filter(|event| !is_own(event))
            .collect::<Vec<_>>()
    };
    if !is_own(&event) && id != "earliest" {
        assert_eq!(came("earliest", "topic=*"), [event]);
        assert_eq!(came(&id, "topic=*"), []);
    }
}

/// Each subscription that the API lists can be fetched at its id and matches the query.
fn check_subscriptions(token: &str, query: &str, below: &str) {
    let hub = hub();
    let subscriber = ask(&hub, &Method::GET, (PATH, query), Some(token), "");
    let is_there = matches!(subscriber.body(), Body::Events(_));
    let topics: Vec<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| {
            let names = ["topic", "match", "match_exact", "match_urlpattern"];
            is_there && names.contains(&&**name)
        })
        .map(|(_, topic)| topic.into_owned())
        .collect();
    // Any path has a response.
    read(&mut ask(
        &hub,
        &Method::GET,
        (&format!("{PATH}{below}"), query),
        Some(token),
        "",
    ));

    let all = signed(&json!({"mercure": {"subscribe": ["*"]}}));
    let shown = |path: &str| {
        let mut answer = ask(&hub, &Method::GET, (path, ""), Some(&all), "");
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        serde_json::from_slice::<Value>(&read(&mut answer)).expect("JSON")
    };
    let list = shown(&format!("{PATH}/subscriptions"));
    let listed = list["subscriptions"].as_array().expect("a list");
    let mut found: Vec<&str> = listed
        .iter()
        .filter_map(|one| one["topic"].as_str().or(one["match"].as_str()))
        .collect();
    let mut expected: Vec<&str> = topics.iter().map(String::as_str).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for one in listed {
        // An empty path segment does not name a topic.
        if one["topic"] != "" {
            let alone = shown(one["id"].as_str().expect("a path"));
            for name in ["topic", "match", "match_type"] {
                assert_eq!(alone[name], one[name]);
            }
            assert_eq!(alone["subscriber"], one["subscriber"]);
        }
    }
}

/// Whether a subscriber with this selector gets updates of this topic.
fn reaches(selector: &str, topic: &str) -> bool {
    let hub = hub();
    let query = topic_query(selector);
    let mut subscriber = ask(&hub, &Method::GET, (PATH, &query), None, "");
    let draft = Draft {
        topics: vec![topic.to_owned()],
        ..Draft::default()
    };
    // A rejected update reaches no subscriber, whatever the selector.
    if hub.publish(draft).is_err() {
        return selector.contains('{');
    }
    !events(&mut subscriber).expect("events").is_empty()
}
