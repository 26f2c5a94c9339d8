//! The subscriptions API: lists who is subscribed to what.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, HeaderValue, LINK};
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::answer::{Body, Request, forbidden, text, whole};
use crate::hub::{Hub, Subscriber};
use crate::options::PATH;
use crate::selector::{MatchType, Selector, Topic, any};
use crate::update::{Draft, OWN_TYPE};

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

/// One topic of a subscriber, as its version of the protocol describes it.
fn subscription(
    subscriber: &Subscriber,
    topic: &Selector,
    payload: Option<&Value>,
    state: SubscriptionState,
) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("id".into(), uri(topic, &subscriber.id).into());
    shown.insert("subscriber".into(), subscriber.id.clone().into());
    match topic.match_type() {
        None => {
            shown.insert("type".into(), "Subscription".into());
            shown.insert("topic".into(), topic.text().into());
        }
        Some(kind) => {
            shown.insert("type".into(), "subscription".into());
            shown.insert("match".into(), topic.text().into());
            shown.insert("match_type".into(), kind.name().into());
        }
    }
    shown.insert("active".into(), (state == SubscriptionState::Active).into());
    if let Some(payload) = payload {
        shown.insert("payload".into(), payload.clone());
    }
    shown
}

/// All subscriptions of a subscriber.
fn subscriptions(
    subscriber: &Subscriber,
    state: SubscriptionState,
) -> impl Iterator<Item = (&Selector, Map<String, Value>)> {
    let topics = subscriber.topics.iter().zip(&subscriber.payloads);
    topics.map(move |(topic, payload)| {
        let payload = payload.as_deref();
        (topic, subscription(subscriber, topic, payload, state))
    })
}

fn uri(topic: &Selector, subscriber: &str) -> String {
    let (text, subscriber) = (
        utf8_percent_encode(topic.text(), ESCAPED),
        utf8_percent_encode(subscriber, ESCAPED),
    );
    match topic.match_type() {
        None => format!("{PATH}/subscriptions/{text}/{subscriber}"),
        Some(kind) => format!("{PATH}/subscriptions/{}/{text}/{subscriber}", kind.name()),
    }
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
    if !hub.options.subscriptions {
        return Vec::new();
    }
    let draft = |(topic, mut shown): (&Selector, Map<String, Value>)| {
        let is_version_1 = topic.match_type().is_some();
        if !is_version_1 {
            shown.insert("@context".into(), CONTEXT.into());
        }
        Draft {
            topics: vec![uri(topic, &subscriber.id)],
            data: Value::Object(shown).to_string(),
            private: true,
            kind: is_version_1.then(|| OWN_TYPE.to_owned()),
            ..Draft::default()
        }
    };
    subscriptions(subscriber, state).map(draft).collect()
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// `/subscriptions`.
    All,
    /// `/subscriptions/TOPIC` of version 8, with `/SUBSCRIBER` one of them.
    Topic(String, Option<String>),
    /// `/subscriptions/TYPE/MATCH` of 1.0, with `/SUBSCRIBER` one of them.
    Matcher(MatchType, String, Option<String>),
}

impl Wanted {
    /// `None`: no such path. `version_1`: the token is of 1.0.
    fn read(path: &str, version_1: bool) -> Option<Self> {
        let rest = path.strip_prefix(PATH)?.strip_prefix("/subscriptions")?;
        let parts = rest.trim_end_matches('/').split('/').skip(1);
        let parts: Vec<_> = parts
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        let mut parts = parts.into_iter();
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        if parts.next().is_some() {
            return None;
        }
        let Some(first) = first else {
            return Some(Self::All);
        };
        // With the id of a subscriber the type may be a topic of version 8.
        match (MatchType::named(&first), second, third) {
            (Some(kind), Some(text), subscriber)
                if version_1 || subscriber.is_some() || !is_id(&text) =>
            {
                Some(Self::Matcher(kind, text, subscriber))
            }
            (_, second, None) => Some(Self::Topic(first, second)),
            _ => None,
        }
    }

    fn includes(&self, topic: &Selector, subscriber: &str) -> bool {
        let is_own = |wanted: &Option<String>| wanted.as_ref().is_none_or(|id| id == subscriber);
        match self {
            Self::All => true,
            Self::Topic(text, wanted) => {
                topic.match_type().is_none() && topic.text() == text && is_own(wanted)
            }
            Self::Matcher(kind, text, wanted) => {
                topic.match_type() == Some(*kind) && topic.text() == text && is_own(wanted)
            }
        }
    }

    fn is_single(&self) -> bool {
        matches!(self, Self::Topic(_, Some(_)) | Self::Matcher(_, _, Some(_)))
    }
}

fn is_id(text: &str) -> bool {
    text.starts_with("urn:uuid:")
}

/// All subscriptions that the path names. The form is of the version of the path, or of the token if the path has none.
pub(crate) fn answer(hub: &Arc<Hub>, request: &Request<'_>) -> Response<Body> {
    let claims = match hub.subscriber(request) {
        Ok(claims) => claims.unwrap_or_default(),
        Err(answer) => return *answer,
    };
    // Only subscribers that are authorised for private updates of that URL may see it.
    let path = [Topic::new(request.path.to_owned())];
    if hub.options.subscriber.is_some() && !any(&claims.subscribe, &path) {
        return *forbidden(request, &claims);
    }
    let Some(wanted) = Wanted::read(request.path, claims.version_1) else {
        return text(StatusCode::NOT_FOUND, "Not Found");
    };
    let version_1 = match wanted {
        Wanted::All => claims.version_1,
        Wanted::Topic(..) => false,
        Wanted::Matcher(..) => true,
    };
    let mut found = Vec::new();
    hub.for_each_subscriber(|own| {
        let all = subscriptions(own, SubscriptionState::Active);
        let matching = all.filter(|(topic, _)| wanted.includes(topic, &own.id));
        found.extend(matching.map(|(_, shown)| shown));
    });
    let last = hub.last();
    let mut shown = if wanted.is_single() {
        let Some(one) = found.into_iter().next() else {
            return text(StatusCode::NOT_FOUND, "Not Found");
        };
        one
    } else {
        let shown_ones: Vec<_> = found.into_iter().map(Value::Object).collect();
        let mut shown = Map::new();
        shown.insert("id".into(), request.path.into());
        let kind = if version_1 {
            "subscriptions"
        } else {
            "Subscriptions"
        };
        shown.insert("type".into(), kind.into());
        shown.insert("subscriptions".into(), json!(shown_ones));
        shown
    };
    let kind = if version_1 {
        "application/json"
    } else {
        shown.insert("@context".into(), CONTEXT.into());
        shown.insert("lastEventID".into(), last.clone().into());
        "application/ld+json"
    };
    let body = Value::Object(shown).to_string();
    let mut response = whole(StatusCode::OK, kind, body.into());
    let headers = response.headers_mut();
    // Event ids have no control characters.
    let quoted = last.replace('\\', r"\\").replace('"', "\\\"");
    let link =
        format!("<{PATH}>; rel=\"mercure\"; last-event-id=\"{quoted}\"; type=\"{OWN_TYPE}\"");
    if version_1 && let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(LINK, link);
    }
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("private, must-revalidate"),
    );
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{last}\"")) {
        headers.insert(ETAG, tag);
    }
    response
}
