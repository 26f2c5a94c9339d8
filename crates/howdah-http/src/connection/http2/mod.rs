//! HTTP/2: frames by h2, requests by the service that HTTP/1 and HTTP/3 use too.
//!
//! h2 is used directly and not through hyper's server, which sends no interim responses. The connection has the
//! timeouts and the order to drain (`connection/mod.rs`).
//!
//! h2 limits what clients can do to a server: streams that they reset before they were accepted (20), streams that were
//! reset because of errors (1,024), CONTINUATION frames, small frames of data, and acknowledgements that wait to be
//! sent.

mod body;
mod drive;
mod stream;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Handshake};

use crate::connection::connection_scope::ConnectionScope;
use crate::message::application::Application;
use crate::request::exchange::Exchange;
use crate::socket::executor::LocalExecutor;
use crate::socket::loan::Loan;

/// A connection, which must be polled until it ends.
pub(crate) struct Connection<A> {
    scope: Rc<ConnectionScope<A>>,
    executor: LocalExecutor,
    state: State,
    goaway_sent: bool,
}

enum State {
    Beginning(Handshake<Loan, Bytes>),
    Serving(h2::server::Connection<Loan, Bytes>),
}

impl<A: Application> Connection<A> {
    /// `write_limit`: milliseconds in which a client has to accept some bytes.
    pub(crate) fn new(
        scope: ConnectionScope<A>,
        io: Loan,
        builder: &Builder,
        write_limit: u64,
    ) -> Self {
        Self {
            executor: LocalExecutor {
                write_limit: Duration::from_millis(write_limit),
            },
            state: State::Beginning(builder.handshake(io)),
            goaway_sent: false,
            scope: Rc::new(scope),
        }
    }

    /// Sends GOAWAY. The connection closes after the requests in flight.
    pub(crate) fn graceful_shutdown(&mut self) {
        self.goaway_sent = true;
        if let State::Serving(connection) = &mut self.state {
            connection.graceful_shutdown();
        }
    }

    /// Ready when the connection has ended. A protocol error has been reported to the client.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            match &mut self.state {
                State::Beginning(handshake) => {
                    let mut connection = ready!(Pin::new(handshake).poll(cx))?;
                    if self.goaway_sent {
                        connection.graceful_shutdown();
                    }
                    self.state = State::Serving(connection);
                }
                State::Serving(connection) => match ready!(connection.poll_accept(cx)) {
                    None => return Poll::Ready(Ok(())),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    Some(Ok((request, respond))) => {
                        let scope = Rc::clone(&self.scope);
                        let (service, _) = scope.listener.current();
                        let exchange = Exchange::begin(&scope.state, &service.snapshot.life);
                        let stream = stream::serve(scope, exchange, request, respond);
                        self.executor.run(stream);
                    }
                },
            }
        }
    }
}
