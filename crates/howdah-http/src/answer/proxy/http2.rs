//! HTTP/2 to upstreams: connections that carry many requests at once.
//!
//! hyper's pool takes the authority of a request as the key of its connections, and HTTP/2 sends that authority to the
//! upstream. Here they are independent.

use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use http::header::{CONNECTION, HOST, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, Connection, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tower_service::Service;

use super::failure::Failure;
use super::job::ProxyJob;
use super::upload::{Source, Upload};
use super::{ConnectionKey, Destination, Upstreams, head};
use crate::answer::upstream::Connector;
use crate::answer::upstream::pooled::PooledConnection;
use crate::answer::upstream::tls::explain;
use crate::message::disconnect::DisconnectGuard;

/// Requests in flight on a connection, before another is opened. Servers should allow as many (RFC 9113 §6.5.2); for
/// those that do not, their limit applies.
const STREAMS_MAX: usize = 100;

/// Bytes of a response that are received ahead of the client.
const STREAM_WINDOW: u32 = 256 << 10;

/// Enough that slow clients do not stop the responses of others on the same connection.
const CONNECTION_WINDOW: u32 = 100 * STREAM_WINDOW;

/// Bytes of a response's header.
const HEADER_MAX: u32 = 128 << 10;

/// A request is written to its connection within so long after the last part was handed over, unless the upstream
/// stalls.
const WRITTEN_AFTER: Duration = Duration::from_millis(250);

/// Counts a request or a response on its connection.
#[derive(Debug, Clone)]
pub(super) struct Http2Stream(
    #[expect(dead_code, reason = "the connection counts the references")] Arc<()>,
);

/// The connections of a front thread to the upstreams of a `reverse_proxy`.
pub(super) struct Http2Client {
    connector: Connector,
    /// `None`: each request has its own connection.
    keepalive: Option<Duration>,
    pools: Pools,
}

/// Connections by the host that the connector resolves.
type Pools = Arc<Mutex<HashMap<String, Pool>>>;

#[derive(Default)]
struct Pool {
    open: Vec<PooledSender>,
    /// The result of the connection that is being opened.
    opening: Option<watch::Receiver<Option<Result<(), OpenError>>>>,
}

struct PooledSender {
    sender: SendRequest<Upload>,
    driver: Driver,
    /// Has a reference for each request in flight.
    streams: Arc<()>,
    used: Instant,
}

/// A connection, which its task polls; `None` after its end, so that its requests fail. The lock is never contended: all
/// is on one thread.
type Driver = Arc<Mutex<Option<Connection<TokioIo<PooledConnection>, Upload, TokioExecutor>>>>;

/// Why a connection cannot be opened.
#[derive(Debug, Clone)]
struct OpenError {
    is_timeout: bool,
    reason: String,
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        if error.is_timeout {
            Self::DialTimeout(error.reason)
        } else {
            Self::Connect(error.reason)
        }
    }
}

fn lock(pools: &Pools) -> MutexGuard<'_, HashMap<String, Pool>> {
    pools.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A connection with room for another request.
    fn take(&mut self) -> Option<(SendRequest<Upload>, Http2Stream)> {
        self.open.retain(|own| !own.sender.is_closed());
        let found = self.open.iter_mut().find(|own| own.has_room())?;
        found.used = Instant::now();
        Some((
            found.sender.clone(),
            Http2Stream(Arc::clone(&found.streams)),
        ))
    }
}

impl PooledSender {
    fn has_room(&self) -> bool {
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.as_ref().is_some_and(|connection| {
            let most = connection.current_max_send_streams();
            Arc::strong_count(&self.streams) <= most.clamp(1, STREAMS_MAX)
        })
    }

    fn is_expired(&self, keepalive: Duration) -> bool {
        let is_idle = Arc::strong_count(&self.streams) == 1;
        self.sender.is_closed() || (is_idle && self.used.elapsed() >= keepalive)
    }
}

impl Http2Client {
    pub(super) fn new(connector: Connector, keepalive: Option<Duration>) -> Self {
        Self {
            connector,
            keepalive: keepalive.filter(|keepalive| !keepalive.is_zero()),
            pools: Pools::default(),
        }
    }

