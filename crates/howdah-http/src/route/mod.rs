//! Routes: the configuration's handlers in a form that is executed. Made once per front thread.
//!
//! ```text
//! listener -> hosts -> site -> routes -> Outcome: an answer, a file, a script
//! ```

mod candidate;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod error;
mod expression;
pub(crate) mod forward_auth;
pub(crate) mod header;
pub(crate) mod intercept;
mod map;
mod matcher;
pub(crate) mod notes;
mod parameters;
pub(crate) mod pattern;
mod php;
mod policy;
pub(crate) mod proxies;
pub(crate) mod proxy;
mod replacement;
mod respond;
mod root;
mod template;
mod uri;
mod uri_query;
pub(crate) mod worker;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use howdah_config::model::{self, TryPolicy};
use howdah_observe::access::Log;
use http::header::HOST;
use http::{Method, Response, StatusCode};

use self::candidate::Candidate;
use self::context::Context;
use self::copy::Copy;
use self::error::ErrorRoutes;
use self::forward_auth::{ForwardAuth, Question};
use self::header::{Change, Pending};
use self::intercept::Intercept;
use self::map::Map;
use self::matcher::{HostPattern, Matcher};
use self::notes::Var;
use self::php::{PhpScript, PhpServer};
use self::policy::choose;
use self::proxy::{Proxy, ProxyJob};
use self::respond::Body;
use self::root::RootText;
use self::template::{Text, Use};
use self::uri::{Rewrite, UriChange};
use self::worker::WorkerFiles;
use crate::answer;
use crate::application::Script;
use crate::auth::{Auth, Check, Checked};
use crate::encode::Encoding;
use crate::endpoint::EndpointName;
use crate::fastcgi::FastCgiJob;
use crate::files::FileOptions;
use crate::listener::SiteAddress;
use crate::lookup::{Kind, Root};
use crate::response::Content;
use crate::upstream::tls::EncryptionError;

/// Where hubs answer.
const HUB_PATH: &str = "/.well-known/mercure";

/// Why a route cannot be executed. Found when the server starts, never by a request.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RouteError(#[from] RouteErrorKind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteErrorKind {
    #[error("`{text}` is no regular expression: {reason}")]
    Regex { text: String, reason: String },
    #[error("`{text}` is no header name")]
    HeaderName { text: String },
    #[error("the value of the header `{name}` has control characters")]
    HeaderValue { name: String },
    #[error("`{text}` is no method")]
    Method { text: String },
    #[error("{status} is no status of a response: use 200 to 599")]
    Status { status: u16 },
    #[error(transparent)]
    Upstream(#[from] EncryptionError),
}

/// What the routes make of a request.
pub(crate) enum Outcome {
    /// No route answered.
    Next,
    Answer(Box<Response<Content>>),
    File(FileJob),
    Script(ScriptJob),
    Endpoint(EndpointName),
    Proxy(Box<ProxyJob>),
    /// A password has to be checked; then the routes are run again.
    Check(Box<Check>),
    /// A server has to be asked; then the routes are run again.
    Ask(Box<Question>),
    /// In `handle_response`: the response is sent after all, with this status.
    CopyResponse(Option<StatusCode>),
    /// The connection is closed.
    Abort,
}

/// The answer to a request that cannot be what the configuration makes of it.
type Refusal = Box<Response<Content>>;

impl Outcome {
    fn answer(response: Response<Content>) -> Self {
        Self::Answer(Box::new(response))
    }

    /// Of a change of the request.
    fn of(change: Result<(), Refusal>) -> Self {
        change.map_or_else(Self::Answer, |()| Self::Next)
    }
}

/// A file to send.
pub(crate) struct FileJob {
    pub(crate) root: Rc<Root>,
    /// Normalised.
    pub(crate) path: String,
    /// Where a directory without its slash is redirected to.
    pub(crate) redirect: Option<DirectoryRedirect>,
    pub(crate) options: Rc<FileOptions>,
    /// Of the answer with the file, if it is not 200.
    pub(crate) status: Option<StatusCode>,
}

