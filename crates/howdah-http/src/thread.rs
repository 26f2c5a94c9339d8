//! One front thread: its listeners, its runtime, and what its connections share.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::{Duration, Instant};

use howdah_config::model::{self, Config};
use howdah_observe::access::Logs;
use howdah_observe::metrics::Protocol;
use howdah_tls::Acceptor;
use http::HeaderValue;
use hyper::server::conn::{http1, http2};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use crate::application::Application;
use crate::challenge::Challenges;
use crate::clock::{self, milliseconds};
use crate::connection;
use crate::connection::handshake::Handshakes;
use crate::encode::CompressedFiles;
use crate::endpoint::Endpoints;
use crate::executor::LocalExecutor;
use crate::files::FileCache;
use crate::http3;
use crate::lookup::{Lookup, Root, Roots};
use crate::record::Observing;
use crate::route::proxies::Proxies;
use crate::route::worker::WorkerFiles;
use crate::route::{Hosts, RouteError, Site};
use crate::server::Bound;
use crate::spool::SpoolDir;
use crate::stats::{Stats, ThreadStats};

/// Streams of one HTTP/2 connection at a time, the number that nginx allows.
const MAX_STREAMS: u32 = 128;
/// hyper's buffer beyond the header limit: room for the read that shows that a header is too large.
const BUFFER_MARGIN: usize = 64 << 10;

/// Limits in the units in which they are used; times in milliseconds.
pub(crate) struct Limits {
    pub(crate) read_header: u64,
    pub(crate) read_body: Duration,
    pub(crate) write: u64,
    pub(crate) idle: u64,
    pub(crate) max_header_size: usize,
    pub(crate) max_body_size: u64,
    pub(crate) memory_body_size: usize,
}

impl Limits {
    fn new(limits: &model::Limits) -> Self {
        Self {
            read_header: milliseconds(limits.read_header),
            read_body: limits.read_body,
            write: milliseconds(limits.write),
            idle: milliseconds(limits.idle),
            max_header_size: limits.max_header_size,
            max_body_size: limits.max_body_size,
            memory_body_size: limits.memory_body_size,
        }
    }
}

/// What the connections of a thread share.
pub(crate) struct Core {
    pub(crate) limits: Limits,
    pub(crate) http1: http1::Builder,
    pub(crate) http2: http2::Builder<LocalExecutor>,
    pub(crate) spool: SpoolDir,
    pub(crate) lookup: Lookup,
    pub(crate) roots: Roots,
    pub(crate) proxies: Proxies,
    pub(crate) files: FileCache,
    pub(crate) compressed: Rc<CompressedFiles>,
    /// The working directory, for sites without `root`.
    pub(crate) default_root: Rc<Root>,
    /// Woken when the server drains.
    pub(crate) drain: Notify,
    pub(crate) observing: Option<Rc<Observing>>,
    pub(crate) endpoints: Endpoints,
    pub(crate) handshakes: Handshakes,
    /// What answers authorities that check a name over plain HTTP.
    pub(crate) challenges: Option<Challenges>,
    listeners: Vec<Listening>,
    stats: Arc<Stats>,
    index: usize,
    next_id: Cell<u64>,
    draining: Cell<bool>,
    cut_at: Cell<u64>,
    connections: Cell<usize>,
    max_connections: usize,
    /// Woken when a connection ends.
    room: Notify,
}

/// A listener of this thread.
struct Listening {
    address: SocketAddr,
    hosts: Hosts,
    acceptor: Option<Arc<Acceptor>>,
    /// If it has HTTP/3.
    alt_svc: Option<HeaderValue>,
}

/// A front thread with its application.
pub(crate) struct Thread<A> {
    pub(crate) app: Rc<A>,
    pub(crate) core: Rc<Core>,
}

/// What a thread is made from.
pub(crate) struct Plan<'s> {
    pub(crate) config: &'s Config,
    pub(crate) listeners: &'s [Bound],
    /// Where authorities find the answers to their challenges.
    pub(crate) challenges: Option<&'s Path>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) spool: SpoolDir,
    pub(crate) index: usize,
    pub(crate) threads: usize,
    /// Random, so that ids do not repeat after a restart.
    pub(crate) first_id: u64,
    pub(crate) logs: &'s Logs,
    pub(crate) observing: Option<Rc<Observing>>,
    pub(crate) endpoints: Endpoints,
}

