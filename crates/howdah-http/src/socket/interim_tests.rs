use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::super::io::Io;
use super::super::stream::Stream;
use super::super::tcp::Socket;
use super::*;
use crate::message::interim::Interim;

const HINT: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";
/// Only detects a hang; does not measure anything.
const PATIENCE: Duration = Duration::from_secs(120);

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value = HeaderValue::from_str(value).expect("a value");
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn hint(connection: &ConnectionState, version: Version) -> Result<(), InterimError> {
    let headers = headers(&[("link", "</a.css>; rel=preload")]);
    Interim::new(connection, version).send(StatusCode::EARLY_HINTS, &headers)
}

/// Creates both ends of a connection.
async fn pair() -> (Io, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (stream, _) = accepted.expect("a connection");
    let mut socket = Socket::new(stream);
    socket.report_failed_writes();
    let io = Io {
        stream: Stream::Plain(socket),
        prefix: Bytes::new(),
        state: Rc::new(ConnectionState::new(1 << 16)),
    };
    (io, client.expect("connected"))
}

async fn receive(client: &mut TcpStream, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    let received = tokio::time::timeout(PATIENCE, client.read_exact(&mut bytes)).await;
    received
        .expect("the bytes come in time")
        .expect("they come");
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

/// Receives up to and including `end`.
async fn receive_until(client: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let byte = tokio::time::timeout(PATIENCE, client.read_u8()).await;
        text.push(byte.expect("a byte comes in time").expect("it comes"));
    }
    String::from_utf8(text).expect("text")
}

/// What one request does: so many hints, a wait, then so many more before its response.
struct Step {
    first: usize,
    gate: Option<oneshot::Receiver<()>>,
    then: usize,
}

impl Step {
    fn blocked_until_sent(first: usize, then: usize) -> (Self, oneshot::Sender<()>) {
        let (open, gate) = oneshot::channel();
        let gate = Some(gate);
        (Self { first, gate, then }, open)
    }
}

/// Serves `steps` with hyper, as the connection does, while `client` runs.
async fn serve(steps: Vec<Step>, client: impl AsyncFnOnce(TcpStream)) {
    let (io, stream) = pair().await;
    let state = Rc::clone(&io.state);
    let steps = Rc::new(RefCell::new(VecDeque::from(steps)));
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (state, step) = (Rc::clone(&state), steps.borrow_mut().pop_front());
        async move {
            let Step { first, gate, then } = step.expect("a step for each request");
            let sent = |number| (0..number).all(|_| hint(&state, request.version()).is_ok());
            assert_eq!(
                sent(first),
                first == 0 || request.version() == Version::HTTP_11
            );
            if let Some(gate) = gate {
                gate.await.expect("the gate opens");
            }
            assert_eq!(
                sent(then),
                then == 0 || request.version() == Version::HTTP_11
            );
            Ok::<_, Infallible>(Response::new("done".to_owned()))
        }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service);
    let (served, ()) = tokio::join!(connection, client(stream));
    served.expect("no error");
}

async fn send(client: &mut TcpStream, request: &str) {
    client.write_all(request.as_bytes()).await.expect("sent");
}

async fn receive_response(client: &mut TcpStream) {
    let text = receive_until(client, "\r\n\r\ndone").await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(!text.contains("link"), "{text}");
}

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn hints_are_there_while_the_request_goes_on() {
    let (step, open) = Step::blocked_until_sent(1, 1);
    let (again, open_again) = Step::blocked_until_sent(2, 0);
    serve(vec![step, again], async |mut client| {
        send(&mut client, GET).await;
        receive(&mut client, HINT).await;
        open.send(()).expect("it waits");
        receive(&mut client, HINT).await;
        receive_response(&mut client).await;
        send(&mut client, GET).await;
        receive(&mut client, HINT).await;
        receive(&mut client, HINT).await;
        open_again.send(()).expect("it waits");
        receive_response(&mut client).await;
    })
    .await;
}

#[tokio::test]
async fn hints_wait_for_their_turn_in_a_pipeline() {
    let (first, open) = Step::blocked_until_sent(0, 0);
    let at_once = |then| Step {
        first: 0,
        gate: None,
        then,
    };
    serve(
        vec![first, at_once(1), at_once(0), at_once(2)],
        async |mut client| {
            send(&mut client, &GET.repeat(4)).await;
            open.send(()).expect("it waits");
            receive_response(&mut client).await;
            receive(&mut client, HINT).await;
            receive_response(&mut client).await;
            receive_response(&mut client).await;
            receive(&mut client, &HINT.repeat(2)).await;
            receive_response(&mut client).await;
        },
    )
    .await;
}

