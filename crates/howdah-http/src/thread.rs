//! One front thread: its listeners, its runtime, and what its connections share.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use howdah_config::model::MAX_CONNECTIONS;
use howdah_tls::Acceptor;
use http::HeaderValue;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::application::Application;
use crate::challenge::Challenges;
use crate::connection;
use crate::encode::CompressedFiles;
use crate::endpoint::Endpoints;
use crate::files::FileCache;
use crate::hints::Hints;
use crate::http3;
use crate::life::{ConnectionGuard, Life};
use crate::limits::Limits;
use crate::lookup::{Lookup, Root, Roots};
use crate::record::Observing;
use crate::route::worker::WorkerFiles;
use crate::route::{Hosts, RouteError, Site};
use crate::serving::{Socket, later};
use crate::setup::{Bound, Change, Order, Origin, Setup, Sockets};
use crate::spool::SpoolDir;
use crate::unix;

/// What the requests of a thread share in one configuration.
pub(crate) struct Core {
    pub(crate) life: Rc<Life>,
    pub(crate) spool: SpoolDir,
    pub(crate) lookup: Lookup,
    pub(crate) roots: Roots,
    pub(crate) files: FileCache,
    pub(crate) hints: Hints,
    pub(crate) compressed: Rc<CompressedFiles>,
    /// The working directory, for sites without `root`.
    pub(crate) default_root: Rc<Root>,
    pub(crate) observing: Option<Rc<Observing>>,
    pub(crate) endpoints: Endpoints,
    /// What answers authorities that check a name over plain HTTP.
    pub(crate) challenges: Option<Challenges>,
    listeners: Vec<Listening>,
    max_connections: usize,
}

/// A listener in a configuration.
struct Listening {
    address: SocketAddr,
    limits: Rc<Limits>,
    hosts: Hosts,
    acceptor: Option<Arc<Acceptor>>,
    /// If it has HTTP/3.
    alt_svc: Option<HeaderValue>,
}

/// A front thread in one configuration, with its application.
pub(crate) struct Thread<A> {
    pub(crate) app: Rc<A>,
    pub(crate) core: Rc<Core>,
}

/// What a thread is made from, beside the configuration.
pub(crate) struct Plan {
    pub(crate) life: Rc<Life>,
    pub(crate) spool: SpoolDir,
    pub(crate) threads: usize,
    pub(crate) observing: Option<Rc<Observing>>,
}

impl Core {
    pub(crate) fn new(setup: &Setup, plan: Plan) -> Result<Self, RouteError> {
        let Plan {
            life,
            spool,
            threads,
            observing,
        } = plan;
        let config = &setup.config;
        let clients = Arc::clone(&setup.tls_clients);
        let workers = WorkerFiles::new(&config.workers, &setup.pools, clients);
        let sites: Vec<Rc<Site>> = config
            .sites
            .iter()
            .enumerate()
            .map(|(index, site)| Site::compile(site, &workers, setup.logs.site(index)).map(Rc::new))
            .collect::<Result<_, _>>()?;
        let listening = |bound: &Bound| {
            Ok(Listening {
                address: bound.address,
                limits: Limits::compile(bound.limits(config))?,
                hosts: Hosts::new(config, &bound.hosts, &sites),
                acceptor: bound.acceptor.clone(),
                alt_svc: bound.alt_svc.clone(),
            })
        };
        let listeners = setup.listeners.iter().map(listening);
        let max_connections = config.global.max_connections.unwrap_or(MAX_CONNECTIONS);
        Ok(Self {
            listeners: listeners.collect::<Result<_, RouteError>>()?,
            life,
            spool,
            lookup: Lookup::default(),
            roots: Roots::default(),
            files: FileCache::default(),
            hints: Hints::default(),
            compressed: Rc::default(),
            default_root: Rc::new(Root::new("")),
            observing,
            endpoints: setup.endpoints.get().cloned().unwrap_or_default(),
            challenges: setup.challenges.as_ref().map(Challenges::new),
            max_connections: max_connections.div_ceil(threads).max(1),
        })
    }

    pub(crate) fn limits(&self, listener: usize) -> &Rc<Limits> {
        &self.listeners[listener].limits
    }

    pub(crate) fn hosts(&self, listener: usize) -> &Hosts {
        &self.listeners[listener].hosts
    }

    /// Of an encrypted listener.
    pub(crate) fn acceptor(&self, listener: usize) -> Option<&Arc<Acceptor>> {
        self.listeners[listener].acceptor.as_ref()
    }

    /// What responses of a listener with HTTP/3 say of it.
    pub(crate) fn alt_svc(&self, listener: usize) -> Option<&HeaderValue> {
        self.listeners[listener].alt_svc.as_ref()
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
}

/// A running front thread: the configuration that it serves, and what it accepts from.
struct Front<A> {
    thread: Rc<Thread<A>>,
    /// By number of the listener.
    sockets: Vec<Rc<Socket<A>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// A configuration that is ready to be served from.
struct Ready<A> {
    thread: Rc<Thread<A>>,
    change: Box<Change>,
    listeners: Vec<(usize, Accepting)>,
}

/// What connections are accepted from.
enum Accepting {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Accepting {
    /// The next connection, and where it comes from.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        match self {
            Self::Tcp(listener) => listener.poll_accept(cx),
            Self::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(cx))?;
                Poll::Ready(unix::as_tcp(stream).map(|stream| (stream, unix::CLIENT)))
            }
        }
    }
}

