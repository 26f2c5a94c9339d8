//! A server on a free port with an application that responds as the query specifies, and a client
//! that sends raw bytes.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses a part of it"
)]

pub mod front;
pub mod outcome;
pub mod upstream;

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{self, SocketAddr, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use howdah_config::model::{
    Address, Config, FileServer, Handler, PhpServer, Route, Site, Template,
};
use howdah_http::{AppRequest, Application, Hooks, Interim, RequestBody, Server, Shutdown};
use howdah_tls::Tls;
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};

/// Timeout of the tests. Reaching it is a failure and never a pass.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Harness {
    pub server: Arc<Server>,
    pub shutdown: Shutdown,
    pub seen: Arc<AppProbe>,
    threads: Vec<JoinHandle<()>>,
}

/// Counters and the gate of the test application.
#[derive(Default)]
pub struct AppProbe {
    pub calls: AtomicUsize,
    pub dropped: AtomicUsize,
    gate: Mutex<bool>,
    opened: Condvar,
}

impl AppProbe {
    pub fn open_gate(&self) {
        *self.gate.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// A port without a listener, reserved while the socket exists.
pub fn closed_port() -> (socket2::Socket, SocketAddr) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&any.into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// Waits until `condition` is true. Panics after the timeout.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::yield_now();
    }
}

pub fn route(handler: Handler) -> Route {
    Route {
        matcher: None,
        handler,
        group: None,
    }
}

pub fn root(path: &Path) -> Route {
    route(Handler::Root(Template::text(path.to_str().unwrap())))
}

pub fn site(routes: Vec<Route>) -> Site {
    Site {
        addresses: vec![Address {
            host: None,
            port: 0,
            tls: false,
        }],
        routes,
        bind: vec!["127.0.0.1".parse().unwrap()],
        ..Site::default()
    }
}

pub fn config(routes: Vec<Route>) -> Config {
    let mut config = Config {
        sites: vec![site(routes)],
        ..Config::default()
    };
    config.global.php.front_threads = Some(1);
    config
}

/// `php_server` on a directory with an index.php, the scripts of the tests, and some files.
pub fn php_site(directory: &Path) -> Config {
    for script in ["index.php", "echo.php"] {
        std::fs::write(directory.join(script), "<?php // source").unwrap();
    }
    config(vec![
        root(directory),
        route(Handler::PhpServer(PhpServer::default())),
    ])
}

pub fn file_site(directory: &Path) -> Config {
    config(vec![
        root(directory),
        route(Handler::FileServer(FileServer::default())),
    ])
}

impl Harness {
    pub fn start(config: &Config) -> Self {
        Self::start_with(config, None)
    }

    /// Starts the server with the certificates for addresses with HTTPS.
    pub fn start_with(config: &Config, tls: Option<&Tls>) -> Self {
        let server = Arc::new(Server::bind(config, tls).unwrap());
        let shutdown = Shutdown::new();
        let seen = Arc::new(AppProbe::default());
        let threads = (0..server.threads())
            .map(|index| {
                let (server, shutdown) = (Arc::clone(&server), shutdown.clone());
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || {
                    let start = || {
                        Ok(Rc::new(FakeApplication {
                            seen,
                            calls: Cell::new(0),
                        }))
                    };
                    server
                        .run_thread(index, Hooks::default(), &shutdown, start)
                        .unwrap();
                })
            })
            .collect();
        Self {
            server,
            shutdown,
            seen,
            threads,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.local_addrs()[0]
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Sends one request on a new connection.
    pub fn send(&self, request: &str) -> Reply {
        let mut client = self.connect();
        client.write(request.as_bytes());
        client.reply(!request.starts_with("HEAD "))
    }

    pub fn get(&self, target: &str) -> Reply {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    pub fn get_with(&self, target: &str, headers: &str) -> Reply {
        self.send(&format!(
            "GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        ))
    }

    /// Joins the threads. The shutdown must have been requested before.
    pub fn join(mut self) {
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.seen.open_gate();
        self.shutdown.drain(Duration::ZERO);
        for thread in self.threads.drain(..) {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "a front thread panicked"
            );
        }
    }
}

pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Value of a line `name=value` in the response of the fake application.
    pub fn value(&self, name: &str) -> &str {
        self.text()
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }
}

impl Client {
    /// Shuts down the sending direction.
    pub fn end(&self) {
        self.stream.shutdown(net::Shutdown::Write).unwrap();
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads up to and including `end`.
    pub fn read_until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self
                .buffer
                .windows(end.len())
                .position(|window| window == end)
            {
                return self.buffer.drain(..at + end.len()).collect();
            }
            assert!(
                self.fill() > 0,
                "closed after {:?}",
                String::from_utf8_lossy(&self.buffer)
            );
        }
    }

    fn fill(&mut self) -> usize {
        let mut chunk = [0; 8192];
        let read = self.stream.read(&mut chunk).unwrap();
        self.buffer.extend_from_slice(&chunk[..read]);
        read
    }

    pub fn read_exact(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(
                self.fill() > 0,
                "closed with {} of {length} bytes",
                self.buffer.len()
            );
        }
        self.buffer.drain(..length).collect()
    }

