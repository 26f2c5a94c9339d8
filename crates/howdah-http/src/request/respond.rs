//! The phase in which the decision of the routes becomes a response: the body is read and the request answered.

use std::rc::Rc;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Uri};

use super::body;
use super::discard::discard;
use super::exchange::Exchange;
use super::receive::ReceivedRequest;
use super::route::RouteDecision;
use super::scope::RequestScope;
use crate::answer::files;
use crate::answer::hints::Page;
use crate::answer::php::ScriptJob;
use crate::answer::proxy::{self, UploadLimits};
use crate::listen::limits::Limits;
use crate::message::application::Application;
use crate::message::disconnect::DisconnectGuard;
use crate::message::endpoint::{EndpointName, EndpointRequest};
use crate::message::header_change::Changes;
use crate::message::incoming::BodyError;
use crate::message::incoming::Incoming;
use crate::message::interim::Interim;
use crate::message::progress::Progress;
use crate::message::reply;
use crate::message::request::{AppRequest, RequestBody, RoadRunnerTarget};
use crate::message::response::{Content, Source};
use crate::message::single_fields;
use crate::observe::record::Record;
use crate::route::outcome::Outcome;

/// A request that waits for its response, as the routes have left it.
pub(super) struct PendingRequest {
    pub(crate) parts: Parts,
    /// `None` when it has been taken to be read.
    pub(crate) body: Option<Incoming>,
    /// Raw, after rewrites; `None`: as sent.
    pub(crate) query: Option<String>,
    /// The client expects no body, whatever method the routes changed its method to.
    pub(crate) is_head: bool,
    /// The user that the server itself authenticated.
    pub(crate) user: Option<Rc<str>>,
    /// Bytes of the body.
    pub(crate) max_body_size: u64,
    /// The parts are needed again.
    pub(crate) is_kept: bool,
    /// The response has to name its file.
    pub(crate) with_origin: bool,
    /// Bytes of the body that was read; `None`: it was refused on the way, and not read to its end.
    pub(crate) received: Option<u64>,
}

impl PendingRequest {
    pub(super) fn new(
        received: ReceivedRequest,
        decision: &mut RouteDecision,
        limits: &Limits,
        with_origin: bool,
    ) -> Self {
        let ReceivedRequest { parts, body, .. } = received;
        Self {
            is_head: parts.method == Method::HEAD,
            parts: decision.changed.take().map_or(parts, |changed| *changed),
            body: Some(body),
            query: decision.query.take(),
            user: decision.user.take(),
            max_body_size: decision.max_body_size.unwrap_or(limits.max_body_size),
            is_kept: decision.deferred.is_some(),
            with_origin,
            received: Some(0),
        }
    }

    /// Whether the body was read to its end.
    pub(super) fn is_body_read(&self) -> bool {
        self.body.is_none() && self.received.is_some()
    }

    fn take_query(&mut self) -> String {
        let sent = || self.parts.uri.query().unwrap_or("").to_owned();
        self.query.take().unwrap_or_else(sent)
    }

    /// Answers for a body that cannot be had.
    fn refuse(&mut self, error: &BodyError, id: u64) -> Response<Content> {
        self.received = None;
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Timeout => StatusCode::REQUEST_TIMEOUT,
            BodyError::Client => StatusCode::BAD_REQUEST,
            BodyError::Storage(cause) => {
                let request_id = format_args!("{id:016x}");
                tracing::error!(%request_id, error = %cause, "a request body cannot be stored");
                StatusCode::INSUFFICIENT_STORAGE
            }
        };
        reply::explain(status, &error.to_string())
    }
}

/// Carries out what the routes have decided.
pub(super) struct Responder<'p, A> {
    pub(super) scope: &'p RequestScope<A>,
    hold: &'p DisconnectGuard,
    record: Option<Rc<Record>>,
    /// An access log has a line for it.
    is_logged: bool,
    /// The header of the response contains what the request cost so far.
    has_figures: bool,
}

impl<'p, A: Application> Responder<'p, A> {
    pub(super) fn new(
        scope: &'p RequestScope<A>,
        hold: &'p DisconnectGuard,
        exchange: &Exchange,
        changes: &Changes,
    ) -> Self {
        Self {
            scope,
            hold,
            record: exchange.record.clone(),
            is_logged: exchange.log.is_some(),
            has_figures: changes.has_figures(),
        }
    }

    /// The response to the request; `None` if the connection is to be closed without a response.
    pub(super) async fn respond(
        &self,
        outcome: Outcome,
        pending: &mut PendingRequest,
    ) -> Option<Response<Source<A::Body>>> {
        let (scope, snapshot) = (self.scope, self.scope.snapshot());
        let content = match outcome {
            Outcome::Abort => return None,
            Outcome::Answer(response) => *response,
            // Routes that copy a response are run where there is one.
            Outcome::Next | Outcome::CopyResponse(_) => reply::not_found(),
            // More than the server finds out for one request.
            Outcome::CheckPassword(_) | Outcome::ForwardAuth(_) => {
                reply::plain(StatusCode::SERVICE_UNAVAILABLE)
            }
            Outcome::File(job) => {
                files::serve(job, &pending.parts, &snapshot.files, pending.with_origin).await
            }
            Outcome::Endpoint(name) => match pending.body.take() {
                Some(incoming) => {
                    let answered = self.endpoint(name, incoming, pending).await;
                    answered.unwrap_or_else(|error| pending.refuse(&error, self.scope.id))
                }
                None => reply::not_found(),
            },
            Outcome::Proxy(job) => {
                let limits = UploadLimits {
                    size: pending.max_body_size,
                    wait: self.scope.limits().read_body,
                };
                let body = pending.body.take_if(|_| job.has_body);
                if body.is_some() {
                    // An upstream may answer before the body is read: the client is not to lose that.
                    self.scope.state.set_linger();
                }
                let interim = Interim::new(&*scope.state, pending.parts.version);
                let sent = proxy::send(
                    *job,
                    body,
                    limits,
                    (self.scope.id, interim),
                    Some(self.hold),
                );
                let response = self.hold.during(sent).await;
                let mut response =
                    response.unwrap_or_else(|error| pending.refuse(&error, self.scope.id));
                single_fields::keep_last(response.headers_mut());
                response
            }
            Outcome::Script(job) => return Some(self.script(job, pending).await),
        };
        Some(content.map(Source::Content))
    }

