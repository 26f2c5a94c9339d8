//! Routes: the configuration's handlers in a form that is executed. Made once per front thread.
//!
//! ```text
//! listener -> hosts -> site -> routes -> Outcome: an answer, a file, a script
//! ```

mod candidate;
pub(crate) mod context;
pub(crate) mod header;
mod matcher;
pub(crate) mod pattern;
mod php;
mod root;
mod template;
pub(crate) mod worker;

use std::borrow::Cow;
use std::rc::Rc;

use bytes::Bytes;
use howdah_config::model;
use http::{Response, StatusCode};

use self::candidate::{Candidate, find, split_query};
use self::context::Context;
use self::header::Change;
use self::matcher::{HostPattern, Matcher};
use self::php::{PhpScript, PhpServer};
use self::root::RootText;
use self::template::{Text, Use};
use self::worker::WorkerFiles;
use crate::answer;
use crate::application::Script;
use crate::encode::Encoding;
use crate::files::FileOptions;
use crate::log::Logged;
use crate::lookup::Root;
use crate::path;
use crate::response::Content;

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
}

/// What the routes make of a request.
pub(crate) enum Outcome {
    /// No route answered.
    Next,
    Answer(Box<Response<Content>>),
    File(FileJob),
    Script(ScriptJob),
}

impl Outcome {
    fn answer(response: Response<Content>) -> Self {
        Self::Answer(Box::new(response))
    }
}

/// A file to send.
pub(crate) struct FileJob {
    pub(crate) root: Rc<Root>,
    /// Normalised.
    pub(crate) path: String,
    /// Where a directory without its slash is redirected to; `None` after a rewrite.
    pub(crate) redirect_query: Option<String>,
    pub(crate) options: Rc<FileOptions>,
}

impl FileJob {
    fn new(root: Rc<Root>, options: Rc<FileOptions>, context: &Context<'_>) -> Self {
        let redirect_query = (!context.rewritten).then(|| context.query().to_owned());
        Self {
            root,
            path: context.path.clone().into_owned(),
            redirect_query,
            options,
        }
    }
}

/// A script to run.
pub(crate) struct ScriptJob {
    /// The classic pool is 0, worker pools follow in the order of the configuration.
    pub(crate) pool: usize,
    pub(crate) script: Script,
    pub(crate) env: Vec<(String, String)>,
}

/// A site, ready to serve.
#[derive(Debug)]
pub(crate) struct Site {
    routes: Box<[Route]>,
    pub(crate) access_log: Option<Logged>,
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
    Encode(Rc<Encoding>),
    Redirect {
        to: Text,
        status: StatusCode,
    },
    Rewrite {
        path: Text,
        query: Option<Text>,
    },
    StripPrefix(String),
    TryFiles {
        candidates: Box<[Candidate]>,
        fallback: Option<StatusCode>,
    },
    Chain(Box<[Route]>),
    Respond {
        body: RespondBody,
        status: StatusCode,
        close: bool,
    },
    PhpServer(Box<PhpServer>),
    Php(PhpScript),
    FileServer {
        options: Rc<FileOptions>,
        root: Option<RootText>,
    },
}

#[derive(Debug)]
enum RespondBody {
    Constant(Bytes),
    Text(Text),
}

/// The sites of one listener by host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// The most specific first: names, then wildcards, then the site for all.
    sites: Vec<(HostPattern, Rc<Site>)>,
}