/// A path that gets a slash.
pub(crate) struct DirectoryRedirect {
    /// Normalised; `None`: that of the job.
    pub(crate) path: Option<String>,
    pub(crate) query: String,
}

impl FileJob {
    fn new(root: Rc<Root>, options: Rc<FileOptions>, context: &Context<'_>) -> Self {
        let asked = options.canonical.then(|| context.slashless_path());
        let redirect = asked.flatten().map(|path| DirectoryRedirect {
            path: context.is_rewritten().then(|| path.into_owned()),
            query: context.query().to_owned(),
        });
        Self {
            root,
            path: context.path.clone().into_owned(),
            redirect,
            options,
            status: context.problem.map(|problem| problem.status),
        }
    }
}

/// A script to run.
pub(crate) struct ScriptJob {
    /// The classic pool is 0, worker pools follow in the order of the configuration.
    pub(crate) pool: usize,
    pub(crate) script: Script,
    pub(crate) env: Vec<(String, String)>,
    /// What runs it in place of a pool.
    pub(crate) fastcgi: Option<FastCgiJob>,
    /// The hub of the site, by its index in [`model::Config::hubs`].
    pub(crate) hub: Option<usize>,
    /// Early hints are learned from its answers.
    pub(crate) learns_hints: bool,
}

/// A site, ready to serve.
#[derive(Debug)]
pub(crate) struct Site {
    routes: Box<[Route]>,
    errors: Box<[ErrorRoutes]>,
    pub(crate) logs: Arc<[Log]>,
}

#[derive(Debug)]
struct Route {
    matcher: Option<Matcher>,
    handler: Handler,
    group: Option<u32>,
}

#[derive(Debug)]
enum Handler {
    Root(RootText),
    Header(Box<[Rc<Change>]>),
    DeferredHeader(Box<[Rc<Change>]>),
    Encode(Rc<Encoding>),
    Redirect {
        to: Text,
        status: StatusCode,
    },
    Rewrite(Rewrite),
    StripPrefix(String),
    TryFiles {
        candidates: Box<[Candidate]>,
        fallback: Option<StatusCode>,
        policy: TryPolicy,
    },
    Chain(Box<[Route]>),
    HandleErrors(Rc<[ErrorRoutes]>),
    Respond {
        body: Body,
        status: Status,
        close: bool,
    },
    PhpServer(Box<PhpServer>),
    Php(PhpScript),
    FileServer {
        options: Rc<FileOptions>,
        root: Option<RootText>,
        pass_thru: bool,
        status: Status,
    },
    Vars(Box<[(Rc<str>, Text)]>),
    Method(Text),
    Uri(UriChange),
    RequestHeader(Box<[Rc<Change>]>),
    RequestBody {
        max_size: u64,
    },
    Endpoint(EndpointName),
    Mercure(usize),
    LogSkip,
    LogAppend(String, Text),
    Tracing(Text),
    BasicAuth(Rc<Auth>),
    Intercept(Rc<Intercept>),
    Error {
        message: Text,
        status: Status,
    },
    Abort,
    Proxy(Rc<Proxy>),
    ForwardAuth(Rc<ForwardAuth>),
    Map(Box<Map>),
    CopyResponse(Status),
    CopyResponseHeaders(Rc<Copy>),
}

/// A compiled [`model::Status`].
#[derive(Debug)]
enum Status {
    Default,
    Code(StatusCode),
    Text(Text),
}

impl Status {
    fn compile(status: &model::Status) -> Result<Self, RouteError> {
        Ok(match status {
            model::Status::Default => Self::Default,
            model::Status::Code(code) => Self::Code(self::status(*code)?),
            model::Status::Text(text) => Self::Text(Text::new(text)),
        })
    }

