//! Accepting connections of HTTP/1 and HTTP/2.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::clock;
use crate::connection;
use crate::connection::listener::Socket;
use crate::listen::listener;
use crate::listen::setup::Sockets;
use crate::listen::unix;
use crate::message::application::Application;
use crate::observe::thread::{ConnectionGuard, ThreadState};

/// A socket from which a connection was accepted within so many milliseconds before it is closed
/// ...
const BUSY: u64 = 1_000;
/// ... is kept open for so long, for clients whose connections the kernel is just accepting.
const HANDSHAKES: Duration = Duration::from_millis(100);

/// A socket that connections are accepted from.
pub(super) struct AcceptSource {
    socket: AcceptSocket,
    /// Another process listens on it too, and continues when this server closes it.
    is_shared: bool,
}

enum AcceptSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl AcceptSource {
    /// Whether to wait a moment, because clients would be reset if the socket were closed now.
    fn start_closing(&self) -> bool {
        if self.is_shared {
            return false;
        }
        if let AcceptSocket::Tcp(socket) = &self.socket
            && let Err(error) = listener::refuse_connections(socket)
        {
            tracing::debug!(%error, "new connections cannot be refused");
        }
        true
    }

    /// The next connection, and its remote address.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        match &self.socket {
            AcceptSocket::Tcp(listener) => listener.poll_accept(cx),
            AcceptSocket::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(cx))?;
                Poll::Ready(unix::as_tcp(stream).map(|stream| (stream, unix::CLIENT)))
            }
        }
    }
}

/// Takes the sockets of HTTP/1 and HTTP/2.
pub(super) fn listeners(sockets: &mut Sockets) -> io::Result<Vec<(usize, AcceptSource)>> {
    let tcp = std::mem::take(&mut sockets.tcp).into_iter();
    let tcp =
        tcp.map(|(number, socket)| Ok((number, AcceptSocket::Tcp(TcpListener::from_std(socket)?))));
    let unix = std::mem::take(&mut sockets.unix).into_iter();
    let unix = unix
        .map(|(number, socket)| Ok((number, AcceptSocket::Unix(UnixListener::from_std(socket)?))));
    let shared = std::mem::take(&mut sockets.shared);
    let accepting = |(number, socket)| {
        let is_shared = shared.contains(&number);
        (number, AcceptSource { socket, is_shared })
    };
    tcp.chain(unix)
        .map(|socket: io::Result<_>| socket.map(accepting))
        .collect()
}

/// Accepts connections until the socket is closed, and those that the kernel has accepted by then.
pub(super) async fn accept<A: Application>(
    socket: Rc<Socket<A>>,
    life: Rc<ThreadState>,
    listener: AcceptSource,
) {
    let mut complaints = AcceptErrorLog::default();
    let mut last_accepted = 0;
    loop {
        let changed = socket.changed();
        if socket.is_closed() {
            break;
        }
        if life.is_full() {
            let room = life.room.notified();
            tokio::select! {
                () = room => {}
                () = changed => {}
            }
            continue;
        }
        let mut changed = std::pin::pin!(changed);
        let accepted = tokio::select! {
            accepted = std::future::poll_fn(|cx| listener.poll_accept(cx)) => accepted,
            () = &mut changed => continue,
        };
        match accepted {
            Ok((stream, remote)) => {
                last_accepted = clock::now();
                start(&socket, &life, stream, remote);
            }
            Err(error) if is_exhausted(&error) => {
                complaints.add(&error);
                // The connection waits in the kernel; retrying immediately would spin.
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                    () = changed => {}
                }
            }
            // The client disconnected before it was accepted.
            Err(_) => {}
        }
    }
    let is_busy = clock::now() < last_accepted.saturating_add(BUSY);
    accept_rest(&socket, &life, &listener, is_busy).await;
}

/// Serves connections that the kernel has accepted: their clients see them as connected. `is_busy`: clients connect at
/// the moment, so some of their handshakes may be in flight.
async fn accept_rest<A: Application>(
    socket: &Socket<A>,
    life: &Rc<ThreadState>,
    listener: &AcceptSource,
    is_busy: bool,
) {
    if listener.start_closing() && is_busy {
        let mut over = std::pin::pin!(tokio::time::sleep(HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                accepted = std::future::poll_fn(|cx| listener.poll_accept(cx)) => accepted,
                () = &mut over => break,
            };
            match accepted {
                Ok((stream, remote)) => start(socket, life, stream, remote),
                Err(error) if is_exhausted(&error) => break,
                // The client disconnected before it was accepted.
                Err(_) => {}
            }
        }
    }
    while let Poll::Ready(Ok((stream, remote))) =
        std::future::poll_fn(|cx| Poll::Ready(listener.poll_accept(cx))).await
    {
        start(socket, life, stream, remote);
    }
}

fn start<A: Application>(
    socket: &Socket<A>,
    life: &Rc<ThreadState>,
    stream: TcpStream,
    remote: SocketAddr,
) {
    let guard = ConnectionGuard::new(life);
    let connection = connection::serve(socket.listener(), stream, remote);
    tokio::task::spawn_local(async move {
        connection.await;
        drop(guard);
    });
}

/// Whether descriptors or memory are exhausted.
fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// Logs at most once a second.
#[derive(Default)]
struct AcceptErrorLog {
    last: Option<Instant>,
    unlogged: u64,
}

impl AcceptErrorLog {
    fn add(&mut self, error: &io::Error) {
        self.unlogged += 1;
        if self
            .last
            .is_some_and(|last| last.elapsed() < Duration::from_secs(1))
        {
            return;
        }
        tracing::error!(
            %error,
            times = self.unlogged,
            "connections wait to be accepted: raise the limit of open files (ulimit -n)",
        );
        self.last = Some(Instant::now());
        self.unlogged = 0;
    }
}
