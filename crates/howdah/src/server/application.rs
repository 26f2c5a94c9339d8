//! Connects the web server with the PHP pools: an HTTP request becomes variables and a body in a slot, and the output
//! in the slot becomes a response.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use howdah_http::{AppRequest, Application, Interim, InterimError, RequestBody};
use howdah_observe::usage::UsageSoFar;
use howdah_pool::{CallError, PoolFront, Target};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use super::hubs;
use super::roadrunner::{self, RoadRunnerError};
use super::timing::{SERVER_TIMING, Timing, watch};
use crate::php::tree::Parts;

/// Buffers for variables that are kept for later requests; when more are in flight, buffers are
/// allocated.
const BUFFERS_MAX: usize = 64;
/// `Retry-After` for 503 when no PHP process is free.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Runs requests in their pools. One for each front thread.
#[derive(Debug)]
pub(crate) struct PhpApplication {
    /// The pools by number; pools of other configurations are not included.
    pools: Vec<Option<PoolFront>>,
    /// Source of the parts of other trees, and the number of this thread.
    parts: Arc<Parts>,
    front: usize,
    buffers: RefCell<Vec<Vec<u8>>>,
    refusals: Refusals,
}

impl PhpApplication {
    /// Joins the pools of the newest tree; `None`: this thread has already joined.
    pub(crate) fn join(parts: Arc<Parts>, front: usize) -> io::Result<Option<Self>> {
        let Some(part) = parts.take(front) else {
            return Ok(None);
        };
        let mut pools = Vec::new();
        for (number, seed) in part {
            if pools.len() <= number {
                pools.resize(number + 1, None);
            }
            pools[number] = Some(PoolFront::join(seed)?);
        }
        Ok(Some(Self {
            pools,
            parts,
            front,
            buffers: RefCell::default(),
            refusals: Refusals::default(),
        }))
    }

    /// Runs the request and takes its body; `vars` is the buffer for the variables.
    async fn run(
        &self,
        request: &mut AppRequest,
        vars: &mut Vec<u8>,
        interim: Interim<'_>,
    ) -> Result<(howdah_pool::Head, Option<UsageSoFar>, howdah_pool::Body), Failure> {
        let pool = self.pools.get(request.pool).and_then(Option::as_ref);
        let pool = pool.ok_or(Failure::NoPool)?;
        howdah_cgi::encode(&request.input(), vars)?;
        let memory;
        let mut body_file: Option<Box<dyn Any>> = None;
        let body = match std::mem::replace(&mut request.body, RequestBody::Empty) {
            RequestBody::Empty => howdah_pool::RequestBody::None,
            RequestBody::Memory(bytes) => {
                memory = bytes;
                howdah_pool::RequestBody::Inline(&memory)
            }
            RequestBody::Spooled(file) => {
                if let Some(user) = pool.user() {
                    howdah_monitor::fs::let_read(file.as_fd(), user.receiver())
                        .map_err(Failure::Body)?;
                }
                let size = file.len();
                body_file = Some(Box::new(file));
                howdah_pool::RequestBody::File(size)
            }
        };
        let request = &*request;
        let has_header = pool.has_server_timing();
        let timing = (has_header || request.figures).then(Timing::begin);
        let call = howdah_pool::Request {
            id: request.id,
            vars,
            body,
            body_file,
            head: request.method == Method::HEAD,
            target: target(request),
            repeatable: request.method.is_safe(),
            account: request.account || timing.is_some(),
            observer: watch(request.progress.clone(), timing.clone()),
            publisher: request.hub.clone().and_then(hubs::publisher),
        };
        let send = |head| send_interim(request, interim, &head);
        let (mut head, body) = pool.call_with(call, send).await?;
        let usage = timing.and_then(|timing| timing.usage());
        if has_header
            && let Some(usage) = &usage
            && let Ok(value) = HeaderValue::from_str(&usage.timing_header())
        {
            head.headers.append(SERVER_TIMING, value);
        }
        Ok((head, usage, body))
    }

