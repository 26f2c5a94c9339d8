//! The phase in which a response may be replaced, by `intercept`, `handle_response` and `handle_errors`.
//!
//! The data is kept only for requests that may need it.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use howdah_cgi::Host;
use http::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HOST,
    LAST_MODIFIED, TRANSFER_ENCODING, VARY,
};
use http::request::Parts;
use http::{Response, response};

use super::discard::discard_source;
use super::pending::PendingRequest;
use super::respond::Responder;
use crate::answer::files::stat::Root;
use crate::message::application::Application;
use crate::message::header_change::Changes;
use crate::message::path;
use crate::message::reply::Failure;
use crate::message::response::{Content, Source};
use crate::message::upstream_note::UpstreamNote;
use crate::route::context::Context;
use crate::route::copied_headers;
use crate::route::error::{ErrorRoutes, Problem};
use crate::route::intercept::Intercept;
use crate::route::outcome::Outcome;
use crate::route::site::Site;
use crate::route::variables::Variables;
use crate::route::verdict::Verdict;

/// The request after its routes have run.
pub(super) struct DeferredHandlers {
    site: Rc<Site>,
    /// As sent.
    original: Parts,
    changed: Option<Box<Parts>>,
    path: String,
    escaped: Option<String>,
    query: Option<String>,
    root: Rc<Root>,
    /// The body, if a placeholder has used it.
    body: Option<Verdict>,
    notes: Variables,
    /// The outermost first.
    intercepts: Vec<Rc<Intercept>>,
    /// Like `intercepts`; those of the site come first.
    errors: Vec<Rc<[ErrorRoutes]>>,
}

/// A response with a body of the application or the server.
type AnyResponse<A> = Response<Source<<A as Application>::Body>>;

impl DeferredHandlers {
    /// `None` if nothing can replace the response.
    pub(super) fn capture(site: &Rc<Site>, context: &Context<'_>) -> Option<Box<Self>> {
        let handles_errors = site.handles_errors() || !context.errors.is_empty();
        if !handles_errors && context.intercepts.is_empty() {
            return None;
        }
        Some(Box::new(Self {
            site: Rc::clone(site),
            original: context.original.clone(),
            changed: context.changed.clone(),
            path: context.path.clone().into_owned(),
            escaped: context.escaped.clone(),
            query: context.query.clone(),
            root: Rc::clone(&context.root),
            body: context.known_body().cloned().map(Verdict::Body),
            notes: context.notes.clone(),
            intercepts: context.intercepts.clone(),
            errors: context.errors.clone(),
        }))
    }

    /// The response or its replacement; `None` if the connection has to be closed. Adds to the changes of the header.
    pub(super) async fn apply<A: Application>(
        self,
        mut response: AnyResponse<A>,
        responder: &Responder<'_, A>,
        pending: &mut PendingRequest,
        headers: &mut Changes,
    ) -> Option<AnyResponse<A>> {
        if response.extensions().get::<Failure>().is_none() {
            response = self
                .intercept(
                    (response, &self.intercepts, None),
                    responder,
                    pending,
                    headers,
                )
                .await?;
        }
        let Some(failure) = response.extensions().get::<Failure>() else {
            return Some(response);
        };
        let problem = Problem {
            status: response.status(),
            message: failure.message.clone(),
        };
        let mut candidates = self.errors.iter().rev().map(|errors| &**errors);
        let inner = candidates.find_map(|errors| ErrorRoutes::find(errors, problem.status));
        let Some(routes) = inner.or_else(|| self.site.errors_for(problem.status)) else {
            return Some(response);
        };
        self.handle_error(response, (routes, &problem), responder, pending, headers)
            .await
    }

    /// The response by the rules for it; `problem`: the error to which it is the response.
    async fn intercept<A: Application>(
        &self,
        (response, intercepts, problem): (AnyResponse<A>, &[Rc<Intercept>], Option<&Problem>),
        responder: &Responder<'_, A>,
        pending: &mut PendingRequest,
        headers: &mut Changes,
    ) -> Option<AnyResponse<A>> {
        let (mut head, body) = response.into_parts();
        let mut intercepts = intercepts.iter().rev();
        let found = intercepts.find_map(|intercept| Some((intercept, intercept.handle(&head)?)));
        let Some((intercept, handle)) = found else {
            return Some(Response::from_parts(head, body));
        };
        let host = host(&self.original);
        let mut context = self.context(responder, host);
        context.problem = problem;
        context.response = Some(&head);
        let outcome = handle.run(&mut context);
        self.prepare(&mut context, pending, headers);
        let copies = std::mem::take(&mut context.copies);
        drop(context);
        if let Outcome::CopyResponse(status) = outcome {
            if let Some(status) = status {
                head.status = status;
                head.extensions.remove::<hyper::ext::ReasonPhrase>();
            }
            return Some(Response::from_parts(head, body));
        }
        // The application runs to its end: without its body it would assume that the client has
        // disconnected.
        discard_source(body);
        if !intercept.keeps_header {
            copied_headers::keep(&mut head.headers, &copies);
        }
        if matches!(outcome, Outcome::Next) {
            // No route responds: only the header remains.
            return Some(replace_body(head, response_with(Content::Empty)));
        }
        let response = responder.respond(outcome, pending).await?;
        let is_error = response.extensions().get::<Failure>().is_some();
        Some(if is_error {
            response
        } else {
            replace_body(head, response)
        })
    }

