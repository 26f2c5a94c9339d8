//! One request of an HTTP/3 connection, from its header to the end of its response.

use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;

use super::body::{Incoming, Upload};
use super::bounded::{Bounded, Quic};
use crate::application::{Application, Connection};
use crate::connection::state::ConnectionState;
use crate::response::{Exchange, ResponseBody};
use crate::service;
use crate::thread::Thread;

/// Fields of HTTP/1 connections, which have no meaning here.
const OF_CONNECTIONS: [HeaderName; 5] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What the requests of a connection share.
pub(super) struct Shared<A> {
    pub(super) thread: Rc<Thread<A>>,
    pub(super) info: Rc<Connection>,
    pub(super) state: Rc<ConnectionState>,
    pub(super) quic: quinn::Connection,
    pub(super) listener: usize,
}

/// Answers a request, unless its connection ends before.
pub(super) async fn serve<A: Application>(
    shared: Rc<Shared<A>>,
    resolver: RequestResolver<Quic, Bytes>,
) {
    let limit = Duration::from_millis(shared.thread.core.limits.read_header);
    let answered = async {
        // A header that is too large has been answered 431 when this fails.
        if let Ok(Ok((request, stream))) =
            tokio::time::timeout(limit, resolver.resolve_request()).await
        {
            answer(&shared, request, stream).await;
        }
    };
    tokio::select! {
        () = answered => {}
        _ = shared.quic.closed() => {}
    }
}

async fn answer<A: Application>(
    shared: &Shared<A>,
    request: Request<()>,
    stream: RequestStream<Bounded<h3_quinn::BidiStream<Bytes>>, Bytes>,
) {
    let (send, receive) = stream.split();
    let mut sender = Sender { send, done: false };
    let exchange = Exchange::begin(&shared.state, &shared.thread.core);
    let (parts, ()) = request.into_parts();
    let upload = Upload::new(receive, &parts.headers).filter(|_| is_well_formed(&parts.headers));
    let Some(mut upload) = upload else {
        return sender.send.stop_stream(Code::H3_MESSAGE_ERROR);
    };
    if std::future::poll_fn(|cx| Poll::Ready(upload.look(cx)))
        .await
        .is_err()
    {
        return sender.send.stop_stream(Code::H3_MESSAGE_ERROR);
    }
    let head = parts.method == Method::HEAD;
    let request = Request::from_parts(parts, Incoming::Http3(Box::new(upload)));
    let place = (
        Rc::clone(&shared.thread),
        Rc::clone(&shared.info),
        Rc::clone(&shared.state),
    );
    // An error is a route's order to close without a response: the stream is reset.
    if let Ok(response) = service::handle(place, shared.listener, exchange, request).await {
        sender.respond(response, head).await;
    }
}

fn is_well_formed(headers: &HeaderMap) -> bool {
    let te = headers.get_all(TE).iter();
    !OF_CONNECTIONS.iter().any(|name| headers.contains_key(name))
        && te
            .map(HeaderValue::as_bytes)
            .all(|value| value.eq_ignore_ascii_case(b"trailers"))
}

/// The way of the response. What is dropped before its end is reset, so that a client does not take the
/// part that it got for the whole.
struct Sender {
    send: RequestStream<h3_quinn::SendStream<Bytes>, Bytes>,
    done: bool,
}

impl Sender {
    async fn respond<B>(&mut self, response: Response<ResponseBody<B>>, head: bool)
    where
        B: Body<Data = Bytes, Error = std::io::Error> + Unpin,
    {
        let (mut parts, mut body) = response.into_parts();
        let bodiless = head
            || matches!(
                parts.status,
                StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
            );
        for name in &OF_CONNECTIONS {
            parts.headers.remove(name);
        }
        if !bodiless && let Some(length) = body.size_hint().exact() {
            parts
                .headers
                .entry(CONTENT_LENGTH)
                .or_insert(HeaderValue::from(length));
        }
        if !parts.headers.contains_key(DATE)
            && let Ok(now) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now()))
        {
            parts.headers.insert(DATE, now);
        }
        // hyper's notes about HTTP/1 are not for this protocol.
        let mut answer = Response::new(());
        *answer.status_mut() = parts.status;
        *answer.headers_mut() = parts.headers;
        if self.send.send_response(answer).await.is_err() {
            return;
        }
        if !bodiless {
            loop {
                match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                    None => break,
                    Some(Err(_)) => return,
                    Some(Ok(frame)) => {
                        // Trailers are dropped.
                        let Ok(data) = frame.into_data() else {
                            continue;
                        };
                        if !data.is_empty() && self.send.send_data(data).await.is_err() {
                            return;
                        }
                    }
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