    fn refuse(&self, request: &AppRequest, failure: &Failure) -> Response<PhpBody> {
        let status = failure.status();
        let quarantine = failure.quarantine();
        if quarantine.is_some() {
            // The start of the quarantine was logged.
        } else if status == StatusCode::SERVICE_UNAVAILABLE {
            self.refusals.log(failure);
        } else {
            let request_id = format!("{:016x}", request.id);
            // Without the query, which may contain data that must not be in this log.
            let (method, uri) = (request.method.as_str(), request.original_uri.path());
            tracing::warn!(target: "howdah::php", request_id, method, uri, status = status.as_u16(), "{failure}");
        }
        let text = format!("{status}\n");
        let mut response = Response::new(PhpBody::text(text));
        *response.status_mut() = status;
        let message = failure.to_string().into();
        response
            .extensions_mut()
            .insert(howdah_http::Failure { message });
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = quarantine.map_or(RETRY_AFTER_SECONDS, |left| {
                HeaderValue::from(left.as_secs().saturating_add(1))
            });
            headers.insert(RETRY_AFTER, seconds);
        }
        response
    }
}

impl Application for PhpApplication {
    type Body = PhpBody;

    async fn call(
        self: Rc<Self>,
        request: &mut AppRequest,
        interim: Interim<'_>,
    ) -> Response<PhpBody> {
        if let Some(target) = request.roadrunner.take() {
            // Boxed: it is large, and every request would have room for it.
            return match Box::pin(roadrunner::run(request, *target, interim)).await {
                Ok((head, body)) => respond(
                    request,
                    (head.status, head.headers),
                    Inner::RoadRunner(Box::new(body)),
                ),
                Err(error) => self.refuse(request, &error.into()),
            };
        }
        let mut vars = self.buffers.borrow_mut().pop().unwrap_or_default();
        let result = self.run(request, &mut vars, interim).await;
        vars.clear();
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() < BUFFERS_MAX {
            buffers.push(vars);
        }
        drop(buffers);
        match result {
            Ok((head, usage, body)) => {
                let start = (head.status, head.headers);
                let mut response = respond(request, start, Inner::Pool(body));
                if request.figures
                    && let Some(usage) = usage
                {
                    response.extensions_mut().insert(usage);
                }
                if !head.reason.is_empty()
                    && let Ok(reason) = hyper::ext::ReasonPhrase::try_from(head.reason)
                {
                    response.extensions_mut().insert(reason);
                }
                response
            }
            Err(failure) => self.refuse(request, &failure),
        }
    }

    async fn settled(&self) {
        howdah_pool::settled().await;
    }

    fn next(&self) -> io::Result<Option<Rc<Self>>> {
        Ok(Self::join(Arc::clone(&self.parts), self.front)?.map(Rc::new))
    }
}

