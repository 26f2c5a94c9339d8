//! One front thread: its listeners, its runtime, and the state that its connections share.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::accept::{AcceptSource, accept, listeners};
use crate::connection::http3;
use crate::connection::listener::{Socket, saturating_deadline};
use crate::listen::quic;
use crate::listen::setup::{Change, Order, Origin, Setup, Sockets};
use crate::message::application::Application;
use crate::observe::thread::ThreadState;
use crate::request::snapshot::{Plan, Service, Snapshot};

/// A running front thread: the configuration that it serves, and its sockets.
struct Front<A> {
    service: Rc<Service<A>>,
    /// Indexed by the number of the listener.
    sockets: Vec<Rc<Socket<A>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// A configuration that is ready to be served.
struct ReadyConfiguration<A> {
    service: Rc<Service<A>>,
    change: Box<Change>,
    listeners: Vec<(usize, AcceptSource)>,
}

impl<A: Application> Front<A> {
    fn start(service: Rc<Service<A>>, mut sockets: Sockets) -> io::Result<Self> {
        let (listeners, http3) = (listeners(&mut sockets)?, sockets.http3);
        let snapshot = &service.snapshot;
        snapshot.life.set_max_connections(snapshot.max_connections);
        let numbers = 0..snapshot.listeners();
        let mut front = Self {
            sockets: numbers
                .map(|number| Socket::new(Rc::clone(&service), number))
                .collect(),
            service,
            tasks: Vec::new(),
        };
        front.accept(listeners, http3);
        Ok(front)
    }

    fn accept(&mut self, listeners: Vec<(usize, AcceptSource)>, http3: Vec<quic::BoundSocket>) {
        let life = &self.service.snapshot.life;
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

    /// Creates everything that a new configuration needs, and changes nothing.
    fn prepare(
        &self,
        plan: Plan,
        mut change: Box<Change>,
    ) -> Result<ReadyConfiguration<A>, io::Error> {
        let snapshot = Snapshot::new(&change.setup, plan).map_err(io::Error::other)?;
        let app = &self.service.app;
        Ok(ReadyConfiguration {
            service: Rc::new(Service {
                app: app.next()?.unwrap_or_else(|| Rc::clone(app)),
                snapshot: Rc::new(snapshot),
            }),
            listeners: listeners(&mut change.sockets)?,
            change,
        })
    }

    fn switch(&mut self, ready: ReadyConfiguration<A>) {
        let ReadyConfiguration {
            service,
            change,
            listeners,
        } = ready;
        let old = std::mem::take(&mut self.sockets);
        let mut gone: Vec<bool> = vec![true; old.len()];
        for (number, origin) in change.origins.iter().enumerate() {
            let next = (Rc::clone(&service), number);
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
        let until = saturating_deadline(change.grace);
        for (socket, _) in old.iter().zip(gone).filter(|(_, gone)| *gone) {
            socket.close(until);
        }
        let snapshot = &service.snapshot;
        snapshot.life.set_max_connections(snapshot.max_connections);
        self.service = service;
        self.tasks.retain(|task| !task.is_finished());
        self.accept(listeners, change.sockets.http3);
    }
}

/// Serves until the order to drain has been carried out. `plan` creates what a new configuration needs.
pub(crate) async fn run<A: Application>(
    service: Rc<Service<A>>,
    sockets: Sockets,
    plan: impl Fn(&Setup) -> Plan,
    (mut orders, mut order): (
        mpsc::UnboundedReceiver<Order>,
        watch::Receiver<Option<Instant>>,
    ),
) -> io::Result<()> {
    let life = Rc::clone(&service.snapshot.life);
    let mut front = Front::start(service, sockets)?;
    let mut ready = None;
    let until = loop {
        tokio::select! {
            // The sender is dropped, which means the same.
            until = order.wait_for(Option::is_some) => break until.map_or(None, |order| *order),
            Some(order) = orders.recv() => match order {
                Order::Prepare(change, reply) => {
                    let plan = plan(&change.setup);
                    let prepared = front.prepare(plan, change);
                    let result = prepared.map(|prepared| ready = Some(prepared));
                    // The caller may have stopped waiting: nothing has changed.
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
    let app = Rc::clone(&front.service.app);
    // Lets the runtime run once: connections see requests that have arrived by now, and these are
    // served.
    tokio::task::yield_now().await;
    for socket in &front.sockets {
        socket.close(until.unwrap_or_else(Instant::now));
    }
    for task in front.tasks {
        if task.await.is_err() {
            tracing::error!("a listener exited unexpectedly: this is a bug in the server");
        }
    }
    wait_for_connections(&life, &*app, order, until).await;
    Ok(())
}

/// Waits until the connections have closed and the application has settled, at most until `until`, which a further
/// order may change.
async fn wait_for_connections(
    life: &ThreadState,
    app: &impl Application,
    mut order: watch::Receiver<Option<Instant>>,
    mut until: Option<Instant>,
) {
    let mut may_change = true;
    loop {
        let room = life.room.notified();
        let is_empty = life.is_empty();
        // Connections cut themselves at `until`. What is left shortly afterwards, because the grace
        // was shortened or because it lingers, ends with the runtime.
        let end = until.unwrap_or_else(Instant::now) + Duration::from_millis(100);
        tokio::select! {
            () = app.settled(), if is_empty => return,
            () = room => {}
            () = tokio::time::sleep_until(end.into()) => return,
            changed = order.changed(), if may_change => {
                may_change = changed.is_ok();
                if may_change {
                    until = *order.borrow_and_update();
                }
            }
        }
    }
}