#[tokio::test]
async fn http_1_0_gets_none() {
    let (step, open) = Step::blocked_until_sent(1, 1);
    serve(vec![step], async |mut client| {
        send(&mut client, "GET / HTTP/1.0\r\nhost: a\r\n\r\n").await;
        open.send(()).expect("the request goes on");
        let text = receive_until(&mut client, "done").await;
        assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
    })
    .await;
    let (io, _client) = pair().await;
    for version in [Version::HTTP_09, Version::HTTP_10] {
        assert_eq!(hint(&io.state, version), Err(InterimError::Protocol));
    }
}

#[tokio::test]
async fn streams_find_theirs_after_each_poll() {
    let (io, _client) = pair().await;
    let state = &io.state;
    state.set_multiplexed();
    assert!(state.take_interim().is_empty());
    for version in [Version::HTTP_2, Version::HTTP_3] {
        let interim = Interim::new(&**state, version);
        let fields = headers(&[
            ("connection", "close"),
            ("link", "</a>"),
            ("link", "</b>"),
            ("te", "trailers"),
        ]);
        let hints = StatusCode::EARLY_HINTS;
        assert_eq!(interim.send(hints, &fields), Ok(()));
        let large = headers(&[("link", &"x".repeat(SIZE_MAX))]);
        assert_eq!(interim.send(hints, &large), Err(InterimError::TooLarge));
        let status = StatusCode::CONTINUE;
        let refused = interim.send(status, &fields);
        assert_eq!(refused, Err(InterimError::Status(status)));
        let taken = state.take_interim();
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].status(), hints);
        let expected = headers(&[("link", "</a>"), ("link", "</b>")]);
        assert_eq!(*taken[0].headers(), expected);
        assert!(state.take_interim().is_empty());
        // Each poll has a limit, which the next poll has again.
        let large = headers(&[("link", &"x".repeat(SIZE_MAX / 2))]);
        for _ in 0..2 {
            let sent = std::iter::repeat_with(|| interim.send(hints, &large));
            let refused = sent.take(100).find(Result::is_err);
            assert_eq!(refused, Some(Err(InterimError::Blocked)));
            let size: usize = state
                .take_interim()
                .iter()
                .map(|one| one.headers()["link"].len())
                .sum();
            assert!(size > SIZE_MAX && size <= QUEUED_MAX, "{size}");
        }
    }
    // Nothing is queued while the client accepts no bytes.
    state.write_pending();
    let refused = hint(state, Version::HTTP_2);
    assert_eq!(refused, Err(InterimError::Blocked));
    state.write_progressed();
    assert_eq!(hint(state, Version::HTTP_2), Ok(()));
}

#[tokio::test]
async fn they_follow_an_earlier_100_continue() {
    let (io, mut client) = pair().await;
    let state = Rc::clone(&io.state);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let state = Rc::clone(&state);
        async move {
            let mut body = request.into_body();
            let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            let data = frame.expect("a frame").expect("whole").into_data();
            assert_eq!(data.expect("data"), "body");
            hint(&state, Version::HTTP_11).expect("sent");
            Ok::<_, Infallible>(Response::new("done".to_owned()))
        }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service);
    let talk = async {
        let head =
            "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n";
        send(&mut client, head).await;
        receive(&mut client, "HTTP/1.1 100 Continue\r\n\r\n").await;
        send(&mut client, "body").await;
        receive(&mut client, HINT).await;
        receive_response(&mut client).await;
        drop(client);
    };
    let (served, ()) = tokio::join!(connection, talk);
    served.expect("no error");
}

/// Writes until the socket is full; returns how many bytes it accepted.
async fn fill(io: &mut Io) -> usize {
    let (mut taken, piece) = (0, vec![b'x'; 1 << 16]);
    poll_fn(|cx| {
        while let Poll::Ready(written) = Pin::new(&mut *io).poll_write(cx, &piece) {
            taken += written.expect("the client is there");
        }
        Poll::Ready(())
    })
    .await;
    taken
}

