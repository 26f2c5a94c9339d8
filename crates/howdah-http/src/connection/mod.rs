//! One client connection from accept to close.
//!
//! ```text
//! waiting ──first bytes──> HTTP/1 ──idle for a while──> waiting
//!    │                     HTTP/2      (its buffers are given back)
//!    └──timeout, drain──> closed <── lingering <── refused, or an unread body
//! ```
//!
//! An encrypted one has its handshake first. Timeouts are kept here and not by hyper: one timer for all, armed rarely.

mod first_bytes;
pub(crate) mod handshake;
pub(crate) mod http2;
pub(crate) mod http3;
pub(crate) mod listener;
mod multiplexed;
mod proxy_protocol;

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use howdah_observe::metrics::Protocol;
use http::{Request, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::futures::Notified;

use self::first_bytes::FirstBytes;
use self::handshake::HandshakeOutcome;
use crate::clock;
use crate::connection::listener::{Drain, Listener};
use crate::listen::limits::Limits;
use crate::message::application::Application;
use crate::message::connection::Connection;
use crate::message::incoming::Incoming;
use crate::observe::thread::ThreadState;
use crate::request;
use crate::request::exchange::Exchange;
use crate::request::scope::RequestScope;
use crate::socket::io::Io;
use crate::socket::loan::Loan;
use crate::socket::state::{ConnectionState, Phase};
use crate::socket::stream::Stream;
use crate::socket::tcp::Socket;
use crate::socket::timer::Timer;

/// An idle HTTP/1 connection gives its buffers (about 17 KiB) back after so many milliseconds.
const HIBERNATE: u64 = 2_000;
/// An HTTP/2 connection without streams that does not go after GOAWAY is cut after so many.
const GOAWAY: u64 = 1_000;
/// A client that has just connected has so many milliseconds to send its first request although the server
/// shuts down: the kernel has accepted the connection.
const FRESH: u64 = 1_000;
/// How long a client may take to close a connection that the server has shut down before it is reset.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long a client may send a body that is not read before the connection is reset.
const LINGER: Duration = Duration::from_secs(2);
/// Response to a client that speaks HTTP where HTTPS is expected.
const PLAIN_HTTP: &str = "This port speaks HTTPS: use https:// in the address.";

/// Serves a connection until it ends.
pub(crate) async fn serve<A: Application>(
    listener: Rc<Listener<A>>,
    mut stream: TcpStream,
    mut remote: SocketAddr,
) {
    // What a connection has of the configuration that it was accepted in; the rest is each request's.
    let (service, number) = listener.current();
    let snapshot = &service.snapshot;
    let Ok(local) = snapshot.local_address(number, &stream) else {
        return; // gone already
    };
    let acceptor = snapshot.acceptor(number).cloned();
    let (life, limits) = (
        Rc::clone(&snapshot.life),
        Rc::clone(snapshot.limits(number)),
    );
    drop(service);
    let state = Rc::new(ConnectionState::new(limits.max_header_size));
    let drained = pin!(listener.drain.ordered());
    let mut driver = Driver {
        life: &life,
        limits: &limits,
        drain: &listener.drain,
        state: &state,
        drained,
        fresh_until: clock::now().saturating_add(FRESH),
        registered: false,
        goaway_sent: false,
        force_at: u64::MAX,
        timer: Timer::new(),
    };
    if let Some(protocol) = &limits.proxy_protocol {
        // In memory of its own, as the handshake is.
        let behind = Box::pin(driver.client_behind(protocol, &mut stream, remote)).await;
        let Some(client) = behind else {
            return;
        };
        remote = client;
    }
    let stream = Socket::new(stream);
    let mut tls = None;
    // By the handshake: what comes is HTTP/2, or a fault.
    let mut is_http2 = false;
    let stream = match acceptor {
        None => Stream::Plain(stream),
        Some(acceptor) => {
            // In memory of its own, so that it is given back.
            let handshake = Box::pin(driver.handshake(&acceptor, stream, local, remote));
            match handshake.await {
                HandshakeOutcome::Done(stream) => {
                    is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    tls = Some(handshake::describe(stream.get_ref().1, &acceptor, local));
                    Stream::Tls(stream)
                }
                HandshakeOutcome::PlainHttp(stream) => {
                    let status = StatusCode::BAD_REQUEST;
                    return refuse(Stream::Plain(stream), status, PLAIN_HTTP).await;
                }
                HandshakeOutcome::Failed => return,
            }
        }
    };
    state.connected();
    let info = Rc::new(Connection {
        remote: canonical(remote),
        local,
        tls,
    });
    let service = {
        let (listener, info) = (Rc::clone(&listener), Rc::clone(&info));
        let state = Rc::clone(&state);
        service_fn(move |request: Request<hyper::body::Incoming>| {
            let (service, number) = listener.current();
            if listener.drain.is_ordered() || service.snapshot.life.shutdown.closes_connections() {
                state.set_closes();
            }
            let exchange = Exchange::begin(&state, &service.snapshot.life);
            let scope = RequestScope::new(service, number, &info, &state);
            let request = request.map(Incoming::Http1);
            request::handle(scope, exchange, request, None)
        })
    };
    let mut io = Io {
        stream,
        prefix: Bytes::new(),
        state: Rc::clone(&state),
    };
    let speaks_http2 = if info.tls.is_some() {
        limits.h2
    } else {
        limits.h2c
    };
    let mut spoken = None;
    loop {
        let first = if is_http2 {
            FirstBytes::Http2
        } else {
            driver.first_bytes(&mut io).await
        };
        match first {
            // Again after it was idle.
            FirstBytes::Http1 => {
                driver.fresh_until = 0;
                io.stream.report_failed_writes();
                spoken.get_or_insert_with(|| life.count_protocol(Protocol::Http1));
            }
            FirstBytes::Http2 if !speaks_http2 => {
                let status = StatusCode::HTTP_VERSION_NOT_SUPPORTED;
                return refuse(io.stream, status, "").await;
            }
            FirstBytes::Http2 => {
                state.set_multiplexed();
                let _spoken = life.count_protocol(Protocol::Http2);
                let (loan, lender) = Loan::new(io);
                let shared = http2::Shared {
                    listener: Rc::clone(&listener),
                    info,
                    state: Rc::clone(&state),
                };
                let connection = http2::Connection::new(shared, loan, &limits.http2, limits.write);
                let mut connection = Box::new(connection);
                let end = driver.http2(&mut connection).await;
                drop(connection);
                if let Err(error) = end
                    && !error.is_io()
                    && let Some(stream) = lender.take()
                {
                    tracing::debug!(%remote, %error, "an HTTP/2 connection ended");
                    // It says what was wrong, and a client that is sending still is to read that.
                    linger(stream, LINGER).await;
                }
                return;
            }
            FirstBytes::Closed => return io.stream.close_notify(),
            FirstBytes::TimedOut => {
                return refuse(io.stream, StatusCode::REQUEST_TIMEOUT, "").await;
            }
        }
        let mut connection = Box::new(
            limits
                .http1
                .serve_connection(TokioIo::new(io), service.clone()),
        );
        let end = std::future::poll_fn(|cx| {
            driver.register(cx);
            if let Poll::Ready(result) = Pin::new(&mut *connection).poll(cx) {
                return Poll::Ready(ServeEnd::Done(result));
            }
            // A request of which something has come is served before: hyper would drop it.
            if driver.state.phase() != Phase::Header && driver.take_drain_order() {
                Pin::new(&mut *connection).graceful_shutdown();
                if let Poll::Ready(result) = Pin::new(&mut *connection).poll(cx) {
                    return Poll::Ready(ServeEnd::Done(result));
                }
            }
            driver.poll_due(cx, true).map(ServeEnd::Deadline)
        })
        .await;
        let parts = connection.into_parts();
        io = parts.io.into_inner();
        match end {
            ServeEnd::Done(result) => {
                if let Some(tunnel) = state.take_tunnel().filter(|_| result.is_ok()) {
                    let first = [&parts.read_buf[..], &io.prefix[..]].concat();
                    // In memory of its own: few connections ever need it.
                    Box::pin(tunnel.run(&mut io.stream, &first, driver.stopped())).await;
                    io.stream.close_notify();
                } else if let Some(status) = state.refusal() {
                    refuse(io.stream, status, "").await;
                } else if state.lingers() || result.is_err_and(|error| error.is_parse()) {
                    linger(io.stream, LINGER).await;
                } else if state.closes() {
                    linger(io.stream, FAREWELL).await;
                }
                return;
            }
            ServeEnd::Deadline(Deadline::Header) => {
                return refuse(io.stream, StatusCode::REQUEST_TIMEOUT, "").await;
            }
            ServeEnd::Deadline(Deadline::Idle) => return io.stream.close_notify(),
            ServeEnd::Deadline(Deadline::Cut) => return reset(io.stream.tcp()),
            ServeEnd::Deadline(Deadline::Hibernate) => {
                state.received(&parts.read_buf);
                // What hyper has read and not parsed comes first. Copied, since it is in the buffer
                // that is to be given back.
                let mut bytes = Vec::with_capacity(parts.read_buf.len() + io.prefix.len());
                bytes.extend_from_slice(&parts.read_buf);
                bytes.extend_from_slice(&io.prefix);
                io.prefix = bytes.into();
            }
        }
    }
}

enum ServeEnd {
    Done(hyper::Result<()>),
    Deadline(Deadline),
}

/// A deadline that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deadline {
    /// The header is not complete.
    Header,
    /// No request for too long.
    Idle,
    /// No request for a while.
    Hibernate,
    /// The client takes nothing, or the server's grace is over.
    Cut,
}

