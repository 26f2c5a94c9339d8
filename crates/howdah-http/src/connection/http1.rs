//! HTTP/1 on a connection, until it closes or has been idle for a while.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use http::{Request, Response, StatusCode};
use hyper::body::Body;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;

use super::close::{FAREWELL, LINGER, linger, refuse, reset};
use super::connection_scope::ConnectionScope;
use super::driver::{Deadline, Driver};
use crate::message::application::Application;
use crate::message::incoming::Incoming;
use crate::request::exchange::{Exchange, ResponseBody};
use crate::request::scope::RequestScope;
use crate::request::{self, ConnectionAbort};
use crate::socket::io::Io;
use crate::socket::state::Phase;

enum ServeEnd {
    Done(hyper::Result<()>),
    Deadline(Deadline),
}

/// Handles each request with the configuration that is current when it begins.
pub(super) fn service<A: Application>(
    scope: ConnectionScope<A>,
) -> impl Service<
    Request<hyper::body::Incoming>,
    Response = Response<ResponseBody<A::Body>>,
    Error = ConnectionAbort,
> + Clone {
    service_fn(move |request: Request<hyper::body::Incoming>| {
        let ConnectionScope {
            listener,
            info,
            state,
        } = &scope;
        let (service, number) = listener.current();
        if listener.drain.is_ordered() || service.snapshot.life.shutdown.closes_connections() {
            state.set_closes();
        }
        let exchange = Exchange::begin(state, &service.snapshot.life);
        let scope = RequestScope::new(service, number, info, state);
        let request = request.map(Incoming::Http1);
        request::handle(scope, exchange, request, None)
    })
}

impl Driver<'_, '_> {
    /// Serves HTTP/1 until the connection closes. A connection that has been idle for a while is returned, and hyper's
    /// buffers are freed.
    pub(super) async fn http1<S, B>(&mut self, io: Io, service: S) -> Option<Io>
    where
        S: Service<Request<hyper::body::Incoming>, Response = Response<B>, Error = ConnectionAbort>,
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>> + 'static,
    {
        let connection = self
            .limits
            .http1
            .serve_connection(TokioIo::new(io), service);
        let mut connection = Box::new(connection);
        let end = poll_fn(|cx| {
            self.register(cx);
            if let Poll::Ready(result) = Pin::new(&mut *connection).poll(cx) {
                return Poll::Ready(ServeEnd::Done(result));
            }
            // A request that has partly arrived is served first: hyper would drop it.
            if self.state.phase() != Phase::Header && self.take_drain_order() {
                Pin::new(&mut *connection).graceful_shutdown();
                if let Poll::Ready(result) = Pin::new(&mut *connection).poll(cx) {
                    return Poll::Ready(ServeEnd::Done(result));
                }
            }
            self.poll_due(cx, true).map(ServeEnd::Deadline)
        })
        .await;
        let parts = connection.into_parts();
        let mut io = parts.io.into_inner();
        match end {
            ServeEnd::Done(result) => self.finish_http1(io, &parts.read_buf, result).await,
            ServeEnd::Deadline(Deadline::Header) => {
                refuse(io.stream, StatusCode::REQUEST_TIMEOUT, "").await;
            }
            ServeEnd::Deadline(Deadline::Idle) => io.stream.close_notify(),
            ServeEnd::Deadline(Deadline::Cut) => reset(io.stream.tcp()),
            ServeEnd::Deadline(Deadline::Hibernate) => {
                self.state.received(&parts.read_buf);
                return Some(with_unparsed(io, &parts.read_buf));
            }
        }
        None
    }

    /// Closes a connection whose protocol has ended, or makes it the tunnel that the last request has requested.
    async fn finish_http1(&mut self, mut io: Io, unparsed: &[u8], result: hyper::Result<()>) {
        let state = self.state;
        if let Some(tunnel) = state.take_tunnel().filter(|_| result.is_ok()) {
            let first = [unparsed, &io.prefix[..]].concat();
            // Boxed: few connections need it.
            Box::pin(tunnel.run(&mut io.stream, &first, self.stopped())).await;
            io.stream.close_notify();
        } else if let Some(status) = state.refusal() {
            refuse(io.stream, status, "").await;
        } else if state.lingers() || result.is_err_and(|error| error.is_parse()) {
            linger(io.stream, LINGER).await;
        } else if state.closes() {
            linger(io.stream, FAREWELL).await;
        }
    }
}

/// Puts the bytes that hyper has read but not parsed before the bytes that are read next. They are copied, since
/// hyper's buffer is freed.
fn with_unparsed(mut io: Io, unparsed: &[u8]) -> Io {
    let mut bytes = Vec::with_capacity(unparsed.len() + io.prefix.len());
    bytes.extend_from_slice(unparsed);
    bytes.extend_from_slice(&io.prefix);
    io.prefix = bytes.into();
    io
}
