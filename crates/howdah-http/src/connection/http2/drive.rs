//! The life of an HTTP/2 connection: requests, timeouts, GOAWAY.

use std::future::poll_fn;
use std::task::Poll;

use howdah_observe::metrics::Protocol;

use super::Connection;
use crate::clock;
use crate::connection::close::{LINGER, linger};
use crate::connection::connection_scope::ConnectionScope;
use crate::connection::driver::{Deadline, Driver};
use crate::message::application::Application;
use crate::socket::io::Io;
use crate::socket::loan::Loan;
use crate::socket::state::Phase;

/// Milliseconds after GOAWAY until an HTTP/2 connection without streams is cut.
const GOAWAY: u64 = 1_000;

impl Driver<'_, '_> {
    /// Serves HTTP/2 until the connection ends.
    pub(in crate::connection) async fn http2<A: Application>(
        &mut self,
        io: Io,
        scope: ConnectionScope<A>,
    ) {
        self.state.set_multiplexed();
        let _counted = self.life.count_protocol(Protocol::Http2);
        let remote = scope.info.remote;
        let (loan, lender) = Loan::new(io);
        let connection = Connection::new(scope, loan, &self.limits.http2, self.limits.write);
        let mut connection = Box::new(connection);
        let end = self.poll_http2(&mut connection).await;
        drop(connection);
        if let Err(error) = end
            && !error.is_io()
            && let Some(stream) = lender.take()
        {
            tracing::debug!(%remote, %error, "an HTTP/2 connection ended");
            // GOAWAY names the error. A client that is still sending must be able to read it.
            linger(stream, LINGER).await;
        }
    }

    async fn poll_http2<A: Application>(
        &mut self,
        connection: &mut Connection<A>,
    ) -> Result<(), h2::Error> {
        poll_fn(|cx| {
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
                // The request was sent before the client received GOAWAY.
                self.force_at = u64::MAX;
            } else if self.goaway_sent && self.force_at == u64::MAX {
                self.force_at = clock::now() + GOAWAY;
            }
            loop {
                match self.poll_due(cx, false) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Deadline::Idle) if self.force_at == u64::MAX => {
                        // When the client does not accept the last bytes of a stream, its
                        // application has finished nevertheless, so the time for that is limited.
                        self.goaway_sent = true;
                        self.force_at = clock::now().saturating_add(GOAWAY);
                        connection.graceful_shutdown();
                        if let Poll::Ready(end) = connection.poll(cx) {
                            return Poll::Ready(end);
                        }
                    }
                    Poll::Ready(Deadline::Idle) => {
                        // GOAWAY was sent; from now on the forced close comes first.
                        return self.timer.poll(cx, self.force_at).map(Ok);
                    }
                    Poll::Ready(_) => return Poll::Ready(Ok(())),
                }
            }
        })
        .await
    }
}
