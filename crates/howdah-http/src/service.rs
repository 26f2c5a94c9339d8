//! A request on its way to a response.

use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use howdah_cgi::Host;
use http::header::{ALT_SVC, CONTENT_LENGTH, HOST, HeaderValue, SERVER, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::ext::ReasonPhrase;

use crate::answer;
use crate::application::{Application, Connection};
use crate::auth::Verdict;
use crate::challenge;
use crate::check::check;
use crate::connection::state::ConnectionState;
use crate::encode::{Encodings, Wanted};
use crate::executor;
use crate::incoming::Incoming;
use crate::later::Later;
use crate::log::LogEntry;
use crate::path;
use crate::perform::{Asked, Performer};
use crate::response::{Content, Exchange, ResponseBody, Source};
use crate::route::Outcome;
use crate::route::context::{Context, LogChoice, TRACEPARENT, TRACESTATE, Trace};
use crate::route::header::{Changes, Foreign};
use crate::route::notes::Notes;
use crate::thread::{Core, Thread};

const NAME: HeaderValue = HeaderValue::from_static("Howdah");

/// Passwords that are checked and servers that are asked for one request; one for each `basic_auth` and
/// `forward_auth` on its way.
const CHECKS_MAX: usize = 8;

/// The connection is closed without a response.
#[derive(Debug, thiserror::Error)]
#[error("the configuration closes this connection")]
pub(crate) struct Aborted;

/// What the routes decided, with nothing borrowed from the request.
struct Routed {
    outcome: Outcome,
    headers: Changes,
    encodings: Encodings,
    trace: Option<Trace>,
    /// `None`: as sent.
    query: Option<String>,
    /// With another method or header.
    changed: Option<Box<Parts>>,
    user: Option<Rc<str>>,
    max_body_size: Option<u64>,
    later: Option<Box<Later>>,
}

impl Routed {
    fn answer(response: Response<Content>) -> Self {
        Self {
            outcome: Outcome::Answer(Box::new(response)),
            headers: Changes::default(),
            encodings: Encodings::default(),
            trace: None,
            query: None,
            changed: None,
            user: None,
            max_body_size: None,
            later: None,
        }
    }
}

/// Answers one request of the connection.
pub(crate) async fn handle<A: Application>(
    (thread, connection, state): (Rc<Thread<A>>, Rc<Connection>, Rc<ConnectionState>),
    listener: usize,
    mut exchange: Exchange,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody<A::Body>>, Aborted> {
    let core = &*thread.core;
    let limits = core.limits(listener);
    let id = core.life.next_id();
    let (mut parts, incoming) = request.into_parts();
    if let Some(observing) = &core.observing {
        exchange.record = Some(observing.begin(id, &connection, &parts));
    }
    let checked = check(&mut parts, state.header_bytes(), limits.max_header_size);
    let refusal = state.framing_refusal();
    let proof = match shared_proof(core, &connection, &parts) {
        Some(find) => Box::pin(find).await,
        None => None,
    };
    let checked = match refusal {
        Some(reason) => Err(Box::new(answer::bad_request(reason))),
        None => checked,
    };
    let mut routed = match checked {
        Ok(()) => match proof {
            Some(proof) => Routed::answer(challenge::answer(proof)),
            None => route(
                core,
                (&connection, listener, id),
                &parts,
                &mut exchange,
                &[],
            ),
        },
        Err(response) => Routed::answer(*response),
    };
    if matches!(routed.outcome, Outcome::Check(_) | Outcome::Ask(_)) {
        let at = (&connection, listener, id);
        routed = Box::pin(find_out(core, at, &parts, &mut exchange, routed)).await;
    }
    let Routed {
        mut outcome,
        mut headers,
        encodings,
        trace,
        query,
        changed,
        user,
        max_body_size,
        later,
    } = routed;
    let wanted = encodings.wanted(&parts.method, &parts.headers);
    let http1 = parts.version < Version::HTTP_2;
    let alt_svc = core
        .alt_svc(listener)
        .filter(|_| parts.version < Version::HTTP_3);
    let head = parts.method == Method::HEAD;
    let has_body = !incoming.is_end_stream();
    let mut asked = Asked {
        query,
        is_head: head,
        parts: changed.map_or(parts, |changed| *changed),
        body: Some(incoming),
        user,
        max_body_size: max_body_size.unwrap_or(limits.max_body_size),
        is_kept: later.is_some(),
        with_origin: wanted.is_some(),
        received: Some(0),
    };
    if let Some(trace) = trace {
        let headers = match &mut outcome {
            Outcome::Proxy(job) => &mut job.headers,
            _ => &mut asked.parts.headers,
        };
        if let Ok(value) = HeaderValue::from_str(&trace.context.traceparent()) {
            headers.insert(TRACEPARENT, value);
        }
        // It is of the caller's trace, and this is another.
        if trace.context.parent.is_none() {
            headers.remove(TRACESTATE);
        }
        if let Some(record) = &exchange.record {
            record.trace(trace);
        }
    }
    let performer = Performer {
        thread: &*thread,
        limits,
        connection: &connection,
        state: &state,
        record: exchange.record.clone(),
        id,
    };
    let mut response = performer
        .perform(outcome, &mut asked)
        .await
        .ok_or(Aborted)?;
    exchange.received = asked.received.unwrap_or(0);
    if let Some(later) = later {
        let applied = later.apply(response, &performer, &mut asked, &mut headers);
        response = Box::pin(applied).await.ok_or(Aborted)?;
    }
    let (mut head_parts, source) = response.into_parts();
    if let Some(alt_svc) = alt_svc {
        let field = head_parts.headers.entry(ALT_SVC);
        field.or_insert_with(|| alt_svc.clone());
    }
    if http1 && head_parts.status.canonical_reason().is_none() {
        // hyper would write one of its own.
        let extensions = &mut head_parts.extensions;
        if extensions.get::<ReasonPhrase>().is_none() {
            extensions.insert(ReasonPhrase::from_static(b""));
        }
    }
    let unread = has_body && (asked.body.is_some() || asked.received.is_none());
    if (unread || refusal.is_some()) && http1 {
        // The body was not read to its end, or nobody knows where it ends. The connection cannot be
        // used again, and it must not be closed so hard that the client loses the response.
        state.set_linger();
        head_parts
            .headers
            .insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    }
    let mut source = match source {
        Source::Application(body) => {
            let response = Response::from_parts(head_parts, body);
            let encode = wanted.map(|wanted| (wanted, core));
            return Ok(application(response, headers, encode, head, exchange));
        }
        other => other,
    };
    let is_foreign = head_parts.extensions.remove::<Foreign>().is_some();
    finish(&mut head_parts.headers, headers, is_foreign);
    if let Source::Content(Content::Tunnel(tunnel)) = source {
        state.set_tunnel(tunnel);
        source = Source::Content(Content::Empty);
    } else if let Some(wanted) = wanted {
        source = wanted.apply(&mut head_parts, source, &core.compressed);
    }
    if let Source::Content(Content::File(file)) = &mut source
        && http1
        && connection.tls.is_none()
        && !head_parts.headers.contains_key(CONTENT_LENGTH)
        && !head_parts.headers.contains_key(TRANSFER_ENCODING)
    {
        // The body is framed by its own length: all of it reaches the socket, and nothing between.
        file.send_by_kernel(Rc::clone(&state));
    }
    exchange.answered(head_parts.status, &head_parts.headers);
    exchange.finished = head || source.is_end_stream();
    executor::note_response();
    Ok(Response::from_parts(
        head_parts,
        ResponseBody::new(source, exchange),
    ))
}

/// What to ask another machine for, if this may be the request of an authority that checks a name.
fn shared_proof<'r>(
    core: &'r Core,
    connection: &Connection,
    parts: &'r Parts,
) -> Option<impl Future<Output = Option<Vec<u8>>> + 'r> {
    let challenges = core.challenges.as_ref()?;
    if connection.tls.is_some() || !matches!(parts.method, Method::GET | Method::HEAD) {
        return None;
    }
    let (proofs, token) = challenges.shared(parts.uri.path())?;
    Some(proofs.find(token))
}