impl Core {
    pub(crate) fn new(plan: Plan<'_>) -> Result<Self, RouteError> {
        let Plan {
            config,
            listeners,
            challenges,
            stats,
            spool,
            index,
            threads,
            first_id,
            logs,
            observing,
            endpoints,
        } = plan;
        let workers = WorkerFiles::new(&config.workers);
        let sites: Vec<Rc<Site>> = config
            .sites
            .iter()
            .enumerate()
            .map(|(index, site)| Site::compile(site, &workers, logs.site(index)).map(Rc::new))
            .collect::<Result<_, _>>()?;
        let listeners = listeners
            .iter()
            .map(|bound| Listening {
                address: bound.address,
                hosts: Hosts::new(config, &bound.hosts, &sites),
                acceptor: bound.acceptor.clone(),
                alt_svc: bound.alt_svc.clone(),
            })
            .collect();
        let limits = &config.global.limits;
        let mut http1 = http1::Builder::new();
        http1.max_buf_size(limits.max_header_size.saturating_add(BUFFER_MARGIN));
        let mut http2 = http2::Builder::new(LocalExecutor {
            write_limit: limits.write,
        });
        http2.max_concurrent_streams(MAX_STREAMS);
        http2.max_header_list_size(u32::try_from(limits.max_header_size).unwrap_or(u32::MAX));
        Ok(Self {
            limits: Limits::new(limits),
            http1,
            http2,
            spool,
            lookup: Lookup::default(),
            roots: Roots::default(),
            proxies: Proxies::compile(&limits.proxies)?,
            files: FileCache::default(),
            compressed: Rc::default(),
            default_root: Rc::new(Root::new("")),
            drain: Notify::new(),
            observing,
            endpoints,
            handshakes: Handshakes::default(),
            challenges: challenges.map(Challenges::new),
            listeners,
            stats,
            index,
            // The thread in the top byte: unique without a shared counter, and never 0.
            next_id: Cell::new(((index as u64 + 1) << 56) | (first_id & ID_MASK)),
            draining: Cell::new(false),
            cut_at: Cell::new(u64::MAX),
            connections: Cell::new(0),
            max_connections: limits.max_connections.div_ceil(threads).max(1),
            room: Notify::new(),
        })
    }

    pub(crate) fn hosts(&self, listener: usize) -> &Hosts {
        &self.listeners[listener].hosts
    }

    /// Of an encrypted listener.
    pub(crate) fn acceptor(&self, listener: usize) -> Option<&Acceptor> {
        self.listeners[listener].acceptor.as_deref()
    }

    /// What responses of a listener with HTTP/3 say of it.
    pub(crate) fn alt_svc(&self, listener: usize) -> Option<&HeaderValue> {
        self.listeners[listener].alt_svc.as_ref()
    }

