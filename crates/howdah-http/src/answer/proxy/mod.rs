//! `reverse_proxy`: passes requests on to other servers, over connections that each front thread
//! keeps open.
//!
//! Both bodies are streamed: while one side does not read, nothing is read from the other side.

mod dynamic;
mod failure;
mod head;
mod health;
mod http2;
mod interim_queue;
pub(crate) mod job;
mod upload;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use howdah_config::model::{Policy, ReverseProxy, Upstream};
use http::header::{CONNECTION, HOST, HeaderValue, SET_COOKIE, TRAILER, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::ext::on_informational;
use hyper::upgrade::OnUpgrade;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, Sleep};

use self::dynamic::DynamicSource;
use self::failure::Failure;
use self::head::Trust;
use self::http2::{Http2Client, Http2Stream};
use self::interim_queue::InterimQueue;
use self::job::ProxyJob;
pub(crate) use self::upload::UploadLimits;
use self::upload::{Source, Upload};
use crate::answer::forwarded::remove_hops;
use crate::answer::upstream::address::{self, KeptAddresses};
use crate::answer::upstream::balance::Balancer;
use crate::answer::upstream::health::{Checks, probe_address};
use crate::answer::upstream::socket::encode_client;
use crate::answer::upstream::state::{ActiveRequest, DirectiveState, StateCursor};
use crate::answer::upstream::tls::{Encryption, EncryptionError, TlsClients};
use crate::answer::upstream::{CHOSEN, Connector};
use crate::message::disconnect::DisconnectGuard;
use crate::message::incoming::BodyError;
use crate::message::interim::Interim;
use crate::message::reply;
use crate::message::response::Content;
use crate::message::response::ExternalResponse;
use crate::message::tunnel::Tunnel;
use crate::message::upstream_note::UpstreamNote;

/// Fields in the header of a response; a response with more is refused.
const FIELDS_MAX: usize = 512;

/// Characters of an invalid address in the log.
const SHOWN_MAX: usize = 100;

/// The upstreams of a `reverse_proxy`, as one front thread knows them.
pub(crate) struct Upstreams {
    /// Upstreams that are used in place of these, once they are known.
    dynamic: Option<DynamicSource>,
    client: Client<Connector, Upload>,
    /// The same, but with a new connection for each request.
    fresh: Client<Connector, Upload>,
    /// In place of both, if the upstreams have HTTP/2.
    http2: Option<Http2Client>,
    is_encrypted: bool,
    /// `proxy_protocol`: each client has its own connections.
    names_client: bool,
    /// The addresses of upstreams with placeholders, and of clients.
    kept: KeptAddresses,
    balancer: Balancer,
    /// The `Host` of requests to each upstream.
    hosts: Box<[Host]>,
    /// The `Host` of health checks.
    probe_hosts: Box<[HeaderValue]>,
    /// Waits for the upstream's response even if the client has disconnected.
    outlasts_client: bool,
    header_timeout: Option<Duration>,
    read_timeout: Option<Duration>,
    stream_timeout: Option<Duration>,
    checks: Checks,
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Upstreams").field(&self.balancer).finish()
    }
}

/// The shorter limit, if there are any.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// Where the connector connects to.
struct Destination<'n> {
    /// Number of the upstream.
    index: usize,
    /// The upstream for placeholders.
    note: &'n UpstreamNote,
    key: ConnectionKey,
}

/// The client of a request, for its attempts.
#[derive(Clone, Copy)]
struct ClientLink<'a> {
    /// Where interim responses go.
    interim: Interim<'a>,
    /// Released once the request was sent.
    hold: Option<&'a DisconnectGuard>,
}

/// The connections that a request may use.
struct ConnectionKey {
    /// By which the connector finds the address.
    host: String,
    /// The connection may be kept for other requests.
    is_kept: bool,
}

/// The `Host` of requests to an upstream.
struct Host {
    /// The upstream's name, or a placeholder where it has none.
    name: HeaderValue,
    /// It replaces the client's `Host`, not only a missing one.
    is_fixed: bool,
}

