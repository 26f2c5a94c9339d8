//! The phase in which the routes of a site decide how a request is answered.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Instant;

use howdah_cgi::Host;
use http::header::HOST;
use http::request::Parts;
use http::{Response, StatusCode};

use super::exchange::Exchange;
use super::receive::ReceivedRequest;
use super::replace::DeferredHandlers;
use super::scope::RequestScope;
use crate::encode::Encodings;
use crate::message::connection::Connection;
use crate::message::header_change::Changes;
use crate::message::path;
use crate::message::reply;
use crate::message::response::Content;
use crate::observe::log::{AppendedValue, LogEntry};
use crate::observe::trace::Trace;
use crate::route::context::Context;
use crate::route::outcome::Outcome;
use crate::route::site::Site;
use crate::route::verdict::Verdict;

/// The decision of the routes, which borrows nothing from the request.
pub(super) struct RouteDecision {
    pub(super) outcome: Outcome,
    pub(super) headers: Changes,
    pub(super) encodings: Encodings,
    /// Boxed, because few sites have traces.
    pub(super) trace: Option<Box<Trace>>,
    /// `None`: as sent.
    pub(super) query: Option<String>,
    /// With a different method or header.
    pub(super) changed: Option<Box<Parts>>,
    pub(super) user: Option<Rc<str>>,
    pub(super) max_body_size: Option<u64>,
    pub(super) deferred: Option<Box<DeferredHandlers>>,
}

impl RouteDecision {
    pub(super) fn answer(response: impl Into<Box<Response<Content>>>) -> Self {
        Self {
            outcome: Outcome::Answer(response.into()),
            headers: Changes::default(),
            encodings: Encodings::default(),
            trace: None,
            query: None,
            changed: None,
            user: None,
            max_body_size: None,
            deferred: None,
        }
    }
}

/// The first decision, before any authorization: the response of the first phase, or the decision
/// of the routes.
pub(super) fn decide_first<A>(
    scope: &RequestScope<A>,
    received: &mut ReceivedRequest,
    exchange: &mut Exchange,
) -> RouteDecision {
    match received.response.take() {
        Some(response) => RouteDecision::answer(response),
        None => decide(scope, &received.parts, exchange, &[]),
    }
}

/// Runs the routes of the site that the request is for.
pub(super) fn decide<A>(
    scope: &RequestScope<A>,
    parts: &Parts,
    exchange: &mut Exchange,
    verdicts: &[Verdict],
) -> RouteDecision {
    let (snapshot, connection) = (scope.snapshot(), &scope.connection);
    let host = match parts
        .headers
        .get(HOST)
        .map(|value| value.to_str().ok().and_then(Host::parse))
    {
        Some(None) => return RouteDecision::answer(reply::bad_request("bad Host header")),
        Some(host) => host,
        None => None,
    };
    if let Some(decision) = answer_challenge(scope, parts) {
        return decision;
    }
    if is_misdirected(connection, host) {
        return RouteDecision::answer(reply::explain(
            StatusCode::MISDIRECTED_REQUEST,
            "The connection was opened for another host.",
        ));
    }
    let Some(site) = snapshot
        .hosts(scope.listener)
        .find(host.map_or("", |host| host.name))
    else {
        return RouteDecision::answer(reply::explain(
            StatusCode::NOT_FOUND,
            "No site is configured for this host.",
        ));
    };
    if !site.logs.is_empty() {
        start_log(site, scope, parts, exchange);
    }
    let path: Cow<'_, str> = match path::normalise(parts.uri.path()) {
        Ok(path) => path,
        Err(error) => return RouteDecision::answer(reply::bad_request(&error.to_string())),
    };
    let root = Rc::clone(&snapshot.default_root);
    let mut context = Context::new(parts, connection, scope.id, scope.environment(), root);
    context.original_host = host;
    context.path = path;
    let observer = snapshot.observer.as_ref();
    context.sampler = observer.and_then(|observer| observer.sampler());
    context.verdicts = verdicts;
    let mut outcome = site.run(&mut context);
    if context.wants_body.get() && !matches!(outcome, Outcome::CheckPassword(_)) {
        outcome = Outcome::ReadBody(context.max_body_size);
    }
    let deferred = DeferredHandlers::capture(site, &context);
    complete_log(&mut context, exchange);
    RouteDecision {
        outcome,
        headers: context.headers,
        encodings: context.encodings,
        trace: context.trace,
        query: context.query,
        changed: context.changed,
        user: context.notes.user,
        max_body_size: context.max_body_size,
        deferred,
    }
}

/// The response to an HTTP-01 challenge of ACME, which no site has to be configured for.
fn answer_challenge<A>(scope: &RequestScope<A>, parts: &Parts) -> Option<RouteDecision> {
    let snapshot = scope.snapshot();
    if scope.connection.tls.is_some() {
        return None;
    }
    let challenges = snapshot.challenges.as_ref()?;
    let job = challenges.find(parts.uri.path(), &snapshot.lookup)?;
    let mut decision = RouteDecision::answer(reply::not_found());
    decision.outcome = Outcome::File(job);
    Some(decision)
}

/// Whether the connection is bound to another host, which may not require the client certificate that this host
/// requires.
fn is_misdirected(connection: &Connection, host: Option<Host<'_>>) -> bool {
    let tls = connection.tls.as_ref();
    tls.and_then(|tls| tls.host.as_deref())
        .is_some_and(|expected| !host.is_some_and(|host| host.name.eq_ignore_ascii_case(expected)))
}

/// Starts the entry of the site's access logs. When routes run again, the time of their first run counts too.
fn start_log<A>(site: &Site, scope: &RequestScope<A>, parts: &Parts, exchange: &mut Exchange) {
    let earlier = exchange.log.take().map(|entry| entry.start);
    let start = earlier.unwrap_or_else(Instant::now);
    let mut entry = LogEntry::new(&site.logs, start, scope.id, &scope.connection, parts);
    entry.credentials = scope.limits().log_credentials;
    exchange.log = Some(Box::new(entry));
}

/// Adds to the log entry what the routes found out, or drops it if they skip the log.
fn complete_log(context: &mut Context<'_>, exchange: &mut Exchange) {
    if context.log.skip {
        exchange.log = None;
    } else if let Some(entry) = &mut exchange.log {
        if let Some(trace) = &context.trace {
            let ids = &trace.context;
            let (trace, span) = (ids.trace.to_string(), format!("{:016x}", ids.span));
            let ids = [("traceID", trace), ("spanID", span)]
                .map(|(name, id)| (name.into(), AppendedValue::Known(id)));
            context.log.append.splice(0..0, ids);
        }
        entry.identify(context.client_ip(), context.notes.user.as_deref());
        entry.append(std::mem::take(&mut context.log.append));
    }
}