    /// The code; without one that of the error that is answered, if there is one.
    fn evaluate(&self, context: &Context<'_>) -> Option<StatusCode> {
        match self {
            Self::Default => context.problem.map(|problem| problem.status),
            Self::Code(status) => Some(*status),
            Self::Text(text) => {
                let text = text.evaluate(context, Use::Uri);
                let code = text.trim().parse().ok().and_then(|code| status(code).ok());
                if code.is_none() {
                    tracing::warn!(%text, "a placeholder for a status code is none");
                }
                Some(code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
            }
        }
    }
}

/// The sites of one listener by host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// The most specific first: names, then wildcards, then the site for all.
    sites: Vec<(HostPattern, Rc<Site>)>,
}

impl Hosts {
    /// `served`: the addresses of the sites of `config` that the listener serves.
    pub(crate) fn new(config: &model::Config, served: &[SiteAddress], sites: &[Rc<Site>]) -> Self {
        let mut hosts: Vec<(HostPattern, Rc<Site>)> = Vec::new();
        for (site, address) in served {
            let host = config.sites[*site].addresses[*address].host.as_deref();
            let pattern = host.map_or(HostPattern::Any, HostPattern::new);
            hosts.push((pattern, Rc::clone(&sites[*site])));
        }
        hosts.sort_by_key(|(pattern, _)| match pattern {
            HostPattern::Exact(_) => 0,
            HostPattern::Below(_) => 1,
            HostPattern::Any => 2,
        });
        Self { sites: hosts }
    }

    pub(crate) fn find(&self, host: &str) -> Option<&Rc<Site>> {
        self.sites
            .iter()
            .find(|(pattern, _)| pattern.matches(host))
            .map(|(_, site)| site)
    }
}

impl Site {
    pub(crate) fn compile(
        site: &model::Site,
        workers: &WorkerFiles,
        logs: Arc<[Log]>,
    ) -> Result<Self, RouteError> {
        let workers = &workers.of_site(site.hub);
        Ok(Self {
            routes: compile(&site.routes, workers)?,
            errors: compile_errors(&site.errors, workers)?.into(),
            logs,
        })
    }

    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        run(&self.routes, context)
    }

    /// Whether there is a `handle_errors`.
    pub(crate) fn handles_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The `handle_errors` that is for this status.
    pub(crate) fn errors_for(&self, status: StatusCode) -> Option<&ErrorRoutes> {
        ErrorRoutes::find(&self.errors, status)
    }
}

fn compile(routes: &[model::Route], workers: &WorkerFiles) -> Result<Box<[Route]>, RouteError> {
    let compile = |route: &model::Route| {
        Ok(Route {
            matcher: route.matcher.as_ref().map(Matcher::compile).transpose()?,
            handler: Handler::compile(&route.handler, workers)?,
            group: route.group,
        })
    };
    routes.iter().map(compile).collect()
}

fn compile_errors(
    errors: &[model::ErrorRoutes],
    workers: &WorkerFiles,
) -> Result<Vec<ErrorRoutes>, RouteError> {
    let compile = |errors| ErrorRoutes::compile(errors, workers);
    errors.iter().map(compile).collect()
}

fn run(routes: &[Route], context: &mut Context<'_>) -> Outcome {
    let mut taken: Vec<u32> = Vec::new();
    for route in routes {
        if route.group.is_some_and(|group| taken.contains(&group)) {
            continue;
        }
        if route
            .matcher
            .as_ref()
            .is_some_and(|matcher| !matcher.matches(context))
        {
            continue;
        }
        taken.extend(route.group);
        match route.handler.run(context) {
            Outcome::Next => {}
            outcome => return outcome,
        }
    }
    Outcome::Next
}

fn status(status: u16) -> Result<StatusCode, RouteError> {
    match StatusCode::from_u16(status) {
        Ok(code) if (200..600).contains(&status) => Ok(code),
        _ => Err(RouteErrorKind::Status { status }.into()),
    }
}

