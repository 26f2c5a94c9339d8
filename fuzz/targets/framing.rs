//! `howdah_http`: the server reads the bytes of a connection before hyper does. Both must find the
//! same requests. Otherwise one request could hide another.
//!
//! The first three bytes are the positions at which the rest is split.
#![no_main]

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/socket/framing.rs"]
mod framing;

use framing::Framing;

fuzz_target!(|data: &[u8]| {
    let Some((cuts, bytes)) = data.split_at_checked(3) else {
        return;
    };
    let mut places = [cuts[0], cuts[1], cuts[2]].map(|cut| usize::from(cut).min(bytes.len()));
    places.sort_unstable();
    let [first, second, third] = places;
    let pieces = [
        &bytes[..first],
        &bytes[first..second],
        &bytes[second..third],
        &bytes[third..],
    ];
    let (framing, passed) = read(&pieces);
    for other in [read(&[bytes]), read(&bytes.chunks(1).collect::<Vec<_>>())] {
        assert_eq!(other.1, passed, "the cuts change what hyper gets");
        for request in 0..40 {
            assert_eq!(
                other.0.refusal(request),
                framing.refusal(request),
                "the cuts change the answer"
            );
        }
        assert_eq!(other.0.is_broken(), framing.is_broken());
    }
    check(&framing, &passed);
});

/// Runs the reader on the pieces and returns its state, and the bytes that hyper gets.
fn read(pieces: &[&[u8]]) -> (Framing, Vec<u8>) {
    let mut framing = Framing::default();
    let mut passed = Vec::new();
    for piece in pieces {
        let length = framing.receive(piece);
        assert!(length <= piece.len());
        let unescaped = framing.unescaped();
        assert!(unescaped.windows(2).all(|pair| pair[0] < pair[1]));
        for (at, byte) in piece[..length].iter().enumerate() {
            if unescaped.contains(&at) {
                passed.extend(format!("%{byte:02X}").bytes());
            } else {
                passed.push(*byte);
            }
        }
        framing.clear_unescaped();
    }
    (framing, passed)
}

/// A request that a reader has found.
#[derive(Debug, PartialEq)]
struct Found {
    method: String,
    fields: Vec<Vec<u8>>,
    body: Vec<u8>,
}

fn sorted<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = values.map(<[u8]>::to_vec).collect();
    values.sort_unstable();
    values
}

fn check(framing: &Framing, passed: &[u8]) {
    let served = serve(framing, passed);
    let (expected, ambiguous) = follow(passed);
    if let Some(number) = ambiguous {
        assert!(
            framing.refusal(number).is_some(),
            "request {number} has two lengths"
        );
    }
    for (number, (found, expected)) in served.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "request {} is another one", number + 1);
    }
    assert!(
        served.len() <= expected.len(),
        "hyper has found a request where there is none: {:?}",
        served.last()
    );
}

/// Parses the bytes with httparse. Returns the requests up to the first error, and the number of
/// the first request with two lengths.
fn follow(mut bytes: &[u8]) -> (Vec<Found>, Option<u64>) {
    let mut found = Vec::new();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut request = httparse::Request::new(&mut fields);
        let Ok(httparse::Status::Complete(length)) = request.parse(bytes) else {
            return (found, None);
        };
        bytes = &bytes[length..];
        let values = |name: &str| -> Vec<&[u8]> {
            let fields = request.headers.iter();
            let named = fields.filter(|field| field.name.eq_ignore_ascii_case(name));
            named.map(|field| field.value).collect()
        };
        let lengths = values("content-length");
        let coded = !values("transfer-encoding").is_empty();
        if lengths.len() > 1 || (coded && !lengths.is_empty()) {
            let number = found.len() as u64 + 1;
            return (found, Some(number));
        }
        let body = if coded {
            chunks(&mut bytes)
        } else if let Some(length) = lengths.first() {
            let length = str::from_utf8(length)
                .ok()
                .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|text| text.parse::<usize>().ok());
            length
                .and_then(|length| bytes.split_at_checked(length))
                .map(|(body, rest)| {
                    bytes = rest;
                    body.to_vec()
                })
        } else {
            Some(Vec::new())
        };
        let Some(body) = body else {
            return (found, None);
        };
        found.push(Found {
            method: request.method.unwrap_or_default().to_owned(),
            fields: sorted(request.headers.iter().map(|field| field.value)),
            body,
        });
    }
}

/// Parses a chunked body whose lines end in CR LF. `None` if it is invalid or incomplete.
fn chunks(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(bytes)?.split(|byte| *byte == b';').next()?;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let digits = size.iter().position(blank).unwrap_or(size.len());
        let (digits, space) = size.split_at(digits);
        let text = str::from_utf8(digits).ok()?;
        if text.starts_with('+') || !space.iter().all(blank) {
            return None;
        }
        let size = usize::from_str_radix(text, 16).ok()?;
        if size == 0 {
            break;
        }
        let (data, rest) = bytes.split_at_checked(size)?;
        body.extend_from_slice(data);
        *bytes = rest.strip_prefix(b"\r\n")?;
    }
    while !line(bytes)?.is_empty() {}
    Some(body)
}

/// Reads a line up to its CR LF. A lone CR or LF is invalid.
fn line<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let end = bytes.iter().position(|byte| *byte == b'\r')?;
    let (line, rest) = bytes.split_at(end);
    *bytes = rest.strip_prefix(b"\r\n")?;
    (!line.contains(&b'\n')).then_some(line)
}

/// The requests that hyper finds and the server would handle, with their bodies.
fn serve(framing: &Framing, passed: &[u8]) -> Vec<Found> {
    let found = Rc::new(RefCell::new(Vec::new()));
    let heads = Rc::new(RefCell::new(0));
    let service = hyper::service::service_fn(|request: Request<Incoming>| {
        let found = Rc::clone(&found);
        *heads.borrow_mut() += 1;
        let refused = framing.refusal(*heads.borrow()).is_some();
        async move {
            let mut response = Response::new(Empty);
            let (parts, body) = request.into_parts();
            let body = if refused { None } else { whole(body).await };
            if let Some(body) = body {
                found.borrow_mut().push(Found {
                    method: parts.method.to_string(),
                    fields: sorted(parts.headers.values().map(HeaderValue::as_bytes)),
                    body,
                });
            } else {
                let close = HeaderValue::from_static("close");
                response
                    .headers_mut()
                    .insert(hyper::header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let io = Socket {
        bytes: passed.to_vec(),
        broken: framing.is_broken(),
    };
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .max_buf_size(1 << 20)
            .serve_connection(io, service)
    );
    let mut cx = Context::from_waker(Waker::noop());
    // No operation blocks, but hyper sometimes returns `Pending`.
    for _ in 0..1000 {
        if connection.as_mut().poll(&mut cx).is_ready() {
            break;
        }
    }
    found.take()
}

async fn whole(body: Incoming) -> Option<Vec<u8>> {
    let mut body = pin!(body);
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        if let Ok(data) = frame.ok()?.into_data() {
            whole.extend_from_slice(&data);
        }
    }
    Some(whole)
}

/// A socket from which all bytes can be read at once. After them comes the end or an error.
struct Socket {
    bytes: Vec<u8>,
    broken: bool,
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.bytes.is_empty() && self.broken {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let length = self.bytes.len().min(buffer.remaining());
        let rest = self.bytes.split_off(length);
        buffer.put_slice(&self.bytes);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Empty;

impl Body for Empty {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}
