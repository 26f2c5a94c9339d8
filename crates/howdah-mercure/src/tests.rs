//! The hub as its clients see it.

mod access_token;
mod version_1;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Body as _;
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::{Body, Draft, Hub, Key, Options, Origins, PATH, Problem, Request};

/// Name and value of a header field.
type Field = (&'static str, String);

const SECRET: &str = "a secret that is long enough for HS256";

fn options() -> Options {
    let key = Key::new(SECRET, "").expect("a key");
    Options {
        publisher: Some(key.clone()),
        subscriber: Some(key),
        anonymous: true,
        subscriptions: true,
        ..Options::default()
    }
}

fn token(mercure: &Value, exp: Option<u64>) -> String {
    let mut claims = json!({"mercure": mercure});
    if let Some(exp) = exp {
        claims["exp"] = exp.into();
    }
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    encode(&Header::default(), &claims, &key).expect("a token")
}

fn bearer(token: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {token}"))
}

fn ask(
    hub: &Arc<Hub>,
    (method, target): (Method, &str),
    fields: &[Field],
    body: &str,
) -> Response<Body> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).expect("a value"),
        );
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    hub.answer(&Request {
        method: &method,
        path: &format!("{PATH}{path}"),
        query,
        headers: &headers,
        body: body.as_bytes(),
    })
}

fn publish(hub: &Arc<Hub>, form: &str) -> Response<Body> {
    let token = token(&json!({"publish": ["*"]}), None);
    post(hub, form, &[bearer(&token)])
}

fn post(hub: &Arc<Hub>, form: &str, fields: &[Field]) -> Response<Body> {
    let mut fields = fields.to_vec();
    fields.push(("content-type", "application/x-www-form-urlencoded".into()));
    ask(hub, (Method::POST, ""), &fields, form)
}

fn subscribe(hub: &Arc<Hub>, query: &str, fields: &[Field]) -> Response<Body> {
    let response = ask(hub, (Method::GET, &format!("?{query}")), fields, "");
    assert_eq!(response.status(), StatusCode::OK);
    response
}

/// The available part of a body; the second value is whether it ended.
async fn available(response: &mut Response<Body>) -> (String, bool) {
    let mut text = String::new();
    loop {
        let body = Pin::new(response.body_mut());
        let mut body = Some(body);
        let frame = poll_fn(|cx| {
            let body = body.as_mut().expect("a body").as_mut();
            Poll::Ready(match body.poll_frame(cx) {
                Poll::Pending => None,
                Poll::Ready(frame) => Some(frame),
            })
        });
        match frame.await {
            None => return (text, false),
            Some(None) => return (text, true),
            Some(Some(frame)) => {
                let data = frame.expect("no error").into_data().expect("data");
                text.push_str(std::str::from_utf8(&data).expect("UTF-8"));
            }
        }
    }
}

async fn events(response: &mut Response<Body>) -> String {
    available(response).await.0
}

#[tokio::test]
async fn an_update_reaches_its_subscribers() {
    let hub = Hub::new(options());
    let mut books = subscribe(&hub, "topic=https://a/books/{id}", &[]);
    let mut other = subscribe(&hub, "topic=https://a/authors/1&topic=x", &[]);
    assert_eq!(books.headers()["content-type"], "text/event-stream");
    assert_eq!(events(&mut books).await, ":\n");
    let mut published = publish(
        &hub,
        "topic=https://a/books/1&data=hello%0Aworld&id=one&type=t",
    );
    assert_eq!(published.status(), StatusCode::OK);
    assert_eq!(events(&mut published).await, "one");
    assert_eq!(
        events(&mut books).await,
        "event: t\nid: one\ndata: hello\ndata: world\n\n"
    );
    assert_eq!(events(&mut other).await, ":\n");
    assert_eq!(hub.counts().subscribers, 2);
    drop(books);
    assert_eq!(hub.counts().subscribers, 1);
}