impl Handler {
    fn compile(handler: &model::Handler, workers: &WorkerFiles) -> Result<Self, RouteError> {
        Ok(match handler {
            model::Handler::Root(path) => Self::Root(RootText::new(path)),
            model::Handler::Header(changes) => Self::Header(self::changes(changes)?),
            model::Handler::DeferredHeader(changes) => {
                Self::DeferredHeader(self::changes(changes)?)
            }
            model::Handler::Encode(encode) => Self::Encode(Rc::new(Encoding::compile(encode)?)),
            model::Handler::Redirect { to, status } => Self::Redirect {
                to: Text::new(to),
                status: self::status(*status)?,
            },
            model::Handler::Rewrite(to) => Self::Rewrite(Rewrite::compile(to)),
            model::Handler::StripPrefix(prefix) => {
                Self::StripPrefix(prefix.trim_matches('/').to_owned())
            }
            model::Handler::TryFiles(try_files, policy) => Self::TryFiles {
                candidates: try_files.candidates.iter().map(Candidate::new).collect(),
                fallback: try_files.fallback_status.map(self::status).transpose()?,
                policy: *policy,
            },
            model::Handler::Chain(routes) => Self::Chain(compile(routes, workers)?),
            model::Handler::HandleErrors(errors) => {
                Self::HandleErrors(compile_errors(errors, workers)?.into())
            }
            model::Handler::Respond {
                body,
                status,
                close,
            } => Self::Respond {
                body: Body::compile(body),
                status: Status::compile(status)?,
                close: *close,
            },
            model::Handler::PhpServer(server) => {
                Self::PhpServer(Box::new(PhpServer::compile(server, workers)?))
            }
            model::Handler::Php(script) => Self::Php(PhpScript::compile(script, workers)),
            model::Handler::FileServer(files) => Self::FileServer {
                options: Rc::new(FileOptions::compile(files, Rc::default())),
                root: files.root.as_ref().map(RootText::new),
                pass_thru: files.pass_thru,
                status: Status::compile(&files.status)?,
            },
            model::Handler::Mercure(hub) => Self::Mercure(*hub),
            model::Handler::Tracing(span) => Self::Tracing(Text::new(span)),
            model::Handler::LogSkip => Self::LogSkip,
            model::Handler::LogAppend(name, value) => {
                Self::LogAppend(name.clone(), Text::new(value))
            }
            model::Handler::Metrics { openmetrics } => Self::Endpoint(EndpointName::Metrics {
                openmetrics: *openmetrics,
            }),
            model::Handler::Vars(vars) => Self::Vars(
                vars.iter()
                    .map(|(name, value)| (name.as_str().into(), Text::new(value)))
                    .collect(),
            ),
            model::Handler::Method(method) => Self::Method(Text::new(method)),
            model::Handler::Uri(change) => Self::Uri(UriChange::compile(change)?),
            model::Handler::RequestHeader(changes) => Self::RequestHeader(self::changes(changes)?),
            model::Handler::RequestBody { max_size } => Self::RequestBody {
                max_size: *max_size,
            },
            model::Handler::BasicAuth(auth) => Self::BasicAuth(Rc::new(Auth::compile(auth))),
            model::Handler::Intercept(intercept) => {
                Self::Intercept(Rc::new(Intercept::compile(intercept, workers)?))
            }
            model::Handler::Error { message, status } => Self::Error {
                message: Text::new(message),
                status: Status::compile(status)?,
            },
            model::Handler::Abort => Self::Abort,
            model::Handler::ReverseProxy(proxy) => {
                Self::Proxy(Rc::new(Proxy::compile(proxy, workers)?))
            }
            model::Handler::ForwardAuth(auth) => {
                Self::ForwardAuth(Rc::new(ForwardAuth::compile(auth, workers)?))
            }
            model::Handler::Map(map) => Self::Map(Box::new(Map::compile(map)?)),
            model::Handler::CopyResponse(status) => Self::CopyResponse(Status::compile(status)?),
            model::Handler::CopyResponseHeaders(copy) => {
                Self::CopyResponseHeaders(Rc::new(Copy::compile(copy)?))
            }
        })
    }

