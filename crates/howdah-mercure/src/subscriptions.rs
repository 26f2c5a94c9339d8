//! The subscriptions API: lists who is subscribed to what.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, HeaderValue};
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::answer::{Body, PATH, Request, text, unauthorized, whole};
use crate::hub::{Hub, Subscriber};
use crate::selector::{Selector, Topic, any};
use crate::update::Draft;

/// Characters that are escaped in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

const CONTEXT: &str = "https://mercure.rocks/";

/// Whether a subscription exists or has been closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscriptionState {
    Active,
    Closed,
}

/// One topic of a subscriber.
fn subscription(
    subscriber: &Subscriber,
    topic: &str,
    state: SubscriptionState,
) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("id".into(), uri(topic, &subscriber.id).into());
    shown.insert("type".into(), "Subscription".into());
    shown.insert("subscriber".into(), subscriber.id.clone().into());
    shown.insert("topic".into(), topic.into());
    shown.insert("active".into(), (state == SubscriptionState::Active).into());
    if let Some(payload) = &subscriber.payload {
        shown.insert("payload".into(), payload.clone());
    }
    shown
}

fn uri(topic: &str, subscriber: &str) -> String {
    let (topic, subscriber) = (
        utf8_percent_encode(topic, ESCAPED),
        utf8_percent_encode(subscriber, ESCAPED),
    );
    format!("{PATH}/subscriptions/{topic}/{subscriber}")
}

/// The updates that announced a subscriber.
pub(crate) struct Announcement(Vec<Draft>);

impl Announcement {
    /// There was no room for it after all.
    pub(crate) fn withdraw(self, hub: &Hub) {
        for draft in self.0 {
            hub.dispatch(draft.finish());
        }
    }
}

/// Announces a new or closed subscription to authorised subscribers, by a private update for each topic.
pub(crate) fn announce(
    hub: &Hub,
    subscriber: &Subscriber,
    state: SubscriptionState,
) -> Announcement {
    for draft in drafts(hub, subscriber, state) {
        hub.dispatch(draft.finish());
    }
    Announcement(drafts(hub, subscriber, SubscriptionState::Closed))
}

/// The updates for the announcement; none if the hub does not announce.
pub(crate) fn drafts(hub: &Hub, subscriber: &Subscriber, state: SubscriptionState) -> Vec<Draft> {
    let topics = hub.options.subscriptions.then_some(&subscriber.topics);
    let draft = |topic: &Selector| {
        let mut shown = subscription(subscriber, topic.text(), state);
        shown.insert("@context".into(), CONTEXT.into());
        Draft {
            topics: vec![uri(topic.text(), &subscriber.id)],
            data: Value::Object(shown).to_string(),
            private: true,
            ..Draft::default()
        }
    };
    topics.into_iter().flatten().map(draft).collect()
}

/// `/subscriptions`, `/subscriptions/TOPIC` or `/subscriptions/TOPIC/SUBSCRIBER`.
pub(crate) fn answer(hub: &Arc<Hub>, request: &Request<'_>) -> Response<Body> {
    let claims = match hub.subscriber(request) {
        Ok(claims) => claims.unwrap_or_default(),
        Err(answer) => return *answer,
    };
    // Only subscribers that are authorised for private updates of that URL may see it.
    if hub.options.subscriber.is_some()
        && !any(&claims.subscribe, &[Topic::new(request.path.to_owned())])
    {
        return *unauthorized(request, None);
    }
    let rest = request.path.strip_prefix(PATH).unwrap_or_default();
    let rest = rest.strip_prefix("/subscriptions").unwrap_or_default();
    let mut parts = rest.split('/').skip(1);
    let decoded = |part: Option<&str>| {
        let part = part.filter(|part| !part.is_empty())?;
        Some(percent_decode_str(part).decode_utf8_lossy().into_owned())
    };
    let (topic, subscriber) = (decoded(parts.next()), decoded(parts.next()));
    if parts.next().is_some_and(|part| !part.is_empty()) {
        return text(StatusCode::NOT_FOUND, "Not Found");
    }
    let mut found = Vec::new();
    hub.for_each_subscriber(|own| {
        if subscriber.as_ref().is_some_and(|id| *id != own.id) {
            return;
        }
        let topics = own.topics.iter().map(Selector::text);
        let matching = topics.filter(|own| topic.as_ref().is_none_or(|topic| topic == own));
        found.extend(matching.map(|topic| subscription(own, topic, SubscriptionState::Active)));
    });
    let last = hub.last();
    let mut shown = if subscriber.is_some() {
        let Some(one) = found.into_iter().next() else {
            return text(StatusCode::NOT_FOUND, "Not Found");
        };
        one
    } else {
        let shown_ones: Vec<_> = found.into_iter().map(Value::Object).collect();
        let mut shown = Map::new();
        shown.insert("id".into(), request.path.into());
        shown.insert("type".into(), "Subscriptions".into());
        shown.insert("subscriptions".into(), json!(shown_ones));
        shown
    };
    shown.insert("@context".into(), CONTEXT.into());
    shown.insert("lastEventID".into(), last.clone().into());
    let body = Value::Object(shown).to_string();
    let mut response = whole(StatusCode::OK, "application/ld+json", body.into());
    let headers = response.headers_mut();
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("private, must-revalidate"),
    );
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{last}\"")) {
        headers.insert(ETAG, tag);
    }
    response
}
