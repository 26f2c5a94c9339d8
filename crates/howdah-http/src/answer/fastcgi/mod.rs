//! `php_fastcgi`: PHP-FPM (or its like) runs the script in place of this server's PHP.
//!
//! Each request has its own connection, as is nginx's default.

mod body;
mod head;
mod health;
mod problems;
mod record;
mod send;
mod transfer;

use std::cell::OnceCell;
use std::io;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use howdah_cgi::Input;
use howdah_config::model;
use http::header::{CONTENT_LENGTH, SET_COOKIE, TRANSFER_ENCODING};
use http::{Method, Response, StatusCode};

use self::body::Output;
use self::record::RecordError;
use self::transfer::{Outgoing, Transfer};
use crate::answer::forwarded::ForwardedHeaders;
use crate::answer::upstream::balance::{Balancer, Hint};
use crate::answer::upstream::connect;
use crate::answer::upstream::health::Checks;
use crate::answer::upstream::state::{ActiveRequest, StateCursor};
use crate::message::disconnect::DisconnectGuard;
use crate::message::reply;
use crate::message::request::AppRequest;
use crate::message::response::Content;
use crate::message::response::ExternalResponse;

/// Protocol status of an upstream that refuses a request because it is overloaded, or takes one per
/// connection.
const CANNOT_MULTIPLEX: u8 = 1;
const OVERLOADED: u8 = 2;

/// A compiled [`model::FastCgi`].
#[derive(Debug)]
pub(crate) struct FastCgi {
    options: model::FastCgi,
    balancer: Balancer,
    checks: Checks,
    /// Root of the first request, below which the script of health checks is.
    root: OnceCell<Rc<str>>,
    /// `split`.
    split: Box<[String]>,
    /// The part of `env` that is the same for all requests.
    env: Box<[(String, String)]>,
}

/// A script that one of the upstreams runs.
pub(crate) struct FastCgiJob {
    pub(crate) upstreams: Rc<FastCgi>,
    /// What the choice of an upstream depends on.
    pub(crate) hint: Hint,
    pub(crate) forwarded: ForwardedHeaders,
    /// It may be sent again although an upstream may have begun it.
    pub(crate) is_repeatable: bool,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("it cannot be reached: {0}")]
    Connect(io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("it closed the request without a response")]
    Nothing,
    #[error("it refused the request (protocol status {0})")]
    Refused(u8),
    #[error("the header of its response is larger than {} bytes", head::SIZE_MAX)]
    HeaderSize,
    #[error(transparent)]
    Status(#[from] head::StatusError),
    #[error("the request body cannot be read: {0}")]
    Body(io::Error),
}

/// Why a request cannot be passed on.
#[derive(Debug, thiserror::Error)]
enum OpeningError {
    #[error(transparent)]
    Variables(#[from] howdah_cgi::Error),
    #[error("the variables cannot be read back: {0}")]
    Decode(#[from] howdah_cgi::DecodeError),
}

impl OpeningError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Variables(_) => StatusCode::BAD_REQUEST,
            Self::Decode(_) => StatusCode::BAD_GATEWAY,
        }
    }
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Connect(error) | Self::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                StatusCode::GATEWAY_TIMEOUT
            }
            Self::Body(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_GATEWAY,
        }
    }

    /// Whether the request may be sent again: no server has started it, or it `is_repeatable`. A request that timed
    /// out is not repeated: it would time out again.
    fn is_harmless(&self, is_repeatable: bool) -> bool {
        match self {
            Self::Connect(_) | Self::Refused(CANNOT_MULTIPLEX | OVERLOADED) => true,
            Self::Io(error) => is_repeatable && error.kind() != io::ErrorKind::TimedOut,
            Self::Nothing => is_repeatable,
            Self::Record(_)
            | Self::Refused(_)
            | Self::HeaderSize
            | Self::Status(_)
            | Self::Body(_) => false,
        }
    }

    fn is_upstream_fault(&self) -> bool {
        !matches!(self, Self::Body(_))
    }
}

impl FastCgi {
    /// The proxies whose `X-Forwarded-*` are passed on, if they are not those that the server trusts.
    pub(crate) fn trusted_proxies(&self) -> Option<&[model::Network]> {
        self.options.trusted_proxies.as_deref()
    }
}

impl FastCgiJob {
    /// Runs the script. Errors become responses too; their cause is logged. The `hold` is released once the request was
    /// sent: a request that arrived completely runs even if its client has disconnected.
    pub(crate) async fn run(
        self,
        mut request: AppRequest,
        hold: &DisconnectGuard,
    ) -> Response<Content> {
        let Self {
            upstreams,
            hint,
            forwarded,
            is_repeatable,
        } = self;
        forwarded.put(&mut request.headers);
        let request_id = request.id;
        upstreams
            .root
            .get_or_init(|| Rc::clone(&request.script.root));
        upstreams.checks.start(&upstreams);
        match opening(&request.input()) {
            Ok(start) => {
                upstreams
                    .call(request, &hint, is_repeatable, start.into(), hold)
                    .await
            }
            Err(error) => {
                let request_id = format_args!("{request_id:016x}");
                let status = error.status();
                tracing::warn!(target: "howdah::php", %request_id, status = status.as_u16(), "a request cannot be \
                    forwarded: {error}");
                reply::plain(status)
            }
        }
    }
}