/// Runs the routes again with each password that was checked, and each answer of a server that lets the
/// request go on.
async fn find_out(
    core: &Core,
    at: (&Rc<Connection>, usize, u64),
    parts: &Parts,
    exchange: &mut Exchange,
    mut routed: Routed,
) -> Routed {
    let mut verdicts = Vec::new();
    while verdicts.len() < CHECKS_MAX {
        let verdict = match routed.outcome {
            Outcome::Check(check) => {
                let Some(verdict) = check.run().await else {
                    tracing::warn!(
                        "a request was answered 503: too many passwords wait to be checked"
                    );
                    return Routed::answer(answer::plain(StatusCode::SERVICE_UNAVAILABLE));
                };
                verdict
            }
            Outcome::Ask(question) => match question.ask(core.limits(at.1), at.2).await {
                Ok(granted) => Verdict::Granted(granted),
                Err(response) => {
                    routed.outcome = Outcome::Answer(Box::new(response));
                    return routed;
                }
            },
            _ => return routed,
        };
        verdicts.push(verdict);
        routed = route(core, at, parts, exchange, &verdicts);
    }
    routed
}

/// Runs the routes of the site that the request is for.
fn route(
    core: &Core,
    (connection, listener, id): (&Rc<Connection>, usize, u64),
    parts: &Parts,
    exchange: &mut Exchange,
    verdicts: &[Verdict],
) -> Routed {
    let host = match parts
        .headers
        .get(HOST)
        .map(|value| value.to_str().ok().and_then(Host::parse))
    {
        Some(None) => return Routed::answer(answer::bad_request("bad Host header")),
        Some(host) => host,
        None => None,
    };
    if connection.tls.is_none()
        && let Some(challenges) = &core.challenges
        && let Some(job) = challenges.find(parts.uri.path(), &core.lookup)
    {
        let mut routed = Routed::answer(answer::not_found());
        routed.outcome = Outcome::File(job);
        return routed;
    }
    if let Some(expected) = connection.tls.as_ref().and_then(|tls| tls.host.as_deref())
        && !host.is_some_and(|host| host.name.eq_ignore_ascii_case(expected))
    {
        // Another host may not ask for the certificate that this one asks for.
        return Routed::answer(answer::explain(
            StatusCode::MISDIRECTED_REQUEST,
            "The connection was opened for another host.",
        ));
    }
    let Some(site) = core.hosts(listener).find(host.map_or("", |host| host.name)) else {
        return Routed::answer(answer::explain(
            StatusCode::NOT_FOUND,
            "No site is configured for this host.",
        ));
    };
    let limits = core.limits(listener);
    if !site.logs.is_empty() {
        // What was found out for routes that are run again took its time too.
        let earlier = exchange.log.take().map(|entry| entry.start);
        let start = earlier.unwrap_or_else(Instant::now);
        let mut entry = LogEntry::new(&site.logs, start, id, connection, parts);
        entry.credentials = limits.log_credentials;
        exchange.log = Some(Box::new(entry));
    }
    let path: Cow<'_, str> = match path::normalise(parts.uri.path()) {
        Ok(path) => path,
        Err(error) => return Routed::answer(answer::bad_request(&error.to_string())),
    };
    let mut context = Context {
        original: parts,
        changed: None,
        connection,
        id,
        original_host: host,
        path,
        escaped: None,
        query: None,
        path_info: String::new(),
        root: Rc::clone(&core.default_root),
        headers: Changes::default(),
        encodings: Encodings::default(),
        notes: Notes::default(),
        intercepts: Vec::new(),
        errors: Vec::new(),
        max_body_size: None,
        log: LogChoice::default(),
        sampler: core.observing.as_ref().and_then(|own| own.sampler()),
        trace: None,
        lookup: &core.lookup,
        roots: &core.roots,
        proxies: &limits.proxies,
        verdicts,
        problem: None,
        response: None,
        copies: Vec::new(),
    };
    let outcome = site.run(&mut context);
    let later = Later::keep(site, &context);
    if context.log.skip {
        exchange.log = None;
    } else if let Some(entry) = &mut exchange.log {
        if let Some(Trace { context: own, .. }) = &context.trace {
            let (trace, span) = (own.trace.to_string(), format!("{:016x}", own.span));
            let ids = [("traceID".into(), trace), ("spanID".into(), span)];
            context.log.append.splice(0..0, ids);
        }
        entry.identify(context.client_ip(), context.notes.user.as_deref());
        entry.append(std::mem::take(&mut context.log.append));
    }
    Routed {
        outcome,
        headers: context.headers,
        encodings: context.encodings,
        trace: context.trace,
        query: context.query,
        changed: context.changed,
        user: context.notes.user,
        max_body_size: context.max_body_size,
        later,
    }
}

