//! What every phase of a request can use.

use std::rc::Rc;

use super::snapshot::{Service, Snapshot};
use crate::listen::limits::Limits;
use crate::message::connection::Connection;
use crate::route::context::Environment;
use crate::socket::state::ConnectionState;

/// A request with its configuration and its connection.
pub(crate) struct RequestScope<A> {
    /// The configuration and the application that were current when the request arrived.
    pub(crate) service: Rc<Service<A>>,
    pub(crate) connection: Rc<Connection>,
    pub(crate) state: Rc<ConnectionState>,
    /// The listener's number in the configuration.
    pub(crate) listener: usize,
    pub(crate) id: u64,
}

impl<A> RequestScope<A> {
    /// Creates the scope of a request, with a new id.
    pub(crate) fn new(
        service: Rc<Service<A>>,
        listener: usize,
        connection: &Rc<Connection>,
        state: &Rc<ConnectionState>,
    ) -> Self {
        Self {
            id: service.snapshot.life.next_id(),
            service,
            connection: Rc::clone(connection),
            state: Rc::clone(state),
            listener,
        }
    }

    pub(crate) fn snapshot(&self) -> &Rc<Snapshot> {
        &self.service.snapshot
    }

    /// What routes may use.
    pub(crate) fn environment(&self) -> Environment<'_> {
        let snapshot = self.snapshot();
        Environment {
            lookup: &snapshot.lookup,
            roots: &snapshot.roots,
            proxies: &self.limits().proxies,
            shutdown: &snapshot.life.shutdown,
        }
    }

    /// The limits of the listener.
    pub(crate) fn limits(&self) -> &Limits {
        self.service.snapshot.limits(self.listener)
    }
}
