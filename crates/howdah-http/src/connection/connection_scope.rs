//! State that the requests of a connection share.

use std::rc::Rc;

use super::listener::Listener;
use crate::message::connection::Connection;
use crate::socket::state::ConnectionState;

pub(crate) struct ConnectionScope<A> {
    pub(crate) listener: Rc<Listener<A>>,
    pub(crate) info: Rc<Connection>,
    pub(crate) state: Rc<ConnectionState>,
}

impl<A> Clone for ConnectionScope<A> {
    fn clone(&self) -> Self {
        Self {
            listener: Rc::clone(&self.listener),
            info: Rc::clone(&self.info),
            state: Rc::clone(&self.state),
        }
    }
}
