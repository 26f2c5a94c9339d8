//! What of a listener outlives configurations: its socket, and what its connections look at when a request
//! comes.
//!
//! ```text
//! accept ─> Socket ─> Listener <─ connections, of which each request takes
//!                        └─> Service: the current application and routes
//! ```
//!
//! A new configuration is put in the place of the old one; requests that have begun keep theirs. Where the
//! connections themselves are of the past (the address is gone, or is encrypted otherwise than before),
//! they keep their listener and configuration, and are closed when idle.

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
    /// On the coarse clock: when what is left is cut. `None`: no order.
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

    /// Ends with an order that is given after this call.
    pub(crate) fn ordered(&self) -> Notified<'_> {
        self.ordered.notified()
    }
}

/// What the connections of an address follow.
pub(crate) struct Listener<A> {
    /// With the number of the listener in the configuration.
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

    /// The configuration of now, and the number of this listener in it.
    pub(crate) fn current(&self) -> (Rc<Service<A>>, usize) {
        let current = self.current.borrow();
        (Rc::clone(&current.0), current.1)
    }
}

/// What is accepted from.
pub(crate) struct Socket<A> {
    listener: RefCell<Rc<Listener<A>>>,
    /// Listener of HTTP/3 connections, which may have to close while the others stay open.
    http3_listener: RefCell<Rc<Listener<A>>>,
    /// Nothing more is accepted.
    closed: Cell<bool>,
    /// HTTP/3 is off. Its socket stays: who turns it on again would find the port taken as long as a
    /// connection of before is there.
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

    /// Connections of HTTP/3 are refused.
    pub(crate) fn is_http3_off(&self) -> bool {
        self.http3_off.get()
    }

    /// Ends with a close that comes after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// HTTP/3 is served there.
    pub(crate) fn set_http3(&self, endpoint: quinn::Endpoint) {
        self.http3_off.set(false);
        self.http3.replace(Some(endpoint));
    }

    /// Requests from now on are for this configuration. `http3` is for connections that come, if they do;
    /// `leave`: those that there are do not follow. Who does not has `grace` to end.
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

    /// Accepts nothing more, and has the connections end.
    pub(crate) fn close(&self, until: Instant) {
        self.closed.set(true);
        self.http3.take();
        self.listener.borrow().drain.order(until);
        self.http3_listener.borrow().drain.order(until);
        self.changed.notify_waiters();
    }
}

/// A time beyond the range of the clock means a year, longer than any wait.
pub(crate) fn saturating_deadline(grace: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(grace)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}