    async fn handle_error<A: Application>(
        &self,
        response: AnyResponse<A>,
        (routes, problem): (&ErrorRoutes, &Problem),
        responder: &Responder<'_, A>,
        pending: &mut PendingRequest,
        headers: &mut Changes,
    ) -> Option<AnyResponse<A>> {
        let host = host(&self.original);
        let mut context = self.context(responder, host);
        // As in Caddy: the routes see the original request, with the variables of its routes.
        context.changed = None;
        context.query = None;
        context.escaped = None;
        if let Ok(path) = path::normalise(self.original.uri.path()) {
            context.path = path;
        }
        context.problem = Some(problem);
        let outcome = routes.run(&mut context);
        self.prepare(&mut context, pending, headers);
        let intercepts = std::mem::take(&mut context.intercepts);
        drop(context);
        if matches!(outcome, Outcome::Next) {
            return Some(response);
        }
        let mut formed = responder.respond(outcome, pending).await?;
        if formed.extensions().get::<Failure>().is_none() {
            let rules = (formed, &*intercepts, Some(problem));
            formed = self.intercept(rules, responder, pending, headers).await?;
        }
        // An error occurred while the error page was generated: the first one is reported.
        if formed.extensions().get::<Failure>().is_some() {
            return Some(response);
        }
        let (kept, _) = response.into_parts();
        for name in [
            http::header::ALLOW,
            http::header::WWW_AUTHENTICATE,
            http::header::RETRY_AFTER,
        ] {
            if let Some(value) = kept.headers.get(&name) {
                formed.headers_mut().entry(name).or_insert(value.clone());
            }
        }
        Some(formed)
    }

    /// What the routes have set for the request that they respond to.
    fn prepare(
        &self,
        context: &mut Context<'_>,
        pending: &mut PendingRequest,
        headers: &mut Changes,
    ) {
        headers.append(std::mem::take(&mut context.headers));
        let changed = context.changed.take();
        pending.parts = changed.map_or_else(|| self.original.clone(), |parts| *parts);
        pending.query = Some(context.query().to_owned());
        // A response that is compressed again differs from the file.
        pending.with_origin = false;
    }

    fn context<'c, A>(
        &'c self,
        responder: &'c Responder<'_, A>,
        host: Option<Host<'c>>,
    ) -> Context<'c> {
        let scope = responder.scope;
        let root = Rc::clone(&self.root);
        let environment = scope.environment();
        let connection = &scope.connection;
        let mut context = Context::new(&self.original, connection, scope.id, environment, root);
        context.changed.clone_from(&self.changed);
        context.original_host = host;
        context.path = Cow::Borrowed(&self.path);
        context.escaped.clone_from(&self.escaped);
        context.query.clone_from(&self.query);
        context.verdicts = self.body.as_slice();
        context.notes = self.notes.clone();
        context
    }
}

fn host(parts: &Parts) -> Option<Host<'_>> {
    Host::parse(parts.headers.get(HOST)?.to_str().ok()?)
}

fn response_with<B>(content: Content) -> Response<Source<B>> {
    Response::new(Source::Content(content))
}

/// The header of the first response with the body of the second.
fn replace_body<B>(mut first: response::Parts, second: Response<Source<B>>) -> Response<Source<B>> {
    let (second, body) = second.into_parts();
    // Header fields that describe the replaced body.
    for name in [
        CONTENT_LENGTH,
        TRANSFER_ENCODING,
        CONTENT_ENCODING,
        CONTENT_RANGE,
        ACCEPT_RANGES,
        ETAG,
        LAST_MODIFIED,
    ] {
        first.headers.remove(name);
    }
    let keeps_type = first.headers.contains_key(CONTENT_TYPE);
    for name in second.headers.keys() {
        // Either response may depend on the fields in its `Vary`.
        if *name != VARY && *name != CONTENT_TYPE {
            first.headers.remove(name);
        }
    }
    for (name, value) in &second.headers {
        if *name != CONTENT_TYPE || !keeps_type {
            first.headers.append(name.clone(), value.clone());
        }
    }
    first.status = second.status;
    let upstream = first.extensions.remove::<Arc<UpstreamNote>>();
    first.extensions = second.extensions;
    if let Some(upstream) = upstream {
        first.extensions.insert(upstream);
    }
    Response::from_parts(first, body)
}