impl Host {
    fn of(upstream: &Upstream, is_encrypted: bool) -> Self {
        let own = match upstream {
            Upstream::Tcp { .. } => HeaderValue::try_from(upstream.to_string()).ok(),
            // A socket has no name; that of a template is in the request.
            Upstream::Unix(_) | Upstream::Template { .. } => None,
        };
        Self {
            // As in Caddy: a server with certificates for names expects one of them as the host.
            is_fixed: is_encrypted && own.is_some(),
            name: own.unwrap_or(HeaderValue::from_static("localhost")),
        }
    }
}

impl Upstreams {
    pub(crate) fn new(
        proxy: &ReverseProxy,
        (clients, states): (&Arc<TlsClients>, &StateCursor),
    ) -> Result<Rc<Self>, EncryptionError> {
        let state = states.next(&proxy.upstreams, &proxy.balance, "reverse_proxy");
        let dynamic = DynamicSource::of(proxy, clients, states.states());
        Self::with_state(proxy, clients, state, dynamic).map(Rc::new)
    }

    fn with_state(
        proxy: &ReverseProxy,
        clients: &TlsClients,
        state: Arc<DirectiveState>,
        dynamic: Option<DynamicSource>,
    ) -> Result<Self, EncryptionError> {
        let encryption = Encryption::of(proxy, clients)?;
        let host = |upstream| Host::of(upstream, encryption.is_some());
        let hosts = proxy.upstreams.iter().map(host).collect();
        let upstreams: Arc<[Upstream]> = proxy.upstreams.clone().into();
        let probed = match &proxy.health {
            None => Arc::clone(&upstreams),
            Some(check) => {
                let address = |upstream| probe_address(upstream, check);
                upstreams.iter().map(address).collect()
            }
        };
        let probe_host = |upstream| Host::of(upstream, false).name;
        let probe_hosts = probed.iter().map(probe_host).collect();
        let connector = Connector {
            upstreams,
            probed,
            limit: proxy.dial_timeout,
            write_timeout: proxy.write_timeout,
            local: proxy.local_address,
            proxy_header: proxy.proxy_protocol,
            encryption,
        };
        let is_encrypted = connector.encryption.is_some();
        let names_client = connector.proxy_header.is_some();
        let http2 = proxy
            .uses_http2()
            .then(|| Http2Client::new(connector.clone(), proxy.keepalive));
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(proxy.keepalive)
            .http1_max_headers(FIELDS_MAX)
            .set_host(false);
        let mut fresh = builder.clone();
        fresh.pool_max_idle_per_host(0);
        if proxy.keepalive.is_none() {
            builder.pool_max_idle_per_host(0);
        }
        Ok(Self {
            dynamic,
            client: builder.build(connector.clone()),
            fresh: fresh.build(connector),
            http2,
            is_encrypted,
            names_client,
            kept: KeptAddresses::new(proxy.keepalive),
            hosts,
            probe_hosts,
            balancer: Balancer::new(state, &proxy.balance),
            outlasts_client: proxy.outlasts_client,
            header_timeout: shorter(proxy.response_header_timeout, proxy.read_timeout),
            read_timeout: proxy.read_timeout,
            stream_timeout: proxy.stream_timeout,
            checks: Checks::new(proxy.health.as_ref()),
        })
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.balancer.policy()
    }

    /// Sends the request to an upstream. A request that is lost with a reused connection is sent again on a new one, if
    /// the upstream cannot have received it, or if it changes nothing.
    async fn send(
        &self,
        index: usize,
        note: &UpstreamNote,
        job: &ProxyJob,
        source: &Source,
        client: ClientLink<'_>,
    ) -> Result<Response<Incoming>, Failure> {
        let destination = self.destination(index, note, job)?;
        let attempt = async |pool| match &self.http2 {
            Some(http2) => {
                self.attempt_http2(http2, &destination, (job, source), client.hold)
                    .await
            }
            None => {
                self.attempt(pool, &destination, (job, source), client)
                    .await
            }
        };
        let pool = if destination.key.is_kept {
            &self.client
        } else {
            &self.fresh
        };
        match attempt(pool).await {
            Err(failure @ Failure::Lost { .. })
                if failure.is_harmless(job.method.is_safe()) && !source.has_started() =>
            {
                let upstream = job.name(index);
                tracing::debug!(target: "howdah::proxy", %upstream, "retrying the request: {failure}");
                attempt(&self.fresh).await
            }
            result => result,
        }
    }