async fn skip(client: &mut TcpStream, bytes: usize) {
    let mut earlier = vec![0; bytes];
    let received = tokio::time::timeout(PATIENCE, client.read_exact(&mut earlier)).await;
    received
        .expect("the bytes come in time")
        .expect("they come");
    assert!(
        earlier.iter().all(|byte| *byte == b'x'),
        "something is within"
    );
}

#[tokio::test]
async fn nothing_gets_between_a_response_and_its_rest() {
    let (mut io, mut client) = pair().await;
    let taken = fill(&mut io).await;
    // The first response is not completely written: hints of the next one would be inside it.
    assert_eq!(
        hint(&io.state, Version::HTTP_11),
        Err(InterimError::Blocked)
    );
    let rest = async {
        io.write_all(b"x").await.expect("the rest is taken");
        let refused = hint(&io.state, Version::HTTP_11);
        assert_eq!(refused, Err(InterimError::Blocked), "not flushed yet");
        io.flush().await.expect("flushed");
        hint(&io.state, Version::HTTP_11).expect("the wire is free");
        io.flush().await.expect("flushed");
    };
    let read = async {
        skip(&mut client, taken + 1).await;
        receive(&mut client, HINT).await;
    };
    tokio::join!(rest, read);
}

#[tokio::test]
async fn buffers_are_closed_before_the_response() {
    let (mut io, mut client) = pair().await;
    let taken = fill(&mut io).await;
    // As if hyper had written everything: the socket is still full.
    io.state.interim.flushed();
    let mut sent = 0;
    while hint(&io.state, Version::HTTP_11).is_ok() {
        sent += 1;
    }
    assert_eq!(sent, QUEUED_MAX / HINT.len(), "the queue is bounded");
    let blocked = poll_fn(|cx| {
        let flush = Pin::new(&mut io).poll_flush(cx);
        let write = Pin::new(&mut io).poll_write(cx, b"response");
        Poll::Ready((flush.is_pending(), write.is_pending()))
    });
    assert_eq!(blocked.await, (true, true));
    assert!(io.state.blocked_since().is_some(), "the write timeout runs");
    let write = async {
        io.write_all(b"response").await.expect("written");
    };
    let read = async {
        skip(&mut client, taken).await;
        receive(&mut client, &HINT.repeat(sent)).await;
        receive(&mut client, "response").await;
    };
    tokio::join!(write, read);
    assert_eq!(io.state.blocked_since(), None);
    assert!(!io.state.interim.is_waiting());
    assert_eq!(io.state.interim.bytes.borrow().capacity(), 0, "given back");
}

#[tokio::test]
async fn a_client_that_is_gone_ends_the_connection() {
    let (mut io, client) = pair().await;
    client.set_zero_linger().expect("a reset");
    drop(client);
    io.stream
        .tcp()
        .readable()
        .await
        .expect("the reset is noticed");
    hint(&io.state, Version::HTTP_11).expect("queued");
    assert!(io.flush().await.is_err());
}

#[tokio::test]
async fn only_allowed_responses_are_sent() {
    let (mut io, mut client) = pair().await;
    let state = Rc::clone(&io.state);
    let interim = Interim::new(&*state, Version::HTTP_11);
    for status in [100, 101, 200, 304, 999] {
        let status = StatusCode::from_u16(status).expect("a status");
        let refused = interim.send(status, &HeaderMap::new());
        assert_eq!(refused, Err(InterimError::Status(status)));
    }
    let large = headers(&[("link", &"x".repeat(SIZE_MAX))]);
    let refused = interim.send(StatusCode::EARLY_HINTS, &large);
    assert_eq!(refused, Err(InterimError::TooLarge));
    assert!(
        !state.interim.is_waiting(),
        "nothing of what was refused is left"
    );
    let fields = headers(&[
        ("connection", "close"),
        ("content-length", "4"),
        ("keep-alive", "timeout=5"),
        ("link", "</a>"),
        ("link", "</b>"),
        ("proxy-connection", "close"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("x-more", "yes"),
    ]);
    interim
        .send(StatusCode::EARLY_HINTS, &fields)
        .expect("sent");
    let unnamed = StatusCode::from_u16(199).expect("a status");
    interim.send(unnamed, &HeaderMap::new()).expect("sent");
    io.flush().await.expect("flushed");
    let expected = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nlink: </b>\r\nx-more: yes\r\n\r\n\
                    HTTP/1.1 199 \r\n\r\n";
    receive(&mut client, expected).await;
}
