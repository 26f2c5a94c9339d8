//! Subscribing: topics in the query, events in the response.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use tokio::time::Instant;

use crate::answer::{Body, Request, parameter, text};
use crate::hub::{Hub, Subscriber};
use crate::selector::Selector;
use crate::stream::EventStream;
use crate::subscriptions::{SubscriptionState, announce};

/// Topics of one subscription.
const TOPICS_MAX: usize = 1_000;
/// Expressions in all its URI templates: each needs a KiB or more of the matcher, which exists as long as the
/// subscription.
const EXPRESSIONS_MAX: usize = 200;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Disables buffering of events in an nginx in front of the server.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Responds with events until the subscriber disconnects.
pub(crate) fn subscribe(hub: &Arc<Hub>, request: &Request<'_>) -> Response<Body> {
    let claims = match hub.subscriber(request) {
        Ok(claims) => claims,
        Err(answer) => return *answer,
    };
    let topics = match topics(request.query) {
        Ok(topics) => topics,
        Err(problem) => return text(StatusCode::BAD_REQUEST, problem),
    };
    if request.method == Method::HEAD {
        let mut response = Response::new(Body::Whole(None));
        headers(&mut response, None);
        return response;
    }
    let since = last_event_id(hub, request);
    let claims = claims.unwrap_or_default();
    let end = end_of_connection(claims.expires, hub.options.write_timeout);
    let topics = topics.iter().map(|topic| Selector::new(topic)).collect();
    let subscriber = Subscriber::new(topics, claims.subscribe, claims.payload);
    let announced = announce(hub, &subscriber, SubscriptionState::Active);
    let Some(joined) = hub.join(subscriber, since.as_deref()) else {
        announced.withdraw(hub);
        return text(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
    };
    let last = since.is_some().then(|| joined.last.clone());
    let events = EventStream::new(joined, hub.options.heartbeat, end);
    let mut response = Response::new(Body::Events(Box::new(events)));
    headers(&mut response, last.as_deref());
    response
}

/// The topics of a subscription, or what is wrong with them.
fn topics(query: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
    let parameters = || form_urlencoded::parse(query.as_bytes());
    let topics: Vec<_> = parameters()
        .filter(|(name, _)| name == "topic")
        .take(TOPICS_MAX + 1)
        .map(|(_, topic)| topic)
        .collect();
    if topics.is_empty() {
        let newer = parameters().any(|(name, _)| name.starts_with("match"));
        return Err(if newer {
            "Missing \"topic\" parameter: this hub speaks version 8 of the protocol, whose subscribers name \
             their topics in \"topic\" and not in \"match\"."
        } else {
            "Missing \"topic\" parameter."
        });
    }
    if topics.len() > TOPICS_MAX {
        return Err("Too many \"topic\" parameters.");
    }
    let expressions = topics.iter().map(|topic| topic.matches('{').count());
    if expressions.sum::<usize>() > EXPRESSIONS_MAX {
        return Err("Too many expressions in \"topic\" parameters.");
    }
    Ok(topics)
}

/// The earlier of the token's expiry and the connection's time limit.
fn end_of_connection(expires: Option<u64>, limit: Option<Duration>) -> Option<Instant> {
    // A token may contain any number.
    let expires = expires.and_then(|at| UNIX_EPOCH.checked_add(Duration::from_secs(at)));
    let left = expires.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
    let time = match (left, limit) {
        (Some(left), Some(limit)) => Some(left.min(limit)),
        (left, limit) => left.or(limit),
    };
    Instant::now().checked_add(time?)
}

fn last_event_id(hub: &Hub, request: &Request<'_>) -> Option<String> {
    let header = request.headers.get(LAST_EVENT_ID);
    let id = header
        .and_then(|id| id.to_str().ok())
        .map(str::to_owned)
        .filter(|id| !id.is_empty());
    id.or_else(|| parameter(request.query, "lastEventID"))
        .or_else(|| {
            let old = hub.options.version_7;
            old.then(|| parameter(request.query, "Last-Event-ID"))?
        })
        .filter(|id| !id.is_empty())
}

fn headers(response: &mut Response<Body>, last: Option<&str>) {
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_TYPE, "text/event-stream"),
        // A compressor would delay events.
        (
            CACHE_CONTROL,
            "private, no-cache, no-store, no-transform, must-revalidate, max-age=0",
        ),
        (BUFFERING, "no"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
        headers.insert(LAST_EVENT_ID, last);
    }
}