fn finish(headers: &mut HeaderMap, changes: Changes, is_foreign: bool) {
    headers.entry(SERVER).or_insert(NAME);
    changes.apply(headers, is_foreign);
}

/// The application's response. Where HTTP has no body, the application still runs to its end:
/// dropping its body would tell it that the client is gone.
fn application<B>(
    response: Response<B>,
    changes: Changes,
    encode: Option<(Wanted, &Core)>,
    head: bool,
    mut exchange: Exchange,
) -> Response<ResponseBody<B>>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
{
    let (mut parts, body) = response.into_parts();
    finish(&mut parts.headers, changes, true);
    exchange.answered(parts.status, &parts.headers);
    executor::note_response();
    let bodiless = matches!(
        parts.status,
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if !head && !bodiless {
        let mut source = Source::Application(body);
        if let Some((wanted, core)) = encode {
            source = wanted.apply(&mut parts, source, &core.compressed);
        }
        exchange.finished = source.is_end_stream();
        return Response::from_parts(parts, ResponseBody::new(source, exchange));
    }
    exchange.finished = true;
    if head
        && !bodiless
        && let Some(length) = body.size_hint().exact()
        && length > 0
    {
        parts
            .headers
            .entry(CONTENT_LENGTH)
            .or_insert(HeaderValue::from(length));
    }
    if !body.is_end_stream() {
        tokio::task::spawn_local(discard(body));
    }
    let mut source = Source::Content(Content::Empty);
    if let Some((wanted, core)) = encode {
        source = wanted.apply(&mut parts, source, &core.compressed);
    }
    Response::from_parts(parts, ResponseBody::new(source, exchange))
}

/// Takes a body that nobody wants to its end.
pub(crate) async fn discard<B: Body<Data = Bytes, Error = io::Error> + Unpin>(mut body: B) {
    while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}
