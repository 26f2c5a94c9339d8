//! hyper alone: what the HTTP library costs without a server around it.
//!
//! Every request on HTTP/1.1 is answered as the benchmarks' case `hello` wants it: the same status,
//! `Content-Type` and body, with the headers that hyper adds by itself. It knows no routes, limits,
//! timeouts or logs. Listeners, threads and runtimes are as in Howdah's front, so that what differs is
//! what Howdah does.
//!
//! ```text
//! hyper-alone PORT THREADS
//! ```
//!
//! It listens on 127.0.0.1, on a free port if PORT is 0, and prints its address when it does. It runs until
//! a signal ends it. The exit code is 2 for wrong arguments, and 1 when it cannot serve.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};

/// That of Howdah's listeners.
const BACKLOG: i32 = 4096;
const USAGE: &str = "usage: hyper-alone PORT THREADS";

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{USAGE}")]
    Arguments,
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
}

fn main() -> ExitCode {
    let Err(error) = run();
    eprintln!("hyper-alone: {error}");
    ExitCode::from(if matches!(error, Error::Arguments) {
        2
    } else {
        1
    })
}

/// Serves as long as every thread does.
fn run() -> Result<Infallible, Error> {
    let (port, threads) = arguments(std::env::args().skip(1)).ok_or(Error::Arguments)?;
    let (address, listeners) = listen(port, threads)?;
    println!("{address}");
    let (end, ended) = mpsc::channel();
    for listener in listeners {
        let end = end.clone();
        thread::Builder::new().spawn(move || {
            let Err(error) = serve(listener);
            // The main thread waits for it.
            let _ = end.send(error);
        })?;
    }
    drop(end);
    let error = ended
        .recv()
        .unwrap_or_else(|_| io::Error::other("its threads panicked"));
    Err(error.into())
}

fn arguments(mut words: impl Iterator<Item = String>) -> Option<(u16, NonZeroUsize)> {
    let port = words.next()?.parse().ok()?;
    let threads = words.next()?.parse().ok()?;
    words.next().is_none().then_some((port, threads))
}

/// A socket for each thread, as Howdah has them: they share the port where there are several.
fn listen(port: u16, threads: NonZeroUsize) -> Result<(SocketAddr, Vec<StdListener>), Error> {
    let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut sockets = Vec::new();
    for _ in 0..threads.get() {
        let socket = socket(address, threads.get() > 1);
        let socket = socket.map_err(|source| Error::Listen { address, source })?;
        address = socket.local_addr()?;
        sockets.push(socket);
    }
    Ok((address, sockets))
}

fn socket(address: SocketAddr, reuse_port: bool) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(reuse_port)?;
    // Handed down to the accepted sockets.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// One thread with a runtime of its own, as a front thread is.
fn serve(listener: StdListener) -> io::Result<Infallible> {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let builder = http1::Builder::new();
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let service = service_fn(|_| async { Ok::<_, Infallible>(answer()) });
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            tokio::task::spawn_local(async move {
                // An error is the client's end of the connection; the harness counts responses.
                let _ = connection.await;
            });
        }
    })
}

fn answer() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, world!\n")));
    let html = HeaderValue::from_static("text/html; charset=UTF-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}