    async fn attempt(
        &self,
        client: &Client<Connector, Upload>,
        destination: &Destination<'_>,
        (job, source): (&ProxyJob, &Source),
        ClientLink { interim, mut hold }: ClientLink<'_>,
    ) -> Result<Response<Incoming>, Failure> {
        let start = Instant::now();
        let mut request = self.upstream_request(destination, job, source)?;
        // A protocol without interim responses leaves the upstream's unread.
        let interims = Arc::<InterimQueue>::default();
        let arrived = Arc::clone(&interims);
        on_informational(&mut request, move |response| {
            arrived.push(response.status(), response.headers());
        });
        let connection = capture_connection(&mut request);
        let mut sending = pin!(client.request(request));
        let pass = |(status, headers): (StatusCode, HeaderMap)| {
            if let Err(error) = interim.send(status, &headers) {
                tracing::debug!(target: "howdah::proxy", "an interim response was not forwarded: {error}");
            }
        };
        let mut silence = pin!(self.silence(source));
        let mut sent = pin!(wait_until_sent(
            connection.clone(),
            || source.sent_at(start),
            hold,
        ));
        let result = loop {
            tokio::select! {
                biased;
                result = &mut sending => break result,
                arrived = poll_fn(|cx| interims.poll_take(cx)) => arrived.into_iter().for_each(pass),
                () = &mut silence => return Err(Failure::HeaderTimeout),
                () = poll_fn(|cx| {
                    let result = sent.as_mut().poll(cx);
                    if let (Poll::Ready(()), Some(hold)) = (result, hold) {
                        hold.release(cx);
                    }
                    result
                }), if hold.is_some() => hold = None,
            }
        };
        interims.take().into_iter().for_each(pass);
        let mut response = result.map_err(|error| Failure::of(&error, &connection))?;
        let trust = head::check(&mut response, job.upgrade.as_ref());
        if trust != Ok(Trust::Kept)
            && let Some(connection) = &*connection.connection_metadata()
        {
            connection.poison();
        }
        trust?;
        Ok(response)
    }

    /// Where the connector connects to for the upstream of this number.
    fn destination<'n>(
        &self,
        index: usize,
        note: &'n UpstreamNote,
        job: &ProxyJob,
    ) -> Result<Destination<'n>, Failure> {
        let (mut host, mut is_bounded) = (format!("{CHOSEN}{index}"), true);
        if let Some(text) = job.address(index) {
            let Some(upstream) = address::parse(text) else {
                return Err(Failure::Address(text.chars().take(SHOWN_MAX).collect()));
            };
            (host, is_bounded) = (address::encode(index, &upstream), false);
        }
        if self.names_client {
            (host, is_bounded) = (encode_client(&host, job.client), false);
        }
        let is_kept = is_bounded || self.kept.admit(&host, Instant::now());
        Ok(Destination {
            index,
            note,
            key: ConnectionKey { host, is_kept },
        })
    }

    /// The request as the upstream gets it.
    fn upstream_request(
        &self,
        destination: &Destination<'_>,
        job: &ProxyJob,
        source: &Source,
    ) -> Result<Request<Upload>, Failure> {
        let headers = self.upstream_headers(destination, job, source);
        let mut request = Request::builder()
            .method(job.method.clone())
            .uri(format!("http://{}{}", destination.key.host, job.target))
            .body(Upload(source.clone()))
            .map_err(Failure::Request)?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Completes when the upstream has been inactive for too long before its response.
    async fn silence(&self, source: &Source) {
        match self.header_timeout {
            None => std::future::pending().await,
            Some(limit) => source.silence(limit).await,
        }
    }

    /// The header of the request to an upstream.
    fn upstream_headers(
        &self,
        destination: &Destination<'_>,
        job: &ProxyJob,
        source: &Source,
    ) -> HeaderMap {
        let mut headers = job.headers.clone();
        if let Some(protocol) = &job.upgrade {
            set_upgrade(&mut headers, protocol.clone());
        }
        let host = &self.hosts[destination.index];
        // HTTP/1.0 requests may lack it, HTTP/1.1 requests may not (RFC 9112 §3.2).
        let own = job.address(destination.index);
        let own = own.and_then(|address| HeaderValue::from_str(address).ok());
        let is_fixed = host.is_fixed || (self.is_encrypted && own.is_some());
        if is_fixed || !headers.contains_key(HOST) {
            headers.insert(HOST, own.unwrap_or_else(|| host.name.clone()));
        }
        for change in &job.header_up {
            change.apply_for(destination.note, &mut headers);
        }
        source.frame(&job.method, &mut headers);
        headers
    }
}

