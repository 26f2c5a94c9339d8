//! What the routes decided becomes a response.

use std::rc::Rc;

use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Uri};

use crate::application::{AppRequest, Application, Connection, Interim, Progress};
use crate::body::{self, BodyError};
use crate::connection::state::ConnectionState;
use crate::hints::Page;
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::proxy::{self, UploadLimits};
use crate::record::Record;
use crate::response::{Content, Source};
use crate::route::{Outcome, ScriptJob};
use crate::thread::Thread;
use crate::{answer, files};

/// A request that is answered, as the routes have left it.
pub(crate) struct Asked {
    pub(crate) parts: Parts,
    /// `None` when it has been taken to be read.
    pub(crate) body: Option<Incoming>,
    /// Raw, after rewrites; `None`: as sent.
    pub(crate) query: Option<String>,
    /// The client wants no body, whatever method the routes made of its own.
    pub(crate) is_head: bool,
    /// Whom the server itself authenticated.
    pub(crate) user: Option<Rc<str>>,
    /// Bytes of the body.
    pub(crate) max_body_size: u64,
    /// The parts are needed again.
    pub(crate) is_kept: bool,
    /// The response is to tell which file it is of.
    pub(crate) with_origin: bool,
    /// Bytes of the body that was read; `None`: it was refused on the way, and not read to its end.
    pub(crate) received: Option<u64>,
}

impl Asked {
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
        answer::explain(status, &error.to_string())
    }
}

/// Where a request is answered.
pub(crate) struct Performer<'p, A> {
    pub(crate) thread: &'p Thread<A>,
    /// Those of the listener.
    pub(crate) limits: &'p Limits,
    pub(crate) connection: &'p Rc<Connection>,
    pub(crate) state: &'p ConnectionState,
    pub(crate) record: Option<Rc<Record>>,
    pub(crate) id: u64,
}

impl<A: Application> Performer<'_, A> {
    /// Carries out what the routes decided; `None` if the connection is to be closed without a response.
    pub(crate) async fn perform(
        &self,
        outcome: Outcome,
        asked: &mut Asked,
    ) -> Option<Response<Source<A::Body>>> {
        let core = &self.thread.core;
        let content = match outcome {
            Outcome::Abort => return None,
            Outcome::Answer(response) => *response,
            // Routes that copy a response are run where there is one.
            Outcome::Next | Outcome::CopyResponse(_) => answer::not_found(),
            // More than the server finds out for one request.
            Outcome::Check(_) | Outcome::Ask(_) => answer::plain(StatusCode::SERVICE_UNAVAILABLE),
            Outcome::File(job) => {
                files::serve(job, &asked.parts, &core.files, asked.with_origin).await
            }
            Outcome::Endpoint(name) => match asked.body.take() {
                Some(incoming) => {
                    let given = (asked.parts.clone(), asked.take_query());
                    let connection = Rc::clone(self.connection);
                    core.endpoints
                        .answer(name, given, incoming, self.limits, connection)
                        .await
                        .unwrap_or_else(|error| asked.refuse(&error, self.id))
                }
                None => answer::not_found(),
            },
            Outcome::Proxy(job) => {
                let limits = UploadLimits {
                    size: asked.max_body_size,
                    wait: self.limits.read_body,
                };
                let body = asked.body.take_if(|_| job.has_body);
                if body.is_some() {
                    // An upstream may answer before the body is read: the client is not to lose that.
                    self.state.set_linger();
                }
                let interim = Interim::new(self.state, asked.parts.version);
                proxy::send(*job, body, limits, (self.id, interim))
                    .await
                    .unwrap_or_else(|error| asked.refuse(&error, self.id))
            }
            Outcome::Script(job) => return Some(self.script(job, asked).await),
        };
        Some(content.map(Source::Content))
    }

    async fn script(&self, job: ScriptJob, asked: &mut Asked) -> Response<Source<A::Body>> {
        let core = &self.thread.core;
        let body = match asked.body.take() {
            None => crate::application::RequestBody::Empty,
            Some(incoming) => {
                let id = (self.id, asked.max_body_size);
                match body::read(incoming, self.limits, &core.spool, id).await {
                    Ok(body) => {
                        asked.received = Some(body.len());
                        body
                    }
                    Err(error) => return asked.refuse(&error, self.id).map(Source::Content),
                }
            }
        };
        let record = self.record.clone().filter(|_| job.fastcgi.is_none());
        let progress = record.map(|record| {
            record.called(job.pool, body.len());
            Progress(record)
        });
        let query = asked.take_query();
        let interim = Interim::new(self.state, asked.parts.version);
        let hints = &core.hints;
        let page = job.learns_hints.then(|| Page::of(&asked.parts)).flatten();
        if let Some(page) = &page {
            hints.send(page, interim);
        }
        let (method, uri, headers) = if asked.is_kept {
            let Parts {
                method,
                uri,
                headers,
                ..
            } = &asked.parts;
            (method.clone(), uri.clone(), headers.clone())
        } else {
            let Parts {
                method,
                uri,
                headers,
                ..
            } = &mut asked.parts;
            (
                std::mem::replace(method, Method::GET),
                std::mem::take(uri),
                std::mem::replace(headers, HeaderMap::new()),
            )
        };
        let request = AppRequest {
            id: self.id,
            query,
            method,
            original_uri: without_authority(uri),
            version: asked.parts.version,
            headers,
            body,
            connection: Rc::clone(self.connection),
            pool: job.pool,
            script: job.script,
            env: match &self.connection.tls {
                Some(tls) => tls.client.variables(job.env),
                None => job.env,
            },
            remote_user: asked.user.as_deref().map(str::to_owned),
            progress,
            hub: job
                .hub
                .and_then(|hub| core.endpoints.hubs.get(hub).cloned()),
        };
        if let Some(fastcgi) = job.fastcgi {
            let mut response = fastcgi.run(request).await;
            if asked.is_head {
                // The script runs to its end, as it would here.
                let body = std::mem::replace(response.body_mut(), Content::Empty);
                if let Content::Endpoint(body) = body {
                    tokio::task::spawn_local(crate::service::discard(body));
                }
            }
            return response.map(Source::Content);
        }
        let response = Rc::clone(&self.thread.app).call(request, interim).await;
        if let Some(page) = page {
            hints.learn(page, &response);
        }
        response.map(Source::Application)
    }
}

/// The header tells the host, also where a directive changed it: the target of HTTP/2, or an absolute one,
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