    /// Whether the server has closed the connection and all bytes were read.
    pub fn is_closed(&mut self) -> bool {
        if !self.buffer.is_empty() {
            return false;
        }
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(read) => read == 0,
            Err(error) => {
                assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "still open");
                true
            }
        }
    }

    /// Reads to the end of the connection. The flag is true if it ended without a reset.
    pub fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut chunk = [0; 8192];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return (std::mem::take(&mut self.buffer), true),
                Ok(read) => self.buffer.extend_from_slice(&chunk[..read]),
                Err(error) => {
                    assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "still open");
                    return (std::mem::take(&mut self.buffer), false);
                }
            }
        }
    }

    pub fn reply(&mut self, has_body: bool) -> Reply {
        let head = String::from_utf8(self.read_until(b"\r\n\r\n")).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply {
            status,
            head,
            body: Vec::new(),
        };
        if !has_body || matches!(status, 204 | 304) {
            return reply;
        }
        if let Some(length) = reply.header("content-length") {
            reply.body = self.read_exact(length.parse().unwrap());
        } else if reply.header("transfer-encoding").is_some() {
            loop {
                let line = String::from_utf8(self.read_until(b"\r\n")).unwrap();
                let length = usize::from_str_radix(line.trim(), 16).unwrap();
                reply.body.extend(self.read_exact(length));
                self.read_until(b"\r\n");
                if length == 0 {
                    break;
                }
            }
        } else {
            reply.body = self.rest().0;
        }
        reply
    }
}

/// Responds with the received request, or as `mode=…` in the query specifies.
pub struct FakeApplication {
    seen: Arc<AppProbe>,
    calls: Cell<usize>,
}

struct DropCount(Arc<AppProbe>);

impl Drop for DropCount {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

impl Application for FakeApplication {
    type Body = FakeBody;