    /// Sends a request over one of these connections.
    pub(super) async fn send(
        &self,
        key: &ConnectionKey,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, Failure> {
        let (mut sender, stream) = self.acquire(key).await?;
        match sender.try_send_request(request).await {
            Ok(mut response) => {
                response.extensions_mut().insert(stream);
                Ok(response)
            }
            Err(mut error) => {
                let is_unsent = error.take_message().is_some();
                Err(Failure::of_http2(&error.into_error(), is_unsent))
            }
        }
    }

    async fn acquire(
        &self,
        key: &ConnectionKey,
    ) -> Result<(SendRequest<Upload>, Http2Stream), OpenError> {
        let host = key.host.as_str();
        let Some(keepalive) = self.keepalive.filter(|_| key.is_kept) else {
            let (sender, _) = open(self.connector.clone(), host).await?;
            return Ok((sender, Http2Stream(Arc::default())));
        };
        loop {
            let mut opening = {
                let mut pools = lock(&self.pools);
                let pool = pools.entry(host.to_owned()).or_default();
                if let Some(found) = pool.take() {
                    return Ok(found);
                }
                let begin = || self.begin(host.to_owned(), keepalive);
                pool.opening.get_or_insert_with(begin).clone()
            };
            match opening.wait_for(Option::is_some).await {
                Ok(result) => {
                    if let Some(Err(error)) = &*result {
                        return Err(error.clone());
                    }
                }
                Err(_) => {
                    return Err(OpenError {
                        is_timeout: false,
                        reason: "the server stops".into(),
                    });
                }
            }
        }
    }

    /// Opens a connection for all requests that wait for it, and closes it when it has been idle for `keepalive`.
    fn begin(
        &self,
        host: String,
        keepalive: Duration,
    ) -> watch::Receiver<Option<Result<(), OpenError>>> {
        let (result, opening) = watch::channel(None);
        let (connector, pools) = (self.connector.clone(), Arc::downgrade(&self.pools));
        tokio::spawn(async move {
            let opened = open(connector, &host).await;
            let Some(open_pools) = pools.upgrade() else {
                return;
            };
            let opened = {
                let mut pools = lock(&open_pools);
                let pool = pools.entry(host.clone()).or_default();
                pool.opening = None;
                opened.map(|(sender, driver)| {
                    pool.open.push(PooledSender {
                        sender,
                        driver,
                        streams: Arc::default(),
                        used: Instant::now(),
                    });
                })
            };
            drop(open_pools);
            result.send_replace(Some(opened));
            loop {
                sleep(keepalive).await;
                let Some(pools) = pools.upgrade() else {
                    return;
                };
                let mut pools = lock(&pools);
                let Some(pool) = pools.get_mut(&host) else {
                    return;
                };
                pool.open.retain(|own| !own.is_expired(keepalive));
                if pool.open.is_empty() {
                    if pool.opening.is_none() {
                        pools.remove(&host);
                    }
                    return;
                }
            }
        });
        opening
    }
}

async fn open(
    mut connector: Connector,
    host: &str,
) -> Result<(SendRequest<Upload>, Driver), OpenError> {
    let failed = |reason: String| OpenError {
        is_timeout: false,
        reason,
    };
    let uri = format!("http://{host}/").parse();
    let uri: Uri = uri.map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
    let stream = connector.call(uri).await.map_err(|error| OpenError {
        is_timeout: error.kind() == io::ErrorKind::TimedOut,
        reason: explain(&error).unwrap_or_else(|| error.to_string()),
    })?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEADER_MAX)
        .handshake(stream)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let driver = Arc::new(Mutex::new(Some(connection)));
    let connection = Arc::clone(&driver);
    tokio::spawn(async move {
        let end = poll_fn(|cx| {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(running) = &mut *connection else {
                return Poll::Ready(Ok(()));
            };
            let result = Pin::new(running).poll(cx);
            if result.is_ready() {
                *connection = None;
            }
            result
        });
        if let Err(error) = end.await {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            tracing::debug!(target: "howdah::proxy", "an HTTP/2 connection has failed: {error}: {cause}");
        }
    });
    Ok((sender, driver))
}

/// A request with this header, whose `Host` becomes the authority.
pub(super) fn request(
    (method, target): (&Method, &str),
    mut headers: HeaderMap,
    body: Upload,
    is_encrypted: bool,
) -> Result<Request<Upload>, Failure> {
    let authority = headers.remove(HOST);
    for name in [CONNECTION, UPGRADE, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    // gRPC requires it. Trailers that the client does not want are dropped on its side.
    headers.insert(TE, HeaderValue::from_static("trailers"));
    let target = target
        .parse::<PathAndQuery>()
        .map_err(|error| Failure::Request(error.into()))?;
    let uri = Uri::builder()
        .scheme(if is_encrypted { "https" } else { "http" })
        .authority(authority.as_ref().map_or(&b""[..], HeaderValue::as_bytes))
        .path_and_query(target)
        .build()
        .map_err(Failure::Request)?;
    let mut request = Request::new(body);
    *request.method_mut() = method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Completes after the client's disconnect, when all of a request was handed over since `start` and had time to be
/// written.
async fn wait_until_written(source: &Source, start: Instant, hold: Option<&DisconnectGuard>) {
    if let Some(hold) = hold {
        hold.disconnected().await;
    }
    loop {
        sleep(WRITTEN_AFTER).await;
        if source.sent_at(start).is_some() {
            return;
        }
    }
}

impl Upstreams {
    /// Sends the request over HTTP/2.
    pub(super) async fn attempt_http2(
        &self,
        client: &Http2Client,
        destination: &Destination<'_>,
        (job, source): (&ProxyJob, &Source),
        mut hold: Option<&DisconnectGuard>,
    ) -> Result<Response<Incoming>, Failure> {
        let start = Instant::now();
        let headers = self.upstream_headers(destination, job, source);
        let body = Upload(source.clone());
        let target = (&job.method, job.target.as_str());
        let request = request(target, headers, body, self.is_encrypted)?;
        let mut sending = pin!(client.send(&destination.key, request));
        let mut silence = pin!(self.silence(source));
        let mut written = pin!(wait_until_written(source, start, hold));
        let mut response = loop {
            tokio::select! {
                biased;
                result = &mut sending => break result?,
                () = &mut silence => return Err(Failure::HeaderTimeout),
                () = poll_fn(|cx| {
                    let result = written.as_mut().poll(cx);
                    if let (true, Some(hold)) = (result.is_ready(), hold) {
                        hold.release(cx);
                    }
                    result
                }), if hold.is_some() => hold = None,
            }
        };
        head::check(&mut response, None)?;
        Ok(response)
    }
}