/// If the upstream has closed a reused connection, this shows within so long after a request was sent. Until then the
/// request may have to be sent again.
const CLOSE_SHOWS: Duration = Duration::from_millis(250);

/// Completes when a connection has accepted all of a request whose last part was handed over at
/// `ended`.
async fn wait_until_sent(
    mut connection: CaptureConnection,
    ended: impl Fn() -> Option<Instant>,
    hold: Option<&DisconnectGuard>,
) {
    connection.wait_for_connection_metadata().await;
    match failure::connection_progress(&connection) {
        Some(passed) => {
            passed.sent(ended).await;
            let shown = Instant::now() + CLOSE_SHOWS;
            if let Some(hold) = hold.filter(|_| passed.request_loss().is_some()) {
                // Most clients stay, so that their requests need no timer.
                hold.disconnected().await;
                tokio::time::sleep_until(shown).await;
            }
        }
        // Without a connection the attempt fails.
        None => std::future::pending().await,
    }
}

/// Sends the request `id` to an upstream, and passes its interim responses on. The `hold` is released once the request
/// was sent, unless the upstream outlasts the client. `Err`: the body of the request is refused.
pub(crate) async fn send(
    mut job: ProxyJob,
    body: Option<crate::message::incoming::Incoming>,
    limits: UploadLimits,
    (id, interim): (u64, Interim<'_>),
    hold: Option<&DisconnectGuard>,
) -> Result<Response<Content>, BodyError> {
    if let Some(dynamic) = &job.upstreams.dynamic
        && let Some(upstreams) = dynamic.upstreams().await
    {
        job.upstreams = upstreams;
        job.addresses = Box::default();
    }
    let upstreams = &job.upstreams;
    let client = ClientLink {
        interim,
        hold: hold.filter(|_| !upstreams.outlasts_client),
    };
    upstreams.checks.start(upstreams);
    let source = Source::new(body, limits);
    if let Some(error) = source.check_size() {
        return Err(error);
    }
    let balancer = &upstreams.balancer;
    let mut attempts = balancer.attempts(&job.hint);
    let mut last = None;
    loop {
        let (refusal, may_retry) = if let Some(active) = attempts.begin() {
            let (index, start) = (active.index(), Instant::now());
            let note = last.insert(active.note(job.address(index), attempts.progress()));
            let sent = upstreams.send(index, note, &job, &source, client);
            match sent.await {
                Ok(response) => {
                    let latency = source.latency(start);
                    if job.address(index).is_none() {
                        balancer.record_response(index, response.status(), latency);
                    }
                    note.latency = Some(latency);
                    let mut response = upstreams.respond(response, active, (&job, id));
                    if let Some(note) = last {
                        response.extensions_mut().insert(Arc::new(note));
                    }
                    return Ok(response);
                }
                Err(failure) => {
                    if let Some(error) = source.refusal() {
                        return Err(error);
                    }
                    // Clients could make a server unhealthy that they choose.
                    if failure.is_upstream_fault() && job.address(index).is_none() {
                        balancer.fail(index);
                    }
                    // An upstream may have started to process it.
                    let may_repeat =
                        !source.has_started() && failure.is_harmless(job.is_repeatable);
                    let may_retry = may_repeat && attempts.may_continue();
                    let upstream = match &failure {
                        Failure::Address(_) => balancer.name(index),
                        _ => job.name(index),
                    };
                    let request_id = format_args!("{id:016x}");
                    tracing::warn!(target: "howdah::proxy", %request_id, %upstream, again = may_retry,
                        "an upstream did not \
                        respond: {failure}");
                    (failure.status(), may_retry)
                }
            }
        } else {
            let may_retry = attempts.may_wait();
            let request_id = format_args!("{id:016x}");
            tracing::warn!(target: "howdah::proxy", %request_id, again = may_retry, "no upstream is healthy");
            (StatusCode::SERVICE_UNAVAILABLE, may_retry)
        };
        if !may_retry {
            let mut response = reply::plain(refusal);
            if let Some(note) = last {
                response.extensions_mut().insert(Arc::new(note));
            }
            return Ok(response);
        }
        attempts.pause().await;
    }
}

impl Upstreams {
    fn respond(
        &self,
        mut response: Response<Incoming>,
        active: ActiveRequest,
        (job, id): (&ProxyJob, u64),
    ) -> Response<Content> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let upstream = hyper::upgrade::on(&mut response);
            return self.switch(response, upstream, active, id);
        }
        let (mut head, body) = response.into_parts();
        // Without the field hyper sends no trailers over HTTP/1.
        let trailer = head.headers.remove(TRAILER);
        remove_hops(&mut head.headers);
        if let Some(trailer) = trailer {
            head.headers.insert(TRAILER, trailer);
        }
        // hyper's notes about the upstream's connection must not affect the client's.
        let reason = head.extensions.remove::<hyper::ext::ReasonPhrase>();
        let stream = head.extensions.remove::<Http2Stream>();
        head.extensions.clear();
        head.extensions.insert(ExternalResponse);
        if let Some(reason) = reason {
            head.extensions.insert(reason);
        }
        if let Some(cookie) = self.balancer.cookie(active.index(), &job.hint) {
            head.headers.append(SET_COOKIE, cookie);
        }
        let body = Download {
            body,
            limit: self.read_timeout,
            timer: None,
            _active: active,
            _stream: stream,
        };
        Response::from_parts(head, Content::Endpoint(Box::pin(body)))
    }
}

