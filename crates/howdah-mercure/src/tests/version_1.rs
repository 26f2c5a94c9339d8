//! Subscribers of Mercure 1.0, beside those of version 8.

use super::{Field, ask, bearer, events, options, publish, subscribe, token};
use crate::{Hub, Options};
use http::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn matchers_are_exact() {
    let hub = Hub::new(options());
    let mut book = subscribe(&hub, "match=https://a/books/1&match_exact=x", &[]);
    let mut literal = subscribe(&hub, "match=https://a/books/{id}", &[]);
    let mut all = subscribe(&hub, "match=*", &[]);
    assert_eq!(book.headers()["content-type"], "text/event-stream");
    for own in [&mut book, &mut literal, &mut all] {
        assert_eq!(events(own).await, ":\n");
    }
    for (topic, id) in [("https://a/books/1", "1"), ("x", "2"), ("X", "3")] {
        publish(&hub, &format!("topic={topic}&data=d&id={id}"));
    }
    publish(&hub, "topic=y&topic=x&data=d&id=4");
    let event = |id: &str| format!("id: {id}\ndata: d\n\n");
    assert_eq!(
        events(&mut book).await,
        event("1") + &event("2") + &event("4")
    );
    assert_eq!(events(&mut literal).await, "");
    let every = ["1", "2", "3", "4"].map(event).concat();
    assert_eq!(events(&mut all).await, every);
}

#[tokio::test]
async fn matchers_may_be_url_patterns() {
    let hub = Hub::new(options());
    let mut books = subscribe(
        &hub,
        "match_urlpattern=https://a/books/:id&match=x&match_urlpattern=/chat/*",
        &[],
    );
    let mut all = subscribe(&hub, "match_urlpattern=*", &[]);
    for own in [&mut books, &mut all] {
        assert_eq!(events(own).await, ":\n");
    }
    for (topics, id) in [
        ("topic=https://a/books/1", "1"),
        ("topic=https://a/books/1/2", "2"),
        ("topic=x", "3"),
        ("topic=/chat/room", "4"),
        ("topic=y&topic=https://a/books/2", "5"),
        ("topic=https://a/books/:id", "6"),
        ("topic=https://[", "7"),
    ] {
        publish(&hub, &format!("{topics}&data=d&id={id}"));
    }
    let event = |id: &str| format!("id: {id}\ndata: d\n\n");
    assert_eq!(
        events(&mut books).await,
        ["1", "3", "4", "5", "6"].map(event).concat()
    );
    let every = ["1", "2", "3", "4", "5", "6", "7"].map(event).concat();
    assert_eq!(events(&mut all).await, every);
}

#[tokio::test]
async fn a_pattern_receives_no_private_update_without_permission() {
    let hub = Hub::new(options());
    let some = token(&json!({"subscribe": ["https://a/books/1"]}), None);
    let wide = "match_urlpattern=*://*/*&match_urlpattern=https://a/books/:id";
    let mut may = subscribe(&hub, wide, &[bearer(&some)]);
    let mut anonymous = subscribe(&hub, wide, &[]);
    publish(&hub, "topic=https://a/books/1&data=secret&private=on&id=p");
    publish(&hub, "topic=https://a/books/2&data=other&private=on&id=q");
    let mut since = subscribe(&hub, &format!("{wide}&last_event_id=earliest"), &[]);
    assert_eq!(events(&mut may).await, ":\nid: p\ndata: secret\n\n");
    assert_eq!(events(&mut anonymous).await, ":\n");
    assert_eq!(events(&mut since).await, ":\n");
    // A pattern in a token of version 8 is a text.
    let text = token(&json!({"subscribe": ["https://a/books/:id"]}), None);
    let mut none = subscribe(&hub, wide, &[bearer(&text)]);
    publish(&hub, "topic=https://a/books/3&data=other&private=on");
    assert_eq!(events(&mut none).await, ":\n");
}

#[tokio::test]
async fn publishers_reach_no_topic_of_the_hub_itself() {
    let hub = Hub::new(options());
    for topic in [
        ".well-known/mercure/subscriptions/exact/t/s",
        "\\.well-known\\mercure\\subscriptions",
        "https:\\\\a\\.well-known/mercur%2565",
    ] {
        let encoded: String = form_urlencoded::byte_serialize(topic.as_bytes()).collect();
        let published = publish(&hub, &format!("topic={encoded}&data=forged"));
        let expected = if topic.contains("%25") { 200 } else { 403 };
        assert_eq!(published.status(), expected, "{topic}");
    }
}

#[tokio::test]
async fn private_updates_need_a_token_for_their_topic() {
    let hub = Hub::new(options());
    let some = token(&json!({"subscribe": ["https://a/{id}"]}), None);
    let other = token(&json!({"subscribe": ["https://b/{id}"]}), None);
    let mut may = subscribe(
        &hub,
        "match=https://a/1&match=https://b/1",
        &[bearer(&some)],
    );
    let mut may_not = subscribe(&hub, "match=https://a/1&match=*", &[bearer(&other)]);
    let mut anonymous = subscribe(&hub, "match=https://a/1&match=*", &[]);
    publish(&hub, "topic=https://a/1&data=secret&private=on&id=p");
    publish(&hub, "topic=https://b/1&data=other&private=on&id=q");
    assert_eq!(events(&mut may).await, ":\nid: p\ndata: secret\n\n");
    assert_eq!(events(&mut may_not).await, ":\nid: q\ndata: other\n\n");
    assert_eq!(events(&mut anonymous).await, ":\n");
}

