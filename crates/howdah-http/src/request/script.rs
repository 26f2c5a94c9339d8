//! The response of PHP: of a pool, of `RoadRunner`'s workers or of a FastCGI server.

use std::rc::Rc;
use std::sync::Arc;

use http::{Response, StatusCode, Uri};

use super::body;
use super::discard::discard;
use super::pending::PendingRequest;
use super::respond::Responder;
use crate::answer::hints::Page;
use crate::answer::php::{RoadRunnerJob, ScriptJob};
use crate::message::application::Application;
use crate::message::incoming::BodyError;
use crate::message::interim::Interim;
use crate::message::progress::Progress;
use crate::message::reply;
use crate::message::request::{AppRequest, RequestBody, RoadRunnerTarget};
use crate::message::response::{Content, Source};
use crate::message::single_fields;

impl<A: Application> Responder<'_, A> {
    pub(super) async fn script(
        &self,
        mut job: Box<ScriptJob>,
        pending: &mut PendingRequest,
    ) -> Response<Source<A::Body>> {
        let body = match self.read_body(pending).await {
            Ok(body) => body,
            Err(error) => return pending.refuse(&error, self.scope.id).map(Source::Content),
        };
        let progress = self.progress(&job, body.len());
        let interim = Interim::new(&*self.scope.state, pending.parts.version);
        let page = self.send_hints(&job, pending, interim);
        let roadrunner = match job.roadrunner.take().map(|own| self.roadrunner(*own)) {
            None => None,
            Some(Some(target)) => Some(target),
            // A reload removed its pool.
            Some(None) => {
                return reply::plain(StatusCode::SERVICE_UNAVAILABLE).map(Source::Content);
            }
        };
        let fastcgi = job.fastcgi.take();
        let mut request = self.app_request(*job, pending, body);
        request.progress = progress;
        request.roadrunner = roadrunner;
        if let Some(fastcgi) = fastcgi {
            // Boxed: it is large, and every request would have room for it.
            let answered = Box::pin(fastcgi.run(request, self.hold));
            let response = self.hold.during(answered).await;
            return finish_fastcgi(response, pending.is_head).map(Source::Content);
        }
        let app = Rc::clone(&self.scope.service.app);
        let mut response = app.call(&mut request, interim).await;
        single_fields::keep_last(response.headers_mut());
        if let Some(page) = page {
            self.scope.snapshot().hints.learn(page, &response);
        }
        response.map(Source::Application)
    }

    async fn read_body(&self, pending: &mut PendingRequest) -> Result<RequestBody, BodyError> {
        let Some(incoming) = pending.body.take() else {
            return Ok(RequestBody::Empty);
        };
        let id = (self.scope.id, pending.max_body_size);
        let spool = &self.scope.snapshot().spool;
        let body = body::read(incoming, self.scope.limits(), spool, id).await?;
        pending.received = Some(body.len());
        Ok(body)
    }

    /// Receives what the pool reports of the request; a FastCGI server reports nothing.
    fn progress(&self, job: &ScriptJob, body_length: u64) -> Option<Progress> {
        let record = self.record.clone().filter(|_| job.fastcgi.is_none())?;
        record.record_call(job.pool, body_length);
        Some(Progress::new(record))
    }

    /// Sends the early hints of a page, and returns the page if its response may add to them.
    fn send_hints(
        &self,
        job: &ScriptJob,
        pending: &PendingRequest,
        interim: Interim<'_>,
    ) -> Option<Page> {
        let page = job
            .learns_hints
            .then(|| Page::of(&pending.parts))
            .flatten()?;
        self.scope.snapshot().hints.send(&page, interim);
        Some(page)
    }

    fn roadrunner(&self, job: RoadRunnerJob) -> Option<Box<RoadRunnerTarget>> {
        let pool = self.scope.snapshot().endpoints.roadrunner.get(job.pool)?;
        Some(Box::new(RoadRunnerTarget {
            pool: Arc::clone(pool),
            path: job.path,
            attributes: job.attributes,
        }))
    }

    fn app_request(
        &self,
        job: ScriptJob,
        pending: &mut PendingRequest,
        body: RequestBody,
    ) -> AppRequest {
        let connection = &self.scope.connection;
        let is_traced = || self.record.as_ref().is_some_and(|own| own.is_traced());
        let hubs = &self.scope.snapshot().endpoints.hubs;
        let query = pending.take_query();
        let (method, uri, headers) = pending.take_head();
        AppRequest {
            id: self.scope.id,
            query,
            method,
            original_uri: without_authority(uri),
            version: pending.parts.version,
            headers,
            body,
            connection: Rc::clone(connection),
            pool: job.pool,
            script: job.script,
            env: match &connection.tls {
                Some(tls) => tls.client.variables(job.env),
                None => job.env,
            },
            remote_user: pending.user.as_deref().map(str::to_owned),
            progress: None,
            account: self.is_logged || is_traced(),
            figures: self.has_figures,
            hub: job.hub.and_then(|hub| hubs.get(hub).cloned()),
            roadrunner: None,
        }
    }
}

/// The response of a FastCGI server, without its body where HTTP allows none.
fn finish_fastcgi(mut response: Response<Content>, is_head: bool) -> Response<Content> {
    single_fields::keep_last(response.headers_mut());
    let status = response.status();
    let is_bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_head || is_bodiless {
        // The script runs to its end, as it does in a pool.
        let body = std::mem::replace(response.body_mut(), Content::Empty);
        if let Content::Endpoint(body) = body {
            tokio::task::spawn_local(discard(body));
        }
    }
    response
}

/// `Host` is always in the header, even if a directive has changed it. An authority in the target (HTTP/2, absolute
/// form) would override it.
fn without_authority(uri: Uri) -> Uri {
    if uri.authority().is_none() {
        return uri;
    }
    let mut parts = uri.into_parts();
    parts.scheme = None;
    parts.authority = None;
    // A path and a query are a valid target.
    Uri::from_parts(parts).unwrap_or_default()
}
