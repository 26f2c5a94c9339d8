//! One request of an HTTP/3 connection, from its header to the end of its response.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h3::error::Code;
use h3::error::StreamError;
use h3::server::{RequestResolver, RequestStream};
use http::{Method, Request, Response};
use http_body::Body;

use super::body::Upload;
use super::bounded::{BoundedStream, Quic};
use crate::connection::listener::Listener;
use crate::connection::multiplexed::{Expectation, finalize, is_well_formed, poll_answer};
use crate::message::application::Application;
use crate::message::connection::Connection;
use crate::message::disconnect::DisconnectGuard;
use crate::message::incoming::Incoming;
use crate::request;
use crate::request::exchange::{Exchange, ResponseBody};
use crate::request::scope::RequestScope;
use crate::socket::executor;
use crate::socket::state::ConnectionState;

/// State that the requests of a connection share.
pub(super) struct QuicScope<A> {
    pub(super) listener: Rc<Listener<A>>,
    pub(super) info: Rc<Connection>,
    pub(super) state: Rc<ConnectionState>,
    pub(super) quic: quinn::Connection,
}

/// Handles a request, unless its connection ends before.
pub(super) async fn serve<A: Application>(
    connection: Rc<QuicScope<A>>,
    resolver: RequestResolver<Quic, Bytes>,
) {
    let limit = {
        let (service, number) = connection.listener.current();
        Duration::from_millis(service.snapshot.limits(number).read_header)
    };
    let hold = DisconnectGuard::default();
    let answered = async {
        // If this fails, 431 has been sent for a header that is too large.
        if let Ok(Ok((request, stream))) =
            tokio::time::timeout(limit, resolver.resolve_request()).await
        {
            answer(&connection, request, stream, &hold).await;
        }
    };
    let (mut answered, mut closed) = (pin!(answered), pin!(connection.quic.closed()));
    std::future::poll_fn(|cx| {
        // First handle what arrived before the end.
        if answered.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if hold.is_on() {
            return Poll::Pending;
        }
        closed.as_mut().poll(cx).map(drop)
    })
    .await;
}

async fn answer<A: Application>(
    connection: &QuicScope<A>,
    request: Request<()>,
    stream: RequestStream<BoundedStream<h3_quinn::BidiStream<Bytes>>, Bytes>,
    hold: &DisconnectGuard,
) {
    let (send, receive) = stream.split();
    let mut sender = Sender { send, done: false };
    let (service, listener) = connection.listener.current();
    let exchange = Exchange::begin(&connection.state, &service.snapshot.life);
    let (parts, ()) = request.into_parts();
    let upload = Upload::new(receive, &parts.headers).filter(|_| is_well_formed(&parts.headers));
    let Some(mut upload) = upload else {
        return sender.send.stop_stream(Code::H3_MESSAGE_ERROR);
    };
    if std::future::poll_fn(|cx| Poll::Ready(upload.poll_available(cx)))
        .await
        .is_err()
    {
        return sender.send.stop_stream(Code::H3_MESSAGE_ERROR);
    }
    let expectation = Expectation::of(&parts.headers).filter(|_| !upload.is_end_stream());
    let (expectation, mut wanted) = expectation.unzip();
    if let Some(expectation) = expectation {
        upload.expect(expectation);
    }
    let head = parts.method == Method::HEAD;
    let request = Request::from_parts(parts, Incoming::Http3(Box::pin(upload)));
    let scope = RequestScope::new(service, listener, &connection.info, &connection.state);
    let response = {
        let answering = request::handle(scope, exchange, request, Some(hold));
        let mut answering = pin!(answering);
        loop {
            let (interim, answer) = std::future::poll_fn(|cx| {
                poll_answer(cx, answering.as_mut(), &mut wanted, &connection.state)
            })
            .await;
            for response in interim {
                if sender.inform(response).await.is_err() {
                    return;
                }
            }
            if let Poll::Ready(response) = answer {
                break response;
            }
        }
    };
    // An error is a route's order to close without a response: the stream is reset.
    if let Ok(response) = response {
        sender.respond(response, head).await;
    }
}

/// Sends the response. A stream that is dropped before its end is reset, so that a client does not mistake a part for
/// the whole.
struct Sender {
    send: RequestStream<h3_quinn::SendStream<Bytes>, Bytes>,
    done: bool,
}

impl Sender {
    /// Sends an interim response, within the time in which a client has to accept a part of a response. An interim
    /// response that is too large for the client is left out.
    async fn inform(&mut self, response: Response<()>) -> Result<(), StreamError> {
        executor::note_response();
        let sent = self.send.send_response(response).await;
        executor::note_body(true);
        match sent {
            Err(error @ StreamError::HeaderTooBig { .. }) => {
                tracing::debug!(%error, "an interim response was not sent");
                Ok(())
            }
            sent => sent,
        }
    }

    async fn respond<B>(&mut self, response: Response<ResponseBody<B>>, head: bool)
    where
        B: Body<Data = Bytes, Error = std::io::Error> + Unpin,
    {
        let (parts, mut body) = response.into_parts();
        let (answer, has_body) = finalize(parts, &body, head);
        // Interim responses may precede it.
        executor::note_response();
        if self.send.send_response(answer).await.is_err() {
            return;
        }
        if has_body {
            loop {
                match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                    None => break,
                    Some(Err(_)) => return,
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) if data.is_empty() => {}
                        Ok(data) => {
                            if self.send.send_data(data).await.is_err() {
                                return;
                            }
                        }
                        Err(frame) => {
                            if let Ok(trailers) = frame.into_trailers() {
                                if self.send.send_trailers(trailers).await.is_err() {
                                    return;
                                }
                                break;
                            }
                        }
                    },
                }
            }
        }
        self.done = self.send.finish().await.is_ok();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if !self.done {
            self.send.stop_stream(Code::H3_REQUEST_CANCELLED);
        }
    }
}
