//! Listen addresses: their sockets, their limits, and the trusted proxies in front of them.

pub(crate) mod error;
mod http2;
pub(crate) mod inherited;
pub(crate) mod limits;
pub(crate) mod listener;
pub(crate) mod quic;
pub(crate) mod setup;
pub(crate) mod trusted_proxies;
pub(crate) mod unix;
