//! Access tokens of Mercure 1.0, and what they permit.

use http::{Method, Response, StatusCode};
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::{
    Field, SECRET, ask, available, bearer, events, options, post, publish, subscribe, token,
};
use crate::{Body, Hub, Options, Origins, PATH};

const DETAIL: &str = "https://mercure.rocks/authorization-detail";

fn signed(typ: Option<&str>, claims: &Value) -> String {
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let header = Header {
        typ: typ.map(str::to_owned),
        ..Header::default()
    };
    encode(&header, claims, &key).expect("a token")
}

fn claims(details: &Value) -> Value {
    json!({
        "iss": "https://example.com",
        "aud": format!("https://hub{PATH}"),
        "exp": 4_102_444_800_u64,
        "authorization_details": details,
    })
}

fn access_token(details: &Value) -> String {
    signed(Some("at+jwt"), &claims(details))
}

fn detail(actions: &[&str], topics: &Value) -> Value {
    json!({"type": DETAIL, "actions": actions, "topics": topics})
}

fn with(token: &str) -> [Field; 2] {
    [bearer(token), ("host", "hub".into())]
}

#[tokio::test]
async fn publishers_may_do_what_a_detail_names() {
    let hub = Hub::new(options());
    let exact =
        json!([{"match": "https://a/1"}, {"match": "https://a/{id}", "match_type": "exact"}]);
    let pattern = json!([{"match": "https://a/:id", "match_type": "urlpattern"}]);
    let all = json!([{"match": "*"}]);
    let publish = |topics: &Value| access_token(&json!([detail(&["publish"], topics)]));
    let several = access_token(&json!([
        {"type": "https://other", "actions": 1},
        detail(&["publish", "fly"], &exact),
        detail(&["subscribe"], &all),
        detail(&["publish"], &json!([{"match": "https://b/1"}])),
    ]));
    for (token, form, expected) in [
        (publish(&exact), "topic=https://a/1", 200),
        (publish(&exact), "topic=https://a/2", 403),
        (publish(&exact), "topic=https://a/1&topic=https://a/2", 403),
        (publish(&exact), "topic=*", 403),
        (
            publish(&pattern),
            "topic=https://a/2&topic=https://a/1",
            200,
        ),
        (publish(&pattern), "topic=https://a/2/3", 403),
        (
            publish(&pattern),
            "topic=https://a/2&topic=https://b/2",
            403,
        ),
        (publish(&all), "topic=x&topic=https://b/2", 200),
        (several.clone(), "topic=https://a/1&topic=https://b/1", 200),
        (several, "topic=https://c/1", 403),
        (
            access_token(&json!([detail(&["subscribe"], &all)])),
            "topic=x",
            403,
        ),
        (
            access_token(&json!([detail(&["fly"], &all)])),
            "topic=x",
            403,
        ),
    ] {
        let response = post(&hub, form, &with(&token));
        assert_eq!(response.status(), expected, "{form}");
        if expected == 403 {
            let challenge = &response.headers()["www-authenticate"];
            assert_eq!(challenge, "Bearer error=\"insufficient_scope\"");
        }
    }
}

#[tokio::test]
async fn private_updates_reach_those_with_a_detail_for_them() {
    let hub = Hub::new(options());
    let exact = json!([{"match": "https://a/1"}]);
    let pattern = json!([{"match": "https://a/:id", "match_type": "urlpattern"}]);
    let all = json!([{"match": "*"}]);
    let publish_only = access_token(&json!([detail(&["publish"], &all)]));
    let grant = |topics: &Value| access_token(&json!([detail(&["subscribe"], topics)]));
    // Each wants everything, by each kind of selector and version.
    for query in ["match=*", "match_urlpattern=*://*/*", "topic=*"] {
        for (token, expected) in [
            (grant(&exact), "1"),
            (grant(&pattern), "12"),
            (grant(&all), "123"),
            (publish_only.clone(), ""),
            (grant(&json!([{"match": "https://a/:id"}])), ""),
        ] {
            let mut own = subscribe(&hub, query, &with(&token));
            events(&mut own).await;
            for (topic, data) in [
                ("https://a/1", "1"),
                ("https://a/2", "2"),
                ("https://b/1", "3"),
            ] {
                publish(&hub, &format!("topic={topic}&data={data}&private=on&id=i"));
            }
            let event = |data: char| format!("id: i\ndata: {data}\n\n");
            let received = expected.chars().map(event).collect::<Vec<_>>().concat();
            assert_eq!(events(&mut own).await, received, "{query} {expected}");
        }
    }
}