/// What every state of a connection needs: timeouts and the order to drain.
struct Driver<'c, 'd> {
    life: &'c ThreadState,
    limits: &'c Limits,
    drain: &'c Drain,
    state: &'c ConnectionState,
    drained: Pin<&'d mut Notified<'c>>,
    /// On the coarse clock: until when the first request of the connection is waited for although the server
    /// leaves. 0: it has come.
    fresh_until: u64,
    /// Whether the task's waker waits for the order to drain.
    registered: bool,
    /// Whether the protocol was ordered to end: on HTTP/2, by GOAWAY.
    goaway_sent: bool,
    /// When an HTTP/2 connection is cut after GOAWAY.
    force_at: u64,
    timer: Timer,
}

impl Driver<'_, '_> {
    /// The task is always the same, so its waker needs registering once.
    fn register(&mut self, cx: &mut std::task::Context<'_>) {
        if !self.registered {
            self.registered = true;
            // Ready or not, `draining` is what is looked at.
            let _ = self.drained.as_mut().poll(cx);
        }
    }

    /// Ready when the connection is to end.
    async fn stopped(&mut self) {
        std::future::poll_fn(|cx| {
            self.register(cx);
            if self.drain.is_ordered() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// What the work gives, unless the connection is to end or the deadline passes before.
    async fn before_deadline<T>(
        &mut self,
        deadline: u64,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            self.register(cx);
            if let Poll::Ready(result) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            let deadline = deadline.min(self.first_request_until());
            self.timer.poll(cx, deadline).map(|()| None)
        })
        .await
    }

    /// On the coarse clock: when a connection without a request is over because the server leaves.
    fn first_request_until(&self) -> u64 {
        if self.drain.is_ordered() {
            self.fresh_until
        } else {
            u64::MAX
        }
    }

    /// True once, when the connection is to end.
    fn take_drain_order(&mut self) -> bool {
        let now = self.drain.is_ordered() && !self.goaway_sent;
        self.goaway_sent |= now;
        now
    }

    /// The first deadline, and what is done then.
    fn due(&self, hibernates: bool) -> (u64, Deadline) {
        let limits = self.limits;
        let since = self.state.phase_start();
        let mut due = match self.state.phase() {
            Phase::Header => (since.saturating_add(limits.read_header), Deadline::Header),
            Phase::Idle if hibernates && !self.state.is_writing() => {
                let idle = (since.saturating_add(limits.idle), Deadline::Idle);
                let hibernate = (since.saturating_add(HIBERNATE), Deadline::Hibernate);
                if hibernate.0 < idle.0 {
                    hibernate
                } else {
                    idle
                }
            }
            Phase::Idle => (since.saturating_add(limits.idle), Deadline::Idle),
            Phase::Busy => (u64::MAX, Deadline::Cut),
        };
        let cut = self
            .state
            .blocked_since()
            .map_or(u64::MAX, |blocked| blocked.saturating_add(limits.write))
            .min(self.drain.cut_at())
            .min(self.force_at);
        if cut <= due.0 {
            due = (cut, Deadline::Cut);
        }
        due
    }

    fn poll_due(&mut self, cx: &mut std::task::Context<'_>, hibernates: bool) -> Poll<Deadline> {
        let (deadline, due) = self.due(hibernates);
        self.timer.poll(cx, deadline).map(|()| due)
    }

    async fn http2<A: Application>(
        &mut self,
        connection: &mut http2::Connection<A>,
    ) -> Result<(), h2::Error> {
        std::future::poll_fn(|cx| {
            self.state.begin_poll();
            self.register(cx);
            if self.take_drain_order() {
                connection.graceful_shutdown();
            }
            if let Poll::Ready(end) = connection.poll(cx) {
                return Poll::Ready(end);
            }
            let idle = self.state.phase() == Phase::Idle;
            if !idle {
                // It was sent before the client knew.
                self.force_at = u64::MAX;
            } else if self.goaway_sent && self.force_at == u64::MAX {
                self.force_at = clock::now() + GOAWAY;
            }
            loop {
                match self.poll_due(cx, false) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Deadline::Idle) if self.force_at == u64::MAX => {
                        // A stream whose last bytes the client does not take is over for its
                        // application, so the time to go is bounded.
                        self.goaway_sent = true;
                        self.force_at = clock::now().saturating_add(GOAWAY);
                        connection.graceful_shutdown();
                        if let Poll::Ready(end) = connection.poll(cx) {
                            return Poll::Ready(end);
                        }
                    }
                    Poll::Ready(Deadline::Idle) => {
                        // GOAWAY was sent; the forced end comes first from here on.
                        return self.timer.poll(cx, self.force_at).map(Ok);
                    }
                    Poll::Ready(_) => return Poll::Ready(Ok(())),
                }
            }
        })
        .await
    }
}