impl FastCgi {
    /// The upstreams of a `php_fastcgi` whose scripts are `script`.
    pub(crate) fn new(
        options: &model::FastCgi,
        script: &model::PhpScript,
        states: &StateCursor,
    ) -> Self {
        let state = states.next(&options.upstreams, &options.balance, "php_fastcgi");
        let constant = |(name, value): &(String, model::Template)| {
            Some((name.clone(), value.as_text()?.to_owned()))
        };
        Self {
            balancer: Balancer::new(state, &options.balance),
            checks: Checks::new(options.health.as_ref()),
            root: OnceCell::new(),
            split: script.split.clone().into(),
            env: script.env.iter().filter_map(constant).collect(),
            options: options.clone(),
        }
    }

    pub(crate) fn policy(&self) -> &model::Policy {
        self.balancer.policy()
    }

    async fn call(
        &self,
        request: AppRequest,
        hint: &Hint,
        is_repeatable: bool,
        start: Rc<[u8]>,
        hold: &DisconnectGuard,
    ) -> Response<Content> {
        let AppRequest {
            id, method, body, ..
        } = request;
        let body = Rc::new(body);
        let mut attempts = self.balancer.attempts(hint);
        loop {
            let (status, may_retry) = if let Some(active) = attempts.begin() {
                let (index, begun) = (active.index(), Instant::now());
                let outgoing = Outgoing {
                    id: Some(id),
                    method: &method,
                    start: Rc::clone(&start),
                    body: Rc::clone(&body),
                };
                match self.attempt(active, &outgoing, hold).await {
                    Ok(mut response) => {
                        self.balancer
                            .record_response(index, response.status(), begun.elapsed());
                        if let Some(cookie) = self.balancer.cookie(index, hint) {
                            response.headers_mut().append(SET_COOKIE, cookie);
                        }
                        response.extensions_mut().insert(ExternalResponse);
                        return response;
                    }
                    Err(failure) => {
                        if failure.is_upstream_fault() {
                            self.balancer.fail(index);
                        }
                        let may_retry =
                            failure.is_harmless(is_repeatable) && attempts.may_continue();
                        let request_id = format_args!("{id:016x}");
                        let status = failure.status();
                        let upstream = self.balancer.name(index);
                        tracing::warn!(target: "howdah::php", %request_id, %upstream, status = status.as_u16(),
                            again = may_retry, "the \
                            FastCGI server did not respond: {failure}");
                        (status, may_retry)
                    }
                }
            } else {
                let may_retry = attempts.may_wait();
                let request_id = format_args!("{id:016x}");
                tracing::warn!(target: "howdah::php", %request_id, again = may_retry, "no FastCGI server is healthy");
                (StatusCode::SERVICE_UNAVAILABLE, may_retry)
            };
            if !may_retry {
                return reply::plain(status);
            }
            attempts.pause().await;
        }
    }

    /// Sends a request to one upstream, and returns its response.
    async fn attempt(
        &self,
        active: ActiveRequest,
        request: &Outgoing<'_>,
        hold: &DisconnectGuard,
    ) -> Result<Response<Content>, Failure> {
        let upstream = &self.options.upstreams[active.index()];
        let response = self.exchange(upstream, request, Some(hold)).await?;
        Ok(response.map(|output| Content::Endpoint(Box::pin(output.counted(active)))))
    }

    /// Sends a request to one upstream, and returns the response. The `hold` is released once the request was sent.
    async fn exchange(
        &self,
        upstream: &model::Upstream,
        request: &Outgoing<'_>,
        hold: Option<&DisconnectGuard>,
    ) -> Result<Response<Output>, Failure> {
        let stream = connect(upstream, None, self.options.dial_timeout)
            .await
            .map_err(Failure::Connect)?;
        let mut transfer = Transfer::start(stream, request, &self.options);
        let output = transfer.read_header(hold).await?;
        transfer.sending.note_answer();
        let (status, mut headers, bad) = head::parse(&output.bytes[..output.end])?;
        if status == StatusCode::NO_CONTENT {
            headers.remove(CONTENT_LENGTH);
        }
        let length = head::normalize_length(&mut headers);
        if let Some(id) = request.id {
            let request_id = format_args!("{id:016x}");
            if bad > 0 {
                tracing::warn!(target: "howdah::php", %request_id, lines = bad, "dropped invalid lines of a response's header");
            }
            if let Err(claimed) = &length {
                tracing::warn!(target: "howdah::php", %request_id, ?claimed, "dropped the script's Content-Length, \
                    which is wrong");
            }
        }
        transfer.problems.note_status(status);
        let first = Bytes::from(output.bytes).slice(output.end..);
        // Without a body, `Content-Length` is the length that the body would have.
        let has_body = *request.method != Method::HEAD && status != StatusCode::NOT_MODIFIED;
        let length = length.unwrap_or(None).filter(|_| has_body);
        let output = Output::new(first, length, transfer);
        let mut response = Response::new(output);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        // This server decides how the body is framed.
        response.headers_mut().remove(TRANSFER_ENCODING);
        Ok(response)
    }
}

/// Encodes the start of the request with all variables.
fn opening(input: &Input<'_>) -> Result<Vec<u8>, OpeningError> {
    let mut encoded = Vec::with_capacity(2048);
    howdah_cgi::encode(input, &mut encoded)?;
    let variables = howdah_cgi::decode(&encoded)?;
    let mut out = Vec::with_capacity(encoded.len() + 64);
    record::begin(&mut out);
    let pairs = variables
        .iter()
        .map(|variable| (variable.name, variable.value));
    record::params(pairs, &mut out);
    Ok(out)
}