/// Whether the hub accepts a token, for publishers and for subscribers.
fn accepted(hub: &std::sync::Arc<Hub>, token: &str) -> bool {
    let published = post(hub, "topic=t", &with(token)).status();
    let subscribed = ask(hub, (Method::GET, "?match=t"), &with(token), "").status();
    let good = published == StatusCode::OK;
    assert_eq!(
        good,
        subscribed == StatusCode::OK,
        "{published} {subscribed}"
    );
    assert!(good || published == StatusCode::UNAUTHORIZED, "{published}");
    good
}

#[tokio::test]
async fn one_invalid_detail_makes_the_token_invalid() {
    let hub = Hub::new(options());
    let good = detail(&["publish", "subscribe"], &json!([{"match": "*"}]));
    assert!(accepted(&hub, &access_token(&json!([good]))));
    let topics = |topics: Value| json!({"type": DETAIL, "actions": ["publish"], "topics": topics});
    let many: Vec<_> = (0..1_001).map(|_| json!({"match": "a"})).collect();
    let patterns: Vec<_> = (0..101)
        .map(|_| json!({"match": "/a/:b", "match_type": "urlpattern"}))
        .collect();
    for wrong in [
        json!(null),
        json!("https://a"),
        json!([good]),
        json!({}),
        json!({"type": 1}),
        json!({"type": DETAIL}),
        json!({"type": DETAIL, "actions": ["publish"]}),
        json!({"type": DETAIL, "actions": [], "topics": [{"match": "*"}]}),
        json!({"type": DETAIL, "actions": "publish", "topics": [{"match": "*"}]}),
        json!({"type": DETAIL, "actions": ["publish", 1], "topics": [{"match": "*"}]}),
        topics(json!([])),
        topics(json!({"match": "*"})),
        topics(json!(["*"])),
        topics(json!([["*"]])),
        topics(json!([null])),
        topics(json!([{}])),
        topics(json!([{"match": ""}])),
        topics(json!([{"match": null}])),
        topics(json!([{"match": "a\n"}])),
        topics(json!([{"match": "a".repeat(4_097)}])),
        topics(json!([{"match": "*", "match_type": "Exact"}])),
        topics(json!([{"match": "*", "match_type": "regexp"}])),
        topics(json!([{"match": "*", "match_type": null}])),
        topics(json!([{"match": "https://a/(", "match_type": "urlpattern"}])),
        topics(json!(many)),
        topics(json!(patterns)),
    ] {
        assert!(
            !accepted(&hub, &access_token(&json!([good, wrong]))),
            "{wrong}"
        );
        assert!(
            !accepted(&hub, &access_token(&json!([wrong, good]))),
            "{wrong}"
        );
    }
    for wrong in [json!(good), json!("x"), json!(1), json!(false)] {
        assert!(!accepted(&hub, &access_token(&wrong)), "{wrong}");
    }
}

