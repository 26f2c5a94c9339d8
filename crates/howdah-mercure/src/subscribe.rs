//! Subscribing: topics in the query, events in the response.
//!
//! A subscriber's parameters show its version of the protocol: version 8 has `topic`, 1.0 has `match`, `match_exact`
//! and `match_urlpattern`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use tokio::time::Instant;

use crate::answer::{Body, Request, text};
use crate::hub::{Hub, Subscriber};
use crate::selector::{MatchType, Selector};
use crate::stream::EventStream;
use crate::subscriptions::{SubscriptionState, announce};
use crate::url_pattern::Budget;

/// Topics of one subscription.
const TOPICS_MAX: usize = 1_000;
/// Expressions in all its URI templates: each needs a KiB or more of the matcher, which exists as long as the
/// subscription.
const EXPRESSIONS_MAX: usize = 200;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Its name in responses of 1.0.
const MERCURE_LAST_EVENT_ID: HeaderName = HeaderName::from_static("mercure-last-event-id");
/// Disables buffering of events in an nginx in front of the server.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Responds with events until the subscriber disconnects.
pub(crate) fn subscribe(hub: &Arc<Hub>, request: &Request<'_>) -> Response<Body> {
    let claims = match hub.subscriber(request) {
        Ok(claims) => claims,
        Err(answer) => return *answer,
    };
    let (version, selectors) = match selectors(request) {
        Ok(read) => read,
        Err(problem) => return text(StatusCode::BAD_REQUEST, &problem),
    };
    if request.method == Method::HEAD {
        let mut response = Response::new(Body::Whole(None));
        headers(&mut response, None);
        return response;
    }
    let since = last_event_id(hub, request, version);
    let claims = claims.unwrap_or_default();
    let end = end_of_connection(claims.expires, hub.options.write_timeout);
    let subscriber = Subscriber::new(selectors, claims);
    let announced = announce(hub, &subscriber, SubscriptionState::Active);
    let Some(joined) = hub.join(subscriber, since.as_deref()) else {
        announced.withdraw(hub);
        return text(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
    };
    let name = match version {
        Version::Eight => LAST_EVENT_ID,
        Version::One => MERCURE_LAST_EVENT_ID,
    };
    let last = since.is_some().then(|| (name, joined.last.clone()));
    let events = EventStream::new(joined, hub.options.heartbeat, end);
    let mut response = Response::new(Body::Events(Box::new(events)));
    headers(&mut response, last);
    response
}

/// A subscriber's version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Eight,
    One,
}

/// The parameters of the query, then those in the body of a QUERY request.
fn parameters<'r>(request: &Request<'r>) -> impl Iterator<Item = (Cow<'r, str>, Cow<'r, str>)> {
    let body = if *request.method == Method::QUERY {
        request.body
    } else {
        &[]
    };
    form_urlencoded::parse(request.query.as_bytes()).chain(form_urlencoded::parse(body))
}

/// The selectors of a subscription, or what is wrong with them.
fn selectors(request: &Request<'_>) -> Result<(Version, Vec<Selector>), Cow<'static, str>> {
    let (mut topics, mut matchers) = (Vec::new(), Vec::new());
    for (name, value) in parameters(request) {
        match &*name {
            "topic" => topics.push(value),
            "match" | "match_exact" => matchers.push((MatchType::Exact, value)),
            "match_urlpattern" => matchers.push((MatchType::UrlPattern, value)),
            name if is_reserved(name) => {
                return Err(
                    "Unknown parameter with the prefix \"match\": matchers are \"match\", \"match_exact\" and \
                     \"match_urlpattern\"."
                        .into(),
                );
            }
            _ => {}
        }
        if topics.len() + matchers.len() > TOPICS_MAX {
            return Err("Too many \"topic\" or \"match\" parameters.".into());
        }
    }
    match (topics.is_empty(), matchers.is_empty()) {
        (true, true) => Err("Missing \"topic\" or \"match\" parameter.".into()),
        (false, false) => Err(
            "A subscription has \"topic\" parameters of version 8 of the protocol or \"match\" parameters of Mercure 1.0, \
             not both."
                .into(),
        ),
        (false, true) => {
            let expressions = topics.iter().map(|topic| topic.matches('{').count());
            if expressions.sum::<usize>() > EXPRESSIONS_MAX {
                return Err("Too many expressions in \"topic\" parameters.".into());
            }
            let selectors = topics.iter().map(|topic| Selector::version_8(topic));
            Ok((Version::Eight, selectors.collect()))
        }
        (true, false) => {
            let mut budget = Budget::default();
            let matchers = matchers.iter();
            let selectors = matchers.map(|(kind, text)| Selector::matcher(*kind, text, &mut budget));
            let selectors = selectors.collect::<Result<_, _>>();
            let selectors = selectors.map_err(|error| format!("Invalid parameter: {error}."))?;
            Ok((Version::One, selectors))
        }
    }
}

/// Whether a parameter's name is reserved for matchers of 1.0, which have to be spelled exactly.
fn is_reserved(name: &str) -> bool {
    let prefix = name.as_bytes().get(.."match".len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"match"))
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

/// The last update that the subscriber has seen. One of 1.0 may have an empty one: it gets no missed updates, but the
/// header of the response.
fn last_event_id(hub: &Hub, request: &Request<'_>, version: Version) -> Option<String> {
    let header = request.headers.get(LAST_EVENT_ID);
    let header = header.and_then(|id| id.to_str().ok()).map(str::to_owned);
    let parameter = |name: &str| {
        let mut named = parameters(request).filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.into_owned())
    };
    let filled = |id: &String| !id.is_empty();
    match version {
        Version::Eight => header
            .filter(filled)
            .or_else(|| parameter("lastEventID"))
            .or_else(|| {
                let old = hub.options.version_7;
                old.then(|| parameter("Last-Event-ID"))?
            })
            .filter(filled),
        Version::One => match header {
            Some(id) if !id.is_empty() => Some(id),
            header => parameter("last_event_id").or(header),
        },
    }
}

fn headers(response: &mut Response<Body>, last: Option<(HeaderName, String)>) {
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
    if let Some((name, last)) = last
        && let Ok(last) = HeaderValue::from_str(&last)
    {
        headers.insert(name, last);
    }
}
