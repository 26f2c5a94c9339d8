//! The socket of a client connection, and what the connection is doing on it.

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