#[tokio::test]
async fn a_private_update_reaches_only_those_who_may_have_it() {
    let hub = Hub::new(options());
    let allowed = token(&json!({"subscribe": ["https://a/{id}"]}), None);
    let mut may = subscribe(&hub, "topic=https://a/1", &[bearer(&allowed)]);
    let mut query = subscribe(
        &hub,
        &format!("topic=https://a/1&authorization={allowed}"),
        &[],
    );
    let cookie = ("cookie", format!("x=y; mercureAuthorization={allowed}"));
    let mut by_cookie = subscribe(&hub, "topic=https://a/1", &[cookie]);
    let mut anonymous = subscribe(&hub, "topic=*", &[]);
    publish(&hub, "topic=https://a/1&data=secret&private=on&id=p");
    for own in [&mut may, &mut query, &mut by_cookie] {
        assert_eq!(events(own).await, ":\nid: p\ndata: secret\n\n");
    }
    assert_eq!(events(&mut anonymous).await, ":\n");
}

#[tokio::test]
async fn unauthorized_publishers_are_refused() {
    let hub = Hub::new(Options {
        publish_origins: Origins(vec!["https://good".into()]),
        ..options()
    });
    let some = token(&json!({"publish": ["https://a/{id}"]}), None);
    let none = token(&json!({"subscribe": ["*"]}), None);
    let over = token(&json!({"publish": ["*"]}), Some(1));
    let cookie = ("cookie", format!("mercureAuthorization={some}"));
    let origin = |origin: &str| ("origin", origin.to_owned());
    let table: [(&[Field], &str, u16); 11] = [
        (&[bearer(&some)], "topic=https://a/1", 200),
        (&[bearer(&some)], "topic=https://b/1", 401),
        (&[bearer(&some)], "topic=https://a/1&topic=https://b/1", 401),
        (&[bearer(&none)], "topic=https://a/1", 401),
        (&[bearer(&over)], "topic=https://a/1", 401),
        (&[bearer("x.y.z")], "topic=https://a/1", 401),
        (&[], "topic=https://a/1", 401),
        (std::slice::from_ref(&cookie), "topic=https://a/1", 401),
        (
            &[cookie.clone(), origin("https://evil")],
            "topic=https://a/1",
            401,
        ),
        (
            &[cookie.clone(), origin("https://good")],
            "topic=https://a/1",
            200,
        ),
        (
            &[cookie.clone(), ("referer", "https://good/page?x".into())],
            "topic=https://a/1",
            200,
        ),
    ];
    for (fields, form, expected) in table {
        assert_eq!(
            post(&hub, form, fields).status(),
            expected,
            "{fields:?} {form}"
        );
    }
    let json = [bearer(&some), ("content-type", "application/json".into())];
    let wrong = ask(&hub, (Method::POST, ""), &json, "topic=https://a/1");
    assert_eq!(wrong.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(publish(&hub, "data=x").status(), StatusCode::BAD_REQUEST);
    let own = format!("topic=https://a{PATH}/subscriptions/x");
    assert_eq!(publish(&hub, &own).status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn without_a_key_only_the_server_itself_publishes() {
    let hub = Hub::new(Options {
        publisher: None,
        subscriber: None,
        ..options()
    });
    let mut reader = subscribe(&hub, "topic=t", &[]);
    assert_eq!(events(&mut reader).await, ":\n");
    let valid = token(&json!({"publish": ["*"]}), None);
    for token in [None, Some(valid.as_str()), Some(""), Some("x.y.z")] {
        let fields = token.map(bearer);
        let answer = post(&hub, "topic=t&data=no", fields.as_slice());
        assert_eq!(answer.status(), 401, "{token:?}");
    }
    let draft = Draft {
        topics: vec!["t".into()],
        data: "yes".into(),
        id: Some("i".into()),
        ..Draft::default()
    };
    hub.publish(draft).expect("valid");
    assert_eq!(events(&mut reader).await, "id: i\ndata: yes\n\n");
}

#[tokio::test]
async fn subscribers_without_a_token_need_a_hub_that_lets_them_in() {
    let closed = Hub::new(Options {
        anonymous: false,
        ..options()
    });
    let target = (Method::GET, "?topic=a");
    assert_eq!(ask(&closed, target.clone(), &[], "").status(), 401);
    let valid = token(&json!({}), None);
    assert_eq!(
        ask(&closed, target.clone(), &[bearer(&valid)], "").status(),
        200
    );
    // A wrong token is refused even where none is needed.
    let open = Hub::new(options());
    assert_eq!(ask(&open, target, &[bearer("x.y.z")], "").status(), 401);
    assert_eq!(ask(&open, (Method::GET, ""), &[], "").status(), 400);
    assert_eq!(ask(&open, (Method::PUT, "?topic=a"), &[], "").status(), 405);
    assert_eq!(ask(&open, (Method::GET, "/ui"), &[], "").status(), 404);
}

#[tokio::test]
async fn missed_updates_are_sent() {
    let hub = Hub::new(Options {
        history: 3,
        subscriptions: false,
        ..options()
    });
    for id in ["a", "b", "c", "d"] {
        publish(&hub, &format!("topic=t&data={id}&id={id}"));
    }
    let since = |id: &str| ("last-event-id", id.to_owned());
    let mut back = subscribe(&hub, "topic=t", &[since("c")]);
    assert_eq!(back.headers()["last-event-id"], "c");
    assert_eq!(events(&mut back).await, ":\nid: d\ndata: d\n\n");
    let mut query = subscribe(&hub, "topic=t&lastEventID=c", &[]);
    assert_eq!(events(&mut query).await, ":\nid: d\ndata: d\n\n");
    let mut all = subscribe(&hub, "topic=t", &[since("earliest")]);
    let text = events(&mut all).await;
    assert!(
        text.starts_with(":\nid: b\n") && text.ends_with("id: d\ndata: d\n\n"),
        "{text}"
    );
    // The limit has dropped `a`: the response shows that it is unknown.
    let mut lost = subscribe(&hub, "topic=t", &[since("a")]);
    assert_eq!(lost.headers()["last-event-id"], "d");
    assert_eq!(events(&mut lost).await, ":\n");
    let new = subscribe(&hub, "topic=t", &[]);
    assert!(!new.headers().contains_key("last-event-id"));
    let old = Hub::new(Options {
        version_7: true,
        ..options()
    });
    publish(&old, "topic=t&data=x&id=x");
    let mut seven = subscribe(&old, "topic=t&Last-Event-ID=earliest", &[]);
    assert_eq!(events(&mut seven).await, ":\nid: x\ndata: x\n\n");
}

#[tokio::test]
async fn history_is_limited_by_its_size() {
    let hub = Hub::new(options());
    let large = "x".repeat(1 << 20);
    for id in 0..20 {
        publish(&hub, &format!("topic=t&data={large}&id={id}"));
    }
    let since = ("last-event-id", "earliest".to_owned());
    let mut all = subscribe(&hub, "topic=t", &[since]);
    let text = events(&mut all).await;
    let kept = text.matches("id: ").count();
    assert_eq!(kept, 15, "of 16 MiB");
    assert!(text.contains("id: 19\n"));
}

#[tokio::test]
async fn a_slow_subscriber_is_dropped_and_delays_no_other() {
    let hub = Hub::new(Options {
        queue: 4,
        ..options()
    });
    let mut slow = subscribe(&hub, "topic=t", &[]);
    let mut quick = subscribe(&hub, "topic=t", &[]);
    events(&mut quick).await;
    for id in 0..10 {
        publish(&hub, &format!("topic=t&data=x&id={id}"));
        assert_eq!(events(&mut quick).await, format!("id: {id}\ndata: x\n\n"));
    }
    let counts = hub.counts();
    assert_eq!((counts.subscribers, counts.dropped), (1, 1));
    let (text, ended) = available(&mut slow).await;
    assert!(ended, "{text}");
    assert_eq!(text.matches("id: ").count(), 4, "what was in the queue");
}

#[tokio::test]
async fn a_subscriber_that_was_dropped_is_announced_as_gone() {
    let hub = Hub::new(Options {
        queue: 2,
        ..options()
    });
    let all = token(&json!({"subscribe": ["*"]}), None);
    let watch = || {
        let topic = format!("topic={PATH}/subscriptions/{{topic}}/{{subscriber}}");
        subscribe(&hub, &topic, &[bearer(&all)])
    };
    let mut watcher = watch();
    // Its queue is full with the two that arrive.
    let slow_watcher = watch();
    events(&mut watcher).await;
    let slow = subscribe(&hub, "topic=t", &[]);
    let _other = subscribe(&hub, "topic=x", &[]);
    let text = events(&mut watcher).await;
    assert_eq!(text.matches("\"active\":true").count(), 2, "{text}");
    for _ in 0..3 {
        publish(&hub, "topic=t&data=x");
    }
    let text = events(&mut watcher).await;
    let gone: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).expect("JSON"))
        .map(|shown| (shown["active"].clone(), shown["topic"].clone()))
        .collect();
    // The announcement of the first was too much for the second.
    let topic = format!("{PATH}/subscriptions/{{topic}}/{{subscriber}}");
    assert_eq!(
        gone,
        [(false.into(), "t".into()), (false.into(), topic.into())]
    );
    let counts = hub.counts();
    assert_eq!((counts.subscribers, counts.dropped), (2, 2));
    drop((slow, slow_watcher));
    assert_eq!(events(&mut watcher).await, "", "reported once");
}

#[tokio::test]
async fn queued_updates_of_a_subscriber_are_limited_by_size() {
    let hub = Hub::new(options());
    let mut slow = subscribe(&hub, "topic=t", &[]);
    let large = Draft {
        topics: vec!["t".into()],
        data: "x".repeat(1 << 20),
        ..Draft::default()
    };
    for _ in 0..16 {
        hub.publish(large.clone()).expect("valid");
    }
    let counts = hub.counts();
    assert_eq!((counts.subscribers, counts.dropped), (0, 1));
    let (text, ended) = available(&mut slow).await;
    assert!(ended);
    assert_eq!(text.matches("id: ").count(), 15, "of 16 MiB");
}

#[tokio::test]
async fn the_server_publishes_without_a_token() {
    let hub = Hub::new(options());
    let mut own = subscribe(&hub, "topic=t", &[]);
    events(&mut own).await;
    let draft = Draft {
        topics: vec!["t".into()],
        data: "x".into(),
        id: Some("i".into()),
        ..Draft::default()
    };
    let before = hub.counts().updates;
    // Many at a time, as a script in a loop does.
    for _ in 0..1_000 {
        hub.publish(draft.clone()).expect("valid");
    }
    let text = events(&mut own).await;
    assert_eq!(text, "id: i\ndata: x\n\n".repeat(1_000));
    let wrong = Draft {
        kind: Some("a\nid: j".into()),
        ..draft
    };
    assert_eq!(hub.publish(wrong), Err(Problem::Kind));
    assert_eq!(hub.counts().updates, before + 1_000);
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_and_the_end_of_a_connection() {
    let hub = Hub::new(options());
    let mut own = subscribe(&hub, "topic=t", &[]);
    assert_eq!(events(&mut own).await, ":\n");
    tokio::time::advance(Duration::from_secs(39)).await;
    assert_eq!(events(&mut own).await, "");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(events(&mut own).await, ":\n");
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(available(&mut own).await.1, "it has to come back");
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_token() {
    let hub = Hub::new(options());
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let soon = token(&json!({}), Some(now.as_secs() + 100));
    let mut own = subscribe(&hub, "topic=t", &[bearer(&soon)]);
    assert!(!available(&mut own).await.1);
    tokio::time::advance(Duration::from_secs(101)).await;
    assert!(available(&mut own).await.1);
}

#[tokio::test(start_paused = true)]
async fn a_token_may_end_after_all_time() {
    let hub = Hub::new(options());
    let never = token(&json!({}), Some(253_402_300_799));
    let mut own = subscribe(&hub, "topic=t", &[bearer(&never)]);
    tokio::time::advance(Duration::from_secs(101)).await;
    assert!(!available(&mut own).await.1);
}

#[tokio::test]
async fn a_hub_that_closes_ends_its_subscriptions() {
    let hub = Hub::new(options());
    let mut own = subscribe(&hub, "topic=t", &[]);
    hub.close();
    assert!(available(&mut own).await.1);
    assert_eq!(ask(&hub, (Method::GET, "?topic=t"), &[], "").status(), 503);
}

#[tokio::test]
async fn there_is_a_most_of_subscribers() {
    let hub = Hub::new(Options {
        subscribers: 1,
        ..options()
    });
    let _own = subscribe(&hub, "topic=t", &[]);
    assert_eq!(ask(&hub, (Method::GET, "?topic=t"), &[], "").status(), 503);
}

#[tokio::test]
async fn topics_of_one_subscription_are_limited() {
    let hub = Hub::new(options());
    let most = "{a}".repeat(200);
    for (query, status) in [
        (format!("topic={most}"), StatusCode::OK),
        (format!("topic={most}&topic=b"), StatusCode::OK),
        (format!("topic={most}&topic={{b}}"), StatusCode::BAD_REQUEST),
        ("topic=a&".repeat(1_000), StatusCode::OK),
        ("topic=a&".repeat(1_001), StatusCode::BAD_REQUEST),
    ] {
        let response = ask(&hub, (Method::GET, &format!("?{query}")), &[], "");
        assert_eq!(response.status(), status, "{query}");
    }
}

#[tokio::test]
async fn subscriptions_are_shown_and_announced() {
    let hub = Hub::new(options());
    let all = token(
        &json!({"subscribe": ["*"], "payload": {"name": "watcher"}}),
        None,
    );
    let mut watcher = subscribe(
        &hub,
        &format!("topic={PATH}/subscriptions/{{topic}}/{{subscriber}}"),
        &[bearer(&all)],
    );
    assert_eq!(events(&mut watcher).await, ":\n");
    let own = token(&json!({"payload": {"name": "Anna"}}), None);
    let subscribed = subscribe(&hub, "topic=https://a/1", &[bearer(&own)]);
    let text = events(&mut watcher).await;
    let data = text
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .expect("data");
    let announced: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(announced["topic"], "https://a/1");
    assert_eq!(announced["active"], true);
    assert_eq!(announced["payload"]["name"], "Anna");

    let see = |target: &str, token: &str| ask(&hub, (Method::GET, target), &[bearer(token)], "");
    let mut listed = see("/subscriptions", &all);
    assert_eq!(listed.headers()["content-type"], "application/ld+json");
    let listed: Value = serde_json::from_str(&events(&mut listed).await).expect("JSON");
    assert_eq!(listed["subscriptions"].as_array().map(Vec::len), Some(2));
    let mut of_topic = see("/subscriptions/https%3A%2F%2Fa%2F1", &all);
    let of_topic: Value = serde_json::from_str(&events(&mut of_topic).await).expect("JSON");
    let uri = of_topic["subscriptions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let target = uri.strip_prefix(PATH).expect("below the hub");
    let mut one = see(target, &all);
    let one: Value = serde_json::from_str(&events(&mut one).await).expect("JSON");
    assert_eq!(one["type"], "Subscription");
    assert_eq!(
        see("/subscriptions", &own).status(),
        401,
        "its token names no such topic"
    );
    assert_eq!(see("/subscriptions/x/y", &all).status(), 404);

    drop(subscribed);
    let text = events(&mut watcher).await;
    assert!(text.contains("\"active\":false"), "{text}");
    assert_eq!(see(target, &all).status(), 404);
    let without = Hub::new(Options {
        subscriptions: false,
        ..options()
    });
    let gone = ask(
        &without,
        (Method::GET, "/subscriptions"),
        &[bearer(&all)],
        "",
    );
    assert_eq!(gone.status(), 404);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read() {
    let hub = Hub::new(Options {
        cors_origins: Origins(vec!["https://good".into()]),
        ..options()
    });
    let from = |origin: &str| [("origin", origin.to_owned())];
    let good = subscribe(&hub, "topic=t", &from("https://good"));
    assert_eq!(
        good.headers()["access-control-allow-origin"],
        "https://good"
    );
    assert_eq!(good.headers()["access-control-allow-credentials"], "true");
    assert_eq!(good.headers()["vary"], "Origin");
    let evil = subscribe(&hub, "topic=t", &from("https://evil"));
    assert!(!evil.headers().contains_key("access-control-allow-origin"));
    let preflight = ask(&hub, (Method::OPTIONS, ""), &from("https://good"), "");
    assert_eq!(preflight.status(), StatusCode::NO_CONTENT);
    assert!(
        preflight
            .headers()
            .contains_key("access-control-allow-headers")
    );
}

#[tokio::test]
async fn pages_of_every_origin_may_read_without_the_cookie() {
    let hub = Hub::new(Options {
        cors_origins: Origins(vec!["*".into()]),
        ..options()
    });
    let from = |origin: &str| [("origin", origin.to_owned())];
    let any = subscribe(&hub, "topic=t", &from("https://evil"));
    assert_eq!(any.headers()["access-control-allow-origin"], "*");
    assert_eq!(
        any.headers()["access-control-expose-headers"],
        "Last-Event-ID, Link, Mercure-Last-Event-ID"
    );
    assert!(
        !any.headers()
            .contains_key("access-control-allow-credentials")
    );
    assert!(!any.headers().contains_key("vary"));

    let hub = Hub::new(Options {
        cors_origins: Origins(vec!["*".into(), "https://good".into()]),
        ..options()
    });
    let allowed = |origin| {
        let answer = subscribe(&hub, "topic=t", &from(origin));
        assert_eq!(answer.headers()["vary"], "Origin");
        let credentials = answer
            .headers()
            .contains_key("access-control-allow-credentials");
        let origin = answer.headers()["access-control-allow-origin"].clone();
        (origin, credentials)
    };
    assert_eq!(
        allowed("https://good"),
        (HeaderValue::from_static("https://good"), true)
    );
    assert_eq!(
        allowed("https://evil"),
        (HeaderValue::from_static("*"), false)
    );
}

#[tokio::test]
async fn a_refusal_has_status_and_reason() {
    let hub = Hub::new(options());
    let refused = post(&hub, "topic=t", &[]);
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
}

#[test]
fn keys() {
    assert_eq!(Key::new("short", "").expect("a key").is_short(), Some(5));
    let long = Key::new(&"k".repeat(32), "HS256").expect("a key");
    assert_eq!(long.is_short(), None);
    assert!(Key::new("", "").is_err());
    let wrong = Key::new("x", "HS257").expect_err("no such algorithm");
    assert!(wrong.to_string().contains("`HS257`"), "{wrong}");
    let text = Key::new("x", "RS256").expect_err("no PEM").to_string();
    assert!(text.contains("RS256 in PEM"), "{text}");
    let shown = format!("{:?}", Key::new("secret", "HS512").expect("a key"));
    assert!(!shown.contains("secret"), "{shown}");
}
