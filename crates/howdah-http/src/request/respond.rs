//! The phase that carries out the decision of the routes: the body is read and a response created.

use std::rc::Rc;
use std::sync::Arc;

use http::{Response, StatusCode};

use super::body;
use super::exchange::Exchange;
use super::pending::PendingRequest;
use super::scope::RequestScope;
use crate::answer::files;
use crate::answer::proxy::{self, UploadLimits};
use crate::message::application::Application;
use crate::message::disconnect::DisconnectGuard;
use crate::message::endpoint::{EndpointName, EndpointRequest};
use crate::message::header_change::Changes;
use crate::message::incoming::{BodyError, Incoming};
use crate::message::interim::Interim;
use crate::message::reply;
use crate::message::response::{Content, Source};
use crate::message::single_fields;
use crate::observe::record::Record;
use crate::route::outcome::Outcome;

/// Carries out what the routes have decided.
pub(super) struct Responder<'p, A> {
    pub(super) scope: &'p RequestScope<A>,
    pub(super) hold: &'p DisconnectGuard,
    pub(super) record: Option<Rc<Record>>,
    /// The request is logged.
    pub(super) is_logged: bool,
    /// The header of the response contains the costs of the request so far.
    pub(super) has_figures: bool,
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
            // `copy_response` only has an effect where there is a response.
            Outcome::Next | Outcome::CopyResponse(_) => reply::not_found(),
            // The routes need more checks than the server makes for one request.
            Outcome::CheckPassword(_) | Outcome::ForwardAuth(_) | Outcome::ReadBody(_) => {
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
                    received: Arc::clone(pending.forwarded.get_or_insert_default()),
                };
                let body = pending.body.take_if(|_| job.has_body);
                if body.is_some() {
                    // It is counted while it is passed on.
                    pending.received = Some(0);
                    // An upstream may respond before the body is read: the client must not lose that response.
                    self.scope.state.set_linger();
                }
                let interim = Interim::new(&*scope.state, pending.parts.version);
                // Boxed: it is large, and every request would have room for it.
                let sent = Box::pin(proxy::send(
                    *job,
                    body,
                    limits,
                    (self.scope.id, interim),
                    Some(self.hold),
                ));
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

    /// Reads the body and calls the endpoint.
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
        let limits = self.scope.limits();
        let limit = limits.max_body_size.min(body::ENDPOINT_BODY_MAX);
        let body = body::in_memory(incoming, limits, limit).await?;
        let request = EndpointRequest {
            parts,
            query,
            body,
            connection: Rc::clone(&self.scope.connection),
        };
        let response = Arc::clone(endpoint).call(request).await;
        Ok(response.map(Content::Endpoint))
    }
}
