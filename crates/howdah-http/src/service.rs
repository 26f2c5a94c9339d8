//! A request on its way to a response.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use howdah_cgi::Host;
use http::header::{CONTENT_LENGTH, HOST, HeaderValue, SERVER};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;

use crate::answer;
use crate::application::{AppRequest, Application, Connection, Interim};
use crate::body::{self, BodyError};
use crate::check::check;
use crate::connection::state::ConnectionState;
use crate::encode::{Encodings, Wanted};
use crate::executor;
use crate::files;
use crate::log::LogEntry;
use crate::path;
use crate::response::{Content, Exchange, ResponseBody, Source};
use crate::route::Outcome;
use crate::route::context::Context;
use crate::route::header::Pending;
use crate::thread::{Core, Thread};

const NAME: HeaderValue = HeaderValue::from_static("Howdah");

/// What the routes decided, with nothing borrowed from the request.
struct Routed {
    outcome: Outcome,
    headers: Vec<Pending>,
    encodings: Encodings,
    /// `None`: as sent.
    query: Option<String>,
}

impl Routed {
    fn answer(response: Response<Content>) -> Self {
        Self {
            outcome: Outcome::Answer(Box::new(response)),
            headers: Vec::new(),
            encodings: Encodings::default(),
            query: None,
        }
    }
}

/// Answers one request of the connection.
pub(crate) async fn handle<A: Application>(
    (thread, connection, state): (Rc<Thread<A>>, Rc<Connection>, Rc<ConnectionState>),
    listener: usize,
    mut exchange: Exchange,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody<A::Body>>, Infallible> {
    let core = &*thread.core;
    let id = core.next_id();
    let (mut parts, incoming) = request.into_parts();
    let checked = check(
        &mut parts,
        state.header_bytes(),
        core.limits.max_header_size,
    );
    let ambiguous = state.is_ambiguous();
    let routed = match checked {
        _ if ambiguous => Routed::answer(answer::bad_request("the body has two lengths")),
        Ok(()) => route(core, &connection, listener, id, &parts, &mut exchange),
        Err(response) => Routed::answer(*response),
    };
    let Routed {
        outcome,
        headers,
        encodings,
        query,
    } = routed;
    let wanted = encodings.wanted(&parts.method, &parts.headers);
    let http1 = parts.version < Version::HTTP_2;
    let head = parts.method == Method::HEAD;
    let has_body = !incoming.is_end_stream();
    let content = match outcome {
        Outcome::Answer(response) => *response,
        Outcome::Next => answer::not_found(),
        Outcome::File(job) => files::serve(job, &parts, &core.files, wanted.is_some()).await,
        Outcome::Script(job) => match body::read(incoming, &core.limits, &core.spool, id).await {
            Ok(body) => {
                let interim = Interim::new(&state, parts.version);
                let request = AppRequest {
                    id,
                    query: query.unwrap_or_else(|| parts.uri.query().unwrap_or("").to_owned()),
                    method: parts.method,
                    original_uri: parts.uri,
                    version: parts.version,
                    headers: parts.headers,
                    body,
                    connection,
                    pool: job.pool,
                    script: job.script,
                    env: job.env,
                    remote_user: None,
                };
                let response = Rc::clone(&thread.app).call(request, interim).await;
                let encode = wanted.map(|wanted| (wanted, core));
                return Ok(application(response, headers, encode, head, exchange));
            }
            Err(error) => refuse_body(&error, id),
        },
    };
    let (mut head_parts, body) = content.into_parts();
    finish(&mut head_parts.headers, headers);
    let mut source = Source::Content(body);
    if let Some(wanted) = wanted {
        source = wanted.apply(&mut head_parts, source, &core.compressed);
    }
    if (has_body || ambiguous) && http1 {
        // The body was not read to its end, or nobody knows where it ends. The connection cannot be
        // used again, and it must not be closed so hard that the client loses the response.
        state.set_linger();
        head_parts
            .headers
            .insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    }
    exchange.status = head_parts.status.as_u16();
    exchange.finished = head || source.is_end_stream();
    executor::note_response();
    Ok(Response::from_parts(
        head_parts,
        ResponseBody::new(source, exchange),
    ))
}

/// Runs the routes of the site that the request is for.
fn route(
    core: &Core,
    connection: &Connection,
    listener: usize,
    id: u64,
    parts: &Parts,
    exchange: &mut Exchange,
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
    let Some(site) = core.hosts(listener).find(host.map_or("", |host| host.name)) else {
        return Routed::answer(answer::explain(
            StatusCode::NOT_FOUND,
            "No site is configured for this host.",
        ));
    };
    if let Some(logged) = site.access_log {
        exchange.log(LogEntry::new(logged, id, connection.remote, parts));
    }
    let path: Cow<'_, str> = match path::normalise(parts.uri.path()) {
        Ok(path) => path,
        Err(error) => return Routed::answer(answer::bad_request(&error.to_string())),
    };
    let mut context = Context {
        parts,
        connection,
        id,
        host,
        path,
        rewritten: false,
        query: None,
        path_info: String::new(),
        root: Rc::clone(&core.default_root),
        headers: Vec::new(),
        encodings: Encodings::default(),
        lookup: &core.lookup,
        roots: &core.roots,
    };
    let outcome = site.run(&mut context);
    Routed {
        outcome,
        headers: context.headers,
        encodings: context.encodings,
        query: context.query,
    }
}

fn refuse_body(error: &BodyError, id: u64) -> Response<Content> {
    let status = match error {
        BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Timeout => StatusCode::REQUEST_TIMEOUT,
        BodyError::Client => StatusCode::BAD_REQUEST,
        BodyError::Storage(cause) => {
            let request = format_args!("{id:016x}");
            tracing::error!(%request, error = %cause, "a request body cannot be stored");
            StatusCode::INSUFFICIENT_STORAGE
        }
    };
    answer::explain(status, &error.to_string())
}

fn finish(headers: &mut HeaderMap, changes: Vec<Pending>) {
    headers.entry(SERVER).or_insert(NAME);
    for change in changes {
        change.apply(headers);
    }
}

/// The application's response. Where HTTP has no body, the application still runs to its end:
/// dropping its body would tell it that the client is gone.
fn application<B>(
    response: Response<B>,
    changes: Vec<Pending>,
    encode: Option<(Wanted, &Core)>,
    head: bool,
    mut exchange: Exchange,
) -> Response<ResponseBody<B>>
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
{
    let (mut parts, body) = response.into_parts();
    finish(&mut parts.headers, changes);
    exchange.status = parts.status.as_u16();
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

async fn discard<B: Body<Data = Bytes, Error = io::Error> + Unpin>(mut body: B) {
    while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}
