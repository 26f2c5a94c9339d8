//! The socket of a client connection, and the state of the connection.

pub(crate) mod executor;
mod framing;
pub(crate) mod handshakes;
pub(crate) mod interim;
pub(crate) mod io;
pub(crate) mod loan;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod timer;