/// An IPv4 client of a listener for both families is shown as IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Answers what never became a request, as far as the socket takes it, and closes. Without a `text` it
/// is the status.
async fn refuse(mut stream: Stream, status: StatusCode, text: &str) {
    let reason = status.canonical_reason().unwrap_or("");
    let code = status.as_u16();
    let body = if text.is_empty() {
        format!("{code} {reason}\n")
    } else {
        format!("{text}\n")
    };
    let response = format!(
        "HTTP/1.1 {code} {reason}\r\nServer: Howdah\r\nDate: {}\r\nConnection: close\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        httpdate::fmt_http_date(SystemTime::now()),
        body.len(),
    );
    // A socket that does not take these few bytes belongs to a client that would not read them.
    let sent = match &mut stream {
        Stream::Plain(socket) => socket.tcp().try_write(response.as_bytes()).is_ok(),
        Stream::Tls(stream) => {
            let send = async {
                stream.write_all(response.as_bytes()).await?;
                stream.flush().await
            };
            matches!(tokio::time::timeout(LINGER, send).await, Ok(Ok(())))
        }
    };
    if sent {
        linger(stream, LINGER).await;
    }
}

/// Lets the client read the response before the connection goes: a close with unread bytes in the
/// receive buffer is a reset. It has `limit` to close the connection.
async fn linger(mut stream: Stream, limit: Duration) {
    stream.close_notify();
    let stream = stream.tcp_mut();
    if socket2::SockRef::from(&*stream)
        .shutdown(std::net::Shutdown::Write)
        .is_err()
    {
        return;
    }
    let drain = async {
        let mut scratch = Box::new([0; 8192]);
        while stream
            .read(&mut scratch[..])
            .await
            .is_ok_and(|read| read > 0)
        {}
    };
    // The end of the time and the end of the stream come to the same: the socket is closed.
    let _ = tokio::time::timeout(limit, drain).await;
}

/// Closes without waiting for what the client has not taken.
fn reset(stream: &TcpStream) {
    if let Err(error) = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)) {
        tracing::debug!(%error, "a connection cannot be reset");
    }
}