/// The response of PHP or of a FastCGI server.
fn respond(
    request: &AppRequest,
    (status, headers): (StatusCode, HeaderMap),
    body: Inner,
) -> Response<PhpBody> {
    let mut response = Response::new(PhpBody(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if request.method != Method::HEAD {
        let uri = request.original_uri.path();
        drop_wrong_length((request.id, uri), &mut response);
    }
    response
}

/// Method and path, by which crashes are counted.
fn target(request: &AppRequest) -> Option<Target> {
    Some(Target {
        method: request.method.clone(),
        path: request.original_uri.path_and_query()?.clone(),
    })
}

/// Clients do not depend on interim responses: one that cannot be sent is left out, with a warning if the script is at
/// fault.
#[cold]
fn send_interim(request: &AppRequest, interim: Interim<'_>, head: &howdah_pool::Head) {
    let Err(error) = interim.send(head.status, &head.headers) else {
        return;
    };
    let (request_id, status) = (format!("{:016x}", request.id), head.status.as_u16());
    let uri = request.original_uri.path();
    match error {
        InterimError::Status(_) | InterimError::TooLarge => {
            tracing::warn!(target: "howdah::php", request_id, uri, status, "an interim response was not sent: {error}");
        }
        _ => {
            tracing::debug!(target: "howdah::php", request_id, status, "an interim response was not sent: {error}");
        }
    }
}

/// Removes a script's `Content-Length` if it is not a number, or not the size of a complete body: a client would wait
/// for bytes that never come, or read the rest as the next response. While a body is still being produced, the value is
/// trusted; the connection is cut if it was wrong.
fn drop_wrong_length((id, uri): (u64, &str), response: &mut Response<PhpBody>) {
    let mut fields = response.headers().get_all(CONTENT_LENGTH).iter();
    let Some(claimed) = fields.next() else { return };
    let number = claimed
        .to_str()
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|text| text.parse::<u64>().ok());
    // A 304 has the length that a 200 would have.
    let exact = http_body::Body::size_hint(response.body()).exact();
    let exact = exact.filter(|_| response.status() != StatusCode::NOT_MODIFIED);
    let wrong = number.is_none()
        || fields.next().is_some()
        || exact.is_some_and(|size| number != Some(size));
    if wrong {
        let request_id = format!("{id:016x}");
        tracing::warn!(target: "howdah::php", request_id, uri, claimed = ?claimed, size = exact, "dropped the \
            script's Content-Length, which is wrong");
        response.headers_mut().remove(CONTENT_LENGTH);
    }
}

/// Why a request has no response from PHP.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Variables(#[from] howdah_cgi::Error),
    #[error(transparent)]
    Pool(#[from] CallError),
    #[error("the request body cannot be given to PHP's user: {0}")]
    Body(std::io::Error),
    #[error(transparent)]
    RoadRunner(#[from] RoadRunnerError),
    #[error("the route names a pool that was not started")]
    NoPool,
}

impl Failure {
    /// The remaining quarantine of the request's route, if that is the reason.
    fn quarantine(&self) -> Option<Duration> {
        match self {
            Self::Pool(CallError::Quarantined(left)) => Some(*left),
            _ => None,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Variables(_) => StatusCode::BAD_REQUEST,
            Self::RoadRunner(error) => error.status(),
            Self::Body(_) | Self::NoPool => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Pool(error) => match error {
                CallError::QueueFull
                | CallError::WaitTimeout(_)
                | CallError::NotBooted
                | CallError::Quarantined(_)
                | CallError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
                CallError::RequestTimeout(_) | CallError::CpuLimit => StatusCode::GATEWAY_TIMEOUT,
                CallError::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                _ => StatusCode::BAD_GATEWAY,
            },
        }
    }
}

/// Under load there can be thousands of refusals. The log gets one line a second with their number, and the last one
/// when the following second is over, or the server stops.
#[derive(Debug, Default)]
struct Refusals(Rc<RefusalState>);

#[derive(Debug, Default)]
struct RefusalState {
    /// When it was last logged.
    last: Cell<Option<Instant>>,
    /// How many there were since, and the reason of the first.
    count: Cell<u64>,
    reason: RefCell<String>,
}

impl Refusals {
    const QUIET: Duration = Duration::from_secs(1);

    fn log(&self, reason: &dyn Display) {
        let refused = &self.0;
        let count = refused.count.get() + 1;
        refused.count.set(count);
        if count > 1 {
            return; // it will be reported with the earlier ones
        }
        *refused.reason.borrow_mut() = reason.to_string();
        let quiet = refused.last.get().map(|last| last + Self::QUIET);
        match quiet.filter(|until| *until > Instant::now()) {
            None => refused.report(),
            Some(until) => {
                let refused = Rc::clone(refused);
                tokio::task::spawn_local(async move {
                    tokio::time::sleep_until(until).await;
                    refused.report();
                });
            }
        }
    }
}

impl RefusalState {
    fn report(&self) {
        let count = self.count.take();
        if count > 0 {
            self.last.set(Some(Instant::now()));
            let reason = self.reason.take();
            tracing::warn!(target: "howdah::php", count, "requests refused with 503: {reason}");
        }
    }
}

impl Drop for RefusalState {
    fn drop(&mut self) {
        self.report();
    }
}

/// A response's body.
#[derive(Debug)]
pub(crate) struct PhpBody(Inner);

#[derive(Debug)]
enum Inner {
    Pool(howdah_pool::Body),
    /// Boxed, because it is large and the other is frequent.
    RoadRunner(Box<howdah_goridge::Body>),
    Text(Option<Bytes>),
}

impl PhpBody {
    fn text(text: String) -> Self {
        Self(Inner::Text(Some(text.into())))
    }
}

impl http_body::Body for PhpBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.0 {
            Inner::Pool(body) => Pin::new(body).poll_frame(context),
            Inner::RoadRunner(body) => Pin::new(&mut **body).poll_frame(context),
            Inner::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Pool(body) => body.is_end_stream(),
            Inner::RoadRunner(body) => body.is_end_stream(),
            Inner::Text(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Pool(body) => body.size_hint(),
            Inner::RoadRunner(body) => body.size_hint(),
            Inner::Text(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn refusals_are_reported_without_another_one() {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                let refusals = Refusals::default();
                let held = || refusals.0.count.get();
                refusals.log(&"full");
                assert_eq!(held(), 0, "the first is reported at once");
                for _ in 0..3 {
                    refusals.log(&"full");
                }
                assert_eq!(held(), 3);
                tokio::time::sleep(2 * Refusals::QUIET).await;
                assert_eq!(held(), 0);
            })
            .await;
    }
}