#[tokio::test]
async fn access_tokens_are_for_this_hub_and_expire() {
    let hub = Hub::new(options());
    let good = claims(&json!([detail(
        &["publish", "subscribe"],
        &json!([{"match": "*"}])
    )]));
    for (typ, expected) in [
        (Some("at+jwt"), true),
        (Some("application/AT+JWT"), true),
        (Some("JWT"), false),
        (Some("application/jwt"), false),
        (None, false),
    ] {
        assert_eq!(accepted(&hub, &signed(typ, &good)), expected, "{typ:?}");
    }
    let own = format!("https://hub{PATH}");
    for (name, value, expected) in [
        ("aud", json!(own), true),
        ("aud", json!(["https://x", own]), true),
        ("aud", json!(format!("http://HUB{PATH}")), true),
        ("aud", json!(format!("https://hub.other{PATH}")), false),
        ("aud", json!(format!("https://hub{PATH}/x")), false),
        ("aud", json!("https://hub"), false),
        ("aud", json!("hub"), false),
        ("aud", json!([]), false),
        ("aud", json!(null), false),
        ("exp", json!(1), false),
        ("exp", json!("4102444800"), false),
        ("nbf", json!(4_102_444_800_u64), false),
    ] {
        let mut claims = good.clone();
        claims[name] = value.clone();
        let accepted = accepted(&hub, &signed(Some("at+jwt"), &claims));
        assert_eq!(accepted, expected, "{name} {value}");
    }
    for name in ["exp", "aud"] {
        let mut claims = good.clone();
        claims.as_object_mut().expect("an object").remove(name);
        assert!(!accepted(&hub, &signed(Some("at+jwt"), &claims)), "{name}");
    }
    let refused = post(&hub, "topic=t", &with("x.y.z"));
    let challenge = &refused.headers()["www-authenticate"];
    assert_eq!(challenge, "Bearer error=\"invalid_token\"");
}

#[tokio::test]
async fn of_both_kinds_of_claims_only_details_count() {
    let hub = Hub::new(options());
    let mut both = claims(&json!([detail(&["subscribe"], &json!([{"match": "a"}]))]));
    both["mercure"] = json!({"publish": ["*"], "subscribe": ["*"]});
    let both = signed(Some("at+jwt"), &both);
    assert_eq!(post(&hub, "topic=t", &with(&both)).status(), 403);
    let mut own = subscribe(&hub, "match=*", &with(&both));
    events(&mut own).await;
    publish(&hub, "topic=t&data=secret&private=on");
    assert_eq!(events(&mut own).await, "");
    // Details for other servers leave a token of version 8 as it is.
    let mut other = json!({"mercure": {"publish": ["*"]}});
    other["authorization_details"] = json!([{"type": "https://other"}]);
    let other = signed(None, &other);
    assert_eq!(post(&hub, "topic=t", &with(&other)).status(), 200);
}

#[tokio::test]
async fn the_cookie_of_mercure_1_is_accepted_beside_the_other() {
    let all = access_token(&json!([detail(&["publish"], &json!([{"match": "*"}]))]));
    let cookie = |cookie: String| {
        [
            ("cookie", cookie),
            ("host", "hub".into()),
            ("origin", "https://good".into()),
        ]
    };
    let with_origins = || Options {
        publish_origins: Origins(vec!["https://good".into()]),
        ..options()
    };
    let hub = Hub::new(with_origins());
    let named = Hub::new(Options {
        cookie: "other".into(),
        ..with_origins()
    });
    let secure = cookie(format!("__Secure-mercure_access_token={all}"));
    let old = cookie(format!("mercureAuthorization={all}"));
    let both = cookie(format!(
        "mercureAuthorization=x; __Secure-mercure_access_token={all}"
    ));
    let other = cookie(format!("other={all}"));
    for (hub, fields, expected) in [
        (&hub, &secure, 200),
        (&hub, &old, 200),
        (&hub, &both, 200),
        (&hub, &other, 401),
        (&named, &other, 200),
        (&named, &secure, 401),
        (&named, &old, 401),
    ] {
        let status = post(hub, "topic=t", fields).status();
        assert_eq!(status, expected, "{:?}", fields[0]);
    }
    let evil = [
        secure[0].clone(),
        secure[1].clone(),
        ("origin", "https://evil".into()),
    ];
    assert_eq!(post(&hub, "topic=t", &evil).status(), 401);
    let lower = [
        ("authorization", format!("bearer {all}")),
        ("host", "hub".into()),
    ];
    assert_eq!(post(&hub, "topic=t", &lower).status(), 200);
}

async fn json_of(response: &mut Response<Body>) -> Value {
    serde_json::from_str(&available(response).await.0).expect("JSON")
}