impl<A: Application> Front<A> {
    fn start(thread: Rc<Thread<A>>, mut sockets: Sockets) -> io::Result<Self> {
        let (listeners, http3) = (listeners(&mut sockets)?, sockets.http3);
        let core = &thread.core;
        core.life.set_max_connections(core.max_connections);
        let numbers = 0..core.listeners.len();
        let mut front = Self {
            sockets: numbers
                .map(|number| Socket::new(Rc::clone(&thread), number))
                .collect(),
            thread,
            tasks: Vec::new(),
        };
        front.accept(listeners, http3);
        Ok(front)
    }

    fn accept(&mut self, listeners: Vec<(usize, Accepting)>, http3: Vec<http3::Bound>) {
        let life = &self.thread.core.life;
        for (number, listener) in listeners {
            let accepting = accept(Rc::clone(&self.sockets[number]), Rc::clone(life), listener);
            self.tasks.push(tokio::task::spawn_local(accepting));
        }
        for bound in http3 {
            let (socket, life) = (Rc::clone(&self.sockets[bound.listener]), Rc::clone(life));
            self.tasks.push(tokio::task::spawn_local(async move {
                if let Err(error) = http3::accept(socket, life, bound).await {
                    tracing::error!(%error, "HTTP/3 could not be served");
                }
            }));
        }
    }

    /// Makes everything that another configuration needs, and changes nothing.
    fn prepare(&self, plan: Plan, mut change: Box<Change>) -> Result<Ready<A>, io::Error> {
        let core = Core::new(&change.setup, plan).map_err(io::Error::other)?;
        let app = &self.thread.app;
        Ok(Ready {
            thread: Rc::new(Thread {
                app: app.next()?.unwrap_or_else(|| Rc::clone(app)),
                core: Rc::new(core),
            }),
            listeners: listeners(&mut change.sockets)?,
            change,
        })
    }

    /// Serves it from now on.
    fn switch(&mut self, ready: Ready<A>) {
        let Ready {
            thread,
            change,
            listeners,
        } = ready;
        let old = std::mem::take(&mut self.sockets);
        let mut gone: Vec<bool> = vec![true; old.len()];
        for (number, origin) in change.origins.iter().enumerate() {
            let next = (Rc::clone(&thread), number);
            let socket = match *origin {
                Origin::New => Socket::new(next.0, number),
                Origin::Kept { number, leaves } => {
                    gone[number] = false;
                    let http3 = change.setup.listeners[next.1].http3.clone();
                    old[number].follow(&next, http3, leaves, change.grace);
                    Rc::clone(&old[number])
                }
            };
            self.sockets.push(socket);
        }
        let until = later(change.grace);
        for (socket, _) in old.iter().zip(gone).filter(|(_, gone)| *gone) {
            socket.close(until);
        }
        let core = &thread.core;
        core.life.set_max_connections(core.max_connections);
        self.thread = thread;
        self.tasks.retain(|task| !task.is_finished());
        self.accept(listeners, change.sockets.http3);
    }
}

/// Takes those of HTTP/1 and HTTP/2.
fn listeners(sockets: &mut Sockets) -> io::Result<Vec<(usize, Accepting)>> {
    let tcp = std::mem::take(&mut sockets.tcp).into_iter();
    let tcp =
        tcp.map(|(number, socket)| Ok((number, Accepting::Tcp(TcpListener::from_std(socket)?))));
    let unix = std::mem::take(&mut sockets.unix).into_iter();
    let unix =
        unix.map(|(number, socket)| Ok((number, Accepting::Unix(UnixListener::from_std(socket)?))));
    tcp.chain(unix).collect()
}

/// Serves until the order to drain has been carried out. `plan` makes what a further configuration needs.
pub(crate) async fn run<A: Application>(
    thread: Rc<Thread<A>>,
    sockets: Sockets,
    plan: impl Fn(&Setup) -> Plan,
    (mut orders, mut order): (
        mpsc::UnboundedReceiver<Order>,
        watch::Receiver<Option<Instant>>,
    ),
) -> io::Result<()> {
    let life = Rc::clone(&thread.core.life);
    let mut front = Front::start(thread, sockets)?;
    let mut ready = None;
    let mut until = loop {
        tokio::select! {
            // Whoever could give the order is gone: that is one too.
            until = order.wait_for(Option::is_some) => break until.map_or(None, |order| *order),
            Some(order) = orders.recv() => match order {
                Order::Prepare(change, reply) => {
                    let plan = plan(&change.setup);
                    let prepared = front.prepare(plan, change);
                    let result = prepared.map(|prepared| ready = Some(prepared));
                    // Who asked may have gone: nothing has changed.
                    let _ = reply.send(result);
                }
                Order::Abandon => ready = None,
                Order::Switch(reply) => {
                    if let Some(ready) = ready.take() {
                        front.switch(ready);
                    }
                    let _ = reply.send(());
                }
            },
        }
    };
    drop(ready);
    for socket in &front.sockets {
        socket.close(until.unwrap_or_else(Instant::now));
    }
    for task in front.tasks {
        if task.await.is_err() {
            tracing::error!("a listener ended early: this is a defect of the server");
        }
    }
    let mut may_change = true;
    loop {
        let room = life.room.notified();
        if life.is_empty() {
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

async fn accept<A: Application>(socket: Rc<Socket<A>>, life: Rc<Life>, listener: Accepting) {
    let mut complaints = Complaints::default();
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
            Ok((stream, remote)) => start(&socket, &life, stream, remote),
            Err(error) if is_exhausted(&error) => {
                complaints.add(&error);
                // The connection waits in the kernel; trying at once would spin.
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                    () = changed => {}
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
        start(&socket, &life, stream, remote);
    }
}

fn start<A: Application>(
    socket: &Socket<A>,
    life: &Rc<Life>,
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