#[tokio::test]
async fn parameters_that_are_not_understood_are_refused() {
    let hub = Hub::new(options());
    for (query, expected) in [
        ("", "Missing"),
        ("other=x", "Missing"),
        ("match=a&topic=b", "not both"),
        ("topic=a&match=b", "not both"),
        ("matchURLPattern=https://a/:id", "prefix"),
        ("match_regexp=a", "prefix"),
        ("Match=a", "prefix"),
        ("MATCH_exact=a", "prefix"),
        ("matches=a", "prefix"),
        ("topic=a&matching=b", "prefix"),
        ("match=a&match%5B%5D=b", "prefix"),
        ("match=a%0Ab", "control"),
        ("match=a%C2%85", "control"),
        ("match=%FF", "UTF-8"),
        (
            "match=a&match_urlpattern=https://a/(",
            "URL pattern is invalid",
        ),
        ("match_urlpattern=https://a/%0A", "control"),
        ("match_urlpattern=https://a/:x(a{999}{999})", "too complex"),
        ("topic=a&match_urlpattern=b", "not both"),
    ] {
        let mut response = ask(&hub, (Method::GET, &format!("?{query}")), &[], "");
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(
            response.headers()["content-type"],
            "text/plain; charset=utf-8"
        );
        let text = events(&mut response).await;
        assert!(text.contains(expected), "{query}: {text}");
    }
    assert_eq!(hub.counts().accepted, 0);
}

#[tokio::test]
async fn matchers_of_one_subscription_are_limited() {
    let hub = Hub::new(options());
    for (query, status) in [
        ("match=a&".repeat(1_000), StatusCode::OK),
        ("match=a&match_exact=b&".repeat(500), StatusCode::OK),
        ("match=a&".repeat(1_001), StatusCode::BAD_REQUEST),
        (
            "match_urlpattern=/a/:b&".repeat(100) + &"match=a&".repeat(900),
            StatusCode::OK,
        ),
        (
            "match_urlpattern=/a/:b&".repeat(101),
            StatusCode::BAD_REQUEST,
        ),
        ("match_urlpattern=*&".repeat(1_000), StatusCode::OK),
        (format!("match={}", "a".repeat(4_096)), StatusCode::OK),
        (
            format!("match={}", "a".repeat(4_097)),
            StatusCode::BAD_REQUEST,
        ),
    ] {
        let response = ask(&hub, (Method::GET, &format!("?{query}")), &[], "");
        assert_eq!(response.status(), status, "{} bytes", query.len());
    }
}

#[tokio::test]
async fn missed_updates_are_sent() {
    let hub = Hub::new(Options {
        history: 2,
        subscriptions: false,
        ..options()
    });
    for id in ["a", "b", "c"] {
        publish(&hub, &format!("topic=t&data={id}&id={id}"));
    }
    let header = |id: &str| [("last-event-id", id.to_owned())];
    let after_b = ":\nid: c\ndata: c\n\n";
    let table: [(&str, &[Field], &str, &str); 8] = [
        ("", &header("b"), "b", after_b),
        ("&last_event_id=b", &[], "b", after_b),
        ("&last_event_id=c", &header("b"), "b", after_b),
        ("&last_event_id=b", &header(""), "b", after_b),
        (
            "&last_event_id=earliest",
            &[],
            "earliest",
            ":\nid: b\ndata: b\n\nid: c\ndata: c\n\n",
        ),
        // The limit has dropped it: the response shows that something is missing.
        ("&last_event_id=a", &[], "c", ":\n"),
        // No update is meant, but the subscriber wants to be shown the last one.
        ("", &header(""), "c", ":\n"),
        ("&last_event_id", &[], "c", ":\n"),
    ];
    for (query, fields, shown, text) in table {
        let mut back = subscribe(&hub, &format!("match=t{query}"), fields);
        assert_eq!(back.headers()["mercure-last-event-id"], shown, "{query}");
        assert!(!back.headers().contains_key("last-event-id"), "{query}");
        assert_eq!(events(&mut back).await, text, "{query}");
    }
    // Parameters of version 8 mean nothing here, and those of 1.0 nothing there.
    for (query, expected) in [
        ("match=t", None),
        ("match=t&lastEventID=b", None),
        ("topic=t&last_event_id=b", None),
        ("topic=t&lastEventID=b", Some("b")),
    ] {
        let response = subscribe(&hub, query, &[]);
        let headers = response.headers();
        assert!(!headers.contains_key("mercure-last-event-id"), "{query}");
        let shown = headers.get("last-event-id");
        assert_eq!(
            shown.map(http::HeaderValue::as_bytes),
            expected.map(str::as_bytes),
            "{query}"
        );
    }
}

#[tokio::test]
async fn the_body_of_a_query_request_has_more_parameters() {
    let hub = Hub::new(Options {
        subscriptions: false,
        ..options()
    });
    publish(&hub, "topic=a&data=d&id=1");
    publish(&hub, "topic=b&data=d&id=2");
    let query = |target: &str, body: &str| ask(&hub, (Method::QUERY, target), &[], body);
    let mut both = query("?match=a", "match=b&last_event_id=earliest");
    assert_eq!(both.status(), StatusCode::OK);
    assert_eq!(
        events(&mut both).await,
        ":\nid: 1\ndata: d\n\nid: 2\ndata: d\n\n"
    );
    let mut first = query("?last_event_id=2", "match=b&last_event_id=1");
    assert_eq!(events(&mut first).await, ":\n");
    assert_eq!(query("?match=a", "topic=b").status(), 400);
    assert_eq!(query("", "").status(), 400);
    // A GET request has none.
    let get = ask(&hub, (Method::GET, ""), &[], "match=b");
    assert_eq!(get.status(), StatusCode::BAD_REQUEST);
}