impl Hosts {
    /// `indices`: the sites of `config` that the listener serves, `port` what they name.
    pub(crate) fn new(config: &model::Config, indices: &[usize], sites: &[Rc<Site>]) -> Self {
        let mut hosts: Vec<(HostPattern, Rc<Site>)> = Vec::new();
        for index in indices {
            for address in &config.sites[*index].addresses {
                let pattern = address
                    .host
                    .as_deref()
                    .map_or(HostPattern::Any, HostPattern::new);
                hosts.push((pattern, Rc::clone(&sites[*index])));
            }
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
    pub(crate) fn compile(site: &model::Site, workers: &WorkerFiles) -> Result<Self, RouteError> {
        Ok(Self {
            routes: compile(&site.routes, workers)?,
            access_log: site.access_log.as_ref().map(|log| {
                if log.errors_only {
                    Logged::Errors
                } else {
                    Logged::All
                }
            }),
        })
    }

    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        run(&self.routes, context)
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
            model::Handler::Header(changes) => {
                let changes = changes
                    .iter()
                    .map(|change| Change::compile(change).map(Rc::new));
                Self::Header(changes.collect::<Result<_, _>>()?)
            }
            model::Handler::Encode(encode) => Self::Encode(Rc::new(Encoding::compile(encode)?)),
            model::Handler::Redirect { to, status } => Self::Redirect {
                to: Text::new(to),
                status: self::status(*status)?,
            },
            model::Handler::Rewrite(to) => {
                let (path, query) = split_query(to);
                Self::Rewrite {
                    path: Text::new(&path),
                    query: query.as_ref().map(Text::new),
                }
            }
            model::Handler::StripPrefix(prefix) => {
                Self::StripPrefix(prefix.trim_end_matches('/').to_owned())
            }
            model::Handler::TryFiles(try_files) => Self::TryFiles {
                candidates: try_files.candidates.iter().map(Candidate::new).collect(),
                fallback: try_files.fallback_status.map(self::status).transpose()?,
            },
            model::Handler::Chain(routes) => Self::Chain(compile(routes, workers)?),
            model::Handler::Respond {
                body,
                status,
                close,
            } => Self::Respond {
                body: match body.as_text() {
                    Some(text) => RespondBody::Constant(Bytes::copy_from_slice(text.as_bytes())),
                    None => RespondBody::Text(Text::new(body)),
                },
                status: self::status(*status)?,
                close: *close,
            },
            model::Handler::PhpServer(server) => {
                Self::PhpServer(Box::new(PhpServer::compile(server, workers)?))
            }
            model::Handler::Php(script) => Self::Php(PhpScript::compile(script, workers)),
            model::Handler::FileServer(files) => Self::FileServer {
                options: Rc::new(FileOptions::compile(files, Rc::default())),
                root: files.root.as_ref().map(RootText::new),
            },
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
                for change in changes {
                    let pending = change.prepare(context);
                    context.headers.extend(pending);
                }
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
            Self::Rewrite { path, query } => rewrite(path, query.as_ref(), context),
            Self::StripPrefix(prefix) => {
                strip_prefix(prefix, context);
                Outcome::Next
            }
            Self::TryFiles {
                candidates,
                fallback,
            } => try_files(candidates, *fallback, context),
            Self::Chain(routes) => run(routes, context),
            Self::Respond {
                body,
                status,
                close,
            } => {
                let body = match body {
                    RespondBody::Constant(bytes) => bytes.clone(),
                    RespondBody::Text(text) => match text.evaluate(context, Use::Uri) {
                        Cow::Borrowed(text) => Bytes::copy_from_slice(text.as_bytes()),
                        Cow::Owned(text) => text.into(),
                    },
                };
                let mut response = answer::text(*status, body);
                if *close {
                    answer::close(&mut response);
                }
                Outcome::answer(response)
            }
            Self::PhpServer(server) => server.run(context),
            Self::Php(script) => script.run(context),
            Self::FileServer { options, root } => {
                let root = match root {
                    None => Some(Rc::clone(&context.root)),
                    Some(root) => root.evaluate(context),
                };
                match root {
                    Some(root) => Outcome::File(FileJob::new(root, Rc::clone(options), context)),
                    None => Outcome::answer(answer::not_found()),
                }
            }
        }
    }
}

fn rewrite(path: &Text, query: Option<&Text>, context: &mut Context<'_>) -> Outcome {
    let new_query = query.map(|query| query.evaluate(context, Use::Uri).into_owned());
    let evaluated = path.evaluate(context, Use::Uri).into_owned();
    // A placeholder such as `{uri}` brings a query of its own.
    let (new_path, own_query) = match evaluated.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (evaluated.as_str(), None),
    };
    if !new_path.is_empty() {
        match path::normalise(new_path) {
            Ok(path) => context.set_path(path.into_owned()),
            Err(error) => return Outcome::answer(answer::bad_request(&error.to_string())),
        }
    }
    let query = match (own_query, new_query) {
        (Some(own), Some(new)) => Some(format!("{own}?{new}")),
        (Some(own), None) => Some(own.to_owned()),
        (None, new) => new,
    };
    if query.is_some() {
        context.query = query;
    }
    Outcome::Next
}

fn strip_prefix(prefix: &str, context: &mut Context<'_>) {
    let Some((start, rest)) = context.path.split_at_checked(prefix.len()) else {
        return;
    };
    if start.eq_ignore_ascii_case(prefix) && !prefix.is_empty() {
        let rest = path::clean(rest).into_owned();
        context.set_path(rest);
    }
}

fn try_files(
    candidates: &[Candidate],
    fallback: Option<StatusCode>,
    context: &mut Context<'_>,
) -> Outcome {
    let root = Rc::clone(&context.root);
    let Some(found) = find(candidates, context, &root, &[]) else {
        return match fallback {
            Some(status) => Outcome::answer(answer::plain(status)),
            None => Outcome::Next,
        };
    };
    let query = found
        .query
        .map(|query| query.evaluate(context, Use::Uri).into_owned());
    let path = found.path.into_owned();
    context.set_path(path);
    if query.is_some() {
        context.query = query;
    }
    Outcome::Next
}