    fn run(&self, context: &mut Context<'_>) -> Outcome {
        match self {
            Self::Root(root) => match root.evaluate(context) {
                Some(root) => {
                    context.root = root;
                    Outcome::Next
                }
                None => Outcome::answer(answer::not_found()),
            },
            Self::Header(changes) => {
                let pending = prepare(changes, context);
                context.headers.add(pending);
                Outcome::Next
            }
            Self::DeferredHeader(changes) => {
                let pending = prepare(changes, context);
                context.headers.defer(pending);
                Outcome::Next
            }
            Self::Encode(encoding) => {
                context.encodings.add(encoding);
                Outcome::Next
            }
            Self::Redirect { to, status } => {
                let location = to.evaluate(context, Use::Uri);
                Outcome::answer(answer::redirect(*status, &location))
            }
            Self::Rewrite(rewrite) => Outcome::of(rewrite.run(context)),
            Self::StripPrefix(prefix) => {
                uri::strip_prefix(prefix, context);
                Outcome::Next
            }
            Self::TryFiles {
                candidates,
                fallback,
                policy,
            } => try_files(*policy, candidates, *fallback, context),
            Self::Chain(routes) => {
                let outer = context.errors.len();
                let outcome = run(routes, context);
                if matches!(outcome, Outcome::Next) {
                    context.errors.truncate(outer);
                }
                outcome
            }
            Self::HandleErrors(errors) => {
                context.errors.push(Rc::clone(errors));
                Outcome::Next
            }
            Self::Respond {
                body,
                status,
                close,
            } => {
                let status = status.evaluate(context).unwrap_or(StatusCode::OK);
                let mut response = body.answer(context, status);
                if *close {
                    answer::close(&mut response);
                }
                Outcome::answer(response)
            }
            Self::Endpoint(name) => Outcome::Endpoint(*name),
            Self::Mercure(hub) => {
                let own = context.path.strip_prefix(HUB_PATH);
                if own.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                    Outcome::Endpoint(EndpointName::Mercure(*hub))
                } else {
                    Outcome::Next
                }
            }
            Self::Tracing(span) => {
                context.begin_trace();
                let name = span.evaluate(context, Use::File).into_owned();
                if let Some(trace) = &mut context.trace {
                    trace.name = name;
                }
                Outcome::Next
            }
            Self::LogSkip => {
                context.log.skip = true;
                Outcome::Next
            }
            Self::LogAppend(name, value) => {
                let value = value.evaluate(context, Use::File).into_owned();
                context.log.append.push((name.clone(), value));
                Outcome::Next
            }
            Self::PhpServer(server) => server.run(context),
            Self::Php(script) => script.run(context),
            Self::FileServer {
                options,
                root,
                pass_thru,
                status,
            } => {
                let root = match root {
                    None => Some(Rc::clone(&context.root)),
                    Some(root) => root.evaluate(context),
                };
                let Some(root) = root else {
                    return Outcome::answer(answer::not_found());
                };
                if *pass_thru && !exists(&root, options, context) {
                    return Outcome::Next;
                }
                let mut job = FileJob::new(root, Rc::clone(options), context);
                job.status = status.evaluate(context);
                Outcome::File(job)
            }
            Self::Vars(vars) => {
                for (name, value) in vars {
                    let value = Var::new(|purpose| value.evaluate(context, purpose).into_owned());
                    context.notes.set_var(name, value);
                }
                Outcome::Next
            }
            Self::Method(text) => match method(text, context) {
                Ok(method) => {
                    context.parts_mut().method = method;
                    Outcome::Next
                }
                Err(refusal) => Outcome::Answer(refusal),
            },
            Self::Uri(change) => Outcome::of(change.run(context)),
            Self::RequestHeader(changes) => {
                change_request(changes, context);
                Outcome::Next
            }
            Self::RequestBody { max_size } => {
                context.max_body_size = Some(*max_size);
                Outcome::Next
            }
            Self::BasicAuth(auth) => {
                match auth.check(&context.original.headers, context.verdicts) {
                    Checked::Good(user) => {
                        context.notes.user = Some(user);
                        Outcome::Next
                    }
                    Checked::Bad => Outcome::answer(auth.refusal()),
                    Checked::Unknown(check) => Outcome::Check(Box::new(check)),
                }
            }
            Self::Intercept(intercept) => {
                context.intercepts.push(Rc::clone(intercept));
                Outcome::Next
            }
            Self::Error { message, status } => {
                let message = message.evaluate(context, Use::Uri).into_owned();
                let status = status
                    .evaluate(context)
                    .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Outcome::answer(answer::error(status, Cow::Owned(message)))
            }
            Self::Abort => Outcome::Abort,
            Self::Proxy(proxy) => match proxy.job(context) {
                Ok(job) => Outcome::Proxy(Box::new(job)),
                Err(refusal) => Outcome::Answer(refusal),
            },
            Self::ForwardAuth(auth) => auth.run(context),
            Self::Map(map) => {
                map.run(context);
                Outcome::Next
            }
            Self::CopyResponse(status) => Outcome::CopyResponse(status.evaluate(context)),
            Self::CopyResponseHeaders(copy) => {
                context.copies.push(Rc::clone(copy));
                Outcome::Next
            }
        }
    }
}