impl Upstreams {
    /// Upgrades the connection to the protocol that the client has requested.
    fn switch(
        &self,
        response: Response<Incoming>,
        upstream: OnUpgrade,
        active: ActiveRequest,
        id: u64,
    ) -> Response<Content> {
        let (mut head, _) = response.into_parts();
        // `head::check` has found the requested protocol.
        let Some(protocol) = head.headers.get(UPGRADE).cloned() else {
            return reply::plain(StatusCode::BAD_GATEWAY);
        };
        remove_hops(&mut head.headers);
        set_upgrade(&mut head.headers, protocol);
        let mut switched = reply::empty(StatusCode::SWITCHING_PROTOCOLS);
        *switched.headers_mut() = head.headers;
        let tunnel = Tunnel::new(upstream, self.stream_timeout, id, active);
        *switched.body_mut() = Content::Tunnel(Box::new(tunnel));
        switched
    }
}

fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// The body of an upstream's response.
struct Download {
    body: Incoming,
    /// `read_timeout`.
    limit: Option<Duration>,
    /// Runs while the upstream sends nothing.
    timer: Option<Pin<Box<Sleep>>>,
    _active: ActiveRequest,
    _stream: Option<Http2Stream>,
}

impl Body for Download {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        match (&frame, this.limit) {
            (Poll::Pending, Some(limit)) => {
                let timer = this
                    .timer
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                ready!(timer.as_mut().poll(cx));
                let error = "the upstream sent nothing before `read_timeout`";
                return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, error))));
            }
            _ => this.timer = None,
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