#[tokio::test]
async fn subscriptions_have_the_form_of_their_version() {
    let hub = Hub::new(options());
    let all = access_token(&json!([detail(&["subscribe"], &json!([{"match": "*"}]))]));
    let below = format!("{PATH}/subscriptions/:type/:match/:subscriber");
    let mut watcher = subscribe(&hub, &format!("match_urlpattern={below}"), &with(&all));
    events(&mut watcher).await;
    let own = access_token(&json!([
        {"type": DETAIL, "actions": ["subscribe"], "topics": [{"match": "x"}], "payload": {"n": 1}},
        {"type": DETAIL, "actions": ["publish"], "topics": [{"match": "*"}], "payload": {"n": 2}},
        {"type": DETAIL, "actions": ["subscribe"], "topics": [{"match": "*"}], "payload": {"n": 3}},
    ]));
    let subscribed = subscribe(&hub, "match=x&match_urlpattern=https://a/:id", &with(&own));
    let old = subscribe(&hub, "topic=x", &[]);
    let text = events(&mut watcher).await;
    assert_eq!(text.matches("event: mercure\n").count(), 2, "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let shown: Vec<Value> = data
        .map(|data| serde_json::from_str(data).expect("JSON"))
        .collect();
    let summary = |shown: &Value| {
        let of = |name: &str| shown[name].clone();
        json!([
            of("type"),
            of("match_type"),
            of("match"),
            of("active"),
            of("payload"),
            of("@context")
        ])
    };
    assert_eq!(
        shown.iter().map(summary).collect::<Vec<_>>(),
        [
            json!(["subscription", "exact", "x", true, {"n": 1}, null]),
            json!(["subscription", "urlpattern", "https://a/:id", true, {"n": 3}, null]),
        ]
    );

    let see = |target: &str, token: &str| ask(&hub, (Method::GET, target), &with(token), "");
    let mut list = see("/subscriptions", &all);
    assert_eq!(list.headers()["content-type"], "application/json");
    let link = list.headers()["link"].to_str().expect("text").to_owned();
    assert!(
        link.contains("rel=\"mercure\"; last-event-id=\"urn:uuid:"),
        "{link}"
    );
    let list = json_of(&mut list).await;
    assert_eq!(list["type"], "subscriptions");
    assert_eq!(list["subscriptions"].as_array().map(Vec::len), Some(4));
    let mut exact = see("/subscriptions/exact/x", &all);
    let exact = json_of(&mut exact).await;
    assert_eq!(exact["subscriptions"].as_array().map(Vec::len), Some(1));
    let id = exact["subscriptions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let one = json_of(&mut see(id.strip_prefix(PATH).expect("below"), &all)).await;
    assert_eq!(summary(&one), summary(&shown[0]));
    let mut topic = see("/subscriptions/x", &all);
    assert_eq!(topic.headers()["content-type"], "application/ld+json");
    let topic = json_of(&mut topic).await;
    assert_eq!(topic["subscriptions"][0]["topic"], "x");
    assert_eq!(topic["subscriptions"].as_array().map(Vec::len), Some(1));
    assert_eq!(see("/subscriptions/exact/x/none", &all).status(), 404);
    assert_eq!(see("/subscriptions/other/x/none", &all).status(), 404);
    assert_eq!(see("/subscriptions/exact/urn:uuid:1", &all).status(), 200);

    let some = access_token(&json!([detail(&["subscribe"], &json!([{"match": "x"}]))]));
    assert_eq!(see("/subscriptions", &some).status(), 403);
    let version_8 = token(&json!({"subscribe": ["*"]}), None);
    assert_eq!(
        see("/subscriptions", &version_8).headers()["content-type"],
        "application/ld+json"
    );
    drop((subscribed, old));
    let text = events(&mut watcher).await;
    assert_eq!(text.matches("\"active\":false").count(), 2, "{text}");
}

#[tokio::test]
async fn publishers_send_no_events_of_the_hub() {
    let hub = Hub::new(options());
    assert_eq!(publish(&hub, "topic=t&type=mercure").status(), 400);
}