fn changes(changes: &[model::HeaderChange]) -> Result<Box<[Rc<Change>]>, RouteError> {
    changes
        .iter()
        .map(|change| Change::compile(change).map(Rc::new))
        .collect()
}

fn prepare(changes: &[Rc<Change>], context: &Context<'_>) -> Vec<Pending> {
    let pending = changes.iter().filter_map(|change| change.prepare(context));
    pending.collect()
}

/// `request_header`. A request has one `Host` at the most.
fn change_request(changes: &[Rc<Change>], context: &mut Context<'_>) {
    let pending = prepare(changes, context);
    let headers = &mut context.parts_mut().headers;
    for change in pending {
        change.apply(headers);
    }
    if headers.get_all(HOST).iter().nth(1).is_some()
        && let Some(last) = headers.get_all(HOST).iter().next_back().cloned()
    {
        headers.insert(HOST, last);
    }
}

/// Whether `file_server` finds anything to send. What it hides is not there.
fn exists(root: &Root, options: &FileOptions, context: &Context<'_>) -> bool {
    let kind = |path: &str| {
        if options.hides(root.prefix(), path) {
            Kind::Missing
        } else {
            context.lookup.kind(root, path)
        }
    };
    match kind(&context.path) {
        Kind::File => true,
        Kind::Missing => false,
        Kind::Directory => {
            options.lists()
                || options.index.iter().any(|index| {
                    kind(&format!("{}/{index}", context.path_without_slash())) == Kind::File
                })
        }
    }
}

/// The method that a text names.
fn method(text: &Text, context: &Context<'_>) -> Result<Method, Refusal> {
    let method = text.evaluate(context, Use::Uri).to_ascii_uppercase();
    Method::from_bytes(method.as_bytes()).map_err(|_| Box::new(answer::bad_request("bad method")))
}

fn try_files(
    policy: TryPolicy,
    candidates: &[Candidate],
    fallback: Option<StatusCode>,
    context: &mut Context<'_>,
) -> Outcome {
    let root = Rc::clone(&context.root);
    // What is answered in the end is the last: nothing before it is taken without a look.
    let policy = match (policy, fallback) {
        (TryPolicy::FirstExistFallback, Some(_)) => TryPolicy::FirstExist,
        _ => policy,
    };
    let Some(found) = choose(policy, candidates, context, &root, &[]) else {
        return match fallback {
            Some(status) => Outcome::answer(answer::plain(status)),
            None => Outcome::Next,
        };
    };
    let query = found
        .query
        .map(|query| query.evaluate_query(context).into_owned());
    let path = found.path.into_owned();
    context.set_path(path);
    if query.is_some() {
        context.query = query;
    }
    Outcome::Next
}
