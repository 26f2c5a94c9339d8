//! HTTP/2: its frames by h2, requests by the service that HTTP/1 and HTTP/3 have.
//!
//! h2 is driven here and not by hyper's server, which sends no interim responses. The timeouts, and the
//! order to drain, are the connection's (`connection/mod.rs`).
//!
//! What clients can do to a server is bounded by h2: streams that they reset before they were looked at
//! (20), streams that were reset for their own faults (1,024), frames that continue a header, small frames
//! of data, acknowledgements that wait to be sent.

mod body;
mod stream;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Handshake};
use howdah_config::model::Limits;

pub(crate) use self::body::Upload;
use crate::application::{self, Application};
use crate::connection::lent::Lent;
use crate::connection::state::ConnectionState;
use crate::executor::LocalExecutor;
use crate::response::Exchange;
use crate::serving::Listener;

/// Streams of a connection at a time, the number that nginx allows.
const STREAMS_MAX: u32 = 128;
/// Bytes that a client may send unread: of a request, and of a connection.
const WINDOW: u32 = 1 << 20;
/// Bytes of one response that wait to be sent.
const SEND_BUFFER: usize = 400 << 10;
/// Streams that ended by a fault of the client before its connection does.
const FAULTS_MAX: usize = 1024;

/// What connections are made from.
pub(crate) fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(limits.max_header_size).unwrap_or(u32::MAX))
        .max_local_error_reset_streams(Some(FAULTS_MAX))
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

/// What the requests of a connection share.
pub(crate) struct Shared<A> {
    pub(crate) listener: Rc<Listener<A>>,
    pub(crate) info: Rc<application::Connection>,
    pub(crate) state: Rc<ConnectionState>,
}

/// A connection, to be polled until it ends.
pub(crate) struct Connection<A> {
    shared: Rc<Shared<A>>,
    executor: LocalExecutor,
    state: State,
    told: bool,
}

enum State {
    Beginning(Handshake<Lent, Bytes>),
    Serving(h2::server::Connection<Lent, Bytes>),
}

impl<A: Application> Connection<A> {
    /// `write_limit`: milliseconds in which a client has to take something.
    pub(crate) fn new(shared: Shared<A>, io: Lent, builder: &Builder, write_limit: u64) -> Self {
        Self {
            executor: LocalExecutor {
                write_limit: Duration::from_millis(write_limit),
            },
            state: State::Beginning(builder.handshake(io)),
            told: false,
            shared: Rc::new(shared),
        }
    }

    /// Tells the client to make no new requests here. The connection ends with those under way.
    pub(crate) fn graceful_shutdown(&mut self) {
        self.told = true;
        if let State::Serving(connection) = &mut self.state {
            connection.graceful_shutdown();
        }
    }

    /// Ready when the connection has ended; an error has been told to the client, if it is one of the
    /// protocol.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            match &mut self.state {
                State::Beginning(handshake) => {
                    let mut connection = ready!(Pin::new(handshake).poll(cx))?;
                    if self.told {
                        connection.graceful_shutdown();
                    }
                    self.state = State::Serving(connection);
                }
                State::Serving(connection) => match ready!(connection.poll_accept(cx)) {
                    None => return Poll::Ready(Ok(())),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    Some(Ok((request, respond))) => {
                        let shared = Rc::clone(&self.shared);
                        let (thread, _) = shared.listener.current();
                        let exchange = Exchange::begin(&shared.state, &thread.core.life);
                        let stream = stream::serve(shared, exchange, request, respond);
                        self.executor.run(stream);
                    }
                },
            }
        }
    }
}