    /// Reads the body and asks the endpoint.
    async fn endpoint(
        &self,
        name: EndpointName,
        incoming: Incoming,
        pending: &mut PendingRequest,
    ) -> Result<Response<Content>, BodyError> {
        let Some(endpoint) = self.scope.snapshot().endpoints.find(name) else {
            return Ok(reply::plain(StatusCode::SERVICE_UNAVAILABLE));
        };
        let query = pending.take_query();
        let mut parts = pending.parts.clone();
        if (name == EndpointName::Metrics { openmetrics: false }) {
            parts.headers.remove(http::header::ACCEPT);
        }
        let body = body::in_memory(incoming, self.scope.limits()).await?;
        let request = EndpointRequest {
            parts,
            query,
            body,
            connection: Rc::clone(&self.scope.connection),
        };
        let response = Arc::clone(endpoint).call(request).await;
        Ok(response.map(Content::Endpoint))
    }

    async fn script(
        &self,
        job: ScriptJob,
        pending: &mut PendingRequest,
    ) -> Response<Source<A::Body>> {
        let (scope, snapshot) = (self.scope, self.scope.snapshot());
        let body = match pending.body.take() {
            None => RequestBody::Empty,
            Some(incoming) => {
                let id = (self.scope.id, pending.max_body_size);
                match body::read(incoming, scope.limits(), &snapshot.spool, id).await {
                    Ok(body) => {
                        pending.received = Some(body.len());
                        body
                    }
                    Err(error) => {
                        return pending.refuse(&error, self.scope.id).map(Source::Content);
                    }
                }
            }
        };
        let record = self.record.clone().filter(|_| job.fastcgi.is_none());
        let progress = record.map(|record| {
            record.called(job.pool, body.len());
            Progress::new(record)
        });
        let query = pending.take_query();
        let interim = Interim::new(&*scope.state, pending.parts.version);
        let hints = &snapshot.hints;
        let page = job.learns_hints.then(|| Page::of(&pending.parts)).flatten();
        if let Some(page) = &page {
            hints.send(page, interim);
        }
        let (method, uri, headers) = if pending.is_kept {
            let Parts {
                method,
                uri,
                headers,
                ..
            } = &pending.parts;
            (method.clone(), uri.clone(), headers.clone())
        } else {
            let Parts {
                method,
                uri,
                headers,
                ..
            } = &mut pending.parts;
            (
                std::mem::replace(method, Method::GET),
                std::mem::take(uri),
                std::mem::replace(headers, HeaderMap::new()),
            )
        };
        let roadrunner = match job.roadrunner {
            None => None,
            Some(own) => match snapshot.endpoints.roadrunner.get(own.pool) {
                Some(pool) => Some(RoadRunnerTarget {
                    pool: Arc::clone(pool),
                    path: own.path,
                    attributes: own.attributes,
                }),
                None => {
                    return reply::plain(StatusCode::SERVICE_UNAVAILABLE).map(Source::Content);
                }
            },
        };
        let request = AppRequest {
            id: self.scope.id,
            query,
            method,
            original_uri: without_authority(uri),
            version: pending.parts.version,
            headers,
            body,
            connection: Rc::clone(&self.scope.connection),
            pool: job.pool,
            script: job.script,
            env: match &self.scope.connection.tls {
                Some(tls) => tls.client.variables(job.env),
                None => job.env,
            },
            remote_user: pending.user.as_deref().map(str::to_owned),
            progress,
            account: self.is_logged
                || self
                    .record
                    .as_ref()
                    .is_some_and(|record| record.is_traced()),
            figures: self.has_figures,
            hub: job
                .hub
                .and_then(|hub| snapshot.endpoints.hubs.get(hub).cloned()),
            roadrunner,
        };
        if let Some(fastcgi) = job.fastcgi {
            let mut response = self.hold.during(fastcgi.run(request, self.hold)).await;
            single_fields::keep_last(response.headers_mut());
            let status = response.status();
            let is_bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
            if pending.is_head || is_bodiless {
                // The script runs to its end, as it would here.
                let body = std::mem::replace(response.body_mut(), Content::Empty);
                if let Content::Endpoint(body) = body {
                    tokio::task::spawn_local(discard(body));
                }
            }
            return response.map(Source::Content);
        }
        let mut response = Rc::clone(&self.scope.service.app)
            .call(request, interim)
            .await;
        single_fields::keep_last(response.headers_mut());
        if let Some(page) = page {
            hints.learn(page, &response);
        }
        response.map(Source::Application)
    }
}

/// `Host` is in the header, also where a directive changed it: the target of HTTP/2, or an absolute one,
/// would come before it.
fn without_authority(uri: Uri) -> Uri {
    if uri.authority().is_none() {
        return uri;
    }
    let mut parts = uri.into_parts();
    parts.scheme = None;
    parts.authority = None;
    // A path and a query are a target of their own.
    Uri::from_parts(parts).unwrap_or_default()
}
