//! One request of an HTTP/2 connection, from its header to the end of its response.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Method, Request};
use http_body::Body;

use super::ConnectionScope;
use super::body::Upload;
use crate::connection::multiplexed::{Expectation, finalize, poll_answer};
use crate::message::application::Application;
use crate::message::disconnect::DisconnectGuard;
use crate::message::incoming::Incoming;
use crate::request;
use crate::request::exchange::Exchange;
use crate::request::scope::RequestScope;

/// Handles a request, unless its client resets the stream before. A stream that is dropped before its end is reset.
pub(super) async fn serve<A: Application>(
    connection: Rc<ConnectionScope<A>>,
    exchange: Exchange,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let (parts, stream) = request.into_parts();
    let head = parts.method == Method::HEAD;
    let expectation = Expectation::of(&parts.headers).filter(|_| !stream.is_end_stream());
    let (expectation, mut wanted) = expectation.unzip();
    let upload = Upload::new(stream, &parts.headers, expectation);
    let (service, number) = connection.listener.current();
    let scope = RequestScope::new(service, number, &connection.info, &connection.state);
    let body = if upload.is_end_stream() {
        Incoming::Empty
    } else {
        Incoming::Http2(Box::pin(upload))
    };
    let request = Request::from_parts(parts, body);
    let hold = DisconnectGuard::default();
    let answered = {
        let answering = request::handle(scope, exchange, request, Some(&hold));
        let mut answering = pin!(answering);
        std::future::poll_fn(|cx| {
            loop {
                let step = poll_answer(cx, answering.as_mut(), &mut wanted, &connection.state);
                let (interim, answer) = match step {
                    Poll::Pending if hold.is_on() => return Poll::Pending,
                    Poll::Pending if respond.poll_reset(cx).is_ready() => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(step) => step,
                };
                if !interim.is_empty() && respond.poll_reset(cx).is_ready() {
                    return Poll::Ready(None);
                }
                for response in interim {
                    if let Err(error) = respond.send_informational(response) {
                        tracing::debug!(%error, "an interim response was not sent");
                    }
                }
                if answer.is_ready() {
                    return answer.map(Some);
                }
            }
        })
        .await
    };
    match answered {
        // The client has reset the stream.
        None => {}
        // A route's order to close without a response.
        Some(Err(_)) => respond.send_reset(Reason::INTERNAL_ERROR),
        Some(Ok(response)) => {
            let (parts, body) = response.into_parts();
            let (response, has_body) = finalize(parts, &body, head);
            match respond.send_response(response, !has_body) {
                Ok(stream) if has_body => send(body, stream).await,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a response was not sent");
                    respond.send_reset(Reason::INTERNAL_ERROR);
                }
            }
        }
    }
}

/// Sends a body as far as the client accepts it. Fails only when the stream or its connection has ended, which the
/// client then knows already.
async fn send<B>(mut body: B, mut stream: SendStream<Bytes>)
where
    B: Body<Data = Bytes, Error = std::io::Error> + Unpin,
{
    loop {
        let frame = std::future::poll_fn(|cx| {
            if stream.poll_reset(cx).is_ready() {
                return Poll::Ready(None);
            }
            Pin::new(&mut body).poll_frame(cx).map(Some)
        });
        let frame = match frame.await {
            None => return,
            Some(None) => break,
            Some(Some(Ok(frame))) => frame,
            Some(Some(Err(_))) => return stream.send_reset(Reason::INTERNAL_ERROR),
        };
        match frame.into_data() {
            Ok(data) if data.is_empty() => {}
            Ok(data) => {
                // Reserved only when there is something to send, and only one byte: other streams cannot use the part
                // of the connection's window that a stream has reserved.
                stream.reserve_capacity(1);
                while stream.capacity() == 0 {
                    match std::future::poll_fn(|cx| stream.poll_capacity(cx)).await {
                        Some(Ok(_)) => {}
                        Some(Err(_)) | None => return,
                    }
                }
                let last = body.is_end_stream();
                if stream.send_data(data, last).is_err() || last {
                    return;
                }
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    stream.reserve_capacity(0);
                    if stream.send_trailers(trailers).is_err() {
                        stream.send_reset(Reason::INTERNAL_ERROR);
                    }
                    return;
                }
            }
        }
    }
    let ended = stream.send_data(Bytes::new(), true);
    if let Err(error) = ended {
        tracing::debug!(%error, "the end of a response was not sent");
    }
}