    /// Whether there are as many connections as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.connections.get() >= self.max_connections
    }

    /// Asks the socket only when the listener does not know.
    pub(crate) fn local_address(
        &self,
        listener: usize,
        stream: &TcpStream,
    ) -> io::Result<SocketAddr> {
        let address = self.listeners[listener].address;
        if !address.ip().is_unspecified() {
            return Ok(address);
        }
        let address = stream.local_addr()?;
        Ok(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }

    /// Wraps around within the thread after 2^56 requests.
    pub(crate) fn next_id(&self) -> u64 {
        let id = self.next_id.get();
        self.next_id
            .set((id & !ID_MASK) | (id.wrapping_add(1) & ID_MASK));
        id
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// When connections are cut, on the coarse clock.
    pub(crate) fn cut_at(&self) -> u64 {
        self.cut_at.get()
    }

    pub(crate) fn begin(&self) {
        let stats = self.stats();
        stats.in_flight.fetch_add(1, Relaxed);
        stats.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn end(&self) {
        self.stats().in_flight.fetch_sub(1, Relaxed);
    }

    /// Counts what a connection speaks, for as long as the guard lives.
    pub(crate) fn speaks(self: &Rc<Self>, protocol: Protocol) -> ProtocolGuard {
        let stats = self.stats();
        stats.accepted[protocol as usize].fetch_add(1, Relaxed);
        stats.open[protocol as usize].fetch_add(1, Relaxed);
        ProtocolGuard(Rc::clone(self), protocol)
    }

    fn stats(&self) -> &ThreadStats {
        self.stats.thread(self.index)
    }

    fn start_draining(&self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        self.cut_at
            .set(clock::now().saturating_add(milliseconds(left)));
        self.draining.set(true);
        self.drain.notify_waiters();
    }
}

const ID_MASK: u64 = (1 << 56) - 1;

/// Counts a connection for as long as it lives, however it ends.
pub(crate) struct ConnectionGuard(Rc<Core>);

impl ConnectionGuard {
    pub(crate) fn new(core: &Rc<Core>) -> Self {
        core.connections.set(core.connections.get() + 1);
        core.stats().connections.fetch_add(1, Relaxed);
        Self(Rc::clone(core))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
        self.0.stats().connections.fetch_sub(1, Relaxed);
        self.0.room.notify_waiters();
    }
}

/// A connection that has shown what it speaks.
pub(crate) struct ProtocolGuard(Rc<Core>, Protocol);

impl Drop for ProtocolGuard {
    fn drop(&mut self) {
        self.0.stats().open[self.1 as usize].fetch_sub(1, Relaxed);
    }
}

/// Serves until the order to drain has been carried out.
pub(crate) async fn run<A: Application>(
    thread: Rc<Thread<A>>,
    (sockets, quic): (Vec<StdListener>, Vec<http3::Bound>),
    mut order: watch::Receiver<Option<Instant>>,
) -> io::Result<()> {
    let mut acceptors = Vec::with_capacity(sockets.len());
    for (index, socket) in sockets.into_iter().enumerate() {
        let listener = TcpListener::from_std(socket)?;
        acceptors.push(tokio::task::spawn_local(accept(
            Rc::clone(&thread),
            listener,
            index,
        )));
    }
    let endpoints: Vec<_> = quic
        .into_iter()
        .map(|bound| tokio::task::spawn_local(http3::accept(Rc::clone(&thread), bound)))
        .collect();
    let core = &thread.core;
    // Whoever could give the order is gone: that is one too.
    let mut until = order
        .wait_for(Option::is_some)
        .await
        .map_or(None, |order| *order);
    core.start_draining(until.unwrap_or_else(Instant::now));
    for endpoint in endpoints {
        match endpoint.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "HTTP/3 could not be served"),
            Err(_) => tracing::error!("HTTP/3 ended early: this is a defect of the server"),
        }
    }
    for acceptor in acceptors {
        if acceptor.await.is_err() {
            tracing::error!("a listener ended early: this is a defect of the server");
        }
    }
    let mut may_change = true;
    loop {
        let room = core.room.notified();
        if core.connections.get() == 0 {
            return Ok(());
        }
        // Connections cut themselves at `until`. What is left shortly after, because the grace was
        // shortened or because it lingers, ends with the runtime.
        let end = until.unwrap_or_else(Instant::now) + Duration::from_millis(100);
        tokio::select! {
            () = room => {}
            () = tokio::time::sleep_until(end.into()) => return Ok(()),
            changed = order.changed(), if may_change => {
                may_change = changed.is_ok();
                if may_change {
                    until = *order.borrow_and_update();
                }
            }
        }
    }
}

async fn accept<A: Application>(thread: Rc<Thread<A>>, listener: TcpListener, index: usize) {
    let core = &thread.core;
    let mut complaints = Complaints::default();
    loop {
        let drained = core.drain.notified();
        if core.is_draining() {
            break;
        }
        if core.is_full() {
            let room = core.room.notified();
            tokio::select! {
                () = room => {}
                () = drained => {}
            }
            continue;
        }
        let mut drained = std::pin::pin!(drained);
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut drained => continue,
        };
        match accepted {
            Ok((stream, remote)) => start(&thread, stream, remote, index),
            Err(error) if is_exhausted(&error) => {
                complaints.add(&error);
                // The connection waits in the kernel; trying at once would spin.
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                    () = drained => {}
                }
            }
            // The client went away before it was accepted.
            Err(_) => {}
        }
    }
    // What the kernel has accepted is served once: its clients were told that they are connected.
    while let Poll::Ready(Ok((stream, remote))) =
        std::future::poll_fn(|cx| Poll::Ready(listener.poll_accept(cx))).await
    {
        start(&thread, stream, remote, index);
    }
}

fn start<A: Application>(
    thread: &Rc<Thread<A>>,
    stream: TcpStream,
    remote: SocketAddr,
    listener: usize,
) {
    let guard = ConnectionGuard::new(&thread.core);
    let connection = connection::serve(Rc::clone(thread), stream, remote, listener);
    tokio::task::spawn_local(async move {
        connection.await;
        drop(guard);
    });
}

/// Out of descriptors or memory.
fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// Logs at most once a second.
#[derive(Default)]
struct Complaints {
    last: Option<Instant>,
    unlogged: u64,
}

impl Complaints {
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
