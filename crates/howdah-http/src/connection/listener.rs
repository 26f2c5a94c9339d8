//! The parts of a listener that outlive configurations: its socket, and the state that its connections check for each
//! request.
//!
//! ```text
//! accept ─> Socket ─> Listener <─ connections, of which each request takes
//!                        └─> Service: the current application and routes
//! ```
//!
//! A new configuration replaces the old one; requests in flight keep theirs. Connections that the new configuration
//! does not allow (the address is gone, or its encryption has changed) keep their listener and configuration, and are
//! closed when idle.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::clock::{self, milliseconds};
use crate::request::snapshot::Service;

/// An order to connections to end.
#[derive(Default)]
pub(crate) struct Drain {
    /// When remaining connections are cut, on the coarse clock. `None`: no order.
    cut_at: Cell<Option<u64>>,
    ordered: Notify,
}

impl Drain {
    fn order(&self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let cut_at = clock::now().saturating_add(milliseconds(left));
        self.cut_at.set(Some(cut_at));
        self.ordered.notify_waiters();
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.cut_at.get().is_some()
    }

    /// When connections are cut, on the coarse clock.
    pub(crate) fn cut_at(&self) -> u64 {
        self.cut_at.get().unwrap_or(u64::MAX)
    }

    /// Completes with an order that is given after this call.
    pub(crate) fn ordered(&self) -> Notified<'_> {
        self.ordered.notified()
    }
}

/// The state that the connections of an address follow.
pub(crate) struct Listener<A> {
    /// The configuration, with the listener's number in it.
    current: RefCell<(Rc<Service<A>>, usize)>,
    pub(crate) drain: Drain,
}

impl<A> Listener<A> {
    fn new(service: Rc<Service<A>>, number: usize) -> Rc<Self> {
        Rc::new(Self {
            current: RefCell::new((service, number)),
            drain: Drain::default(),
        })
    }

    /// The current configuration, and the number of this listener in it.
    pub(crate) fn current(&self) -> (Rc<Service<A>>, usize) {
        let current = self.current.borrow();
        (Rc::clone(&current.0), current.1)
    }
}

/// A socket that connections are accepted from.
pub(crate) struct Socket<A> {
    listener: RefCell<Rc<Listener<A>>>,
    /// Listener of HTTP/3 connections, which may have to close while the others stay open.
    http3_listener: RefCell<Rc<Listener<A>>>,
    /// Nothing more is accepted from it.
    closed: Cell<bool>,
    /// HTTP/3 is off. Its socket stays open: otherwise, turning HTTP/3 on again would fail as long as an old connection
    /// uses the port.
    http3_off: Cell<bool>,
    http3: RefCell<Option<quinn::Endpoint>>,
    changed: Notify,
}

impl<A> Socket<A> {
    pub(crate) fn new(service: Rc<Service<A>>, number: usize) -> Rc<Self> {
        Rc::new(Self {
            listener: RefCell::new(Listener::new(Rc::clone(&service), number)),
            http3_listener: RefCell::new(Listener::new(service, number)),
            closed: Cell::new(false),
            http3_off: Cell::new(false),
            http3: RefCell::default(),
            changed: Notify::new(),
        })
    }

    /// Listener of the next connection.
    pub(crate) fn listener(&self) -> Rc<Listener<A>> {
        Rc::clone(&self.listener.borrow())
    }

    /// Listener of the next HTTP/3 connection.
    pub(crate) fn http3_listener(&self) -> Rc<Listener<A>> {
        Rc::clone(&self.http3_listener.borrow())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Whether HTTP/3 connections are refused.
    pub(crate) fn is_http3_off(&self) -> bool {
        self.http3_off.get()
    }

    /// Completes with a close that comes after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// HTTP/3 is served on `endpoint`.
    pub(crate) fn set_http3(&self, endpoint: quinn::Endpoint) {
        self.http3_off.set(false);
        self.http3.replace(Some(endpoint));
    }

    /// Serves this configuration from the next request on. `http3`: whether HTTP/3 connections are accepted; `leave`:
    /// existing connections do not follow, and have `grace` to end.
    pub(crate) fn follow(
        &self,
        next: &(Rc<Service<A>>, usize),
        http3: Option<quinn::ServerConfig>,
        leave: bool,
        grace: Duration,
    ) {
        let off = http3.is_none();
        self.http3_off.set(off);
        if let (Some(config), Some(endpoint)) = (http3, &*self.http3.borrow()) {
            endpoint.set_server_config(Some(config));
        }
        let until = saturating_deadline(grace);
        let (service, number) = next;
        for (listener, leave) in [
            (&self.listener, leave),
            (&self.http3_listener, leave || off),
        ] {
            if leave {
                let old = listener.replace(Listener::new(Rc::clone(service), *number));
                old.drain.order(until);
            } else {
                let listener = listener.borrow();
                listener.current.replace((Rc::clone(service), *number));
            }
        }
        self.changed.notify_waiters();
    }

    /// Accepts nothing more, and drains the connections.
    pub(crate) fn close(&self, until: Instant) {
        self.closed.set(true);
        self.http3.take();
        self.listener.borrow().drain.order(until);
        self.http3_listener.borrow().drain.order(until);
        self.changed.notify_waiters();
    }
}

/// A time beyond the range of the clock becomes a year, longer than any wait.
pub(crate) fn saturating_deadline(grace: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(grace)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}