    async fn call(self: Rc<Self>, request: &mut AppRequest, _: Interim<'_>) -> Response<FakeBody> {
        self.calls.set(self.calls.get() + 1);
        let guard = DropCount(Arc::clone(&self.seen));
        self.seen.calls.fetch_add(1, SeqCst);
        let mode = request
            .query
            .split('&')
            .find_map(|pair| pair.strip_prefix("mode="));
        match mode {
            Some("hang") => {
                std::future::pending::<()>().await;
                unreachable!("a pending future was ready");
            }
            Some("block") => {
                // The front thread itself waits here.
                let gate = self.seen.gate.lock().unwrap();
                drop(self.seen.opened.wait_while(gate, |open| !*open).unwrap());
                Response::new(FakeBody::new(Script::Done, guard))
            }
            Some("panic") => panic!("asked for"),
            Some("endless") => Response::new(FakeBody::new(Script::Endless, guard)),
            Some("gate") => Response::new(FakeBody::new(Script::Gate(0), guard)),
            Some("empty") => {
                let mut response = Response::new(FakeBody::new(Script::Done, guard));
                response
                    .headers_mut()
                    .insert("x-fake", "yes".parse().unwrap());
                response
            }
            Some("fail") => Response::new(FakeBody::new(Script::Fail(false), guard)),
            Some("broken") => {
                let mut response = Response::new(FakeBody::new(Script::Done, guard));
                *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
                response
            }
            // `status=` and `h=NAME:VALUE`.
            Some("answer") => {
                let text = describe(request);
                let mut response =
                    Response::new(FakeBody::new(Script::Text(Some(text.into())), guard));
                for (name, value) in request
                    .query
                    .split('&')
                    .filter_map(|pair| pair.split_once('='))
                {
                    match (name, value.split_once(':')) {
                        ("status", _) => *response.status_mut() = value.parse().unwrap(),
                        ("h", Some((name, value))) => {
                            let name: http::HeaderName = name.parse().unwrap();
                            response.headers_mut().append(name, value.parse().unwrap());
                        }
                        _ => {}
                    }
                }
                response
            }
            Some("failure") => {
                let mut response = Response::new(FakeBody::new(Script::Done, guard));
                *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
                let message = "no process is free".into();
                response
                    .extensions_mut()
                    .insert(howdah_http::Failure { message });
                response
            }
            Some("304") => {
                let mut response = Response::new(FakeBody::new(Script::Gate(0), guard));
                *response.status_mut() = http::StatusCode::NOT_MODIFIED;
                response
            }
            _ => {
                let text = describe(request);
                Response::new(FakeBody::new(Script::Text(Some(text.into())), guard))
            }
        }
    }
}

fn describe(request: &AppRequest) -> String {
    let mut text = String::new();
    let (kind, body) = match &request.body {
        RequestBody::Empty => ("empty", Vec::new()),
        RequestBody::Memory(bytes) => ("memory", bytes.to_vec()),
        RequestBody::Spooled(file) => {
            assert_eq!(file.id(), request.id);
            ("spooled", std::fs::read(file.path()).unwrap())
        }
    };
    let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
    let host = header(&request.headers, "host");
    writeln!(
        text,
        "method={}\nuri={}",
        request.method, request.original_uri
    )
    .unwrap();
    writeln!(
        text,
        "pool={}\nfile={}\nscript={}\npath_info={}",
        request.pool,
        request.script.file.as_deref().unwrap_or("-"),
        request.script.name,
        request.script.path_info
    )
    .unwrap();
    writeln!(
        text,
        "root={}\nquery={}",
        request.script.root, request.query
    )
    .unwrap();
    writeln!(text, "body={kind}\nlength={}\nsum={sum}", body.len()).unwrap();
    writeln!(
        text,
        "host={host}\nhttp_host={}\nid={:016x}\nenv={:?}",
        variable(request, "HTTP_HOST"),
        request.id,
        request.env
    )
    .unwrap();
    writeln!(
        text,
        "remote={}\nversion={:?}\nuser={}",
        request.connection.remote,
        request.version,
        request.remote_user.as_deref().unwrap_or("-")
    )
    .unwrap();
    for name in request.headers.keys() {
        writeln!(text, "h.{name}={}", header(&request.headers, name.as_str())).unwrap();
    }
    text
}

/// Value of a variable as PHP would see it.
fn variable(request: &AppRequest, name: &str) -> String {
    let mut encoded = Vec::new();
    howdah_cgi::encode(&request.input(), &mut encoded).unwrap();
    let variables = howdah_cgi::decode(&encoded).unwrap();
    let mut found = variables
        .iter()
        .filter(|known| known.name == name.as_bytes());
    let value = found.next_back().map_or(&[][..], |found| found.value);
    String::from_utf8(value.to_vec()).unwrap()
}

fn header(headers: &HeaderMap, name: &str) -> String {
    let values: Vec<&str> = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    values.join("|")
}

pub struct FakeBody {
    script: Script,
    guard: DropCount,
}

enum Script {
    Text(Option<Bytes>),
    Endless,
    /// A chunk, then another one when the gate opens.
    Gate(usize),
    Fail(bool),
    Done,
}

impl FakeBody {
    fn new(script: Script, guard: DropCount) -> Self {
        Self { script, guard }
    }
}

impl Body for FakeBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let frame = |bytes: Bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        match &mut this.script {
            Script::Text(text) => match text.take() {
                Some(text) => frame(text),
                None => Poll::Ready(None),
            },
            Script::Endless => frame(Bytes::from_static(&[b'x'; 8192])),
            Script::Gate(step @ 0) => {
                *step = 1;
                frame(Bytes::from_static(b"first"))
            }
            Script::Gate(step @ 1) => {
                // A separate thread waits, so that the front thread does not.
                *step = 2;
                let (seen, waker) = (Arc::clone(&this.guard.0), cx.waker().clone());
                std::thread::spawn(move || {
                    let gate = seen.gate.lock().unwrap();
                    drop(seen.opened.wait_while(gate, |open| !*open).unwrap());
                    waker.wake();
                });
                Poll::Pending
            }
            Script::Gate(_) => {
                if !*this.guard.0.gate.lock().unwrap() {
                    return Poll::Pending;
                }
                this.script = Script::Done;
                frame(Bytes::from_static(b"second"))
            }
            Script::Fail(sent) if *sent => Poll::Ready(Some(Err(io::Error::other("torn")))),
            Script::Fail(sent) => {
                *sent = true;
                frame(Bytes::from_static(b"before"))
            }
            Script::Done => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.script, Script::Done | Script::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.script {
            Script::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Script::Done => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}
